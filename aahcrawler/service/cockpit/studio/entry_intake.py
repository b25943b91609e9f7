"""Take in an entry that somebody packed: it is looked at and tried, then saved among one's own."""

import secrets
from collections import OrderedDict
from threading import Lock
from typing import Final

from fastapi import APIRouter, Response
from pydantic import BaseModel, ConfigDict

from aahcrawler.authoring.own_entries.own_folder import OwnFolderError
from aahcrawler.authoring.sharing.entry_import import Proposal, propose, take
from aahcrawler.authoring.sharing.entry_pack import PackError, unpacked
from aahcrawler.service.cockpit.sign_in import Said
from aahcrawler.service.cockpit.site import Editing, Sent, Site, address, then
from aahcrawler.service.cockpit.studio.studio_desk import StudioDesk
from aahcrawler.service.cockpit.studio.studio_jobs import Done, StudioJobs
from aahcrawler.service.steering.jobs import Progress
from aahcrawler.service.web.problems import BAD_SEARCH, NO_JOB, ProblemError
from knowledge_base.loader import LoadError

MOST_PROPOSALS: Final = 8
"""Entries that were looked at and wait to be taken in."""
_MOST_LINES: Final = 300


class ProposalShown(BaseModel):
    """An entry of a file that was looked at and tried: why it cannot be taken in, and what would change."""

    model_config = ConfigDict(frozen=True)

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
    """Keeps what was proposed until it is taken in. It may be used by several threads at once."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, Proposal] = OrderedDict()
        self._lock = Lock()

    def keep(self, proposal: Proposal) -> str:
        """Return the value by which a proposal is found again."""
        token = secrets.token_urlsafe(12)
        with self._lock:
            self._kept[token] = proposal
            while len(self._kept) > MOST_PROPOSALS:
                self._kept.popitem(last=False)
        return token

    def taken(self, token: str) -> Proposal:
        """Return a proposal, once. Raise ``ProblemError`` where there is none."""
        with self._lock:
            found = self._kept.pop(token, None)
        if found is None:
            raise ProblemError(NO_JOB, "this entry was taken in, or is not kept any more; send the file again")
        return found


def routes(site: Site, desk: StudioDesk, jobs: StudioJobs) -> APIRouter:
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


def _shown(proposals: Proposals, proposal: Proposal, to: str) -> ProposalShown:
    manifest = proposal.pack.manifest
    return ProposalShown(
        to=to,
        token=proposals.keep(proposal) if not proposal.wrong else "",
        name=proposal.pack.entry.name,
        by=manifest.by,
        licence=manifest.licence,
        wrong=proposal.wrong[:_MOST_LINES],
        said=proposal.said[:_MOST_LINES],
        difference=proposal.difference[:_MOST_LINES],
        replaces=proposal.replaces,
    )
