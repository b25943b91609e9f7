"""What is done to a work: each act leads back to where it was done, and tells what came of it."""

from typing import Annotated

from fastapi import APIRouter, Path, Response

from aahcrawler.authoring.drafting.doubts import Doubt
from aahcrawler.authoring.editing.edit_error import EditError
from aahcrawler.service.cockpit.sign_in import Said
from aahcrawler.service.cockpit.site import Editing, Form, Sent, Site, address, then
from aahcrawler.service.cockpit.studio.studio_desk import StudioDesk
from aahcrawler.service.cockpit.studio.studio_jobs import Done, StudioJobs
from aahcrawler.service.cockpit.studio.work_changes import WorkChanges
from aahcrawler.service.cockpit.studio.work_desk import WorkDesk
from aahcrawler.service.steering.jobs import Progress
from aahcrawler.service.web.problems import BAD_SEARCH, CONFLICT, ProblemError
from aahcrawler.studio.works.object_edits import remove
from aahcrawler.studio.works.work import Work
from aahcrawler.studio.works.work_errors import NotSavedError, WorkError

WorkName = Annotated[str, Path(max_length=80)]


def routes(site: Site, desk: StudioDesk, checks: WorkDesk, jobs: StudioJobs) -> APIRouter:
    """Return the routes of acts on works."""
    router = APIRouter(prefix="/crawls/{crawl}/studio/works/{work}")
    acts = WorkChanges(desk)

    @router.post("/undo")
    def undo(session: Editing, crawl: str, work: WorkName, form: Sent) -> Response:
        del form
        return then(session, _back(crawl, work), acts.stepped(work, lambda each: each.undo(session.caller.name)))

    @router.post("/redo")
    def redo(session: Editing, crawl: str, work: WorkName, form: Sent) -> Response:
        del form
        return then(session, _back(crawl, work), acts.stepped(work, lambda each: each.redo(session.caller.name)))

    @router.post("/confirm")
    def confirm(session: Editing, crawl: str, work: WorkName, form: Sent) -> Response:
        return then(session, _back(crawl, work), _confirmed(acts, work, session.caller.name, form))

    @router.post("/choose")
    def choose(session: Editing, crawl: str, work: WorkName, form: Sent) -> Response:
        doubt, wanted = _doubt(desk, work, form), form.get("alternative")
        other = next((each for each in doubt.alternatives if each.said == wanted), None)
        if other is None:
            raise ProblemError(BAD_SEARCH, "this is not among what else could be right; look at the work again")
        chosen = other
        said = acts.stepped(work, lambda each: each.choose(doubt, chosen, session.caller.name), f"Chosen: {other.said}")
        return then(session, _back(crawl, work), said)

    @router.post("/remove")
    def remove_part(session: Editing, crawl: str, work: WorkName, form: Sent) -> Response:
        said = acts.changed(session, work, form, lambda text: remove(text, form.get("place")))
        return then(session, _back(crawl, work), said)

    @router.post("/discard")
    def discard(session: Editing, crawl: str, work: WorkName, form: Sent) -> Response:
        del form
        said = acts.stepped(work, Work.discard, f"The work {work} is discarded. What was saved of it stays.")
        checks.forget(work)
        return then(session, address("crawls", crawl, "studio"), said)

    @router.post("/save")
    def save(session: Editing, crawl: str, work: WorkName, form: Sent) -> Response:
        found, to = site.crawl(crawl), _back(crawl, work)
        held, who, force = desk.works.work(work), session.caller.name, form.get("force") == "yes"

        def saved(progress: Progress) -> Done:
            return _saved(held, who, to, progress, force=force)

        return jobs.led(session, found, jobs.begin(session, found, f"checking and saving {work}", saved))

    return router


def _confirmed(acts: WorkChanges, work: str, who: str, form: Form) -> Said:
    """Confirm the guess that a form is about, or all that are left where it says so; return what is told of it."""
    if form.get("all") == "yes":
        return acts.stepped(work, lambda each: each.confirm_all(who), "All guesses are confirmed.")
    doubt = _doubt(acts.desk, work, form)
    return acts.stepped(work, lambda each: each.confirm(doubt, who), f"Confirmed: {doubt.said}")


def _back(crawl: str, work: str) -> str:
    return address("crawls", crawl, "studio", "works", work)


def _saved(work: Work, who: str, to: str, progress: Progress, *, force: bool) -> Done:
    try:
        work.save(who, force=force, is_given_up=lambda: progress.is_cancelled)
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


def _doubt(desk: StudioDesk, work: str, form: Form) -> Doubt:
    """Return the doubt that a form is about. Raise ``ProblemError`` where it was settled."""
    place, said = form.get("place"), form.get("said")
    doubts = desk.works.open(work).state.doubts
    alike = [each for each in doubts if each.said == said]
    found = next((each for each in alike if each.place == place), None) or (alike[0] if len(alike) == 1 else None)
    if found is None:
        raise ProblemError(CONFLICT, "somebody has settled this guess already; look at the work again")
    return found
