"""Routes that steer crawls: create, describe, change, pause, score, exclude, delete."""

import asyncio
import json
import time
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Query, Response
from pydantic import BaseModel, ConfigDict, Field, JsonValue, RootModel, StrictBool

from aahcrawler.crawl_collections import Collection
from aahcrawler.frontier.control import Rule, RuleKind
from aahcrawler.service.catalog.crawl_catalog import Crawl
from aahcrawler.service.catalog.gateway import AskingAgain
from aahcrawler.service.instruments import Instruments
from aahcrawler.service.steering import crawl_management, redefining, starting_crawls, url_scores
from aahcrawler.service.steering.crawl_management import Deleted, Description
from aahcrawler.service.steering.long_jobs import UNDER_WAY, JobView
from aahcrawler.service.steering.redefining import Redefined, Section, preview_scope, preview_weights
from aahcrawler.service.steering.starting_crawls import MAX_WORKERS, Created, Ending, Starting
from aahcrawler.service.steering.steering_log import MAX_ACTS, Acts, read_acts
from aahcrawler.service.steering.steering_service import SteeringService
from aahcrawler.service.steering.url_scores import (
    MAX_RULES,
    MAX_WAIT,
    Admission,
    Excluded,
    Exclusions,
    Paused,
    Readmitted,
    UrlDone,
    rule_of,
)
from aahcrawler.service.web import problems
from aahcrawler.service.web.problems import Shown, problem_responses
from aahcrawler.service.web.roles import Caller, Role, needs
from aahcrawler.urls import MAX_LENGTH

_STRICT = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)
MAX_DEFINITION_LENGTH = 2 * 2**20
Url = Annotated[str, Field(min_length=1, max_length=4 * MAX_LENGTH, examples=["https://forum.example.org/thread/17"])]
Number = Annotated[int, Field(strict=True)]
Size = Annotated[Number | str | None, Field(examples=["20 GB"])]
Score = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False, strict=True)]
_SOME: dict[str, JsonValue] = {"minProperties": 1}


class Site(BaseModel):
    """A site, by any of its hosts: its pay-level domain is meant."""

    model_config = _STRICT

    site: Annotated[str, Field(min_length=1, max_length=300, examples=["forum.example.org"])]


class Start(BaseModel):
    """How a crawl is started. ``workers`` is the number of processes, as in the last time where it is left out."""

    model_config = _STRICT

    accept_changes: StrictBool = False
    workers: Annotated[int, Field(ge=1, le=MAX_WORKERS, strict=True)] | None = None


class RuleAsked(BaseModel):
    """A rule: a URL, all URLs that begin with a text, a host with all below it, or a pattern."""

    model_config = _STRICT

    kind: RuleKind
    text: Annotated[str, Field(min_length=1, max_length=MAX_LENGTH, examples=["calendar.example.org"])]


class RulesAsked(BaseModel):
    """Rules."""

    model_config = ConfigDict(
        **_STRICT, json_schema_extra={"examples": [{"rules": [{"kind": "host", "text": "ads.example.org"}]}]}
    )

    rules: Annotated[tuple[RuleAsked, ...], Field(min_length=1, max_length=MAX_RULES)]


class Scored(BaseModel):
    """A queued URL and the score that it is to have."""

    model_config = _STRICT

    url: Url
    score: Score


class Named(BaseModel):
    """A URL."""

    model_config = _STRICT

    url: Url


class Revisited(BaseModel):
    """A fetched page that is to be fetched again in so many seconds, with the score that it is queued with then."""

    model_config = _STRICT

    url: Url
    seconds: Annotated[float, Field(ge=0, le=MAX_WAIT, allow_inf_nan=False, strict=True)] = 0.0
    score: Score = 1.0


class LimitsAsked(BaseModel):
    """Limits to be changed, as a definition writes them; null puts one back to its default."""

    model_config = ConfigDict(**_STRICT, json_schema_extra=_SOME)

    pages: Number | None = None
    bytes: Size = None
    time: Annotated[str | None, Field(examples=["3 hours"])] = None
    pages_per_domain: Number | None = None
    requisite_bytes: Size = None
    requisite_file_bytes: Size = None
    requisites_per_page: Number | None = None
    requisites_per_style_sheet: Number | None = None
    parts_per_stream: Number | None = None
    stream_lines: Number | None = None
    browser_pages: Number | None = None
    browser_time: Annotated[str | None, Field(examples=["2 hours"])] = None


Analyser = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_-]{0,99}$")]
Weight = Annotated[float, Field(ge=0, allow_inf_nan=False, strict=True)]


class WeightsAsked(RootModel[dict[Analyser, Weight | None]]):
    """Weights to be changed, by analyser; null puts one back to its default."""

    model_config = ConfigDict(
        frozen=True, json_schema_extra={**_SOME, "additionalProperties": False, "examples": [{"text": 1, "url": 0.5}]}
    )


