"""A dry run: the first page of each seed, looked at as the crawl would, before anything is crawled.

Nothing is written but a temporary folder for large responses, and the crawl's folder is only read for what was taken
out of it.
"""

import asyncio
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from aahcrawler import urls
from aahcrawler.crawl.capture.recrawl import GONE
from aahcrawler.crawl.core.page_reading import PageReading, WorkEndedError
from aahcrawler.crawl.core.stores import CrawlContext, CurrentContext
from aahcrawler.crawl.fetch.client_settings import ACCEPT_RESULTS, notes, request_headers, wire_settings
from aahcrawler.crawl.fetch.sourced_captures import NotTakenError, SourcedCaptures, open_sources
from aahcrawler.crawl.reload.knowledge_reload import LiveKnowledgeBase
from aahcrawler.crawl.response.page_analyser import embedded_links, scored_page
from aahcrawler.crawl.response.seed_trail import SeedTrail
from aahcrawler.crawl.response.sparql_paging import said
from aahcrawler.crawl.startup.factory import checked
from aahcrawler.crawl.startup.reference_documents import Fetched, fetch_documents, reader
from aahcrawler.crawl.startup.store_opening import SEED_SCORE, browser_notes
from aahcrawler.crawl.stats.collector import Stats
from aahcrawler.documents import DocumentReader, is_document
from aahcrawler.exchange import Memento
from aahcrawler.exclusions import Exclusions
from aahcrawler.frontier.protocol import Lease, Offer, State
from aahcrawler.page import Page
from aahcrawler.page.onward import MAX_REDIRECTS
from aahcrawler.pipeline import analysis, trap_evidence
from aahcrawler.pipeline.analysis import Beside, PageAnalysis
from aahcrawler.pipeline.links import NO_LINKS, DiscoveredLinks, discover_links
from aahcrawler.scope import ExternalUrl, Scope
from aahcrawler.seeds import SeedResult, Verdict, seed_results
from aahcrawler.seeds.verdicts import Trail, links_in_words, none_followed, remedy
from aahcrawler.sources.source import SnapshotChoice
from aahcrawler.tombstones import TakenDown
from aahcrawler.traps.traps import Traps
from aahcrawler.wire.client import WireClient, WireError
from aahcrawler.wire.polite_client import Manners, NotFetchedError, PoliteClient
from knowledge_base.file_selection import folders_for
from online_analysis.analysers import analysers
from online_analysis.icd import Icd
from online_analysis.topic import build_topic


class DryReading:
    """Reads pages by the context that a crawl would begin with."""

    def __init__(self, context: CrawlContext) -> None:
        self._context = context
        self._documents = DocumentReader()
        self.pages = PageReading(asyncio.Event())

    def close(self) -> None:
        """End what reads documents."""
        self._documents.close()

    async def read(self, page: Page) -> Page:
        """Return a response with its transcript, where it is a document that is to be understood."""
        if page.transcript is None and self._context.icd.sources.documents and page.status < 300 and is_document(page):
            return replace(page, transcript=await asyncio.to_thread(self._documents.read, page))
        return page

    async def analysed(self, lease: Lease, page: Page) -> PageAnalysis:
        """Return what is understood of a response; whatever a page may provoke, it is told and others are read."""
        if 300 <= page.status < 400 and not page.is_content:
            return PageAnalysis(analysis.of_redirect(lease, page))
        try:
            return await self._understood(lease, await self.read(page))
        except Exception as error:  # Of any kind: pages are hostile.
            return PageAnalysis(analysis.not_understood(lease, page, error), error=type(error).__name__)

    async def _understood(self, lease: Lease, page: Page) -> PageAnalysis:
        scored = await scored_page(page, self.pages, self._context)
        assistance = scored.assistance
        beside = Beside(embedded_links(page), assistance.failed_actions)
        metadata = analysis.of_page(lease, page, scored, self._context.icd.relevant_at, beside)
        return PageAnalysis(
            metadata, assistance.refused, failed=assistance.failed_actions, document=assistance.document
        )


@dataclass(frozen=True, slots=True)
class OpenedDryRun:
    """The context of a dry run, and what a person has to know of it."""

    context: CrawlContext
    notes: tuple[str, ...]


