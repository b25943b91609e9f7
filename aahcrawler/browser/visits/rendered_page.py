"""Hold what a visit found: the page as it was shown, and what happened meanwhile."""

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
class RequestNote:
    """A request of a page. ``outcome`` is the status, or the reason for which there is none."""

    url: str
    method: str
    resource_type: str
    initiator: str
    outcome: str


@dataclass(frozen=True, slots=True)
class BehaviourNote:
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
    requests: tuple[RequestNote, ...] = ()
    behaviours: tuple[BehaviourNote, ...] = ()
    leads_to: tuple[str, ...] = ()
    cookies: tuple[Cookie, ...] = ()
    """The cookies that the browser has at the end, those of scripts among them."""
    refused: Mapping[str, int] = field(default_factory=dict)
    ended: str = "settled"
    seconds: float = 0.0
