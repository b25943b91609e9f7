"""Recognise teasers among records: entries of a list that link to pages of their own."""

import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from aahcrawler.induction.field_labels import LINK_WORDS
from aahcrawler.induction.headings import Names, is_front
from aahcrawler.induction.outline import Outline, numbered
from aahcrawler.induction.record_bodies import Content, FoundBody, RecordPart, Slot
from aahcrawler.induction.record_fields import Fields, subject
from aahcrawler.induction.record_identity import RecordIdentity, addresses
from aahcrawler.induction.shown_names import ShownName
from aahcrawler.page.text import excerpt, fold
from aahcrawler.urls import queue_of, resolve

_NUMBERS = re.compile(r"\d+")
_NO_TITLE = re.compile(rf"\W*(?:{LINK_WORDS}|\d{{1,7}})\W*", re.IGNORECASE)
"""The text of a link to a post, to its source or to the post that it answers."""
_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
_MIN_SUBJECT_LENGTH = 6
_MIN_LED, _FEW_CALLED = 3, 0.3
_FEW_WORDS = 25
"""From this many characters besides a name or a date on, a link is a title that contains them."""


class _Link(NamedTuple):
    """A link of a record to another page of the site."""

    place: int
    url: str
    subject: str
    heading: bool
    numbered: bool
    own: bool


@dataclass(frozen=True)
class TeaserLinks:
    """The link targets of the records of one set."""

    content: Content
    fields: Fields
    found: Sequence[FoundBody | None]
    names: Names
    dated: frozenset[int]

    def targets(self) -> Mapping[int, str]:
        """Return, for each record (by number) that leads to a page of its own, the URL of that page.

        That is the target of a heading, or of several links of one record, or a place in another page, or the target of
        a link whose text differs in each record. Links of the author and of the record's own URL do not count.
        """
        links = [self._links(number, part) for number, part in enumerate(self.content.parts)]
        telling = self._telling(links)
        targets: dict[int, str] = {}
        for number, each in enumerate(links):
            times = Counter(link.url for link in each)
            for link in each:
                outside = not self._is_in_body(number, link.place)
                marked = (link.heading or link.numbered) and not link.own
                repeated = times[link.url] >= 2 and not link.own
                if repeated or (outside and (marked or self._slot(link.place) in telling)):
                    targets.setdefault(number, link.url)
        return targets

    @cached_property
    def _heading(self) -> str:
        return fold(self.names.title).casefold()

    @cached_property
    def _given(self) -> list[RecordIdentity]:
        return addresses(self.content.outline, self.content.parts, self.names.base, self.names.own)

    @cached_property
    def _own(self) -> list[str]:
        """The URLs that the records give for themselves, without fragments; empty for records that give none."""
        return [(each.permalink or "").partition("#")[0] for each in self._given]

    @cached_property
    def _keys(self) -> list[str | None]:
        """The fragments of the records on the page."""
        return [each.key for each in self._given]

    def _slot(self, place: int) -> Slot:
        return self.content.slots.get(place, ())

    def _is_in_body(self, number: int, place: int) -> bool:
        """Return whether a link is in the body, but not at its beginning, where it is the title of the text below."""
        outline, body = self.content.outline, self.found[number]
        if body is None or not any(outline.contains(each, place) for each in body.elements):
            return False
        first = next((piece for each in body.elements for piece in outline.pieces_of(each)), None)
        return first is None or not outline.contains(place, first.owner)

    def _telling(self, links: Sequence[Sequence[_Link]]) -> frozenset[Slot]:
        """Return the places within records at which most have a link with a text of its own.

        Some of the texts may be the same if all lead to different pages: titles of threads, from each of which come
        several entries of one person.
        """
        called: dict[Slot, set[str]] = defaultdict(set)
        led: dict[Slot, list[str]] = defaultdict(list)
        counted: Counter[Slot] = Counter()
        for each in links:
            counted.update({self._slot(link.place) for link in each})
            for link in each:
                called[self._slot(link.place)].add(_NUMBERS.sub("", link.subject) or link.subject[:1])
                led[self._slot(link.place)].append(link.url)
        return frozenset(
            slot
            for slot, times in counted.items()
            if times >= 0.6 * len(links)
            and len(called[slot]) >= max(2, (_FEW_CALLED if _lead_apart(led[slot], times) else 0.8) * times)
            and sum(map(len, called[slot])) >= _MIN_SUBJECT_LENGTH * len(called[slot])
        )

    def _links(self, number: int, part: RecordPart) -> list[_Link]:
        """Return the links of a record to other pages of the site, except those of its author and to itself."""
        outline = self.content.outline
        name = self.fields.names.get(number)
        own = self._own[number]
        found: list[_Link] = []
        for place in part.places(outline):
            element = outline.elements[place]
            href = element.get("href") if element.tag == "a" else None
            url = resolve(self.names.base, href) if href and not href.startswith("#") else None
            if not href or url is None or not self._leads_on(url) or self._is_of(name, place, url):
                continue
            if self._is_of_date(place):
                continue
            if (fragment := href.partition("#")[2]) and fragment == self._keys[number]:
                continue
            text = excerpt(element, 300)
            called = subject(text)
            if len(called) < 2 or called not in self._heading:
                mark = numbered(href.partition("#")[2]) is not None
                heading = outline.is_within(place, _HEADINGS) and not _NO_TITLE.fullmatch(text)
                found.append(_Link(place, url, called, heading and len(text) > 1, mark and len(text) > 1, url == own))
        return found

    def _is_of_date(self, place: int) -> bool:
        """Return whether a link is a date, or a date with a few words, and so no title."""
        outline = self.content.outline
        inner = [each for each in range(place, outline.ends[place]) if each in self.dated]
        return bool(inner) and self._shows_little_else(place, max(map(outline.linked, inner)))

    def _shows_little_else(self, place: int, size: int) -> bool:
        return self.content.outline.linked(place) <= size + _FEW_WORDS

    def _leads_on(self, url: str) -> bool:
        return url not in self.names.own and queue_of(url) == self.names.queue and not is_front(url)

    def _is_of(self, name: ShownName | None, place: int, url: str) -> bool:
        if name is None:
            return False
        outline = self.content.outline
        around = outline.contains(place, name.place) and self._shows_little_else(place, len(name.text))
        near = outline.contains(name.place, place) or around
        near = near or excerpt(outline.elements[place], len(name.text) + 1) == name.text
        return near or (name.href is not None and resolve(self.names.base, name.href) == url)


