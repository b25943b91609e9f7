"""Choose for each page whether it is looked at in a browser, by what earlier looks at pages of its site gained.

Every page is fetched without a browser first, and what came decides: a page with nothing but scripts is looked at; one
whose content seems to be missing is looked at once for each shape of address on its site, and again where that gained
something. What a look gained is told by what a person would see more: text, links, pictures.
"""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from hashlib import sha1
from itertools import islice
from typing import Final

from lxml.etree import tostring

from aahcrawler.helper.application.scripted import FEW_LETTERS, Scripted, is_empty_shell
from aahcrawler.page import Page, text
from aahcrawler.traps.patterns import pattern_of
from aahcrawler.urls import resolve
from online_analysis.icd import BrowserSection
from online_analysis.url_patterns import UrlPattern, first_match

MOST_SHAPES: Final = 20_000
"""Shapes of addresses, of all sites together, that lessons are kept of, the last ones."""
MOST_TEXTS: Final = 20
"""Texts of pages of a shape by which those that show the same are told."""
MOST_OF_FRAME: Final = 3_000
LARGEST_FRAME: Final = 500_000
"""Characters that a page shows, and bytes of it, beyond which it is more than a frame for content."""
MOST_LETTERS: Final = 200_000
"""Letters of a page beyond which it is not counted any further, and elements likewise."""
PATIENCE: Final = 3
"""Looks in a row that gained nothing after which pages of that shape are looked at more and more rarely."""
ENOUGH: Final = 16
CHECKED_EVERY: Final = 8
"""Pages of a shape in a row whose content was there after which one in so many is examined for more than a shell."""
LONGEST_PAUSE: Final = 256
"""Pages of a shape after which one is looked at in any case, so that a lesson that is wrong by now is unlearned."""


class Reason(StrEnum):
    """Why a page is looked at in a browser, or is not; those that are counted have these names in ``crawl.json``."""

    ASKED = "asked for"
    """The definition says so."""
    SHELL = "nothing but scripts"
    FRAME = "content missing"
    PLAIN = "content is there"
    FORBIDDEN = "not to be used"
    VAIN = "in vain before"
    """Looks at pages like it gained nothing of late."""

    @property
    def is_look(self) -> bool:
        """Whether it is a reason to look."""
        return self in (Reason.ASKED, Reason.SHELL, Reason.FRAME)


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
        letters = sum(map(str.isalnum, text.excerpt(tree, MOST_LETTERS)))
        links = {each.get("href") for each in islice(tree.iter("a"), MOST_LETTERS) if each.get("href")}
        media = islice(tree.iter("img", "video", "audio", "iframe"), MOST_LETTERS)
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
    the last look. ``texts`` are digests of what pages with mounts showed last, each with the first URL that did; so
    many were new (``differing``) and ``repeated``.
    """

    plain: int = 0
    vain: int = 0
    passed: int = 0
    texts: "OrderedDict[bytes, str]" = field(default_factory=OrderedDict)
    differing: int = 0
    repeated: int = 0

    @property
    def is_due(self) -> bool:
        """Whether it is time to look again at what was looked at in vain."""
        return self.passed >= min(2 << min(self.vain, 10), LONGEST_PAUSE)

    def repeats(self, url: str, shown: bytes) -> bool:
        """Note what a page shows; return whether pages like it mostly show what others showed, and this one does."""
        first = self.texts.setdefault(shown, url)
        self.texts.move_to_end(shown)
        while len(self.texts) > MOST_TEXTS:
            self.texts.popitem(last=False)
        self.differing += first == url
        self.repeated += first != url
        return first != url and self.repeated >= self.differing


class Routes:
    """Remembers what looks at pages in a browser gained, by site and shape of address; its memory is bounded."""

    def __init__(self) -> None:
        self._lessons: OrderedDict[tuple[str, str], _Lesson] = OrderedDict()

    def choose(self, site: str, page: Page, section: BrowserSection, tell: Callable[[Page], Scripted]) -> Reason:
        """Choose for a page as it came: what the definition says comes first, then what ``tell`` tells of the page."""
        if (asked := _asked(page.url, section)) is not None:
            return asked
        lesson = self._lesson(site, page.url)
        if lesson.plain >= ENOUGH and lesson.plain % CHECKED_EVERY and not is_empty_shell(page):
            lesson.plain += 1
            return Reason.PLAIN
        scripted = tell(page)
        if scripted is Scripted.NO or (scripted is Scripted.MOUNT and not self._repeats(lesson, page)):
            lesson.plain += 1
            return Reason.PLAIN
        lesson.plain = 0
        patience = PATIENCE if scripted is Scripted.SHELL else 1
        if lesson.vain < patience or lesson.is_due:
            lesson.passed = 0
            return Reason.SHELL if scripted is Scripted.SHELL else Reason.FRAME
        lesson.passed += 1
        return Reason.VAIN

    def learn(self, site: str, url: str, came: Shown, looked: Shown) -> bool:
        """Learn from a look at a page; return whether it gained anything over the page as it came."""
        lesson, gained = self._lesson(site, url), looked.gains_over(came)
        lesson.vain = 0 if gained else lesson.vain + 1
        return gained

    def _lesson(self, site: str, url: str) -> _Lesson:
        key = site, pattern_of(url).shape
        lesson = self._lessons.setdefault(key, _Lesson())
        self._lessons.move_to_end(key)
        while len(self._lessons) > MOST_SHAPES:
            self._lessons.popitem(last=False)
        return lesson

    @staticmethod
    def _repeats(lesson: _Lesson, page: Page) -> bool:
        """Return whether a page shows the same text as others whose addresses are like its own.

        That a page has several addresses is an ordinary thing, and many say so themselves (``canonical``); that most
        pages show one text is not. Pages with more than ``MOST_OF_FRAME`` characters show more than a frame.
        """
        if _is_elsewhere(page):
            return False
        shown = _text_of(page) if len(page.body) <= LARGEST_FRAME else ""
        if not 0 < len(shown) <= MOST_OF_FRAME:
            return False
        digest = sha1(shown.encode("utf-8", "replace"), usedforsecurity=False).digest()
        return lesson.repeats(page.url, digest)


def _is_elsewhere(page: Page) -> bool:
    """Return whether a page says that another URL than this one is its own (HTML, section 4.6.7.5)."""
    for link in page.tree.iter("link"):
        if (link.get("rel") or "").lower() == "canonical":
            return resolve(page.base_url, link.get("href") or "") not in (None, page.url)
    return False


def _text_of(page: Page) -> str:
    """Return about what a page shows, without what stands in scripts and the like; every page is asked for that."""
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
