"""Learns which parts of URLs do not change the page: session ids, and parts that name the first page of a list.

Such parts show in pages that were found to be near duplicates (Bar-Yossef, Keidar and Schonfeld, "Do not crawl in the
DUST", WWW 2007). Only two sorts are considered: parts that look like ids, and parts with one value whose removal gives
another URL of the same page, such as ``?page=1``.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from aahcrawler.traps.bloom_filters import digest
from aahcrawler.traps.session_ids import is_id, parts

EVIDENCE = 3
"""The pairs of near duplicates that must differ in one part alone before it is left out."""
MAX_HOSTS = 10_000
MAX_PAGES = 100_000
"""Pages of hosts with such ids that are remembered."""
MAX_PARTS = 1_000
"""The most parts of a host's URLs that are remembered."""

_FOLDERS = 2
"""The most segments at the end of a path that are left out together: ``page/1``."""


class Aliases:
    """The parts of each host's URLs that do not change the page, and the URL under which each of its pages is known."""

    def __init__(self) -> None:
        self._evidence: OrderedDict[str, dict[str, int]] = OrderedDict()
        self._known: OrderedDict[int, int] = OrderedDict()

    def learn(self, url: str, like: str) -> None:
        """Record that two URLs of a host show the same page."""
        part = _difference(url, like) or _surplus(url, like)
        if part is None:
            return
        counts = self._evidence.setdefault(_host(url), {})
        counts[part] = counts.get(part, 0) + 1
        if counts[part] == EVIDENCE and not part.startswith("-"):
            self.has_other(like)
        if len(counts) > MAX_PARTS:
            del counts[next(iter(counts))]
        if len(self._evidence) > MAX_HOSTS:
            self._evidence.popitem(last=False)

    def presume(self, url: str, part: str) -> None:
        """Record that a segment of the path in a host's URLs was found to be a session id."""
        self._evidence.setdefault(_host(url), {})[part] = EVIDENCE

    def unlearn(self, url: str, fetched: Callable[[str], bool]) -> None:
        """Record that a page is unlike any other; a part without which another page was ``fetched`` does matter."""
        counts = self._evidence.get(_host(url), {})
        for part, rest in _without(url) if counts else ():
            if part in counts and fetched(rest):
                del counts[part]

    def shorter(self, url: str) -> str | None:
        """Return the URL without a part that does not change the page, None where it has none.

        Costs next to nothing for hosts without such parts.
        """
        counts = self._evidence.get(_host(url))
        if counts is None or max(counts.values(), default=0) < EVIDENCE:
            return None
        return next((rest for part, rest in _without(url) if counts.get(part, 0) >= EVIDENCE), None)

    def has_other(self, url: str) -> bool:
        """Return whether a page is known under a URL with another id; a new page is known by this URL from now on.

        Costs next to nothing for hosts without such ids.
        """
        counts = self._evidence.get(_host(url))
        if counts is None or max(counts.values(), default=0) < EVIDENCE:
            return False
        page = "".join("" if counts.get(name, 0) >= EVIDENCE and is_id(text) else text for name, text in parts(url))
        if page == url:
            return False
        own = digest(url)
        known = self._known.setdefault(digest(page), own)
        if len(self._known) > MAX_PAGES:
            self._known.popitem(last=False)
        return known != own

    def state(self) -> Mapping[str, Mapping[str, int]]:
        """Return the parts that do not change the page, by host, for ``restore``."""
        return dict(self._evidence)

    def pages(self) -> NDArray[np.uint64]:
        """Return a row for each page, the oldest first: its digest, and that of the URL under which it is known."""
        return np.array(list(self._known.items()), np.uint64).reshape(-1, 2)

    def restore(self, state: Mapping[str, Mapping[str, int]], pages: NDArray[np.generic]) -> None:
        """Restore the results of ``state`` and ``pages``. Raises ``ValueError`` where they are invalid."""
        if pages.dtype != np.uint64 or pages.shape[1:] != (2,):
            raise ValueError("pages are no pairs of digests")
        self._evidence.update({host: {part: int(n) for part, n in counts.items()} for host, counts in state.items()})
        self._known.update(pages.tolist())

    def join(self, state: Mapping[str, Mapping[str, int]], pages: NDArray[np.generic]) -> None:
        """Add what another worker learned, given its ``state`` and ``pages``."""
        for host, counts in state.items():
            own = self._evidence.setdefault(host, {})
            own.update({part: max(n, own.get(part, 0)) for part, n in counts.items()})
        self._known = OrderedDict({**dict(pages.tolist()), **self._known})
        while len(self._known) > MAX_PAGES:
            self._known.popitem(last=False)
        while len(self._evidence) > MAX_HOSTS:
            self._evidence.popitem(last=False)


def _difference(one: str, other: str) -> str | None:
    """Return the name of the only part in which two URLs differ, if both have values there that look like ids."""
    ours, theirs = parts(one), parts(other)
    if len(ours) != len(theirs):
        return None
    differing = [(a, b) for a, b in zip(ours, theirs, strict=True) if a != b]
    if len(differing) != 1:
        return None
    ((name, value), (same, another)) = differing[0]
    return name if name and name == same and is_id(value) and is_id(another) else None


def _surplus(one: str, other: str) -> str | None:
    """Return the part by which the longer of two URLs exceeds the other, None where they differ by more."""
    longer, shorter = (one, other) if len(one) > len(other) else (other, one)
    return next((part for part, rest in _without(longer) if rest == shorter), None)


def _without(url: str) -> Iterator[tuple[str, str]]:
    """Yield the parts that can be removed from a URL, each with the rest: parameters, and ends of the path.

    A part's name includes its value.
    """
    base, mark, query = url.partition("?")
    parameters = query.split("&") if mark else []
    for number, parameter in enumerate(parameters):
        rest = "&".join((*parameters[:number], *parameters[number + 1 :]))
        yield f"-{parameter}", f"{base}?{rest}" if rest else base
    slash = "/" if base.endswith("/") else ""
    segments = base.removesuffix("/").split("/")
    for count in range(1, _FOLDERS + 1):
        if len(segments) - count < 3:
            return
        end = "/".join(segments[-count:])
        for closing in dict.fromkeys((slash, "/", "")):
            yield f"-/{end}", "/".join(segments[:-count]) + closing + mark + query


def _host(url: str) -> str:
    return url.split("/", 3)[2]
