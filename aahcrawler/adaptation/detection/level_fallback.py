"""Assume the application and level of pages without any sign of them by their URLs."""

from dataclasses import dataclass
from functools import lru_cache

from aahcrawler.adaptation.detection.failure_detection import PageText, body_of
from aahcrawler.adaptation.detection.sign_learning import SignLearning
from aahcrawler.adaptation.learned import Backoff, LruMapping
from aahcrawler.helper.adaptation_protocol import Kept, Taken
from aahcrawler.helper.site_memory import site_of
from aahcrawler.metadata import Metadata
from aahcrawler.page import Page
from knowledge_base.model import Application, PageLevel
from knowledge_base.url_rules import ParsedUrl

MAX_SITES = 4_000
ROW = 3
"""The number of pages in a row without any sign after which a vague URL counts as well."""
UNLIKE = 10
"""The same for one whose pages have shown their level on the site before."""
MAX_PROBED = 6
UNUSED_PATH = "aah-nowhere/aah-4f1c9.aah"
"""A path that no application documents, unless it documents every path."""


@dataclass(slots=True)
class _Fallback:
    """The assumed level of the current page, and whether a former crawl knew of it.

    ``proposed`` is True if its signs are similar to the page's names, ``of_former`` if a former crawl knew the page's
    application, ``bare`` if the page shows no sign of any level and its URL is specific.
    """

    url: str = ""
    level: PageLevel | None = None
    unsigned: bool = False
    remembered: bool = False
    proposed: bool = False
    of_former: bool = False
    bare: bool = False


@dataclass(slots=True)
class _Row:
    """The number of pages of a site in a row without their signs, and whether any page before had them."""

    pages: int = 0
    worked: bool = False


class LevelFallback:
    """Assumes the levels of pages without signs; keeps a few numbers for each of the latest sites.

    A wrong guess is cheap: if a page has no object of the assumed level, it is read as its signs suggest. Correct
    guesses are reported to ``sign_learning``.
    """

    def __init__(self, sign_learning: SignLearning) -> None:
        self._sign_learning = sign_learning
        self._unsigned: LruMapping[str, _Row] = LruMapping(MAX_SITES)
        self._misread: LruMapping[tuple[str, str, str], _Row] = LruMapping(MAX_SITES)
        self._backoff: LruMapping[tuple[str, str, str], Backoff] = LruMapping(MAX_SITES)
        self._strangers: LruMapping[str, Backoff] = LruMapping(MAX_SITES)
        self._bare: LruMapping[tuple[str, str], _Row] = LruMapping(MAX_SITES)
        self._page = _Fallback()

    def application(self, page: Page, known: Application | None, former: Metadata | None) -> Kept | None:
        """Return the application of a page that shows no sign of any.

        It is the one of which the page has a sign learned on its site; the one that a former crawl saw at this URL;
        the one that its site is known for, if that documents the URL; on a site of none, the one whose signs the
        page's are like and that documents the URL. One that documents all URLs must have been missed for some
        pages in a row.
        """
        signed = self._sign_learning.application(page)
        found = signed or self._application(page, known, former)
        self._page = _Fallback(page.url, unsigned=found is not None, of_former=_is_of(former, found))
        return Kept(found, shown=signed is not None) if found is not None else None

    def _application(self, page: Page, known: Application | None, former: Metadata | None) -> str | None:
        if former is not None and former.application is not None:
            return former.application
        if known is None:
            return self._stranger(page)
        row = self._unsigned.get(site_of(page.url), _Row)
        row.pages += 1
        level = documented(known, page.url)
        return known.name if level is not None and (is_telling(level, page.url) or row.pages >= ROW) else None

    def _stranger(self, page: Page) -> str | None:
        """Return the application that a page of an unknown site resembles; asked ever more rarely if there is none."""
        backoff = self._strangers.get(site_of(page.url), Backoff)
        if not backoff.allows():
            return None
        backoff.failed()
        like = self._sign_learning.similarity.application(page)
        level = documented(like, page.url) if like is not None else None
        return like.name if like is not None and level is not None and is_telling(level, page.url) else None

    def level(
        self, page: Page, application: Application, shown: PageLevel | None, former: Metadata | None
    ) -> Taken | None:
        """Return the level of a page: the one of its signs, unless a former crawl knew better, else an assumed one.

        A learned sign counts like one of the file, unless the URL is documented as one of another level. Next come
        a specific URL, signs similar to those of the file, and any documented URL. If page after page shows
        signs of another level than its URL, the URL is believed; so is that of a list whose signs the site never
        showed, once pages that show no sign of any level turned out to be what their URLs say.
        """
        site = site_of(page.url)
        self._unsigned.forget(site)
        if self._page.url != page.url:
            self._page = _Fallback(page.url)
        before = _former_level(application, former)
        if before is not None and before is not shown and (shown is None or _still_holds(page, former)):
            learned = self._sign_learning.level(page, application) if shown is None else None
            self._page.level, self._page.remembered = (before if learned is not before else None), True
            return Taken(before, shown=learned is before)
        by_address = documented(application, page.url)
        tells = by_address is not None and is_telling(by_address, page.url)
        if shown is not None and by_address and tells and self._is_lost_list(page, application, shown, by_address):
            self._sign_learning.note(page, application, by_address)
            return Taken(by_address, shown=True)
        if shown is not None and not (by_address and tells and self._is_misread(page, application, shown, by_address)):
            self._sign_learning.note(page, application, shown)
            return Taken(shown)
        learned = self._sign_learning.level(page, application)
        if learned is not None and tells and learned is not by_address:
            self._sign_learning.retire(page, application, learned)
            learned = None
        if learned is not None:
            self._sign_learning.note(page, application, learned)
            return Taken(learned, shown=True)
        proposed = self._sign_learning.proposed(page, application) if not tells else None
        level = proposed or by_address
        if level is None:
            self._sign_learning.note(page, application, None)
            return None
        backoff = self._of(page, application, level)
        if not backoff.allows():
            return Taken(shown) if shown is not None else None
        # Until its objects are found, it counts as a page without any.
        backoff.failed()
        self._page.level, self._page.proposed = level, proposed is not None
        self._page.bare = shown is None and tells
        return Taken(level)

    def confirm(self, page: Page, application: Application, level: PageLevel) -> None:
        """Record that a page had an object of its level."""
        self._of(page, application, level).succeeded()
        self._sign_learning.worked(page, application, level)
        fallback = self._page
        if fallback.url != page.url:
            return
        if fallback.level is level:
            fallback.level = None
            if fallback.proposed:
                self._sign_learning.was_right(page, application)
            self._sign_learning.confirm(page, application, level, remembered=fallback.remembered)
            if fallback.bare:
                self._bare.get((site_of(page.url), application.name), _Row)
        if fallback.unsigned:
            fallback.unsigned = False
            self._strangers.get(site_of(page.url), Backoff).succeeded()
            self._sign_learning.confirm_application(page, application, remembered=fallback.of_former)

    def refute(self, page: Page, application: Application, level: PageLevel) -> None:
        """Record that a page is seen not to be of its assumed level, which says nothing of the pages behind it."""
        self._of(page, application, level).succeeded()

    def _is_misread(self, page: Page, application: Application, shown: PageLevel, by_address: PageLevel) -> bool:
        """Return whether a page shows signs of a list that by now occur on the site's pages with objects as well.

        That is so if all of many pages in a row whose URLs are those of objects were recognised as lists.
        """
        if by_address.role != "terminal":
            return False
        row = self._misread.get((site_of(page.url), application.name, by_address.name), _Row)
        if shown is by_address:
            row.pages, row.worked = 0, True
            return False
        if shown.role == "terminal" or shown.documents(application.canonical(ParsedUrl.parse(page.url))):
            return False
        row.pages += 1
        return row.pages >= (UNLIKE if row.worked else ROW)

    def _is_lost_list(self, page: Page, application: Application, shown: PageLevel, by_address: PageLevel) -> bool:
        """Return whether a page whose URL is a list's looks like an object because the site lost the signs of lists."""
        if by_address.role == "terminal":
            return False
        row = self._misread.get((site_of(page.url), application.name, by_address.name), _Row)
        row.worked |= shown is by_address
        lost = (site_of(page.url), application.name) in self._bare
        return lost and not row.worked and _looks_past(application, page.url, shown, by_address)

    def _of(self, page: Page, application: Application, level: PageLevel) -> Backoff:
        return self._backoff.get((site_of(page.url), application.name, level.name), Backoff)


