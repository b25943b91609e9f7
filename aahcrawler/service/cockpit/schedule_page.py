"""The schedule: a calendar of what ran and what comes, each crawl with its visits and its next one, and acts."""

from typing import Annotated

from fastapi import APIRouter, Query, Response

from aahcrawler.schedule.visit_log import Wish
from aahcrawler.service.cockpit.sign_in import Said
from aahcrawler.service.cockpit.site import Operating, Reading, Sent, Site, address, then
from aahcrawler.service.views.scheduled_crawls import ROWS, ScheduleDesk
from aahcrawler.service.web.noted_acts import note_did, note_said
from aahcrawler.service.web.problems import BAD_SEARCH, NO_SCHEDULE, ProblemError

_SAID = {
    Wish.NOW: "is visited as soon as may be, while `aah schedule run` runs",
    Wish.PAUSE: "is paused; what runs goes on",
    Wish.RESUME: "goes on",
}


def routes(site: Site) -> APIRouter:
    """Return the routes of the schedule."""
    router = APIRouter(prefix="/schedule")

    @router.get("")
    def show(
        session: Reading,
        text: Annotated[str, Query(max_length=100)] = "",
        after: Annotated[int, Query(ge=0, le=1_000_000)] = 0,
    ) -> Response:
        desk = _desk(site)
        shown = desk.shown(text, after)
        more = address("schedule", text=text, after=after + ROWS) if after + ROWS < shown.total else ""
        return site.page(session, "schedule.html", shown=shown, units=desk.units(), text=text, more=more)

    @router.get("/crawls/{name}")
    def show_crawl(session: Reading, name: str) -> Response:
        return site.page(session, "scheduled_crawl.html", shown=_desk(site).shown_entry(name))

    @router.post("/acts/{act}")
    def change(session: Operating, act: str, form: Sent) -> Response:
        if act not in _SAID:
            raise ProblemError(BAD_SEARCH, "there is no such act")
        name = form.get("name")
        _desk(site).wish(Wish(act), name)
        note_did(name or "all", f"schedule_{act}")
        said = f"{name or 'The schedule'} {_SAID[Wish(act)]}"
        note_said(said, refused=False)
        return then(session, "/schedule", Said(said))

    return router


def _desk(site: Site) -> ScheduleDesk:
    if site.instruments.schedule is None:
        raise ProblemError(NO_SCHEDULE, "this cockpit shows no schedule; start it with --schedule FILE")
    return site.instruments.schedule
