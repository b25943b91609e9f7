"""Detect hosts that answer 200 for missing pages, and pages that are near duplicates of others.

Such a "soft 404" is found by requesting a URL that cannot exist, in a suspicious directory, and comparing the response
with the host's other pages (Bar-Yossef, Broder, Kumar and Tomkins, "Sic transit gloria telae", WWW 2004, section 4).
Each host is probed once, and only if several of its URLs had the same content.
"""

import re
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass
from enum import StrEnum
from typing import Any, Final
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from aahcrawler.traps.bloom_filters import Arrays, digest
from aahcrawler.traps.sketch import Sketch, distance

SUSPICIOUS = 5
"""How many pages of a host must have another page's content before the host is probed."""
MAX_HOSTS = 10_000
"""How many hosts are remembered."""
PROBE = "aah-no-such-page-"
"""The beginning of the last segment of a probe, a URL that cannot exist."""

_PROBE = re.compile(rf"https?://[^?#]*/{PROBE}[0-9a-z]+")


class Standing(StrEnum):
    """How a host responds for missing pages, as far as is known."""

    UNASKED = "unasked"
    ASKED = "asked"
    HONEST = "honest"
    """It reports the missing page, or redirects."""
    SOFT = "soft"
    """It answers 200, with a page with which others are compared."""


@dataclass(slots=True)
class _Host:
    standing: Standing = Standing.UNASKED
    alike: int = 0
    fingerprint: int = 0
    size: int = 0


class SoftErrors:
    """How the last ``capacity`` hosts respond for missing pages."""

    def __init__(self, capacity: int = MAX_HOSTS) -> None:
        self._capacity = capacity
        self._hosts: OrderedDict[str, _Host] = OrderedDict()

    def suspect(self, url: str, name: str) -> str:
        """Record that a page equals another page of its host; return the URL of a probe to send, empty in most cases.

        ``name`` consists of letters and digits that occur in no page's name.
        """
        host = self._host(_host_of(url))
        host.alike += 1
        if host.standing is not Standing.UNASKED or host.alike < SUSPICIOUS:
            return ""
        host.standing = Standing.ASKED
        return f"{directory(url)}{PROBE}{name}"

    def answered(self, url: str, sketch: Sketch | None) -> None:
        """Record the response to a probe: the sketch of its page, or None if its status reports a missing page."""
        host = self._host(_host_of(url))
        if sketch is None or not sketch.size:
            host.standing, host.size = Standing.HONEST, 0
        else:
            host.standing, host.fingerprint, host.size = Standing.SOFT, sketch.fingerprint, sketch.size

    def is_like_none(self, url: str, sketch: Sketch) -> bool:
        """Return whether a page equals its host's response for missing pages.

        The front page of a host never does, even if the host shows it in place of missing pages.
        """
        host = self._hosts.get(_host_of(url))
        if host is None or not host.size or not sketch.size or url == _front(url):
            return False
        bits = NEAR if min(sketch.size, host.size) >= MIN_SHINGLES else 0
        return distance(sketch.fingerprint, host.fingerprint) <= bits

    def join(self, state: Mapping[str, Sequence[str | int]]) -> None:
        """Add the ``state`` of a former crawl, so that pages are compared with the same responses.

        Hosts may be probed again: if a host responds differently now, its pages look alike, but unlike every known
        response.
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
        """Return the whole state, for ``restore``."""
        return {name: astuple(host) for name, host in self._hosts.items()}

    def restore(self, state: Mapping[str, Sequence[str | int]]) -> None:
        """Restore a result of ``state``. Raises ``ValueError`` or ``TypeError`` if it is invalid."""
        for name, (standing, alike, fingerprint, size) in state.items():
            self._hosts[name] = _Host(Standing(str(standing)), int(alike), int(fingerprint), int(size))


def is_probe(url: str) -> bool:
    """Return whether a canonical URL is a probe, made up to see how a host responds for a missing page."""
    return _PROBE.fullmatch(url) is not None


def directory(url: str) -> str:
    """Return the directory that contains a canonical URL, with its final slash.

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


NEAR = 3
"""The most bits of 64 in which fingerprints of near duplicates differ (Manku et al., 2007, section 4)."""
MIN_SHINGLES = 40
"""The fewest distinct shingles of a near duplicate: a page with fewer shows little but its template."""
MAX_PAGES = 100_000
"""How many pages are compared with: the last ones."""


_ARRAYS: Final[Mapping[str, type[np.generic]]] = {
    "fingerprints": np.uint64,
    "sites": np.uint32,
    "has_text": np.bool_,
    "anchors": np.uint64,
    "names": np.uint64,
    "like": np.uint64,
    "seen": np.bool_,
}
"""What is remembered of each page: fingerprints of its content, the digests of its URL and of the page it is like (or
0), and whether this crawl has seen it.
"""


@dataclass(frozen=True, slots=True)
class Neighbour:
    """The page of the same site that is most similar to a page; ``is_near`` says that they are near duplicates.

    Otherwise both have the same fingerprint, but too little text to distinguish pages. ``anchors`` is the fingerprint
    of its anchor texts.
    """

    url: str
    is_near: bool
    anchors: int = 0


