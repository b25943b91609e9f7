"""Pages on what a crawl captured: pages, comparisons of captures, objects, pictures, changes between visits."""

from contextlib import suppress
from datetime import datetime
from enum import StrEnum
from http import HTTPStatus
from typing import Annotated, Final, Literal

from fastapi import APIRouter, Path, Query, Request, Response

from aahcrawler.annotations.annotation_settings import AnnotationSettings
from aahcrawler.annotations.judgements import MemberDecision, membership_of
from aahcrawler.annotations.web_annotations import AnnotationFileError
from aahcrawler.browser.process.chromium_executable import BrowserUnavailableError
from aahcrawler.objects.capture_statements import read_statements
from aahcrawler.overview.overview_sections import columns
from aahcrawler.overview.periods import PERIOD, periods
from aahcrawler.replay.addresses import Address, Modifier
from aahcrawler.replay.capture_lookup import moment_of
from aahcrawler.replay.page_marks import FIRST_WORD
from aahcrawler.revisits.visit_record import ChangeKind, ChangeState, WantedVisits
from aahcrawler.search import Question
from aahcrawler.segments import DamageError
from aahcrawler.service.api.page_routes import Span
from aahcrawler.service.catalog.crawl_catalog import Crawl
from aahcrawler.service.cockpit.alike_pages import GROUPS, marking
from aahcrawler.service.cockpit.site import Reading, Site, address
from aahcrawler.service.cockpit.spoken_pages import Counted, as_csv
from aahcrawler.service.cockpit.spoken_sections import LABELS, Leads, chosen_in, shown_markup
from aahcrawler.service.instruments import Instruments
from aahcrawler.service.views.alike_texts import alike_beside
from aahcrawler.service.views.capture_view import (
    NO_PICTURE,
    CaptureView,
    Picture,
    capture_picture,
    capture_row,
    capture_text,
    capture_view,
)
from aahcrawler.service.views.change_list import ChangeList, ChangesQuery, asked_moment
from aahcrawler.service.views.cited_capture import as_text, held_by, mail_address, names_of
from aahcrawler.service.views.crawl_findings import page_counts, repairs_of, seeds_page, traps_of
from aahcrawler.service.views.enriched_crawl import enriched_of, is_enriched
from aahcrawler.service.views.object_list import (
    Lacking,
    ObjectFilter,
    capture_difference,
    object_counts,
    object_history,
    object_list,
    url_captures,
)
from aahcrawler.service.views.page_list import Level, PageFilter, PageShown, page_list, page_shown
from aahcrawler.service.views.page_pictures import Pictured, PicturesBusyError
from aahcrawler.service.views.picture_gallery import (
    Gallery,
    ShrunkenPictures,
    folded,
    shown_pictures,
    table_of_pictures,
)
from aahcrawler.service.views.refused_links import RefusedLinks, RefusedQuery
from aahcrawler.service.views.search_results import SearchResults, question_of, results_of
from aahcrawler.service.web.problems import Kind, ProblemError
from aahcrawler.urls import canonicalize

Text = Annotated[str, Query(max_length=2_000)]

Word = Annotated[str, Query(max_length=200)]

Period = Annotated[str, Query(pattern=f"^(?:{PERIOD})?$")]
ROWS: Final = 25
"""Pages that the list shows at once: more would be longer than three screens."""
_LINKS = 200
_VIEWS = {
    "both": ("Objects and links", Modifier.BOTH),
    "objects": ("Objects", Modifier.OBJECTS),
    "links": ("Links by score", Modifier.LINKS),
    "plain": ("The page alone", Modifier.PAGE),
}
"""How a capture is shown: what the choice is called, and what the replay is asked for."""
_OF_WORDS = {"words": ("Words marked", Modifier.WORDS)}
"""The same for somebody who comes from a search."""
_OF_SCRIPTS = {"sent": ("As it was sent", Modifier.SENT)}
"""The same for pages that are shown as a browser left them."""
_MAX_PASSAGES: Final = 20
"""Passages of a capture that have what was searched for, the best first."""
NO_TEXT: Final = Kind("no-text", HTTPStatus.CONFLICT, "The text of the capture cannot be read")
BUSY: Final = Kind("pictures-busy", HTTPStatus.SERVICE_UNAVAILABLE, "Too many pictures at once")
_PICTURES = {"screenshot": Picture.SCREENSHOT, "thumbnail": Picture.THUMBNAIL}


