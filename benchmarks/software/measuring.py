"""Measures one application: fills it, crawls it, changes it, crawls it again, and scores each crawl."""

import json
import os
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Final

from aahcrawler.objects.reader import ObjectRow, object_rows, page_rows
from benchmarks.process_memory import Finished, run
from benchmarks.recorded import free_port
from benchmarks.results import Cell, Row
from benchmarks.sites import ICD, LIMITED, LONGEST, MOST_PAGES_UNKNOWN, BenchmarkError
from benchmarks.software.content import Content, Edit, edited, write_edits
from benchmarks.software.front import Front
from benchmarks.software.installation import Application
from benchmarks.software.scorer import (
    Described,
    Matching,
    ToldChange,
    TrueObjects,
    compared_changes,
    needed_pages,
    page_requests,
)
from benchmarks.software.template import Redesign, Template
from benchmarks.software.writing import Size, Writer
from benchmarks.truth import Truth

_SETTINGS: Final = {"SCRAPY_SETTINGS_MODULE": "aahcrawler.crawl.scrapy.settings"}
_AAH: Final = (sys.executable, "-m", "aahcrawler.cli")
_ALL: Final = 1_000_000


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


@dataclass(frozen=True, slots=True)
class Plan:
    """Which cases are measured, with which redesigns, on how much content drawn from which seed."""

    cases: frozenset[Case]
    redesigns: Sequence[Redesign]
    size: Size
    seed: int


@dataclass(frozen=True, slots=True)
class Site:
    """An application filled in ``folder``, the server before it, what it holds, and the page of each post."""

    application: Application
    folder: Path
    front: Front
    backend: int
    content: Content
    places: Mapping[str, str]

    @property
    def home(self) -> Path:
        """The folder in which the application keeps its content."""
        return self.folder / "home"

    @property
    def crawled(self) -> Path:
        """The folder of the crawl."""
        return self.folder / "crawl"

    @property
    def true(self) -> TrueObjects:
        """What the site shows. Posts that open a thread have its title."""
        return TrueObjects(
            Described(
                post.id,
                self.places[post.id],
                post.plain,
                thread.title if post is thread.posts[0] else None,
                post.author,
                post.date,
            )
            for thread, post in self.content.posts()
        )


@dataclass(frozen=True, slots=True)
class Crawl:
    """One crawl of a site as it was then: what the command used, how many pages it asked for, and what is known now."""

    site: Site
    finished: Finished
    asked: int
    number: int

    def row(self) -> dict[str, Cell]:
        """Return what was found, field by field, and at what cost."""
        true = self.site.true
        matching = Matching.of(true, map(_described, _live(self.site.crawled)))
        pages = [
            page.url for page in page_rows(self.site.crawled, self.number) if page.is_page and _is_html(page.media_type)
        ]
        return {
            **matching.scores(),
            "requests_per_needed_page": round(self.asked / len(needed_pages(true.objects)), 2),
            "false_objects": matching.false_objects(pages),
            "cpu_ms_per_page": round(1000 * self.finished.cpu_seconds / max(1, len(pages)), 1),
        }


def measure(application: Application, plan: Plan, folder: Path) -> Iterator[Row]:
    """Install and fill an application in ``folder`` and yield a row for each case as it is measured.

    Raises ``InstallationError`` where the application cannot be had, ``BenchmarkError`` where a crawl fails.
    """
    application.install()
    with opened(application, plan, folder) as site:
        yield from _Measured(site, plan).rows()


@contextmanager
def opened(application: Application, plan: Plan, folder: Path) -> Iterator[Site]:
    """Fill an application and stand a server before it until the block ends."""
    content = Writer(plan.seed).content(application.page_size, plan.size)
    places = application.run("create", folder / "home", content.write(folder / "content.json"))
    backend = free_port()
    with Front(backend, folder / "requests.jsonl").running() as front:
        yield Site(application, folder, front, backend, content, places)


