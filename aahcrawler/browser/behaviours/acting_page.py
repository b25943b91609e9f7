"""Define what behaviours need of a page in a browser."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


class PageLostError(Exception):
    """The document is not there any more, or does not answer: it was loaded anew, or hangs."""


@dataclass(frozen=True, slots=True)
class Spent:
    """What a visit has cost up to now, and how many requests were refused for their method."""

    bytes: int = 0
    requests: int = 0
    refused_methods: int = 0
    under_way: int = 0
    """Requests that have no whole answer yet."""


class ActingPage(Protocol):
    """A page that behaviours act on."""

    async def evaluate(self, expression: str, frame: str = "") -> object:
        """Return the JSON value of an expression of JavaScript, awaited where it is a promise.

        It is evaluated in an isolated world that is the same for all calls on a document, which scripts of the page
        cannot reach. ``frame`` is one of ``frames``, empty for the main one. Raise `PageLostError` where there is no
        such document any more, or where an expression fails.
        """
        ...

    async def frames(self) -> Sequence[str]:
        """Return the names of the frames within the page, of other sites too."""
        ...

    async def wait_for_quiet(self, seconds: float) -> None:
        """Return once no request has been under way for some tenths of a second, after ``seconds`` at the latest."""
        ...

    def spent(self) -> Spent:
        """Return what the visit has cost up to now."""
        ...
