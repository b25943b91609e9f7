"""Crawl a dated world in one process, with the crawler's own frontier, reading, scoring and choice of captures.

Only network, politeness and the writing of an archive are left out, so that many crawls can be compared.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from time import process_time
from typing import Final

import yaml

from aahcrawler.frontier.memory.frontier import MemoryFrontier, QueueSlots
from aahcrawler.frontier.protocol import Offer, Rescore, State
from aahcrawler.helper import ApplicationAwareHelper, Assistance
from aahcrawler.helper.site_memory import Sites
from aahcrawler.page import Headers, Page
from aahcrawler.pipeline.analysis import AT_ONCE, ScoredPage, finish, rank, score, understand
from aahcrawler.sources.source import SnapshotChoice
from aahcrawler.urls import canonicalize, queue_of
from benchmarks.collections.dated_world import Capture, DatedWorld
from knowledge_base.model import KnowledgeBase
from offline.simulation.sample import frontier_settings
from online_analysis.aggregation import BudgetLeft
from online_analysis.analysers import analysers
from online_analysis.icd import Icd
from online_analysis.ranking import link_ranker
from online_analysis.topic import build_topic

ALONE: Final = {
    "relevance": 1,
    "text": 0,
    "url": 0,
    "spam": 0,
    "temporal": 0,
    "entities": 0,
    "social": 0,
    "application": 0,
    "ranker": 0,
}
"""Weights by which links wait by the relevance of the page that they stand on, and by nothing else."""


@dataclass(frozen=True, slots=True)
class Configuration:
    """How a crawl ranks links. ``relevance`` is that section of the definition, None for an unfocused crawl.

    ``alone``: links are ranked by relevance only. ``lead`` and ``cool_down``, in days, override those of the event;
    ``keywords`` says whether the definition has keywords.
    """

    name: str
    relevance: Mapping[str, object] | None
    alone: bool = True
    lead: int | None = None
    cool_down: int | None = None
    keywords: bool = True


UNFOCUSED: Final = Configuration("unfocused", None)
CONTENT: Final = Configuration("content", {"combination": "linear", "alpha": 1.0})
TEMPORAL: Final = Configuration("temporal", {"combination": "linear", "alpha": 0.0})
BOTH: Final = Configuration("both", {"combination": "linear", "alpha": 0.5})
OURS: Final = Configuration("ours", {}, alone=False)
KLEIN: Final = Configuration("second article", {"combination": "linear", "alpha": 0.5, "dates": "klein"})
FIXED_DAYS: Final = 30
EFFECTS: Final = (
    Configuration(
        "temporal, fixed decay", {"combination": "linear", "alpha": 0.0}, lead=FIXED_DAYS, cool_down=FIXED_DAYS
    ),
    Configuration("both, fixed decay", {"combination": "linear", "alpha": 0.5}, lead=FIXED_DAYS, cool_down=FIXED_DAYS),
    Configuration("content, no keywords", {"combination": "linear", "alpha": 1.0}, keywords=False),
    Configuration("both, no keywords", {"combination": "linear", "alpha": 0.5}, keywords=False),
)
"""What table 4 of the first article compares with."""


def definition(world: DatedWorld, configuration: Configuration, folder: Path, snapshot: str = "auto") -> Icd:
    """Write the definition of a crawl and its reference documents, and load it as a crawl does."""
    for number, text in enumerate(world.references):
        (folder / f"reference{number}.txt").write_text(text, "utf-8")
    event = world.event
    lead = event.lead if configuration.lead is None else configuration.lead
    cool_down = event.cool_down if configuration.cool_down is None else configuration.cool_down
    fields: dict[str, object] = {
        "id": "collection",
        "contact": "benchmark@example.org",
        "seeds": list(world.seeds),
        "scope": {"sites": "anywhere"},
        "captures": {"sources": [{"name": "archives", "archive": str(folder)}], "snapshot": snapshot},
        "event": {
            "start": event.begin.isoformat(),
            "end": event.end.isoformat(),
            "lead": f"{lead} days" if lead else 0,
            "cool_down": f"{cool_down} days" if cool_down else 0,
        },
    }
    if configuration.relevance is not None:
        topic: dict[str, object] = {"documents": [f"reference{n}.txt" for n in range(len(world.references))]}
        fields["topic"] = {**topic, "keywords": list(world.keywords)} if configuration.keywords else topic
        scoring: dict[str, object] = {"relevance": dict(configuration.relevance)}
        fields["scoring"] = {**scoring, "weights": dict(ALONE)} if configuration.alone else scoring
    path = folder / "collection.yaml"
    path.write_text(yaml.safe_dump(fields, allow_unicode=True), "utf-8")
    return Icd.load(path)


@dataclass(frozen=True, slots=True)
class Held:
    """A capture as the choice among several sees it."""

    capture: Capture

    @property
    def date(self) -> datetime:
        """When it was captured."""
        return self.capture.moment


Find = Callable[[str], Capture | None]
"""Returns what a crawl gets of a URL, None where there is nothing."""


def archived(world: DatedWorld, choice: SnapshotChoice, until: datetime | None = None) -> Find:
    """Return a function that finds the chosen capture of a URL in a world's archives, as they were at ``until``."""
    by_url: dict[str, list[Held]] = {}
    for each in world.captures:
        if each.response.status < 400 and (until is None or each.moment <= until):
            by_url.setdefault(canonicalize(each.url) or each.url, []).append(Held(each))

    def find(url: str) -> Capture | None:
        return next((each.capture for each in choice.ordered(by_url.get(url, ()))), None)

    return find


