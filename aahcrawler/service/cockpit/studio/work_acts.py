"""What is done to a work: each act leads back to where it was done, and tells what came of it."""

from collections.abc import Callable
from typing import Annotated

from fastapi import APIRouter, Path, Response

from aahcrawler.authoring.drafting.doubts import Doubt
from aahcrawler.authoring.editing.edit_error import EditError
from aahcrawler.service.cockpit.sign_in import Said
from aahcrawler.service.cockpit.site import Editing, Form, Sent, Site, address, then
from aahcrawler.service.cockpit.studio.studio_desk import StudioDesk
from aahcrawler.service.cockpit.studio.studio_jobs import Done, StudioJobs
from aahcrawler.service.cockpit.studio.work_changes import WorkChanges, seen_by
from aahcrawler.service.cockpit.studio.work_desk import WorkDesk
from aahcrawler.service.steering.jobs import Progress
from aahcrawler.studio.works.object_edits import remove
from aahcrawler.studio.works.work import Work
from aahcrawler.studio.works.work_errors import NotSavedError, WorkError
from aahcrawler.studio.works.work_state import WorkState

WorkName = Annotated[str, Path(max_length=80)]


def routes(site: Site, desk: StudioDesk, checks: WorkDesk, jobs: StudioJobs) -> APIRouter:
    """Return the routes of acts on works."""
    router = APIRouter(prefix="/crawls/{crawl}/studio/works/{work}")
    acts = WorkChanges(desk)

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

        def chosen(each: Work, seen: int) -> WorkState:
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
            else acts.stepped(work, form, lambda each, _: each.discard(), words)
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


def _confirmed(acts: WorkChanges, work: str, who: str, form: Form) -> Said:
    """Confirm the guess that a form is about, or all that are left where it says so; return what is told of it."""
    if form.get("all") == "yes":
        return acts.stepped(work, form, lambda each, seen: each.confirm_all(who, seen), "All guesses are confirmed.")
    words = f"Confirmed: {form.get('said')}"
    return acts.stepped(work, form, lambda each, seen: each.confirm(_doubt(each, form), who, seen), words)


def _discarded(desk: StudioDesk, work: str, words: str) -> Said:
    """Discard a work that cannot be read, so that nothing tells which one it is; one that can be read stays."""
    try:
        if desk.works.fault(work):
            desk.works.work(work).discard()
            return Said(words)
    except WorkError as error:
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
    except (WorkError, EditError) as error:
        return Done(to=to, text=str(error), kind="bad")
    return Done(to=to, text="Saved. Crawls that start from now on use it, and those that run take it over.")


def _doubt(work: Work, form: Form) -> Doubt:
    """Return the doubt that a form is about. Raise ``WorkError`` where it is settled."""
    place, said = form.get("place"), form.get("said")
    found = next((each for each in work.now().doubts if (each.place, each.said) == (place, said)), None)
    if found is None:
        raise WorkError("somebody has settled this guess already; look at the work again")
    return found
