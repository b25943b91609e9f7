"""The benchmark of adaptation in seconds: recorded pages are read in-process and scored like a crawl's."""

import json
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from functools import cached_property
from pathlib import Path

from aahcrawler.adaptation.adapter import Adaptation, strategies
from aahcrawler.adaptation.detection.sign_learning import SignLearning
from aahcrawler.adaptation.learned import LearnedAction
from aahcrawler.editor.pages.saved_pages import as_text
from aahcrawler.helper import ApplicationAwareHelper, Assistance
from aahcrawler.helper.adaptation_protocol import Question
from aahcrawler.helper.extraction.extraction import ExtractionOutcome, Runner
from aahcrawler.metadata import Link, LinkType, Metadata
from aahcrawler.objects.capture_statements import ObjectRow
from aahcrawler.page import Page
from aahcrawler.webobject import Reference, WebObject
from aahcrawler.wrapper_induction.induce import induce
from benchmarks.recorded import RecordedSite, fresh, score, site_pages
from benchmarks.results import Cell
from benchmarks.trimming import TrimmingError, trim
from benchmarks.truth import false_changes, wrong_values
from knowledge_base.file_selection import SHIPPED
from knowledge_base.loader import load
from knowledge_base.model import Application, KnowledgeBase
from knowledge_base.url_rules import ParsedUrl

Assist = Callable[[Page], Assistance]
"""A reader of pages: the helper's ``assist``, with the metadata of former crawls filled in."""


@dataclass(frozen=True, slots=True)
class Seen:
    """A page that was read: the helper's result, and the processor seconds of parsing and reading it."""

    url: str
    assistance: Assistance
    seconds: float


@dataclass
class Reading:
    """The pages of a site as they were read."""

    seen: list[Seen] = field(default_factory=list)

    @property
    def objects(self) -> list[WebObject]:
        """Each object once, as the last page that showed it has it."""
        return list({each.iri: each for seen in self.seen for each in seen.assistance.objects}.values())

    def write(self, folder: Path) -> tuple[Path, Path]:
        """Write objects and pages as ``aah objects`` and ``aah pages`` would; return both files."""
        objects, pages = folder / "objects.jsonl", folder / "pages.jsonl"
        objects.write_text(_lines(asdict(row_of(each)) for each in self.objects), "utf-8")
        levels = ((seen.url, seen.assistance.match) for seen in self.seen)
        rows = ({"url": url, "level": match.level.role if match and match.level else None} for url, match in levels)
        pages.write_text(_lines(rows), "utf-8")
        return objects, pages


def wanted(pages: Iterable[Page], application: Application) -> Iterator[Page]:
    """Yield the pages that a crawl of the application would fetch: none that it avoids, each URL once.

    Of several forms of a URL, the canonical one counts if it was recorded, else the first.
    """
    pages = tuple(pages)
    recorded = {page.url for page in pages}
    seen: set[str] = set()
    for page in pages:
        canonical = application.canonical(ParsedUrl.parse(page.url))
        if application.refusal(canonical) is not None or canonical.url in seen:
            continue
        if page.url == canonical.url or canonical.url not in recorded:
            seen.add(canonical.url)
            yield page


def read(pages: Iterable[Page], assist: Assist) -> Reading:
    """Read pages in order."""
    reading = Reading()
    for page in pages:
        unread = fresh(page)
        started = time.process_time()
        assistance = assist(unread)
        reading.seen.append(Seen(page.url, assistance, time.process_time() - started))
    return reading


def application_of(pages: Iterable[Page], helper: ApplicationAwareHelper) -> Application | None:
    """Return the first application that any of the pages is recognised as."""
    matches = (helper.assist(fresh(page)).match for page in pages)
    return next((match.application for match in matches if match is not None), None)


def understood(assistance: Assistance) -> Metadata:
    """Return the metadata that a crawl stores of a page for the next crawl."""
    match, document = assistance.match, assistance.document
    level = match.level if match is not None else None
    return Metadata(
        application=match.application.name if match is not None else None,
        level=level.name if level is not None else None,
        role=level.role if level is not None else None,
        variant=match.variant if match is not None else "",
        language=document.language,
        title=document.title,
        links=tuple(Link(each.url, LinkType.PAGE, each.anchor, None, each.action) for each in document.outlinks),
        objects=assistance.objects,
        failures=tuple(each.action for each in assistance.failed_actions),
    )


