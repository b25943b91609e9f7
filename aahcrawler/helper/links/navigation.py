"""Runs the navigation actions of a page level, and decides which links of the content to follow."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import NamedTuple

from lxml import etree
from lxml.html import HtmlElement

from aahcrawler.helper.assistance import Refused
from aahcrawler.helper.extraction.field_reader import address_text, literals_on
from aahcrawler.helper.links.junk_urls import junk
from aahcrawler.helper.links.requests import Requests, Unsent, Values, no_values
from aahcrawler.helper.site_memory import Sites, UrlVerdict, site_of
from aahcrawler.page import Page
from aahcrawler.page.zones import Subtrees
from aahcrawler.urls import is_reserved, posted_by
from knowledge_base.model import Action, Application, Navigate, PageLevel
from knowledge_base.selectors import Selector, SourceLiterals
from knowledge_base.url_rules import ParsedUrl

MAX_LINKS = 10_000
"""The most distinct URLs of one page that are judged."""
_FILE = re.compile(
    r"\.(?:css|m?js|json|png|jpe?g|gif|svg|webp|avif|ico|woff2?|ttf|otf|eot|mp[34]|webm|og[gv])$", re.IGNORECASE
)
_NO_ALIAS = re.compile(rf"\?|{_FILE.pattern}|\.(?:php\d?|aspx?|cgi|pl|jsp|do)$", re.IGNORECASE)
"""A URL with a query, or of a file or a script."""


class Ignored(Subtrees):
    """The elements of one page that its application ignores."""

    def __init__(self, tree: HtmlElement | None = None, elements: Iterable[HtmlElement] = ()) -> None:
        self._tree = tree
        super().__init__(elements)

    def covers_reference(self, reference: str) -> bool:
        """Return whether a URL, as written, occurs in ignored elements and in no link outside of them.

        This is for URLs whose element is unknown, such as those that an expression finds in attributes.
        """
        return self._any and reference in self._references

    @cached_property
    def _references(self) -> frozenset[str]:
        within: set[str] = set()
        outside: set[str] = set()
        for element in self._tree.iter("*") if self._tree is not None else ():
            if self.covers(element):
                within.update(map(str, element.attrib.values()))
            elif href := element.get("href"):
                outside.add(href)
        return frozenset(within - outside)


class ChosenLink(NamedTuple):
    """A link to follow: its canonical URL, its element, and the action that chose it."""

    url: str
    element: etree._Element | None
    action: str | None


@dataclass
class Links:
    """The links of one page, each resolved once, and those that were refused.

    Links within ``ignored`` elements are left out. ``values`` fill requests and forms; ``unsent`` are the forms that
    were not sent.
    """

    page: Page
    sites: Sites
    values: Values = field(default_factory=no_values)
    ignored: Ignored = field(default_factory=Ignored)
    unsent: list[Unsent] = field(default_factory=list)
    _resolved: dict[str, str | None] = field(default_factory=dict)
    _refused: dict[str, Refused] = field(default_factory=dict)

    @cached_property
    def site(self) -> str:
        """The site the page belongs to."""
        return site_of(self.page.url)

    @cached_property
    def literals(self) -> SourceLiterals:
        """The texts on the page, by which expressions that cannot match are skipped."""
        return literals_on(self.page)

    @cached_property
    def requests(self) -> Requests:
        """The URLs that requests and forms of the page's application make."""
        return Requests(self.page, self.values, self.unsent)

    @cached_property
    def anchors(self) -> tuple[tuple[str, HtmlElement], ...]:
        """Every different URL the page links to, with the first element that does, in document order."""
        found: dict[str, HtmlElement] = {}
        for element in self.page.tree.iter("a", "area"):
            url = self.resolve(element.get("href"))
            if url is not None and url not in found and not self.ignored.covers(element):
                found[url] = element
                if len(found) >= MAX_LINKS:
                    break
        return tuple(found.items())

    @cached_property
    def own(self) -> tuple[tuple[str, HtmlElement], ...]:
        """Those of ``anchors`` that lead to the page's own site."""
        fronts = self._fronts
        return tuple([each for each in self.anchors if each[0].startswith(fronts)])

    @property
    def refused(self) -> tuple[Refused, ...]:
        """The junk links so far, each URL once."""
        return tuple(self._refused.values())

    def resolve(self, href: str | None) -> str | None:
        """Return the canonical URL of a reference on this page; None for none, and for links within the page.

        It is never the URL of a posted form, since only forms make these.
        """
        if not href or href.startswith(("#", "javascript:")):
            return None
        if href not in self._resolved:
            if len(self._resolved) >= MAX_LINKS:
                return None
            url = self.sites.resolve(self.page.base_url, href)
            self._resolved[href] = None if url is None or is_reserved(url) else self.sites.judge.without_id(url)
        return self._resolved[href]

    def judge(self, application: Application, url: str) -> UrlVerdict | None:
        """Return the application's verdict on a URL; None for junk, which is recorded.

        Where a draft contradicts itself, the words in the URL decide.
        """
        verdict = self.sites.verdict(application, url)
        said = junk(verdict.url) if verdict.contradicts else None
        reason = verdict.reason if said is None else said.reason
        if reason is None:
            return verdict
        self._refused.setdefault(verdict.url, Refused(verdict.url, reason))
        return None

    def is_here(self, url: str) -> bool:
        """Return whether a URL is on the page's own site."""
        return url.startswith(self._fronts)

    @cached_property
    def _fronts(self) -> tuple[str, ...]:
        """The possible beginnings of URLs of the page's own site."""
        hosts = (f"www.{self.site}", *([] if self.site.startswith("www.") else [self.site]))
        return tuple(f"{scheme}://{host}/" for scheme in ("http", "https") for host in hosts)