def routes(site: Site) -> APIRouter:
    """Return the routes of captures."""
    router = APIRouter(prefix="/crawls/{crawl}")
    indexes = site.instruments.indexes

    @router.get("/pages")
    def list_pages(
        session: Reading,
        crawl: str,
        text: Text = "",
        application: Word = "",
        role: Level | Literal[""] = "",
        status: Annotated[str, Query(pattern="^[1-5]?$")] = "",
        relevant: Annotated[str, Query(pattern="^(yes|no)?$")] = "",
        of_site: Annotated[str, Query(max_length=255, alias="site")] = "",
        trap: Word = "",
        media: Word = "",
        captured: Period = "",
        number: Annotated[int, Query(ge=0)] = 0,
        after: Word = "",
    ) -> Response:
        found = site.crawl(crawl)
        wanted = PageFilter(
            text=text,
            application=None if not application else "" if application == "-" else application,
            role=role or None,
            status=int(status) if status else None,
            relevant=None if not relevant else relevant == "yes",
            site=of_site,
            trap=trap,
            media=media,
            captured=captured,
            crawl=number or None,
        )
        asked = {"text": text, "application": application, "role": role, "status": status, "relevant": relevant}
        asked |= {"site": of_site, "trap": trap, "media": media, "captured": captured, "number": str(number or "")}
        with indexes.asked(found) as index:
            listed, counts = page_list(index, wanted, after, ROWS), page_counts(index)
        applications = list(dict.fromkeys(each.application for each in counts.levels if each.application))
        more = address("crawls", crawl, "pages", **asked, after=listed.next) if listed.next else ""
        values = {"listed": listed, "asked": asked, "applications": applications, "traps": list(counts.traps)}
        values["pictured"] = site.instruments.pictures is not None and site.instruments.pictures.available
        return site.crawl_page(session, found, "pages", "pages.html", more=more, **values)

    @router.get("/captures/{record}")
    def show_capture(
        session: Reading,
        crawl: str,
        record: Annotated[str, Path(max_length=100)],
        view: Word = "",
        words: Text = "",
    ) -> Response:
        found = site.crawl(crawl)
        with indexes.asked(found) as index:
            shown = capture_view(index, record)
            versions = url_captures(index, shown.page.url)
        has_document = shown.look is not None and shown.look.has_document
        views = {**(_OF_WORDS if words else {}), **_VIEWS, **(_OF_SCRIPTS if has_document else {})}
        chosen = view if view in views else "words" if words else "both"
        framed = replay_path(crawl, shown.page, views[chosen][1], words)
        marked = _passages(site, crawl, shown.page.record, words)
        values = {"shown": shown, "versions": versions, "views": views, "view": chosen, "framed": framed}
        values |= {"words": words, "passages": marked, "decision": _decision(found, shown.page.url)}
        settings = AnnotationSettings.of(found.folder)
        values |= {"alike": (), "names": {}, "labels": LABELS, "leads": Leads(crawl, settings)}
        if is_enriched(found):
            with enriched_of(indexes, found) as enriched:
                values["alike"] = alike_beside(enriched, shown.page.record)
                said = [*enriched.annotations.of_capture(shown.holder or shown.page.record)]
                values["names"] = names_of(said, settings)
            values |= {"marked": marking(crawl, found), "titles": GROUPS}
        passage = _passage(marked, shown)
        link = f"{site.names.cockpit}{address('crawls', crawl, 'captures', record)}"
        values["held"], values["unasked"] = held_by(indexes, site.instruments.reach.crawls(), shown.page.url)
        values["mail"] = mail_address(shown.page, crawl, passage, link)
        return site.crawl_page(session, found, "pages", "capture.html", parts=score_parts(shown), most=_LINKS, **values)

    @router.get("/captures/{record}/text.txt")
    def download_text(_: Reading, crawl: str, record: Annotated[str, Path(max_length=100)]) -> Response:
        with indexes.asked(site.crawl(crawl)) as index:
            row = capture_row(index, record)
            page = page_shown(row)
            holder = capture_row(index, page.unchanged) if page.unchanged else row
            try:
                objects = read_statements(capture_text(index, holder)).objects
            except (OSError, DamageError) as error:
                raise ProblemError(NO_TEXT, f"its statements cannot be read ({error}); restore the segment") from error
        named = {"Content-Disposition": f'attachment; filename="{crawl}-{record.removeprefix("urn:uuid:")}.txt"'}
        return Response(as_text(page, crawl, objects), media_type="text/plain; charset=utf-8", headers=named)

    @router.get("/captures/{record}/in-small")
    def show_in_small(_: Reading, crawl: str, record: Annotated[str, Path(max_length=100)]) -> Response:
        content, media_type = small_picture(site.instruments, site.crawl(crawl), record)
        return Response(content, media_type=media_type)

    @router.get("/captures/{record}/{picture}")
    def show_picture(
        _: Reading,
        crawl: str,
        record: Annotated[str, Path(max_length=100)],
        picture: Literal["screenshot", "thumbnail"],
    ) -> Response:
        with indexes.asked(site.crawl(crawl)) as index:
            content, media_type = capture_picture(index, record, _PICTURES[picture])
        return Response(content, media_type=media_type)

    @router.get("/compare")
    def compare(session: Reading, crawl: str, before: Word, after: Word) -> Response:
        found = site.crawl(crawl)
        with indexes.asked(found) as index:
            difference = capture_difference(index, before, after)
        return site.crawl_page(session, found, "pages", "compare.html", shown=difference)

    return router


