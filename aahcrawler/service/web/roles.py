"""Who asks, known by a bearer token, and what they may do."""

import hmac
import logging
import re
import secrets
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from hashlib import blake2b
from pathlib import Path
from typing import Final

from fastapi.requests import HTTPConnection

from aahcrawler.service.web.problems import FORBIDDEN, UNAUTHORISED, ProblemError


class Role(StrEnum):
    """The roles of those who ask. None of them includes another one."""

    READ = "read"
    """To see crawls and what they have gathered."""
    SCORE = "score"
    """To post scored URLs."""
    OPERATE = "operate"
    """To steer crawls: pause, stop, start, exclude, score, and change or create definitions."""
    WIDEN = "widen"
    """To have a definition reach, keep or show more than before, for those who steer."""
    JUDGE = "judge"
    """To draw pages of crawls, and to say how relevant they are."""
    EDIT = "edit"
    """To change the knowledge base."""


@dataclass(frozen=True, slots=True)
class Caller:
    """Somebody who was let in: the name that what they do is noted under, and their roles."""

    name: str
    roles: frozenset[Role]


EVERYTHING: Final = frozenset(Role)
CHALLENGE: Final = {"WWW-Authenticate": "Bearer"}
LOCAL: Final = Caller("local", EVERYTHING)
"""Whoever asks from this machine where no token is asked for."""


@dataclass(frozen=True, slots=True)
class Needed:
    """A dependency of routes that yields the caller, who must have a role.

    It raises ``ProblemError`` for another one, and where nothing has let anybody in (``Entrance``).
    """

    role: Role

    async def __call__(self, connection: HTTPConnection) -> Caller:
        """Return the caller."""
        found = getattr(connection.state, "caller", None)
        if not isinstance(found, Caller):
            raise ProblemError(UNAUTHORISED, "send `Authorization: Bearer TOKEN`", headers=CHALLENGE)
        return checked(found, self.role)


def needs(role: Role) -> Needed:
    """Return the dependency of a route that needs a role: ``Depends(needs(Role.OPERATE))``."""
    return Needed(role)


def checked(caller: Caller, role: Role, act: str = "this") -> Caller:
    """Return a caller who has a role. Raise ``ProblemError``, which names role and ``act``, for another one."""
    if role in caller.roles:
        return caller
    has = f"{caller.name} has: {', '.join(sorted(caller.roles)) or 'none'}"
    raise ProblemError(
        FORBIDDEN,
        f"{act} needs the role `{role}`, and {has}; ask whoever runs the service for a token with it",
        headers={"WWW-Authenticate": f'Bearer error="insufficient_scope", scope="{role}"'},
    )


MIN_TOKEN_LENGTH = 16
BARE: Final = "token"
"""The name of whoever has the one token that was given without a name."""
MAX_TOKENS = 1000
_MAX_BYTES = 2**20
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,63}")
_FIELDS = 3
_RULE = f"a token has at least {MIN_TOKEN_LENGTH} printable ASCII characters; make a new one"
_FORM = "write `name role[,role] token`"
_logger = logging.getLogger(__name__)


class TokenError(Exception):
    """Raised where there is no usable token; the message tells cause and remedy."""


@dataclass(frozen=True, slots=True)
class Named:
    """A token with whom it stands for."""

    token: str = field(repr=False)
    caller: Caller


class Tokens:
    """Knows callers by their tokens, of which it keeps digests alone; false where there are none."""

    def __init__(self, named: Iterable[Named] = ()) -> None:
        self._key = secrets.token_bytes(32)
        self._callers = tuple((self._digest(each.token), each.caller) for each in named)

    @classmethod
    def bare(cls, token: str) -> "Tokens":
        """Return the tokens of a service with one token, which has all roles; none where it is empty."""
        return cls([Named(token, Caller(BARE, EVERYTHING))] if token else [])

    def __bool__(self) -> bool:
        return bool(self._callers)

    def caller(self, token: str) -> Caller | None:
        """Return whom a token stands for, None where it is none. It is compared with all of them, in constant time."""
        given, found = self._digest(token), None
        for digest, caller in self._callers:
            if hmac.compare_digest(given, digest):
                found = caller
        return found

    def _digest(self, token: str) -> bytes:
        return blake2b(token.encode("utf-8", "surrogateescape"), key=self._key, digest_size=32).digest()


