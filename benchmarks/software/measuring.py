"""Measures one application: fills it, crawls it, changes it, crawls it again, and scores each crawl."""

import json
import os
import shutil
import sys
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import Final

from pydantic_core import to_jsonable_python

from aahcrawler.objects.capture_statements import ObjectRow, PageRow
from aahcrawler.objects.reader import object_rows, page_rows
from benchmarks.process_memory import Finished, run
from benchmarks.recorded import free_port
from benchmarks.redesigned_crawl import only
from benchmarks.results import Cell, Row
from benchmarks.sites import ICD, KNOWLEDGE_BASE, LIMITED, MAX_PAGES_UNKNOWN, MAX_SECONDS, NETWORK, BenchmarkError
from benchmarks.software.content import Content, Edit, Place, edited, write_edits
from benchmarks.software.front import Front, Redesign, Template, asked_of
from benchmarks.software.installation import Application
from benchmarks.software.scorer import (
    ComparedChanges,
    Described,
    Matching,
    ToldChange,
    TrueObjects,
    needed_pages,
    page_requests,
)
from benchmarks.software.writing import Size, Writer
from benchmarks.truth import Truth

_SETTINGS: Final = {"SCRAPY_SETTINGS_MODULE": "aahcrawler.crawl.scrapy.settings"}
_AAH: Final = (sys.executable, "-m", "aahcrawler.cli")
_ALL: Final = 1_000_000
DEFINITION: Final = "icd.yaml"


class Case(StrEnum):
    """What is measured."""

    UNKNOWN = "unknown"
    """A site of software that no file of the knowledge base describes."""
    TEMPLATE = "template"
    """The same site, crawled again after its template changed."""
    WITHOUT_MEMORY = "template-without-memory"
    """The site in its new template, never seen before."""
    EDITS = "edits"
    """The same site, crawled again after posts were edited, deleted and added."""
    KNOWN = "known"
    """A site of software that the knowledge base describes; such sites are built by scripts outside of the project."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Which cases are measured, with which redesigns, on how much content drawn from which seed.

    ``kept`` is a folder that receives the crawl of each case, and the mistakes in it.
    """

    cases: frozenset[Case]
    redesigns: Sequence[Redesign]
    size: Size
    seed: int
    kept: Path | None = None


@dataclass(frozen=True)
class Crawlable(ABC):
    """A site that can be served and crawled: its folder, the server in front of it, the application's port."""

    folder: Path
    front: Front
    backend: int

    @property
    def crawled(self) -> Path:
        """The folder of the crawl."""
        return self.folder / "crawl"

    @property
    @abstractmethod
    def name(self) -> str:
        """The name of its application."""

    @property
    @abstractmethod
    def seed(self) -> str:
        """The seed of the crawl."""

    @property
    @abstractmethod
    def true(self) -> TrueObjects:
        """The objects that the site shows."""

    @abstractmethod
    def serving(self) -> AbstractContextManager[None]:
        """Serve the site behind its front until the block ends."""


@dataclass(frozen=True)
class Site(Crawlable):
    """A filled application, its content, and the place of each post."""

    application: Application
    content: Content
    places: Mapping[str, Place]

    @property
    def home(self) -> Path:
        """The folder in which the application keeps its content."""
        return self.folder / "home"

    @property
    def name(self) -> str:
        """The name of the application."""
        return self.application.name

    @property
    def seed(self) -> str:
        """The URL of the front page."""
        return self.front.url

    def serving(self) -> AbstractContextManager[None]:
        """Serve the site behind its front until the block ends."""
        return self.application.serving(self.home, self.backend)

    @property
    def true(self) -> TrueObjects:
        """The objects that the site shows. A post that opens a thread has the thread's title."""
        return TrueObjects(
            Described(
                post.id,
                self.places[post.id].url,
                post.plain,
                thread.title if post is thread.posts[0] else None,
                post.author,
                post.date,
                self.places[post.id].hidden,
            )
            for thread, post in self.content.posts()
        )


