"""Compare two captures of a page, and learn which dates and which places of a site's pages mean nothing.

Both are learned from the change log alone, for each server and each template separately: what holds for one says
nothing about another. Without enough evidence, a date is not believed, and a place counts as content.

Menus, sidebars, advertising and footers surround the content, as far as markup shows them (``aahcrawler.page.zones``).
Both captures are read in the same way, without the knowledge base, because an edit of that is no change of a page. Web
objects are compared elsewhere (``aahcrawler.objects.versions``).
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from itertools import islice
from typing import Final
from urllib.parse import urlsplit

from lxml.etree import _Element as Element
from lxml.etree import iterwalk

from aahcrawler.page import Page
from aahcrawler.page.dates import MAX_LENGTH, read_date
from aahcrawler.page.text import BLOCKS, UNREAD, TagPaths, fold
from aahcrawler.page.zones import Hidden, Zone, Zones
from aahcrawler.revisits.idle_lines import NUMBER, TOKEN, is_advert, is_idle
from aahcrawler.revisits.visit_record import ChangeKind, DateSource, Dating, Place
from aahcrawler.urls import resolve

MIN_VISITS: Final = 3
"""The fewest visits that are enough evidence."""
MIN_WORDS: Final = 5
"""The fewest visits that are enough evidence that a place has other words each time."""
MIN_PAGES: Final = 3
"""The fewest pages of a template on which a place must have other words each time."""
NEARLY_ALWAYS: Final = 0.75
"""A place that differs in at least this share of all visits of a template's pages means nothing; prices differ less
often.
"""
_FALSE: Final = 0.2
"""If a larger share of a server's dates is false, none of them is believed."""
_AT_REQUEST: Final = 5_000
_AHEAD: Final = 60_000
"""A date at most this many milliseconds after the request counts as the time of the request, a later one as in the
future.
"""
DAY: Final = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class ServerDates:
    """How the ``Last-Modified`` dates of a server agreed with observations.

    Of ``told`` dates, ``at_request`` equal the time of the request, so the server made them up, and ``ahead`` are in
    the future. ``idle`` dates changed while the page did not, ``missed`` ones stayed while the content changed.
    ``older`` are all others.
    """

    told: int = 0
    older: int = 0
    at_request: int = 0
    ahead: int = 0
    idle: int = 0
    missed: int = 0

    @property
    def are_trusted(self) -> bool:
        """Whether the dates can be believed.

        >>> ServerDates(told=9, older=9).are_trusted, ServerDates(told=9, older=5, at_request=4).are_trusted
        (True, False)
        """
        wrong = self.at_request + self.ahead + self.idle + self.missed
        return self.older >= MIN_VISITS and wrong <= _FALSE * self.told


def judged_date(modified: int, asked_at: int) -> str:
    """Return the field of ``ServerDates`` that counts a date. Times are in milliseconds since 1970."""
    if modified > asked_at + _AHEAD:
        return "ahead"
    return "at_request" if asked_at - modified <= _AT_REQUEST else "older"


@dataclass(frozen=True, slots=True)
class PlaceEvidence:
    """In how many visits only this place differed, on how many ``pages``, and how many visits were ``compared``."""

    visits: int
    pages: int
    compared: int

    def is_volatile(self, place: Place) -> bool:
        """Return whether a change at the place means nothing.

        Numbers, times and tokens need less evidence than words. Words count only where the place occurs once on the
        page, as an advert does: entries of a list do not.
        """
        if self.visits < max(MIN_VISITS, NEARLY_ALWAYS * self.compared):
            return False
        return place.numbers or (place.alone and self.visits >= MIN_WORDS and self.pages >= MIN_PAGES)


def telling_places(places: Iterable[Place], known: frozenset[Place]) -> frozenset[Place]:
    """Return the places for which a visit is evidence: all that differed, except those known to mean nothing.

    If several differed at once, the visit is evidence for none, unless only numbers differed at all of them.
    """
    unknown = frozenset(places) - known
    is_plain = len(unknown) == 1 or all(place.numbers for place in unknown)
    return frozenset(places) if is_plain else frozenset()


def server_of(url: str) -> str:
    """Return host and port of a canonical URL, which identify its server; empty if it has none.

    >>> server_of("http://a.test:8080/?x=http://b.test/")
    'a.test:8080'
    """
    return url.partition("://")[2].partition("/")[0]


