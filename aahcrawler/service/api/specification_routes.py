"""Routes for collections: named sets of crawls and imports, and collections made from archives by a specification."""

import asyncio
import time
from collections.abc import Iterator, Sequence
from io import BytesIO
from typing import Annotated, Final, Literal

from fastapi import APIRouter, Header, Path, Query, Response
from pydantic import Field
from starlette.responses import StreamingResponse

from aahcrawler.overview.link_graph import SiteLinks, write_graphml
from aahcrawler.service.api.page_routes import Cursor, Limit
from aahcrawler.service.api.steering_routes import CollectionAsked, Operator
from aahcrawler.service.catalog.crawl_catalog import Crawl
from aahcrawler.service.instruments import Instruments
from aahcrawler.service.steering import crawl_management
from aahcrawler.service.steering.collection_specifications import (
    MAX_SAMPLE,
    NAME,
    Specification,
    job_key,
    read_specification,
    specification_of,
)
from aahcrawler.service.steering.long_jobs import UNDER_WAY, Jobs, JobView
from aahcrawler.service.steering.packaging import KeptFile, Packing
from aahcrawler.service.steering.starting_crawls import Starting
from aahcrawler.service.views.collected_view import CollectionView, collection, collection_of, collections, graphml
from aahcrawler.service.views.crawl_state import CrawlStatus
from aahcrawler.service.views.downloads import package, page_table, statements
from aahcrawler.service.views.judged_pages import gained_members, membership_in
from aahcrawler.service.views.page_indexes import PageIndexes
from aahcrawler.service.views.page_list import BAD_CURSOR, PageFilter, PageList, page_list
from aahcrawler.service.web import problems
from aahcrawler.service.web.noted_acts import note_did
from aahcrawler.service.web.problems import CONFLICT, ProblemError, Shown, problem_responses

_COLLECTION_FOUND = problem_responses(problems.NO_COLLECTION)
_CHANGED = problem_responses(problems.NO_COLLECTION, problems.BAD_COLLECTION)
CollectionName = Annotated[str, Path(max_length=100, description="The name of the collection.", examples=["floods"])]


def collection_routes(instruments: Instruments) -> APIRouter:
    """Return the routes."""
    router = APIRouter(prefix="/collections", tags=["collections"])
    reach, states = instruments.reach, instruments.states

    @router.get("")
    def list_collections() -> Sequence[CollectionView]:
        """List the collections in the folder of crawls, each with its crawls and what they count."""
        return collections(reach, states)

    @router.get("/{name}", responses=_COLLECTION_FOUND)
    def show_collection(name: CollectionName) -> CollectionView:
        """Return a collection; crawls of it that are gone are told as such."""
        return collection(reach, states, name)

    @router.put("/{name}", responses={**_CHANGED, 201: {"description": "Made", "model": CollectionView}})
    def put_collection(
        name: CollectionName, asked: CollectionAsked, response: Response, _caller: Operator
    ) -> CollectionView:
        """Make a collection what is sent; what is left out is empty then. No crawl is changed."""
        if crawl_management.put_collection(reach, name, asked):
            response.status_code = 201
        return collection(reach, states, name)

    @router.delete("/{name}", status_code=204, responses=_CHANGED)
    def delete_collection(name: CollectionName, _caller: Operator) -> None:
        """Delete a collection, and no crawl."""
        crawl_management.delete_collection(reach, name)

    return router


_FOUND: Final = problem_responses(problems.NO_SPECIFICATION, CONFLICT)
_ASKED: Final = problem_responses(problems.BAD_DEFINITION, CONFLICT)
_OF_INDEX: Final = problem_responses(problems.NO_SPECIFICATION, CONFLICT, problems.DAMAGED, problems.UNAVAILABLE)
_LOOK_EVERY: Final = 0.1
Name = Annotated[
    str,
    Path(
        pattern=f"^{NAME.pattern}$",
        description="The name of the collection, which is the id of its crawl.",
        examples=["flood-2013"],
    ),
]
JobName = Annotated[str, Path(max_length=100)]
Captures = Annotated[int, Query(ge=1, le=MAX_SAMPLE, description="How many captures are taken.")]


class SpecifiedCollection(Shown):
    """A collection that was asked for by a specification, and how far it is.

    ``state`` and ``reason`` are those of its crawl, ``members`` its captures that are relevant, unless
    people decided otherwise: None where their decisions cannot be read or counted now. ``started`` is what came of
    starting it with this request. ``files`` are what can be had of it, below ``/v1/specifications/{name}``.
    """

    name: str
    title: str
    digest: str
    state: str
    reason: str
    fetched: int
    members: int | None
    failures: int
    started: Starting | None = None
    files: tuple[str, ...] = ("members", "members.csv", "files/warc.gz", "files/wacz", "graph.graphml", "graph.nq.gz")


class Found(Shown):
    """A specification without mistakes: its digest, and how many seeds and sources it has."""

    digest: str
    seeds: int
    sources: int


