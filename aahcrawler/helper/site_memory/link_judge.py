"""What a crawl knows of links beside the page that they stand on."""

from typing import Protocol

from aahcrawler.sessions import without_session


class LinkJudge(Protocol):
    """What a crawl knows of URLs, which are canonical."""

    def without_id(self, url: str) -> str:
        """Return a URL without ids of sessions."""

    def knows(self, url: str) -> bool:
        """Return whether a URL was fetched, or is to be."""

    def allows(self, url: str, word: str) -> bool:
        """Return whether an operator wants URLs with this word, and this one among them."""


class ByName:
    """What is known where there is no crawl: the ids that documented software writes."""

    def without_id(self, url: str) -> str:
        """Return a URL without the ids of sessions that documented software writes."""
        return without_session(url)

    def knows(self, url: str) -> bool:  # noqa: ARG002
        """Return False: nothing was fetched."""
        return False

    def allows(self, url: str, word: str) -> bool:  # noqa: ARG002
        """Return False: nobody said anything."""
        return False
