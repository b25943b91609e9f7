"""Analyse a response, now or by what a former crawl understood, and compare the two."""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from aahcrawler.archive.history import Former
from aahcrawler.crawl.browsing.page_rendering import Rendering
from aahcrawler.crawl.capture.recrawl import Change, Recrawl, RecrawlComparison, UnreadableCaptureError
from aahcrawler.crawl.core.lifecycle import Budget
from aahcrawler.crawl.core.page_reading import PageReading, WorkEndedError
from aahcrawler.crawl.core.stores import CrawlContext, CurrentContext
from aahcrawler.crawl.health.outages import is_local
from aahcrawler.crawl.lease.lease_source import StoppedError
from aahcrawler.crawl.response.trap_detection import TrapDetection
from aahcrawler.crawl.stats.collector import Stats
from aahcrawler.documents import DocumentReader, NotComparedError, Statements, is_data, is_document, rdf_alternates
from aahcrawler.documents.statement_changes import statement_changes
from aahcrawler.frontier.hops import Hop, ends_with
from aahcrawler.frontier.protocol import Lease, Purpose
from aahcrawler.helper import Refused
from aahcrawler.helper.application import scripted
from aahcrawler.helper.assistance import READ, FailedAction, Failure, failures_of, kind_of
from aahcrawler.helper.site_memory import SiteLesson
from aahcrawler.metadata import Link, LinkType, Metadata
from aahcrawler.objects.versions import Changes, carried
from aahcrawler.page import Page, feeds, generic, requisites
from aahcrawler.page.onward import refresh
from aahcrawler.page.page import FailedStage
from aahcrawler.page.requisites import foreign_links
from aahcrawler.pipeline import analysis
from aahcrawler.pipeline.analysis import (
    Beside,
    PageAnalysis,
    ScoredPage,
    changes,
    contribution_of,
    is_doubtful,
    rank,
    rank_error,
    score,
    understand,
)
from aahcrawler.pipeline.trap_evidence import are_of, marked
from aahcrawler.streams import is_manifest
from aahcrawler.traps.patterns import Trap
from aahcrawler.traps.soft_errors import is_probe
from aahcrawler.traps.traps import TrapVerdict
from aahcrawler.urls import canonicalize
from online_analysis.batching import Contribution

logger = logging.getLogger(__name__)

_MAX_KINDS = 1_000
"""Kinds of failed stages that are logged; each is counted on every page."""


