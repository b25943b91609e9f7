"""Runs other libraries on the same task: trained on the known theme with the results of the knowledge base there.

Scrapling saves, in adaptive mode, the elements that the knowledge base's own expressions find for body, author and date
on known pages, and looks for them on the new pages by similarity where the expressions find nothing; with
``scrapling-similar``, elements like the one it finds count as well. AutoScraper learns from the texts that stand in
these elements. Both are asked on every page, since neither knows of page levels, and get the same pages to learn from:
of each action those with the most objects. They run in an environment of their own below ``.cache``, made on first use,
unless the interpreter at hand has them (``pip install -e .[peers]``).
"""

import importlib.util
import json
import subprocess
import sys
import tempfile
import venv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from lxml.html import HtmlElement

from aahcrawler.helper.extraction.field_reader import as_date
from aahcrawler.page import Headers, Page
from benchmarks import peer_runner
from benchmarks.quick import SCORES, Known, wanted
from benchmarks.recorded import FETCHED_AT, PROJECT, RecordedSite, fresh, score, site_pages
from benchmarks.results import Cell
from benchmarks.usage import nodes
from knowledge_base.model import DateFormat, Extract
from knowledge_base.selectors import Node, Selector, compile_selector

PINNED = ("scrapling==0.5", "autoscraper==1.1.14", "beautifulsoup4==4.12.3")
ENVIRONMENT = PROJECT / ".cache" / "peers"
FIELDS = ("body", "author", "date")
MAX_PAGES = 5
"""The most pages from which each action is learned."""

_NO_STEPS = ("(", "/", "concat", "substring", "normalize", "translate")


class Peer(StrEnum):
    """Another library, in one of its modes."""

    SCRAPLING = "scrapling"
    SCRAPLING_SIMILAR = "scrapling-similar"
    AUTOSCRAPER = "autoscraper"


class PeerError(Exception):
    """A library could not be run; the message says why."""


def interpreter() -> Path:
    """Return an interpreter that has the libraries; an environment is made if needed."""
    if all(importlib.util.find_spec(name) for name in ("scrapling", "autoscraper")):
        return Path(sys.executable)
    return _made(ENVIRONMENT, PINNED)


def interpreter_with(name: str, pinned: Sequence[str]) -> Path:
    """Return the interpreter of an environment of this name, which is made on first use."""
    return _made(ENVIRONMENT / name, pinned)


def _made(environment: Path, pinned: Sequence[str]) -> Path:
    python = environment / "bin" / "python"
    if not (environment / "made").is_file():
        venv.create(environment, with_pip=True, clear=not any(environment.glob("*/made")))
        subprocess.run([python, "-I", "-m", "pip", "install", "-q", *pinned], check=True)
        (environment / "made").touch()
    return python


def measure(peer: Peer, known: Known, site: RecordedSite) -> dict[str, Cell]:
    """Train a library on the known theme and apply it to all pages of a site that a crawl would want."""
    lessons = tuple(_lessons(known))
    pages = [page for page in wanted(site_pages(site), known.application) if page.is_html]
    with tempfile.TemporaryDirectory(prefix="aah-peers-") as name:
        folder = Path(name)
        objects, levels = folder / "objects.jsonl", folder / "pages.jsonl"
        *found, cost = _found(peer, lessons, pages, folder)
        objects.write_text(_lines([{**row, "date": _moment(row["date"], lessons)} for row in found]), "utf-8")
        levels.write_text(_lines([{"url": page.url, "level": None} for page in pages]), "utf-8")
        scored = score(site, objects, pages=levels)
    after = round(1000 * float(str(cost["seconds"])) / len(pages), 3) if pages else None
    return {**{name: scored[name] for name in SCORES}, "ms_per_page_after": after}


