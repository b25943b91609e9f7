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
    desk, jobs = StudioDesk(site), StudioJobs(site)
    checks = WorkDesk(desk.works)
    for end in (desk.shelf.close, desk.matched.clear, checks.close):
        site.instruments.endings.callback(end)
    topics = (
        studio_home.routes(site, desk),
        page_views.routes(site, desk),
        group_acts.routes(site, desk),
        page_acts.routes(site, desk),
        new_entry_page.routes(site, desk, jobs),
        work_page.routes(site, desk, checks),
        work_acts.routes(site, desk, checks, jobs),
        entry_text_page.routes(site, desk),
        kept_pages.routes(site, desk, jobs),
        trial_page.routes(site, desk, jobs),
        own_entries_page.routes(site, desk),
        entry_intake.routes(site, desk, jobs),
        repair_pages.routes(site, desk, jobs),
        studio_jobs.routes(site, jobs),
    )
    return APIRouter(routes=[route for topic in topics for route in topic.routes])