class ScopeAsked(BaseModel):
    """Fields of the scope to be changed, as a definition writes them; null puts one back to its default."""

    model_config = ConfigDict(**_STRICT, json_schema_extra=_SOME)

    sites: Literal["seeds", "anywhere"] | None = None
    allow: tuple[str, ...] | None = None
    deny: tuple[str, ...] | None = None
    languages: tuple[str, ...] | None = None
    depth: Number | None = None
    canonical: dict[str, JsonValue] | None = None
    rules: tuple[dict[str, JsonValue], ...] | None = None


class DefinitionAsked(BaseModel):
    """A definition as its file would have it, in YAML or JSON, and whether its crawl is to be started at once."""

    model_config = _STRICT

    definition: Annotated[str, Field(min_length=1, max_length=MAX_DEFINITION_LENGTH)] | dict[str, JsonValue]
    start: StrictBool = False


class TextAsked(BaseModel):
    """The text of a definition, and the digest of the one that it takes the place of."""

    model_config = _STRICT

    text: Annotated[str, Field(min_length=1, max_length=MAX_DEFINITION_LENGTH)]
    digest: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]


class DefinitionText(Shown):
    """The text of a crawl's definition, and its digest, by which the next change names it."""

    text: str
    digest: str


class DescriptionAsked(Description):
    """What a crawl is to be called and described by; what is left out is empty then."""


class CollectionAsked(Collection):
    """What a collection is to be; what is left out is empty then."""


class CopyAsked(BaseModel):
    """The title of a crawl that is to be defined as another one."""

    model_config = _STRICT

    title: Annotated[str, Field(min_length=1, max_length=1000, examples=["The flood, once more"])]


Operator = Annotated[Caller, Depends(needs(Role.OPERATE))]
AskedUrl = Annotated[str, Query(max_length=4 * MAX_LENGTH, examples=["https://forum.example.org/"])]
_LOOK_EVERY = 0.1
OF_CRAWLS = problem_responses(problems.NO_CRAWL, problems.CONFLICT, problems.NOT_RUNNING)
_OF_RULES = problem_responses(problems.NO_CRAWL, problems.BAD_RULE, problems.NOT_RUNNING)
_OF_URLS = problem_responses(problems.NO_URL, problems.BAD_URL, problems.CONFLICT, problems.OVER, problems.NOT_RUNNING)


def steering_routes(helm: SteeringService) -> APIRouter:
    """Return the routes, all below one crawl."""
    router = APIRouter(prefix="/crawls/{crawl}", route_class=AskingAgain, tags=["steering"])
    _add_pausing(router, helm)
    _add_starting(router, helm)
    _add_exclusions(router, helm)
    _add_jobs(router, helm)
    _add_urls(router, helm)
    return router


def _add_pausing(router: APIRouter, helm: SteeringService) -> None:
    reach = helm.reach

    @router.post("/pause", responses=OF_CRAWLS)
    def pause(crawl: str, caller: Operator) -> Paused:
        """Fetch nothing more of a crawl until it is resumed; what is being fetched is brought to its end."""
        return url_scores.pause(reach, reach.crawl(crawl), caller.name)

    @router.post("/resume", responses=OF_CRAWLS)
    def resume(crawl: str, caller: Operator) -> Paused:
        """Have a paused crawl go on."""
        return url_scores.resume(reach, reach.crawl(crawl), caller.name)

    @router.post("/sites/pause", responses={**OF_CRAWLS, **problem_responses(problems.BAD_SITE)})
    def pause_site(crawl: str, asked: Site, caller: Operator) -> Paused:
        """Fetch nothing more of a site, in all crawls that share the server."""
        return url_scores.pause_site(reach, reach.crawl(crawl), caller.name, asked.site)

    @router.post("/sites/resume", responses={**OF_CRAWLS, **problem_responses(problems.BAD_SITE)})
    def resume_site(crawl: str, asked: Site, caller: Operator) -> Paused:
        """Fetch from a paused site again."""
        return url_scores.resume_site(reach, reach.crawl(crawl), caller.name, asked.site)

    @router.get("/steering", responses=problem_responses(problems.NO_CRAWL))
    def steering(crawl: str, number: Annotated[int, Query(ge=1, le=MAX_ACTS)] = 100) -> Acts:
        """List what was done to a crawl, when and by whom, the newest first."""
        return read_acts(reach.crawl(crawl), number)


def _add_starting(router: APIRouter, helm: SteeringService) -> None:
    reach = helm.reach

    @router.post("/stop", responses=OF_CRAWLS)
    def stop(crawl: str, caller: Operator) -> Ending:
        """Ask a crawl to end in good order, as Ctrl-C does; it goes on when it is started again."""
        return starting_crawls.stop(reach, helm.processes, reach.crawl(crawl), caller.name)

    @router.post("/start", responses={**OF_CRAWLS, **problem_responses(problems.NOT_STARTED, problems.BAD_DEFINITION)})
    def start(crawl: str, caller: Operator, asked: Start | None = None) -> Starting:
        """Start a crawl, in a process of its own that outlives this service; answers once it runs, or did not start."""
        how = asked or Start()
        return starting_crawls.start(
            reach,
            helm.definitions,
            helm.processes,
            reach.crawl(crawl),
            caller.name,
            accept_changes=how.accept_changes,
            workers=how.workers,
        )


