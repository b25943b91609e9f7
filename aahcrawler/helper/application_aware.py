"""The application-aware helper: what a page is, what it holds, and where to go from there (ARCOMEM, section 4.1)."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from typing import TypeVar

from lxml import etree

from aahcrawler.helper import generic_reading
from aahcrawler.helper.anchors import Contexts
from aahcrawler.helper.assistance import Assistance, FailedAction, Failure
from aahcrawler.helper.bounds import is_too_deep
from aahcrawler.helper.extraction import Extracted, Extraction, Whereabouts
from aahcrawler.helper.generic_reading import MOST_TITLE, language_of, outlink_of
from aahcrawler.helper.navigation import (
    Chosen,
    Links,
    Navigation,
    content_links,
    embedded,
    note_junk,
    starting_points,
)
from aahcrawler.helper.sites import Sites
from aahcrawler.page import Page, generic, requisites
from aahcrawler.webobject import WebObject
from knowledge_base.matching import Detection, Detector, find_level, still_holds
from knowledge_base.model import Action, Application, Extract, KnowledgeBase, Match, PageLevel
from online_analysis.document import Document, DocumentPart, Outlink

T = TypeVar("T")

LEAST_TEXT = 1_000_000


class ApplicationAwareHelper:
    """Assists a crawl page by page.

    It keeps nothing but a bounded memory of which application runs on which site, so that the next page of a site is
    verified instead of searched for. Two helpers that saw the same pages say the same of the next one.
    """

    def __init__(self, knowledge_base: KnowledgeBase, sites: Sites | None = None) -> None:
        self._detector = Detector(knowledge_base)
        self._sites = sites or Sites()

    def canonical(self, url: str) -> str:
        """Return the form under which an address is fetched once.

        That is the application's canonical form where the site's application is known, else the URL as given, which
        must be canonical already.
        """
        application = self._sites.application(url)
        return self._sites.verdict(application, url).url if application is not None else url

    def assist(self, page: Page) -> Assistance:
        """Detect the application and the level of a page, run its actions, and gather what analysers look at.

        Never raises for what a page holds. A page of a known application but of no known level, such as a form,
        yields no objects, and of its links only those to levels marked as starting points. Error pages and what is
        no HTML yield no level, no objects and no links. A page of no known application is read generically: its
        main content, its schema.org and OpenGraph objects, all its links.
        """
        if not page.is_html:
            return generic_reading.read_other(page, Links(page, self._sites))
        detection = self._detect(page)
        application = detection.application
        succeeded = 200 <= page.status < 300
        if not succeeded:
            return Assistance(Match(application, None) if application else None, _nothing(page))
        links = Links(page, self._sites)
        if application is None:
            conflicts = _conflicts(detection)
            return replace(generic_reading.read(page, links), failed_actions=conflicts)
        return _Reading(page, links, application).assistance()

    def _detect(self, page: Page) -> Detection:
        known = self._sites.recall(page.url)
        if known is not None and still_holds(page, known[1]):
            return Detection(*known)
        detection = self._detector.detect(page)
        if detection.application is not None:
            self._sites.remember(page.url, detection.application, detection.evidence)
        return detection


def _conflicts(detection: Detection) -> tuple[FailedAction, ...]:
    rivals = " and ".join(detection.rivals)
    return (FailedAction(rivals, "", "detect", Failure.CONFLICT, f"equal evidence for {rivals}"),) if rivals else ()


@dataclass
class _Reading:
    """One page of a known application being read."""

    page: Page
    links: Links
    application: Application
    failures: list[FailedAction] = field(default_factory=list)
    contexts: Contexts = field(default_factory=Contexts)

    def assistance(self) -> Assistance:
        level = self._level()
        if level is None:
            chosen = tuple(starting_points(self.links, self.application))
            document = self._document((), self._outlinks(chosen, None))
            return self._result(None, document, ())
        extracted = self._extract(level) if level.role == "terminal" else ()
        chosen = Navigation(self.links, self.application, level).run(
            lambda action, error: self._fail(level, action, Failure.ERROR, str(error))
        )
        note_junk(self.links, self.application)
        return self._result(level, self._read(level, extracted, chosen), extracted)

    def _level(self) -> PageLevel | None:
        if is_too_deep(self.page.tree):
            detail = "elements lie too deep within one another"
            self.failures.append(FailedAction(self.application.name, "", "level", Failure.TOO_MUCH, detail))
            return None
        try:
            return find_level(self.page, self.application)
        except etree.XPathError as error:
            self.failures.append(FailedAction(self.application.name, "", "level", Failure.ERROR, str(error)))
            return None

    def _extract(self, level: PageLevel) -> tuple[Extracted, ...]:
        actions = [action for action in level.actions if isinstance(action, Extract)]
        found: dict[str, Extracted] = {}
        budget = max(LEAST_TEXT, 4 * len(self.page.body))
        literals = self.links.literals
        where = self._guarded(level, None, lambda: Whereabouts.of(self.page, self.application, level, literals))
        if where is None:
            return ()
        for action in actions:
            extraction = Extraction(action, where, budget)
            for extracted in self._guarded(level, action, partial(_all_objects, extraction)) or ():
                found.setdefault(extracted.object.iri, extracted)
            budget = extraction.budget
            if extraction.failure is not None:
                self._fail(level, action, extraction.failure, extraction.detail)
        return tuple(found.values())

    def _guarded(self, level: PageLevel, action: Action | None, work: Callable[[], T]) -> T | None:
        try:
            return work()
        except (etree.XPathError, ValueError, OverflowError, RecursionError) as error:
            self._fail(level, action, Failure.ERROR, f"{type(error).__name__}: {error}")
            return None

    def _fail(self, level: PageLevel, action: Action | None, failure: Failure, detail: str) -> None:
        name = action.name if action is not None else "own"
        self.failures.append(FailedAction(self.application.name, level.name, name, failure, detail))

    def _read(self, level: PageLevel, extracted: tuple[Extracted, ...], chosen: tuple[Chosen, ...]) -> Document:
        """Split the page: a content part for each object with a body, then the chosen links as navigation."""
        parts: list[DocumentPart] = []
        outlinks: dict[str, Outlink] = {}
        for item in extracted:
            if item.body is None:
                continue
            within = content_links(self.links, self.application, item.body)
            for outlink in self._outlinks(within, len(parts)):
                outlinks.setdefault(outlink.url, outlink)
            parts.append(DocumentPart("content", _body_text(item.object)))
        navigation = self._outlinks(chosen, len(parts) if level.role == "intermediate" else None)
        if level.role == "intermediate" and navigation:
            contexts = dict.fromkeys(outlink.context or outlink.anchor for outlink in navigation)
            parts.append(DocumentPart("navigation", "\n".join(context for context in contexts if context)))
        for outlink in navigation:
            known = outlinks.get(outlink.url)
            outlinks[outlink.url] = replace(known, action=outlink.action) if known else outlink
        here = Navigation(self.links, self.application, level).here.url
        outlinks.pop(here, None)
        return self._document(tuple(parts), tuple(outlinks.values()), extracted)

    def _outlinks(self, chosen: Iterable[Chosen], part: int | None) -> tuple[Outlink, ...]:
        return tuple(outlink_of(link, part, self.contexts) for link in chosen)

    def _document(
        self, parts: tuple[DocumentPart, ...], outlinks: tuple[Outlink, ...], extracted: tuple[Extracted, ...] = ()
    ) -> Document:
        first = extracted[0].object if extracted else None
        title = first.first("title") if first else None
        published = first.first("date") if first else None
        return Document(
            self.page.url,
            language_of(self.page, parts),
            title if isinstance(title, str) else generic.title(self.page)[:MOST_TITLE],
            parts,
            outlinks,
            published if isinstance(published, datetime) else None,
        )

    def _result(self, level: PageLevel | None, document: Document, extracted: tuple[Extracted, ...]) -> Assistance:
        return Assistance(
            Match(self.application, level),
            document,
            tuple(item.object for item in extracted),
            embedded(self.links, self.application, requisites.of_page(self.page)),
            self.links.refused,
            tuple(self.failures),
        )


def _all_objects(extraction: Extraction) -> tuple[Extracted, ...]:
    return tuple(extraction.objects())


def _body_text(item: WebObject) -> str:
    body = item.first("body")
    return body if isinstance(body, str) else ""


def _nothing(page: Page) -> Document:
    return Document(page.url, None, "", (), ())
