"""What sites know a crawl by, kept with its frontier: for all workers, and over restarts."""

from typing import Protocol


class SessionStore(Protocol):
    """Texts by site, the pay-level domain that is also the name of a queue.

    Leases of a queue are one worker's at a time (``protocol``), so what is read stays true until that one writes.
    Errors are those of ``protocol.Scheduling``.
    """

    def session(self, site: str) -> str:
        """Return the text of a site, empty where there is none."""
        ...

    def keep_session(self, site: str, text: str) -> None:
        """Replace the text of a site; an empty one is removed."""
        ...


class LocalSessionStore:
    """The sessions of a crawl that has a single process, for as long as that lives."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}

    def session(self, site: str) -> str:
        """See ``SessionStore.session``."""
        return self._texts.get(site, "")

    def keep_session(self, site: str, text: str) -> None:
        """See ``SessionStore.keep_session``."""
        self._texts[site] = text