class PageAnalyser:
    """Makes sense of responses with what the crawl knows at that moment; nothing that a page provokes is raised."""

    def __init__(
        self,
        context: CurrentContext,
        budget: Budget,
        recrawl: Recrawl,
        trap_detection: TrapDetection,
        reading: PageReading,
    ) -> None:
        self._context = context
        self._reading = reading
        self._budget = budget
        self._recrawl = recrawl
        self._trap_detection = trap_detection
        self._known_failures: set[str] = set()

    async def analyse(self, lease: Lease, comparison: RecrawlComparison) -> PageAnalysis | None:
        """Return what a response says; None for what leads nowhere by itself, such as an image."""
        page = comparison.page
        if lease.purpose is Purpose.REQUISITE and is_probe(lease.url):
            await self._trap_detection.probed(page)
            return None
        if comparison.remembered and comparison.before is not None:
            return PageAnalysis(analysis.leased_anew(comparison.before, lease))
        try:
            if 300 <= page.status < 400 and not page.is_content:
                return self._signed(self._redirect(lease, page))
            if lease.purpose is Purpose.REQUISITE:
                found = await self._requisite(lease, page)
                return None if found is None else self._signed(PageAnalysis(found))
            return await self._analyse_page(lease, page, comparison.before)
        except StoppedError:
            raise
        except WorkEndedError as error:
            return _given_up(lease, page, error)
        except Exception as error:  # Whatever a page may provoke, it is archived, and the crawl goes on.
            if is_local(error):
                raise
            logger.exception("%s: not understood", page.url)
            return PageAnalysis(analysis.not_understood(lease, page, error), error=type(error).__name__)

    async def again(self, lease: Lease, comparison: RecrawlComparison) -> PageAnalysis | None:
        """Return what an archived page says by now, from which nobody learns; None where it cannot be understood."""
        try:
            scored = await self._scored(comparison.page, comparison.before)
            return await self._analysis(lease, comparison.page, scored)
        except (StoppedError, WorkEndedError) as error:
            logger.warning("%s: not read again: %s", comparison.page.url, error or "the crawl ends")
            return None
        except Exception as error:  # Whatever a page may provoke, the crawl goes on.
            if is_local(error):
                raise
            logger.exception("%s: not understood when it was read again", comparison.page.url)
            return None

    async def recalled(self, lease: Lease, comparison: RecrawlComparison) -> RecrawlComparison:
        """Return a comparison whose former page is as the present reader reads it, where another one has read it.

        So what adaptation remembers of the page, and what changes are told by, is by nobody else: a knowledge base that
        was put right is not bent back to what the wrong one found, and an edit of the reader is no edit of the page.
        Where nothing changed but the reader, nothing is remembered. A former page that the present reader finds nothing
        on is left as it was read then.
        """
        before, former = comparison.before, comparison.former
        is_page = lease.is_page and comparison.change is not None
        if before is None or former is None or not is_page or before.understood_by == self._context.now.fingerprint:
            return comparison
        if comparison.change is Change.UNCHANGED:
            return replace(comparison, before=None)
        anew = await self._former(lease, former, None)
        is_read = anew is not None and (anew.objects or not before.objects) and not is_doubtful(anew)
        return replace(comparison, before=anew) if is_read else comparison

    async def changes(self, lease: Lease, comparison: RecrawlComparison, found: PageAnalysis) -> Changes | None:
        """Compare the objects of a page with those of its former capture; None where nobody can tell.

        That was read by the same reader (``recalled``). Much of what is known of a site, such as the order of day and
        month, is learned from page to page, though: where the page seems to have changed, the former one is read once
        more, and what both readings of it show has changed. Of one that the present reader cannot read nothing is said.
        That objects of a page are gone is told by the crawl that finds it first, and not again while it stays gone.
        """
        before, now = comparison.before, found.metadata
        if before is None or comparison.former is None or comparison.change not in (Change.CHANGED, Change.GONE):
            return None
        if comparison.was_gone:
            return Changes()
        told = changes(before, now, complete=comparison.page.complete)
        if comparison.change is Change.GONE:
            return told
        if before.understood_by != now.understood_by:
            anew = await self._former(lease, comparison.former, before)
            return None if anew is None else changes(anew, now, complete=comparison.page.complete)
        if not told or found.learned or is_doubtful(before) or is_doubtful(now):
            return told
        anew = await self._former(lease, comparison.former, before)
        return told if anew is None else told & changes(anew, now, complete=comparison.page.complete)

    async def _former(self, lease: Lease, former: Former, before: Metadata | None) -> Metadata | None:
        """Understand a former page as one of today; None where it cannot be read any more, or not be understood."""
        try:
            page = self._recrawl.page_of(former)
            return (await self._analysis(lease, page, await self._scored(page, before))).metadata
        except UnreadableCaptureError:
            return None
        except StoppedError:
            raise
        except WorkEndedError as error:
            logger.warning("%s: its former capture is not understood: %s", former.url, error)
            return None
        except Exception as error:  # It is the former page's trouble; today's is archived and understood.
            if is_local(error):
                raise
            logger.exception("%s: its former capture is not understood", former.url)
            return None

    async def _analyse_page(self, lease: Lease, page: Page, before: Metadata | None) -> PageAnalysis:
        """Understand a page of today, from which the ranker learns: an error that it was worth nothing."""
        scored = await self._scored(page, before)
        ranker = self._context.now.ranker
        if ranker is not None:
            ranker.take()  # What a page taught that could not be understood to the end.
        relevant_at = self._context.now.icd.relevant_at
        is_relevant = relevant_at is None or scored.score >= relevant_at
        verdict = self._trap_detection.judge(lease, page, scored, relevant=is_relevant)
        is_error = not page.is_content or (verdict is not None and verdict.trap is Trap.SOFT_404)
        if ranker is not None and is_error:
            rank_error(page.url, ranker, lease.depth, self._budget.left(lease))
        elif ranker is not None:
            weights = self._context.now.icd.scoring.weights
            scored = rank(scored, weights, ranker, lease.depth, self._budget.left(lease))
        lesson = None if ranker is None else ranker.take()
        await asyncio.sleep(0)  # Others have their turn: a page may have ten thousand links.
        found = await self._analysis(lease, page, scored)
        contribution = None if is_error else found.contribution
        metadata = self._beside_former(lease.url, found.metadata, before, verdict)
        return replace(found, metadata=metadata, lesson=lesson, contribution=contribution, verdict=verdict)

    def _beside_former(
        self, url: str, metadata: Metadata, before: Metadata | None, verdict: TrapVerdict | None
    ) -> Metadata:
        """Return what is kept of a page with what was found of traps, and what a former crawl knew of its objects."""
        if before is None:
            former = self._recrawl.before(url) if verdict is not None and verdict.repeated else None
            return marked(metadata, verdict, () if former is None else former.objects)
        original = self._recrawl.before(before.like) if before.like else None
        if original is not None and are_of(metadata.objects, original.objects):
            return replace(metadata, objects=(), trap=before.trap, like=before.like)
        metadata = marked(metadata, verdict, before.objects)
        return replace(metadata, objects=carried(before.objects, metadata.objects))

    def _redirect(self, lease: Lease, page: Page) -> PageAnalysis:
        """Understand a redirect. One to a login leads nowhere, unless it is that of a seed."""
        metadata, helper = analysis.of_redirect(lease, page), self._context.now.helper
        reasons = {link.url: helper.entrance(page.url, link.url) for link in metadata.links if lease.via}
        refused = tuple(Refused(url, reason) for url, reason in reasons.items() if reason is not None)
        links = tuple(link for link in metadata.links if reasons.get(link.url) is None)
        return PageAnalysis(replace(metadata, links=links), refused)

    async def _scored(self, page: Page, before: Metadata | None) -> ScoredPage:
        return await scored_page(page, self._reading, self._context.now, before)

    async def _requisite(self, lease: Lease, page: Page) -> Metadata | None:
        """Understand what a page needs to be shown: style sheets and manifests lead on, files of objects are objects.

        Of what neither is looked for links in, only the beginning is read.
        """
        if page.media_type == "text/css":
            return await self._reading.of(page, analysis.of_stylesheet)
        if is_manifest(page):
            most = self._context.now.icd.limits.stream_lines
            return await self._reading.of(page, lambda page: analysis.of_stream(page, most))
        return analysis.of_media(page) if ends_with(lease.path, Hop.MEDIA) else None

    async def _analysis(self, lease: Lease, page: Page, scored: ScoredPage) -> PageAnalysis:
        """Return the analysis of a page that was scored, its metadata built once from all that was read."""
        assistance, contribution = scored.assistance, self._contribution(page, scored)
        links = (*embedded_links(page), *self._feed_links(page), *self._alternates(page))
        stream = await self._stream(page)
        failed = (*assistance.failed_actions, *(failures_of(page, assistance) if page.failed else ()))
        self._log_failed(page, failed)
        beside = Beside(links, failed, stream, self._context.now.fingerprint)
        return PageAnalysis(
            analysis.of_page(lease, page, scored, self._context.now.icd.relevant_at, beside),
            assistance.refused,
            assistance.containers,
            failed,
            assistance.learned,
            scores=scored.scores,
            document=assistance.document,
            contribution=contribution,
            mistakes=assistance.mistakes,
        )

    def _log_failed(self, page: Page, failed: Sequence[FailedAction]) -> None:
        """Log what failed on a page.

        What reading met and is not made for is logged once for each stage and kind: many pages of a site are alike.
        """
        for action in failed:
            kind = kind_of(action) if action.failure is Failure.RAISED else ""
            if not kind:
                logger.warning("%s: %s", page.url, action)
            elif kind not in self._known_failures and len(self._known_failures) < _MAX_KINDS:
                self._known_failures.add(kind)
                logger.warning("%s: %s", page.url, action)

    def _feed_links(self, page: Page) -> Sequence[Link]:
        """Return the feeds that a page announces, where the definition asks for them."""
        if self._context.now.icd.sources.feeds != "announced" or not page.is_html or not page.is_content:
            return ()
        announced = page.attempt("announced feeds", lambda: page.once(feeds.announced), tuple[str, ...])
        return tuple(Link(url, LinkType.FEED) for url in announced)

    def _alternates(self, page: Page) -> Sequence[Link]:
        """Return the RDF documents that a page names as other forms of it, where the definition asks for them."""
        if self._context.now.icd.sources.linked_data == "off" or not page.is_content:
            return ()
        named = page.attempt("alternates", lambda: page.once(rdf_alternates), tuple[str, ...])
        return tuple(Link(url) for url in named)

    async def _stream(self, page: Page) -> Metadata | None:
        """Return what the manifest of a stream asks for that was fetched as a page; None for any other page."""
        if page.is_html or not is_manifest(page):
            return None
        most = self._context.now.icd.limits.stream_lines

        def work(page: Page) -> tuple[Metadata | None, tuple[FailedStage, ...]]:
            stream = page.attempt("stream", lambda: analysis.of_stream(page, most), lambda: None)
            return stream, tuple(page.failed)

        stream, failed = await self._reading.of(page, work)
        page.keep({}, failed)
        return stream

    def _contribution(self, page: Page, scored: ScoredPage) -> Contribution | None:
        topic = self._context.now.topic
        icd = self._context.now.icd
        if topic is None or icd.relevant_at is None or icd.scoring.batch == 1 or not page.is_content:
            return None
        return contribution_of(scored, topic)

    def _signed(self, found: PageAnalysis) -> PageAnalysis:
        return replace(found, metadata=replace(found.metadata, understood_by=self._context.now.fingerprint))


