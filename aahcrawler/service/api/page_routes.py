"""Routes for what was captured: pages, objects, their versions, a crawl's course, and SPARQL queries."""

import re
from typing import Annotated, Any, Final, Literal

from fastapi import APIRouter, Body, Depends, Path, Query, Response
from pydantic import AfterValidator

from aahcrawler.annotations import Kind
from aahcrawler.annotations.annotation_settings import AnnotationSettings
from aahcrawler.search import Question
from aahcrawler.search.query_language import MAX_QUERY_LENGTH
from aahcrawler.service.catalog.crawl_registry import CrawlRegistry
from aahcrawler.service.views import capture_view, crawl_findings, object_list, page_list
from aahcrawler.service.views.capture_view import NO_CAPTURE, CaptureView
from aahcrawler.service.views.conversation_graph import Conversation, Talk
from aahcrawler.service.views.crawl_findings import CrawlCourse, PageCounts
from aahcrawler.service.views.enriched_crawl import NOT_ENRICHED, TimeSpan, enriched_of
from aahcrawler.service.views.object_list import (
    NO_OBJECT,
    CaptureDifference,
    Lacking,
    ObjectCounts,
    ObjectFilter,
    ObjectHistory,
    ObjectList,
    UrlCaptures,
)
from aahcrawler.service.views.page_indexes import NO_FOLDER, NOT_READY, PageIndexes
from aahcrawler.service.views.page_list import BAD_CURSOR, Level, PageFilter, PageList
from aahcrawler.service.views.search_results import NOT_ARCHIVED, SearchIndexes, SearchResults, question_of, results_of
from aahcrawler.service.views.sparql_results import (
    BAD_SPARQL,
    MAX_SPARQL_LENGTH,
    MEDIA_TYPE,
    NOT_LOADED,
    STORE_BUSY,
    TOO_LONG,
    TOO_MUCH,
    SparqlProcess,
    StoreView,
)
from aahcrawler.service.views.spoken_of import CrawlSpokenOf, crawl_spoken_of
from aahcrawler.service.views.spoken_of_one import NO_PAGE, NOT_SPOKEN_OF, SpokenOfOne, spoken_of
from aahcrawler.service.web.problems import BAD_SEARCH, NO_CRAWL, ProblemError, problem_responses
from aahcrawler.service.web.roles import Role, needs
from aahcrawler.urls import MAX_LENGTH

_RECORD = r"[A-Za-z0-9:._-]+"
_OF_INDEX = problem_responses(NO_CRAWL, NO_FOLDER, NOT_READY)
Text = Annotated[str, Query(max_length=500)]
Name = Annotated[str, Query(max_length=255)]
Cursor = Annotated[str, Query(max_length=40, description="The `next` of the answer before.")]
Limit = Annotated[int, Query(ge=1, le=500)]
Number = Annotated[int | None, Query(ge=1, le=1_000_000, description="The number of a crawl of the folder.")]
Url = Annotated[str, Query(max_length=4 * MAX_LENGTH, examples=["https://forum.example.org/"])]
Record = Annotated[str, Query(max_length=200, pattern=f"^{_RECORD}$", description="The id of a WARC record.")]


def page_routes(reach: CrawlRegistry, indexes: PageIndexes) -> APIRouter:
    """Return the routes, all below one crawl."""
    router = APIRouter(prefix="/crawls/{crawl}", tags=["pages"])
    _add_pages(router, reach, indexes)
    _add_captures(router, reach, indexes)
    _add_objects(router, reach, indexes)
    _add_course(router, reach, indexes)
    return router


