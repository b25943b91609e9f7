"""The live page of a crawl: what it does now, its course so far, and what it found."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from threading import Lock
from typing import Annotated, Final

from anyio import to_thread
from fastapi import APIRouter, Query, Request, Response
from markupsafe import Markup
from starlette.responses import StreamingResponse

from aahcrawler.report.chart import Axis, Line, Measure, line_chart
from aahcrawler.report.reason_words import counted, worded_failure
from aahcrawler.scope import SourceRefusal
from aahcrawler.seeds import nothing_followed
from aahcrawler.service.catalog.crawl_catalog import Crawl, argument_of
from aahcrawler.service.cockpit.sign_in import Session
from aahcrawler.service.cockpit.site import Reading, Site, address
from aahcrawler.service.instruments import Instruments
from aahcrawler.service.steering.crawl_management import Description, terms
from aahcrawler.service.steering.redefining import is_running
from aahcrawler.service.views.crawl_findings import (
    CoursePoint,
    CrawlCourse,
    crawl_course,
    imported,
    matters,
    notes_of,
    page_counts,
    repairs_of,
    seeds_page,
    traps_of,
)
from aahcrawler.service.views.crawl_state import read_summary
from aahcrawler.service.views.object_list import object_counts
from aahcrawler.service.views.page_indexes import Asked
from aahcrawler.service.views.page_list import PageFilter, page_list
from aahcrawler.service.views.site_pages import SiteQuery, sites_page
from aahcrawler.service.web.problems import TOO_MANY, ProblemError
from aahcrawler.tallies import CrawlCounts

PARTS: Final[Mapping[str, float]] = {"now": 2.0, "newest": 6.0, "sites": 10.0, "course": 20.0, "found": 20.0}
"""The parts of the page, and after how many seconds each is made anew."""
_STATE: Final = "now"
MAX_STREAMS: Final = 50
"""Pages that are kept up at once; others show what was there when they were loaded."""
_BEAT: Final = 2.0
_SITES, _NEWEST = 5, 5
_MIN_WINDOW, _WINDOWS = 20, 25
"""The fewest pages that a moving average is of, and how many such averages lie side by side in a large crawl."""
_EVENT_STREAM: Final = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}


def routes(site: Site) -> APIRouter:
    """Return the routes of the live page."""
    router = APIRouter(prefix="/crawls/{crawl}")
    parts = LiveParts(site)
    streams = 0

    @router.get("")
    def show(
        session: Reading,
        crawl: str,
        after: Annotated[int, Query(ge=0)] = 0,
        begin: Annotated[int, Query(ge=0)] = 0,
        told: Annotated[str, Query(pattern="^(all)?$")] = "",
    ) -> Response:
        found = site.crawl(crawl)
        if found.is_import:
            return import_page(site, session, found, after, begin, told)
        shown = {name: Markup(parts.part(found, name)) for name in PARTS}  # noqa: S704 (rendered by templates)
        status = site.instruments.states.status(found)
        values = {"shown": shown, "status": status, "described": Description.of(found.icd), "terms": terms()}
        return site.crawl_page(session, found, "", "live.html", **values)

    @router.get("/live")
    async def follow(session: Reading, crawl: str, request: Request) -> Response:
        nonlocal streams
        await to_thread.run_sync(site.crawl, crawl)
        if streams >= MAX_STREAMS:
            raise ProblemError(TOO_MANY, "too many pages are kept up at once; load the page again to see it as it is")

        async def told() -> AsyncIterator[bytes]:
            nonlocal streams
            streams += 1
            try:
                async for event in events(parts, crawl, request):
                    if not site.sign_in.is_open(session.key):
                        return
                    yield event
            finally:
                streams -= 1

        return StreamingResponse(told(), media_type="text/event-stream", headers=_EVENT_STREAM)

    return router


async def events(parts: "LiveParts", name: str, request: Request) -> AsyncIterator[bytes]:
    """Yield each part of a crawl's page, then every part that has changed, until the client disconnects.

    For a resting crawl, only its state is checked until that changes.
    """
    said: dict[str, str] = {}
    while not (parts.is_over or await request.is_disconnected()):
        crawl, runs = await to_thread.run_sync(parts.looked_at, name)
        changed = False
        for part in PARTS:
            if part != _STATE and part in said and not (runs or changed):
                continue
            html = await to_thread.run_sync(parts.part, crawl, part)
            if said.get(part) != html:
                said[part], changed = html, True
                yield f"event: part\ndata: {json.dumps({'id': part, 'html': html})}\n\n".encode()
        if not changed:
            yield b": nothing new\n\n"
        await asyncio.sleep(_BEAT)
    yield b"event: end\ndata: \n\n"


class LiveParts:
    """Renders the parts of live pages, each once for all viewers. Thread-safe."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._made: dict[tuple[str, int, str], tuple[float, str]] = {}
        self._lock = Lock()

    @property
    def is_over(self) -> bool:
        """Whether the cockpit is shutting down."""
        return self._site.instruments.live.is_over

    def looked_at(self, name: str) -> tuple[Crawl, bool]:
        """Return the current crawl with an id, and whether it runs."""
        crawl = self._site.crawl(name)
        return crawl, is_running(crawl)

    def part(self, crawl: Crawl, name: str) -> str:
        """Return a part, rendered at most some seconds ago."""
        key = crawl.id, crawl.number, name
        with self._lock:
            made, html = self._made.get(key, (-1e9, ""))
            if time.monotonic() - made < PARTS[name] - _BEAT / 2:
                return html
        html = self._site.pages.text(
            f"live_{name}.html", {"crawl": crawl, **_values(self._site.instruments, crawl, name)}
        )
        with self._lock:
            self._made[key] = time.monotonic(), html
        return html


