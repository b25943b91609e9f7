"""Choose for each page whether it is looked at in a browser or made of its data, by what earlier looks have shown.

Every page is fetched without a browser first, and what came decides: a page with nothing but scripts is looked at; one
whose content seems to be missing is looked at once for each shape of address on its site, and again where that gained
something. What a look gained is told by what a person would see more: text, links, pictures.

Of pages whose addresses are alike the first ones are looked at in a browser. A template that is learned from them
(``data_templates``) has to make of the data of another one what the browser shows of it: the same title, objects,
links and pictures in the same order, and no word that is not there. From then on it is used, and compared again with
what a browser shows every ``LOOKED_EVERY`` pages. A page whose data say something that those of no page before did is
looked at: it may show what the template has never seen.
"""

import asyncio
import logging
import re
from collections import Counter, OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from hashlib import sha1
from itertools import islice
from typing import Final

from lxml.etree import tostring

from aahcrawler.browser.network.upstream import BrowserRequest, RequestRefusedError
from aahcrawler.crawl.browsing.visit_requests import VisitRequests
from aahcrawler.crawl.core.stores import CurrentContext
from aahcrawler.data_templates.data_template import DataTemplate, PageSample, learned_template
from aahcrawler.helper.application.scripted import FEW_LETTERS, Scripted, is_empty_shell, may_lack_content
from aahcrawler.page import Page, text
from aahcrawler.page.decoding import decode_content
from aahcrawler.pipeline.analysis import understand
from aahcrawler.traps.patterns import pattern_of
from aahcrawler.urls import resolve
from online_analysis.icd import BrowserSection
from online_analysis.url_patterns import UrlPattern, first_match

MAX_SHAPES: Final = 20_000
"""Shapes of addresses, of all sites together, that lessons are kept of, the last ones."""
MAX_SITES: Final = 2_000
MAX_TEXTS: Final = 200
"""Texts of a site by which pages that all show the same are told."""
MAX_OF_FRAME: Final = 3_000
MAX_FRAME: Final = 500_000
"""Characters that a page shows, and bytes of it, beyond which it is more than a frame for content."""
MAX_LETTERS: Final = 200_000
"""Letters of a page beyond which it is not counted any further, and elements likewise."""
MIN_ALIKE: Final = 3
"""Addresses that show the same from which on, where they are half of a site, they may lack their content."""
PATIENCE: Final = 3
"""Looks in a row that gained nothing after which pages of that shape are looked at more and more rarely."""
PATIENCE_WITH_PARTS: Final = 12
"""The same where a part of the page is known to be added: many an article has no comment yet."""
MIN_OF_PART: Final = 20
ENOUGH: Final = 16
CHECKED_EVERY: Final = 8
"""Pages of a shape in a row whose content was there after which one in so many is examined for more than a shell."""
MAX_PAUSE: Final = 256
"""Pages of a shape after which one is looked at in any case, so that a lesson that is wrong by now is unlearned."""


class Reason(StrEnum):
    """Why a page is looked at in a browser, or is not; those that are counted have these names in ``crawl.json``."""

    ASKED = "asked for"
    """The definition says so."""
    SHELL = "nothing but scripts"
    FRAME = "content missing"
    PART = "a part missing"
    PLAIN = "content is there"
    FORBIDDEN = "not to be used"
    VAIN = "in vain before"
    """Looks at pages like it gained nothing of late."""

    @property
    def is_look(self) -> bool:
        """Whether it is a reason to look."""
        return self in (Reason.ASKED, Reason.SHELL, Reason.FRAME, Reason.PART)


@dataclass(frozen=True, slots=True)
class Shown:
    """How much a page shows: letters and digits of visible text, links, and pictures and the like."""

    letters: int = 0
    links: int = 0
    media: int = 0

    @classmethod
    def of(cls, page: Page) -> "Shown":
        """Count what an HTML page shows."""
        tree = page.tree
        letters = sum(map(str.isalnum, text.excerpt(tree, MAX_LETTERS)))
        links = {each.get("href") for each in islice(tree.iter("a"), MAX_LETTERS) if each.get("href")}
        media = islice(tree.iter("img", "video", "audio", "iframe"), MAX_LETTERS)
        return cls(letters, len(links), sum(1 for _ in media))

    def gains_over(self, less: "Shown") -> bool:
        """Return whether this is worth a look beside ``less``: a quarter more of anything, where there was something.

        >>> Shown(40).gains_over(Shown(10)), Shown(4_100, 20).gains_over(Shown(4_000, 20))
        (True, False)
        """
        return (
            (less.letters <= FEW_LETTERS and self.letters > 1.25 * less.letters + 8)
            or self.letters > 1.25 * less.letters + 80
            or self.links > 1.25 * less.links + 3
            or self.media > 1.25 * less.media + 2
        )


