"""Learn which parts of URLs do not change the page: session ids, by their behaviour, and names of a list's first page.

Software that receives no cookie writes the visitor's session id into all links of a page. But all links of a page about
one thing may also contain that thing's id. Fetching the page once more without cookies shows the difference: another
session has another id, while ids of content stay.

Such parts also show in pages that are near duplicates (Bar-Yossef, Keidar and Schonfeld, "Do not crawl in the DUST",
WWW 2007). Only two sorts are considered: parts that look like ids, and parts with a single value whose removal gives
another URL of the same page, such as ``?page=1``.
"""

import re
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from aahcrawler.traps.bloom_filters import digest
from aahcrawler.urls import without_session

MAX_HOSTS = 10_000

"""How many hosts are remembered."""
MAX_ASKED = 4
"""How often a host is asked for a page a second time."""
ALL = 50
"""How many pages of a host with id-like parts are all examined; after these, one in sixteen is."""
MAX_NAMES = 100
"""How many parts of a host's URLs are remembered as session ids or not."""
MAX_LINKS = 2_000
"""How many links of a page are examined."""
MIN_PAGES = 2
"""The fewest pages to which links with one id must lead."""
SHARE = 0.5
"""The share of a page's links that must have the id: software omits it in links that include the host."""
DIFFERENT = 3
"""If a part has this many values on one page, and all else is equal, it distinguishes pages."""


@dataclass(frozen=True, slots=True)
class Suspect:
    """A part of a page's links that may be a session id: its name, and its value.

    ``rests`` are the links without that part.
    """

    name: str
    value: str
    rests: frozenset[str]


@dataclass(slots=True)
class _Host:
    looked: int = 0
    asked: int = 0
    names: dict[str, bool] = field(default_factory=dict)
    """Parts of its URLs, and whether they were found to be session ids."""


class SessionIds:
    """The parts of each host's URLs that are session ids, as learned from pages."""

    def __init__(self) -> None:
        self._hosts: OrderedDict[str, _Host] = OrderedDict()

    def is_due(self, own: str) -> bool:
        """Return whether a page with id-like parts in its links should be examined."""
        host = self._host(_host(own))
        host.looked += 1
        return host.looked <= ALL or host.looked % 16 == 0

    def suspects(self, own: str, links: Iterable[str]) -> Sequence[Suspect]:
        """Return the possible session ids in the links of a page; empty if nothing needs to be found out.

        ``own`` is the page's canonical URL, ``links`` are canonical. Parts whose values differ from link to link are
        content, and are remembered as such.
        """
        host = _host(own)
        here = [link for link in dict.fromkeys((own, *links)) if _host(link) == host][:MAX_LINKS]
        if not any(map(may_hold_id, here)):
            return ()
        found = _by_name(here)
        for name, values in found.items():
            if _is_content(values):
                self._remember(host, name, is_session=False)
        known = self._hosts.get(host)
        if known is not None and known.asked >= MAX_ASKED:
            return ()
        return tuple(
            suspect
            for name, values in found.items()
            if (known is None or name not in known.names)
            if (suspect := _suspected(name, values, len(here))) is not None
        )

    def asked(self, own: str) -> None:
        """Record that a page is fetched once more."""
        self._host(_host(own)).asked += 1

    def decide(self, own: str, suspects: Sequence[Suspect], again: Iterable[str]) -> Mapping[str, bool]:
        """Compare a page's links with those of the same page fetched ``again`` without cookies.

        Return which suspects are session ids and which are not; suspects without evidence are left out.
        """
        host = _host(own)
        here = [link for link in dict.fromkeys(again) if _host(link) == host][:MAX_LINKS]
        found, decided = _by_name(here), {}
        for suspect in suspects:
            is_session = _has_changed(suspect, found.get(suspect.name, {}), min(MIN_PAGES, len(here)))
            if is_session is not None:
                decided[suspect.name] = is_session
                self._remember(host, suspect.name, is_session=is_session)
        return decided

    def without(self, url: str) -> str:
        """Return a canonical URL without session ids in its parameters; applying it twice changes nothing.

        It removes parameters with well-known names, and those learned for the URL's host.
        """
        url = without_session(url)
        known = self._hosts.get(_host(url)) if self._hosts else None
        if known is None or not any(known.names.values()):
            return url
        path, mark, query = url.partition("?")
        if ";" in path and "=" in path:
            kept = path.split(";")
            path = ";".join((kept[0], *(each for each in kept[1:] if not _is_id_of(known, ";", each))))
        if not mark:
            return path
        query = "&".join(filter(None, (self._kept(known, each) for each in query.split("&"))))
        return f"{path}?{query}" if query else path

    def _kept(self, known: _Host, parameters: str) -> str:
        return ";".join(each for each in parameters.split(";") if not _is_id_of(known, "?", each))

    def _host(self, name: str) -> _Host:
        host = self._hosts.setdefault(name, _Host())
        self._hosts.move_to_end(name)
        if len(self._hosts) > MAX_HOSTS:
            self._hosts.popitem(last=False)
        return host

    def _remember(self, host: str, name: str, *, is_session: bool) -> None:
        names = self._host(host).names
        names[name] = is_session
        if len(names) > MAX_NAMES:
            del names[next(iter(names))]

    def state(self) -> Mapping[str, tuple[int, Mapping[str, bool]]]:
        """Return what was learned of each host, for ``restore``."""
        return {name: (host.asked, host.names) for name, host in self._hosts.items()}

    def restore(self, state: Mapping[str, tuple[int, Mapping[str, bool]]]) -> None:
        """Restore a result of ``state``. Raises ``ValueError`` or ``TypeError`` if it is invalid."""
        for name, (asked, names) in state.items():
            self._hosts[name] = _Host(0, int(asked), {str(part): bool(found) for part, found in names.items()})

    def join(self, state: Mapping[str, tuple[int, Mapping[str, bool]]]) -> None:
        """Add what another worker learned, given its ``state``."""
        for name, (asked, names) in state.items():
            host = self._host(name)
            host.asked = max(host.asked, asked)
            host.names = {**names, **host.names}