@dataclass(frozen=True, slots=True)
class _Read:
    """A page as it was read: scored, what else is asked of its markup, stages that raised, and what it taught."""

    scored: ScoredPage
    facts: Mapping[Callable[[Page], object], object]
    failed: tuple[FailedStage, ...]
    lessons: tuple[SiteLesson, ...]


async def scored_page(
    page: Page, reading: PageReading, known: CrawlContext, before: Metadata | None = None
) -> ScoredPage:
    """Understand and score a page; what else is asked of its markup is known from then on (``Page.once``).

    Raise ``WorkEndedError`` where the clock ended that, ``StoppedError`` where the crawl ended before.
    """

    def work(page: Page) -> _Read:
        assistance = understand(page, known.helper, known.scope.spelling, before, known.link_rules)
        scored = score(assistance, known.analysers, known.icd.scoring.weights)
        facts = {fact: page.attempt(name, partial(page.once, fact), none) for fact, name, none in _facts(page)}
        return _Read(scored, facts, tuple(page.failed), known.helper.lessons)

    shared = (each for of in known.helper.knowledge_base.applications for each in (of, *of.levels))
    read = await reading.of(page, work, shared, lambda read: known.helper.learn(read.lessons))
    page.keep(read.facts, read.failed)
    return read.scored