def _add_pages(router: APIRouter, reach: CrawlRegistry, indexes: PageIndexes) -> None:
    @router.get("/pages", responses={**_OF_INDEX, **problem_responses(BAD_CURSOR)})
    def list_pages(
        crawl: str,
        text: Text = "",
        application: Annotated[str | None, Query(max_length=255, description="Empty: pages of none.")] = None,
        level: Annotated[str | None, Query(max_length=255)] = None,
        role: Level | None = None,
        status: Annotated[int | None, Query(ge=1, le=5, description="The first digit of the status.")] = None,
        relevant: bool | None = None,
        site: Name = "",
        trap: Annotated[str, Query(max_length=40, description="A kind of trap, or `any`.")] = "",
        number: Number = None,
        after: Cursor = "",
        limit: Limit = 50,
    ) -> PageList:
        """List captures of pages, the newest first: redirects and errors too, files that pages consist of not."""
        wanted = PageFilter(text, application, level, role, status, relevant, site, trap, number)
        with indexes.asked(reach.crawl(crawl)) as asked:
            return page_list.page_list(asked, wanted, after, limit)

    @router.get("/pages/{record}", responses={**_OF_INDEX, **problem_responses(NO_CAPTURE)})
    def show_capture(crawl: str, record: Annotated[str, Path(max_length=200, pattern=f"^{_RECORD}$")]) -> CaptureView:
        """Show a capture by the id of its WARC record: objects, links with their scores, records and statements."""
        with indexes.asked(reach.crawl(crawl)) as asked:
            return capture_view.capture_view(asked, record)


def _add_captures(router: APIRouter, reach: CrawlRegistry, indexes: PageIndexes) -> None:
    @router.get("/captures", responses=_OF_INDEX)
    def list_captures(crawl: str, url: Url) -> UrlCaptures:
        """List all captures of a URL, those that found it unchanged too, the newest first."""
        with indexes.asked(reach.crawl(crawl)) as asked:
            return object_list.url_captures(asked, url)

    @router.get("/captures/difference", responses={**_OF_INDEX, **problem_responses(NO_CAPTURE)})
    def compare_captures(crawl: str, before: Record, after: Record) -> CaptureDifference:
        """Show the text of two captures side by side, where it differs."""
        with indexes.asked(reach.crawl(crawl)) as asked:
            return object_list.capture_difference(asked, before, after)


def _add_objects(router: APIRouter, reach: CrawlRegistry, indexes: PageIndexes) -> None:
    @router.get("/objects", responses={**_OF_INDEX, **problem_responses(BAD_CURSOR, BAD_SEARCH)})
    def list_objects(
        crawl: str,
        type: Name = "",  # noqa: A002 (the name of the parameter in the URL)
        words: Annotated[Text, Query(description='Words, "phrases", -unwanted, or OR, as for `aah events`.')] = "",
        lacking: Lacking | None = None,
        deleted: bool | None = None,
        after: Cursor = "",
        limit: Limit = 50,
    ) -> ObjectList:
        """List objects, those found last first, by type, by words in title, author or body, and by what they lack."""
        with indexes.asked(reach.crawl(crawl)) as asked:
            return object_list.object_list(asked, ObjectFilter(type, words, lacking, deleted), after, limit)

    @router.get("/objects/counts", responses=_OF_INDEX)
    def count_objects(crawl: str) -> ObjectCounts:
        """Count objects by type, and how many have a title, an author and a date."""
        with indexes.asked(reach.crawl(crawl)) as asked:
            return object_list.object_counts(asked)

    @router.get("/objects/versions", responses={**_OF_INDEX, **problem_responses(NO_OBJECT)})
    def list_versions(crawl: str, iri: Url) -> ObjectHistory:
        """Show the versions of an object, and what changed between them, word by word."""
        with indexes.asked(reach.crawl(crawl)) as asked:
            return object_list.object_history(asked, iri)


def _add_course(router: APIRouter, reach: CrawlRegistry, indexes: PageIndexes) -> None:
    @router.get("/series", responses=_OF_INDEX)
    def show_course(crawl: str, number: Number = None) -> CrawlCourse:
        """Show harvest, relevance and speed of the latest crawl, or of the one of a number, in at most 400 points."""
        found = reach.crawl(crawl)
        with indexes.asked(found) as asked:
            return crawl_findings.crawl_course(asked, number or found.number)

    @router.get("/counts", responses=_OF_INDEX)
    def count_pages(crawl: str, number: Number = None) -> PageCounts:
        """Count captures by application and level, status and trap: of all crawls of the folder, or of one."""
        with indexes.asked(reach.crawl(crawl)) as asked:
            return crawl_findings.page_counts(asked, number or 0)


