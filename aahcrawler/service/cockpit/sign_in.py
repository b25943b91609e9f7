"""Signing in to the cockpit: one-time codes, sessions, and a limit on guesses."""

import hashlib
import hmac
import secrets
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from aahcrawler.service.web.noted_acts import access_log, note_said
from aahcrawler.service.web.roles import Caller

SIGNS: Final = "23456789ABCDEFGHJKMNPQRSTUVWXYZ"
"""What codes are made of: no sign that is easily taken for another."""
GROUPS, GROUP = 3, 4
SESSION_SECONDS: Final = 12 * 3600
_MAX_SESSIONS: Final = 200
_GUESSES, _GUESS_SECONDS = 10, 60.0


@dataclass(frozen=True, slots=True)
class Said:
    """The outcome of an act, shown once on the next page; ``kind`` is ``good``, ``warn`` or ``bad``."""

    text: str
    kind: str = "good"
    lines: tuple[str, ...] = ()


@dataclass(slots=True)
class Session:
    """A signed-in browser, the secret that its forms carry, and the message for its next page."""

    caller: Caller
    form_secret: str
    begun_at: float
    key: str = field(default_factory=lambda: secrets.token_hex(16))
    """What replays know it by."""
    said: Said | None = None

    def tell(self, said: Said | None) -> None:
        """Show the outcome of an act on the next page."""
        self.said = said
        if said is not None:
            note_said(" ".join((said.text, *said.lines)), refused=said.kind == "bad")

    def told(self) -> Said | None:
        """Return the message for this page, and forget it."""
        said, self.said = self.said, None
        return said

    def accepts(self, given: str) -> bool:
        """Return whether a form carries the secret of this session."""
        return hmac.compare_digest(given.encode(), self.form_secret.encode())


def new_code() -> str:
    """Return a one-time code, some 59 bits: ``7KQ2-M9DX-4TRA``."""
    groups = ("".join(secrets.choice(SIGNS) for _ in range(GROUP)) for _ in range(GROUPS))
    return "-".join(groups)


@dataclass(slots=True)
class SignIn:
    """Signs browsers in by the code shown in the terminal or by a token, for twelve hours. Thread-safe.

    A code is valid for one sign-in; ``on_code`` is called with the next one. ``by_token`` returns the owner of a token,
    None for an invalid one. After ten wrong guesses within a minute, nobody is signed in for the rest of it. Beyond 200
    sessions, the oldest end.
    """

    by_token: Callable[[str], Caller | None]
    on_code: Callable[[str], None] | None = None
    code_caller: Caller | None = None
    clock: Callable[[], float] = time.monotonic
    has_tokens: bool = False
    code: str = field(default_factory=new_code)
    _sessions: OrderedDict[bytes, Session] = field(default_factory=OrderedDict)
    _wrong: deque[float] = field(default_factory=deque)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def enter(self, given: str) -> str | None:
        """Return the cookie of a new session; None if the code or token is wrong, or too many guesses were."""
        with self._lock:
            if self._is_closed():
                return None
            caller = self._caller(given.strip())
            if caller is None:
                self._wrong.append(self.clock())
                access_log.warning("sign-in refused: a wrong code or token, %d within a minute", len(self._wrong))
                return None
            access_log.info("%s signed in (%s)", caller.name, ", ".join(sorted(caller.roles)))
            cookie = secrets.token_urlsafe(32)
            self._sessions[_kept(cookie)] = Session(caller, secrets.token_urlsafe(32), self.clock())
            while len(self._sessions) > _MAX_SESSIONS:
                self._sessions.popitem(last=False)
            return cookie

    def session(self, cookie: str) -> Session | None:
        """Return the session of a cookie, None where there is none or it has ended."""
        with self._lock:
            found = self._sessions.get(_kept(cookie)) if cookie else None
            if found is not None and self._is_over(found):
                del self._sessions[_kept(cookie)]
                return None
            return found

    def is_open(self, key: str) -> bool:
        """Return whether a session, given by its key, has neither been signed out nor expired."""
        with self._lock:
            return any(each.key == key and not self._is_over(each) for each in self._sessions.values())

    def leave(self, cookie: str) -> None:
        """End a session."""
        with self._lock:
            left = self._sessions.pop(_kept(cookie), None)
        if left is not None:
            access_log.info("%s signed out", left.caller.name)

    def is_closed(self) -> bool:
        """Return whether signing in is suspended after too many wrong guesses."""
        with self._lock:
            return self._is_closed()

    def _is_over(self, session: Session) -> bool:
        return self.clock() - session.begun_at > SESSION_SECONDS

    def _is_closed(self) -> bool:
        while self._wrong and self.clock() - self._wrong[0] > _GUESS_SECONDS:
            self._wrong.popleft()
        return len(self._wrong) >= _GUESSES

    def _caller(self, given: str) -> Caller | None:
        if self.code_caller is not None and hmac.compare_digest(_plain(given), _plain(self.code)):
            self.code = new_code()
            if self.on_code is not None:
                self.on_code(self.code)
            return self.code_caller
        return self.by_token(given)


def _plain(code: str) -> bytes:
    """Return a code without dashes and in capitals, since people type it either way."""
    return code.replace("-", "").replace(" ", "").upper().encode()


def _kept(cookie: str) -> bytes:
    """Return the digest under which a cookie is stored, so that memory contents do not reveal cookies."""
    return hashlib.sha256(cookie.encode()).digest()