GuardedWork = Callable[[], list[ChosenLink]]
Guard = Callable[[Navigate, GuardedWork], list[ChosenLink] | None]
"""Does the work of an action; returns None if it fails on this page."""


@dataclass(frozen=True)
class Navigation:
    """The navigation actions among ``actions``, to be run on one page."""

    links: Links
    application: Application
    actions: Sequence[Action]

    @cached_property
    def here(self) -> UrlVerdict:
        """The application's verdict on the page's own URL."""
        return self.links.sites.verdict(self.application, self.links.page.url)

    def run(self, guard: Guard) -> tuple[ChosenLink, ...]:
        """Return the links of all navigation actions, each URL once, in the order of the actions.

        Links to the page itself are left out. An action that finds nothing else counts as having found nothing, so that
        actions that are run in this case are run.
        """
        chosen: dict[str, ChosenLink] = {}
        productive: set[str] = set()
        for action in self.actions:
            if not isinstance(action, Navigate) or not productive.isdisjoint(action.when_none):
                continue
            for link in guard(action, partial(self._found, action)) or ():
                if link.url != self.here.url:
                    productive.add(action.name)
                    chosen.setdefault(link.url, link)
        return tuple(chosen.values())

    def _found(self, action: Navigate) -> list[ChosenLink]:
        return list(self._pages(action) if action.pages else self._selected(action))

    def _selected(self, action: Navigate) -> Iterator[ChosenLink]:
        target = self.application.level(action.to)
        for source in action.sources:
            for element, reference in self._references(source.selector):
                verdict = self._verdict(self.links.resolve(reference))
                if verdict is not None and (not source.documented or verdict.level is target):
                    yield ChosenLink(verdict.url, element, action.name)
        for made in self.links.requests.of(action) if action.requests or action.forms else ():
            asked = self._asked(target, made.url)
            if asked is not None:
                yield ChosenLink(asked, made.element, action.name)

    def _asked(self, target: PageLevel, url: str) -> str | None:
        """Return the canonical form of a URL that a request or form made.

        Avoid rules are for links on pages, so they do not apply to a URL that the target level documents. What a posted
        form sends is unchanged, and its target is judged by the same values.
        """
        posted = posted_by(url)
        if posted is not None:
            joint = "&" if "?" in posted.target else "?"
            return url if self._asked(target, f"{posted.target}{joint}{posted.body}") is not None else None
        canonical = self.application.canonical(ParsedUrl.parse(url))
        if target.documents(canonical):
            return canonical.url
        verdict = self._verdict(url)
        return verdict.url if verdict is not None else None

    def _references(self, selector: Selector) -> Iterator[tuple[HtmlElement | None, str | None]]:
        """Yield the results of an expression as URLs as written, each with its element if known."""
        ignored, page = self.links.ignored, self.links.page
        narrowed = self.links.literals.narrow(selector, page.elements)
        for node in narrowed.found(page.tree, page.elements) if narrowed is not None else ():
            if isinstance(node, str):
                if not ignored.covers_reference(node):
                    yield None, node
            elif not ignored.covers(node):
                yield node, node.get(selector.attribute) if selector.attribute else address_text(node)

    def _pages(self, action: Navigate) -> Iterator[ChosenLink]:
        level = self.application.level(action.to)
        first = level.first_page(self.here.address).url
        for url, element in self.links.own:
            verdict = self.links.sites.verdict(self.application, url)
            if verdict.reason is None and level.first_page(verdict.address).url == first:
                yield ChosenLink(verdict.url, element, action.name)

    def _verdict(self, url: str | None) -> UrlVerdict | None:
        if url is None or not self.links.is_here(url):
            return None
        return self.links.judge(self.application, url)


