"""Access control of a replay that runs beside a cockpit: who is admitted, and for how long.

The replay has a host name of its own, so that archived pages share nothing with the cockpit, not even its cookie. A
user who is signed in to the cockpit gets a ticket, which a form posts to the replay's ``/enter``; the replay responds
with a cookie of its own.
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
    """Random values that are valid for some time, each with a text. Only their digests are kept, in memory.

    Beyond ``most`` values the oldest is dropped. Thread-safe. ``clock`` gives monotonic seconds.
    """

    def __init__(self, most: int, seconds: float, clock: Clock = time.monotonic) -> None:
        self._most, self._seconds, self._clock = most, seconds, clock
        self._known: OrderedDict[bytes, tuple[float, str]] = OrderedDict()
        self._lock = Lock()

    def issue(self, text: str = "") -> str:
        """Return a new value for a text."""
        value = secrets.token_urlsafe(_BYTES)
        with self._lock:
            self._known[_digest(value)] = (self._clock() + self._seconds, text)
            while len(self._known) > self._most:
                self._known.popitem(last=False)
        return value

    def text(self, value: str, *, once: bool = False) -> str | None:
        """Return the text of a value, None where it is unknown or expired. With ``once`` the value is then invalid."""
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
    """Tickets to paths of the replay: each is valid for a minute, and once."""

    def __init__(self, clock: Clock = time.monotonic) -> None:
        self._secrets = Secrets(MAX_TICKETS, TICKET_SECONDS, clock)

    def issue(self, path: str, holder: str = "") -> str:
        """Return a ticket to a path of the replay for a session of the cockpit.

        Raises ``ValueError`` for anything else.

        ``holder`` is the key of that session, a single word.
        """
        is_path = path.startswith("/") and not path.startswith(("//", "/\\")) and len(path) <= _MAX_PATH_LENGTH
        if not is_path or not path.isascii() or not path.isprintable():
            raise ValueError(f"{path[:80]!r} is no path of the replay")
        return self._secrets.issue(f"{holder} {path}")

    def take(self, ticket: str) -> tuple[str, str] | None:
        """Return the path and the holder of a ticket; None where it is invalid, used or expired."""
        text = self._secrets.text(ticket, once=True)
        if text is None:
            return None
        holder, _, path = text.partition(" ")
        return path, holder


@dataclass(frozen=True, slots=True)
class ReplayAccess:
    """The access control of a replay.

    ``cockpit`` is the origin whose pages may frame it, such as ``http://127.0.0.1:8380``.

    ``is_open`` tells, by the key of a cockpit session, whether it is still open: who has signed out there is no longer
    admitted.
    """

    tickets: Tickets
    sessions: Secrets
    cockpit: str = ""
    is_open: Callable[[str], bool] = field(default=lambda _: True)

    @classmethod
    def new(
        cls, cockpit: str, clock: Clock = time.monotonic, is_open: Callable[[str], bool] = lambda _: True
    ) -> "ReplayAccess":
        """Return an access control without any session."""
        return cls(Tickets(clock), Secrets(MAX_SESSIONS, SESSION_SECONDS, clock), cockpit, is_open)

    def enter(self, ticket: str) -> tuple[str, str] | None:
        """Return a ticket's path and a ``Set-Cookie`` value for a new session; None for an invalid ticket."""
        taken = self.tickets.take(ticket)
        if taken is None or not self.is_open(taken[1]):
            return None
        path, holder = taken
        # Within the cockpit's page it is a cookie of a third party.
        attributes = f"HttpOnly; Secure; SameSite=None; Partitioned; Path=/; Max-Age={SESSION_SECONDS:.0f}"
        return path, f"{COOKIE}={self.sessions.issue(holder)}; {attributes}"

    def admits(self, cookies: str) -> bool:
        """Return whether a ``Cookie`` field names a valid session."""
        try:
            found = SimpleCookie(cookies).get(COOKIE)
        except CookieError:
            return False
        holder = self.sessions.text(found.value) if found is not None else None
        return holder is not None and self.is_open(holder)


def _digest(value: str) -> bytes:
    return hashlib.sha256(value.encode("utf-8", "replace")).digest()