def read_tokens(given: str, file: Path | None) -> Tokens:
    """Return the tokens of a file, or else the one given; none where there is neither.

    A file holds one token, which has all roles, or a line `name role[,role] token` for each; lines that begin with
    ``#`` say nothing. One that others may read is warned of. Raise ``TokenError`` for a file that cannot be read or
    has a mistake, and for a token that is easily guessed.
    """
    if file is None:
        token = given.strip()
        if token and not _is_good(token):
            raise TokenError(f"AAH_SERVICE_TOKEN: {_RULE}")
        return Tokens.bare(token)
    lines = list(_lines(_text_of(file)))
    if len(lines) <= 1 and not _is_named(lines[0][1] if lines else ""):
        token = lines[0][1] if lines else ""
        if not _is_good(token):
            raise TokenError(f"{file}: {_RULE}, or {_FORM} on each line")
        return Tokens.bare(token)
    return Tokens(_all_named(file, lines))


def _text_of(file: Path) -> str:
    try:
        if file.stat().st_size > _MAX_BYTES:
            raise TokenError(f"{file}: has more than {_MAX_BYTES:,} bytes; name the file with the tokens")
        if file.stat().st_mode & (stat.S_IRGRP | stat.S_IROTH):
            _logger.warning("%s: others can read the tokens in it; `chmod 600` it", file)
        return file.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise TokenError(f"{file}: cannot be read ({error})") from error


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield what lines say with their numbers, which count from 1."""
    for number, line in enumerate(text.split("\n"), 1):
        said = line.strip()
        if said and not said.startswith("#"):
            yield number, said


def _is_named(line: str) -> bool:
    """Return whether the only line of a file is meant to name somebody; a bare token may have spaces, too."""
    fields = line.split()
    return len(fields) == _FIELDS and bool(re.fullmatch(r"[a-z]+(,[a-z]+)*", fields[1])) and _is_good(fields[2])


def _all_named(file: Path, lines: Iterable[tuple[int, str]]) -> Iterator[Named]:
    seen: dict[str, int] = {}
    for number, line in lines:
        try:
            named = _named(line)
            if named.token in seen:
                raise TokenError(f"is the token of line {seen[named.token]}, too; give each a token of its own")
            if len(seen) == MAX_TOKENS:
                raise TokenError(f"a service has at most {MAX_TOKENS:,} tokens")
        except TokenError as error:
            raise TokenError(f"{file}, line {number}: {error}") from None
        seen[named.token] = number
        yield named


def _named(line: str) -> Named:
    """Return what a line says. Raise ``TokenError``; its words repeat no token."""
    fields = line.split()
    if len(fields) != _FIELDS:
        raise TokenError(f"has {len(fields)} words and not {_FIELDS}; {_FORM}")
    name, words, token = fields
    if not _NAME.fullmatch(name):
        raise TokenError("a name has up to 64 ASCII letters, digits, and . _ @ - inside")
    wrong = [word for word in words.split(",") if word not in list(Role)]
    if wrong:
        shown = wrong[0][:MIN_TOKEN_LENGTH] if wrong[0].isascii() and wrong[0].isalpha() else ""
        raise TokenError(f"{shown!r} is no role; the roles are {', '.join(Role)}")
    if not _is_good(token):
        raise TokenError(_RULE)
    return Named(token, Caller(name, frozenset(map(Role, words.split(",")))))


def _is_good(token: str) -> bool:
    return len(token) >= MIN_TOKEN_LENGTH and token.isascii() and token.isprintable()