def starting_points(links: Links, application: Application) -> Iterator[ChosenLink]:
    """Yield links to levels that are worth fetching from any page.

    They are all that a page of no known level leads to, and are added on a page whose actions find no list.
    """
    for url, element in links.own:
        verdict = links.judge(application, url)
        if verdict is not None and verdict.level is not None and verdict.level.start:
            yield ChosenLink(verdict.url, element, None)


def unsaid(links: Links, application: Application) -> Iterator[ChosenLink]:
    """Yield links to pages of the site that its application does not describe: no level and no avoid rule names them.

    People give pages addresses of their own (path aliases), and link to them in menus and texts where no action looks.
    Scripts and URLs with parameters are no aliases. Nothing is yielded for an application that documents no URL of any
    level.
    """
    for url, element in links.own if gives_aliases(application) else ():
        if not _NO_ALIAS.search(url):
            verdict = links.judge(application, url)
            if verdict is not None and verdict.level is None:
                yield ChosenLink(verdict.url, element, None)


def gives_aliases(application: Application) -> bool:
    """Return whether pages of an application may have URLs that it does not describe, although it describes some."""
    return application.has_lone_pages and any(level.addresses for level in application.levels)


def content_links(links: Links, application: Application, body: HtmlElement) -> Iterator[ChosenLink]:
    """Yield the links within an extracted body.

    All links to other sites are followed, links to the same site only if a terminal level documents the URL: a link to
    a quoted post, say, would fetch its thread a second time.
    """
    for element in body.iter("a", "area"):
        reference = element.get("href")
        url = links.resolve(reference)
        if url is None or links.ignored.covers(element) or links.ignored.covers_reference(reference or ""):
            continue
        if not links.is_here(url):
            yield from abroad(links, ((url, element),))
            continue
        verdict = links.judge(application, url)
        if verdict is not None and verdict.level is not None and verdict.level.role == "terminal":
            yield ChosenLink(verdict.url, element, None)


def abroad(links: Links, found: Iterable[tuple[str, etree._Element]]) -> Iterator[ChosenLink]:
    """Yield links in the canonical form of the application of their site, if known."""
    for url, element in found:
        application = links.sites.application(url)
        if application is None:
            yield ChosenLink(url, element, None)
            continue
        verdict = links.judge(application, url)
        if verdict is not None:
            yield ChosenLink(verdict.url, element, None)


def note_junk(links: Links, application: Application) -> None:
    """Record every junk link of the page to its own site, whether or not an action chose it."""
    for url, _ in links.own:
        links.judge(application, url)


def embedded(links: Links, application: Application, addresses: Iterable[str]) -> tuple[str, ...]:
    """Return the page requisites that are worth a request.

    Scripts on the server that the application calls junk are left out although a page embeds them: the picture of a
    login challenge, which differs each time, or a beacon that starts a job. Files are always kept.
    """
    return tuple(
        [
            url
            for url in addresses
            if not links.is_here(url)
            or _FILE.search(url.partition("?")[0])
            or links.sites.verdict(application, url).reason is None
        ]
    )