def _facts(page: Page) -> Sequence[tuple[Callable[[Page], object], str, Callable[[], object]]]:
    """Return what is asked of a page's markup besides: the stages, their names, and what there is where they raise."""
    if not page.is_content:
        return ()
    onward = (refresh, "refresh", lambda: None)
    return (onward, *_OF_MARKUP) if page.is_html else (onward,)


_OF_MARKUP: Final[Sequence[tuple[Callable[[Page], object], str, Callable[[], object]]]] = (
    (feeds.announced, "announced feeds", tuple),
    (rdf_alternates, "alternates", tuple),
    (requisites.frames, "frames", tuple),
    (generic.forbids_following, "links that are not to be followed", lambda: False),
    (foreign_links, "foreign links", dict),
)


def _given_up(lease: Lease, page: Page, error: WorkEndedError) -> PageAnalysis:
    """Return what is known of a page whose reading was ended by the clock: it is archived, and leads nowhere."""
    logger.warning("%s: reading took too long: %s", page.url, error)
    failed = FailedAction("", "", READ, Failure.SLOW, f"reading took too long: {error}")
    return PageAnalysis(analysis.not_understood(lease, page, error), failed=(failed,), error=type(error).__name__)


def with_look(found: PageAnalysis, look: Rendering, lease: Lease, spelling: Callable[[str], str]) -> PageAnalysis:
    """Add to the analysis of a page what a browser noted of it, where its scripts wanted to go, and its streams.

    Of a page that shows nothing the first of these is taken for the page that it sends its readers on to. A player
    fetches of a stream what it needs at the moment: the rest comes with the manifest, as a requisite.
    """
    said = found.metadata
    if look.note is None:
        return found
    known = {lease.url, *(link.url for link in said.links)}
    leads = dict.fromkeys(filter(None, (canonicalize(url) for url in look.leads_to)))
    is_passage = look.page is not None and not said.objects and scripted.shows_nothing(look.page)
    links: list[Link] = []
    for url in leads:
        if is_passage and not links and url != lease.url:
            links.append(Link(url, LinkType.REDIRECT))
        elif (spelled := spelling(url)) not in known:
            links.append(Link(spelled, LinkType.PAGE, score=said.score or 0.0))
    links += [Link(url, LinkType.REQUISITE) for url in look.streams if url not in known]
    return replace(found, metadata=replace(said, browser=look.note, links=(*said.links, *links)))


