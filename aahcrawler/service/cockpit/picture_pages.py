"""The gallery of a crawl's pictures: in small, look-alikes together, each leading to the capture that shows it."""

from typing import Annotated, Final, Literal

from fastapi import APIRouter, Path, Query, Response

from aahcrawler.overview.overview_sections import columns
from aahcrawler.overview.periods import periods
from aahcrawler.service.api.page_routes import Span
from aahcrawler.service.cockpit.captured_pages import BUSY
from aahcrawler.service.cockpit.site import Reading, Site, address
from aahcrawler.service.cockpit.spoken_pages import Counted, as_csv
from aahcrawler.service.cockpit.spoken_sections import chosen_in, shown_markup
from aahcrawler.service.views.page_pictures import PicturesBusyError
from aahcrawler.service.views.picture_gallery import (
    Gallery,
    ShrunkenPictures,
    folded,
    shown_pictures,
    table_of_pictures,
)
from aahcrawler.service.views.spoken_of import Enriched, TimeSpan, enriched_of, is_enriched
from aahcrawler.service.web.problems import ProblemError

TILES: Final = 24
"""Pictures that are shown at once: more would be longer than three screens."""
OfSite = Annotated[str, Query(max_length=300, alias="site")]
Group = Annotated[str, Query(max_length=300)]


def _gallery(enriched: Enriched, _: TimeSpan) -> Gallery:
    return Gallery.of(enriched.annotations)


def routes(site: Site) -> APIRouter:
    """Return the routes of pictures."""
    router = APIRouter(prefix="/crawls/{crawl}/archive/pictures")
    indexes, counted, made = site.instruments.indexes, Counted(_gallery), ShrunkenPictures()
    site.instruments.endings.callback(made.close)

    @router.get("")
    def show(
        session: Reading,
        crawl: str,
        span: Span,
        of_site: OfSite = "",
        alike: Group = "",
        after: Annotated[int, Query(ge=0, le=1_000_000)] = 0,
    ) -> Response:
        found = site.crawl(crawl)
        if not is_enriched(found):
            return site.crawl_page(session, found, "archive", "pictures.html", gallery=None)
        with enriched_of(indexes, found) as enriched:
            gallery = counted.of(found, enriched)
            entries = gallery.chosen(of_site, span.since, span.until, alike)
            tiles = [(each, 1) for each in entries] if alike else folded(entries)
            shown = shown_pictures(enriched, tiles[after : after + TILES])
            note = enriched.note

        def moved(place: int) -> str:
            asked = {"site": of_site, "since": span.since, "until": span.until, "alike": alike}
            return address("crawls", crawl, "archive", "pictures", **asked, after=max(0, place) or "")

        times = periods(gallery.months(of_site, alike)).counts
        drawn = columns("Pictures over time", times, lambda _: "", "pictures", chosen_in(span)) if times else ""
        values = {
            "gallery": gallery,
            "shown": shown,
            "note": note,
            "total": len(entries),
            "tiles": len(tiles),
            "after": after,
            "span": span,
            "of_site": of_site,
            "alike": alike,
            "picture": shown_markup(drawn),
            "before": moved(after - TILES) if after else "",
            "following": moved(after + TILES) if after + TILES < len(tiles) else "",
            "unspanned": address("crawls", crawl, "archive", "pictures", site=of_site, alike=alike),
            "csv": address(
                "crawls", crawl, "archive", "pictures", "list.csv", site=of_site, since=span.since, until=span.until
            ),
        }
        return site.crawl_page(session, found, "archive", "pictures.html", **values)

    @router.get("/list.csv")
    def download(_: Reading, crawl: str, span: Span, of_site: OfSite = "") -> Response:
        found = site.crawl(crawl)
        with enriched_of(indexes, found) as enriched:
            entries = counted.of(found, enriched).chosen(of_site, span.since, span.until, "")
            rows = [*table_of_pictures(enriched, entries)]
        return as_csv(f"{crawl}-pictures", rows)

    @router.get("/{record}/{size}")
    def show_one(
        _: Reading, crawl: str, record: Annotated[str, Path(max_length=200)], size: Literal["small", "large"]
    ) -> Response:
        try:
            content = made.picture(indexes, site.crawl(crawl), record, size)
        except PicturesBusyError as error:
            text = "other pictures are being made; ask again in a moment"
            raise ProblemError(BUSY, text, headers={"Retry-After": "2"}) from error
        return Response(content, media_type="image/jpeg")

    return router
