"""How much of a page is read with all means: its work is counted before it is done, so any machine reads the same."""

import re
from typing import Final

from lxml.etree import XPath

from aahcrawler.page import Page, generic

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
