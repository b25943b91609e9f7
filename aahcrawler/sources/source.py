"""What a source of captures is, and how a URL is looked up in several sources in order of preference."""

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
    """A source could not be asked, or its response is unusable.

    ``archive`` is the archive that failed; ``reason`` is the word by which the error is counted. ``may_pass`` says
    whether a later retry may help. ``seconds`` is how long the archive asks to be left alone, 0 if it does not say;
    ``rest`` is for how long it gets no requests after the failure.
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
    """An archive is slower than others may be; it should be asked after them."""


class ArchiveFolderError(Exception):
    """An archive named in a definition cannot be used; the message tells cause and remedy."""


@dataclass(frozen=True, slots=True)
class Demand:
    """The conditions of a look-up: captures have at most ``most`` bytes.

    Unless ``is_patient``, a slow archive raises ``LateError``, since there are others to ask.
    """

    most: int
    is_patient: bool = True


class Source(Protocol):
    """A source of captures."""

    @property
    def name(self) -> str:
        """The name of the source in reports."""
        ...

    def captures(self, url: str, demand: Demand) -> AsyncIterator[Exchange]:
        """Yield the captures of a URL to take; nothing if the source has none. The caller closes each one.

        Raise ``SourceError`` if it cannot be determined what the source has.
        """
        ...

    def near(self, moment: datetime) -> "Source":
        """Return the same source with the choice of the captures nearest to a time.

        Closing the original closes both.
        """
        ...

    async def moments(self, url: str) -> Sequence[datetime]:
        """Return the times of the acceptable captures of a URL, as far as the source lists them, in any order.

        A listed capture may turn out to be unusable when it is read. Raise ``SourceError`` as ``captures`` does.
        """
        ...

    def close(self) -> None:
        """Release files and memory."""
        ...


@dataclass(slots=True)
class Resolution:
    """The look-up of one URL: ``troubles`` counts what went wrong, by ``archive: reason``.

    ``may_pass`` says whether a failed source may be asked again later. ``seconds`` is how long a source asks to be left
    alone until then, 0 if none does; ``rest`` is for how long failed sources get no requests. ``have_nothing`` are the
    sources that answered that they have nothing; ``has_any`` says that some source had a capture.
    """

    troubles: Counter[str] = field(default_factory=Counter)
    may_pass: bool = False
    seconds: float = 0.0
    rest: float = 0.0
    have_nothing: list[Source] = field(default_factory=list)
    has_any: bool = False

    def note(self, url: str, error: SourceError) -> None:
        """Record that the look-up of a URL in a source failed."""
        # What is at rest failed before, and is passed over with every URL until it is asked again.
        logger.log(
            logging.DEBUG if error.reason in (REST, LATE) else logging.WARNING, "%s: not looked up: %s", url, error
        )
        self.troubles[f"{error.archive}: {error.reason}"] += 1
        self.may_pass = self.may_pass or error.may_pass
        self.seconds = max(self.seconds, error.seconds)
        self.rest = max(self.rest, error.rest)


class LateAnswers(Protocol):
    """A function that continues a look-up in sources that were late."""

    def __call__(
        self, url: str, late: Sequence[tuple[Source, LateError]], most: int, resolution: Resolution
    ) -> AsyncIterator[Exchange]:
        """Yield the captures of a URL from the first of these sources that has any; record errors in ``resolution``."""
        ...


async def captures(
    url: str, sources: Sequence[Source], most: int, resolution: Resolution, late_answers: LateAnswers
) -> AsyncIterator[Exchange]:
    """Yield the captures of a URL from the first source that has any; record errors of other sources in ``resolution``.

    A late source is skipped while there are others; if these have nothing or fail, ``late_answers`` continues. The
    caller closes each capture.
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
    """Yield a source's captures of a URL; record errors in ``resolution``, but raise ``LateError``."""
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
    """Something with the time when it was captured, which is aware of its zone."""

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
        """Return the seconds from a time to the nearest end of the span, 0 within it.

        >>> day = datetime(2013, 6, 1, tzinfo=UTC)
        >>> Span(day, day).distance(datetime(2013, 6, 2, tzinfo=UTC))
        86400.0
        """
        return max((self.start - date).total_seconds(), (date - self.end).total_seconds(), 0.0)


@dataclass(frozen=True, slots=True)
class SnapshotChoice:
    """The choice among the captures of a URL.

    ``moment`` is the date for which a TimeGate is asked: the beginning of the event, the date to which the capture
    should be nearest, or the time when the crawl began. ``span`` is that of the event, if the choice depends on one. If
    ``takes_all``, every capture is taken; otherwise the first one that can be had.
    """

    name: str
    moment: datetime
    span: Span | None = None

    @classmethod
    def of(cls, icd: Icd, now: datetime) -> Self:
        """Return the choice that a definition makes, for a crawl that began ``now``."""
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
        """Return the choice of the capture nearest to a time; a choice of all captures stays so."""
        return self if self.takes_all else SnapshotChoice("nearest", moment)

    @property
    def is_nearest(self) -> bool:
        """Whether the capture nearest to ``moment`` is taken."""
        return self.name in ("nearest", "newest")

    def admits(self, date: datetime) -> bool:
        """Return whether a capture of that date is acceptable."""
        return self.name != "first-after-event" or date >= self.moment

    def ordered(self, captures: Iterable[D]) -> Sequence[D]:
        """Return the acceptable captures, the preferred one first; for ``all``, in order of time.

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
    """Return whether a capture can be of that date: neither before the web existed nor in the future."""
    return EARLIEST <= date <= now


Clock = Callable[[], datetime]
"""Returns the present moment, in UTC."""
