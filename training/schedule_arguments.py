"""Checks of the arguments that schedules share."""


def rates(peak: float, floor: float, names: tuple[str, str] = ("peak", "floor")) -> tuple[float, float]:
    """Return both rates as floats.

    Raises:
        ValueError: a floor below 0 or above the peak.
    """
    if not 0.0 <= floor <= peak:
        raise ValueError(f"{names[1]} must be from 0 to the {names[0]}, got {names[1]}={floor} and {names[0]}={peak}.")
    return float(peak), float(floor)


def steps(name: str, value: int, least: int = 1) -> int:
    """Return a number of updates or cycles.

    Raises:
        ValueError: when it is no integer, or too small.
    """
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ValueError(f"{name} must be an integer of at least {least}, got {value!r}.")
    return value