def open_dry_run(path: Path, folders: tuple[Path, ...] = ()) -> OpenedDryRun:
    """Read a definition, its knowledge base and its reference documents, those on the web as well.

    Without ``folders`` the knowledge base is that which the crawl would have.

    A document that cannot be had is left out, and said to be. Raise ``IcdError``, ``LoadError``, and ``DamageError``
    where the takedowns of a crawl of the definition cannot be read.
    """
    icd = checked(Icd.load(path))
    values = {"keywords": icd.topic.keywords, "entities": icd.topic.entities}
    helper = LiveKnowledgeBase(folders or folders_for(icd.output), values, adapt=False).helper
    with tempfile.TemporaryDirectory(prefix="aah-") as spool:
        fetched = fetch_documents(icd, Path(spool), lambda _: None, reader(helper.knowledge_base))
    texts = {document.url: fetched.texts.get(document.url, "") for document in icd.document_urls()}
    topic = build_topic(icd, texts)
    scope = Scope(icd, taken_down=TakenDown.of(icd.output), exclusions=Exclusions.of(icd.output))
    context = CrawlContext(icd, lambda: helper, analysers(icd, topic), scope, topic=topic, traps=Traps(icd.traps))
    return OpenedDryRun(context, tuple(_notes(icd, fetched)))


def _notes(icd: Icd, fetched: Fetched) -> Iterator[str]:
    yield from notes(icd)
    yield from browser_notes(icd)
    yield from (f"{mistake}; scores are without it" for mistake in fetched.mistakes)
    network = icd.network
    if network.accounts or network.logins or network.headers or network.cookies_file:
        yield "sites are asked without logins, accounts, headers and cookies of the ICD; the crawl uses them"
    if icd.politeness.robots == "ignore":
        yield "robots.txt is ignored, as politeness.robots says"


@dataclass(frozen=True, slots=True)
class BestLink:
    """A link that the crawl would queue, with its score."""

    url: str
    anchor: str
    score: float


@dataclass(frozen=True, slots=True)
class TriedSeed:
    """What the first page of a seed is for the crawl.

    ``verdict`` and ``advice`` are those of the crawl's report on seeds; ``detail`` says more where there is more.
    ``ended_at`` is where its redirects led, empty where it has none. ``status`` is None where there was no response,
    ``score`` where the page has none. ``archive`` has the page, captured at ``captured_at`` (ISO 8601); both are
    empty where its site was asked. ``followed`` counts links to pages that would be queued, ``avoided`` those
    that would not, by reason. ``best`` are the best of the former.
    """

    url: str
    verdict: Verdict
    advice: str = ""
    detail: str = ""
    ended_at: str = ""
    seconds: float = 0.0
    status: int | None = None
    media_type: str = ""
    title: str = ""
    language: str = ""
    application: str = ""
    level: str = ""
    objects: Mapping[str, int] = field(default_factory=dict)
    score: float | None = None
    is_relevant: bool | None = None
    followed: int = 0
    avoided: Mapping[str, int] = field(default_factory=dict)
    best: tuple[BestLink, ...] = ()
    archive: str = ""
    captured_at: str = ""

    @property
    def gives(self) -> bool:
        """Whether the seed is a way into its site."""
        return self.verdict in {Verdict.FETCHED, Verdict.OFF_TOPIC}

    @property
    def words(self) -> str:
        """The verdict in words; of a page out of an archive that it is held there, since nothing was fetched."""
        return HELD if self.archive and self.verdict is Verdict.FETCHED else str(self.verdict)

    @property
    def hints(self) -> tuple[str, ...]:
        """What to look at, the verdict's advice first; none where the seed is as it should be."""
        return tuple(self._hints())

    def _hints(self) -> Iterator[str]:
        if self.verdict is Verdict.OFF_TOPIC:
            yield "the page says little of the subject: look whether its best links do, and at topic in the definition"
        elif self.verdict is Verdict.ARCHIVE:
            yield "try again later"  # Its detail names the archive; a dry run writes no log.
        elif self.advice:
            yield self.advice
        is_told = not self.gives or (self.verdict is Verdict.FETCHED and self.advice)
        if is_told or self.followed:
            return
        if self.level and not self.avoided:
            yield f"the page is a {self.level} of {self.application}, and leads no further: give one that lists others"
        elif not self.avoided:
            yield "no link was found on it: look for a page that lists others, a feed or a sitemap"
        else:
            reason = max(self.avoided, key=lambda each: self.avoided[each])
            yield f"{none_followed(reason)}: {remedy(reason)}"

    def as_json(self) -> dict[str, object]:
        """Return all of it as JSON has it; ``avoided`` with the words for people beside each reason."""
        return {
            "url": self.url,
            "verdict": self.verdict.value,
            "words": self.words,
            "gives": self.gives,
            "detail": self.detail,
            "ended_at": self.ended_at,
            "seconds": round(self.seconds, 3),
            "status": self.status,
            "media_type": self.media_type,
            "title": self.title,
            "language": self.language,
            "application": self.application,
            "level": self.level,
            "objects": dict(self.objects),
            "score": None if self.score is None else round(self.score, 6),
            "relevant": self.is_relevant,
            "followed": self.followed,
            "avoided": [
                {"reason": reason, "words": links_in_words(reason), "links": number}
                for reason, number in self.avoided.items()
            ],
            "best": [{"url": each.url, "anchor": each.anchor, "score": round(each.score, 6)} for each in self.best],
            "hints": list(self.hints),
            "archive": self.archive,
            "captured_at": self.captured_at,
        }