def _lead_apart(urls: Sequence[str], records: int) -> bool:
    """Return whether links at one place of records, one in each, all lead to different pages."""
    return len(urls) == records == len(set(urls)) and records >= _MIN_LED


MIN_ENTRIES = 3
"""The fewest entries of a list."""
MAX_LINKS = 3_000
"""How many links of a page are examined."""

_ENTRIES = frozenset({"li", "tr", "dt", "div", "p", "article", "section"})
_HIGHEST = 4
_MIN_TITLE_LENGTH = 4
_DIFFERING = 0.3
"""The share of entries that must lead to different pages; several changes may be of one page."""
_DIGITS = re.compile(r"\d+")
_TIME_OF_DAY = re.compile(r"(?<!\d)[012]?\d:[0-5]\d(?!\d)")


def dated_entries(outline: Outline, dated: Collection[int], names: Names) -> Sequence[tuple[int, int]]:
    """Return the extents of list entries: elements with the same tag, a date or time of day, and a link each.

    The links lead to several pages of the site, whose URLs differ only in numbers and in their last part. A term of a
    definition list is an entry together with its definition. The time is linear in the size of the page.
    """
    timed = (piece.owner for piece in outline.pieces if _TIME_OF_DAY.search(piece.text))
    shown = sorted({*timed, *dated})
    groups: dict[tuple[int, str, tuple[str, ...], str], dict[int, str]] = defaultdict(dict)
    for place, url in _links(outline, names):
        shape = _shape(url)
        for above in (place, *outline.ancestors(place))[: _HIGHEST + 1]:
            if outline.tags[above] in _ENTRIES:
                name = (outline.depths[above], outline.tags[above], outline.tokens[above], shape)
                groups[name].setdefault(above, url)
    found: set[tuple[int, int]] = set()
    for entries in groups.values():
        told = {place: url for place, url in entries.items() if _holds(shown, place, outline.ends[place])}
        if len(told) >= MIN_ENTRIES and len(set(told.values())) >= max(2, _DIFFERING * len(told)):
            found.update((place, _end(outline, place)) for place in told)
    return sorted(found)


def _shape(url: str) -> str:
    """Return a URL with a sign in place of each number, and of its last part.

    >>> _shape("http://a.test/2024/harbour-7/"), _shape("http://a.test/?t=7"), _shape("http://a.test//")
    ('http://a.test/#/*', 'http://a.test/?t=*', 'http://a.test//')
    """
    shape = _DIGITS.sub("#", url)
    whole = shape.removesuffix("/")
    last = 1 + max(map(whole.rfind, "/=&?"))
    return shape if last == len(whole) else f"{whole[:last]}*"


def _links(outline: Outline, names: Names) -> Sequence[tuple[int, str]]:
    """Return the places and URLs of links to other pages of the site whose text is more than a sign."""
    found: list[tuple[int, str]] = []
    for place, tag in enumerate(outline.tags):
        href = outline.elements[place].get("href") if tag == "a" else None
        if (
            not href
            or href.startswith("#")
            or len(excerpt(outline.elements[place], _MIN_TITLE_LENGTH + 1)) < _MIN_TITLE_LENGTH
        ):
            continue
        url = (resolve(names.base, href) or "").partition("#")[0]
        if url and url not in names.own and queue_of(url) == names.queue and not is_front(url):
            found.append((place, url))
            if len(found) == MAX_LINKS:
                break
    return found


def _holds(shown: Sequence[int], first: int, end: int) -> bool:
    """Return whether one of the sorted places is in an extent."""
    at = bisect_left(shown, first)
    return at < len(shown) and shown[at] < end


def _end(outline: Outline, place: int) -> int:
    """Return the end of an entry; for a term, the end of its definition."""
    if outline.tags[place] != "dt":
        return outline.ends[place]
    end = outline.ends[place]
    while end < len(outline.tags) and outline.tags[end] == "dd" and outline.parents[end] == outline.parents[place]:
        end = outline.ends[end]
    return end
