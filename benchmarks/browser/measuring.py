"""Measures one site: what a person sees of it, and what each method makes of it."""

import json
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pydantic_core import to_jsonable_python

from benchmarks.browser.crawling import LONGEST, BrowserCrawl, Method, Seen, crawled
from benchmarks.browser.exact_server import ExactServer
from benchmarks.browser.leftovers import left_after_kill
from benchmarks.browser.person import looked_at
from benchmarks.browser.replaying import Replay, replayed_by_pywb, replayed_by_replay_web_page
from benchmarks.browser.replies import Reply, Request, attached, page
from benchmarks.browser.site import Choice, Site
from benchmarks.browser.tree_usage import used_by
from benchmarks.results import Cell
from benchmarks.sites import BenchmarkError

SPEEDS: Final = (4, 2, 1)
SPEED_SITE: Final = "forum"
_REPLAYED: Final = frozenset({Method.AUTO, Method.BROWSER})


@dataclass(frozen=True, slots=True)
class Plan:
    """What is measured: by which methods, how fast the forum is, what replays, and what a killed crawl leaves behind.

    ``kept`` is a folder that receives each crawl, and what in it is not as it should be.
    """

    methods: Sequence[Method]
    speed: bool = False
    replay: bool = False
    killed: bool = False
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
            row = self._peer() if method is Method.PLAYWRIGHT else self._row(method, seen)
            told[method] = {**self._head(method), **row, **ratios(row, told.get(Method.BROWSER), method)}
            yield told[method]
        if self.plan.speed and self.choice.name == SPEED_SITE:
            for at_once in SPEEDS:
                yield {**self._head(Method.BROWSER), "at_once": at_once, **self._fast(at_once)}
        if self.plan.killed:
            yield {**self._head(Method.BROWSER), **self._killed()}

    def _head(self, method: Method) -> dict[str, Cell]:
        return {"site": self.choice.name, "method": method, "held_out": self.choice.held_out}

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
        replays: Mapping[str, Replay] = {}
        if self.plan.replay and method in _REPLAYED:
            replays, leaks = self._replayed(done, seen)
            row |= {f"replay_{name}": replay.same_text for name, replay in replays.items()} | {"replay_leaks": leaks}
        if self.plan.kept is not None:
            keep(done, seen, replays, self.plan.kept / f"{self.choice.name}-{method}")
        return row

    def _replayed(self, done: BrowserCrawl, seen: Seen) -> tuple[Mapping[str, Replay], int]:
        """Replay with the site gone; return what was asked of it all the same, too."""
        answering, self.server.answering = self.server.answering, _gone
        self.server.taken()
        try:
            pages = [looked for looked in seen.looked if "#" not in looked.view.path]
            found = {
                "pywb": replayed_by_pywb(done.folder, pages, self.server.origin),
                "webpage": replayed_by_replay_web_page(done.folder, pages, self.server.origin, self._place("replay")),
            }
            return found, len(self.server.taken())
        finally:
            self.server.answering = answering

    def _killed(self) -> dict[str, Cell]:
        try:
            return {"left_running": left_after_kill(self.site, self.server, self._place("killed"))}
        except BenchmarkError as error:
            return {"failure": str(error)}

    def _peer(self) -> dict[str, Cell]:
        most = str(max(1, len(self.site.views)))
        command = [sys.executable, "-m", "benchmarks.browser.peer", f"{self.server.origin}/"]
        used = used_by([*command, str(self._place("peer")), most], None, LONGEST)
        if used.code:
            return {"failure": f"the peer ended with {used.code}:\n{used.output[-2000:]}"}
        pages = int(json.loads(used.output.splitlines()[-1])["pages"])
        return {
            "pages": pages,
            "pages_per_second": round(pages / used.seconds, 2),
            "cpu_ms_per_page": round(1000 * used.cpu_seconds / pages, 1) if pages else None,
            "peak_mib": round(used.peak_mib, 1),
            "seconds": round(used.seconds, 1),
            "cpu_seconds": round(used.cpu_seconds, 1),
        }


def _gone(_: Request) -> Reply:
    return page("<!doctype html><title>Gone</title><h1>This site is gone</h1>", status=410)


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


def keep(done: BrowserCrawl, seen: Seen, replays: Mapping[str, Replay], target: Path) -> None:
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
    found += [(f"replay by {name}", each) for name, replay in replays.items() for each in replay.faults]
    lines = (json.dumps({"mistake": mistake, "of": to_jsonable_python(each)}) for mistake, each in found)
    (target / "mistakes.jsonl").write_text("".join(f"{line}\n" for line in lines), "utf-8")


@contextmanager
def served(choice: Choice, folder: Path) -> Iterator[tuple[Site, ExactServer]]:
    """Serve a site until the block ends. Raises ``InstallationError``."""
    (folder / "site").mkdir()
    with ExactServer(secure=choice.secure).running() as server, choice.opening(folder / "site", server.origin) as site:
        server.answering = lambda request: attached(request) or site.answering(request)
        yield site, server
