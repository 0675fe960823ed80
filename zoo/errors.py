"""The errors that a user can cause: one sentence with what, where and the cure, which the command line prints without a traceback."""

from collections.abc import Iterable
from difflib import get_close_matches


class CanonError(ValueError):
    """Something the user asked for cannot be done; the message is one sentence with the cause and the cure."""


def unknown_name(kind: str, name: object, valid: Iterable[str], cure: str = "") -> CanonError:
    """Return the error for a name that does not exist, with the nearest valid names.

    Args:
        kind: what the name stands for, such as "model" or "recipe".
        name: the name that was given.
        valid: all valid names.
        cure: where the valid names are listed, such as "`canon list` shows all"; left out when few names are listed in full.
    """
    valid = sorted(valid)
    near = get_close_matches(str(name), valid, n=4, cutoff=0.5) or [item for item in valid if str(name).lower() in item.lower()][:4]
    if near:
        hint = f"did you mean {' or '.join(repr(item) for item in near)}?"
    elif len(valid) <= 12:
        hint = f"allowed: {', '.join(valid) or 'none'}."
    else:
        hint = f"for example {', '.join(valid[:4])}."
    return CanonError(f"There is no {kind} {name!r}: {hint}" + (f" ({cure})" if cure else ""))
