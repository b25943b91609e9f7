"""Begin an entry: a site's groups of similar addresses, which of them hold content, and a draft made from them."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

from fastapi import APIRouter, Query, Response

from aahcrawler.editor.drafting.draft import DraftError, WantedDraft, draft
from aahcrawler.editor.drafting.level_plans import TERMS, Given
from aahcrawler.editor.drafting.pattern_drafting import Known
from aahcrawler.editor.drafts.draft_collection import DraftCollection
from aahcrawler.editor.drafts.draft_state import DraftEditError
from aahcrawler.editor.drafts.made_edits import REASONS, avoid
from aahcrawler.editor.pages.page_capture import slug
from aahcrawler.editor.pages.saved_pages import SavedPageError, pages_folder, saved_pages
from aahcrawler.editor.rules.page_sample import PageSample
from aahcrawler.editor.rules.site_groups import SiteGroup
from aahcrawler.editor.text.edits import apply
from aahcrawler.editor.text.entry_text import EditError, EntryText
from aahcrawler.page import Page
from aahcrawler.service.cockpit.site import Editing, Form, Reading, Sent, Site, address
from aahcrawler.service.cockpit.studio.open_works import NO_PLACE
from aahcrawler.service.cockpit.studio.page_views import group_words
from aahcrawler.service.cockpit.studio.studio_desk import Done, StudioJobs, StudioService
from aahcrawler.service.steering.long_jobs import Progress
from aahcrawler.service.web.problems import BAD_SEARCH, ProblemError
from knowledge_base.file_selection import filled
from knowledge_base.loader import SCHEMA, LoadError, load
from knowledge_base.matching import Sight
from knowledge_base.url_rules import Reason

HostName = Annotated[str, Query(max_length=255)]
MAX_GROUPS: Final = 60
MAX_CONTENTS: Final = 4
"""Pages of a group with content that a draft is made of."""
MAX_LISTS: Final = 3
_CONTENT, _LIST, _AVOID = "content", "list", "avoid"


@dataclass(frozen=True, slots=True)
class _Order:
    """What a draft is to be made from: name and kind, and the groups of addresses by purpose."""

    name: str
    kind: str
    site: bool
    contents: tuple[SiteGroup, ...]
    lists: tuple[SiteGroup, ...]
    avoided: tuple[tuple[SiteGroup, Reason], ...]


def routes(site: Site, desk: StudioService, jobs: StudioJobs) -> APIRouter:
    """Return the routes by which an entry is begun."""
    router = APIRouter(prefix="/crawls/{crawl}/studio")

    @router.get("/begin")
    def choose_groups(session: Reading, crawl: str, host: HostName) -> Response:
        found = site.crawl(crawl)
        groups = desk.shelf.groups(found, host)[:MAX_GROUPS]
        values = {"host": host, "groups": groups, "words": group_words, "kinds": tuple(TERMS), "reasons": REASONS}
        no_place = NO_PLACE if desk.works.knowledge.own is None else ""
        return site.crawl_page(session, found, "studio", "studio/begin.html", **values, no_place=no_place)

    @router.post("/begin")
    def begin(session: Editing, crawl: str, form: Sent) -> Response:
        found, who = site.crawl(crawl), session.caller.name
        sample = desk.shelf.sample(found, form.get("host"))
        order = _order(form, desk.shelf.groups(found, form.get("host"))[:MAX_GROUPS])
        works = desk.works.works
        to = address("crawls", crawl, "studio")

        def drafted(progress: Progress) -> Done:
            try:
                name = _begun(works, order, sample, who, progress)
            except (DraftError, EditError, DraftEditError, LoadError, SavedPageError) as error:
                return Done(
                    to=address("crawls", crawl, "studio", "begin", host=sample.host), text=str(error), kind="bad"
                )
            return Done(to=f"{to}/works/{name}", text="A draft is there. Look at its guesses, the most doubtful first")

        return jobs.led(session, found, jobs.begin(session, found, f"drafting {order.name}", drafted))

    return router


def _order(form: Form, groups: Sequence[SiteGroup]) -> _Order:
    """Return what a form asks for. Raise ``ProblemError`` where it cannot be made."""
    name, kind = form.get("name"), form.get("kind")
    if not slug(name):
        raise ProblemError(BAD_SEARCH, "give the software a name with some letters a to z or digits")
    if kind not in TERMS:
        raise ProblemError(BAD_SEARCH, "choose what kind of software it is")
    said = {group.number: form.get(f"group-{group.number}") for group in groups}
    contents = tuple(group for group in groups if said[group.number] == _CONTENT)
    if not contents:
        raise ProblemError(BAD_SEARCH, "say of one group at least that its pages hold content")
    avoided = [(group, form.get(f"reason-{group.number}")) for group in groups if said[group.number] == _AVOID]
    return _Order(
        name,
        kind,
        form.get("site") == "yes",
        contents,
        tuple(group for group in groups if said[group.number] == _LIST),
        tuple((group, Reason(reason)) for group, reason in avoided if reason in set(Reason)),
    )


def _begun(works: DraftCollection, order: _Order, sample: PageSample, who: str, progress: Progress) -> str:
    """Make a draft, and begin a work of it; return its name."""
    progress.total = 3
    contents = tuple(_pages(sample, order.contents, MAX_CONTENTS))
    lists = tuple(_pages(sample, order.lists, MAX_LISTS))
    progress.advance()
    known = _known(works.folders)
    progress.advance()
    schema = os.path.relpath(SCHEMA, works.folders[-1] / "applications")
    wanted = WantedDraft(order.name, order.kind, schema, order.site)
    made = draft(wanted, Given(contents, lists), known)
    text = EntryText(made.file)
    for group, reason in order.avoided:
        text = apply(text, avoid(text, sample.groups[group.number].addresses, reason).edits)
    name = slug(order.name)
    works.begin_from(text.data, made.doubts, name, who)
    return name


def _pages(sample: PageSample, groups: Sequence[SiteGroup], most: int) -> Iterator[Page]:
    for group in groups:
        drawn = sample.groups[group.number].drawn
        step = max(1, len(drawn) // most)
        for captured in drawn[::step][:most]:
            page = sample.sampled(captured)
            if page is not None:
                yield page.page


def _known(folders: Sequence[Path]) -> Known:
    there = filled(folders)
    pages = [Sight(saved.page) for folder in there for saved in saved_pages(pages_folder(folder))]
    return Known(load(*there), pages)
