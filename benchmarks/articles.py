"""Read pages of real articles, and compare texts, titles, authors and dates with the results of other libraries.

    python -m benchmarks.articles [ARTICLES_DIR] [--world NAME ...] [--method NAME ...] --json FILE

ARTICLES_DIR (default: ``../shared/corpora/articles``) has a folder for each world, with ``truth.json.gz`` and
``pages.tar.xz``, and a scorer ``score.py``, which is run as a process. Each method parses and reads every page once, as
if it had been fetched now; ``ms_per_page`` is processor time including parsing. The result for a page is its first
object with a text that is no comment. Each method has a row for all pages; ``ours`` also has a row for each recognised
application.
"""

import argparse
import gzip
import json
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path

from resiliparse.extract.html2text import extract_plain_text
from resiliparse.parse.encoding import bytes_to_str, detect_encoding

from aahcrawler.adaptation.adapter import adaptation
from aahcrawler.helper import ApplicationAwareHelper, Assistance
from aahcrawler.page import Headers, Page
from aahcrawler.webobject import Person, Value, WebObject
from benchmarks.recorded import PROJECT
from benchmarks.results import Cell, Row, report
from knowledge_base.loader import load
from knowledge_base.model import KnowledgeBase

SHARED = PROJECT.parent / "shared" / "corpora" / "articles"
UNPACKED = PROJECT / ".cache" / "articles"
FETCHED_AT = datetime(2026, 11, 21, 12, tzinfo=UTC)
"""The time at which all pages are taken to be fetched."""

WARMING = 5
"""The number of pages read before measuring, so that loading costs are excluded."""

UNKNOWN = "none"
"""The application of pages of which none is recognised."""

_NO_TEXT = frozenset({"comment", "image", "video"})


class Method(StrEnum):
    """Ways to read a page."""

    OURS = "ours"
    """As in a crawl."""
    WITHOUT_ADAPTATION = "ours_without_adaptation"
    EMPTY_KNOWLEDGE_BASE = "ours_empty_knowledge_base"
    TRAFILATURA = "trafilatura_fast"
    RESILIPARSE = "resiliparse"


@dataclass(frozen=True, slots=True)
class World:
    """Annotated pages: the folder with their truth, and the one into which they are unpacked."""

    name: str
    folder: Path
    unpacked: Path

    def pages(self) -> Iterator[tuple[str, Page]]:
        """Yield the pages with their names in the truth, mostly their URLs."""
        with (self.unpacked / "index.jsonl").open(encoding="utf-8") as lines:
            for row in map(json.loads, lines):
                name = str(row["url"])
                url = name.strip() if name.startswith("http") else f"https://example.org/{row['file']}"
                body = (self.unpacked / row["file"]).read_bytes()
                yield name, Page(url, 200, Headers((("Content-Type", "text/html"),)), body, FETCHED_AT)

    def truth(self) -> Mapping[str, object]:
        """Return the ground truth of each page."""
        with gzip.open(self.folder / "truth.json.gz", "rt", encoding="utf-8") as file:
            return dict(json.load(file))


@dataclass(frozen=True, slots=True)
class Answer:
    """What a method reads of a page; empty where it finds nothing. ``application`` is the recognised one."""

    text: str = ""
    title: str = ""
    author: str = ""
    date: str = ""
    application: str = UNKNOWN


Reader = Callable[[Page], Answer]


def reader(method: Method) -> Reader:
    """Return the reader of a method; it may remember pages it has read."""
    match method:
        case Method.TRAFILATURA:
            return by_trafilatura
        case Method.RESILIPARSE:
            return by_resiliparse
    known = KnowledgeBase(()) if method is Method.EMPTY_KNOWLEDGE_BASE else load()
    helper = ApplicationAwareHelper(known, adapter=adaptation(known) if method is Method.OURS else None)
    return lambda page: of_assistance(helper.assist(page))


def of_assistance(assistance: Assistance) -> Answer:
    """Return the first object of a page that is no comment and has a text."""
    application = assistance.match.application.name if assistance.match is not None else UNKNOWN
    objects = (each for each in assistance.objects if each.type not in _NO_TEXT and each.first("body") is not None)
    found = next(objects, None)
    if found is None:
        return Answer(application=application)
    fields = {"text": "body", "title": "title", "author": "author", "date": "date"}
    return Answer(application=application, **{name: _text(found, field) for name, field in fields.items()})