def _looks_past(application: Application, url: str, shown: PageLevel, by_address: PageLevel) -> bool:
    """Return whether a level was only seen because the signs of a list were not, which the file looks for before."""
    levels = application.levels
    before = levels.index(by_address) < levels.index(shown)
    address = application.canonical(ParsedUrl.parse(url))
    return before and shown.role == "terminal" and not (shown.documents(address) and is_telling(shown, url))


def _is_of(former: Metadata | None, application: str | None) -> bool:
    return former is not None and former.application is not None and former.application == application


def documented(application: Application, url: str) -> PageLevel | None:
    """Return the level that documents a URL, None for one that is not to be fetched."""
    address = application.canonical(ParsedUrl.parse(url))
    return application.level_of(address) if application.refusal(address) is None else None


def is_telling(level: PageLevel, url: str) -> bool:
    """Return whether a URL is specific to the level: the level does not document every other one of its site."""
    return not _documents_all(level, "/".join(url.split("/", 3)[:3]))


@lru_cache(MAX_SITES)
def _documents_all(level: PageLevel, root: str) -> bool:
    return level.documents(ParsedUrl.parse(f"{root}/{UNUSED_PATH}"))


def _former_level(application: Application, former: Metadata | None) -> PageLevel | None:
    if former is None or former.application != application.name:
        return None
    return next((level for level in application.levels if level.name == former.level), None)


def _still_holds(page: Page, former: Metadata | None) -> bool:
    """Return whether most of the former objects are on the page."""
    bodies = [body for each in former.objects if (body := body_of(each))][:MAX_PROBED] if former is not None else []
    sight = PageText(page)
    return bool(bodies) and 2 * sum(map(sight.shows, bodies)) > len(bodies)