_QUERY = "application/sparql-query"
_EXAMPLE = "SELECT ?object { GRAPH ?capture { ?object aah:objectType 'comment' } } LIMIT 10"
_OF_STORES = problem_responses(NO_CRAWL, NO_FOLDER)
_RESPONSES: dict[int | str, dict[str, Any]] = {
    200: {"description": "SPARQL results", "content": {MEDIA_TYPE: {"schema": {"type": "object"}}}},
    **problem_responses(NO_CRAWL, BAD_SPARQL, NOT_LOADED, NO_FOLDER, STORE_BUSY, TOO_LONG, TOO_MUCH),
}


def sparql_routes(reach: CrawlRegistry, sparql: SparqlProcess) -> APIRouter:
    """Return the routes, all below one crawl."""
    router = APIRouter(prefix="/crawls/{crawl}/sparql", tags=["pages"])

    @router.get("", response_class=Response, responses=_RESPONSES)
    def ask(
        crawl: str, query: Annotated[str, Query(min_length=1, max_length=MAX_SPARQL_LENGTH, examples=[_EXAMPLE])]
    ) -> Response:
        """Answer SELECT or ASK over what was loaded of a crawl, in 20 seconds, 10,000 rows and 16 MiB at most."""
        return Response(sparql.ask(reach.crawl(crawl), query), media_type=MEDIA_TYPE)

    @router.post("", response_class=Response, responses=_RESPONSES, dependencies=[Depends(needs(Role.READ))])
    def ask_posted(
        crawl: str, query: Annotated[bytes, Body(media_type=_QUERY, min_length=1, max_length=4 * MAX_SPARQL_LENGTH)]
    ) -> Response:
        """Answer a query that is the body itself, in UTF-8, like GET."""
        try:
            text = query.decode()
        except UnicodeDecodeError:
            raise ProblemError(BAD_SPARQL, "send the query in UTF-8") from None
        return Response(sparql.ask(reach.crawl(crawl), text), media_type=MEDIA_TYPE)

    @router.get("/store", responses=_OF_STORES)
    def show_store(crawl: str) -> StoreView:
        """Show whether a crawl was loaded into its store, or is being loaded."""
        return sparql.store(reach.crawl(crawl))

    @router.post("/load", status_code=202, responses=_OF_STORES, dependencies=[Depends(needs(Role.OPERATE))])
    def load(crawl: str) -> StoreView:
        """Begin to load what is new of a crawl into its store, as `aah load` does."""
        return sparql.load(reach.crawl(crawl))

    return router


Values = Annotated[list[str], Query(max_length=20)]
Day = Annotated[str, Query(max_length=40, description="A year, month or day: 2026, 2026-01, 2026-01-31.")]


def search_routes(reach: CrawlRegistry, indexes: SearchIndexes) -> APIRouter:
    """Return the route."""
    router = APIRouter(tags=["search"])

    @router.get("/search", responses=problem_responses(NO_CRAWL, NOT_ARCHIVED, BAD_SEARCH))
    def search_crawls(
        q: Annotated[
            str,
            Query(
                max_length=MAX_QUERY_LENGTH,
                description='Words, "phrases", -unwanted, OR, begin*, author:jo, date:2013.',
            ),
        ] = "",
        crawl: Values = [],  # noqa: B006 (read alone)
        kind: Values = [],  # noqa: B006
        type: Values = [],  # noqa: A002, B006 (the name of the parameter in the URL)
        site: Values = [],  # noqa: B006
        author: Values = [],  # noqa: B006
        application: Values = [],  # noqa: B006
        language: Values = [],  # noqa: B006
        media_type: Values = [],  # noqa: B006
        since: Day = "",
        until: Day = "",
        by: Annotated[Literal["published", "captured"], Query(description="What `since` and `until` mean.")] = (
            "published"
        ),
        as_of: Annotated[str, Query(max_length=40, description="What was there at the end of that day.")] = "",
        versions: Annotated[
            Literal["last", "all"], Query(description="The last version of each thing, or all of them.")
        ] = "last",
        order: Literal["relevance", "newest", "oldest", "captured"] = "relevance",
        like: Annotated[
            str, Query(max_length=MAX_LENGTH, description="The URL of a page or object that others are like.")
        ] = "",
        folded: Annotated[bool, Query(description="Near duplicates under one result.")] = True,
        facets: bool = True,
        limit: Annotated[int, Query(ge=1, le=100)] = 10,
        offset: Annotated[int, Query(ge=0, le=1_000)] = 0,
    ) -> SearchResults:
        """Search pages, web objects and media of all crawls, or of some, and count what was found by its values."""
        filters = {"kind": kind, "type": type, "site": site, "author": author, "application": application}
        question = question_of(
            q,
            {**filters, "language": language, "media_type": media_type},
            {"since": since, "until": until, "as_of": as_of},
            Question(
                timed=by,
                scope=versions,
                order=order,
                limit=limit,
                offset=offset,
                is_folded=folded,
                counts_facets=facets,
                like=like,
            ),
        )
        return results_of(reach, indexes, question, crawl)

    return router


