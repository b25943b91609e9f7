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


class ArchiveFolderError(Exception):
    """An archive that a definition names cannot be used; the message tells cause and remedy."""


class Source(Protocol):
    """A source of captures."""

    @property
    def name(self) -> str:
        """What reports call it."""
        ...

    def captures(self, url: str, most: int) -> AsyncIterator[Exchange]:
        """Yield the captures of a URL that are to be taken, at most ``most`` bytes of each; nothing where it has none.

        Whoever takes one closes it. Raise ``SourceError`` where nobody can say what the source has.
        """
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
    """

    troubles: Counter[str] = field(default_factory=Counter)
    may_pass: bool = False
    seconds: float = 0.0
    rest: float = 0.0

    def note(self, url: str, error: SourceError) -> None:
        """Note that a source could not say what it has of a URL."""
        # What is at rest failed before, and is passed over with every URL until it is asked again.
        logger.log(logging.DEBUG if error.reason == REST else logging.WARNING, "%s: not looked up: %s", url, error)
        self.troubles[f"{error.archive}: {error.reason}"] += 1
        self.may_pass = self.may_pass or error.may_pass
        self.seconds = max(self.seconds, error.seconds)
        self.rest = max(self.rest, error.rest)


async def captures(url: str, sources: Sequence[Source], most: int, resolution: Resolution) -> AsyncIterator[Exchange]:
    """Yield the captures of a URL from the first source that has any; what goes wrong elsewhere is noted.

    Whoever takes one closes it.
    """
    for source in sources:
        has_any = False
        try:
            async for exchange in source.captures(url, most):
                has_any = True
                yield exchange
        except SourceError as error:
            resolution.note(url, error)
        if has_any:
            return
