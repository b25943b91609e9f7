"""What a source of captures is, and how a URL is looked up in several, the preferred one first."""

import logging
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, Protocol

from aahcrawler.exchange import Exchange

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
    ``have_nothing`` are the sources that could tell that they have nothing.
    """

    troubles: Counter[str] = field(default_factory=Counter)
    may_pass: bool = False
    seconds: float = 0.0
    rest: float = 0.0
    have_nothing: list[Source] = field(default_factory=list)

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


async def captures(
    url: str, sources: Sequence[Source], most: int, resolution: Resolution, *, is_patient: bool = True
) -> AsyncIterator[Exchange]:
    """Yield the captures of a URL from the first source that has any; what goes wrong elsewhere is noted.

    A source that lets one wait is passed over while there are others; where these have nothing it is waited for by
    whoever is patient, and else noted. Where none can tell, it is waited for. Whoever takes a capture closes it.
    """
    late: list[tuple[Source, LateError]] = []
    has_any = False
    for source in sources:
        try:
            async for exchange in _of(source, url, Demand(most, is_patient=len(sources) == 1), resolution):
                has_any = True
                yield exchange
        except LateError as error:
            late.append((source, error))
        if has_any:
            break
    if has_any or (resolution.have_nothing and not is_patient):
        for _, lateness in late:
            resolution.note(url, lateness)
        return
    for source, _ in late:
        async for exchange in _of(source, url, Demand(most), resolution):
            has_any = True
            yield exchange
        if has_any:
            return


async def _of(source: Source, url: str, demand: Demand, resolution: Resolution) -> AsyncIterator[Exchange]:
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
