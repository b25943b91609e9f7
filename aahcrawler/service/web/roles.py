"""Who asks, and what they may do."""

from dataclasses import dataclass
from enum import StrEnum
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
    """To have a definition reach, keep or show more than before (``widening_fields``), for those who steer."""
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
