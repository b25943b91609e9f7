"""The page of a work: its parts in plain words, its doubts and checks, and acts on it."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Final, get_args

from fastapi import APIRouter, Path, Query, Response

from aahcrawler.editor.drafting.annotated_xml import Doubt
from aahcrawler.editor.drafts.draft_state import (
    DraftEditError,
    DraftState,
    NotSavedError,
    StaleError,
    last_to_redo,
    last_to_undo,
)
from aahcrawler.editor.drafts.made_edits import Made, NamedGroup, avoid, name_level, remove, set_role
from aahcrawler.editor.drafts.opened_draft import OpenedDraft
from aahcrawler.editor.rules.link_fates import Part
from aahcrawler.editor.rules.site_groups import SiteGroup
from aahcrawler.editor.text.entry_text import EditError, EntryText
from aahcrawler.service.catalog.crawl_catalog import Crawl
from aahcrawler.service.cockpit.sign_in import Said, Session
from aahcrawler.service.cockpit.site import Editing, Form, Reading, Sent, Site, address, then
from aahcrawler.service.cockpit.studio.entry_words import PartWords, is_container, said_of, whereabouts
from aahcrawler.service.cockpit.studio.open_works import Counted, DraftChecker, OpenDraft
from aahcrawler.service.cockpit.studio.studio_desk import Done, StudioJobs, StudioService, mark_kind
from aahcrawler.service.steering.long_jobs import Progress
from aahcrawler.service.web.problems import BAD_SEARCH, CONFLICT, ProblemError
from knowledge_base.model import Role
from knowledge_base.url_rules import Reason

WorkName = Annotated[str, Path(max_length=80)]

HostName = Annotated[str, Query(max_length=255)]
Word = Annotated[str, Query(max_length=10)]
_STEPS: Final = 30
_PATIENCE: Final = 0.3


@dataclass(frozen=True, slots=True)
class PartNode:
    """A part in the tree of a work: in words, the guess on which it rests, and its child parts."""

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
    """Return the values that show the checks of a work."""
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
    """Return the host that a work is probably about.

    It is a host recognised as the work's application, that of a saved page, or one named in the text.
    """
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


_SEEN: Final = re.compile("([0-9]{1,9})-([0-9a-f]{12})")
_ROLES: Final[tuple[Role, ...]] = get_args(Role)


@dataclass(frozen=True, slots=True)
class DraftChanges:
    """Changes works on behalf of somebody."""

    desk: StudioService

    def changed(self, session: Session, work: str, form: Form, make: Callable[[EntryText], Made]) -> Said:
        """Edit a work in the state that somebody saw; return the message about it.

        ``make`` returns the edits for the text that the work had then. If the work has changed since, nothing is done,
        and the message says what was wanted.
        """
        revision, mark = seen_by(form)
        wanted = ""
        try:
            found = self.desk.works.work(work, mark)
            then = found.now().text_at(revision)
            if then is None:
                return Said("too much was done since this page was loaded; look at it again", "bad")
            made = make(then)
            wanted = made.said
            found.change(made.edits, session.caller.name, wanted, revision)
        except StaleError as error:
            return Said(str(error), "bad", (f"What you wanted, which was not done: {wanted}",))
        except (EditError, DraftEditError) as error:
            return Said(str(error), "bad")
        return Said(_sentence(wanted))

    def stepped(
        self, work: str, form: Form, act: Callable[[OpenedDraft, int], DraftState | None], said: str = ""
    ) -> Said:
        """Apply ``act`` to a work in the state that somebody saw; return ``said``, or else the message in its history.

        ``act`` gets the work, and the number of the last step that was seen.
        """
        revision, mark = seen_by(form)
        try:
            state = act(self.desk.works.work(work, mark), revision)
        except (DraftEditError, EditError) as error:
            return Said(str(error), "bad")
        return Said(said or (_sentence(state.steps[-1].said) if state is not None else ""))


def _sentence(words: str) -> str:
    return f"{words[:1].upper()}{words[1:]}"


def seen_by(form: Form) -> tuple[int, str]:
    """Return the revision for which a form was made, and the mark of its work.

    Raise ``ProblemError`` if it has none.
    """
    found = _SEEN.fullmatch(form.get("seen"))
    if found is None:
        raise ProblemError(BAD_SEARCH, "the form is of no state of this work; load the page again")
    return int(found[1]), found[2]


def group_routes(site: Site, desk: StudioService) -> APIRouter:
    """Return the routes of acts on groups and levels."""
    router = APIRouter(prefix="/crawls/{crawl}/studio/works/{work}")
    acts = DraftChanges(desk)

    @router.post("/levels")
    def add_level(session: Editing, crawl: str, work: WorkName, form: Sent) -> Response:
        group = _group(desk, site.crawl(crawl), form)
        role = _role(form)
        addresses = desk.shelf.sample(site.crawl(crawl), form.get("host")).groups[group.number].addresses
        named = NamedGroup(addresses, role, form.get("name"))
        said = acts.changed(session, work, form, lambda text: name_level(text, named))
        return then(session, _pages_of(crawl, work, form), said)

    @router.post("/role")
    def say_role(session: Editing, crawl: str, work: WorkName, form: Sent) -> Response:
        role, level = _role(form), form.get("level")
        said = acts.changed(session, work, form, lambda text: set_role(text, level, role))
        return then(session, address("crawls", crawl, "studio", "works", work), said)

    @router.post("/avoided")
    def avoid_group(session: Editing, crawl: str, work: WorkName, form: Sent) -> Response:
        group = _group(desk, site.crawl(crawl), form)
        if form.get("reason") not in set(Reason):
            raise ProblemError(BAD_SEARCH, "choose a reason of the list")
        addresses = desk.shelf.sample(site.crawl(crawl), form.get("host")).groups[group.number].addresses
        reason = Reason(form.get("reason"))
        said = acts.changed(session, work, form, lambda text: avoid(text, addresses, reason))
        return then(session, _pages_of(crawl, work, form), said)

    return router


def _role(form: Form) -> Role:
    """Return the role that a form names. Raise ``ProblemError`` where it names none."""
    role = next((each for each in _ROLES if each == form.get("role")), None)
    if role is None:
        raise ProblemError(BAD_SEARCH, "say whether the pages hold content or lead to it")
    return role


def _group(desk: StudioService, crawl: Crawl, form: Form) -> SiteGroup:
    """Return the group that a form names. Raise ``ProblemError`` where there is none."""
    number = form.get("group")
    groups = desk.shelf.groups(crawl, form.get("host"))
    found = next((each for each in groups if str(each.number) == number), None)
    if found is None:
        raise ProblemError(BAD_SEARCH, "there is no such group of addresses (any more); look at the pages again")
    return found


def _pages_of(crawl: str, work: str, form: Form) -> str:
    return address("crawls", crawl, "studio", "works", work, "pages", host=form.get("host"))


def act_routes(site: Site, desk: StudioService, checks: DraftChecker, jobs: StudioJobs) -> APIRouter:
    """Return the routes of acts on works."""
    router = APIRouter(prefix="/crawls/{crawl}/studio/works/{work}")
    acts = DraftChanges(desk)

    @router.post("/undo")
    def undo(session: Editing, crawl: str, work: WorkName, form: Sent) -> Response:
        said = acts.stepped(work, form, lambda each, seen: each.undo(session.caller.name, seen))
        return then(session, _back(crawl, work), said)

    @router.post("/redo")
    def redo(session: Editing, crawl: str, work: WorkName, form: Sent) -> Response:
        said = acts.stepped(work, form, lambda each, seen: each.redo(session.caller.name, seen))
        return then(session, _back(crawl, work), said)

    @router.post("/confirm")
    def confirm(session: Editing, crawl: str, work: WorkName, form: Sent) -> Response:
        return then(session, _back(crawl, work), _confirmed(acts, work, session.caller.name, form))

    @router.post("/choose")
    def choose(session: Editing, crawl: str, work: WorkName, form: Sent) -> Response:
        wanted, who = form.get("alternative"), session.caller.name

        def chosen(each: OpenedDraft, seen: int) -> DraftState:
            return each.choose(_doubt(each, form), wanted, who, seen)

        return then(session, _back(crawl, work), acts.stepped(work, form, chosen, f"Chosen: {wanted}"))

    @router.post("/remove")
    def remove_part(session: Editing, crawl: str, work: WorkName, form: Sent) -> Response:
        said = acts.changed(session, work, form, lambda text: remove(text, form.get("place")))
        return then(session, _back(crawl, work), said)

    @router.post("/discard")
    def discard(session: Editing, crawl: str, work: WorkName, form: Sent) -> Response:
        words = f"The work {work} is discarded. What was saved of it stays."
        said = (
            _discarded(desk, work, words)
            if form.get("unreadable")
            else acts.stepped(work, form, lambda each, seen: each.discard(seen), words)
        )
        checks.forget(work)
        return then(session, address("crawls", crawl, "studio"), said)

    @router.post("/save")
    def save(session: Editing, crawl: str, work: WorkName, form: Sent) -> Response:
        found, to = site.crawl(crawl), _back(crawl, work)
        (revision, mark), who, force = seen_by(form), session.caller.name, form.get("force") == "yes"
        held = desk.works.work(work, mark)

        def saved(progress: Progress) -> Done:
            return _saved(lambda: held.save(who, revision, force=force, is_given_up=lambda: progress.is_cancelled), to)

        return jobs.led(session, found, jobs.begin(session, found, f"checking and saving {work}", saved))

    return router


def _confirmed(acts: DraftChanges, work: str, who: str, form: Form) -> Said:
    """Confirm the guess that a form names, or all open ones; return the message about it."""
    if form.get("all") == "yes":
        return acts.stepped(work, form, lambda each, seen: each.confirm_all(who, seen), "All guesses are confirmed.")
    words = f"Confirmed: {form.get('said')}"
    return acts.stepped(work, form, lambda each, seen: each.confirm(_doubt(each, form), who, seen), words)


def _discarded(desk: StudioService, work: str, words: str) -> Said:
    """Discard a work that cannot be read and so has no mark; one that can be read is kept."""
    try:
        if desk.works.fault(work):
            desk.works.work(work).discard()
            return Said(words)
    except DraftEditError as error:
        return Said(str(error), "bad")
    return Said(f"The work {work} can be read again; look at it before you discard it.", "bad")


def _back(crawl: str, work: str) -> str:
    return address("crawls", crawl, "studio", "works", work)


def _saved(save: Callable[[], object], to: str) -> Done:
    try:
        save()
    except NotSavedError as error:
        hint = ("It can be saved all the same.",) if error.can_force else ()
        return Done(
            to=f"{to}?refused=yes" if error.can_force else to,
            text="Not saved",
            kind="bad",
            lines=(*error.reasons[:20], *hint),
            can_force=error.can_force,
        )
    except (DraftEditError, EditError) as error:
        return Done(to=to, text=str(error), kind="bad")
    return Done(to=to, text="Saved. Crawls that start from now on use it, and those that run take it over.")


def _doubt(work: OpenedDraft, form: Form) -> Doubt:
    """Return the doubt that a form is about. Raise ``DraftEditError`` where it is settled."""
    place, said = form.get("place"), form.get("said")
    found = next((each for each in work.now().doubts if (each.place, each.said) == (place, said)), None)
    if found is None:
        raise DraftEditError("somebody has settled this guess already; look at the work again")
    return found


def text_routes(site: Site, desk: StudioService) -> APIRouter:
    """Return the routes of texts."""
    router = APIRouter(prefix="/crawls/{crawl}/studio/works/{work}/xml")

    def shown(session: Session, crawl: str, work: str, text: str = "", wrong: str = "") -> Response:
        opened = desk.works.open(work)
        now = opened.state.text.data.decode("utf-8", "replace")
        values = {"work": opened, "now": now, "text": text or now, "wrong": wrong}
        return site.crawl_page(session, site.crawl(crawl), "studio", "studio/xml.html", **values)

    @router.get("")
    def show_text(session: Reading, crawl: str, work: WorkName) -> Response:
        return shown(session, crawl, work)

    @router.post("")
    def write_text(session: Editing, crawl: str, work: WorkName, form: Sent) -> Response:
        (revision, mark), text = seen_by(form), form.raw("xml")
        held = desk.works.work(work, mark)
        try:
            held.rewrite(text.encode(), session.caller.name, revision)
        except (EditError, DraftEditError) as error:
            # What was written stays before who wrote it.
            return shown(session, crawl, work, text, str(error))
        return then(session, address("crawls", crawl, "studio", "works", work, "xml"), Said("The text is changed."))

    return router
