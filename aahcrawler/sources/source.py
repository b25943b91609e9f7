"""What a source of captures is, and how a URL is looked up in several, the preferred one first."""

import logging
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final, Protocol, Self, TypeVar

from aahcrawler.exchange import Exchange
from online_analysis.icd import Icd

logger = logging.getLogger(__name__)


REST: Final = "at rest"
"""The reason of a ``SourceError`` for an archive that is asked nothing for now."""


LATE: Final = "late"
"""The reason of one for an archive that lets one wait."""


class SourceError(Exception):
    """A source could not be asked, or what it said is of no use.

    ``archive`` is the one that failed, ``reason`` the word by which it is counted. ``may_pass`` says whether asking
    again later may help; ``seconds`` is for how long an archive wants to be left in peace, 0 where it said nothing, and
    ``rest`` for how long it is asked nothing after it has failed.
    """

    def __init__(
        self, archive: str, reason: str, message: str, *, may_pass: bool, seconds: float = 0.0, rest: float = 0.0
    ) -> None:
        super().__init__(f"{archive}: {message}")
        self.archive = archive
        self.reason = reason
        self.may_pass = may_pass
        self.seconds = seconds
        self.rest = rest


class LateError(SourceError):
    """An archive does not answer as soon as others might: it is to be asked once these have said what they have."""


class ArchiveFolderError(Exception):
    """An archive that a definition names cannot be used; the message tells cause and remedy."""


@dataclass(frozen=True, slots=True)
class Demand:
    """What a source is asked for: captures of at most ``most`` bytes.

    Without ``is_patient`` an archive that lets one wait raises ``LateError``: there are others to be asked.
    """

    most: int
    is_patient: bool = True


class Source(Protocol):
    """A source of captures."""

    @property
    def name(self) -> str:
        """What reports call it."""
        ...

    def captures(self, url: str, demand: Demand) -> AsyncIterator[Exchange]:
        """Yield the captures of a URL that are to be taken; nothing where it has none.

        Whoever takes one closes it. Raise ``SourceError`` where nobody can say what the source has.
        """
        ...

    def near(self, moment: datetime) -> "Source":
        """Return the same source, of which the captures nearest to a moment are taken. It is not closed by itself."""
        ...

    async def moments(self, url: str) -> Sequence[datetime]:
        """Return when the captures of a URL were made that may be taken, as far as the source tells, in no order.

        What its index lists may turn out to be none once it is read. Raise ``SourceError`` as ``captures`` does.
        """
        ...

    def close(self) -> None:
        """Release files and memory."""
        ...


@dataclass(slots=True)
class Resolution:
    """The looking up of one URL: ``troubles`` counts what went wrong, by ``archive: reason``.

    ``may_pass`` says whether a source that could not be asked may be asked later, and ``seconds`` for how long one asks
    to be left in peace until then, 0 where none does; ``rest`` is for how long those that failed are asked nothing.
    ``have_nothing`` are the sources that could tell that they have nothing; ``has_any`` says that one had a capture.
    """

    troubles: Counter[str] = field(default_factory=Counter)
    may_pass: bool = False
    seconds: float = 0.0
    rest: float = 0.0
    have_nothing: list[Source] = field(default_factory=list)
    has_any: bool = False

    def note(self, url: str, error: SourceError) -> None:
        """Note that a source could not say what it has of a URL."""
        # What is at rest failed before, and is passed over with every URL until it is asked again.
        logger.log(
            logging.DEBUG if error.reason in (REST, LATE) else logging.WARNING, "%s: not looked up: %s", url, error
        )
        self.troubles[f"{error.archive}: {error.reason}"] += 1
        self.may_pass = self.may_pass or error.may_pass
        self.seconds = max(self.seconds, error.seconds)
        self.rest = max(self.rest, error.rest)


class LateAnswers(Protocol):
    """How a look-up fares with sources that let one wait."""

    def __call__(
        self, url: str, late: Sequence[tuple[Source, LateError]], most: int, resolution: Resolution
    ) -> AsyncIterator[Exchange]:
        """Yield the captures of a URL from the first of these sources that has any; note what goes wrong."""
        ...


async def captures(
    url: str, sources: Sequence[Source], most: int, resolution: Resolution, late_answers: LateAnswers
) -> AsyncIterator[Exchange]:
    """Yield the captures of a URL from the first source that has any; what goes wrong elsewhere is noted.

    A source that lets one wait is passed over while there are others; where these have nothing, or cannot tell,
    ``late_answers`` has what it says. Whoever takes a capture closes it.
    """
    late: list[tuple[Source, LateError]] = []
    is_only = len(sources) == 1 and not resolution.have_nothing
    for source in sources:
        try:
            async for exchange in _of(source, url, Demand(most, is_patient=is_only), resolution):
                resolution.has_any = True
                yield exchange
        except LateError as error:
            late.append((source, error))
        if resolution.has_any:
            break
    if resolution.has_any or not late:
        for _, lateness in late:
            resolution.note(url, lateness)
        return
    async for exchange in late_answers(url, late, most, resolution):
        resolution.has_any = True
        yield exchange


async def _of(source: Source, url: str, demand: Demand, resolution: Resolution) -> AsyncGenerator[Exchange, None]:
    """Yield what a source has of a URL; note what goes wrong, except that it is late where that is raised."""
    has_any = False
    try:
        async for exchange in source.captures(url, demand):
            has_any = True
            yield exchange
        if not has_any:
            resolution.have_nothing.append(source)
    except SourceError as error:
        if isinstance(error, LateError) and not demand.is_patient:
            raise
        resolution.note(url, error)


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