@dataclass(slots=True)
class _Lesson:
    """What was learned of pages whose addresses are alike.

    ``plain`` counts pages in a row whose content was there, ``vain`` looks in a row in vain, and ``passed`` pages since
    the last look.
    """

    plain: int = 0
    vain: int = 0
    passed: int = 0
    lacks_part: bool = False
    """Whether the last of these pages was one that a script adds something to, be it a word: a comment."""

    @property
    def is_due(self) -> bool:
        """Whether it is time to look again at what was looked at in vain."""
        return self.passed >= min(2 << min(self.vain, 10), MAX_PAUSE)


@dataclass(slots=True)
class _Site:
    """What pages of a site show that scripts may fill: how many there are, and of each text the addresses of three."""

    pages: int = 0
    texts: "OrderedDict[bytes, list[str]]" = field(default_factory=OrderedDict)
    shown: Counter[bytes] = field(default_factory=Counter)

    def note(self, text: bytes, url: str) -> None:
        """Note that a page shows a text."""
        self.pages += 1
        urls = self.texts.setdefault(text, [])
        self.texts.move_to_end(text)
        if url not in urls and len(urls) < MIN_ALIKE:
            urls.append(url)
        self.shown[text] += 1
        while len(self.texts) > MAX_TEXTS:
            del self.shown[self.texts.popitem(last=False)[0]]

    def repeats(self, text: bytes) -> bool:
        """Return whether half of the pages, and not only a few, show that text."""
        return len(self.texts[text]) >= MIN_ALIKE and 2 * self.shown[text] >= self.pages


class Routes:
    """Remembers what looks at pages in a browser gained, by site and shape of address; its memory is bounded."""

    def __init__(self) -> None:
        self._lessons: OrderedDict[tuple[str, str], _Lesson] = OrderedDict()
        self._sites: OrderedDict[str, _Site] = OrderedDict()

    def choose(self, site: str, page: Page, section: BrowserSection, tell: Callable[[Page], Scripted]) -> Reason:
        """Choose for a page as it came: what the definition says comes first, then what ``tell`` tells of the page."""
        if (asked := _asked(page.url, section)) is not None:
            return asked
        lesson = self._lesson(site, page.url)
        if lesson.plain >= ENOUGH and lesson.plain % CHECKED_EVERY and not is_empty_shell(page):
            lesson.plain += 1
            return Reason.PLAIN
        scripted = tell(page)
        if scripted is Scripted.NO and self._repeats(site, page):
            scripted = Scripted.FRAME
        if scripted is Scripted.NO:
            lesson.plain += 1
            return Reason.PLAIN
        lesson.plain = 0
        lesson.lacks_part = scripted is Scripted.PART
        reason, patience = _LOOKS[scripted]
        if lesson.vain < patience or lesson.is_due:
            lesson.passed = 0
            return reason
        lesson.passed += 1
        return Reason.VAIN

    def learn(self, site: str, url: str, came: Shown, looked: Shown) -> bool:
        """Learn from a look at a page; return whether it gained anything over the page as it came."""
        lesson = self._lesson(site, url)
        gained = looked.gains_over(came) or (lesson.lacks_part and looked.letters > came.letters + MIN_OF_PART)
        lesson.vain = 0 if gained else lesson.vain + 1
        return gained

    def _lesson(self, site: str, url: str) -> _Lesson:
        key = site, pattern_of(url).shape
        lesson = self._lessons.setdefault(key, _Lesson())
        self._lessons.move_to_end(key)
        while len(self._lessons) > MAX_SHAPES:
            self._lessons.popitem(last=False)
        return lesson

    def _repeats(self, site: str, page: Page) -> bool:
        """Return whether a page that scripts may fill shows the same text as half of its site."""
        if not may_lack_content(page) or _is_elsewhere(page) or len(page.body) > MAX_FRAME:
            return False
        said = _text_of(page)
        if len(said) > MAX_OF_FRAME:
            return False
        shown = sha1(said.encode("utf-8", "replace"), usedforsecurity=False).digest()
        known = self._sites.setdefault(site, _Site())
        self._sites.move_to_end(site)
        while len(self._sites) > MAX_SITES:
            self._sites.popitem(last=False)
        known.note(shown, page.url)
        return known.repeats(shown)