BEST_LINKS: Final = 10
HELD: Final = "held by an archive"
AT_ONCE: Final = 4
"""How many sites are asked at once."""
SEED_SECONDS: Final = 60.0
"""How long the page of one seed may take, its redirects, delays and robots.txt files included."""
ALL_SECONDS: Final = 600.0
"""How long all of them may take together; what is not tried by then is said to be."""


@dataclass(frozen=True, slots=True)
class _Looked:
    """The last response of a seed; nothing where there was none."""

    page: Page | None = None
    memento: Memento | None = None
    found: PageAnalysis | None = None
    links: DiscoveredLinks = NO_LINKS
    problem: str = ""


@dataclass(frozen=True, slots=True)
class _Asking:
    """What has the pages of a definition: its sources, and the sites of today where it names them.

    ``queries`` are the URLs of queries to SPARQL endpoints, which are asked for results.
    """

    polite: PoliteClient
    sources: SourcedCaptures
    queries: frozenset[str] = frozenset()

    async def page(self, url: str) -> tuple[Page, Memento | None]:
        """Return a page as the crawl would have it. Raise one of ``NotFetchedError``, and ``NotTakenError``."""
        taken = await self.sources.page(url, self.sources.preferred)
        if taken is not None:
            return taken
        self.sources.require_live(url)
        try:
            page = await self.polite.page(url, ACCEPT_RESULTS if url in self.queries else "")
        except WireError:
            taken = await self.sources.page(url, self.sources.others)
            if taken is None:
                raise
            return taken
        taken = await self.sources.page(url, self.sources.others) if page.status in GONE else None
        return taken or (page, None)