def _passages(site: Site, crawl: str, record: str, words: str) -> SearchResults | None:
    """Return the search results within one capture, with words marked; None if the query is empty or invalid."""
    if not words:
        return None
    beside = Question(limit=_MAX_PASSAGES, scope="all", is_folded=False, counts_facets=False)
    asked = question_of(words, {"record": [record]}, {}, beside)
    try:
        return results_of(site.instruments.reach, site.instruments.search, asked, [crawl])
    except ProblemError:
        return None


def _passage(marked: SearchResults | None, shown: CaptureView) -> str:
    """Return the words that a mail quotes: what was found on the page, else how its first text begins."""
    if marked is not None and marked.results:
        return "".join(piece.text for piece in marked.results[0].snippet)
    return next((each.body for each in shown.objects if each.body), "")


def _decision(crawl: Crawl, url: str) -> MemberDecision | None:
    """Return people's decision on the membership of a page; None also if decisions cannot be read."""
    if crawl.folder is None:
        return None
    with suppress(AnnotationFileError):
        return membership_of(crawl.folder).get(url)
    return None


def small_picture(instruments: Instruments, crawl: Crawl, record: str) -> tuple[bytes, str]:
    """Return a small picture of a captured page, from the archive or made now, and its media type.

    Raise ``ProblemError`` if there is none, or too many are requested at once.
    """
    with instruments.indexes.asked(crawl) as index:
        page, archived = capture_row(index, record), None
        with suppress(ProblemError):
            archived = capture_picture(index, record, Picture.THUMBNAIL)
    if archived is not None:
        return archived
    if instruments.pictures is None or crawl.folder is None:
        raise ProblemError(NO_PICTURE, "no browser took a picture of this page")
    moment = moment_of(datetime.fromisoformat(page["fetched_at"]))
    try:
        made = instruments.pictures.picture(crawl.folder, Pictured(page["record"], page["url"], moment))
    except PicturesBusyError as error:
        text = "other pictures are being made; ask again in a moment"
        raise ProblemError(BUSY, text, headers={"Retry-After": "2"}) from error
    except (BrowserUnavailableError, OSError) as error:
        raise ProblemError(NO_PICTURE, str(error)) from error
    try:
        with instruments.indexes.asked(crawl) as index:
            capture_row(index, record)
    except ProblemError:
        instruments.pictures.forget(crawl.folder)
        raise
    if not made:
        raise ProblemError(NO_PICTURE, "no picture can be made of this page")
    return made, "image/jpeg"