class HandedIn(Specification):
    """A specification that is to be made a collection; ``start`` has its crawl begin."""

    start: Annotated[bool, Field(strict=True)] = True

    @property
    def specification(self) -> Specification:
        """What is asked for, without how it was sent."""
        return Specification(definition=self.definition, texts=self.texts)


def specification_routes(instruments: Instruments) -> APIRouter:
    """Return the routes."""
    router = APIRouter(prefix="/specifications", tags=["specifications"])
    _add_asking(router, instruments)
    _add_trials(router, instruments)
    _add_results(router, instruments)
    return router


def _add_asking(router: APIRouter, instruments: Instruments) -> None:
    helm, reach = instruments.helm, instruments.reach

    def shown(crawl: Crawl, digest: str, started: Starting | None = None) -> SpecifiedCollection:
        status = instruments.states.status(crawl)
        return SpecifiedCollection(
            name=crawl.id,
            title=crawl.icd.title,
            digest=digest,
            state=status.state,
            reason=status.reason,
            fetched=status.fetched,
            members=_members(instruments, crawl, status),
            failures=status.failures,
            started=started,
        )

    @router.get("")
    def list_specifications() -> Sequence[SpecifiedCollection]:
        """List the collections that were asked for by specifications."""
        known = ((crawl, read_specification(crawl.folder)) for crawl in reach.crawls())
        return [shown(crawl, found.digest) for crawl, found in known if found is not None]

    @router.get("/{name}", responses=_FOUND)
    def show_specification(name: Name) -> SpecifiedCollection:
        """Return how far a collection is."""
        crawl, found = specification_of(reach, name)
        return shown(crawl, found.digest)

    @router.get("/{name}/specification", responses=_FOUND)
    def show_asked(name: Name) -> Specification:
        """Return what was asked for."""
        return specification_of(reach, name)[1]

    @router.put(
        "/{name}",
        responses={
            **_ASKED,
            **problem_responses(problems.NOT_STARTED),
            201: {"description": "Made", "model": SpecifiedCollection},
        },
    )
    def hand_in(name: Name, asked: HandedIn, response: Response, caller: Operator) -> SpecifiedCollection:
        """Make a collection, and have its crawl begin. The same specification sent again changes nothing."""
        is_new, started = helm.specifications.put(caller, name, asked.specification, begin=asked.start)
        if is_new:
            response.status_code = 201
        return shown(reach.crawl(name), asked.specification.digest, started)


def _add_trials(router: APIRouter, instruments: Instruments) -> None:
    helm = instruments.helm

    @router.post("/{name}/check", responses=_ASKED)
    def check(name: Name, asked: Specification, caller: Operator) -> Found:
        """Find the mistakes of a specification; nothing is made."""
        icd = helm.specifications.check(caller, name, asked)
        return Found(digest=asked.digest, seeds=len(icd.seeds), sources=len(icd.captures.sources))

    @router.post("/{name}/sample", status_code=202, responses={**_ASKED, **problem_responses(problems.BUSY)})
    def sample(name: Name, asked: Specification, caller: Operator, captures: Captures = 200) -> JobView:
        """Take some captures out of the archives, score them, and keep nothing; in a job, whose result tells of it."""
        return helm.specifications.sample(caller, name, asked, captures)

    @router.get("/{name}/jobs/{job}", responses=problem_responses(problems.NO_JOB))
    async def show_job(
        name: Name,
        job: JobName,
        wait: Annotated[float, Query(ge=0, le=20, description="Seconds to wait for its end.")] = 0,
    ) -> JobView:
        """Report how far a job is, and its result once it is done."""
        deadline = time.monotonic() + wait
        # Whoever waits takes no thread, of which there are few.
        while (shown := _job(instruments, name, job)).state in UNDER_WAY and time.monotonic() < deadline:
            await asyncio.sleep(_LOOK_EVERY)
        return shown

    @router.delete("/{name}/jobs/{job}", responses=problem_responses(problems.NO_JOB))
    def cancel_job(name: Name, job: JobName, _caller: Operator) -> JobView:
        """Give a job up, or forget its result."""
        return helm.jobs.cancel(_job(instruments, name, job).crawl, job)


