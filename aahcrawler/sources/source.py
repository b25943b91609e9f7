"""What a source of captures is, and how a URL is looked up in several, the preferred one first."""

import logging
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from aahcrawler.exchange import Exchange

logger = logging.getLogger(__name__)


class SourceError(Exception):
    """A source could not be asked, or what it said is of no use.

    ``archive`` is the one that failed, ``reason`` the word by which it is counted. ``may_pass`` says whether asking
    again later may help; ``seconds`` is for how long an archive wants to be left in peace, 0 where it said nothing.
    """

    def __init__(self, archive: str, reason: str, message: str, *, may_pass: bool, seconds: float = 0.0) -> None:
        super().__init__(f"{archive}: {message}")
        self.archive = archive
        self.reason = reason
        self.may_pass = may_pass
        self.seconds = seconds


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

    def close(self) -> None:
        """Release files and memory."""
        ...


@dataclass(slots=True)
class Resolution:
    """The looking up of one URL: ``troubles`` counts what went wrong, by ``archive: reason``.

    ``may_pass`` says whether a source that could not be asked may be asked later, and ``seconds`` for how long one asks
    to be left in peace until then, 0 where none does.
    """

    troubles: Counter[str] = field(default_factory=Counter)
    may_pass: bool = False
    seconds: float = 0.0

    def note(self, url: str, error: SourceError) -> None:
        """Note that a source could not say what it has of a URL."""
        logger.warning("%s: not looked up: %s", url, error)
        self.troubles[f"{error.archive}: {error.reason}"] += 1
        self.may_pass = self.may_pass or error.may_pass
        self.seconds = max(self.seconds, error.seconds)


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
