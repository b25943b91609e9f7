"""Say what a visit is to do, and within which bounds."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from knowledge_base.behaviours import Behaviour


@dataclass(frozen=True, slots=True)
class VisitBounds:
    """The most that one visit may take: seconds, bytes from the network, requests, and steps of behaviours."""

    seconds: float = 30.0
    bytes: int = 50_000_000
    requests: int = 1_000
    steps: int = 50


@dataclass(frozen=True, slots=True)
class Cookie:
    """A cookie that the browser begins with. ``domain`` begins with a dot where it holds for all hosts below it."""

    name: str
    value: str
    domain: str
    path: str = "/"
    secure: bool = False
    http_only: bool = False
    same_site: str = ""
    expires: float | None = None


@dataclass(frozen=True, slots=True)
class VisitOrder:
    """A page to visit. ``behaviours`` are done one after another, once the page is there.

    ``reading_only``: no request but GET, HEAD and OPTIONS is made, whatever behaviours allow.
    """

    url: str
    user_agent: str
    languages: Sequence[str] = ()
    cookies: Sequence[Cookie] = ()
    behaviours: Sequence[Behaviour] = ()
    reading_only: bool = True
    pictures: bool = True
    """Whether a screenshot and a thumbnail are taken."""
    bounds: VisitBounds = field(default_factory=VisitBounds)
