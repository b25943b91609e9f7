"""Read the durations of manifests (XML Schema, part 2, section 3.2.6)."""

import re
from typing import Final

_DURATION: Final = re.compile(
    r"P(?:(?P<days>\d{1,6})D)?(?:T(?:(?P<hours>\d{1,8})H)?(?:(?P<minutes>\d{1,8})M)?(?:(?P<seconds>\d{1,9}(?:\.\d{1,9})?)S)?)?"
)
_WORTH: Final = {"days": 86_400.0, "hours": 3_600.0, "minutes": 60.0, "seconds": 1.0}


def seconds_of(text: str | None) -> float:
    """Return the seconds of a duration; 0 where it is none, or one of months and years.

    >>> seconds_of("PT1H2M3.5S"), seconds_of("P1Y"), seconds_of(None)
    (3723.5, 0.0, 0.0)
    """
    match = _DURATION.fullmatch((text or "").strip())
    if match is None:
        return 0.0
    return sum(worth * float(match[name] or 0) for name, worth in _WORTH.items())