def row_of(web_object: WebObject) -> ObjectRow:
    """Return an object in the form of a crawl's tables."""
    url = web_object.first("url")
    return ObjectRow(
        url=url.url if isinstance(url, Reference) else web_object.source_url,
        type=web_object.type,
        title=as_text(web_object.first("title")),
        author=as_text(web_object.first("author")),
        date=as_text(web_object.first("date")),
        body=as_text(web_object.first("body")),
        part_of=web_object.part_of,
        iri=web_object.iri,
    )


def _lines(rows: Iterable[object]) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


Former = Mapping[str, Metadata]
"""The metadata of an earlier crawl, by canonical URL."""

FIRST_PAGES = 10
"""The number of pages that are read before measuring."""

SCORES = ("recall", "precision", "title", "author", "date", "false_objects")


@dataclass
class Known:
    """A site that the knowledge base describes, and the knowledge base trimmed to it.

    ``folder`` is where the trimmed knowledge base is written, ``source`` where the whole one is.
    """

    site: RecordedSite
    folder: Path
    source: Path = SHIPPED
    _undamaged: dict[str, float | None] = field(default_factory=dict)

    @cached_property
    def pages(self) -> tuple[Page, ...]:
        """The recorded pages, unparsed."""
        return tuple(site_pages(self.site))

    @cached_property
    def application(self) -> Application:
        """The application of the site, as the whole knowledge base describes it."""
        found = application_of(self.pages, ApplicationAwareHelper(load(self.source)))
        if found is None:
            raise TrimmingError(f"{self.site.name}: no application is recognised, so nothing can be trimmed to it")
        return found

    @cached_property
    def trimmed(self) -> KnowledgeBase:
        """The part of the knowledge base that the site uses."""
        trim(self.pages, self.folder, self.source, (self.application.name,))
        return load(self.folder)

    @cached_property
    def former(self) -> Former:
        """The metadata of the site's pages from a crawl with the trimmed knowledge base."""
        reading = read(wanted(self.pages, self.application), ApplicationAwareHelper(self.trimmed).assist)
        return {self.address(seen.url): understood(seen.assistance) for seen in reading.seen}

    def address(self, url: str) -> str:
        """Return the canonical form of a URL of the site."""
        return self.application.canonical(ParsedUrl.parse(url)).url

    def undamaged(self, site: RecordedSite) -> float | None:
        """Return the milliseconds that a page of a site takes with the whole knowledge base; measured once."""
        if site.name not in self._undamaged:
            whole = ApplicationAwareHelper(load(self.source))
            pages = tuple(wanted(site_pages(site), self.application))
            # What is loaded once, such as the model of languages, is no cost of a page.
            read(pages[:FIRST_PAGES], whole.assist)
            reading = read(pages, whole.assist)
            self._undamaged[site.name] = milliseconds([seen.seconds for seen in reading.seen])
        return self._undamaged[site.name]


def scores(site: RecordedSite, reading: Reading) -> dict[str, Cell]:
    """Return the scorer's results for the objects read on a site's pages."""
    with tempfile.TemporaryDirectory(prefix="aah-adaptation-") as name:
        objects, pages = reading.write(Path(name))
        scored = score(site, objects, pages=pages)
    return {name: scored[name] for name in SCORES}


class Method(StrEnum):
    """Ways to read a site in a new theme."""

    NONE = "none"
    """With the trimmed knowledge base and nothing else."""
    REPAIR = "repair"
    """With the trimmed knowledge base and adaptation."""


Action = tuple[str, str]
"""The names of a level and of an action of it."""


class Watched(Adaptation):
    """Adaptation that counts for each action the pages on which it failed since it was last repaired."""

    def __init__(self, knowledge_base: KnowledgeBase, told: Callable[[LearnedAction], None]) -> None:
        super().__init__(strategies(knowledge_base), induce, told, SignLearning(knowledge_base))
        self.failing: Counter[Action] = Counter()

    def check_outcome(self, question: Question, outcome: ExtractionOutcome, runner: Runner) -> ExtractionOutcome:
        """Count a page on which an action failed: the settled outcome is a failure, or has other objects."""
        key = (question.level.name, question.action.name)
        before = self.failing[key]
        self.failing[key] += 1
        settled = super().check_outcome(question, outcome, runner)
        if self.failing[key] and settled.failure is None and settled.extracted == outcome.extracted:
            self.failing[key] = before
        return settled