_LOOKS: Final = {
    Scripted.PART: (Reason.PART, PATIENCE_WITH_PARTS),
    Scripted.FRAME: (Reason.FRAME, 1),
    Scripted.SHELL: (Reason.SHELL, PATIENCE),
}
"""The reason of a look by how far scripts make a page, and after how many looks in vain in a row it counts no more."""


def _is_elsewhere(page: Page) -> bool:
    """Return whether a page says that another URL than this one is its own (HTML, section 4.6.7.5)."""
    for link in page.tree.iter("link"):
        if (link.get("rel") or "").lower() == "canonical":
            return resolve(page.base_url, link.get("href") or "") not in (None, page.url)
    return False


def _text_of(page: Page) -> str:
    """Return about what a page shows, without what stands in scripts and the like; many pages are asked for that."""
    found = tostring(page.tree, encoding="unicode", method="text")
    for element in page.tree.iter("title", *text.UNSEEN):
        if element.text:
            found = found.replace(element.text, "", 1)
    return text.fold(found)


def may_look(section: BrowserSection) -> bool:
    """Return whether a definition lets any page be looked at in a browser."""
    return section.use != "never" or bool(section.pages)


def is_demanded(section: BrowserSection) -> bool:
    """Return whether a definition names pages that are to be looked at in a browser in any case."""
    return section.use == "always" or bool(section.pages)


def _asked(url: str, section: BrowserSection) -> Reason | None:
    """Return what a definition says of a page, None where it leaves that to what the page shows."""
    if _matches(section.never, url):
        return Reason.FORBIDDEN
    if section.use == "always" or _matches(section.pages, url):
        return Reason.ASKED
    return Reason.FORBIDDEN if section.use == "never" else None


def _matches(patterns: tuple[str, ...], url: str) -> bool:
    return bool(patterns) and first_match(map(UrlPattern.parse, patterns), url) is not None


logger = logging.getLogger(__name__)

MAX_DATA_SHAPES: Final = 50
"""Shapes of addresses of which pages are kept to learn from, of all sites together, the last ones."""
MAX_SAMPLES: Final = 6
"""Pages of a shape from which nothing could be learned; no more are tried."""
MAX_BYTES: Final = 1_000_000
"""Bytes of a page beyond which nothing is learned from it."""
LOOKED_EVERY: Final = 25
"""Pages of a shape that are made of their data until one is looked at in a browser again."""


_MOMENT: Final = re.compile(r"\d{4}-\d\d-\d\d|\d\d:\d\d")
"""A word of a moment as templates write it, whatever the page does."""
_ACCEPT: Final = ("Accept", "application/json, text/plain, */*")


@dataclass(slots=True)
class _Lessons:
    """What is known of pages whose addresses are alike. ``made`` counts pages since the last comparison."""

    samples: list[PageSample] = field(default_factory=list)
    template: DataTemplate | None = None
    made: int = 0

    @property
    def is_given_up(self) -> bool:
        return self.template is None and len(self.samples) >= MAX_SAMPLES


