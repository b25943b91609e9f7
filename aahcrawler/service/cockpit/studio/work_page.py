"""The page of a work: its parts in plain words, doubts, checks, what was done, and the text itself."""

from dataclasses import dataclass
from typing import Annotated, Final

from fastapi import APIRouter, Path, Query, Response

from aahcrawler.editor.drafts.draft_state import DraftEditError, last_to_redo, last_to_undo
from aahcrawler.editor.rules.link_fates import Part
from aahcrawler.service.catalog.crawl_catalog import Crawl
from aahcrawler.service.cockpit.site import Reading, Site
from aahcrawler.service.cockpit.studio.entry_words import PartWords, is_container, said_of, whereabouts
from aahcrawler.service.cockpit.studio.open_works import Counted, DraftChecker, OpenDraft
from aahcrawler.service.cockpit.studio.studio_desk import StudioService, mark_kind
from aahcrawler.service.web.problems import CONFLICT, ProblemError

WorkName = Annotated[str, Path(max_length=80)]
HostName = Annotated[str, Query(max_length=255)]
Word = Annotated[str, Query(max_length=10)]
_STEPS: Final = 30
_PATIENCE: Final = 0.3


@dataclass(frozen=True, slots=True)
class PartNode:
    """A part in the tree of a work: in words, with the guess it rests on, and the parts in it."""

    part: Part
    said: PartWords
    kind: str
    guess: str
    line: int
    children: tuple["PartNode", ...]
    is_container: bool


def routes(site: Site, desk: StudioService, checks: DraftChecker) -> APIRouter:
    """Return the routes of the page of a work."""
    router = APIRouter(prefix="/crawls/{crawl}/studio/works/{work}")

    @router.get("")
    def show_work(
        session: Reading, crawl: str, work: WorkName, host: HostName = "", count: Word = "", refused: Word = ""
    ) -> Response:
        found, fault = site.crawl(crawl), desk.works.fault(work)
        if fault:
            return site.crawl_page(session, found, "studio", "studio/unreadable_work.html", name=work, fault=fault)
        opened = desk.works.open(work)
        chosen = host or likely_host(desk, found, opened)
        who = session.caller.name
        values = {
            "work": opened,
            "host": chosen,
            "tree": tree_of(opened),
            "counted": counts(desk, checks, found, opened, chosen) if count else None,
            "doubts": opened.state.doubts,
            "where": lambda place: whereabouts(place, opened.parts),
            "refused": refused,
            "undo": last_to_undo(opened.state.steps, who),
            "redo": last_to_redo(opened.state.steps, who),
            "steps": tuple(reversed(opened.state.steps))[:_STEPS],
            **checked(checks, work),
        }
        return site.crawl_page(session, found, "studio", "studio/work.html", **values)

    @router.get("/parts")
    def show_parts(session: Reading, crawl: str, work: WorkName, host: HostName = "") -> Response:
        found, opened = site.crawl(crawl), desk.works.open(work)
        counted = counts(desk, checks, found, opened, host)
        values = {"work": opened, "host": host, "tree": tree_of(opened), "counted": counted}
        return site.part(session, "studio/work_parts.html", crawl=found, counting=False, **values)

    @router.get("/checks")
    def show_checks(session: Reading, crawl: str, work: WorkName) -> Response:
        found, opened = site.crawl(crawl), desk.works.open(work)
        return site.part(session, "studio/checks.html", crawl=found, work=opened, **checked(checks, work))

    return router


def checked(checks: DraftChecker, name: str) -> dict[str, object]:
    """Return what is known about whether a work is right."""
    try:
        progress = checks.checked(name)
    except DraftEditError as error:
        raise ProblemError(CONFLICT, str(error)) from error
    found = progress.wait(_PATIENCE)
    warnings = found.warnings if found is not None else ()
    return {
        "examined": found,
        "is_checking": progress.is_running,
        "fault": progress.fault,
        "warnings": [each for each in warnings if not each.is_guess],
    }


def tree_of(work: OpenDraft) -> tuple[PartNode, ...]:
    """Return the parts of an entry as a tree."""
    parts, guesses = work.parts, work.state.text.guesses()
    children: dict[str, list[Part]] = {}
    for each in parts.all:
        if each.place:
            children.setdefault(each.parent, []).append(each)
    lines = {each.place: work.state.text.line(each.place) for each in parts.all}

    def node(part: Part) -> PartNode:
        kind = mark_kind(part)
        return PartNode(
            part,
            said_of(part, parts),
            kind.value if kind is not None else "",
            guesses.get(part.place, ""),
            lines[part.place],
            tuple(node(each) for each in children.get(part.place, ())),
            is_container(part),
        )

    return tuple(node(each) for each in children.get("", ()))


def counts(desk: StudioService, checks: DraftChecker, crawl: Crawl, work: OpenDraft, host: str) -> Counted | None:
    """Return on how many pages of a host each part matches; None where that cannot be said."""
    try:
        return checks.counted(work, desk.shelf.sample(crawl, host)) if host else None
    except ProblemError:
        return None


def likely_host(desk: StudioService, crawl: Crawl, work: OpenDraft) -> str:
    """Return the host that a work is probably about: recognised as it, of a page kept with it, or named in its text."""
    hosts = desk.hosts(crawl).hosts
    named = sorted(hosts, key=lambda each: -each.applications.get(work.title, 0))
    if named and named[0].applications.get(work.title):
        return named[0].host
    kept = {state.expected.url for state in work.state.pages.values()}
    for each in hosts:
        if any(f"//{each.host}/" in url or f"//www.{each.host}/" in url for url in kept):
            return each.host
    written = work.state.text.data.decode("utf-8", "replace")  # A draft quotes addresses of the host that it is of.
    return max(hosts, key=lambda each: written.count(f"//{each.host}/")).host if hosts else ""
