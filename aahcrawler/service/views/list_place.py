"""Where a list goes on: the place that ``next`` of an answer names."""

import re

_PLACE = re.compile("[0-9]{0,15}")


def list_place(after: str) -> int:
    """Return the number that a place is, 0 for none. Raise ``ValueError`` for what no answer has named.

    >>> list_place("50"), list_place("")
    (50, 0)
    """
    if _PLACE.fullmatch(after) is None:
        raise ValueError(f"{after!r} is no place in a list")
    return int(after or 0)
