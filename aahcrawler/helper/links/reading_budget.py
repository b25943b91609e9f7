"""How much of a page is read with all means: its work is counted before it is done, so any machine reads the same."""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from lxml.etree import XPath

from aahcrawler.helper.assistance import READ, Assistance, FailedAction, Failure, Refused
from aahcrawler.helper.links.anchors import anchor_text
from aahcrawler.helper.links.junk_urls import refusals
from aahcrawler.helper.links.navigation import Links, abroad, embedded
from aahcrawler.page import Page, generic, markup, requisites
from knowledge_base.model import Application
from online_analysis.document import Outlink

READ_STEPS: Final = 40_000
"""Tags that are read, and what is as much work as one tag: so many take about a second."""

TEXT_STEP, TAG_STEP = 80, 400
"""The bytes of text, and those within a tag, that are as much work as one more tag."""

LINE_STEPS, LINE_BYTES = 3, 40
"""The steps that a text of so many bytes takes beyond those of its bytes: it is a line, which several readers use."""

LONG_STEPS, LONG_TEXT, LONG_BYTES = 12_000, 480_000, 2_000_000
"""So many steps, bytes of what is no HTML, or bytes of whatever there is, take so long that others should not have to
wait for them."""

READ_DEPTHS: Final = 2_500_000
"""The most that the depths of the elements which are read add up to: much is looked for from an element upwards."""

_UNREAD = ("audio/", "font/", "image/", "video/")
_DEEP = 100
_is_deep = XPath("boolean(self::*" + _DEEP * "/*" + ")")
_FEW_TAGS = READ_DEPTHS // 2_048  # No page is nested more deeply.

_END = {b"script": re.compile(rb"</script", re.IGNORECASE), b"style": re.compile(rb"</style", re.IGNORECASE)}
_RAW = re.compile(rb"<(script|style)(?=[\s/>])", re.IGNORECASE)


def beginning_of(page: Page) -> Page:
    """Return the beginning of an HTML page that is read with all means; itself where that is all of it."""
    beginning = page.beginning(read_bytes(page.body))
    if beginning.body.count(b"<") <= _FEW_TAGS or not _is_deep(beginning.tree):
        return beginning
    depths = generic.depths(beginning.tree)
    return beginning if depths <= READ_DEPTHS else beginning.beginning(len(beginning.body) * READ_DEPTHS // depths)


def is_long(page: Page) -> bool:
    """Return whether reading a page takes long, by its size alone. Time is linear in the size of the page."""
    if page.transcript is not None:
        return sum(len(sheet.text) for sheet in page.transcript.sheets) > LONG_TEXT
    size = len(page.body)
    if not page.is_html:
        return size > LONG_TEXT and not page.media_type.startswith(_UNREAD)
    return size > LONG_BYTES or read_bytes(page.body, LONG_STEPS) < size


def read_bytes(body: bytes, most_steps: int = READ_STEPS) -> int:
    """Return how many of the first bytes of an HTML page are read with all means; all of them for most pages.

    What scripts, style sheets and comments hold is no work, however much it is: the body of a page is bounded by its
    crawl (``limits.page_bytes``). Time is linear in the size of the page.
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
    """Return where a tag ends, with what it holds if no reader sees that."""
    raw = _RAW.match(body, tag)
    if raw is not None:
        found = _END[raw[1].lower()].search(body, tag, most)
        return found.start() if found is not None else most
    is_comment = body.startswith(b"<!--", tag)
    end = body.find(b"-->" if is_comment else b">", tag, most)
    return end + 1 if end >= 0 else most


def with_rest(found: Assistance, beginning: Page, page: Page, links: Links) -> Assistance:
    """Return what was understood of a page's beginning, with the links of all of it, and a word on what was not read.

    Of a known application only the links that it documents are followed beyond the beginning.
    """
    with_links = links_alone(found, page, links)
    application = found.match.application if found.match is not None else None
    return replace(with_links, failed_actions=(*found.failed_actions, _said(beginning, page, application)))


def links_alone(found: Assistance, page: Page, links: Links) -> Assistance:
    """Add all links of a page to what was understood of it, in time that is linear in its size.

    Of a known application only the links that it documents are followed.
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
