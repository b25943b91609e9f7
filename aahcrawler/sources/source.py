"""What a source of captures is, to those who take captures from it."""

from collections.abc import AsyncIterator
from typing import Protocol

from aahcrawler.exchange import Exchange


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
