"""The door of a replay that runs beside a cockpit: whom it lets in, and for how long.

The replay has a host name of its own, so that pages of the archive share nothing with the cockpit, nor its cookie.
Whoever is signed in there gets a ticket, which a form posts to the replay's ``/enter``; the replay answers with a
cookie of its own.
"""

import hashlib
import hmac
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from http.cookies import CookieError, SimpleCookie
from threading import Lock
from typing import Final

TICKET_SECONDS: Final = 60.0
SESSION_SECONDS: Final = 12 * 3600.0
MAX_TICKETS: Final = 1_000
MAX_SESSIONS: Final = 1_000
COOKIE: Final = "aah-replay"
_BYTES: Final = 32
_MAX_PATH_LENGTH: Final = 1 << 14

Clock = Callable[[], float]


class Secrets:
    """Random values that are known for some time, each with a text. Only digests of them are kept, in memory.

    Of more than ``most`` the oldest is forgotten. Several threads may use it at once. ``clock`` gives seconds that only
    grow.
    """

    def __init__(self, most: int, seconds: float, clock: Clock = time.monotonic) -> None:
        self._most, self._seconds, self._clock = most, seconds, clock
        self._known: OrderedDict[bytes, tuple[float, str]] = OrderedDict()
        self._lock = Lock()

    def issue(self, text: str = "") -> str:
        """Return a new value that stands for a text."""
        value = secrets.token_urlsafe(_BYTES)
        with self._lock:
            self._known[_digest(value)] = (self._clock() + self._seconds, text)
            while len(self._known) > self._most:
                self._known.popitem(last=False)
        return value

    def text(self, value: str, *, once: bool = False) -> str | None:
        """Return the text of a value, None where it is not known, or no longer. With ``once`` it is not known again."""
        wanted = _digest(value)
        with self._lock:
            found: bytes | None = None
            # All are compared, and each in constant time.
            for digest in self._known:
                if hmac.compare_digest(digest, wanted):
                    found = digest
            if found is None:
                return None
            until, text = self._known.pop(found) if once else self._known[found]
            return text if self._clock() < until else None


class Tickets:
    """Tickets to paths of the replay: each is good for a minute, and once."""

    def __init__(self, clock: Clock = time.monotonic) -> None:
        self._secrets = Secrets(MAX_TICKETS, TICKET_SECONDS, clock)

    def issue(self, path: str, holder: str = "") -> str:
        """Return a ticket to a path of the replay for a session of the cockpit. Raise ``ValueError`` for anything else.

        ``holder`` is the key of that session, a word.
        """
        is_path = path.startswith("/") and not path.startswith(("//", "/\\")) and len(path) <= _MAX_PATH_LENGTH
        if not is_path or not path.isascii() or not path.isprintable():
            raise ValueError(f"{path[:80]!r} is no path of the replay")
        return self._secrets.issue(f"{holder} {path}")

    def take(self, ticket: str) -> tuple[str, str] | None:
        """Return the path that a ticket is for, and its holder; None where it is none, was used, or is too old."""
        text = self._secrets.text(ticket, once=True)
        if text is None:
            return None
        holder, _, path = text.partition(" ")
        return path, holder


@dataclass(frozen=True, slots=True)
class ReplayAccess:
    """What lets into a replay. ``cockpit`` is the origin of the pages that may frame it, as ``http://127.0.0.1:8380``.

    ``is_open`` says of the key of a session there whether it goes on: who has signed out there is let in no more.
    """

    tickets: Tickets
    sessions: Secrets
    cockpit: str = ""
    is_open: Callable[[str], bool] = field(default=lambda _: True)

    @classmethod
    def new(
        cls, cockpit: str, clock: Clock = time.monotonic, is_open: Callable[[str], bool] = lambda _: True
    ) -> "ReplayAccess":
        """Return a door that has let nobody in."""
        return cls(Tickets(clock), Secrets(MAX_SESSIONS, SESSION_SECONDS, clock), cockpit, is_open)

    def enter(self, ticket: str) -> tuple[str, str] | None:
        """Return the path that a ticket is for, and the value of ``Set-Cookie`` of a new session; None without one."""
        taken = self.tickets.take(ticket)
        if taken is None or not self.is_open(taken[1]):
            return None
        path, holder = taken
        # Within the cockpit's page it is a cookie of a third party.
        attributes = f"HttpOnly; Secure; SameSite=None; Partitioned; Path=/; Max-Age={SESSION_SECONDS:.0f}"
        return path, f"{COOKIE}={self.sessions.issue(holder)}; {attributes}"

    def admits(self, cookies: str) -> bool:
        """Return whether a ``Cookie`` field names a session."""
        try:
            found = SimpleCookie(cookies).get(COOKIE)
        except CookieError:
            return False
        holder = self.sessions.text(found.value) if found is not None else None
        return holder is not None and self.is_open(holder)


def _digest(value: str) -> bytes:
    return hashlib.sha256(value.encode("utf-8", "replace")).digest()
