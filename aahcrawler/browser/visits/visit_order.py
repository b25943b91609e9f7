"""What a visit has to do, and its bounds."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from knowledge_base.behaviours import Behaviour


@dataclass(frozen=True, slots=True)
class VisitBounds:
    """The limits of one visit: seconds, bytes from the network, requests, and steps of behaviours."""

    seconds: float = 30.0
    bytes: int = 50_000_000
    requests: int = 1_000
    steps: int = 50


@dataclass(frozen=True, slots=True)
class Cookie:
    """A cookie that the browser starts with. ``domain`` begins with a dot where it holds for all subdomains."""

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
    """A page to visit. ``behaviours`` are run in order once the page is ready.

    With ``reading_only``, requests other than GET, HEAD and OPTIONS are refused, whatever behaviours allow.
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
