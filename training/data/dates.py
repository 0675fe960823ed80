"""Dates as people write them, to be translated to ISO 8601."""

import datetime
from collections.abc import Iterator

import numpy as np

from ...zoo.errors import CanonError
from .sequence_builder import SequenceSource

MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"
)  # fmt: skip
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_FIRST, _LAST = datetime.date(1900, 1, 1).toordinal(), datetime.date(2099, 12, 31).toordinal()
_FORMS = (
    "{day} {month} {year}",
    "{month} {day}, {year}",
    "{day} {short} {year}",
    "{short} {day}, {year}",
    "{weekday}, {day} {month} {year}",
    "{weekday}, {month} {day}, {year}",
    "{day:02d}.{number:02d}.{year}",
    "{day}.{number}.{year}",
    "the {day}{ordinal} of {month} {year}",
    "{year}/{number:02d}/{day:02d}",
    "{month} {day}{ordinal}, {year}",
    "{day:02d}-{short}-{year}",
)


def written(date: datetime.date, form: int) -> str:
    """Return a date in one of the forms, by number."""
    day = date.day
    ordinal = "th" if 10 < day < 14 else {1: "st", 2: "nd", 3: "rd"}.get(day % 10, "th")
    month = MONTHS[date.month - 1]
    words = {"day": day, "ordinal": ordinal, "month": month, "short": month[:3], "number": date.month, "year": date.year}
    return _FORMS[form % len(_FORMS)].format(weekday=DAYS[date.weekday()], **words)


def dates_source(examples: int = 12_000) -> SequenceSource:
    """Return the source: `examples` for training and a tenth of that for the test, whose dates are none of training's.

    Raises:
        CanonError: for fewer than 50 or more than a million.
    """
    if not 50 <= examples <= 1_000_000:
        raise CanonError(f"examples of dates must be 50 to 1000000, got {examples}.")

    def some(split: int, number: int) -> Iterator[dict[str, str]]:
        generator = np.random.default_rng([2024, split])
        while number:
            ordinal = int(generator.integers(_FIRST, _LAST + 1))
            # every tenth day belongs to the test, so that no date is in both
            if (ordinal % 10 == 0) == bool(split):
                date = datetime.date.fromordinal(ordinal)
                yield {"source": written(date, int(generator.integers(len(_FORMS)))), "target": date.isoformat()}
                number -= 1

    return SequenceSource(
        f"dates_{examples}",
        "Dates from 1900 to 2099 in twelve forms, and as ISO 8601 writes them.",
        {"source": None, "target": None},
        lambda: {"train": some(0, examples), "test": some(1, examples // 10)},
    )