@dataclass
class Repairs:
    """The repairs of one site: the learned actions, and the number, from 0, of the page on which each was learned.

    ``taken`` has for each learned action the number of pages on which it had failed, up to the one on which it was
    learned.
    """

    knowledge_base: KnowledgeBase
    pages: int = 0
    learned: list[tuple[int, LearnedAction]] = field(default_factory=list)
    taken: list[int] = field(default_factory=list)

    @cached_property
    def adapter(self) -> Watched:
        """The adapter of the helper."""
        return Watched(self.knowledge_base, self._note)

    @cached_property
    def helper(self) -> ApplicationAwareHelper:
        """A helper that adapts."""
        return ApplicationAwareHelper(self.knowledge_base, adapter=self.adapter)

    def _note(self, learned: LearnedAction) -> None:
        self.learned.append((self.pages, learned))
        self.taken.append(self.adapter.failing.pop((learned.level, learned.action), 0))

    def assist(self, page: Page, former: Metadata | None) -> Assistance:
        """Read the next page."""
        assistance = self.helper.assist(page, former)
        self.pages += 1
        return assistance

    def first(self) -> Mapping[str, int]:
        """Return for each level the number of the page on which the last of its actions was learned first."""
        actions: dict[tuple[str, str], int] = {}
        for page, learned in self.learned:
            actions.setdefault((learned.level, learned.action), page)
        levels: dict[str, int] = {}
        for (level, _), page in actions.items():
            levels[level] = max(page, levels.get(level, 0))
        return levels


def measure(known: Known, site: RecordedSite, method: Method, memory: bool = False) -> dict[str, Cell]:
    """Read a site with the trimmed knowledge base; return scores, pages until repair, and costs."""
    reading, repairs = attempt(known, site, method, memory)
    taken = max(repairs.taken, default=None)
    measured = {**scores(site, reading), **wrong_values(site, reading.objects), "pages_to_repair": taken}
    if memory and method is Method.REPAIR:
        measured["false_changes"] = false_changes(_before_and_after(known, reading))
    return {**measured, **costs(reading, repairs.first())}


def _before_and_after(known: Known, reading: Reading) -> Iterator[tuple[Sequence[WebObject], Sequence[WebObject]]]:
    for seen in reading.seen:
        before = known.former.get(known.address(seen.url))
        if before is not None:
            yield before.objects, seen.assistance.objects


def attempt(known: Known, site: RecordedSite, method: Method, memory: bool = False) -> tuple[Reading, Repairs]:
    """Read a site with the trimmed knowledge base; return the reading and its repairs."""
    repairs = Repairs(known.trimmed)
    plain = ApplicationAwareHelper(known.trimmed)
    former = known.former if memory and method is Method.REPAIR else {}

    def assist(page: Page) -> Assistance:
        if method is Method.NONE:
            return plain.assist(page)
        return repairs.assist(page, former.get(known.address(page.url)))

    return read(wanted(site_pages(site), known.application), assist), repairs


def costs(reading: Reading, repaired: Mapping[str, int]) -> dict[str, Cell]:
    """Return the cost of pages: ``repaired`` has, by level, the page on which all its actions were first learned.

    The pages of these levels up to there are those of learning; all others are those after it, or without need of it.
    """
    learning: list[float] = []
    after: list[float] = []
    for number, seen in enumerate(reading.seen):
        match = seen.assistance.match
        level = match.level.name if match is not None and match.level is not None else ""
        (learning if number <= repaired.get(level, -1) else after).append(seen.seconds)
    return {"ms_per_page_learning": milliseconds(learning), "ms_per_page_after": milliseconds(after)}


def milliseconds(seconds: Sequence[float]) -> float | None:
    """Return the mean, None of nothing.

    >>> milliseconds([0.001, 0.002])
    1.5
    """
    return round(1000 * sum(seconds) / len(seconds), 3) if seconds else None
