"""Pages on what is archived, in one crawl or all, and on what a crawl collected about an event."""

import time
from collections.abc import Sequence
from functools import partial
from threading import Lock
from typing import Annotated, Final, Literal
from urllib.parse import quote

from fastapi import APIRouter, Query, Response
from markupsafe import Markup

from aahcrawler.objects.capture_statements import PageRow
from aahcrawler.overview.overview_sections import Leads, OverviewSection, event_table, sections
from aahcrawler.overview.periods import PERIOD, worded
from aahcrawler.service.catalog.crawl_catalog import Crawl
from aahcrawler.service.cockpit.site import Reading, Site, address, visible
from aahcrawler.service.cockpit.spoken_pages import as_csv
from aahcrawler.service.views.collected_view import (
    HeldArchives,
    Lead,
    collection_of,
    graphml,
    held_archives,
    parts_held,
)


def collected_routes(site: Site) -> APIRouter:
    """Return the routes for a crawl's collection."""
    router = APIRouter(prefix="/crawls/{crawl}/collected")
    views = site.instruments.collected

    @router.get("")
    def show(session: Reading, crawl: str) -> Response:
        found = site.crawl(crawl)
        lead = capture_lead(found)
        told, is_whole = views.of(found, lead)
        shown = () if told is None else (("The course of the crawl", told.course), *told.sections)
        sections = [(name, Markup(visible(html))) for name, html in shown]  # noqa: S704 (it is escaped there)
        values = {"told": told, "is_whole": is_whole, "sections": sections, "lead": lead}
        return site.crawl_page(session, found, "collected", "collected.html", **values)

    @router.get("/pages.csv")
    def download_pages(_: Reading, crawl: str) -> Response:
        return as_csv(f"{crawl}-collected", collection_of(site.crawl(crawl)).table())

    @router.get("/pages.graphml")
    def download_graph(_: Reading, crawl: str) -> Response:
        content = graphml(collection_of(site.crawl(crawl)))
        return Response(content, media_type="application/xml", headers=_named(f"{crawl}-collected.graphml"))

    @router.get("/missing.txt")
    def download_missing(_: Reading, crawl: str) -> Response:
        missing = "".join(f"{url}\n" for url in collection_of(site.crawl(crawl)).missing)
        return Response(missing, media_type="text/plain; charset=utf-8", headers=_named(f"{crawl}-missing.txt"))

    return router


def capture_lead(crawl: Crawl) -> Lead:
    """Return a function that gives the addresses of a crawl's captures."""

    def lead(row: PageRow) -> str:
        return address("crawls", crawl.id, "captures", row.capture)

    return lead


def _named(name: str) -> dict[str, str]:
    return {"Content-Disposition": f"attachment; filename*=UTF-8''{quote(name)}"}


_Period = Annotated[str, Query(pattern=f"^(?:{PERIOD})?$")]
By = Literal["captured", "published", "site", "application", "media"]
_KEPT: Final = 5.0
"""Seconds that what was counted is shown again."""
_MAX_KEPT: Final = 20
_NONE: Final = "-"
"""How the addresses of lists say that captures have no application, or no media type."""


def routes(site: Site) -> APIRouter:
    """Return the routes for overviews of archives."""
    router = APIRouter()
    counted = _Counted(site)
    reach, indexes = site.instruments.reach, site.instruments.indexes

    @router.get("/archive")
    def show_all(session: Reading) -> Response:
        here = _here(reach.crawls())
        held, lines = counted.of(here), site.instruments.collected.lines(here, capture_lead)
        leads = [address("crawls", crawl.id, "collected") for crawl, _ in lines]
        events = Markup(visible(event_table([line for _, line in lines], leads))) if lines else ""  # noqa: S704 (as below)
        return site.page(session, "archives.html", held=held, sections=_shown(held, _OF_ALL), events=events)

    @router.get("/archive/part")
    def show_part(
        session: Reading, by: By, of: Annotated[str, Query(max_length=300)] = "", period: _Period = ""
    ) -> Response:
        wanted = period if by in ("captured", "published") else "" if of == _NONE else of
        parts = [
            (each, _list_of(each.crawl.id, by, wanted))
            for each in parts_held(indexes, _here(reach.crawls()), by, wanted)
        ]
        words = worded(wanted) if by in ("captured", "published") else wanted or "unknown"
        return site.page(session, "archive_part.html", by=by, words=words, parts=parts)

    @router.get("/crawls/{crawl}/archive")
    def show(session: Reading, crawl: str) -> Response:
        found = site.crawl(crawl)
        held = counted.of((found,))
        return site.crawl_page(
            session, found, "archive", "archive.html", held=held, sections=_shown(held, _of_crawl(crawl))
        )

    return router


class _Counted:
    """A cache of overviews for some seconds, since pages are reloaded more often than counts change."""

    def __init__(self, site: Site) -> None:
        self._indexes = site.instruments.indexes
        self._lock = Lock()
        self._made: dict[tuple[str, ...], tuple[float, HeldArchives]] = {}

    def of(self, crawls: Sequence[Crawl]) -> HeldArchives:
        """Return the overview of some crawls and imports together."""
        key = tuple(crawl.id for crawl in crawls)
        with self._lock:
            made = self._made.get(key)
        if made is not None and time.monotonic() - made[0] < _KEPT:
            return made[1]
        held = held_archives(self._indexes, crawls)
        with self._lock:
            if len(self._made) >= _MAX_KEPT:
                self._made.clear()
            self._made[key] = time.monotonic(), held
        return held


def _here(crawls: Sequence[Crawl]) -> tuple[Crawl, ...]:
    return tuple(crawl for crawl in crawls if crawl.folder is not None)


def _shown(held: HeldArchives, leads: Leads) -> list[tuple[OverviewSection, Markup]]:
    found = sections(held.held, held.changes, held.graph, leads)
    return [(each, Markup(visible(each.html))) for each in found]  # noqa: S704 (it is escaped there)


def _of_crawl(crawl: str) -> Leads:
    return Leads(
        captured=lambda period: _list_of(crawl, "captured", period),
        published=lambda period: _list_of(crawl, "published", period),
        site=lambda name: _list_of(crawl, "site", name) if name else "",
        application=lambda name: _list_of(crawl, "application", name),
        media=lambda name: _list_of(crawl, "media", name),
        crawl=lambda number: address("crawls", crawl, "pages", number=number),
    )


def _part(by: By, of: str) -> str:
    return address(
        "archive", "part", by=by, **({"period": of} if by in ("captured", "published") else {"of": of or _NONE})
    )


_OF_ALL: Final = Leads(
    captured=partial(_part, "captured"),
    published=partial(_part, "published"),
    site=lambda name: _part("site", name) if name else "",
    application=partial(_part, "application"),
    media=partial(_part, "media"),
    crawl=lambda _: "",
)


def _list_of(crawl: str, by: By, of: str) -> str:
    """Return the address of the list of captures or objects that are counted in a part of a picture."""
    if by == "published":
        return address("crawls", crawl, "objects", published=of)
    return address("crawls", crawl, "pages", **{by: of or _NONE})