def _found(peer: Peer, lessons: Sequence["Lesson"], pages: Sequence[Page], folder: Path) -> list[dict[str, str | None]]:
    """Run a library; return its objects, with their cost as the last element."""
    work, target = folder / "work.json", folder / "found.jsonl"
    task = {
        "actions": [lesson.work(folder / f"lesson-{number}") for number, lesson in enumerate(lessons)],
        "apply": [_written(page, folder / f"{number}.html") for number, page in enumerate(pages)],
    }
    work.write_text(json.dumps(task), "utf-8")
    command = [str(interpreter()), "-I", peer_runner.__file__, peer.value, str(work), str(target)]
    finished = subprocess.run(command, capture_output=True, text=True, check=False)
    if finished.returncode:
        raise PeerError(f"{peer} failed:\n{finished.stderr[-2000:]}")
    return [json.loads(line) for line in target.read_text("utf-8").splitlines()]


@dataclass(frozen=True, slots=True)
class Lesson:
    """One extraction action of the trimmed knowledge base, and known pages on which it finds the most objects."""

    action: Extract
    pages: tuple[Page, ...]

    def selectors(self, name: str) -> Iterator[Selector]:
        """Yield the selectors of a field on a page as a whole, the best first; not all expressions can be combined."""
        for item in self.action.items:
            for field in self.action.fields:
                for step in field.selectors if field.name == name and not field.page else ():
                    if not step.source.lstrip().startswith(_NO_STEPS) and "|" not in step.source:
                        whole = compile_selector(
                            xpath=f"({item.source})/{step.source.strip()}", attribute=step.attribute
                        )
                        if any(nodes(whole, page.tree) for page in self.pages):
                            yield whole

    def values(self, name: str, page: Page) -> list[str]:
        """Return the texts of a field on a page, unchanged."""
        found = (nodes(selector, page.tree) for selector in self.selectors(name))
        return [text for node in next(filter(None, found), []) if (text := _text(node))]

    def work(self, folder: Path) -> dict[str, object]:
        """Return the runner's input for learning; pages are written to a folder."""
        folder.mkdir()
        pages = [
            {**_written(page, folder / f"{number}.html"), "values": {name: self.values(name, page) for name in FIELDS}}
            for number, page in enumerate(self.pages)
        ]
        expressions = {name: [selector.source for selector in self.selectors(name)] for name in FIELDS}
        return {"name": self.action.name, "fields": expressions, "pages": pages}


def _lessons(known: Known) -> Iterator[Lesson]:
    """Yield the actions of all levels with content, each with the pages to learn from."""
    application = known.trimmed.application(known.application.name)
    for level in application.levels:
        urls = {url for url, understood in known.former.items() if understood.level == level.name}
        pages = [fresh(page) for page in known.pages if page.is_html and known.address(page.url) in urls]
        for action in level.actions:
            if isinstance(action, Extract) and action.run is None:
                counted = [(sum(len(nodes(item, page.tree)) for item in action.items), page) for page in pages]
                best = sorted((each for each in counted if each[0]), key=lambda each: -each[0])[:MAX_PAGES]
                if best:
                    yield Lesson(action, tuple(page for _, page in best))


_UNDATED = Page("https://example.org/", 200, Headers(), b"", FETCHED_AT)
"""A page without any date but that of its fetch."""


def _moment(text: str | None, lessons: Sequence[Lesson]) -> str | None:
    """Read a date as the knowledge base does."""
    forms = [field.date for lesson in lessons for field in lesson.action.fields if field.name == "date"]
    moments = (as_date(text, form, _UNDATED) for form in (*forms, DateFormat())) if text else iter(())
    return next((moment.isoformat() for moment in moments if moment is not None), None)


def _text(node: Node) -> str:
    return (str(node.text_content()) if isinstance(node, HtmlElement) else node).strip()


def _written(page: Page, file: Path) -> dict[str, object]:
    """Write a page in UTF-8; return its URL and its file in the form that the runner reads."""
    file.write_text(page.text, "utf-8")
    return {"url": page.url, "file": str(file)}


def _lines(rows: Sequence[object]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)