def _values(instruments: Instruments, crawl: Crawl, name: str) -> Mapping[str, object]:
    """Return the values of a part; if something cannot be read now, a message instead."""
    try:
        return {"problem": "", **_VALUES[name](instruments, crawl)}
    except ProblemError as problem:
        return {"problem": problem.detail}


def _now(instruments: Instruments, crawl: Crawl) -> Mapping[str, object]:
    return {"status": instruments.states.status(crawl)}


def _sites(instruments: Instruments, crawl: Crawl) -> Mapping[str, object]:
    listed = sites_page(instruments.reach, crawl, SiteQuery(order="best", queued_only=True, most=_SITES))
    return {"listed": listed}


def _watched(instruments: Instruments, crawl: Crawl) -> AbstractContextManager[Asked]:
    """Lend the index of a crawl.

    For a running crawl, it is updated slowly, so as not to take the crawl's processor time.
    """
    return instruments.indexes.asked(crawl, hurried=not is_running(crawl))


def _newest(instruments: Instruments, crawl: Crawl) -> Mapping[str, object]:
    with _watched(instruments, crawl) as index:
        return {"listed": page_list(index, PageFilter(crawl=crawl.number), limit=_NEWEST)}


def _course(instruments: Instruments, crawl: Crawl) -> Mapping[str, object]:
    with _watched(instruments, crawl) as index:
        course = crawl_course(index, crawl.number)
    judged = crawl.icd.relevant_at is not None
    drawn = charts(course, judged=judged)
    return {"course": course, "judged": judged, "charts": [Markup(chart) for chart in drawn]}  # noqa: S704 (it is escaped there)


def _nothing_followed(crawl: Crawl, told: CrawlCounts) -> str:
    left_out = told.refusals.get(SourceRefusal.OFF_TOPIC, 0)
    return nothing_followed(len(crawl.icd.seeds), told.pages, left_out, crawl.icd.scoring.follow)


def _found(instruments: Instruments, crawl: Crawl) -> Mapping[str, object]:
    counts, objects, elsewhere = None, None, ""
    try:
        with _watched(instruments, crawl) as index:
            counts, objects = page_counts(index, crawl.number), object_counts(index)
    except ProblemError as problem:
        elsewhere = problem.detail
    summary, states = read_summary(crawl.folder), instruments.states
    tallies = states.look(crawl, summary).tallies
    told = CrawlCounts.of(tallies)
    return {
        "counts": counts,
        "objects": objects,
        "elsewhere": elsewhere,
        "seeds": seeds_page(crawl, most=1),
        "traps": traps_of(states, crawl),
        "repairs": repairs_of(states, crawl),
        "refused": counted(told.refusals),
        "not_followed": "" if is_running(crawl) else _nothing_followed(crawl, told),
        "failures": counted(told.failures, worded_failure),
    }


_VALUES: Final = {"now": _now, "sites": _sites, "newest": _newest, "course": _course, "found": _found}


