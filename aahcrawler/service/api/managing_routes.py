"""Routes that describe, copy and delete crawls."""

from typing import Annotated

from fastapi import APIRouter, Query

from aahcrawler.service.api.problem_responses import problem_responses
from aahcrawler.service.api.steering_requests import CopyAsked, DescriptionAsked
from aahcrawler.service.api.steering_routes import OF_CRAWLS, Operator
from aahcrawler.service.instruments import Instruments
from aahcrawler.service.steering import copying, deleting, describing
from aahcrawler.service.steering.deleting import Deleted
from aahcrawler.service.steering.describing import Description
from aahcrawler.service.steering.starting_crawls import Created
from aahcrawler.service.web import problems

_MISTAKES = {**OF_CRAWLS, **problem_responses(problems.BAD_DEFINITION)}


def managing_routes(instruments: Instruments) -> APIRouter:
    """Return the routes, all of one crawl."""
    router = APIRouter(prefix="/crawls/{crawl}", tags=["managing"])
    helm, reach = instruments.helm, instruments.reach

    @router.get("/description", responses=OF_CRAWLS)
    def show_description(crawl: str) -> Description:
        """Return what a crawl is called and described by, in the terms of Dublin Core."""
        return Description.of(reach.crawl(crawl).icd)

    @router.put("/description", responses=_MISTAKES)
    def describe(crawl: str, asked: DescriptionAsked, caller: Operator) -> Description:
        """Write another description into the definition of a crawl; what is left out is empty then."""
        return describing.describe(helm.definitions, reach.crawl(crawl), caller.name, asked)

    @router.post("/copy", status_code=201, responses=_MISTAKES)
    def copy(crawl: str, asked: CopyAsked, caller: Operator) -> Created:
        """Create a crawl that is defined as this one, under another title; it is not started."""
        return copying.copy(helm, reach.crawl(crawl), caller, asked.title)

    @router.delete("", responses=OF_CRAWLS)
    def delete(
        crawl: str,
        _caller: Operator,
        confirm: Annotated[str, Query(max_length=100, description="The id of the crawl once more.")],
    ) -> Deleted:
        """Delete a crawl that does not run, with all that it has archived."""
        return deleting.delete(helm, reach.crawl(crawl), confirm, instruments.forget)

    return router