_Values = dict[str, set[str]]
"""The values of a part, each with the rests of its links."""


def _by_name(links: Iterable[str]) -> Mapping[str, _Values]:
    """Return the parts of links that look like ids, by their names."""
    found: dict[str, _Values] = {}
    for link in links:
        taken = parts(link) if may_hold_id(link) else ()
        for place, (name, text) in enumerate(taken):
            if name and is_id(text):
                rest = "".join(part for number, (_, part) in enumerate(taken) if number != place)
                found.setdefault(name, {}).setdefault(text, set()).add(rest)
    return found


def _is_content(values: _Values) -> bool:
    """Return whether pages differ by these values, everything else in their URLs being equal."""
    if len(values) < DIFFERENT:
        return False
    rests = Counter(rest for each in values.values() for rest in each)
    return max(rests.values()) >= DIFFERENT


def _suspected(name: str, values: _Values, links: int) -> Suspect | None:
    value, rests = max(values.items(), key=lambda each: (len(each[1]), each[0]))
    is_shared = len(rests) >= max(MIN_PAGES, SHARE * links) and 2 * len(rests) > sum(map(len, values.values()))
    return Suspect(name, value, frozenset(rests)) if is_shared else None


def _has_changed(suspect: Suspect, values: _Values, fewest: int) -> bool | None:
    """Return whether at least ``fewest`` of the earlier links now have another value (True) or the same one (False).

    None if the links are different ones, have no value, or several values.
    """
    now = {value: rests & suspect.rests for value, rests in values.items() if not rests.isdisjoint(suspect.rests)}
    if suspect.value in now:
        return False
    return True if [len(rests) >= fewest for rests in now.values()] == [True] else None


def _is_id_of(known: _Host, kind: str, parameter: str) -> bool:
    name, mark, value = parameter.partition("=")
    return bool(mark) and known.names.get(kind + name, False) and is_long(value)


def _host(url: str) -> str:
    return url.split("/", 3)[2]


_SEPARATOR = re.compile("([/?&;])")
_RUN = re.compile(r"[0-9A-Za-z_.,!~*%-]{16,}")
_MAX_ID_LENGTH = 256
_MIXED = re.compile(r"[0-9][A-Za-z]|[A-Za-z][0-9]")
_MARKS = re.compile(r"[_.,!~*-]|%[0-9A-Fa-f]{2}")
_HOST = 4
"""The position of the host."""
_MIN_ID_LENGTH = 16
"""The fewest letters and digits of an id: PHP writes at least 22, servlets 32."""
_MAX_WORD_LENGTH = 20
"""A longer word counts as an id that happens to have no digit."""