def charts(course: CrawlCourse, *, judged: bool = True) -> list[str]:
    """Return the plots of a crawl's course as SVG, over pages and over time; plots of relevance only if ``judged``."""
    points = course.points
    if not points:
        return []
    over_pages = Axis([point.pages for point in points])
    over_time = Axis([point.seconds for point in points], Measure.SECONDS)
    befores = list(_befores(points))
    window = max(_MIN_WINDOW, points[-1].pages // _WINDOWS)
    recently = f"of the last {window:,} pages"
    speed = [Line(recently, "var(--one)", [_speed(*pair) for pair in befores])]
    speeds = line_chart("Pages a second", speed, over_time)
    if not judged:
        pages = [Line("so far", "var(--one)", [point.pages for point in points])]
        return [line_chart("Pages", pages, over_time), speeds]
    shares = [
        Line("so far", "var(--one)", [point.harvest for point in points]),
        Line(recently, "var(--two)", [_share(*pair) for pair in befores]),
    ]
    means = [_mean(*pair) for pair in befores]
    best = max(means) or 1.0
    recent = [Line(f"mean score {recently}, the best of them is 100 %", "var(--one)", [each / best for each in means])]
    gathered = [Line("scores of all pages so far, added up", "var(--one)", [point.relevance for point in points])]
    return [
        line_chart("Share of relevant pages", shares, over_pages, Measure.SHARE),
        line_chart("How relevance comes and goes", recent, over_pages, Measure.SHARE),
        line_chart("Relevance gathered", gathered, over_time),
        speeds,
    ]


def _befores(points: Sequence[CoursePoint]) -> Iterator[tuple[CoursePoint | None, CoursePoint]]:
    """Yield each point with the one about a window of pages earlier, None before the first."""
    window = max(_MIN_WINDOW, points[-1].pages // _WINDOWS)
    first = 0
    for point in points:
        while point.pages - points[first].pages > window:
            first += 1
        yield (points[first - 1] if first else None), point


def _share(before: CoursePoint | None, point: CoursePoint) -> float:
    pages, relevant = (before.pages, before.relevant) if before is not None else (0, 0)
    return (point.relevant - relevant) / (point.pages - pages)


def _mean(before: CoursePoint | None, point: CoursePoint) -> float:
    pages, relevance = (before.pages, before.relevance) if before is not None else (0, 0.0)
    return (point.relevance - relevance) / (point.pages - pages)


def _speed(before: CoursePoint | None, point: CoursePoint) -> float:
    pages, seconds = (before.pages, before.seconds) if before is not None else (0, 0.0)
    return (point.pages - pages) / (point.seconds - seconds) if point.seconds > seconds else 0.0


def crawl_list_routes(site: Site) -> APIRouter:
    """Return the route of the list of crawls."""
    router = APIRouter()
    instruments = site.instruments

    @router.get("/")
    def show(session: Reading) -> Response:
        shown = [(crawl, instruments.states.status(crawl)) for crawl in instruments.reach.crawls()]
        shown.sort(key=lambda each: (each[1].state not in ("running", "paused"), each[1].id))
        to_do = [(status, matter) for crawl, status in shown for matter in matters(crawl, status)]
        startable = {crawl.id for crawl, _ in shown if crawl.registered is None}
        passed_over = instruments.reach.catalog.passed_over()
        values = {"crawls": [status for _, status in shown], "to_do": to_do, "startable": startable}
        values["passed_over"] = passed_over
        place = instruments.reach.catalog.place_for_new()
        values["place"] = argument_of(place / "NAME") if place is not None else ""
        return site.page(session, "crawl_list.html", **values)

    return router


FILES: Final = 20
NOTES: Final = 20
"""Files, and notes, that are shown at once."""


def import_page(site: Site, session: Session, crawl: Crawl, after: int, begin: int, told: str) -> Response:
    """Return the page of an import: files from number ``after`` on, and notes from byte ``begin`` on.

    ``told`` selects notes on lost records only, or all notes.
    """
    folder = crawl.folder
    assert folder is not None  # noqa: S101 (an import is known by a file in its folder)
    counts, objects, problem = None, None, ""
    try:
        with site.instruments.indexes.asked(crawl) as index:
            counts, objects = page_counts(index, crawl.number), object_counts(index)
    except ProblemError as error:
        problem = error.detail
    shown = imported(folder)
    notes = notes_of(folder, begin, NOTES, lost_only=told != "all")
    end = after + FILES

    def here(**query: object) -> str:
        return address("crawls", crawl.id, **({"told": told, "after": after, "begin": begin} | query))

    values = {
        "status": site.instruments.states.status(crawl),
        "described": Description.of(crawl.icd),
        "terms": terms(),
        "total": shown.total,
        "of_files": len(shown.files),
        "files": shown.files[after:end],
        "more_files": here(after=end) + "#files-head" if end < len(shown.files) else "",
        "notes": notes.notes,
        "more_notes": here(begin=notes.next) + "#told-head" if notes.next is not None else "",
        "told": told,
        "ways": {name: here(told=name, begin=0) + "#told-head" for name in ("", "all")},
        "counts": counts,
        "objects": objects,
        "problem": problem,
    }
    return site.crawl_page(session, crawl, "", "import.html", **values)
