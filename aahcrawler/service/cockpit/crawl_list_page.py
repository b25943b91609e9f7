"""The first page: crawls at a glance."""

from fastapi import APIRouter

from aahcrawler.service.cockpit.site import Site


def routes(_site: Site) -> APIRouter:
    """Return the route of the list of crawls."""
    return APIRouter()