@dataclass(frozen=True)
class Crawl:
    """One crawl of a site in its state then: the command's result, how many pages were requested, and its number."""

    site: Crawlable
    finished: Finished
    asked: int
    number: int

    @cached_property
    def pages(self) -> tuple[PageRow, ...]:
        """The pages that this crawl fetched."""
        return tuple(page_rows(self.site.crawled, self.number))

    def read(self) -> Matching:
        """Compare the objects that this crawl itself has read with those that the site shows."""
        captures = {name for page in self.pages for name in (page.capture, page.unchanged) if name}
        with tempfile.TemporaryDirectory(prefix="aah-software-") as name:
            return Matching.of(
                self.site.true, map(_described, object_rows(only(self.site.crawled, captures, Path(name))))
            )

    def known(self) -> Matching:
        """Compare the objects that the folder has now, of earlier crawls as well, with those that the site shows."""
        live = (row for row in object_rows(self.site.crawled) if row.deleted is None)
        return Matching.of(self.site.true, map(_described, live))

    def row(self, known: Matching) -> dict[str, Cell]:
        """Return what was found, field by field, and the cost."""
        found = ((page.url, page.media_type) for page in self.pages if page.is_page)
        pages = [url for url, media_type in found if media_type is None or "html" in media_type]
        return {
            **(self.read().scores() if self.number > 1 else known.scores()),
            **known.shares(),
            "requests_per_needed_page": round(self.asked / len(needed_pages(known.true.objects)), 2),
            "false_objects": known.false_objects(pages),
            "cpu_ms_per_page": round(1000 * self.finished.cpu_seconds / max(1, len(pages)), 1),
        }


def measure(application: Application, plan: Plan, folder: Path) -> Iterator[Row]:
    """Install and fill an application in ``folder``; yield a row for each case as it is measured.

    Raises ``InstallationError`` if the application is not available, ``BenchmarkError`` if a crawl fails.
    """
    application.install()
    with opened(application, plan, folder) as site:
        yield from _Measured(site, plan).rows()


@contextmanager
def opened(application: Application, plan: Plan, folder: Path) -> Iterator[Site]:
    """Fill an application, and run a server in front of it until the block ends."""
    backend = free_port()
    with Front(backend, folder / "requests.jsonl").running() as front:
        drawn = Writer(plan.seed).content(application.page_size, plan.size)
        content = replace(drawn, address=front.url)
        places = application.run("create", folder / "home", content.write(folder / "content.json"))
        yield Site(folder, front, backend, application, content, places)


class _Measured:
    """The cases of one site. Its first crawl is made once, and kept as the start of others."""

    def __init__(self, site: Site, plan: Plan) -> None:
        self._site, self._plan = site, plan
        self._cost: Cell = None

    def rows(self) -> Iterator[Row]:
        """Yield a row for each case."""
        cases = self._plan.cases
        if cases & {Case.UNKNOWN, Case.TEMPLATE, Case.EDITS}:
            row = self._first()
            if Case.UNKNOWN in cases:
                yield row
        for redesign in self._plan.redesigns:
            with self._redesigned(redesign):
                if Case.TEMPLATE in cases:
                    yield self._recrawled(Case.TEMPLATE, redesign, ())
                if Case.WITHOUT_MEMORY in cases:
                    yield self._fresh(Case.WITHOUT_MEMORY, redesign)
        if Case.EDITS in cases:
            edits = Writer(self._plan.seed + 1).edits(self._site.content, self._site.application.page_size)
            made = planted(self._site.content, edits)
            self._site = changed(self._site, edits)
            yield self._recrawled(Case.EDITS, None, made)

    @property
    def _former(self) -> Path:
        return self._site.folder / "first"

    @contextmanager
    def _redesigned(self, redesign: Redesign) -> Iterator[None]:
        texts = (post.plain for _, post in self._site.content.posts())
        self._site.front.template = Template(redesign, Truth(texts), self._plan.seed)
        try:
            yield
        finally:
            self._site.front.template = None

    def _first(self) -> Row:
        row = self._fresh(Case.UNKNOWN, None)
        shutil.copytree(self._site.crawled, self._former, symlinks=True)
        self._cost = row["cpu_ms_per_page"]
        return row

    def _fresh(self, case: Case, redesign: Redesign | None) -> Row:
        shutil.rmtree(self._site.crawled, ignore_errors=True)
        return self._row(case, redesign, crawl(self._site, 1), None)

    def _recrawled(self, case: Case, redesign: Redesign | None, made: Sequence[ToldChange]) -> Row:
        shutil.rmtree(self._site.crawled, ignore_errors=True)
        shutil.copytree(self._former, self._site.crawled, symlinks=True)
        done = crawl(self._site, 2)
        return self._row(case, redesign, done, ComparedChanges.of(made, told_changes(self._site.crawled)))

    def _row(self, case: Case, redesign: Redesign | None, done: Crawl, changes: ComparedChanges | None) -> Row:
        known = done.known()
        scored = done.row(known)
        if self._plan.kept is not None:
            name = "-".join(filter(None, (self._site.application.name, case, redesign)))
            keep(self._site.crawled, self._plan.kept / name, known, changes)
        cost = scored["cpu_ms_per_page"]
        head: dict[str, Cell] = {
            "app": self._site.application.name,
            "case": case,
            "change": redesign,
        }
        after: dict[str, Cell] = {
            "cost_ratio": round(float(cost) / float(self._cost), 2) if cost and self._cost else None,
            "false_changes": len(changes.false) if changes else None,
            "missed_changes": len(changes.missed) if changes else None,
            "failure": None,
        }
        return {**head, **scored, **after}


