"""Decides which posted URLs a crawl takes, by the rules that hold for the links of its pages."""

from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from urllib.parse import urlsplit

from aahcrawler import urls
from aahcrawler.frontier.hops import Hop, extended
from aahcrawler.scope import ExternalUrl, Scope
from aahcrawler.tombstones import TakenDown
from aahcrawler.wire.ip_policy import IpPolicy
from online_analysis.icd import Icd

PRIVATE = "private_address"
"""The reason for refusing a URL that leads to an IP address the crawl must not connect to."""

_LOOPBACK = "127.0.0.1"
_HOSTS = 4096
_ANY_PORT = 80


class Fault(StrEnum):
    """The reasons for which a URL cannot be crawled."""

    URL = "url"
    """The URL is not an http or https URL."""
    TOO_LONG = "too_long"
    """The URL has more characters than any URL of a page."""


@dataclass(frozen=True, slots=True)
class Target:
    """A canonical URL and its queue."""

    url: str
    queue: str


class Admission:
    """The rules of one definition. Names are not looked up: a name's IP address is judged when it is fetched."""

    def __init__(self, icd: Icd, taken_down: TakenDown | None = None) -> None:
        self._scope = Scope(icd, taken_down=taken_down)
        self._addresses = IpPolicy(
            allow_private=icd.network.allow_private,
            resolve={host: str(endpoint) for host, endpoint in icd.network.resolve.items()},
        )
        self._is_private = lru_cache(_HOSTS)(self._judge_authority)

    def target(self, text: str) -> Target | Fault:
        """Return the crawl's form of a URL, or the reason why it has none."""
        url = self._scope.spelling.url(text)
        if url is None:
            return Fault.TOO_LONG if len(text) > urls.MAX_LENGTH else Fault.URL
        queue = urls.queue_of(url)
        return Target(url, queue) if 0 < len(queue.encode()) <= 255 else Fault.URL

    def refusal(self, target: Target) -> str | None:
        """Return why the crawl does not fetch a URL, as ``Scope.admit`` does, or ``PRIVATE``; None when it may."""
        refused = self._scope.admit(ExternalUrl(target.url, target.queue, path=self.path(target)))
        if refused is not None:
            return str(refused)
        return PRIVATE if self._is_private(target.url.split("/", 3)[2]) else None

    def path(self, target: Target) -> str:
        """Return the hops that lead to a posted URL: one, from outside."""
        return extended("", Hop.POST, is_off_site=not self._scope.is_of_seeds(target.queue))

    def _judge_authority(self, authority: str) -> bool:
        host = urlsplit(f"//{authority}").hostname or ""
        mapped = self._addresses.mapped(host, _ANY_PORT)
        if mapped is not None:
            return self._addresses.refusal(mapped.address) is not None
        name = host.rstrip(".")
        if name == "localhost" or name.endswith(".localhost"):
            return self._addresses.refusal(_LOOPBACK) is not None
        try:
            return self._addresses.refusal(name) is not None
        except ValueError:
            return False
