"""The application-aware helper: recognise a page, extract its objects, choose its links (ARCOMEM, section 4.1)."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Self

from aahcrawler.helper import generic_reading
from aahcrawler.helper.adaptation_protocol import Adapter
from aahcrawler.helper.application import draft_reading
from aahcrawler.helper.application.application_reading import Adaptation, ApplicationReading, Completion
from aahcrawler.helper.application.scripted import Scripted, is_empty_shell, mounts, scripted
from aahcrawler.helper.assistance import READ, Assistance, FailedAction, Failure, failures_of
from aahcrawler.helper.detection import Attempts, Recognised, Recogniser, Watchdog
from aahcrawler.helper.links.junk_urls import junk_reason
from aahcrawler.helper.links.navigation import Ignored, Links, gives_aliases
from aahcrawler.helper.links.page_links import beginning_of, links_alone, with_rest
from aahcrawler.helper.links.requests import Values, no_values
from aahcrawler.helper.site_memory import LinkJudge, SiteLesson, Sites, site_of
from aahcrawler.metadata import Metadata
from aahcrawler.page import Page
from aahcrawler.page.generic import NumericDates
from aahcrawler.page.page import PageGivenUpError, is_of_machine
from aahcrawler.page.titles import ends, head_title
from aahcrawler.webobject import WebObject
from knowledge_base.behaviours import Act, Behaviour
from knowledge_base.matching import HostIndex, Sight
from knowledge_base.model import Application, KnowledgeBase, Match
from knowledge_base.url_rules import Reason
from online_analysis.document import Document, Outlink

_LOADING = (Act.SCROLL, Act.CLICK)
UNKNOWN_ORDER = "day and month may be exchanged"
"""The note on dates that were read before the site had shown whether the day or the month comes first."""


class ApplicationAwareHelper:
    """Reads the pages of a crawl one by one.

    It remembers the application of each site, within bounds, so that the next page of a site is checked against that
    application instead of searched for signs of all. Two helpers that read the same pages return the same for the next
    one, on any machine: limits count work, not time. ``values`` are lists of words by their names in the knowledge
    base, ``keywords`` and ``entities``, for requests and forms. ``adapter`` replaces actions that fail; without one
    they just fail.
    """

    def __init__(
        self,
        knowledge_base: KnowledgeBase,
        sites: Sites | None = None,
        watchdog: Watchdog | None = None,
        values: Values | None = None,
        adapter: Adapter | None = None,
    ) -> None:
        self.knowledge_base = knowledge_base
        self._applications = {application.name: application for application in knowledge_base.applications}
        self._sites = sites or Sites()
        self._sites.applications = self._applications
        self._sites.hosts = HostIndex(knowledge_base.applications)
        self._watchdog = watchdog or Watchdog()
        self._values = values if values is not None else no_values()
        self._adapter = adapter
        self._completion = Completion(self._sites.lines)
        self._compares_drafts = False
        self._recogniser = Recogniser(knowledge_base, self._sites, self._watchdog)
        self._knows_scripts = any(application.needs_browser for application in knowledge_base.applications)

    def comparing_drafts(self) -> Self:
        """Read pages of drafts generically as well, and return the better reading; return the helper itself.

        Crawls want that. Authors of a file want to see what the file alone finds.
        """
        self._compares_drafts = True
        return self

    def restart(self, adapter: Adapter | None = None) -> Self:
        """Forget all that was learned of sites, use another adapter, and return the helper."""
        self._sites.restart()
        self._adapter, self._completion = adapter, Completion(self._sites.lines)
        return self

    @property
    def lessons(self) -> tuple[SiteLesson, ...]:
        """What was learned of a site from the page that was read last."""
        return tuple(self._sites.lessons)

    def learn(self, lessons: Iterable[SiteLesson]) -> None:
        """Learn what another helper of the same knowledge base learned from a page, as if it had been read here."""
        self._sites.learn(lessons)

    def application(self, name: str) -> Application | None:
        """Return an application of the knowledge base by its name, None if there is none."""
        return self._applications.get(name)

    def is_intermediate(self, url: str) -> bool:
        """Return whether the application of the site, if known, documents a URL as that of a page of links.

        Always False for a draft: a guess is no reason to pass a URL over.
        """
        application = self._sites.application(url)
        if application is None or application.draft:
            return False
        level = self._sites.verdict(application, url).level
        return level is not None and level.role == "intermediate"

    def canonical(self, url: str) -> str:
        """Return the canonical form of a URL.

        That is the application's canonical form if the site's application is known, else the URL as given, which must
        be canonical already.
        """
        application = self._sites.application(url)
        return self._sites.verdict(application, url).url if application is not None else url

    def entrance(self, url: str, target: str) -> Reason | None:
        """Return why the target of a redirect is only an entrance to a site, such as a login; None if it is a page."""
        if site_of(url) != site_of(target):
            return None
        application = self._sites.application(target)
        known = application if application is not None and not application.draft else None
        reason = self._sites.verdict(known, target).reason if known is not None else junk_reason(target)
        return reason if reason in (Reason.LOGIN, Reason.REGISTER) else None

    def assist(self, page: Page, former: Metadata | None = None, judge: LinkJudge | None = None) -> Assistance:
        """Detect the application and the level of a page, run its actions, and gather the input of the analysers.

        Raise nothing that a page provokes. A page of a known application but of no known level, such as a form,
        yields no objects, and of its links only those to levels marked as starting points. Error pages and pages that
        are neither HTML nor JSON of a known level yield no level, no objects and no links. An HTML page of no known
        application is read generically: its main content, its schema.org and OpenGraph objects, all its links.

        ``judge`` knows of links what the crawl does that the page is of, and is kept for the next pages; until there is
        one, the names in links count. ``former`` is the metadata of an earlier crawl at the same URL: its objects are
        looked for again.

        Of a very large page only the beginning is read, but all of its links. A page that takes minutes is given up
        without objects, and a stage of reading that raises costs its own result only. Each of these is among the failed
        actions. Only what the operating system refuses is raised.
        """
        self._watchdog.begin()
        self._sites.lessons.begin()
        if judge is not None:
            self._sites.judge = judge
        try:
            found = self._whole(page, former)
        except PageGivenUpError as error:
            found = self._links_alone(page, FailedAction("", "", READ, Failure.SLOW, str(error)))
        except Exception as error:
            if is_of_machine(error) and not isinstance(error, MemoryError):
                raise
            page.failed.add(READ, error)
            found = self._links_alone(page)
        if not page.failed:
            return found
        return replace(found, failed_actions=(*found.failed_actions, *failures_of(page, found)))

    def _links_alone(self, page: Page, *failed: FailedAction) -> Assistance:
        """Return only the links of a page that cannot be read."""
        page.forget()
        self._watchdog.begin()
        nothing = Assistance(None, _nothing(page), failed_actions=failed)
        if not page.is_html or not page.is_content:
            return nothing
        return page.attempt("links", lambda: links_alone(nothing, page, Links(page, self._sites)), lambda: nothing)

    def _whole(self, page: Page, former: Metadata | None) -> Assistance:
        beginning = beginning_of(page) if page.is_html and page.is_content else page
        found = self._read(beginning, former)
        return found if beginning is page else with_rest(found, beginning, page, Links(page, self._sites, self._values))

    def _read(self, page: Page, former: Metadata | None) -> Assistance:
        if not page.is_html:
            return self._assisted(page, former)
        dates, sites = NumericDates(page), self._sites
        order = page.attempt(
            "order of dates",
            lambda: sites.date_order(page.url, dates.shown_order(), dates.implied_order()),
            lambda: None,
        )
        titles = page.attempt(
            "titles of the site", lambda: sites.shared_titles(page.url, ends(head_title(page))), frozenset[str]
        )
        repeated = sites.lines.repeated(site_of(page.url), page.url)
        told = page.of_site(order, titles, sites.records.of(page.url), repeated)
        found = self._assisted(told, former)
        told.forget()
        if order is not None:
            return found
        return page.attempt("order of dates", lambda: _marked(found, dates.ambiguous_days()), lambda: found)

    def _assisted(self, page: Page, former: Metadata | None) -> Assistance:
        if not (page.is_html or page.is_json):
            return generic_reading.read_other(page, Links(page, self._sites))
        if not page.is_content:
            application = self._recogniser.application(page)
            return Assistance(Match(application, None) if application else None, _nothing(page))
        shown = page.attempt("recognition", lambda: self._recogniser.recognise(page), Recognised)
        recognised = page.attempt("adaptation", lambda: self._adapted(shown, page, former), lambda: shown)
        links = Links(page, self._sites, self._values)
        application = recognised.application
        if page.is_json and recognised.place is None:
            return replace(generic_reading.read_other(page, links), failed_actions=recognised.failures)
        if application is not None:
            adaptation = self._adaptation(page, application, former)
            attempts = Attempts(page, application.name, self._watchdog, list(recognised.failures))
            completion = self._completion if page.is_html else None
            reading = ApplicationReading(page, links, application, recognised.place, attempts, adaptation, completion)
            found = self._acted(reading)
            if not self._may_hold_content(page, application):
                return found
            if application.draft and self._compares_drafts:
                return _better(page, found, self._generic(page))
            if reading.place is not None or shown.application is not None:
                return self._with_generic(found, reading)
        found = self._generic(page)
        return replace(found, failed_actions=(*found.failed_actions, *_failures(page, shown)))

    def _acted(self, reading: ApplicationReading) -> Assistance:
        """Run the actions of an application; where they cannot be run, read the page without them."""
        page = reading.page
        found = page.attempt("actions", reading.assistance, lambda: None)
        if found is not None:
            return found
        generic = self._generic(page, reading.links.ignored) if page.is_html else Assistance(None, _nothing(page))
        return _of_application(reading.application, generic, reading.attempts.failures)

    def _with_generic(self, found: Assistance, reading: ApplicationReading) -> Assistance:
        """Add what generic reading finds on a list without known entries, and on a page of no known level."""
        if reading.place is not None and not reading.is_empty_list:
            return found
        generic = self._generic(reading.page, reading.links.ignored)
        entered = self._entered(reading.application, generic)
        return _with_entries(found, entered) if reading.place is not None else _with_content(found, generic, entered)

    def _adaptation(self, page: Page, application: Application, former: Metadata | None) -> Adaptation | None:
        """Return the adapter for actions that fail on a page; None for a draft, which is read generically as well."""
        is_adapted = self._adapter is not None and page.is_html and not application.draft
        return Adaptation(self._adapter, former) if self._adapter is not None and is_adapted else None

    def _may_hold_content(self, page: Page, application: Application) -> bool:
        """Return whether a page of no known level is worth reading: it is HTML, and its URL is not to be avoided."""
        return page.is_html and self._sites.verdict(application, page.url).reason is None

    def _generic(self, page: Page, ignored: Ignored | None = None) -> Assistance:
        links = Links(page, self._sites, self._values)
        if ignored is not None:
            links.ignored = ignored
        return generic_reading.read_unknown(page, links)

    def _entered(self, application: Application, generic: Assistance) -> Sequence[Outlink]:
        """Return links to an application's pages: of a list's entries and, on a page without objects, of its text."""
        document = generic.document
        roles = ("navigation",) if generic.objects else ("navigation", "content")
        entries = (
            each for each in document.outlinks if each.part is not None and document.parts[each.part].role in roles
        )
        known = (link for link in entries if self._sites.application(link.url) is application)
        anywhere = gives_aliases(application)
        return [link for link in known if anywhere or self._sites.verdict(application, link.url).level is not None]

    def scripted(self, page: Page) -> Scripted:
        """Return how far scripts make the content of an HTML page, by the page and the knowledge base.

        A page that a behaviour of its application could load more on may lack content as well. Never raises, whatever
        the page contains: what cannot be decided counts as no.
        """
        return page.attempt("scripts", lambda: self._looked_at(page), lambda: Scripted.NO)

    def _looked_at(self, page: Page) -> Scripted:
        found = self._scripted(page)
        return Scripted.PART if found is Scripted.NO and self._lacks_part(page) else found

    def _lacks_part(self, page: Page) -> bool:
        """Return whether a page has an empty element that a script of some known software fills."""
        waiting, sight = mounts(page), Sight(page)
        return bool(waiting) and any(
            sight.meets(sign) and any(found in waiting for found in sign.selector.elements(page.tree, page.elements))
            for sign in self.knowledge_base.needs_browser
            if sign.selector is not None
        )

    def _scripted(self, page: Page) -> Scripted:
        found = scripted(page)
        application = self._sites.application(page.url)
        has_behaviours = application is not None and bool(application.behaviours)
        if found is Scripted.SHELL or not (self._knows_scripts or has_behaviours):
            return found
        match = self._match(page)
        if match is None:
            return found
        attempts = Attempts(page, match.application.name, self._watchdog)
        if attempts.attempt(lambda: any(map(Sight(page).meets, match.application.needs_browser)), action="scripts"):
            return Scripted.SHELL
        loads = found is Scripted.NO and attempts.attempt(lambda: _loads_more(page, match), action="behaviours")
        return Scripted.FRAME if loads else found

    def behaviours(self, page: Page) -> tuple[Behaviour, ...]:
        """Return what a browser is to do on a page, by what the page shows before its scripts have run."""
        return self.knowledge_base.behaviours_on(self._match(page))

    def _match(self, page: Page) -> Match | None:
        self._watchdog.begin()
        try:
            shown = page.attempt("recognition", lambda: self._recogniser.recognise(page), Recognised)
        except PageGivenUpError:
            return None
        if shown.application is None:
            return None
        return Match(shown.application, shown.place.level if shown.place is not None else None)

    def listed(self, page: Page, judge: LinkJudge | None = None) -> Iterator[Assistance]:
        """Yield the links of a sitemap, or of an announced feed, in pieces; never raises, whatever its content."""
        if judge is not None:
            self._sites.judge = judge
        return generic_reading.read_sitemap(page, self._sites)

    def _adapted(self, shown: Recognised, page: Page, former: Metadata | None) -> Recognised:
        """Return the assumed application and level of a page that shows no sign of them; a draft is never assumed."""
        if self._adapter is None or not page.is_html or shown.rivals:
            return shown
        recognised = shown if shown.application is not None else self._kept(self._adapter, shown, page, former)
        application = recognised.application
        if application is None or application.draft:
            return shown
        place = recognised.place
        taken = self._adapter.level(page, application, place.level if place is not None else None, former)
        if taken is None or (place is not None and taken.level is place.level):
            return recognised
        return replace(recognised, place=self._recogniser.assumed(page, application, taken, place))

    def _kept(self, adapter: Adapter, shown: Recognised, page: Page, former: Metadata | None) -> Recognised:
        """Return the application that the site was known for, if the adapter keeps it for a page without signs."""
        known = self._sites.application(page.url)
        kept = adapter.application(page, known, former)
        application = self._applications.get(kept.name) if kept is not None else None
        if kept is None or application is None:
            return shown
        recognised = self._recogniser.as_page_of(application, page)
        if known is not None or kept.shown:
            return recognised
        unsigned = FailedAction(kept.name, "", "detect", Failure.NO_SIGN, "no page of the site shows a sign of it")
        return replace(recognised, failures=(*recognised.failures, unsigned))


def _better(page: Page, found: Assistance, generic: Assistance) -> Assistance:
    return page.attempt("draft", lambda: draft_reading.better(page, found, generic), lambda: found)


def _of_application(application: Application, generic: Assistance, failed: Sequence[FailedAction]) -> Assistance:
    """Return the generic reading of a page as that of its application, whose actions could not be run."""
    document = replace(generic.document, application=application.name, kind=application.kind)
    return replace(generic, match=Match(application, None), document=document, failed_actions=tuple(failed))


def _loads_more(page: Page, match: Match) -> bool:
    """Return whether a page has an element by which a behaviour of its application loads more content."""
    level = match.level.name if match.level is not None else None
    return any(
        selector.shows(page.tree, page.elements)
        for behaviour in match.application.behaviours
        if not behaviour.levels or level in behaviour.levels
        for step in behaviour.steps
        if step.act in _LOADING
        for selector in step.selectors
    )


def _failures(page: Page, recognised: Recognised) -> tuple[FailedAction, ...]:
    """Return the failures to report of a page of no known application."""
    failures = list(recognised.failures)
    if recognised.rivals:
        rivals = " and ".join(recognised.rivals)
        failures.append(FailedAction(rivals, "", "detect", Failure.CONFLICT, f"equal evidence for {rivals}"))
    if is_empty_shell(page):
        failures.append(
            FailedAction("", "", "needs-browser", Failure.NEEDS_BROWSER, "a page with scripts and no content")
        )
    return tuple(failures)


def _marked(found: Assistance, ambiguous: Collection[frozenset[int]]) -> Assistance:
    """Mark the dates whose day and month may be exchanged, since the date order of the site is not known yet."""
    if not ambiguous:
        return found
    return replace(found, objects=tuple(_with_doubt(each, ambiguous) for each in found.objects))


def _with_doubt(web_object: WebObject, ambiguous: Collection[frozenset[int]]) -> WebObject:
    date = web_object.first("date")
    if not isinstance(date, datetime) or frozenset((date.day, date.month)) not in ambiguous:
        return web_object
    return replace(web_object, inferred={**web_object.inferred, "date": UNKNOWN_ORDER})


def _with_content(found: Assistance, generic: Assistance, entries: Sequence[Outlink]) -> Assistance:
    """Return the result for a page of no known level, with the objects, text and links found generically.

    If actions chose links, of the others only those of a list's entries are followed.
    """
    known, read = found.document, generic.document
    parts, outlinks = read.parts, read.outlinks
    if known.outlinks:
        parts = tuple(part for part in parts if part.role != "sidebar")
        outlinks = tuple({each.url: each for each in (*known.outlinks, *entries)}.values())
    document = replace(read, parts=parts, outlinks=outlinks, application=known.application, kind=known.kind)
    refused = {each.url: each for each in (*found.refused, *generic.refused)}
    return replace(
        found,
        document=document,
        objects=generic.objects,
        no_object=generic.no_object,
        requisites=generic.requisites,
        refused=tuple(refused.values()),
    )


def _with_entries(found: Assistance, entries: Sequence[Outlink]) -> Assistance:
    """Add the generic links of entries to a list in which actions find no entry."""
    added = (replace(each, part=None) for each in entries)
    outlinks = {each.url: each for each in (*added, *found.document.outlinks)}
    return replace(found, document=replace(found.document, outlinks=tuple(outlinks.values())))


def _nothing(page: Page) -> Document:
    return Document(page.url, None, "", (), ())
