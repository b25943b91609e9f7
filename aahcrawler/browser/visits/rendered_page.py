"""Hold what a visit found: the page as it was shown, and what happened meanwhile."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from aahcrawler.browser.visits.visit_order import Cookie


@dataclass(frozen=True, slots=True)
class ConsoleLine:
    """A line that a page wrote into its console, or an error that none of its scripts caught (``level`` error)."""

    level: str
    text: str
    source: str = ""


@dataclass(frozen=True, slots=True)
class RequestInfo:
    """A request of a page. ``outcome`` is the status, or the reason for which there is none."""

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
    """A page as a visit left it.

    ``dom`` is HTML in UTF-8, shadow roots as templates, each form field with its value as the page came. ``url`` is
    the page's own after it ended (scripts may write it). ``leads_to`` are URLs that scripts wanted to go to or to open:
    none of them was. ``ended`` says why no more was waited for: ``settled``, ``time``, ``bytes``, ``requests``.
    ``refused`` counts what did not pass, by reason (``websocket``, ``webrtc``, ``robots``, ``download``, ``dialog``).
    """

    url: str
    dom: bytes
    title: str = ""
    screenshot: bytes = b""
    """A PNG of the window's size, empty where none was taken."""
    thumbnail: bytes = b""
    """A small JPEG."""
    console: tuple[ConsoleLine, ...] = ()
    requests: tuple[RequestInfo, ...] = ()
    behaviours: tuple[BehaviourInfo, ...] = ()
    leads_to: tuple[str, ...] = ()
    cookies: tuple[Cookie, ...] = ()
    """The cookies that the browser has at the end, those of scripts among them."""
    refused: Mapping[str, int] = field(default_factory=dict)
    ended: str = "settled"
    seconds: float = 0.0


class VisitFailedError(Exception):
    """A visit got no page: it did not load, left for elsewhere at once, or answered to nothing within its bounds."""


CONSOLE_LINES = 200
TEXT_CHARACTERS = 1_000
LEADS = 200
URL_CHARACTERS = 4_000


class VisitTally:
    """What a page said, where it wanted to go, and what it was refused."""

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
        """The first ``LEADS`` addresses that scripts wanted to go to, each once."""
        return tuple(self._leads)

    def refuse(self, reason: str) -> None:
        """Count something that did not pass."""
        self.refused[reason] += 1

    def say(self, level: str, text: str, source: str = "") -> bool:
        """Keep a line of the console; return whether there is room for more."""
        if len(self._console) < CONSOLE_LINES:
            text, source = unicode_text(text[:TEXT_CHARACTERS]), unicode_text(source[:TEXT_CHARACTERS])
            self._console.append(ConsoleLine(level, text, source))
        return len(self._console) < CONSOLE_LINES

    def lead(self, url: str) -> None:
        """Keep an address of the web that a script wanted to go to."""
        if url.startswith(("http://", "https://")) and len(url) <= URL_CHARACTERS and len(self._leads) < LEADS:
            self._leads[unicode_text(url)] = None


def unicode_text(text: str) -> str:
    """Return text of a page as it can be written: scripts make strings that are no Unicode."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text
