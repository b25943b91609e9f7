"""Pages on one's own entries: their history, and exchanging them with others as files."""

import secrets
import tempfile
from collections import OrderedDict
from pathlib import Path as File
from threading import Lock
from typing import Annotated, Final

from fastapi import APIRouter, Path, Response
from pydantic import BaseModel

from aahcrawler.editor.drafts.draft_state import DraftEditError
from aahcrawler.editor.entries.entry_files import Contents
from aahcrawler.editor.entries.entry_import import Proposal, propose, take
from aahcrawler.editor.entries.entry_pack import ENDING, KNOWN_LICENCE, PackError, pack_entry, unpacked
from aahcrawler.editor.entries.entry_pack import Said as Labelled
from aahcrawler.editor.entries.own_folder import OwnFolder, OwnFolderError
from aahcrawler.editor.entries.staging import brought_back
from aahcrawler.editor.pages.saved_pages import SavedPageError
from aahcrawler.service.cockpit.sign_in import Said
from aahcrawler.service.cockpit.site import Editing, Form, Reading, Sent, Site, address, then
from aahcrawler.service.cockpit.studio.studio_desk import Done, StudioJobs, StudioService
from aahcrawler.service.steering.long_jobs import Progress
from aahcrawler.service.web.problems import BAD_SEARCH, CONFLICT, NO_JOB, NO_WORK, ProblemError, Shown
from knowledge_base.file_selection import filled
from knowledge_base.loader import LoadError, load

EntryName = Annotated[str, Path(max_length=80, pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]
CONTENTS: Final = {
    Contents.MINE: "mine: I wrote them, or may pass them on",
    Contents.MADE_UP: "made up: put in the place of what people wrote",
    Contents.OTHERS: "other people's: whoever takes the entry must not publish them",
    Contents.LEFT_OUT: "leave the pages out; nothing proves then that the entry works",
}
MAX_PROPOSALS: Final = 8
"""Entries that were looked at and wait to be taken in."""
_MAX_LINES: Final = 300


def routes(site: Site, desk: StudioService) -> APIRouter:
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
        except DraftEditError as error:
            return then(session, address("crawls", crawl, "studio"), Said(str(error), "bad"))
        return then(session, address("crawls", crawl, "studio", "works", work.name))

    return router


def own_folder(desk: StudioService) -> OwnFolder:
    """Return the folder of one's own entries. Raise ``ProblemError`` where there is no place for one."""
    return OwnFolder(desk.works.works.folders[-1])


def _packed(desk: StudioService, name: str, who: str, form: Form) -> bytes:
    contents = Contents(form.get("pages")) if form.get("pages") in set(Contents) else None
    text = form.raw("licence-text").strip()
    folders = desk.works.works.folders
    with tempfile.TemporaryDirectory(prefix="aah-") as folder:
        file = File(folder) / "licence.txt"
        file.write_text(f"{text}\n", "utf-8")
        without = contents is Contents.LEFT_OUT
        said = Labelled(who, form.get("licence"), file if text else None, None if without else contents, without)
        return pack_entry(name, folders, load(*filled(folders)), said)


class ProposalView(Shown):
    """An uploaded entry after its trial: why it cannot be imported, or what it would change."""

    to: str
    token: str
    name: str
    by: str
    licence: str
    wrong: tuple[str, ...]
    said: tuple[str, ...]
    difference: tuple[str, ...]
    replaces: bool


class Proposals:
    """Keeps proposals until they are imported. Thread-safe."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, Proposal] = OrderedDict()
        self._lock = Lock()

    def keep(self, proposal: Proposal) -> str:
        """Store a proposal; return the token by which it is found again."""
        token = secrets.token_urlsafe(12)
        with self._lock:
            self._kept[token] = proposal
            while len(self._kept) > MAX_PROPOSALS:
                self._kept.popitem(last=False)
        return token

    def taken(self, token: str) -> Proposal:
        """Remove and return a proposal. Raise ``ProblemError`` if there is none."""
        with self._lock:
            found = self._kept.pop(token, None)
        if found is None:
            raise ProblemError(NO_JOB, "this entry was taken in, or is not kept any more; send the file again")
        return found


def intake_routes(site: Site, desk: StudioService, jobs: StudioJobs) -> APIRouter:
    """Return the routes by which entries are taken in."""
    router = APIRouter(prefix="/crawls/{crawl}/studio/entries")
    proposals = Proposals()

    @router.post("/add")
    def add(session: Editing, crawl: str, form: Sent) -> Response:
        found, data, to = site.crawl(crawl), form.document, address("crawls", crawl, "studio")
        if not data:
            raise ProblemError(BAD_SEARCH, "choose a file that was packed in a studio, or by aah kb pack")
        folders = desk.works.works.folders

        def tried(_: Progress) -> BaseModel:
            try:
                return _shown(proposals, propose(unpacked(data), folders), to)
            except (PackError, OwnFolderError, LoadError, OSError) as error:
                return Done(to=to, text=str(error), kind="bad")

        return jobs.led(session, found, jobs.begin(session, found, "looking at an entry and trying it", tried))

    @router.post("/take")
    def take_in(session: Editing, crawl: str, form: Sent) -> Response:
        proposal = proposals.taken(form.get("token"))
        try:
            take(proposal, desk.works.works.folders[-1], session.caller.name, replace=form.get("replace") == "yes")
        except (PackError, OwnFolderError) as error:
            return then(session, address("crawls", crawl, "studio"), Said(str(error), "bad"))
        name = proposal.pack.entry.name
        return then(
            session, address("crawls", crawl, "studio", "entries", name), Said(f"The entry {name} is taken in.")
        )

    return router


def _shown(proposals: Proposals, proposal: Proposal, to: str) -> ProposalView:
    manifest = proposal.pack.manifest
    return ProposalView(
        to=to,
        token=proposals.keep(proposal) if not proposal.wrong else "",
        name=proposal.pack.entry.name,
        by=manifest.by,
        licence=manifest.licence,
        wrong=proposal.wrong[:_MAX_LINES],
        said=proposal.said[:_MAX_LINES],
        difference=proposal.difference[:_MAX_LINES],
        replaces=proposal.replaces,
    )