def replay_path(crawl: str, page: PageShown, modifier: Modifier, words: str = "") -> str:
    """Return the replay's path for a capture; if words are marked, the first one is scrolled into view."""
    path = Address(crawl, moment_of(datetime.fromisoformat(page.fetched_at)), modifier, page.url, words).path
    return f"{path}#{FIRST_WORD}" if modifier is Modifier.WORDS else path


def score_parts(shown: CaptureView) -> list[tuple[str, float, float]]:
    """Return the score that each analyser gave a page, with its weight, the highest weight first."""
    judged = shown.judgement
    if judged is None:
        return []
    rows = [(name, value, judged.weights.get(name, 0.0)) for name, value in judged.parts.items()]
    return sorted(rows, key=lambda row: -row[1] * row[2])


OBJECT_ROWS: Final = 15
"""Objects that the list shows at once: more would be longer than three screens."""


def object_routes(site: Site) -> APIRouter:
    """Return the routes of web objects."""
    router = APIRouter(prefix="/crawls/{crawl}/objects")
    indexes = site.instruments.indexes

    @router.get("")
    def list_objects(
        session: Reading,
        crawl: str,
        words: Word = "",
        object_type: Annotated[str, Query(max_length=100, alias="type")] = "",
        lacking: Annotated[str, Query(pattern="^(title|author|date)?$")] = "",
        gone: bool = False,
        published: Annotated[str, Query(pattern=f"^(?:{PERIOD})?$")] = "",
        after: Word = "",
    ) -> Response:
        found = site.crawl(crawl)
        missing: Lacking | None = None
        for field in ("title", "author", "date"):
            missing = field if lacking == field else missing
        wanted = ObjectFilter(object_type, words, missing, True if gone else None, published)
        asked = {"words": words, "type": object_type, "lacking": lacking, "gone": gone, "published": published}
        with indexes.asked(found) as index:
            listed, counts = object_list(index, wanted, after, OBJECT_ROWS), object_counts(index)
        more = address("crawls", crawl, "objects", **asked, after=listed.next) if listed.next else ""
        return site.crawl_page(
            session, found, "objects", "objects.html", listed=listed, counts=counts, asked=asked, more=more
        )

    @router.get("/versions")
    def show_versions(session: Reading, crawl: str, iri: Annotated[str, Query(max_length=4_000)]) -> Response:
        found = site.crawl(crawl)
        with indexes.asked(found) as index:
            history = object_history(index, iri)
        return site.crawl_page(session, found, "objects", "object.html", history=history)

    return router


FindingWord = Annotated[str, Query(max_length=300)]
FINDING_ROWS: Final = 20
"""Links that the list of what was not fetched shows at once: many more would be longer than three screens."""