class Neighbours:
    """The fingerprints of the last pages, at most ``capacity``, each page once.

    They are in one array, all of which is compared, in a tenth of a millisecond for 100,000 pages. So no table by bits
    is needed, and no site can make its pages collide in one row of a table.

    Pages keep their places over the crawls of a definition. Of two pages with the same content, the one known first is
    thus the original in each crawl, whichever of them is fetched first.
    """

    def __init__(self, capacity: int = MAX_PAGES) -> None:
        self._capacity = capacity
        size = min(1024, capacity)
        self._arrays: dict[str, NDArray[Any]] = {name: np.zeros(size, kind) for name, kind in _ARRAYS.items()}
        self._urls: list[str] = []
        self._next = 0

    def __len__(self) -> int:
        return len(self._urls)

    def place(self, url: str) -> int | None:
        """Return the place of a page; None if it is not remembered."""
        return self._place_of(digest(url))

    def is_original(self, place: int) -> bool:
        """Return whether a page was unlike all pages before it."""
        return not self._arrays["like"][place]

    def copied(self, place: int | None) -> str:
        """Return the URL of the page that this page copies, if this crawl has not seen that page yet; otherwise empty.

        As long as the current content of the original is unknown, its copy is assumed to show the same.
        """
        original = None if place is None else self._place_of(int(self._arrays["like"][place]))
        return "" if original is None or self._arrays["seen"][original] else self._urls[original]

    def nearest(self, site: str, sketch: Sketch, before: int | None = None) -> Neighbour | None:
        """Return the page of a site with the same content as a given sketch; None if there is none.

        With ``before``, only pages with an earlier place are considered.
        """
        if not sketch.size:
            return None
        count, has_text, of = len(self._urls), sketch.size >= MIN_SHINGLES, self._arrays
        distances = np.bitwise_count(of["fingerprints"][:count] ^ np.uint64(sketch.fingerprint))
        near = np.flatnonzero(distances <= (NEAR if has_text else 0))
        near = near[(of["sites"][near] == crc32(site.encode())) & (of["has_text"][near] == has_text)]
        if before is not None:
            near = near[self._age(near) < self._age(np.array([before]))]
        if not len(near):
            return None
        at = int(near[np.argmin(distances[near])])
        return Neighbour(self._urls[at], has_text, int(of["anchors"][at]))

    def add(self, url: str, site: str, sketch: Sketch, anchors: int = 0, like: str = "") -> None:
        """Remember a page for comparison.

        ``anchors`` is the fingerprint of its links, ``like`` the URL that it copies.
        """
        if not sketch.size:
            return
        at = self.place(url)
        if at is None:
            at = self._next
            if at == len(self._arrays["names"]) < self._capacity:
                self._widen(min(2 * at, self._capacity))
            self._next = (at + 1) % self._capacity
        row = (sketch.fingerprint, crc32(site.encode()), sketch.size >= MIN_SHINGLES, anchors, digest(url))
        for name, value in zip(_ARRAYS, (*row, digest(like) if like else 0, True), strict=True):
            self._arrays[name][at] = value
        self._urls[at : at + 1] = [url]

    def confirm(self, url: str) -> None:
        """Record that a page, if it is remembered, still has the content it had in a former crawl."""
        if (place := self.place(url)) is not None:
            self._arrays["seen"][place] = True

    def begin(self) -> None:
        """Begin another crawl, which has not seen any of the pages yet."""
        self._arrays["seen"][:] = False

    def join(self, state: Arrays) -> None:
        """Add the pages of another index, given its ``state``, after those that are remembered."""
        theirs = state["pages"].astype(np.uint8).tobytes().decode().split("\n")
        names = state["names"]
        own = np.argsort(self._age(np.arange(len(self))))
        new = np.roll(np.arange(len(names)), -int(state["next"].astype(np.int64)[0]))
        new = new[~np.isin(names[new], self._arrays["names"][: len(self)])]
        urls = [*(self._urls[at] for at in own), *(theirs[at] for at in new)]
        left = max(0, len(urls) - self._capacity)
        for name, array in self._arrays.items():
            self._arrays[name] = np.concatenate((array[own], state[name][new].astype(array.dtype)))[left:]
        self._urls = urls[left:]
        self._next = len(self._urls) % self._capacity
        self._widen(min(max(1024, 2 * len(self._urls)), self._capacity))

    def _place_of(self, name: int) -> int | None:
        if not name:
            return None
        places = np.flatnonzero(self._arrays["names"][: len(self._urls)] == np.uint64(name))
        return int(places[0]) if len(places) else None

    def _age(self, places: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return, for each place, how many remembered pages were known before it."""
        return (places - self._next) % self._capacity if len(self._urls) == self._capacity else places

    def _widen(self, size: int) -> None:
        for name, array in self._arrays.items():
            self._arrays[name] = np.append(array, np.zeros(size - len(array), array.dtype))

    def state(self) -> Arrays:
        """Return the whole state as arrays, for ``restored``."""
        urls: NDArray[np.uint8] = np.frombuffer("\n".join(self._urls).encode("utf-8", "replace"), np.uint8)
        arrays = {name: array[: len(self._urls)].copy() for name, array in self._arrays.items()}
        return {**arrays, "pages": urls, "next": np.array([self._next], np.int64)}

    @classmethod
    def restored(cls, state: Arrays, capacity: int = MAX_PAGES) -> "Neighbours":
        """Return the index with this ``state``. Raises ``ValueError`` or ``KeyError`` if it is invalid."""
        neighbours = cls(capacity)
        text = state["pages"].astype(np.uint8).tobytes().decode()
        urls = text.split("\n") if text else []
        count, following = len(urls), int(state["next"].astype(np.int64)[0])
        arrays = {name: state[name].astype(kind) for name, kind in _ARRAYS.items()}
        if (
            count > capacity
            or not 0 <= following <= min(count, capacity - 1)
            or {len(each) for each in arrays.values()} != {count}
        ):
            raise ValueError("the pages and their fingerprints do not fit together")
        neighbours._widen(max(count, len(neighbours._arrays["names"])))
        for name, array in arrays.items():
            neighbours._arrays[name][:count] = array
        neighbours._urls, neighbours._next = urls, following
        return neighbours
