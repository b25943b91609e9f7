"""Pages on collections, and the packages of crawls and collections."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Annotated, Final

from fastapi import APIRouter, Header, Path, Query, Response
from starlette.responses import StreamingResponse

from aahcrawler.crawl_collections import LISTS, Collection
from aahcrawler.service.catalog.crawl_catalog import Crawl
from aahcrawler.service.cockpit.search_page import MAX_CRAWLS
from aahcrawler.service.cockpit.sign_in import Said
from aahcrawler.service.cockpit.site import Operating, Reading, Sent, Site, address, then
from aahcrawler.service.steering import crawl_management
from aahcrawler.service.steering.long_jobs import JobView
from aahcrawler.service.steering.packaging import Packing
from aahcrawler.service.views.collected_view import (
    CollectionView,
    collection,
    collection_file,
    collections,
    folders_to_add,
)
from aahcrawler.service.views.downloads import Download, package
from aahcrawler.service.views.page_indexes import NO_FOLDER
from aahcrawler.service.web.noted_acts import note_did
from aahcrawler.service.web.problems import BAD_SEARCH, CONFLICT, ProblemError

PATIENCE: Final = 0.2
"""Seconds that a page waits for a job, so that a short one is there at once."""
_MEDIA_TYPES: Final = {".wacz": "application/wacz"}
JobName = Annotated[str, Path(max_length=100)]
Range = Annotated[str, Header(alias="range", max_length=200)]


def package_routes(site: Site) -> APIRouter:
    """Return the routes of packages."""
    router = APIRouter()
    _add_of_crawls(router, site)
    _add_of_collections(router, site)
    return router


def _add_of_crawls(router: APIRouter, site: Site) -> None:
    helm = site.instruments.helm

    @router.post("/crawls/{crawl}/package")
    def make(session: Operating, crawl: str, _: Sent) -> Response:
        found = site.crawl(crawl)
        pages = site.instruments.states.status(found).fetched
        begun = helm.packages.make(helm.jobs, _packing(found), session.caller.name, pages)
        note_did(found.id, "package")
        return then(session, address("crawls", found.id, "manage", job=begun.id))

    @router.get("/crawls/{crawl}/package/{job}")
    def go_on(session: Reading, crawl: str, job: JobName) -> Response:
        return site.part(session, "package.html", **crawl_package(site, site.crawl(crawl), job))

    @router.get("/crawls/{crawl}/files/archive.wacz")
    def hand_out(_: Reading, crawl: str, asked: Range = "") -> Response:
        return part_of(_packing(site.crawl(crawl)), asked)


def _add_of_collections(router: APIRouter, site: Site) -> None:
    helm, states = site.instruments.helm, site.instruments.states

    @router.post("/collections/{name}/package")
    def make(session: Operating, name: str, _: Sent) -> Response:
        shown = collection(helm.reach, states, name)
        begun = helm.packages.make(helm.jobs, _packing_of(site, shown), session.caller.name, shown.pages)
        note_did(name, "package_collection")
        return then(session, address("collections", name, job=begun.id))

    @router.get("/collections/{name}/package/{job}")
    def go_on(session: Reading, name: str, job: JobName) -> Response:
        return site.part(session, "package.html", **collection_package(site, collection(helm.reach, states, name), job))

    @router.get("/collections/{name}/collection.wacz")
    def hand_out(_: Reading, name: str, asked: Range = "") -> Response:
        return part_of(_packing_of(site, collection(helm.reach, states, name)), asked)


def shown_package(site: Site, packing: Packing, job: str) -> Mapping[str, object]:
    """Return the values that show an existing package, and the progress of a job that makes one."""
    shown = _job(site, packing, job)
    return {"job": shown if shown is not None and shown.kind == packing.kind else None, **_packed(packing)}


def crawl_package(site: Site, crawl: Crawl, job: str) -> Mapping[str, object]:
    """Return these values for a crawl's package."""
    packing = Packing.of_crawl(crawl)
    if packing is None:
        return {"job": None, "packed": None}
    here = ("crawls", crawl.id)
    shown = _job(site, packing, job)
    at = {"packed_at": address(*here, "files", "archive.wacz"), "make_at": address(*here, "package")}
    return {"job": shown, "job_at": address(*here, "package", job), **_packed(packing), **at}


def collection_package(site: Site, shown: CollectionView, job: str) -> Mapping[str, object]:
    """Return these values for a collection's package."""
    packing, here = _packing_of(site, shown), ("collections", shown.name)
    at = {"packed_at": address(*here, "collection.wacz"), "make_at": address(*here, "package")}
    return {"job": _job(site, packing, job), "job_at": address(*here, "package", job), **_packed(packing), **at}


def handed_out(download: Download, media_type: str, headers: Mapping[str, str] | None = None) -> Response:
    """Return a response of known size that a browser saves as a file."""
    told = {"Content-Length": str(download.size), **(headers or {})}
    if download.part is None:
        return saved(download.name, download.pieces, media_type, told)
    if not download.size:
        return Response(status_code=416, headers={"Content-Range": f"bytes */{download.whole}"})
    told["Content-Range"] = download.part.told(download.whole)
    return saved(download.name, download.pieces, media_type, told, 206)


