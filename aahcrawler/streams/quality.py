"""Choose one quality of those that a stream is offered in."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

MOST_LINES: Final = 1080
"""The lines that a picture has at most by default; what is finer costs much and shows little."""


@dataclass(frozen=True, slots=True)
class Quality:
    """A quality: the lines of its picture and its bits a second, 0 where the manifest says neither."""

    lines: int = 0
    bandwidth: int = 0


def chosen(qualities: Sequence[Quality], most_lines: int = MOST_LINES) -> int:
    """Return the position of the best quality with at most so many lines (0: any), of the plainest where all have more.

    >>> chosen([Quality(360, 1), Quality(2160, 9), Quality(720, 4), Quality(720, 3)])
    2
    >>> chosen([Quality(2160, 9), Quality(4320, 20)])
    0
    """
    positions = range(len(qualities))
    fitting = [each for each in positions if not most_lines or qualities[each].lines <= most_lines]
    if fitting:
        return max(fitting, key=lambda each: (qualities[each].lines, qualities[each].bandwidth, -each))
    return min(positions, key=lambda each: (qualities[each].lines, qualities[each].bandwidth, each))