def parts(url: str) -> Sequence[tuple[str, str]]:
    """Split a URL into named parts, which joined together give the URL.

    Parameters are named ``?name``, those within the path ``;name``, and path segments by their position. The host, and
    the text between parts, have an empty name.

    >>> [each for each in parts("http://a.test/x;v=1?q=2") if each[0]][-3:]
    [('6', 'x'), (';v', '1'), ('?q', '2')]
    """
    named: list[tuple[str, str]] = []
    is_query, before = False, ""
    for place, text in enumerate(_SEPARATOR.split(url)):
        name, mark, value = text.partition("=") if is_query or before == ";" else ("", "", "")
        if mark:
            named += (("", name + mark), (f"{'?' if is_query else ';'}{name}", value))
        else:
            named.append((f"{place}" if place > _HOST and place % 2 == 0 else "", text))
        is_query, before = is_query or text == "?", text
    return named


def is_long(text: str) -> bool:
    """Return whether a part is as long as an id and contains only characters of ids."""
    return _MIN_ID_LENGTH <= len(text) <= _MAX_ID_LENGTH and _RUN.fullmatch(text) is not None


def is_id(text: str) -> bool:
    """Return whether a part has the length and alphabet of a session id; ids of content may have them, too.

    >>> is_id("q1v8m2k0c7d5s9t3b6n4x1z0a2"), is_id("20010320"), is_id("the-storm-of-2001-in-pictures")
    (True, False, False)
    """
    if not is_long(text):
        return False
    if _MIXED.search(text) is None:
        return text.isdigit() or (text.isalpha() and len(text) >= _MAX_WORD_LENGTH)
    pieces = _MARKS.split(text)
    mixed = sum(len(piece) for piece in pieces if not (piece.isalpha() or piece.isdigit()))
    return sum(map(len, pieces)) >= _MIN_ID_LENGTH and 2 * mixed >= sum(map(len, pieces))


def may_hold_id(text: str) -> bool:
    """Return whether a URL or reference may contain an id: a quick test that may be wrong only if it returns True.

    >>> may_hold_id("/a?b=1"), may_hold_id("/a?b=0123456789abcdef")
    (False, True)
    """
    return _RUN.search(text) is not None and any(map(is_id, _RUN.findall(text)))


EVIDENCE = 3
"""How many pairs of near duplicates must differ in one part alone before it is ignored."""
MAX_PAGES = 100_000
"""How many pages of hosts with such ids are remembered."""
MAX_PARTS = 1_000
"""How many parts of a host's URLs are remembered."""

_FOLDERS = 2
"""The most segments at the end of a path that are ignored together, such as ``page/1``."""


class Aliases:
    """The parts of each host's URLs that do not change the page, and the URL under which each page is known."""

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
        """Record that a segment in the paths of a host was found to be a session id."""
        self._evidence.setdefault(_host(url), {})[part] = EVIDENCE

    def unlearn(self, url: str, fetched: Callable[[str], bool]) -> None:
        """Record that a page is unlike all others.

        A part of its URL matters if another page was ``fetched`` without it.
        """
        counts = self._evidence.get(_host(url), {})
        for part, rest in _without(url) if counts else ():
            if part in counts and fetched(rest):
                del counts[part]

    def shorter(self, url: str) -> str | None:
        """Return the URL without a part that does not change the page; None if it has no such part.

        Costs next to nothing for hosts without such parts.
        """
        counts = self._evidence.get(_host(url))
        if counts is None or max(counts.values(), default=0) < EVIDENCE:
            return None
        return next((rest for part, rest in _without(url) if counts.get(part, 0) >= EVIDENCE), None)

    def has_other(self, url: str) -> bool:
        """Return whether a page is known under a URL with another id; if not, remember it under this URL.

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
        """Return a row for each page, the oldest first: its digest, and that of the URL by which it is known."""
        return np.array(list(self._known.items()), np.uint64).reshape(-1, 2)

    def restore(self, state: Mapping[str, Mapping[str, int]], pages: NDArray[np.generic]) -> None:
        """Restore the results of ``state`` and ``pages``. Raises ``ValueError`` if they are invalid."""
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
    """Return the part by which the longer of two URLs exceeds the other; None if they differ in another way."""
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
