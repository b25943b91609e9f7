"""The routes of the studio, with what its pages share."""

from fastapi import APIRouter

from aahcrawler.service.cockpit.site import Site
from aahcrawler.service.cockpit.studio import (
    entry_intake,
    entry_text_page,
    group_acts,
    kept_pages,
    new_entry_page,
    own_entries_page,
    page_acts,
    page_views,
    repair_pages,
    studio_home,
    studio_jobs,
    trial_page,
    work_acts,
    work_page,
)
from aahcrawler.service.cockpit.studio.studio_desk import StudioDesk
from aahcrawler.service.cockpit.studio.studio_jobs import StudioJobs
from aahcrawler.service.cockpit.studio.work_desk import WorkDesk


def routes(site: Site) -> APIRouter:
    """Return the routes of the studio."""
    router = APIRouter()
    desk = StudioDesk(site)
    router.include_router(studio_home.routes(site, desk))
    router.include_router(page_views.routes(site, desk))
    router.include_router(group_acts.routes(site, desk))
    router.include_router(page_acts.routes(site, desk))
    checks, jobs = WorkDesk(desk.works), StudioJobs(site)
    site.instruments.endings.callback(desk.shelf.close)
    site.instruments.endings.callback(desk.matched.clear)
    site.instruments.endings.callback(checks.close)
    router.include_router(new_entry_page.routes(site, desk, jobs))
    router.include_router(work_page.routes(site, desk, checks))
    router.include_router(work_acts.routes(site, desk, checks, jobs))
    router.include_router(entry_text_page.routes(site, desk))
    router.include_router(kept_pages.routes(site, desk, jobs))
    router.include_router(trial_page.routes(site, desk, jobs))
    router.include_router(own_entries_page.routes(site, desk))
    router.include_router(entry_intake.routes(site, desk, jobs))
    router.include_router(repair_pages.routes(site, desk, jobs))
    router.include_router(studio_jobs.routes(site, jobs))
    return router
