"""The order for a visit, with its limits, and the result: the page as it was rendered."""

from collections import Counter
from collections.abc import Mapping, Sequence
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
    """A cookie that the browser starts with. ``domain`` begins with a dot if the cookie applies to all subdomains."""

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
    """Whether to take a screenshot and a thumbnail."""
    bounds: VisitBounds = field(default_factory=VisitBounds)


@dataclass(frozen=True, slots=True)
class ConsoleLine:
    """A line of the page's console, or an error that no script caught (``level`` error)."""

    level: str
    text: str
    source: str = ""


@dataclass(frozen=True, slots=True)
class RequestInfo:
    """A request of a page. ``outcome`` is the status, or the reason for having none."""

    url: str
    method: str
    resource_type: str
    initiator: str
    outcome: str


@dataclass(frozen=True, slots=True)
class BehaviourInfo:
    """What a behaviour did: how many steps it took, and why it ended."""

    name: str
    steps: int
    ended: str


@dataclass(frozen=True, slots=True)
class RenderedPage:
    """A page at the end of a visit.

    ``dom`` is HTML in UTF-8, with shadow roots as templates and the initial value of each form field. ``url`` is the
    page's URL at the end, which scripts may have changed. ``leads_to`` are URLs to which scripts tried to navigate, or
    which they tried to open; none was followed. ``ended`` says why the visit stopped waiting: ``settled``, ``time``,
    ``bytes``, ``requests``. ``refused`` counts refusals by reason (``websocket``, ``webrtc``, ``robots``, ``download``,
    ``dialog``).
    """

    url: str
    dom: bytes
    title: str = ""
    screenshot: bytes = b""
    """A PNG of the window; empty if none was taken."""
    thumbnail: bytes = b""
    """A small JPEG."""
    console: tuple[ConsoleLine, ...] = ()
    requests: tuple[RequestInfo, ...] = ()
    behaviours: tuple[BehaviourInfo, ...] = ()
    leads_to: tuple[str, ...] = ()
    cookies: tuple[Cookie, ...] = ()
    """The browser's cookies at the end, including those set by scripts."""
    refused: Mapping[str, int] = field(default_factory=dict)
    ended: str = "settled"
    seconds: float = 0.0


class VisitFailedError(Exception):
    """Raised when a visit got no page.

    The page did not load, navigated away at once, or did not respond within its limits.
    """


CONSOLE_LINES = 200
TEXT_CHARACTERS = 1_000
LEADS = 200
URL_CHARACTERS = 4_000


class VisitTally:
    """The console lines of a page, the URLs to which its scripts tried to navigate, and counts of refusals."""

    def __init__(self) -> None:
        self.refused = Counter[str]()
        self._console: list[ConsoleLine] = []
        self._leads: dict[str, None] = {}

    @property
    def console(self) -> tuple[ConsoleLine, ...]:
        """The first ``CONSOLE_LINES`` lines of the console."""
        return tuple(self._console)

    @property
    def leads_to(self) -> tuple[str, ...]:
        """The first ``LEADS`` URLs to which scripts tried to navigate, each once."""
        return tuple(self._leads)

    def refuse(self, reason: str) -> None:
        """Count a refusal."""
        self.refused[reason] += 1

    def say(self, level: str, text: str, source: str = "") -> bool:
        """Record a line of the console; return whether there is space for more."""
        if len(self._console) < CONSOLE_LINES:
            text, source = unicode_text(text[:TEXT_CHARACTERS]), unicode_text(source[:TEXT_CHARACTERS])
            self._console.append(ConsoleLine(level, text, source))
        return len(self._console) < CONSOLE_LINES

    def lead(self, url: str) -> None:
        """Record a web URL to which a script tried to navigate."""
        if url.startswith(("http://", "https://")) and len(url) <= URL_CHARACTERS and len(self._leads) < LEADS:
            self._leads[unicode_text(url)] = None


def unicode_text(text: str) -> str:
    """Return text of a page as valid Unicode, because scripts can make strings with lone surrogates."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text