def finding_routes(site: Site) -> APIRouter:
    """Return the routes of findings."""
    router = APIRouter(prefix="/crawls/{crawl}")

    @router.get("/seeds")
    def show_seeds(
        session: Reading, crawl: str, verdict: FindingWord = "", after: Annotated[int, Query(ge=0, le=10_000_000)] = 0
    ) -> Response:
        found = site.crawl(crawl)
        listed = seeds_page(found, verdict, after)
        more = address("crawls", crawl, "seeds", verdict=verdict, after=listed.next) if listed.next else ""
        return site.crawl_page(session, found, "seeds", "seeds.html", listed=listed, verdict=verdict, more=more)

    @router.get("/failures")
    def show_failures(
        session: Reading,
        crawl: str,
        kind: Annotated[str, Query(pattern="^(failed|refused)$")] = "failed",
        reason: FindingWord = "",
        of_site: Annotated[str, Query(max_length=255, alias="site")] = "",
        text: Text = "",
        after: FindingWord = "",
    ) -> Response:
        found = site.crawl(crawl)
        links, query = RefusedLinks(found), RefusedQuery(reason, of_site, text, after, FINDING_ROWS)
        listed = links.failed(query) if kind == "failed" else links.refused(query)
        asked = {"kind": kind, "reason": reason, "site": of_site, "text": text}
        more = address("crawls", crawl, "failures", **asked, after=listed.next) if listed.next else ""
        states = site.instruments.states
        values = {"traps": traps_of(states, found), "repairs": repairs_of(states, found)}
        return site.crawl_page(
            session, found, "failures", "failures.html", listed=listed, asked=asked, more=more, **values
        )

    return router


ATOM: Final = "application/atom+xml; charset=utf-8"
CHANGE_ROWS: Final = 15
"""Visits that the list shows at once: more would be longer than three screens."""
Moment = Annotated[str, Query(max_length=40)]
VisitSpan = tuple[datetime | None, datetime | None]
Place = Annotated[str, Query(max_length=100)]


def change_routes(site: Site) -> APIRouter:
    """Return the routes of changes."""
    router = APIRouter(prefix="/crawls/{crawl}")

    @router.get("/changes")
    def list_changes(
        session: Reading,
        crawl: str,
        text: Text = "",
        url: Text = "",
        state: ChangeState | Literal[""] = "",
        kind: ChangeKind | Literal[""] = "",
        since: Moment = "",
        until: Moment = "",
        every: Annotated[bool, Query(alias="all")] = False,
        after: Place = "",
    ) -> Response:
        found = site.crawl(crawl)
        span = asked_moment("since", since.strip()), asked_moment("until", until.strip())
        wanted = _wanted(text, url, state, kind, span, every=every)
        listed = ChangeList(found).page(ChangesQuery(wanted, after, CHANGE_ROWS))
        asked = {"text": text, "url": url, "state": state, "kind": kind, "since": since, "until": until}
        asked["all"] = "true" if every else ""
        more = address("crawls", crawl, "changes", **asked, after=listed.next) if listed.next else ""
        values = {
            "states": _choices(ChangeState),
            "kinds": _choices(ChangeKind),
            "feed": address("crawls", crawl, "changes.atom"),
        }
        return site.crawl_page(
            session, found, "changes", "changes.html", listed=listed, asked=asked, more=more, **values
        )

    @router.get("/changes.atom")
    def feed_changes(request: Request, _: Reading, crawl: str) -> Response:
        document = ChangeList(site.crawl(crawl)).feed(WantedVisits(telling=True), str(request.url))
        return Response(document, media_type=ATOM)

    return router


def _wanted(text: str, url: str, state: str, kind: str, span: VisitSpan, *, every: bool) -> WantedVisits:
    """Return which visits a form asks for; an empty form asks for those that matter to readers."""
    states = frozenset(map(ChangeState, filter(None, (state,))))
    kinds = frozenset(map(ChangeKind, filter(None, (kind,))))
    is_plain = not (every or url or states or kinds)
    return WantedVisits(canonicalize(url) or url or None, *span, states, kinds, text.strip(), is_plain)


def _choices(words: type[StrEnum]) -> list[tuple[str, str]]:
    return [(word.value, word.value) for word in words]


TILES: Final = 24
"""Pictures that are shown at once: more would be longer than three screens."""
OfSite = Annotated[str, Query(max_length=300, alias="site")]
Group = Annotated[str, Query(max_length=300)]


def picture_routes(site: Site) -> APIRouter:
    """Return the routes of pictures."""
    router = APIRouter(prefix="/crawls/{crawl}/archive/pictures")
    indexes, made = site.instruments.indexes, ShrunkenPictures()
    counted = Counted(lambda enriched, _: Gallery.of(enriched.annotations))
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