class _Measured:
    """The cases of one site. The first crawl is made once, and kept to go on from."""

    def __init__(self, site: Site, plan: Plan) -> None:
        self._site, self._plan = site, plan
        self._cost: Cell = None

    def rows(self) -> Iterator[Row]:
        cases = self._plan.cases
        if cases - {Case.WITHOUT_MEMORY}:
            first = self._crawl(fresh=True, number=1)
            shutil.copytree(self._site.crawled, self._kept, symlinks=True)
            row = first.row()
            self._cost = row["cpu_ms_per_page"]
            if Case.UNKNOWN in cases:
                yield self._row(Case.UNKNOWN, None, row, {})
        for redesign in self._plan.redesigns:
            with self._redesigned(redesign):
                if Case.TEMPLATE in cases:
                    yield self._recrawled(Case.TEMPLATE, redesign, ())
                if Case.WITHOUT_MEMORY in cases:
                    yield self._row(Case.WITHOUT_MEMORY, redesign, self._crawl(fresh=True, number=1).row(), {})
        if Case.EDITS in cases:
            edits = Writer(self._plan.seed + 1).edits(self._site.content, self._site.application.page_size)
            before, self._site = self._site, changed(self._site, edits)
            yield self._recrawled(Case.EDITS, None, planted(before.content, edits))

    @property
    def _kept(self) -> Path:
        return self._site.folder / "first"

    @contextmanager
    def _redesigned(self, redesign: Redesign) -> Iterator[None]:
        texts = ((post.plain, thread.title) for thread, post in self._site.content.posts())
        self._site.front.template = Template(redesign, Truth(texts), self._plan.seed)
        try:
            yield
        finally:
            self._site.front.template = None

    def _recrawled(self, case: Case, redesign: Redesign | None, made: Sequence[ToldChange]) -> Row:
        shutil.rmtree(self._site.crawled, ignore_errors=True)
        shutil.copytree(self._kept, self._site.crawled, symlinks=True)
        crawl = self._crawl(fresh=False, number=2)
        return self._row(case, redesign, crawl.row(), compared_changes(made, told_changes(self._site.crawled)))

    def _crawl(self, *, fresh: bool, number: int) -> Crawl:
        if fresh:
            shutil.rmtree(self._site.crawled, ignore_errors=True)
        return crawl(self._site, number)

    def _row(
        self, case: Case, redesign: Redesign | None, scored: Mapping[str, Cell], changes: Mapping[str, Cell]
    ) -> Row:
        told = {"false_changes": None, "missed_changes": None, **changes}
        cost = scored["cpu_ms_per_page"]
        ratio = round(float(cost) / float(self._cost), 2) if cost and self._cost else None
        head: dict[str, Cell] = {
            "app": self._site.application.name,
            "case": case,
            "change": redesign,
            "held_out": self._site.application.held_out,
        }
        return {**head, **scored, "cost_ratio": ratio, **told, "failure": None}


def crawl(site: Site, number: int) -> Crawl:
    """Crawl a site from its front page with the shipped defaults, but without a delay, and with loopback allowed."""
    site.front.log.write_text("", "utf-8")
    definition = site.folder / "icd.yaml"
    described = ICD.format(site=site.application.name, seed=site.front.url, output=json.dumps(str(site.crawled)))
    definition.write_text(described + LIMITED.format(pages=MOST_PAGES_UNKNOWN), "utf-8")
    command = [sys.executable, "-m", "scrapy", "crawl", "aah", "-a", f"icd={definition}"]
    with site.application.serving(site.home, site.backend):
        finished = run(command, {**os.environ, **_SETTINGS}, LONGEST)
    if finished.code:
        raise BenchmarkError(
            f"{site.application.name}: the crawl ended with {finished.code}:\n{finished.output[-4000:]}"
        )
    asked = [json.loads(line)["url"] for line in site.front.log.read_text("utf-8").splitlines()]
    return Crawl(site, finished, page_requests(asked), number)


def changed(site: Site, edits: tuple[Edit, ...]) -> Site:
    """Change what a site holds by its own software; return it as it is then."""
    places = site.application.run("edit", site.home, write_edits(edits, site.folder / "edits.json"))
    return replace(site, content=edited(site.content, edits), places=places)


def planted(before: Content, edits: Sequence[Edit]) -> list[ToldChange]:
    """Return the changes that a crawl is to tell, each with its new text, a deletion with the last one."""
    texts = {post.id: post.plain for _, post in before.posts()}
    return [ToldChange(edit.kind, texts[edit.post.id] if edit.kind == "deleted" else edit.post.plain) for edit in edits]


def told_changes(crawled: Path) -> list[ToldChange]:
    """Return what was edited and deleted, and what the second crawl saw first, as the ready-made queries tell it."""
    bodies = {row.iri: row.body or "" for row in object_rows(crawled)}
    told = [ToldChange("edited", row["after"]) for row in _asked(crawled, "edited-posts")]
    told += [ToldChange("deleted", row["last"]) for row in _asked(crawled, "deleted-posts")]
    added = _asked(crawled, "added-posts", "--arg", "from=1", "--arg", "to=2")
    return told + [ToldChange("added", bodies[row["post"]]) for row in added if bodies.get(row["post"])]


def _asked(crawled: Path, query: str, *arguments: str) -> list[dict[str, str]]:
    command = [*_AAH, "query", str(crawled), "--ready", query, "--arg", f"limit={_ALL}", "--format", "json", *arguments]
    finished = run(command, os.environ, LONGEST)
    if finished.code:
        raise BenchmarkError(f"aah query --ready {query} ended with {finished.code}:\n{finished.output[-4000:]}")
    bound = json.loads(finished.output[finished.output.index("{") :])["results"]["bindings"]
    return [{name: value["value"] for name, value in row.items()} for row in bound]


def _live(crawled: Path) -> Iterator[ObjectRow]:
    return (row for row in object_rows(crawled) if row.deleted is None)


def _described(row: ObjectRow) -> Described:
    return Described(row.iri, row.url, row.body or "", row.title, row.author, row.date)


def _is_html(media_type: str | None) -> bool:
    return media_type is None or "html" in media_type
