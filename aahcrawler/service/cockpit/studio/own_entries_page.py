"""Entries of one's own: who changed what when, earlier states, and one file to be passed on."""

import tempfile
from pathlib import Path as File
from typing import Annotated, Final

from fastapi import APIRouter, Path, Response

from aahcrawler.authoring.own_entries.own_folder import OwnFolder, OwnFolderError
from aahcrawler.authoring.own_entries.staging import brought_back
from aahcrawler.authoring.saved_pages import SavedPageError
from aahcrawler.authoring.sharing.entry_pack import ENDING, PackError
from aahcrawler.authoring.sharing.packing import KNOWN_LICENCE, pack_entry
from aahcrawler.authoring.sharing.packing import Said as Labelled
from aahcrawler.authoring.sharing.page_contents import Contents
from aahcrawler.service.cockpit.sign_in import Said
from aahcrawler.service.cockpit.site import Editing, Form, Reading, Sent, Site, address, then
from aahcrawler.service.cockpit.studio.studio_desk import StudioDesk
from aahcrawler.service.web.problems import CONFLICT, NO_WORK, ProblemError
from aahcrawler.studio.works.work_errors import WorkError
from knowledge_base.file_selection import filled
from knowledge_base.loader import LoadError, load

EntryName = Annotated[str, Path(max_length=80, pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]
CONTENTS: Final = {
    Contents.MINE: "mine: I wrote them, or may pass them on",
    Contents.MADE_UP: "made up: put in the place of what people wrote",
    Contents.OTHERS: "other people's: whoever takes the entry must not publish them",
    Contents.LEFT_OUT: "leave the pages out; nothing proves then that the entry works",
}


def routes(site: Site, desk: StudioDesk) -> APIRouter:
    """Return the routes of own entries."""
    router = APIRouter(prefix="/crawls/{crawl}/studio/entries")

    @router.get("/{name}")
    def show_entry(session: Reading, crawl: str, name: EntryName) -> Response:
        own = own_folder(desk)
        try:
            entry, changes, unreadable = own.entry(name), own.history(name), own.unreadable(name)
        except OwnFolderError as error:
            raise ProblemError(CONFLICT, str(error)) from error
        if entry is None and not changes:
            raise ProblemError(NO_WORK, f"there is no entry {name} of your own")
        values = {"entry": entry, "name": name, "changes": tuple(reversed(changes)), "unreadable": unreadable}
        more = {"contents": CONTENTS, "licence": KNOWN_LICENCE}
        return site.crawl_page(session, site.crawl(crawl), "studio", "studio/entry.html", **values, **more)

    @router.post("/{name}/restore")
    def restore(session: Editing, crawl: str, name: EntryName, form: Sent) -> Response:
        number, to = form.get("number"), address("crawls", crawl, "studio", "entries", name)
        try:
            wanted = int(number) if number.isdecimal() and len(number) < 10 else 0
            change = brought_back(name, wanted, desk.works.works.folders, session.caller.name)
        except (OwnFolderError, LoadError) as error:
            return then(session, to, Said(str(error), "bad"))
        return then(session, to, Said(f"It is {change.what}."))

    @router.post("/{name}/pack")
    def pack(session: Editing, crawl: str, name: EntryName, form: Sent) -> Response:
        try:
            data = _packed(desk, name, session.caller.name, form)
        except (PackError, OwnFolderError, LoadError, SavedPageError, OSError) as error:
            return then(session, address("crawls", crawl, "studio", "entries", name), Said(str(error), "bad"))
        headers = {"Content-Disposition": f'attachment; filename="{name}{ENDING}"'}
        return Response(data, media_type="application/zip", headers=headers)

    @router.post("/open")
    def open_work(session: Editing, crawl: str, form: Sent) -> Response:
        name = form.get("name")
        try:
            work = desk.works.works.open(name, session.caller.name)
        except WorkError as error:
            return then(session, address("crawls", crawl, "studio"), Said(str(error), "bad"))
        return then(session, address("crawls", crawl, "studio", "works", work.name))

    return router


def own_folder(desk: StudioDesk) -> OwnFolder:
    """Return the folder of one's own entries. Raise ``ProblemError`` where there is no place for one."""
    return OwnFolder(desk.works.works.folders[-1])


def _packed(desk: StudioDesk, name: str, who: str, form: Form) -> bytes:
    contents = Contents(form.get("pages")) if form.get("pages") in set(Contents) else None
    text = form.raw("licence-text").strip()
    folders = desk.works.works.folders
    with tempfile.TemporaryDirectory(prefix="aah-") as folder:
        file = File(folder) / "licence.txt"
        file.write_text(f"{text}\n", "utf-8")
        without = contents is Contents.LEFT_OUT
        said = Labelled(who, form.get("licence"), file if text else None, None if without else contents, without)
        return pack_entry(name, folders, load(*filled(folders)), said)