def live(world: DatedWorld, now: datetime) -> Find:
    """Return a function that gives the response of a world's sites at some time, None for errors."""

    def find(url: str) -> Capture | None:
        response = world.live(url, now)
        return None if response is None or response.status >= 400 else Capture("", url, now, response)

    return find


@dataclass(slots=True)
class Reading:
    """Reads pages as crawls do, each once for all crawls; ``seconds`` is the processor time for ``pages``."""

    helper: ApplicationAwareHelper = field(default_factory=lambda: ApplicationAwareHelper(KnowledgeBase(()), Sites()))
    seconds: float = 0.0
    pages: int = 0
    _known: dict[tuple[str, datetime, str], Assistance] = field(default_factory=dict)

    def __call__(self, capture: Capture) -> Assistance:
        """Return what is understood of a capture."""
        key = (capture.url, capture.moment, capture.archive)
        if key not in self._known:
            began = process_time()
            self._known[key] = understand(page_of(capture), self.helper, lambda url: url)
            self.seconds += process_time() - began
            self.pages += 1
        return self._known[key]


def page_of(capture: Capture) -> Page:
    """Return a capture as a page, dated as the archive has it; one without an archive is of the live web."""
    url = canonicalize(capture.url) or capture.url
    headers = Headers((("Content-Type", "text/html"),))
    body = capture.response.body
    return Page(
        url, capture.response.status, headers, body, capture.moment.astimezone(UTC), memento=bool(capture.archive)
    )


@dataclass(frozen=True, slots=True)
class Fetched:
    """A page that a crawl obtained: its score, its depth, and its true relevance."""

    url: str
    score: float
    depth: int
    relevance: float
    archive: str


@dataclass(slots=True)
class Course:
    """The pages that a crawl obtained, in order, the URLs it looked up, and those that were missing."""

    fetched: list[Fetched] = field(default_factory=list)
    looked_up: int = 0
    missing: list[str] = field(default_factory=list)
    considered: int = 0


def crawl(icd: Icd, find: Find, read: Callable[[Capture], Assistance], budget: int) -> Course:
    """Crawl until so many pages were got, or nothing is left."""
    course, seen = Course(), set[str]()
    topic = build_topic(icd, {})
    judges, weights = analysers(icd, topic), icd.scoring.weights
    is_focused = icd.scoring.relevance is not None
    ranker = link_ranker(icd.scoring) if is_focused else None
    frontier = MemoryFrontier(QueueSlots(lambda: 0.0), "collections", frontier_settings(icd))

    def offer(url: str, worth: float, depth: int) -> Offer:
        seen.add(url)
        return Offer(url, queue_of(url), worth, depth)

    frontier.offer([offer(canonicalize(seed) or seed, 1.0, 0) for seed in icd.seeds])
    while len(course.fetched) < budget and (leases := frontier.lease("benchmark", 1)):
        (lease,) = leases
        course.looked_up += 1
        capture = find(lease.url)
        if capture is None:
            course.missing.append(lease.url)
            frontier.finish(lease, State.FAILED)
            continue
        if capture.response.location:
            frontier.finish(
                lease, State.DONE, links=[offer(canonicalize(capture.response.location) or "", 0.5, lease.depth)]
            )
            continue
        page = score(read(capture), judges, weights)
        if ranker is not None:
            left = BudgetLeft(max(0.0, 1.0 - len(course.fetched) / budget))
            page = rank(page, weights, ranker, lease.depth, left)
        course.fetched.append(Fetched(lease.url, page.score, lease.depth, capture.response.relevance, capture.archive))
        frontier.finish(lease, State.DONE, links=_links(page, icd, offer, lease.depth + 1, is_focused=is_focused))
        if ranker is not None:
            finish(ranker, lease.url)
            frontier.rescore([Rescore(each.url, each.score) for each in ranker.revised(AT_ONCE)])
    course.considered = len(seen)
    return course


def _links(
    page: ScoredPage, icd: Icd, offer: Callable[[str, float, int], Offer], depth: int, *, is_focused: bool
) -> Sequence[Offer]:
    """Return the links of a page as offers; an unfocused crawl takes them in the order of discovery."""
    if is_focused and page.score < icd.scoring.follow:
        return ()
    return [offer(link.url, link.score if is_focused else 0.5, depth) for link in page.links]


def choice_of(icd: Icd, world: DatedWorld) -> SnapshotChoice:
    """Return the choice of captures of a definition, for a crawl that begins after everything was captured."""
    return SnapshotChoice.of(icd, max(each.moment for each in world.captures) + timedelta(days=1))


def scored(
    icd: Icd, captures: Sequence[Capture], read: Callable[[Capture], Assistance]
) -> Sequence[tuple[float, float]]:
    """Return the score of each capture beside its relevance in truth."""
    judges, weights = analysers(icd, build_topic(icd, {})), icd.scoring.weights
    return [(score(read(each), judges, weights).score, each.response.relevance) for each in captures]


def captures_of(world: DatedWorld, find: Find) -> Sequence[Capture]:
    """Return the capture found for each URL in the archives, without redirects."""
    urls = dict.fromkeys(canonicalize(each.url) or each.url for each in world.captures)
    found = (find(url) for url in urls)
    return [each for each in found if each is not None and not each.response.location]