def keep(crawled: Path, target: Path, matching: Matching, changes: ComparedChanges | None) -> None:
    """Copy a crawl, and write the mistakes in it to ``mistakes.jsonl`` beside it, a line each."""
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(crawled, target / "crawl", symlinks=True)
    found: list[tuple[str, object]] = [("missing", each) for each in matching.missing]
    found += [("wrong", each) for each in matching.wrong] + [("copy", each) for each in matching.copies]
    found += [("field", pair) for pair in matching.differing]
    if changes is not None:
        found += [("false change", each) for each in changes.false]
        found += [("missed change", each) for each in changes.missed]
    lines = (json.dumps({"mistake": mistake, "of": to_jsonable_python(each)}) for mistake, each in found)
    (target / "mistakes.jsonl").write_text("".join(f"{line}\n" for line in lines), "utf-8")


def crawl(site: Crawlable, number: int, knowledge_base: str = "") -> Crawl:
    """Crawl a site from its seed with the shipped defaults, but without a delay, and with loopback allowed.

    ``knowledge_base`` names other folders than the shipped one.
    """
    site.front.log.write_text("", "utf-8")
    definition = site.folder / DEFINITION
    described = ICD.format(
        site=site.name,
        seed=site.seed,
        network=NETWORK,
        output=json.dumps(str(site.crawled)),
    )
    definition.write_text(described + LIMITED.format(pages=MAX_PAGES_UNKNOWN), "utf-8")
    command = [sys.executable, "-m", "scrapy", "crawl", "aah", "-a", f"icd={definition}"]
    environment = {**os.environ, **_SETTINGS}
    if knowledge_base:
        environment[KNOWLEDGE_BASE] = knowledge_base
    with site.serving():
        finished = run(command, environment, MAX_SECONDS)
    if finished.code:
        raise BenchmarkError(f"{site.name}: the crawl ended with {finished.code}:\n{finished.output[-4000:]}")
    return Crawl(site, finished, page_requests(each.path for each in asked_of(site.front.log)), number)


def changed(site: Site, edits: tuple[Edit, ...]) -> Site:
    """Change the content of a site by its own software; return the site in its new state."""
    places = site.application.run("edit", site.home, write_edits(edits, site.folder / "edits.json"))
    return replace(site, content=edited(site.content, edits), places=places)


def planted(before: Content, edits: Sequence[Edit]) -> list[ToldChange]:
    """Return the changes that a crawl should report, with the new text, or the last text of a deleted post."""
    texts = {post.id: post.plain for _, post in before.posts()}
    return [ToldChange(edit.kind, texts[edit.post.id] if edit.kind == "deleted" else edit.post.plain) for edit in edits]


def told_changes(crawled: Path) -> list[ToldChange]:
    """Return the changes that the shipped queries report for the second crawl."""
    bodies = {row.iri: row.body or "" for row in object_rows(crawled)}
    told = [ToldChange("edited", row["after"]) for row in _asked(crawled, "edited-posts")]
    told += [ToldChange("deleted", row["last"]) for row in _asked(crawled, "deleted-posts")]
    added = _asked(crawled, "added-posts", "--arg", "from=1", "--arg", "to=2")
    return told + [ToldChange("added", bodies[row["post"]]) for row in added if bodies.get(row["post"])]


def _asked(crawled: Path, query: str, *arguments: str) -> list[dict[str, str]]:
    command = [*_AAH, "query", str(crawled), "--ready", query, "--arg", f"limit={_ALL}", "--format", "json", *arguments]
    finished = run(command, os.environ, MAX_SECONDS)
    if finished.code:
        raise BenchmarkError(f"aah query --ready {query} ended with {finished.code}:\n{finished.output[-4000:]}")
    bound = json.loads(finished.output[finished.output.index("{") :])["results"]["bindings"]
    return [{name: value["value"] for name, value in row.items()} for row in bound]


def _described(row: ObjectRow) -> Described:
    return Described(row.iri, row.url, row.body or "", row.title, row.author, row.date)
