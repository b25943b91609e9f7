"""A sample of a collection: some captures out of the archives that a definition names, before anything is crawled.

They are taken in the order in which the crawl would take them (Gossen, Risse and Demidova, "Towards Extracting
Event-centric Collections from Web Archives", algorithm 1), with the queue in memory. Nothing is kept.
"""

import asyncio
import heapq
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Final

from aahcrawler import urls
from aahcrawler.crawl.core.stores import CrawlContext
from aahcrawler.crawl.fetch.sourced_captures import SourcedCaptures, open_sources
from aahcrawler.crawl.startup.dry_run import DryReading
from aahcrawler.crawl.startup.store_opening import SEED_SCORE
from aahcrawler.exchange import Memento
from aahcrawler.frontier.protocol import Lease, Offer
from aahcrawler.page import Page
from aahcrawler.pipeline.analysis import PageAnalysis
from aahcrawler.pipeline.links import NO_LINKS, DiscoveredLinks, discover_links
from aahcrawler.scope import ExternalUrl, SourceRefusal
from aahcrawler.sources.archive_client import TROUBLE
from aahcrawler.sources.source import ArchiveFolderError, SnapshotChoice, SourceError
from aahcrawler.tallies import plural
from online_analysis.analysers import relevance_analyser
from online_analysis.analysers.relevance import PageRelevance

CAPTURES: Final = 200
"""Captures that are taken where nobody says how many."""
MAX_CAPTURES: Final = 2_000
SECONDS: Final = 300.0
"""How long a sample may take; what was taken by then is shown."""
MAX_SEEDS: Final = 1_000
"""Seeds that are looked up; the others are not begun with."""
SHOWN: Final = 30
"""Captures that are shown, the most relevant first."""
SHOWN_MISSING: Final = 100
_LOOKED_UP: Final = 10
"""URLs that are looked up for each capture that is wanted: archives have a part of what pages link to."""
THRESHOLDS: Final = tuple(each / 10 for each in range(1, 10))
"""The scores for which members are counted, beside that of the definition."""
_LOW: Final = 0.2
"""Where all scores are below this one, members are counted for about ten scores up to the best one."""


@dataclass(frozen=True, slots=True)
class SeedHeld:
    """What the archives hold of a seed.

    ``first`` and ``last`` are the moments of its captures, ``nearest`` is that of the one which would be taken first
    (ISO 8601, in UTC); all are empty where there is none. ``problem`` says why the seed is not taken, or which archive
    could not say.
    """

    url: str
    captures: int = 0
    first: str = ""
    last: str = ""
    nearest: str = ""
    problem: str = ""

    def as_json(self) -> dict[str, object]:
        """Return all of it as JSON has it."""
        return {name: getattr(self, name) for name in ("url", "captures", "first", "last", "nearest", "problem")}


@dataclass(slots=True)
class SourceHeld:
    """What one source holds of the seeds: how many of them, their captures, and how often it could not say."""

    seeds: int = 0
    captures: int = 0
    failed: int = 0


@dataclass(frozen=True, slots=True)
class SampledCapture:
    """A capture with its score, what that is made of where the definition has ``scoring.relevance``, and its way.

    ``date`` is the day that the nearness in time goes by (ISO 8601), empty for none.
    """

    url: str
    captured_at: str
    archive: str
    title: str
    language: str
    depth: int
    via: str
    score: float
    topic: float | None
    time: float | None
    date: str

    def as_json(self) -> dict[str, object]:
        """Return all of it as JSON has it."""
        numbers = {name: _rounded(getattr(self, name)) for name in ("score", "topic", "time")}
        others = ("url", "captured_at", "archive", "title", "language", "depth", "via", "date")
        return {**{name: getattr(self, name) for name in others}, **numbers}


