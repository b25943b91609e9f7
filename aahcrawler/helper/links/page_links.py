"""The links of a page: their texts and surroundings, and what the text of an object refers to.

The work of reading a page is counted in steps before it begins. Beyond the steps that are allowed, only links are read.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Final

from lxml.etree import XPath
from lxml.etree import _Element as Element

from aahcrawler.helper.assistance import READ, Assistance, FailedAction, Failure, Refused
from aahcrawler.helper.extraction.extraction import Extracted
from aahcrawler.helper.links.junk_urls import junk_reason, refusal, refusals
from aahcrawler.helper.links.navigation import ChosenLink, Links, abroad, embedded
from aahcrawler.helper.site_memory import Sites
from aahcrawler.page import Page, generic, markup, requisites, text
from aahcrawler.page.text import TagPaths, teaser
from aahcrawler.page.zones import Hidden
from aahcrawler.webobject import Reference, Value, WebObject
from knowledge_base.model import Application, PageLevel
from online_analysis.document import Outlink

MAX_CONTEXT = 1_000
MAX_ANCHOR = 300

_AROUND = text.BLOCKS | {"td", "th"}


class Contexts:
    """Reads the text around links of one page; the text of a block with several links is read once."""

    def __init__(self, page: Page) -> None:
        self._read: dict[Element, str] = {}
        self.places = TagPaths()
        self.hidden = page.once(Hidden.of)

    def around(self, element: Element) -> str:
        """Return the plain text of the nearest block that holds the element, cut to ``MAX_CONTEXT`` characters.

        A heading or term is followed by the beginning of the text below it.
        """
        block = element.getparent()
        while block is not None and block.tag not in _AROUND:
            block = block.getparent()
        if block is None:
            return ""
        if block not in self._read:
            self._read[block] = f"{text.excerpt(block, MAX_CONTEXT)} {teaser(block)}".strip()
        return self._read[block]


def anchor_text(element: Element) -> str:
    """Return the text of a link, else the alternative text of its image, else its title."""
    shown = text.excerpt(element, MAX_ANCHOR, text.OtherLinks(element))
    if not shown:
        images = (image.get("alt") or image.get("title") or "" for image in element.iter("img"))
        shown = text.fold(next((name for name in images if name.strip()), element.get("title") or ""))
    return shown[:MAX_ANCHOR]


def outlink_of(
    link: ChosenLink, part: int | None, contexts: Contexts, entries: Mapping[Element, str] | None = None
) -> Outlink:
    """Return a chosen link with its text and the text around it, or that of its entry in a list, if any."""
    if link.element is None:
        return Outlink(link.url, "", part=part, action=link.action)
    anchor = anchor_text(link.element)
    entry = entries.get(link.element) if entries else None
    return Outlink(
        link.url,
        anchor,
        entry or contexts.around(link.element) or anchor,
        part,
        link.action,
        contexts.places.of(link.element),
        hidden=contexts.hidden.covers(link.element),
        nofollow=generic.is_nofollow(link.element),
    )


@dataclass
class LinkCollector:
    """Collects links in the canonical form of the application of their site, if known, each once.

    Junk is refused: URLs that the application calls junk; without an application, those whose words suggest it.
    """

    sites: Sites
    outlinks: dict[str, Outlink] = field(default_factory=dict)
    refused: dict[str, Refused] = field(default_factory=dict)

    def add(self, link: Outlink) -> None:
        """Collect a link, or refuse it."""
        url = self.sites.judge.without_id(link.url)
        application = self.sites.application(url)
        verdict = self.sites.verdict(application, url) if application is not None else None
        url = url if verdict is None else verdict.url
        reason = refusal(url, self.sites.judge) if verdict is None else verdict.reason
        if reason is not None:
            self.refused.setdefault(url, Refused(url, reason))
        elif url not in self.outlinks:
            self.outlinks[url] = link if url == link.url else replace(link, url=url)


LINKS, IMAGES, MEDIA = "links", "images", "media"
_READ = ("a", "area", "img", "video", "audio")
MAX_KEPT = 500
"""The most links of one object that are kept; likewise its pictures, and its films and sounds."""


@dataclass(frozen=True)
class References:
    """Finds what objects on one page refer to.

    ``application`` and ``level`` are those of the page, None if unknown; ``own`` is the URL of the first page if the
    page is one of several.
    """

    links: Links
    own: str
    application: Application | None = None
    level: PageLevel | None = None

    def added(self, extracted: Iterable[Extracted]) -> tuple[Extracted, ...]:
        """Return objects with the links, images and media in their bodies, except what the knowledge base defines."""
        return tuple(
            replace(each, object=self.of(each.object, each.body, each.without)) if each.body else each
            for each in extracted
        )

    def of(self, web_object: WebObject, body: Sequence[Element], without: Iterable[Element] = ()) -> WebObject:
        """Return an object with the links, images and media in the elements of its body, without some parts of them."""
        left_out = {found for part in without for found in part.iter(*_READ)}
        found = [each for part in body for each in part.iter(*_READ) if each not in left_out]
        if not found:
            return web_object
        read = {
            LINKS: _each(self._addresses(each for each in found if each.tag in ("a", "area"))),
            IMAGES: _each(self._files(requisites.shown_by(each) for each in found if each.tag == "img")),
            MEDIA: _each(self._files(requisites.played_by(each) for each in found if each.tag in ("video", "audio"))),
        }
        new = {name: values for name, values in read.items() if values and name not in web_object.properties}
        return replace(web_object, properties={**web_object.properties, **new}) if new else web_object

    def _addresses(self, anchors: Iterable[Element]) -> Iterator[str]:
        ignored = self.links.ignored
        for anchor in anchors:
            url = self.links.resolve(anchor.get("href"))
            if url is None or ignored.covers(anchor):
                continue
            address = self._near(url) if self.links.is_here(url) else self._far(url)
            if address is not None:
                yield address

    def _near(self, url: str) -> str | None:
        """Return the form of a URL of the same site; None for the page's own thread, and for a URL of no page."""
        if self.application is None:
            return url if url not in (self.own, self.links.page.url) and junk_reason(url) is None else None
        verdict = self.links.sites.verdict(self.application, url)
        whole = self.links.sites.whole(self.level, verdict.url) if self.level is not None else verdict.url
        return verdict.url if verdict.reason is None and self.own not in (whole, verdict.url) else None

    def _far(self, url: str) -> str:
        """Return the form of a URL of another site, canonical if that site's application is known."""
        application = self.links.sites.application(url)
        return url if application is None else self.links.sites.verdict(application, url).url

    def _files(self, references: Iterable[str | None]) -> Iterator[str]:
        for reference in references:
            url = self.links.sites.resolve(self.links.page.base_url, reference) if reference else None
            if url is not None:
                yield url