class DataPages:
    """Learns how pages are made of their data, and makes them; its memory is bounded."""

    def __init__(self, context: CurrentContext) -> None:
        self._context = context
        self._known: OrderedDict[tuple[str, str], _Lessons] = OrderedDict()

    def can_make(self, site: str, url: str) -> bool:
        """Return whether a page is to be made of its data: it is known how, and no comparison is due."""
        lessons = self._known.get(_key(site, url))
        is_known = lessons is not None and lessons.template is not None and lessons.made < LOOKED_EVERY
        return is_known and lessons is not None and bool(lessons.template and lessons.template.endpoints(url))

    async def made(self, site: str, url: str, requests: VisitRequests) -> bytes | None:
        """Return a page in HTML (UTF-8) made of its data, which are asked for; None where they are not to be had."""
        lessons = self._known[_key(site, url)]
        template = lessons.template
        urls = template.endpoints(url) if template is not None else None
        if template is None or urls is None:
            return None
        responses = [await self._asked(each, url, requests) or b"" for each in urls]
        page = template.page(responses) if template.knows(responses) else None
        lessons.made += page is not None
        return page

    async def learn(self, site: str, page: Page, dom: bytes, data: Mapping[str, bytes]) -> None:
        """Learn from a page that a browser has shown as ``dom``, and from the JSON that it asked for, by URL."""
        lessons = self._known.setdefault(_key(site, page.url), _Lessons())
        self._known.move_to_end(_key(site, page.url))
        while len(self._known) > MAX_DATA_SHAPES:
            self._known.popitem(last=False)
        if lessons.is_given_up or not data or len(dom) > MAX_BYTES:
            return
        lessons.samples.append(PageSample(page.url, dom, data))
        if lessons.template is not None:
            self._compare(lessons, lessons.template, page)
        elif len(lessons.samples) > 2:
            await self._try(lessons, page)

    def _compare(self, lessons: _Lessons, template: DataTemplate, page: Page) -> None:
        """Compare a page with what a template makes of it, which is given up where it would have been used in error."""
        sample = lessons.samples[-1]
        lessons.made, lessons.samples = 0, [sample]
        responses = _responses(template, sample)
        if self._is_made_right(template, page, sample):
            lessons.template = template.with_page(responses)
        elif template.knows(responses):
            logger.info("%s: pages like it are not made of their data any more", page.url)
            lessons.template = None

    async def _try(self, lessons: _Lessons, page: Page) -> None:
        """Learn from all pages but the last, and see whether that makes the last one."""
        *before, last = lessons.samples
        template = await asyncio.to_thread(learned_template, before)
        if template is not None and self._is_made_right(template, page, last):
            logger.info("%s: pages like it are made of their data from now on", page.url)
            lessons.template, lessons.samples = template.with_page(_responses(template, last)), [last]

    def _is_made_right(self, template: DataTemplate, page: Page, sample: PageSample) -> bool:
        """Return whether a template makes what a browser shows, as far as the crawl reads pages."""
        made = template.page(_responses(template, sample))
        if made is None:
            return False
        pages = [page.as_rendered(dom, "", self._context.now.icd.limits.page_bytes) for dom in (made, sample.dom)]
        return self._read(pages[0]) == self._read(pages[1]) and _says_no_more(*pages)

    def _read(self, shown: Page) -> tuple[object, ...]:
        context = self._context.now
        assistance = understand(shown, context.helper, context.scope.spelling, judge=context.link_rules)
        links = sorted({link.url for link in assistance.document.outlinks})
        pictures = [image.get("src") for image in shown.tree.iter("img")]
        return assistance.document.title, assistance.objects, links, pictures

    async def _asked(self, url: str, page_url: str, requests: VisitRequests) -> bytes | None:
        collected = _Collected()
        headers = (_ACCEPT, ("Referer", page_url))
        try:
            await requests.answer(BrowserRequest(url, "GET", headers, resource_type="Fetch"), collected)
        except RequestRefusedError:
            return None
        return collected.body(self._context.now.icd.limits.page_bytes)


def _responses(template: DataTemplate, sample: PageSample) -> list[bytes]:
    return [sample.responses.get(url, b"") for url in template.endpoints(sample.url) or ()]


class _Collected:
    """Collects a response (``Relay``)."""

    def __init__(self) -> None:
        self._status = 0
        self._codings = ""
        self._pieces: list[bytes] = []

    def begin(self, status: int, reason: str, headers: Sequence[tuple[str, str]]) -> None:  # noqa: ARG002
        """See ``Relay.begin``."""
        self._status = status
        self._codings = ", ".join(value for name, value in headers if name.lower() == "content-encoding")

    def take(self, piece: bytes) -> None:
        """See ``Relay.take``."""
        self._pieces.append(piece)

    def body(self, most: int) -> bytes | None:
        """Return the body without content coding, None where it is no whole response with status 200."""
        decoded = decode_content(b"".join(self._pieces), self._codings, most)
        return decoded.body if self._status == 200 and decoded.complete else None


def _says_no_more(made: Page, shown: Page) -> bool:
    """Return whether all words of a page that was made stand on the one that was shown, in that order."""
    words = iter(text.plain_text(shown.tree).split())
    return all(_MOMENT.fullmatch(word) or word in words for word in text.plain_text(made.tree).split())


def _key(site: str, url: str) -> tuple[str, str]:
    return site, pattern_of(url).shape
