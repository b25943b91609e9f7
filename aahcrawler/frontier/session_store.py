"""Store a crawl's sessions with sites beside its frontier, for all workers and across restarts."""

from typing import Protocol


class SessionStore(Protocol):
    """Session texts by site, the pay-level domain that is also the name of a queue.

    All leases of a queue belong to one worker at a time (``protocol``), so a text stays current until that worker
    writes. Errors are those of ``protocol.Scheduling``.
    """

    def session(self, site: str) -> str:
        """Return the session text of a site; empty if there is none."""
        ...

    def keep_session(self, site: str, text: str) -> None:
        """Replace the session text of a site; an empty text removes it."""
        ...


class LocalSessionStore:
    """The sessions of a crawl that runs in one process, in memory only."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}

    def session(self, site: str) -> str:
        """See ``SessionStore.session``."""
        return self._texts.get(site, "")

    def keep_session(self, site: str, text: str) -> None:
        """See ``SessionStore.keep_session``."""
        self._texts[site] = text