_OF_ALL = problem_responses(NO_CRAWL, NO_FOLDER, NOT_READY, NOT_ENRICHED)
_OF_ONE = problem_responses(NO_CRAWL, NO_FOLDER, NOT_READY, NOT_ENRICHED, NO_PAGE, NOT_SPOKEN_OF)
Meant = Annotated[str, Query(max_length=2_000, description="Its IRI, or its label where it has none.")]
_DAY: Final = r"^ *([0-9]{4}(-(0[1-9]|1[0-2])(-(0[1-9]|[12][0-9]|3[01]))?)?)? *$"
"""A year, a month or a day, as ISO 8601 writes them."""


def _day(text: str) -> str:
    if not re.fullmatch(_DAY, text):
        raise ValueError("is no date; write a year, a month or a day, such as 2026, 2026-01 or 2026-01-31")
    return text.strip()


SpanEnd = Annotated[str, AfterValidator(_day)]


def span_asked(
    since: Annotated[
        SpanEnd,
        Query(json_schema_extra={"pattern": _DAY}, description="Published then or later: a year, a month or a day."),
    ] = "",
    until: Annotated[SpanEnd, Query(json_schema_extra={"pattern": _DAY}, description="Published then or before.")] = "",
) -> TimeSpan:
    """Return the span of publication dates that a request names, its ends in order."""
    is_turned = since and until and until < since[: len(until)]
    return TimeSpan(until, since) if is_turned else TimeSpan(since, until)


Span = Annotated[TimeSpan, Depends(span_asked)]


def spoken_routes(reach: CrawlRegistry, indexes: PageIndexes) -> APIRouter:
    """Return the routes, all below one crawl."""
    router = APIRouter(prefix="/crawls/{crawl}", tags=["annotations"])

    @router.get("/spoken-of", responses=_OF_ALL)
    def list_spoken_of(crawl: str, span: Span) -> CrawlSpokenOf:
        """List what a crawl speaks of: topics, organisations, places, keywords and events, the most frequent first.

        Within a span of dates it is what objects that were published then speak of; months are those of all.
        """
        found = reach.crawl(crawl)
        with enriched_of(indexes, found) as enriched:
            return crawl_spoken_of(enriched, span).shown_by(AnnotationSettings.of(found.folder))

    @router.get("/spoken-of/{kind}", responses=_OF_ONE)
    def show_spoken_of(crawl: str, kind: Kind, of: Meant, span: Span) -> SpokenOfOne:
        """Show where something is spoken of, over time, with what else, and opinions in sentences that name it.

        Within a span of dates all but the months is of the objects that were published then.
        """
        found = reach.crawl(crawl)
        with enriched_of(indexes, found) as enriched:
            return spoken_of(enriched, kind, of, AnnotationSettings.of(found.folder), span)

    @router.get("/conversations", responses=_OF_ALL)
    def show_conversations(
        crawl: str,
        span: Span,
        site: Annotated[str, Query(max_length=300, description="Without it, the one with the most.")] = "",
    ) -> Conversation:
        """Show who answers whom on a site; names of people only where the institution has turned them on.

        Within a span of dates it is the answers that were published then; influence and communities are of all times.
        """
        found = reach.crawl(crawl)
        with enriched_of(indexes, found) as enriched:
            return Talk(enriched, site, named=AnnotationSettings.of(found.folder).people, span=span).told()

    return router