class DryRun:
    """The dry run of one definition; ``context`` is what the crawl would begin with."""

    def __init__(
        self, context: CrawlContext, *, seed_seconds: float = SEED_SECONDS, all_seconds: float = ALL_SECONDS
    ) -> None:
        self._context = context
        self._seed_seconds = seed_seconds
        self._all_seconds = all_seconds
        self._reading = DryReading(context)

    def run(self, seeds: Sequence[str], told: Callable[[TriedSeed], None]) -> None:
        """Try seeds, a few sites at once, and tell of each as soon as it is done. Must not be called in a loop."""
        try:
            with tempfile.TemporaryDirectory(prefix="aah-") as spool:
                asyncio.run(self._all(seeds, Path(spool), told))
        finally:
            self._reading.close()

    async def _all(self, seeds: Sequence[str], spool: Path, told: Callable[[TriedSeed], None]) -> None:
        icd = self._context.icd
        client = WireClient(wire_settings(icd, spool))
        polite = PoliteClient(client, icd.politeness, Manners(request_headers(icd), icd.limits.page_bytes))
        choice = SnapshotChoice.of(icd, datetime.now(UTC))
        sources = open_sources(icd, spool, choice, self._context.scope.exclusions.covers)
        asking = _Asking(polite, sources, frozenset(map(self._canonical, icd.queries)))
        ends = time.monotonic() + self._all_seconds
        gate = asyncio.Semaphore(AT_ONCE)

        async def of_site(group: Iterable[str]) -> None:
            async with gate:
                for seed in group:
                    told(await self._within(seed, asking, ends))

        by_site: defaultdict[str, list[str]] = defaultdict(list)
        for seed in dict.fromkeys(seeds):
            by_site[urls.queue_of(self._canonical(seed) or seed)].append(seed)
        try:
            await asyncio.gather(*map(of_site, by_site.values()))
        finally:
            await sources.close()
            await client.close()

    def _canonical(self, seed: str) -> str:
        return self._context.scope.spelling.url(self._context.icd.queries.get(seed, seed)) or ""

    async def _within(self, seed: str, asking: "_Asking", ends: float) -> TriedSeed:
        begun = time.monotonic()
        left = min(self._seed_seconds, ends - begun)
        if left <= 0:
            return TriedSeed(
                seed,
                Verdict.PENDING,
                "try it by itself: --seed URL",
                f"the dry run has ended after {self._all_seconds:.0f} s",
            )
        try:
            async with asyncio.timeout(left):
                tried = await self._tried(seed, asking)
        except TimeoutError:
            verdict = SeedResult(seed, Verdict.TIMEOUT)
            return TriedSeed(seed, verdict.verdict, verdict.advice, f"given up after {left:.0f} s", seconds=left)
        return replace(tried, seconds=time.monotonic() - begun)

    async def _tried(self, seed: str, asking: "_Asking") -> TriedSeed:
        url, stats = self._canonical(seed), Stats()
        looked = _Looked()
        if url and self._refusal(url) is None:
            lease = Lease(url, urls.queue_of(url), SEED_SCORE, 0, "page", "", 1, "")
            looked = await self._looked(lease, asking, stats)
        site_of = urls.queue_of if url else str
        (result,) = seed_results({seed: url}, stats.counts, site_of, self._refusal)
        return self._described(result, looked)

    def _refusal(self, url: str) -> str | None:
        return self._context.scope.admit(ExternalUrl(url, urls.queue_of(url)))

    async def _looked(self, lease: Lease, asking: "_Asking", stats: Stats) -> _Looked:
        """Follow a seed's redirects to a page, and note what the crawl would note of each response."""
        trail = SeedTrail(CurrentContext(self._context), stats, self._reading.pages)
        first, met = lease.url, {lease.url}
        while True:
            try:
                page, memento = await asking.page(lease.url)
            except (*NotFetchedError, NotTakenError) as error:
                stats.merge(trail.failed(lease, State.FAILED, error.reason))
                return _Looked(problem=str(error))
            if memento is None:
                await self._look_for_ids(lease, page, asking.polite)
            read = await self._reading.read(page)
            rows = None if read.transcript is None else read.transcript.entries
            found = await self._reading.analysed(lease, read)
            links = discover_links(lease, found.metadata, self._context.link_rules, wants_requisites=False)
            stats.merge(await trail.answered(lease, page, found, links, rows))
            target = links.redirect
            is_judged = Trail.of(stats.counts).end_of(first)[1] is not None
            if target is None or is_judged or target in met or len(met) > MAX_REDIRECTS:
                return _Looked(page, memento, found, links)
            met.add(target)
            lease = _redirected(links, target)

    async def _look_for_ids(self, lease: Lease, page: Page, asking: PoliteClient) -> None:
        """Ask once more for a page whose links may hold the id of a session, as the crawl does."""
        traps = self._context.traps
        if not self._context.scope.drops_sessions:
            return
        try:
            found = await self._reading.pages.of(page, lambda page: trap_evidence.suspects(page, traps.sessions))
        except WorkEndedError:
            return  # What is said of the page will be the same.
        url = trap_evidence.page_to_ask(page, lease, found)
        if url:
            with suppress(*NotFetchedError):
                traps.decide(page.url, found, trap_evidence.links_of(await asking.page(url), page))

    def _described(self, result: SeedResult, looked: _Looked) -> TriedSeed:
        page, found = looked.page, looked.found
        detail = looked.problem or result.detail
        if page is not None and page.status >= 400 and result.url in self._context.icd.queries:
            detail = detail or said(page)
        if page is None or found is None:
            return TriedSeed(result.url, result.verdict, result.advice, detail, result.ended_at)
        told = found.metadata
        pages = [offer for offer in looked.links.offers if offer.kind == "page" and offer.url != looked.links.redirect]
        return TriedSeed(
            result.url,
            result.verdict,
            result.advice,
            detail or found.error,
            result.ended_at,
            status=page.status,
            media_type=page.media_type,
            title=told.title,
            language=told.language or "",
            application=told.application or "",
            level=told.level or "",
            objects=dict(Counter(each.type for each in told.objects).most_common()),
            score=told.score,
            is_relevant=told.relevant,
            followed=len(pages),
            avoided=_avoided(found, looked.links),
            best=tuple(_best(pages, looked.links)),
            archive="" if looked.memento is None else looked.memento.archive,
            captured_at="" if looked.memento is None else page.fetched_at.isoformat(),
        )


def _avoided(found: PageAnalysis, links: DiscoveredLinks) -> Mapping[str, int]:
    """Count the links that would not be queued: junk that the knowledge base knows, and what the scope refuses."""
    counts = Counter(str(refused.reason) for refused in found.refused)
    counts.update({reason: len(places) for reason, places in links.refused.items()})
    return dict(counts.most_common())


def _best(pages: Iterable[Offer], links: DiscoveredLinks) -> Iterator[BestLink]:
    anchors = {link.url: link.anchor or "" for link in links.pages}
    for offer in sorted(pages, key=lambda each: (-each.score, each.url))[:BEST_LINKS]:
        yield BestLink(offer.url, anchors.get(offer.url, ""), offer.score)


def _redirected(links: DiscoveredLinks, target: str) -> Lease:
    offer = next(each for each in links.offers if each.url == target)
    return Lease(offer.url, offer.queue, offer.score, offer.depth, "page", offer.via, 1, "", offer.path)
