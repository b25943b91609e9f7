"""Choose for each page whether it is looked at in a browser, by what earlier looks at pages of its site gained.

Every page is fetched without a browser first, and what came decides: a page with nothing but scripts is looked at; one
whose content seems to be missing is looked at once for each shape of address on its site, and again where that gained
something. What a look gained is told by what a person would see more: text, links, pictures.
"""

from collections import Counter, OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from hashlib import sha1
from itertools import islice
from typing import Final

from lxml.etree import tostring

from aahcrawler.helper.application.scripted import FEW_LETTERS, Scripted, is_empty_shell, may_lack_content
from aahcrawler.page import Page, text
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
