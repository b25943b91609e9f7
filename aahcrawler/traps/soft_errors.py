"""Detects hosts that answer 200 for pages that they do not have.

Such a "soft 404" is found by asking for a URL that cannot exist, in a suspicious directory, and by comparing the answer
with the host's other pages (Bar-Yossef, Broder, Kumar and Tomkins, "Sic transit gloria telae", WWW 2004, section 4).
Each host is asked once, and only where several of its URLs had the same content.
"""

import re
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass
from enum import StrEnum

from aahcrawler.traps.neighbours import FEWEST, NEAR
from aahcrawler.traps.sketch import Sketch, distance

SUSPICIOUS = 5
"""The number of pages with another page's content before the host is asked."""
MOST_HOSTS = 10_000
"""Hosts that are remembered."""
PROBE = "aah-no-such-page-"
"""The beginning of the last segment of a URL that is asked for because it cannot exist."""

_PROBE = re.compile(rf"https?://[^?#]*/{PROBE}[0-9a-z]+")


class Standing(StrEnum):
    """The way a host answers for a page that it does not have."""

    UNASKED = "unasked"
    ASKED = "asked"
    HONEST = "honest"
    """It reports the missing page, or redirects."""
    SOFT = "soft"
    """It answers 200, with a page that others are compared with."""


@dataclass(slots=True)
class _Host:
    standing: Standing = Standing.UNASKED
    alike: int = 0
    fingerprint: int = 0
    size: int = 0


class SoftErrors:
    """The standing of the last ``capacity`` hosts."""

    def __init__(self, capacity: int = MOST_HOSTS) -> None:
        self._capacity = capacity
        self._hosts: OrderedDict[str, _Host] = OrderedDict()

    def suspect(self, url: str, name: str) -> str:
        """Note that a page equals another page of its host; return a URL to ask for, mostly empty.

        ``name`` are letters and digits that no page is called by.
        """
        host = self._host(_host_of(url))
        host.alike += 1
        if host.standing is not Standing.UNASKED or host.alike < SUSPICIOUS:
            return ""
        host.standing = Standing.ASKED
        return f"{directory(url)}{PROBE}{name}"

    def answered(self, url: str, sketch: Sketch | None) -> None:
        """Take the answer to a URL that cannot exist: the sketch of the page, None for an honest answer."""
        host = self._host(_host_of(url))
        if sketch is None or not sketch.size:
            host.standing, host.size = Standing.HONEST, 0
        else:
            host.standing, host.fingerprint, host.size = Standing.SOFT, sketch.fingerprint, sketch.size

    def is_like_none(self, url: str, sketch: Sketch) -> bool:
        """Return whether a page equals its host's answer for pages that it does not have.

        The front page of a host is a page, also where the host shows it instead of others.
        """
        host = self._hosts.get(_host_of(url))
        if host is None or not host.size or not sketch.size or url == _front(url):
            return False
        bits = NEAR if min(sketch.size, host.size) >= FEWEST else 0
        return distance(sketch.fingerprint, host.fingerprint) <= bits

    def join(self, state: Mapping[str, Sequence[str | int]]) -> None:
        """Take in the ``state`` of a former crawl: pages are compared with the same answers, hosts may be asked anew.

        A host may answer otherwise by now, which shows where its pages look alike and like no answer that is known.
        """
        for name, (_, _, fingerprint, size) in state.items():
            host = self._host(name)
            if size:
                host.fingerprint, host.size = int(fingerprint), int(size)

    def _host(self, name: str) -> _Host:
        host = self._hosts.setdefault(name, _Host())
        self._hosts.move_to_end(name)
        if len(self._hosts) > self._capacity:
            self._hosts.popitem(last=False)
        return host

    def state(self) -> Mapping[str, Sequence[str | int]]:
        """Return the whole state; ``restore`` takes it."""
        return {name: astuple(host) for name, host in self._hosts.items()}

    def restore(self, state: Mapping[str, Sequence[str | int]]) -> None:
        """Restore a result of ``state``. Raise ``ValueError`` or ``TypeError`` where it is not one."""
        for name, (standing, alike, fingerprint, size) in state.items():
            self._hosts[name] = _Host(Standing(str(standing)), int(alike), int(fingerprint), int(size))


def is_probe(url: str) -> bool:
    """Return whether a canonical URL was made up to see how a host answers for a missing page."""
    return _PROBE.fullmatch(url) is not None


def directory(url: str) -> str:
    """Return the directory that a canonical URL is in, with the slash at its end.

    >>> directory("http://a.test/blog/post-1/?page=2"), directory("http://a.test/")
    ('http://a.test/blog/', 'http://a.test/')
    """
    path = url.partition("?")[0]
    start = path.index("/", path.index("://") + 3)
    return path[: max(path.rstrip("/").rfind("/"), start) + 1]


def _front(url: str) -> str:
    return "/".join(url.split("/", 3)[:3]) + "/"


def _host_of(url: str) -> str:
    return url.split("/", 3)[2]