def saved(
    name: str, pieces: Iterator[bytes], media_type: str, headers: Mapping[str, str] | None = None, status: int = 200
) -> Response:
    """Return a response that a browser saves as a file; ``name`` must not contain quotes."""
    told = {"Content-Disposition": f'attachment; filename="{name}"', **(headers or {})}
    return StreamingResponse(pieces, status, media_type=media_type, headers=told)


def part_of(packing: Packing, asked: str) -> Response:
    """Return a package, or the byte range of it that is requested. Raise ``ProblemError`` if there is none."""
    made = packing.offered()
    if made is None:
        raise ProblemError(CONFLICT, "no package is made yet, or something was taken down since; have it made")
    headers = {"Accept-Ranges": "bytes", "ETag": f'"{made.at:.6f}-{made.size}"'}
    media_type = _MEDIA_TYPES.get(made.path.suffix, "application/warc")
    return handed_out(package(made, packing.folders, asked), media_type, headers)


def _packing(crawl: Crawl) -> Packing:
    found = Packing.of_crawl(crawl)
    if found is None:
        raise ProblemError(NO_FOLDER, "this machine has none of the crawl's folder; ask the service of one that has")
    return found


def _packing_of(site: Site, shown: CollectionView) -> Packing:
    if shown.described is None:
        raise ProblemError(CONFLICT, f"the collection's file has to be mended first: {shown.problem}")
    return Packing.of_collection(collection_file(site.instruments.reach, shown.name), shown.described)


def _job(site: Site, packing: Packing, job: str) -> JobView | None:
    return site.instruments.helm.jobs.wait(packing.key, job, PATIENCE) if job else None


def _packed(packing: Packing) -> Mapping[str, object]:
    made = packing.offered()
    return {"packed": made, "packed_on": datetime.fromtimestamp(made.at, UTC) if made is not None else None}


LABELS = {
    "creator": ("Made by", "Persons or bodies, one a line."),
    "contributor": ("Helped by", "One a line."),
    "publisher": ("Published by", "Who makes it available, one a line."),
    "subject": ("Subjects", "What it is about, one a line."),
    "language": ("Languages", "Codes such as de, one a line."),
    "rights": ("Rights", "Who may do what with it, one a line."),
    "coverage": ("Places and times", "What it is about, one a line."),
    "date": ("Date", "A year, a month, a day, or from one to another: 2024-05-01/2024-06-30."),
}
"""How the terms of Dublin Core are called, and what is written there."""


def routes(site: Site) -> APIRouter:
    """Return the routes of collections."""
    router = APIRouter(prefix="/collections")
    reach, states = site.instruments.reach, site.instruments.states

    @router.get("")
    def show_all(session: Reading) -> Response:
        can_be = reach.catalog.place_for_new() is not None
        return site.page(session, "collections.html", collections=collections(reach, states), can_be=can_be)

    @router.post("")
    def make(session: Operating, form: Sent) -> Response:
        name = form.get("name")
        file = collection_file(reach, name, is_new=True)
        if file.path.exists():
            raise ProblemError(CONFLICT, f"there is a collection {name} already; write another name")
        crawl_management.put_collection(reach, name, crawl_management.described_by(form.fields))
        return then(session, address("collections", name), Said(f"{name}: add crawls to it now"))

    @router.get("/{name}")
    def show(session: Reading, name: str, job: Annotated[str, Query(max_length=100)] = "") -> Response:
        shown = collection(reach, states, name)
        values = {
            "most_searched": MAX_CRAWLS,
            "shown": shown,
            "labels": LABELS,
            "lists": LISTS,
            "could_be": list(folders_to_add(reach, shown)),
        }
        package = {} if shown.described is None else collection_package(site, shown, job)
        return site.page(session, "collection.html", **values, **package)

    @router.post("/{name}/acts/{act}")
    def change(session: Operating, name: str, act: str, form: Sent) -> Response:
        here = address("collections", name)
        match act:
            case "describe":
                described: Collection = crawl_management.described_by(form.fields)
                crawl_management.describe_collection(reach, name, described.model_dump(mode="json"))
                return then(session, here, Said("The description is written."))
            case "add":
                crawl_management.add_to_collection(reach, name, form.get("folder"))
                return then(session, here, Said(f"{form.get('folder')} is in the collection."))
            case "remove":
                crawl_management.remove(reach, name, form.get("folder"))
                return then(session, here, Said(f"{form.get('folder')} is not in the collection any more; it stays."))
            case "delete":
                crawl_management.delete_collection(reach, name)
                return then(session, "/collections", Said(f"The collection {name} is deleted; its crawls stay."))
        raise ProblemError(BAD_SEARCH, "there is no such act")

    return router
