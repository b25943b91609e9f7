"""Routes that create, describe, copy, change and delete crawls."""

import json
from typing import Annotated

from fastapi import APIRouter, Query, Response

from aahcrawler.service.api.steering_routes import (
    OF_CRAWLS,
    CopyAsked,
    DefinitionAsked,
    DefinitionText,
    DescriptionAsked,
    LimitsAsked,
    Operator,
    ScopeAsked,
    TextAsked,
    WeightsAsked,
)
from aahcrawler.service.instruments import Instruments
from aahcrawler.service.steering import crawl_management, redefining, starting_crawls
from aahcrawler.service.steering.crawl_management import Deleted, Description
from aahcrawler.service.steering.long_jobs import JobView
from aahcrawler.service.steering.order_preview import preview_weights
from aahcrawler.service.steering.redefining import Redefined, Section
from aahcrawler.service.steering.scope_preview import preview_scope
from aahcrawler.service.steering.starting_crawls import Created
from aahcrawler.service.steering.steering_service import SteeringService
from aahcrawler.service.web import problems
from aahcrawler.service.web.problems import problem_responses

_MISTAKES = {**OF_CRAWLS, **problem_responses(problems.BAD_DEFINITION)}

_OF_JOBS = {**_MISTAKES, 202: {"description": "A preview has begun, in a job", "model": JobView}}
Preview = Annotated[bool, Query(description="Change nothing; say what would change.")]


def definition_routes(helm: SteeringService) -> APIRouter:
    """Return the routes."""
    router = APIRouter(prefix="/crawls", tags=["definitions"])
    _add_whole(router, helm)
    _add_fields(router, helm)
    return router


def _add_whole(router: APIRouter, helm: SteeringService) -> None:
    reach = helm.reach

    @router.post("", status_code=201, responses={**_MISTAKES, **problem_responses(problems.NOT_STARTED)})
    def create(asked: DefinitionAsked, caller: Operator) -> Created:
        """Create a crawl from a definition, which must have no mistakes, and start it if that is asked for."""
        given = asked.definition
        # JSON is YAML: what is sent as an object is kept as it would be written by hand.
        text = given if isinstance(given, str) else json.dumps(given, ensure_ascii=False, indent=1) + "\n"
        return starting_crawls.create(reach, helm.definitions, helm.processes, caller, text, begin=asked.start)

    @router.get("/{crawl}/definition", responses=_MISTAKES)
    def show_definition(crawl: str) -> DefinitionText:
        """Return the text of a definition as it is written, comments included."""
        held = helm.definitions.read(reach.crawl(crawl))
        return DefinitionText(text=held.text, digest=held.digest)

    @router.put("/{crawl}/definition", responses=_MISTAKES)
    def replace_definition(crawl: str, asked: TextAsked, caller: Operator) -> Redefined:
        """Write a definition anew, if nobody has changed it since it was read."""
        return redefining.replace(reach, helm.definitions, reach.crawl(crawl), caller, asked.text, asked.digest)


def _add_fields(router: APIRouter, helm: SteeringService) -> None:
    reach, definitions = helm.reach, helm.definitions

    @router.put("/{crawl}/limits", responses=_MISTAKES)
    def change_limits(crawl: str, asked: LimitsAsked, caller: Operator, preview: Preview = False) -> Redefined:
        """Change limits; with `preview` only say what would change, and what is left then."""
        fields = asked.model_dump(exclude_unset=True)
        found = reach.crawl(crawl)
        return redefining.change(reach, definitions, found, caller.name, Section.LIMITS, fields, preview=preview)

    @router.put("/{crawl}/weights", responses=_OF_JOBS)
    def change_weights(
        crawl: str, asked: WeightsAsked, caller: Operator, response: Response, preview: Preview = False
    ) -> Redefined | JobView:
        """Change weights; with `preview` begin a job that tells the order of the queue before and after."""
        found, fields = reach.crawl(crawl), dict(asked.root)
        if preview:
            response.status_code = 202
            return preview_weights(reach, helm.jobs, definitions, found, caller.name, fields)
        return redefining.change(reach, definitions, found, caller.name, Section.WEIGHTS, fields)

    @router.put("/{crawl}/scope", responses=_OF_JOBS)
    def change_scope(
        crawl: str, asked: ScopeAsked, caller: Operator, response: Response, preview: Preview = False
    ) -> Redefined | JobView:
        """Change the scope; with `preview` begin a job that counts what would be blocked, and what would come back."""
        found, fields = reach.crawl(crawl), asked.model_dump(mode="json", exclude_unset=True)
        if preview:
            response.status_code = 202
            return preview_scope(reach, helm.jobs, definitions, found, caller.name, fields)
        return redefining.change(reach, definitions, found, caller.name, Section.SCOPE, fields)


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
        return crawl_management.describe(helm.definitions, reach.crawl(crawl), caller.name, asked)

    @router.post("/copy", status_code=201, responses=_MISTAKES)
    def copy(crawl: str, asked: CopyAsked, caller: Operator) -> Created:
        """Create a crawl that is defined as this one, under another title; it is not started."""
        return crawl_management.copy(helm, reach.crawl(crawl), caller, asked.title)

    @router.delete("", responses=OF_CRAWLS)
    def delete(
        crawl: str,
        _caller: Operator,
        confirm: Annotated[str, Query(max_length=100, description="The id of the crawl once more.")],
    ) -> Deleted:
        """Delete a crawl that does not run, with all that it has archived."""
        return crawl_management.delete(helm, reach.crawl(crawl), confirm, instruments.forget)

    return router