def _each(addresses: Iterator[str]) -> tuple[Value, ...]:
    return tuple(map(Reference, islice(dict.fromkeys(addresses), MAX_KEPT)))


READ_STEPS: Final = 40_000
"""The most steps of reading a page, of which each tag is one: about a second of work."""

TEXT_STEP, TAG_STEP = 80, 400
"""The bytes of text, and those within a tag, that are as much work as one more tag."""

LINE_STEPS, LINE_BYTES = 3, 40
"""The steps that a text of so many bytes takes beyond those of its bytes: it is a line, which several readers use."""

LONG_STEPS, LONG_TEXT, LONG_BYTES = 12_000, 480_000, 2_000_000
"""So many steps, bytes of what is no HTML, or bytes of whatever there is, take so long that others should not have to
wait for them."""

READ_DEPTHS: Final = 2_500_000
"""The most that the depths of all read elements may add up to, since much is searched for from an element upwards."""

_UNREAD = ("audio/", "font/", "image/", "video/")
_DEEP = 100
_is_deep = XPath("boolean(self::*" + _DEEP * "/*" + ")")
_FEW_TAGS = READ_DEPTHS // 2_048  # No page is nested more deeply.

_END = {b"script": re.compile(rb"</script", re.IGNORECASE), b"style": re.compile(rb"</style", re.IGNORECASE)}
_RAW = re.compile(rb"<(script|style)(?=[\s/>])", re.IGNORECASE)