def _add_results(router: APIRouter, instruments: Instruments) -> None:
    helm, reach, indexes = instruments.helm, instruments.reach, instruments.indexes

    @router.get("/{name}/members", responses={**_OF_INDEX, **problem_responses(BAD_CURSOR)})
    def list_members(name: Name, after: Cursor = "", limit: Limit = 50) -> PageList:
        """List the captures that are members of the collection, the newest first."""
        crawl, _ = specification_of(reach, name)
        wanted = PageFilter(members=membership_in(crawl))
        with indexes.asked(crawl) as asked:
            return page_list(asked, wanted, after, limit)

    @router.get("/{name}/members.csv", responses={**_OF_INDEX, 200: {"content": {"text/csv": {}}}})
    def members_table(name: Name) -> Response:
        """Return all members as a table."""
        crawl, _ = specification_of(reach, name)
        lines = page_table(indexes, crawl, PageFilter(members=membership_in(crawl)))
        return _saved(lines, "text/csv; charset=utf-8", f"{name}-members.csv")

    @router.post("/{name}/files/{ending}", status_code=202, responses={**_FOUND, **problem_responses(problems.BUSY)})
    def make_file(name: Name, ending: KeptFile, caller: Operator) -> JobView:
        """Have all members written as WARC or WACZ, with what they need to be shown; in a job."""
        crawl, _ = specification_of(reach, name)
        members = instruments.states.status(crawl).relevant
        begun = helm.packages.make(helm.jobs, _packing(crawl, ending), caller.name, members)
        note_did(crawl.id, f"package_members_{ending}")
        return begun

    @router.get("/{name}/files/{ending}", responses={**_FOUND, 200: {"content": {"application/octet-stream": {}}}})
    def hand_out(
        name: Name, ending: KeptFile, asked: Annotated[str, Header(alias="range", max_length=200)] = ""
    ) -> Response:
        """Return the file that was made last, or the part of it that `Range` names; a conflict while one is made."""
        packing = _packing(specification_of(reach, name)[0], ending)
        _refuse_while_made(helm.jobs, name, packing)
        made = packing.offered()
        if made is None:
            raise ProblemError(CONFLICT, "no file is made yet, or something was taken down since; POST has it made")
        found = package(made, packing.folders, asked)
        told = {"Content-Length": str(found.size), "Accept-Ranges": "bytes"}
        if found.part is None:
            return _saved(found.pieces, "application/octet-stream", found.name, told)
        if not found.size:
            return Response(status_code=416, headers={"Content-Range": f"bytes */{found.whole}"})
        told["Content-Range"] = found.part.told(found.whole)
        return _saved(found.pieces, "application/octet-stream", found.name, told, 206)

    @router.get("/{name}/graph.graphml", responses={**_OF_INDEX, 200: {"content": {"application/graphml+xml": {}}}})
    def graph(
        name: Name,
        by: Annotated[Literal["site", "page"], Query(description="What the nodes are: sites, or pages.")] = "site",
    ) -> Response:
        """Return as GraphML the links between sites, with the number of captures, or the ways to pages.

        Pages have their scores, and whether they are members.
        """
        crawl = specification_of(reach, name)[0]
        content = graphml(collection_of(crawl)) if by == "page" else _site_graph(indexes, crawl)
        named = {"Content-Disposition": f'attachment; filename="{name}.graphml"'}
        return Response(content, media_type="application/graphml+xml", headers=named)

    @router.get("/{name}/graph.nq.gz", responses={**_OF_INDEX, 200: {"content": {"application/gzip": {}}}})
    def quads(name: Name) -> Response:
        """Return what is stated of captures and web objects, as N-Quads."""
        found = statements(specification_of(reach, name)[0])
        return _saved(found.pieces, "application/gzip", found.name, {"Content-Length": str(found.size)})


def _site_graph(indexes: PageIndexes, crawl: Crawl) -> bytes:
    written = BytesIO()
    with indexes.asked(crawl, SiteLinks) as asked:
        write_graphml(asked.base, written)
    return written.getvalue()


def _members(instruments: Instruments, crawl: Crawl, status: CrawlStatus) -> int | None:
    """Return how many captures are members; None if people's decisions cannot be read or counted."""
    try:
        decided = membership_in(crawl)
        if not decided:
            return status.relevant
        with instruments.indexes.asked(crawl) as asked:
            return status.relevant + gained_members(asked, decided, status.crawl)
    except ProblemError:
        return None


def _job(instruments: Instruments, name: str, job: str) -> JobView:
    """Return a job of a specification: a trial of it, or the writing of its crawl's files."""
    jobs = instruments.helm.jobs
    try:
        return jobs.job(job_key(name), job)
    except ProblemError:
        return jobs.job(name, job)


def _packing(crawl: Crawl, ending: KeptFile) -> Packing:
    found = Packing.of_members(crawl, ending)
    if found is None:
        raise ProblemError(CONFLICT, "its definition has no subject, so that no page is a member")
    return found


def _refuse_while_made(jobs: Jobs, name: str, packing: Packing) -> None:
    job = jobs.under_way(packing.key, packing.kind)
    if job is None:
        return
    at = f"/v1/specifications/{name}/jobs/{job.id}"
    raise ProblemError(
        CONFLICT,
        f"it is being made, by the job {job.id}; ask {at}?wait=20 until that is done",
        headers={"Location": at, "Retry-After": "5"},
    )


def _saved(
    pieces: Iterator[bytes], media_type: str, name: str, headers: dict[str, str] | None = None, status: int = 200
) -> Response:
    told = {"Content-Disposition": f'attachment; filename="{name}"', **(headers or {})}
    return StreamingResponse(pieces, status, media_type=media_type, headers=told)