@dataclass(slots=True)
class Sample:
    """What was taken, and what was not there.

    ``sources`` are in the order in which they are asked. ``captures`` are pages with a score in the order in which they
    were taken. ``looked_up`` counts URLs, ``missing`` names those that no archive has, and ``troubles`` counts what
    archives could not say. ``ended`` says why there are no more.
    """

    relevant_at: float | None
    seeds: list[SeedHeld] = field(default_factory=list)
    sources: dict[str, SourceHeld] = field(default_factory=dict)
    captures: list[SampledCapture] = field(default_factory=list)
    looked_up: int = 0
    missing: list[str] = field(default_factory=list)
    troubles: Counter[str] = field(default_factory=Counter)
    ended: str = ""

    @property
    def best(self) -> Sequence[SampledCapture]:
        """The most relevant captures."""
        return heapq.nsmallest(SHOWN, self.captures, key=lambda each: (-each.score, each.url))

    @property
    def members(self) -> Sequence[tuple[float, int]]:
        """How many captures would be members of the collection from each of some scores on."""
        own = () if self.relevant_at is None else (self.relevant_at,)
        return [(each, self.members_from(each)) for each in sorted({*_thresholds(self.best_score), *own})]

    @property
    def best_score(self) -> float:
        """The score of the most relevant capture, 0 where there is none."""
        return max((each.score for each in self.captures), default=0.0)

    def members_from(self, threshold: float) -> int:
        """Return how many captures have that score or more."""
        return sum(each.score >= threshold for each in self.captures)

    def as_json(self) -> dict[str, object]:
        """Return all that is shown of it as JSON has it."""
        return {
            "seeds": [each.as_json() for each in self.seeds],
            "sources": [{"name": name, **asdict(each)} for name, each in self.sources.items()],
            "taken": len(self.captures),
            "looked_up": self.looked_up,
            "best": [each.as_json() for each in self.best],
            "members": [{"threshold": threshold, "captures": number} for threshold, number in self.members],
            "relevant": self.relevant_at,
            "missing": len(self.missing),
            "missing_urls": self.missing[:SHOWN_MISSING],
            "troubles": dict(self.troubles.most_common()),
            "ended": self.ended,
        }


Told = Callable[[Sample], object]


class Sampling:
    """Takes samples for one definition; ``context`` is what its crawl would begin with.

    Raise ``ArchiveFolderError`` where the definition names no archive.
    """

    def __init__(self, context: CrawlContext, *, captures: int = CAPTURES, seconds: float = SECONDS) -> None:
        if context.icd.captures.is_live:
            raise ArchiveFolderError("captures.sources names no archive: say which ones")
        self._context = context
        self._most = captures
        self._seconds = seconds
        self._reading = DryReading(context)
        self._relevance = None if context.topic is None else relevance_analyser(context.icd, context.topic)

    def run(self, told: Told) -> Sample:
        """Take a sample; ``told`` sees it grow. Must not be called in a loop. Raise ``ArchiveFolderError``."""
        try:
            with tempfile.TemporaryDirectory(prefix="aah-") as spool:
                return asyncio.run(self._sampled(Path(spool), told))
        finally:
            self._reading.close()

    async def _sampled(self, spool: Path, told: Told) -> Sample:
        icd, sample = self._context.icd, Sample(self._context.icd.relevant_at)
        choice = SnapshotChoice.of(icd, datetime.now(UTC))
        sources = open_sources(icd, spool, choice, self._context.scope.exclusions.covers)
        ends = time.monotonic() + self._seconds
        try:
            async with asyncio.timeout(self._seconds):
                begun = await self._looked_up(sources, choice, sample, told, ends)
                await self._taken(begun, sources, sample, told)
        except TimeoutError:
            sample.ended = f"{self._seconds:g} seconds have passed"
        finally:
            sample.troubles.update(_troubles(sources))
            await sources.close()
        return sample

    async def _looked_up(
        self, sources: SourcedCaptures, choice: SnapshotChoice, sample: Sample, told: Told, ends: float
    ) -> Sequence[str]:
        """Look all seeds up, in half of the time at most; return those to begin with, in the crawl's spelling."""
        begin: list[str] = []
        stops = time.monotonic() + (ends - time.monotonic()) / 2
        for seed in dict.fromkeys(self._context.icd.seeds):
            url = self._context.scope.spelling.url(seed) or ""
            refusal = self._context.scope.admit(ExternalUrl(url, urls.queue_of(url))) if url else "no URL"
            if refusal is not None:
                sample.seeds.append(SeedHeld(seed, problem=f"out of scope: {refusal}"))
            elif len(sample.seeds) >= MAX_SEEDS or time.monotonic() > stops:
                sample.seeds.append(SeedHeld(seed, problem="not looked up: there are too many"))
            else:
                sample.seeds.append(await _held(seed, url, sources, choice, sample.sources))
                begin.append(url)
            told(sample)
        return begin

    async def _taken(self, seeds: Sequence[str], sources: SourcedCaptures, sample: Sample, told: Told) -> None:
        """Take captures from the seeds on, the best first, until there are enough."""
        order, met, queue = count(), set(seeds), list[tuple[float, int, Lease]]()
        left_out = set[str]()
        for url in seeds:
            lease = Lease(url, urls.queue_of(url), SEED_SCORE, 0, "page", "", 1, "")
            heapq.heappush(queue, (-SEED_SCORE, next(order), lease))
        while queue:
            if len(sample.captures) >= self._most or sample.looked_up >= self._most * _LOOKED_UP:
                sample.ended = "enough was looked up"
                return
            lease = heapq.heappop(queue)[2]
            found = await self._followed(lease, sources, sample)
            left_out.update(found.pages[place].url for place in found.refused.get(SourceRefusal.OFF_TOPIC, ()))
            for offer in found.offers:
                if offer.kind == "page" and offer.url not in met:
                    met.add(offer.url)
                    heapq.heappush(queue, (-offer.score, next(order), _lease(offer)))
            told(sample)
        sample.ended = "nothing is left to be looked up"
        seeds_best = max((each.score for each in sample.captures if not each.depth), default=1.0)
        if left_out - met and seeds_best < self._context.link_rules.follows_from:
            sample.ended = (
                f"no seed scored more than {seeds_best:.3f}, below {self._context.link_rules.follows_from:g}, from "
                f"which links are followed: nothing was followed; lower scoring.follow, or choose other seeds"
            )
        elif left_out := left_out - met:
            sample.ended = (
                f"nothing else is left to be looked up: {plural(len(left_out), 'link')} left out, of pages with a "
                f"score below {self._context.link_rules.follows_from:g}, from which links are followed "
                f"(scoring.follow); the best score of a page is {sample.best_score:.3f}"
            )

    async def _followed(self, lease: Lease, sources: SourcedCaptures, sample: Sample) -> DiscoveredLinks:
        """Take a capture of a URL into the sample; return where it leads."""
        sample.looked_up += 1
        taken = await sources.page(lease.url, (*sources.preferred, *sources.others))
        if taken is None:
            if sources.unavailable(lease.url) is None:
                sample.missing.append(lease.url)
            return NO_LINKS
        page, memento = taken
        found = await self._reading.analysed(lease, page)
        if found.metadata.score is not None and found.metadata.relevant is not None:
            sample.captures.append(self._described(lease, page, memento, found))
        return discover_links(lease, found.metadata, self._context.link_rules, wants_requisites=False)

    def _described(self, lease: Lease, page: Page, memento: Memento | None, found: PageAnalysis) -> SampledCapture:
        said, parts = found.metadata, self._parts(found)
        return SampledCapture(
            page.url,
            page.fetched_at.astimezone(UTC).isoformat(),
            "" if memento is None else memento.archive,
            said.title,
            said.language or "",
            lease.depth,
            lease.via,
            said.score or 0.0,
            None if parts is None else parts.topic,
            None if parts is None else parts.time,
            "" if parts is None or parts.date is None else parts.date.first.date().isoformat(),
        )

    def _parts(self, found: PageAnalysis) -> PageRelevance | None:
        if self._relevance is None or found.document is None:
            return None
        return self._relevance.relevance(found.document)