def http_date(written: str | None) -> datetime | None:
    """Return the moment of an HTTP date (RFC 9110, section 5.6.7); None for anything else.

    >>> http_date("Tue, 15 Nov 1994 12:45:26 GMT").isoformat()
    '1994-11-15T12:45:26+00:00'
    """
    try:
        moment = parsedate_to_datetime(written or "")
    except (ValueError, TypeError, OverflowError, IndexError):
        return None
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def dated(previous: datetime | None, at: datetime, told: Iterable[tuple[DateSource, datetime]]) -> Dating:
    """Decide when a change happened that a visit at ``at`` found, since the one at ``previous``.

    The first source in ``told`` counts that agrees with the visits: a change is not later than the visit that found it,
    nor earlier than one that did not. A time of midnight stands for its day.

    >>> visits = datetime(2026, 1, 1, 12, tzinfo=UTC), datetime(2026, 1, 8, 12, tzinfo=UTC)
    >>> dated(*visits, [(DateSource.LISTED, datetime(2026, 1, 3, tzinfo=UTC))]).before.isoformat()
    '2026-01-04T00:00:00+00:00'
    >>> dated(*visits, [(DateSource.LAST_MODIFIED, datetime(2025, 1, 3, 8, tzinfo=UTC))]).by.value
    'comparison'
    """
    for source, moment in told:
        is_day = not (moment.hour or moment.minute or moment.second or moment.microsecond)
        after, before = moment, moment + DAY if is_day else moment
        if previous is not None and is_day:
            after = max(after, previous)
        if (previous is None or previous < before) and after <= at and (previous is None or after >= previous):
            return Dating(after, min(before, at), source)
    return Dating(previous, at, DateSource.COMPARISON)


MAX_NODES: Final = 400_000
"""The most beginnings and ends of elements that are examined."""
MAX_PLACES: Final = 20
"""The most places of a page that are reported. If more differ, the page itself has changed, and none is reported."""
_LINES: Final = BLOCKS | {"td", "th"}
_UNREAD: Final = (UNREAD - {"head"}) | {"title"}
"""Unread elements. The head is read, since the parser leaves content there if the page opens no body."""
_AROUND: Final = frozenset({Zone.SIDE, Zone.MENU, Zone.DROPPED})
_MAX_MASKED: Final = 2_000
_NOW: Final = datetime(2000, 1, 1, tzinfo=UTC)
"""The moment against which relative dates are read; only that they are dates matters."""


@dataclass(frozen=True, slots=True)
class PageContent:
    """The content of a page: its lines of text by the path of their tags, and its links as written.

    ``base`` is the base URL of the links. ``asked_at`` is the moment of the request, by the server's clock if it told.
    """

    lines: Mapping[str, Counter[str]]
    asked_at: datetime
    links: frozenset[str] = frozenset()
    base: str = ""

    @property
    def targets(self) -> frozenset[str]:
        """The URLs to which the links lead, with tokens in them masked."""
        found = (resolve(self.base, reference) for reference in self.links)
        return frozenset(TOKEN.sub("#", url) for url in found if url)


@dataclass(frozen=True, slots=True)
class Difference:
    """What differs between two captures of a page, and the places at which the text of its content differs.

    ``places`` is None if more of them differ than are reported. ``idle`` are the lines of both captures that differ, if
    all of them differ only by the visits (``idle_lines``) and links lead to the same URLs; else it is empty.
    """

    kind: ChangeKind
    places: tuple[Place, ...] | None
    idle: frozenset[str] = frozenset()


def is_comparable(page: Page) -> bool:
    """Return whether a page is a text of any kind, so that its content can be compared."""
    return page.is_html or page.is_json or page.media_type.startswith("text/") or page.media_type.endswith("xml")


def content_of(page: Page) -> PageContent:
    """Return the content of an HTML page; for a text of another type all of its lines, and no links.

    What surrounds the content is left out, unless there is nothing else. The lines of JSON are its values, at the paths
    of their names. Time is linear in the size of the page.
    """
    asked_at = http_date(page.headers.get("date")) or page.fetched_at
    if page.is_json and len(page.tree):
        return PageContent(_values(page.tree), asked_at)
    if not page.is_html:
        return PageContent({"": Counter(filter(None, map(fold, page.text.splitlines())))}, asked_at)
    zones, hidden, paths = Zones(page.tree), Hidden(page.tree), TagPaths()
    known: dict[Element, bool] = {}
    lines: dict[str, Counter[str]] = {}
    around: dict[str, Counter[str]] = {}
    for block, text in _lines(page.tree):
        if block not in known:
            known[block] = zones.of(block) not in _AROUND and not hidden.covers(block)
        (lines if known[block] else around).setdefault(paths.of(block), Counter())[text] += 1
    links = (link for link in islice(page.tree.iter("a", "area"), MAX_NODES) if zones.of(link) not in _AROUND)
    references = frozenset(reference for link in links if (reference := link.get("href")))
    return PageContent(lines or around, asked_at, references, page.base_url)


def _values(tree: Element) -> Mapping[str, Counter[str]]:
    """Return the values of JSON (``aahcrawler.page.jsontree``) by the path of names to them."""
    paths, found = TagPaths(), dict[str, Counter[str]]()
    for element in tree.iter():
        if text := fold(element.text or ""):
            found.setdefault(paths.of(element), Counter())[text] += 1
    return found