def embedded_links(page: Page) -> Sequence[Link]:
    """Return the documents within a page, and the page that it sends its readers on to."""
    if not page.is_content:
        return ()
    frames = page.attempt("frames", lambda: page.once(requisites.frames), tuple[str, ...]) if page.is_html else ()
    onward = page.attempt("refresh", lambda: page.once(refresh), lambda: None)
    redirects = () if onward is None else (Link(onward.url, LinkType.REDIRECT),)
    return (*(Link(url, LinkType.FRAME) for url in frames), *redirects)


class Transcripts:
    """Has documents read, as far as the definition wants it."""

    def __init__(self, context: CurrentContext) -> None:
        self._context = context
        self._reader = DocumentReader()

    async def read(self, lease: Lease, comparison: RecrawlComparison, stats: Stats) -> RecrawlComparison:
        """Return a visit whose page has its transcript, where it is a document that is to be understood."""
        page = comparison.page
        is_wanted = lease.is_page and not comparison.remembered and self._context.now.icd.sources.documents
        if not is_wanted or not 200 <= page.status < 300 or not is_document(page):
            return comparison
        transcript = await asyncio.to_thread(self._reader.read, page)
        unread = ""
        if transcript.encrypted:
            unread = "encrypted, so that its text is not read"
        elif not transcript.complete:
            unread = f"not read to its end{f': {transcript.problem}' if transcript.problem else ''}"
        if unread:
            logger.warning("%s: %s", page.url, unread)
        cut = {"documents_cut": int(not transcript.complete), "documents_encrypted": int(transcript.encrypted)}
        stats.merge({"documents": 1, **cut})
        return replace(comparison, page=replace(page, transcript=transcript), unread=unread)

    async def statements(self, page: Page) -> Statements:
        """Return what a document says; raise ``NotComparedError`` as the reader does."""
        return await asyncio.to_thread(self._reader.statements, page)

    async def compared(self, comparison: RecrawlComparison, recrawl: Recrawl) -> RecrawlComparison:
        """Return a comparison by what data say: in another order, format or spelling the same is no change.

        Of data that say something else the comparison tells how many statements or rows do. Raise
        ``UnreadableCaptureError`` where the former page cannot be read from the archive.
        """
        page, former = comparison.page, comparison.former
        if comparison.change is not Change.CHANGED or former is None or page.rendered or not is_data(page):
            return comparison
        before = recrawl.sent_page(former)
        if not is_data(before):
            return comparison
        try:
            now, then = [await self.statements(each) for each in (page, before)]
        except NotComparedError as error:
            logger.warning("%s: taken for changed, since its statements are not compared: %s", page.url, error)
            return replace(comparison, unread=f"its statements are not compared: {error}")
        if now.digest == then.digest:
            return replace(comparison, change=Change.UNCHANGED, repeats=False)
        if now.parts is None or then.parts is None:
            return comparison
        changes = await asyncio.to_thread(statement_changes, then.parts, now.parts)
        return replace(comparison, statements=changes.counts)

    async def close(self) -> None:
        """End the process that reads."""
        await asyncio.to_thread(self._reader.close)