def beginning_of(page: Page) -> Page:
    """Return the beginning of an HTML page that is read completely; the page itself where that is all of it."""
    beginning = page.beginning(read_bytes(page.body))
    if beginning.body.count(b"<") <= _FEW_TAGS or not _is_deep(beginning.tree):
        return beginning
    depths = generic.depths(beginning.tree)
    return beginning if depths <= READ_DEPTHS else beginning.beginning(len(beginning.body) * READ_DEPTHS // depths)


def is_long(page: Page) -> bool:
    """Return whether reading a page takes long, judged by its size alone. Time is linear in the size of the page."""
    if page.transcript is not None:
        return sum(len(sheet.text) for sheet in page.transcript.sheets) > LONG_TEXT
    size = len(page.body)
    if not page.is_html:
        return size > LONG_TEXT and not page.media_type.startswith(_UNREAD)
    return size > LONG_BYTES or read_bytes(page.body, LONG_STEPS) < size


def read_bytes(body: bytes, most_steps: int = READ_STEPS) -> int:
    """Return how many bytes at the beginning of an HTML page are read completely; for most pages, all.

    Scripts, style sheets and comments cost no steps, however long they are: the crawl bounds the size of a page
    (``limits.page_bytes``). Time is linear in the size of the page.
    """
    most = len(body)
    if body.count(b"<") * (1 + LINE_STEPS) + len(body) // TEXT_STEP <= most_steps:
        return most
    steps = place = 0
    while place < most and steps <= most_steps * TEXT_STEP:
        tag = body.find(b"<", place, most)
        left = most_steps * TEXT_STEP - steps
        if tag < 0 or tag - place > left:
            return min(most, place + left)
        end = _end(body, tag, most)
        steps += tag - place + TEXT_STEP + (end - tag) * TEXT_STEP // TAG_STEP
        if tag - place >= LINE_BYTES and not body[place:tag].isspace():
            steps += LINE_STEPS * TEXT_STEP
        place = end
    return min(place, most)


def _end(body: bytes, tag: int, most: int) -> int:
    """Return where a tag ends, together with its content if no reader sees that."""
    raw = _RAW.match(body, tag)
    if raw is not None:
        found = _END[raw[1].lower()].search(body, tag, most)
        return found.start() if found is not None else most
    is_comment = body.startswith(b"<!--", tag)
    end = body.find(b"-->" if is_comment else b">", tag, most)
    return end + 1 if end >= 0 else most


def with_rest(found: Assistance, beginning: Page, page: Page, links: Links) -> Assistance:
    """Return the reading of a page's beginning with the links of the whole page, and a note on what was not read.

    Of a known application, only links that it documents are followed beyond the beginning.
    """
    with_links = links_alone(found, page, links)
    application = found.match.application if found.match is not None else None
    return replace(with_links, failed_actions=(*found.failed_actions, _said(beginning, page, application)))


def links_alone(found: Assistance, page: Page, links: Links) -> Assistance:
    """Add all links of a page to its reading, in time linear in its size.

    Of a known application, only links that it documents are followed.
    """
    application = found.match.application if found.match is not None else None
    known = {each.url for each in found.document.outlinks} | {page.url}
    refused = {each.url: each for each in found.refused}
    added: dict[str, Outlink] = {}
    led = dict(_links(links, application))
    here = tuple(filter(links.is_here, led)) if application is None else ()
    junk = refusals(page.url, here, links.sites.judge)
    for url, link in led.items():
        reason = junk.get(url)
        if reason is not None:
            refused.setdefault(url, Refused(url, reason))
        elif url not in known:
            added.setdefault(url, link)
    refused |= {each.url: each for each in links.refused}
    needed = page.attempt("requisites", lambda: requisites.of_page(page), tuple[str, ...])
    return replace(
        found,
        document=replace(found.document, outlinks=(*found.document.outlinks, *added.values())),
        requisites=needed if application is None else embedded(links, application, needed),
        refused=tuple(refused.values()),
    )


def _links(links: Links, application: Application | None) -> Iterator[tuple[str, Outlink]]:
    for link in abroad(links, links.anchors):
        if application is not None:
            if links.sites.application(link.url) is not application:
                continue
            if links.sites.verdict(application, link.url).level is None:
                continue
        anchor = anchor_text(link.element) if link.element is not None else ""
        nofollow = link.element is not None and generic.is_nofollow(link.element)
        yield link.url, Outlink(link.url, anchor, anchor, nofollow=nofollow)


def _said(beginning: Page, page: Page, application: Application | None) -> FailedAction:
    parsed, size = markup.parsed_bytes(page.body), len(page.body)
    led = "all links" if parsed == size else f"the links of the first {parsed:,}"
    what = f"texts and objects of the first {len(beginning.body):,} of {size:,} bytes were read, and {led}"
    return FailedAction(application.name if application is not None else "", "", READ, Failure.TOO_MUCH, what)
