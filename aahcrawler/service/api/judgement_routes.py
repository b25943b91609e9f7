"""Routes for judgements: people's opinions on pages, samples to judge, and membership of a collection."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Path, Query, Response
from pydantic import BaseModel, ConfigDict, Field, StrictBool

from aahcrawler.annotations.judgements import (
    MAX_COMMENT,
    MAX_SAMPLE,
    USUAL,
    DrawnPage,
    Grade,
    MemberAnswer,
    Order,
    Wanted,
)
from aahcrawler.report.judged_collection import Evaluation
from aahcrawler.service.instruments import Instruments
from aahcrawler.service.steering.judging import Opinion, change_membership, draw_sample, judge_page
from aahcrawler.service.views.judged_pages import (
    JudgementView,
    MembershipView,
    SampleView,
    evaluation,
    judging,
)
from aahcrawler.service.views.page_indexes import NO_FOLDER, NOT_READY
from aahcrawler.service.web.problems import BAD_URL, CONFLICT, NO_CRAWL, NO_SAMPLE, NO_URL, Shown, problem_responses
from aahcrawler.service.web.roles import Caller, Role, needs
from aahcrawler.urls import MAX_LENGTH

_STRICT = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)
MAX_SEED = 2**31 - 1
Number = Annotated[int, Path(ge=1, le=1_000_000, description="The number of the sample.")]
Url = Annotated[str, Field(min_length=1, max_length=4 * MAX_LENGTH, examples=["https://forum.example.org/thread/17"])]
Text = Annotated[str, Field(max_length=MAX_COMMENT)]
Judge = Annotated[Caller, Depends(needs(Role.JUDGE))]
Operator = Annotated[Caller, Depends(needs(Role.OPERATE))]
_READ = problem_responses(NO_CRAWL, NO_FOLDER, CONFLICT)
_INDEXED = {**_READ, **problem_responses(NOT_READY)}


class JudgementAsked(BaseModel):
    """What is said of a page; without a grade what the caller said of it before is withdrawn."""

    model_config = _STRICT

    url: Url
    grade: Grade | None
    comment: Text = ""
    sample: Annotated[int | None, Field(ge=1, le=1_000_000, strict=True)] = None


class SampleAsked(BaseModel):
    """Which pages are to be drawn."""

    model_config = _STRICT

    pages: Annotated[int, Field(ge=1, le=MAX_SAMPLE, strict=True)] = USUAL
    order: Order = Order.LOT
    seed: Annotated[int, Field(ge=0, le=MAX_SEED, strict=True)] = 0
    members: StrictBool = False


class MembershipAsked(BaseModel):
    """Whether a page is a member of the collection; null to have its relevance decide again."""

    model_config = _STRICT

    url: Url
    member: StrictBool | None
    reason: Text = ""


class JudgementList(Shown):
    """Some of the judgements; ``next`` is where those behind them begin, None at the end."""

    judgements: tuple[JudgementView, ...]
    total: int
    next: int | None


class SampleWithPages(Shown):
    """A sample and its pages, in the order in which they are judged."""

    sample: SampleView
    pages: tuple[DrawnPage, ...]


class EvaluationView(Shown):
    """What judgements say of a collection, and what that rests on, in words."""

    evaluation: Evaluation
    basis: str


def judgement_routes(instruments: Instruments) -> APIRouter:
    """Return the routes for judgements."""
    router = APIRouter(prefix="/crawls/{crawl}", tags=["judgements"])
    _add_views(router, instruments)
    _add_acts(router, instruments)
    return router


def _add_views(router: APIRouter, instruments: Instruments) -> None:
    reach, indexes = instruments.reach, instruments.indexes

    @router.get("/judgements", responses=_READ)
    def list_judgements(
        crawl: str,
        after: Annotated[int, Query(ge=0, le=10_000_000, description="`next` of the answer before.")] = 0,
        limit: Annotated[int, Query(ge=1, le=1_000)] = 100,
    ) -> JudgementList:
        """List what people judged, in the order in which they first did; of each judge and page the last judgement."""
        made = tuple(judging(reach.crawl(crawl)).judgement_views())
        following = after + limit if after + limit < len(made) else None
        return JudgementList(judgements=made[after : after + limit], total=len(made), next=following)

    @router.get("/judgements/evaluation", responses={**_INDEXED, **problem_responses(NO_SAMPLE)})
    def evaluate_judgements(
        crawl: str,
        grade: Annotated[
            Literal["highly-relevant", "relevant"], Query(description="The least grade that is relevant.")
        ] = "relevant",
        sample: Annotated[int | None, Query(ge=1, le=1_000_000, description="By this sample alone.")] = None,
    ) -> EvaluationView:
        """Return precision, recall and break-even point of the collection by the judgements, and how judges agree."""
        found = reach.crawl(crawl)
        known = judging(found)
        with indexes.asked(found) as asked:
            measured = evaluation(asked, known, Grade(grade), sample)
        return EvaluationView(evaluation=measured, basis=measured.basis)

    @router.get("/judgements/samples", responses=_READ)
    def list_samples(crawl: str) -> Sequence[SampleView]:
        """List the samples that were drawn, with the progress of their judges."""
        return judging(reach.crawl(crawl)).views()

    @router.get("/judgements/samples/{number}", responses={**_READ, **problem_responses(NO_SAMPLE)})
    def show_sample(crawl: str, number: Number) -> SampleWithPages:
        """Show the pages of a sample."""
        known = judging(reach.crawl(crawl))
        drawn = known.sample(number).drawn
        return SampleWithPages(sample=known.views()[number - 1], pages=drawn)

    @router.get("/membership", responses=_READ)
    def list_membership(crawl: str) -> Sequence[MembershipView]:
        """List the pages that people made members of the collection, or none."""
        return judging(reach.crawl(crawl)).membership_views()


def _add_acts(router: APIRouter, instruments: Instruments) -> None:
    reach, indexes = instruments.reach, instruments.indexes
    changed: Mapping[int | str, dict[str, object]] = {**_INDEXED, **problem_responses(BAD_URL, NO_URL, NO_SAMPLE)}

    @router.post("/judgements", status_code=204, responses={**changed})
    def post_judgement(crawl: str, asked: JudgementAsked, caller: Judge) -> None:
        """Judge a page by the caller's name, or withdraw what they said of it. It is on disk when this is answered."""
        judge_page(
            indexes, reach.crawl(crawl), Opinion(asked.url, asked.grade, asked.comment, asked.sample), caller.name
        )

    @router.post("/judgements/samples", status_code=201, responses=_INDEXED)
    def post_sample(crawl: str, asked: SampleAsked, caller: Judge, response: Response) -> SampleWithPages:
        """Draw pages to judge."""
        found = reach.crawl(crawl)
        wanted = Wanted(asked.order, asked.pages, asked.seed, asked.members)
        number = draw_sample(indexes, found, wanted, caller.name)
        response.headers["Location"] = f"/v1/crawls/{crawl}/judgements/samples/{number}"
        known = judging(found)
        return SampleWithPages(sample=known.views()[number - 1], pages=known.sample(number).drawn)

    @router.put("/membership", status_code=204, responses={**changed})
    def put_membership(crawl: str, asked: MembershipAsked, caller: Operator) -> None:
        """Make a page a member of the collection, or none, whatever its relevance."""
        answers = {True: MemberAnswer.MEMBER, False: MemberAnswer.NOT_MEMBER, None: MemberAnswer.UNDECIDED}
        change_membership(indexes, reach.crawl(crawl), asked.url, answers[asked.member], asked.reason, caller.name)
