"""The routes of the studio, with what its pages share."""

from fastapi import APIRouter

from aahcrawler.service.cockpit.site import Site
from aahcrawler.service.cockpit.studio import new_entry_page, studio_home
from aahcrawler.service.cockpit.studio.sample_shelf import SampleShelf


def routes(site: Site) -> APIRouter:
    """Return the routes of the studio."""
    router = APIRouter()
    shelf = SampleShelf(site.instruments.indexes)
    router.include_router(studio_home.routes(site))
    router.include_router(new_entry_page.routes(site, shelf))
    return router
