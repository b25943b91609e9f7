"""Routes that answer SPARQL over a crawl, as the SPARQL 1.1 protocol has it, for SELECT and ASK."""

from typing import Annotated, Any

from fastapi import APIRouter, Body, Depends, Query, Response

from aahcrawler.service.api.problem_responses import problem_responses
from aahcrawler.service.catalog.reach import Reach
from aahcrawler.service.views.page_indexes import NO_FOLDER
from aahcrawler.service.views.sparql_answers import (
    BAD_SPARQL,
    LONGEST,
    MEDIA_TYPE,
    NOT_LOADED,
    STORE_BUSY,
    TOO_LONG,
    TOO_MUCH,
    SparqlAnswers,
    StoreShown,
)
from aahcrawler.service.web.problems import NO_CRAWL, ProblemError
from aahcrawler.service.web.roles import Role, needs

_QUERY = "application/sparql-query"
_EXAMPLE = "SELECT ?object { GRAPH ?capture { ?object aah:objectType 'comment' } } LIMIT 10"
_OF_STORES = problem_responses(NO_CRAWL, NO_FOLDER)
_ANSWERS: dict[int | str, dict[str, Any]] = {
    200: {"description": "SPARQL results", "content": {MEDIA_TYPE: {"schema": {"type": "object"}}}},
    **problem_responses(NO_CRAWL, BAD_SPARQL, NOT_LOADED, NO_FOLDER, STORE_BUSY, TOO_LONG, TOO_MUCH),
}


def sparql_routes(reach: Reach, answers: SparqlAnswers) -> APIRouter:
    """Return the routes, all below one crawl."""
    router = APIRouter(prefix="/crawls/{crawl}/sparql", tags=["pages"])

    @router.get("", response_class=Response, responses=_ANSWERS)
    def ask(
        crawl: str, query: Annotated[str, Query(min_length=1, max_length=LONGEST, examples=[_EXAMPLE])]
    ) -> Response:
        """Answer SELECT or ASK over what was loaded of a crawl, in 20 seconds, 10,000 rows and 16 MiB at most."""
        return Response(answers.ask(reach.crawl(crawl), query), media_type=MEDIA_TYPE)

    @router.post("", response_class=Response, responses=_ANSWERS, dependencies=[Depends(needs(Role.READ))])
    def ask_posted(
        crawl: str, query: Annotated[bytes, Body(media_type=_QUERY, min_length=1, max_length=4 * LONGEST)]
    ) -> Response:
        """Answer a query that is the body itself, in UTF-8, like GET."""
        try:
            text = query.decode()
        except UnicodeDecodeError:
            raise ProblemError(BAD_SPARQL, "send the query in UTF-8") from None
        return Response(answers.ask(reach.crawl(crawl), text), media_type=MEDIA_TYPE)

    @router.get("/store", responses=_OF_STORES)
    def show_store(crawl: str) -> StoreShown:
        """Show whether a crawl was loaded into its store, or is being loaded."""
        return answers.store(reach.crawl(crawl))

    @router.post("/load", status_code=202, responses=_OF_STORES, dependencies=[Depends(needs(Role.OPERATE))])
    def load(crawl: str) -> StoreShown:
        """Begin to load what is new of a crawl into its store, as `aah load` does."""
        return answers.load(reach.crawl(crawl))

    return router