def _add_exclusions(router: APIRouter, helm: SteeringService) -> None:
    reach = helm.reach

    @router.get("/exclusions", responses=OF_CRAWLS)
    def list_exclusions(crawl: str) -> Exclusions:
        """List the rules that keep URLs from being fetched."""
        return url_scores.exclusions(reach, reach.crawl(crawl))

    @router.post("/exclusions", responses=_OF_RULES)
    def exclude(crawl: str, asked: RulesAsked, caller: Operator) -> Excluded:
        """Put rules in force; what they name is not fetched, whether it waits or is found later."""
        found = reach.crawl(crawl)
        return url_scores.exclude(reach, found, caller.name, _rules(found, asked))

    @router.delete("/exclusions", responses={**_OF_RULES, **problem_responses(problems.NO_RULE)})
    def readmit(
        crawl: str, caller: Operator, kind: RuleKind, text: Annotated[str, Query(max_length=MAX_LENGTH)]
    ) -> Readmitted:
        """Take a rule back; what it kept out waits again, with the scores that it had."""
        found = reach.crawl(crawl)
        return url_scores.readmit(reach, found, caller.name, [rule_of(found, kind, text)])

    @router.post("/exclusions/preview", status_code=202, responses=_OF_RULES)
    def preview(crawl: str, asked: RulesAsked, caller: Operator) -> JobView:
        """Find out what rules would match, in a job; its result counts what waits and what was fetched."""
        found = reach.crawl(crawl)
        return url_scores.preview(reach, helm.jobs, found, caller.name, _rules(found, asked))


def _add_jobs(router: APIRouter, helm: SteeringService) -> None:
    @router.get("/jobs/{job}", responses=problem_responses(problems.NO_JOB))
    async def show_job(
        crawl: str, job: str, wait: Annotated[float, Query(ge=0, le=20, description="Seconds to wait for its end.")] = 0
    ) -> JobView:
        """Report how far a job is, and its result once it is done."""
        shown, deadline = helm.jobs.job(crawl, job), time.monotonic() + wait
        # Whoever waits takes no thread, of which there are few.
        while shown.state in UNDER_WAY and time.monotonic() < deadline:
            await asyncio.sleep(_LOOK_EVERY)
            shown = helm.jobs.job(crawl, job)
        return shown

    @router.delete("/jobs/{job}", responses=problem_responses(problems.NO_JOB))
    def cancel_job(crawl: str, job: str, _caller: Operator) -> JobView:
        """Give a job up, or forget its result."""
        return helm.jobs.cancel(crawl, job)


def _add_urls(router: APIRouter, helm: SteeringService) -> None:
    reach = helm.reach

    @router.post("/rescore", responses=_OF_URLS)
    def rescore(crawl: str, asked: Scored, caller: Operator) -> UrlDone:
        """Set the score of a queued page, whatever it had."""
        return url_scores.rescore(reach, reach.crawl(crawl), caller.name, asked.url, asked.score)

    @router.post("/fetch-now", responses=_OF_URLS)
    def fetch_now(crawl: str, asked: Named, caller: Operator) -> UrlDone:
        """Have a URL fetched before everything that is not immediate, as soon as its site's delay allows."""
        return url_scores.fetch_now(reach, reach.crawl(crawl), caller.name, asked.url)

    @router.post("/revisit", responses=_OF_URLS)
    def revisit(crawl: str, asked: Revisited, caller: Operator) -> UrlDone:
        """Have a fetched page fetched again, now or later."""
        return url_scores.revisit(reach, reach.crawl(crawl), caller.name, asked.url, asked.seconds, asked.score)

    @router.post("/unblock", responses=_OF_URLS)
    def unblock(crawl: str, asked: Named, caller: Operator) -> UrlDone:
        """Let a blocked URL go, unless a wider rule or the scope keeps it out."""
        return url_scores.unblock(reach, reach.crawl(crawl), caller.name, asked.url)

    @router.get("/admission", responses=problem_responses(problems.NO_CRAWL, problems.BAD_URL))
    def admission(crawl: str, url: AskedUrl) -> Admission:
        """Say whether the scope lets a URL in, and what to change where it does not."""
        return url_scores.admission(reach.crawl(crawl), url)


def _rules(crawl: Crawl, asked: RulesAsked) -> tuple[Rule, ...]:
    return tuple(dict.fromkeys(rule_of(crawl, rule.kind, rule.text) for rule in asked.rules))


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
