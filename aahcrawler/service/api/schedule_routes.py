"""Routes for the schedule: due visits and their reasons, past visits, and commands to visit, pause and resume."""

from collections.abc import Callable, Sequence
from typing import Annotated

from fastapi import APIRouter, Path, Query

from aahcrawler.schedule.visit_log import Wish
from aahcrawler.service.api.steering_routes import AskedUrl, Operator
from aahcrawler.service.instruments import Instruments
from aahcrawler.service.views.held_sites import HeldSitesPage, HeldVersionsShown, HoldingsDesk, canonical
from aahcrawler.service.views.scheduled_crawls import (
    MAX_ROWS,
    CapacityShown,
    EntryShown,
    ScheduleDesk,
    SchedulePage,
    UnitsShown,
    UnitVersions,
    VisitsPage,
    Wished,
)
from aahcrawler.service.web.noted_acts import note_did
from aahcrawler.service.web.problems import (
    BAD_SEARCH,
    BAD_URL,
    DAMAGED,
    NO_ENTRY,
    NO_SCHEDULE,
    ProblemError,
    problem_responses,
)

Name = Annotated[str, Path(max_length=64, description="The name of the crawl in the schedule.", examples=["floods"])]
Limit = Annotated[int, Query(ge=1, le=MAX_ROWS)]
_SHOWN = problem_responses(NO_SCHEDULE, DAMAGED)
_OF_ENTRIES = problem_responses(NO_SCHEDULE, NO_ENTRY, DAMAGED)


def schedule_routes(instruments: Instruments) -> APIRouter:
    """Return the routes."""
    router = APIRouter(prefix="/schedule", tags=["schedule"])

    def desk() -> ScheduleDesk:
        if instruments.schedule is None:
            raise ProblemError(NO_SCHEDULE, "this service shows no schedule; start it with --schedule FILE")
        return instruments.schedule

    _add_shown(router, desk)
    _add_acts(router, desk)
    return router


def _add_shown(router: APIRouter, desk: Callable[[], ScheduleDesk]) -> None:
    @router.get("", responses=_SHOWN)
    def list_scheduled(
        text: Annotated[str, Query(max_length=100, description="A part of the names.")] = "",
        after: Annotated[int, Query(ge=0, le=1_000_000)] = 0,
        limit: Limit = 50,
    ) -> SchedulePage:
        """List scheduled crawls, those that run first, then as they are due, each with why then."""
        return desk().page(text, after, limit)

    @router.get("/visits", responses=_SHOWN)
    def list_visits(limit: Limit = 50) -> VisitsPage:
        """List the visits of all scheduled crawls, the newest first: when due, begun and ended, and what they found."""
        return desk().visits(most=limit)

    @router.get("/capacity", responses=_SHOWN)
    def show_capacity() -> CapacityShown:
        """Say how busy the schedule is, and how many visits more would fit into a day."""
        return desk().capacity()

    @router.get("/units", responses=_SHOWN)
    def list_units() -> UnitsShown:
        """List the units that visit the schedule together, as they told last."""
        return desk().units()

    @router.get("/units/versions", responses={**_SHOWN, **problem_responses(BAD_URL)})
    def find_versions(url: AskedUrl) -> Sequence[UnitVersions]:
        """Ask the other units which of their crawls hold captures of a URL, with links to their TimeMaps."""
        return desk().versions_elsewhere(canonical(url))

    @router.get("/crawls/{name}", responses=_OF_ENTRIES)
    def show_scheduled(name: Name) -> EntryShown:
        """Return a scheduled crawl: when its next visit is due, and why then."""
        return desk().entry(name)

    @router.get("/crawls/{name}/visits", responses=_OF_ENTRIES)
    def list_visits_of(name: Name, limit: Limit = 50) -> VisitsPage:
        """List the visits of a scheduled crawl, the newest first."""
        return desk().visits(name, limit)


def _add_acts(router: APIRouter, desk: Callable[[], ScheduleDesk]) -> None:
    @router.post("/pause", responses=_SHOWN)
    def pause_all(_caller: Operator) -> Wished:
        """Begin no visits any more; what runs goes on."""
        return _asked(desk(), Wish.PAUSE)

    @router.post("/resume", responses=_SHOWN)
    def resume_all(_caller: Operator) -> Wished:
        """End the pause of all; crawls that were paused by name stay so."""
        return _asked(desk(), Wish.RESUME)

    @router.post("/crawls/{name}/now", responses=_OF_ENTRIES)
    def visit_now(name: Name, _caller: Operator) -> Wished:
        """Have a crawl visited now, beside its rhythm, even where it is paused."""
        return _asked(desk(), Wish.NOW, name)

    @router.post("/crawls/{name}/pause", responses=_OF_ENTRIES)
    def pause(name: Name, _caller: Operator) -> Wished:
        """Begin no visits of a crawl any more; one that runs goes on."""
        return _asked(desk(), Wish.PAUSE, name)

    @router.post("/crawls/{name}/resume", responses=_OF_ENTRIES)
    def resume(name: Name, _caller: Operator) -> Wished:
        """End the pause of a crawl."""
        return _asked(desk(), Wish.RESUME, name)


def holding_routes(instruments: Instruments) -> APIRouter:
    """Return the routes that list what the crawls of this service hold."""
    router = APIRouter(tags=["holdings"])
    desk = HoldingsDesk(instruments.reach, instruments.indexes)

    @router.get("/holdings", responses=problem_responses(BAD_SEARCH))
    def list_holdings(after: Annotated[str, Query(max_length=400)] = "", limit: Limit = 50) -> HeldSitesPage:
        """List the sites that crawls hold captures of, since when, and until when; `next` goes on with the rest."""
        return desk.sites(after, limit)

    @router.get("/versions", responses=problem_responses(BAD_URL))
    def list_versions(url: AskedUrl) -> HeldVersionsShown:
        """Say which crawls hold captures of a URL, how many, and of when the first and the last ones are."""
        return desk.versions(canonical(url))

    return router


def _asked(desk: ScheduleDesk, act: Wish, name: str = "") -> Wished:
    wished = desk.wish(act, name)
    note_did(name or "all", f"schedule_{act}")
    return wished