def by_trafilatura(page: Page) -> Answer:
    """Read a page, its fields included, with trafilatura in its fast mode."""
    url = page.url
    # Importing it takes long, and those that import this module seldom measure it.
    from trafilatura.core import bare_extraction  # noqa: PLC0415
    from trafilatura.settings import Document  # noqa: PLC0415

    found = bare_extraction(page.body, url=url, fast=True, include_comments=False, with_metadata=True)
    if not isinstance(found, Document):
        return Answer()
    return Answer(found.text or "", found.title or "", found.author or "", found.date or "")


def by_resiliparse(page: Page) -> Answer:
    """Read the main content of a page with resiliparse, which tells no fields."""
    html = bytes_to_str(page.body, detect_encoding(page.body) or "utf-8")
    return Answer(extract_plain_text(html, main_content=True, alt_texts=False, links=False, list_bullets=False))


def measure(world: World, method: Method, scorer: Path) -> Iterator[Row]:
    """Read all pages of a world; yield the row of all, and for `Method.OURS` the row of each application."""
    pages = list(world.pages())
    warm = reader(method)
    for _, page in pages[:WARMING]:
        warm(_fresh(page))
    read, answers, seconds = reader(method), dict[str, Answer](), dict[str, float]()
    for name, page in pages:
        unread = _fresh(page)
        started = time.process_time()
        answers[name] = read(unread)
        seconds[name] = time.process_time() - started
    applications = sorted({answer.application for answer in answers.values()}) if method is Method.OURS else []
    truth = world.truth()
    for application in ("all", *applications):
        names = [name for name, each in answers.items() if application in ("all", each.application)]
        scored = score({name: truth[name] for name in names}, {name: answers[name] for name in names}, scorer)
        ms = 1000 * sum(seconds[name] for name in names) / len(names)
        yield {"world": world.name, "method": method, "application": application, **scored, "ms_per_page": round(ms, 2)}


def score(truth: Mapping[str, object], answers: Mapping[str, Answer], scorer: Path) -> Mapping[str, Cell]:
    """Return the scorer's results for what a method read."""
    with tempfile.TemporaryDirectory(prefix="aah-articles-") as name:
        folder = Path(name)
        with gzip.open(folder / "truth.json.gz", "wt", encoding="utf-8") as file:
            json.dump(truth, file)
        lines = (json.dumps({"url": url, **_given(answer)}) + "\n" for url, answer in answers.items())
        read = folder / "read.jsonl"
        read.write_text("".join(lines), "utf-8")
        command = [sys.executable, str(scorer), str(folder), str(read), "--json"]
        found = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    return {str(key): value for key, value in found.items()}


def worlds(folder: Path, names: Iterable[str]) -> Iterator[World]:
    """Yield the worlds below a folder, their pages unpacked; without names all of them."""
    chosen = set(names)
    for file in sorted(folder.glob("*/pages.tar.xz")):
        name = file.parent.name
        if chosen and name not in chosen:
            continue
        target = UNPACKED / name
        if not (target / "index.jsonl").exists():
            target.mkdir(parents=True, exist_ok=True)
            with tarfile.open(file) as archive:
                archive.extractall(target, filter="data")
        yield World(name, file.parent, target)


def _given(answer: Answer) -> Mapping[str, str | None]:
    """Return what a method read in the form of the scorer: None for every empty field but the text."""
    return {name: value or ("" if name == "text" else None) for name, value in asdict(answer).items()}


def _fresh(page: Page) -> Page:
    return Page(page.url, page.status, page.headers, page.body, page.fetched_at)


def _text(found: WebObject, name: str) -> str:
    value: Value | None = found.first(name)
    match value:
        case None:
            return ""
        case Person():
            return value.name
        case datetime():
            return value.date().isoformat()
        case _:
            return str(value)


def main() -> None:
    """Run the benchmark from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("articles", type=Path, nargs="?", default=SHARED, metavar="ARTICLES_DIR")
    parser.add_argument("--world", nargs="+", default=[], metavar="NAME", help="measure these worlds alone")
    parser.add_argument("--method", nargs="+", choices=list(Method), default=list(Method), help="these methods alone")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows here")
    arguments = parser.parse_args()
    found = list(worlds(arguments.articles, arguments.world))
    if not found:
        parser.error(f"no world {' '.join(arguments.world)} with pages.tar.xz under {arguments.articles}")
    scorer = arguments.articles / "score.py"
    methods = [Method(name) for name in arguments.method]
    report([row for world in found for method in methods for row in measure(world, method, scorer)], arguments.json)


if __name__ == "__main__":
    main()
