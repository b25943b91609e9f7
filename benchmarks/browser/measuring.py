"""Measures one site: what a person sees of it, and what each method makes of it."""

import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pydantic_core import to_jsonable_python

from benchmarks.browser.crawling import BrowserCrawl, Method, Seen, crawled
from benchmarks.browser.exact_server import ExactServer
from benchmarks.browser.person import looked_at
from benchmarks.browser.replies import attached
from benchmarks.browser.site import Choice, Site
from benchmarks.results import Cell
from benchmarks.sites import BenchmarkError

SPEEDS: Final = (4, 2, 1)
SPEED_SITE: Final = "forum"


@dataclass(frozen=True, slots=True)
class Plan:
    """What is measured: by which methods, and whether also how fast the forum is.

    ``kept`` is a folder that receives each crawl, and what in it is not as it should be.
    """

    methods: Sequence[Method]
    speed: bool = False
    kept: Path | None = None


@dataclass(frozen=True)
class Measuring:
    """Measures one site that is being served."""

    choice: Choice
    site: Site
    server: ExactServer
    folder: Path
    plan: Plan

    def rows(self) -> Iterator[Mapping[str, Cell]]:
        """Yield a row for each method, and for each speed."""
        self.server.taken()
        seen = Seen.of(self.site, self.server, looked_at(self.site.views, self.server.origin))
        told: dict[Method, Mapping[str, Cell]] = {}
        for method in self.plan.methods:
            row = self._row(method, seen)
            told[method] = {**self._head(method), **row, **ratios(row, told.get(Method.BROWSER), method)}
            yield told[method]
        if self.plan.speed and self.choice.name == SPEED_SITE:
            for at_once in SPEEDS:
                yield {**self._head(Method.BROWSER), "at_once": at_once, **self._fast(at_once)}

    def _head(self, method: Method) -> dict[str, Cell]:
        return {"site": self.choice.name, "method": method}

    def _place(self, name: str) -> Path:
        place = self.folder / name
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir()
        return place

    def _fast(self, at_once: int) -> Mapping[str, Cell]:
        try:
            return crawled(self.site, self.server, Method.BROWSER, self._place("fast"), at_once).costs()
        except BenchmarkError as error:
            return {"failure": str(error)}

    def _row(self, method: Method, seen: Seen) -> dict[str, Cell]:
        try:
            done = crawled(self.site, self.server, method, self._place(method))
        except BenchmarkError as error:
            return {"failure": str(error)}
        row = scored(done, seen)
        if self.plan.kept is not None:
            keep(done, seen, self.plan.kept / f"{self.choice.name}-{method}")
        return row


def scored(done: BrowserCrawl, seen: Seen) -> dict[str, Cell]:
    """Return what a crawl is worth, and what it cost."""
    matching = done.objects(seen.looked)
    scores, shares = matching.scores(), matching.shares()
    return {
        **done.costs(),
        "objects_recall": scores["recall"],
        "objects_precision": shares["precision"],
        **{name: scores[name] for name in ("title", "author", "date")},
        "requests_missed": len(done.missed(seen.asked)),
        "requests_seen": len(seen.asked),
        "unrecorded": len(done.compared.unrecorded),
        "repeated": done.compared.repeated,
        "bytes_differing": done.compared.differing,
    }


def ratios(row: Mapping[str, Cell], all_by_browser: Mapping[str, Cell] | None, method: Method) -> dict[str, Cell]:
    """Return how many times as long, and as much processor time, the browser takes that looks at all pages."""
    if all_by_browser is None or method is not Method.AUTO:
        return {}
    pairs = ((name, all_by_browser.get(name), row.get(name)) for name in ("seconds", "cpu_seconds"))
    named = {"seconds": "wall_ratio", "cpu_seconds": "cpu_ratio"}
    return {named[name]: round(float(whole) / float(part), 2) for name, whole, part in pairs if whole and part}


def keep(done: BrowserCrawl, seen: Seen, target: Path) -> None:
    """Copy a crawl, and write beside it what is not as it should be: ``mistakes.jsonl``, a line each."""
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(done.folder, target / "crawl", symlinks=True)
    (target / "said.txt").write_text(done.used.output, "utf-8")
    matching = done.objects(seen.looked)
    found: list[tuple[str, object]] = [("missing", each) for each in matching.missing]
    found += [("wrong", each) for each in matching.wrong] + [("copy", each) for each in matching.copies]
    found += [("field", pair) for pair in matching.differing]
    found += [("request missed", each) for each in done.missed(seen.asked)]
    found += [("unrecorded", each) for each in done.compared.unrecorded]
    found += [("bytes", each) for each in done.compared.faults]
    lines = (json.dumps({"mistake": mistake, "of": to_jsonable_python(each)}) for mistake, each in found)
    (target / "mistakes.jsonl").write_text("".join(f"{line}\n" for line in lines), "utf-8")


@contextmanager
def served(choice: Choice, folder: Path) -> Iterator[tuple[Site, ExactServer]]:
    """Serve a site until the block ends. Raises ``InstallationError``."""
    (folder / "site").mkdir()
    with ExactServer(secure=choice.secure).running() as server, choice.opening(folder / "site", server.origin) as site:
        server.answering = lambda request: attached(request) or site.answering(request)
        yield site, server