def compared(former: PageContent, now: PageContent) -> Difference | None:
    """Return what differs between two captures of a page whose bytes differ; None if neither has any text.

    Without text, the content comes from elsewhere, perhaps from scripts, and it is unknown whether it changed.
    """
    if not former.lines and not now.lines:
        return None
    if former.lines != now.lines:
        paths = dict.fromkeys((*former.lines, *now.lines))
        places = [place for path in paths if (place := _place(path, former, now)) is not None]
        if len(places) > MAX_PLACES:
            return Difference(ChangeKind.CONTENT, None)
        return Difference(ChangeKind.CONTENT, tuple(places), _idle(places, former, now))
    return Difference(ChangeKind.TEMPLATE if _leads_alike(former, now) else ChangeKind.LINKS, ())


def _leads_alike(former: PageContent, now: PageContent) -> bool:
    return (former.links, former.base) == (now.links, now.base) or former.targets == now.targets


def _idle(places: Iterable[Place], former: PageContent, now: PageContent) -> frozenset[str]:
    """Return the lines that differ, if they are of adverts, or one at each place which differs only by the visits."""
    found = set[str]()
    for place in places:
        before, after = (content.lines.get(place.path, Counter[str]()) for content in (former, now))
        gone, came = list((before - after).elements()), list((after - before).elements())
        is_one = len(gone) == len(came) == 1
        if not is_advert(place.path) and not (is_one and is_idle(gone[0], came[0], (former.asked_at, now.asked_at))):
            return frozenset()
        found |= {*gone, *came}
    return frozenset(found) if _leads_alike(former, now) else frozenset()


def of_data(texts: Difference | None) -> Difference:
    """Return the difference between two captures of data whose statements differ; ``texts`` is that of their texts.

    In rows and statements nothing is a template, so ``texts`` is given for JSON only: its places, such as a time that
    differs on every visit, are learned like those of pages.
    """
    if texts is None or texts.kind is ChangeKind.TEMPLATE:
        return Difference(ChangeKind.CONTENT, None)
    return texts


def template_of(url: str, application: str | None, level: str | None) -> str:
    """Return the name of a page's template: its server, with the level of its application or the shape of its URL.

    >>> template_of("http://a.test/viewtopic.php?t=5", "phpBB", "thread")
    'a.test phpBB/thread'
    >>> template_of("http://a.test/news/2026/a-harbour?id=5&p=2", None, None)
    'a.test /news/#/*?id&p'
    """
    if application and level:
        return f"{server_of(url)} {application}/{level}"
    try:
        split = urlsplit(url)
    except ValueError:
        return ""
    *above, last = split.path.split("/")
    folders = [re.sub(r"\d+", "#", name) for name in above[:3]]
    suffix = "." + last.rpartition(".")[2] if "." in last else ""
    shape = "/".join((*folders, f"*{suffix}" if last else ""))
    names = "&".join(sorted({field.partition("=")[0] for field in split.query.split("&") if field}))
    return f"{split.netloc} {shape}{'?' + names if names else ''}"


def _place(path: str, former: PageContent, now: PageContent) -> Place | None:
    """Return how a place differs; None if it does not."""
    before, after = former.lines.get(path, Counter[str]()), now.lines.get(path, Counter[str]())
    if before == after:
        return None
    gone, came = before - after, after - before
    is_one = before.total() == after.total() == 1
    numbers = gone.total() == came.total() and _masked(gone) == _masked(came)
    return Place(path, numbers, is_one)


def _masked(texts: Counter[str]) -> Counter[str]:
    found = Counter[str]()
    for text, number in texts.items():
        found[_mask(text)] += number
    return found


def _mask(text: str) -> str:
    """Return a text with numbers, times and tokens masked; a long text is returned unchanged.

    >>> _mask("1,204 views"), _mask("3 hours ago") == _mask("2 days ago"), _mask("id 5f3a9c0b1d2e7f")
    ('# views', True, 'id #')
    """
    if len(text) > _MAX_MASKED:
        return text
    if len(text) <= MAX_LENGTH and read_date(text, now=_NOW) is not None:
        return "#"
    return NUMBER.sub("#", TOKEN.sub("#", text))


def _lines(tree: Element) -> Iterator[tuple[Element, str]]:
    """Yield the lines of text that readers see, each with the block that contains it, in document order."""
    blocks, pieces = [tree], list[str]()
    walk = iterwalk(tree, events=("start", "end", "comment", "pi"))
    for event, node in islice(walk, MAX_NODES):
        tag = node.tag
        is_edge = tag in _LINES and node is not tree
        if is_edge and pieces:
            if text := fold("".join(pieces)):
                yield blocks[-1], text
            pieces.clear()
        if event == "start":
            if tag in _UNREAD:
                walk.skip_subtree()
                continue
            if is_edge:
                blocks.append(node)
            piece = node.text
        else:
            if is_edge:
                blocks.pop()
            piece = node.tail if node is not tree else None
        if piece:
            pieces.append(piece)
    if text := fold("".join(pieces)):
        yield blocks[-1], text
