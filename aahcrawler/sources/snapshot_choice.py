"""The captures that an archive has of a URL, and the choice of one of them.

The choice by an event is that of Gossen, Risse and Demidova (Towards extracting event-centric collections from Web
archives, section 6.3), the first one after an event that of Klein, Balakireva and Van de Sompel (Focused crawl of Web
archives to build event collections, section 4).
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, Protocol, Self, TypeVar

from online_analysis.icd import Icd

EARLIEST: Final = datetime(1989, 3, 12, tzinfo=UTC)
"""Nothing of the web was captured before: the day that it was proposed on."""


class Dated(Protocol):
    """A capture with the moment when it was made, aware of its zone."""

    @property
    def date(self) -> datetime:
        """When it was captured."""
        ...


D = TypeVar("D", bound=Dated)


@dataclass(frozen=True, slots=True)
class Span:
    """A span of time, both ends included."""

    start: datetime
    end: datetime

    def distance(self, date: datetime) -> float:
        """Return how many seconds a moment is away from the span, 0 for one within.

        >>> day = datetime(2013, 6, 1, tzinfo=UTC)
        >>> Span(day, day).distance(datetime(2013, 6, 2, tzinfo=UTC))
        86400.0
        """
        return max((self.start - date).total_seconds(), (date - self.end).total_seconds(), 0.0)


@dataclass(frozen=True, slots=True)
class SnapshotChoice:
    """Which of the captures of a URL are taken.

    ``moment`` is what an archive that is asked for one date is asked for: the beginning of the event, the date that the
    capture is to be nearest to, or the moment when the crawl began. ``span`` is that of the event, where the choice
    goes by one. ``takes_all`` says that each capture is taken; otherwise the first one that can be had.
    """

    name: str
    moment: datetime
    span: Span | None = None

    @classmethod
    def of(cls, icd: Icd, now: datetime) -> Self:
        """Return the choice of a definition, whose crawl began ``now``."""
        captures, event = icd.captures, icd.event
        name = captures.snapshot
        if name == "auto":
            name = "newest" if event is None else "earliest-in-event"
        if event is not None and name in ("earliest-in-event", "first-after-event"):
            return cls(name, event.start, Span(event.start, event.end))
        return cls(name, captures.nearest_to or now)

    @property
    def takes_all(self) -> bool:
        """Whether all captures are taken."""
        return self.name == "all"

    def near(self, moment: datetime) -> "SnapshotChoice":
        """Return the choice of what is nearest to a moment; where all captures are taken, that of all."""
        return self if self.takes_all else SnapshotChoice("nearest", moment)

    @property
    def is_nearest(self) -> bool:
        """Whether the capture that is nearest to ``moment`` is the one that is taken."""
        return self.name in ("nearest", "newest")

    def admits(self, date: datetime) -> bool:
        """Return whether a capture of that date may be taken at all."""
        return self.name != "first-after-event" or date >= self.moment

    def ordered(self, captures: Iterable[D]) -> Sequence[D]:
        """Return the captures that may be taken, the one to be taken first; all in the order of time for ``all``.

        Captures of the same date keep their order.
        """
        return sorted((each for each in captures if self.admits(each.date)), key=lambda each: self._rank(each.date))

    def _rank(self, date: datetime) -> tuple[float, float]:
        since = (date - EARLIEST).total_seconds()
        if self.name == "newest":
            return -since, 0.0
        if self.name == "nearest":
            return abs((date - self.moment).total_seconds()), since
        if self.name == "earliest-in-event" and self.span is not None:
            return self.span.distance(date), since
        return since, 0.0


def is_credible(date: datetime, now: datetime) -> bool:
    """Return whether something can have been captured at that moment: there was a web, and it is no future."""
    return EARLIEST <= date <= now


Clock = Callable[[], datetime]
"""Returns the present moment, in UTC."""
