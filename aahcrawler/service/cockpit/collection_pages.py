"""Collections: their list, and a page for each with what describes it, its crawls, and its package."""

from typing import Annotated

from fastapi import APIRouter, Query, Response

from aahcrawler.crawl_collections import LISTS, Collection
from aahcrawler.service.cockpit.package_pages import collection_package
from aahcrawler.service.cockpit.search_page import MAX_CRAWLS
from aahcrawler.service.cockpit.sign_in import Said
from aahcrawler.service.cockpit.site import Operating, Reading, Sent, Site, address, then
from aahcrawler.service.steering import collecting
from aahcrawler.service.views.collection_view import collection, collection_file, collections, folders_to_add
from aahcrawler.service.web.problems import BAD_SEARCH, CONFLICT, ProblemError

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
        collecting.put_collection(reach, name, collecting.described_by(form.fields))
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
                described: Collection = collecting.described_by(form.fields)
                collecting.describe(reach, name, described.model_dump(mode="json"))
                return then(session, here, Said("The description is written."))
            case "add":
                collecting.add_to_collection(reach, name, form.get("folder"))
                return then(session, here, Said(f"{form.get('folder')} is in the collection."))
            case "remove":
                collecting.remove(reach, name, form.get("folder"))
                return then(session, here, Said(f"{form.get('folder')} is not in the collection any more; it stays."))
            case "delete":
                collecting.delete(reach, name)
                return then(session, "/collections", Said(f"The collection {name} is deleted; its crawls stay."))
        raise ProblemError(BAD_SEARCH, "there is no such act")

    return router