async def _held(
    seed: str, url: str, sources: SourcedCaptures, choice: SnapshotChoice, by_source: dict[str, SourceHeld]
) -> SeedHeld:
    """Return what all sources hold of a seed, and count what each does: they are asked at the same time."""
    moments: list[datetime] = []
    problems: list[str] = []
    asked = (*sources.preferred, *sources.others)
    answers = await asyncio.gather(*(source.moments(url) for source in asked), return_exceptions=True)
    for source, answer in zip(asked, answers, strict=True):
        held = by_source.setdefault(source.name, SourceHeld())
        if isinstance(answer, SourceError):
            held.failed += 1
            problems.append(str(answer))
        elif isinstance(answer, BaseException):
            raise answer
        else:
            held.seeds += bool(answer)
            held.captures += len(answer)
            moments += answer
    if not moments:
        return SeedHeld(seed, problem="; ".join(problems) or "no archive has it")
    first = choice.ordered(map(_Moment, moments))
    return SeedHeld(
        seed,
        len(moments),
        min(moments).isoformat(),
        max(moments).isoformat(),
        first[0].date.isoformat() if first else "",
        "; ".join(problems) if first else "none of its captures may be taken",
    )


@dataclass(frozen=True, slots=True)
class _Moment:
    date: datetime


def _lease(offer: Offer) -> Lease:
    return Lease(offer.url, offer.queue, offer.score, offer.depth, "page", offer.via, 1, "", offer.path)


def _thresholds(best: float) -> Sequence[float]:
    """Return the scores for which members are counted where the best capture has a score.

    >>> _thresholds(0.7) == THRESHOLDS, _thresholds(0.06)
    (True, [0.006, 0.012, 0.018, 0.024, 0.03, 0.036, 0.042, 0.048, 0.054, 0.06])
    """
    if not 0 < best < _LOW:
        return THRESHOLDS
    step = float(f"{best / 10:.0e}")
    return [float(f"{each * step:.6g}") for each in range(1, int(best / step + 1e-9) + 1)]


def _troubles(sources: SourcedCaptures) -> Mapping[str, int]:
    """Return what went wrong with archives, by archive and reason."""
    counts = sources.counts()
    return {name.partition(":")[2]: int(number) for name, number in counts.items() if name.startswith(f"{TROUBLE}:")}


def _rounded(score: float | None) -> float | None:
    return None if score is None else round(score, 6)
