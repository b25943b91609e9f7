"""Begin an entry: the groups of alike addresses of a site, which of them hold content, and a draft made of them."""

from typing import Annotated

from fastapi import APIRouter, Query, Response

from aahcrawler.service.cockpit.site import Reading, Site
from aahcrawler.service.cockpit.studio.address_words import address_words
from aahcrawler.service.cockpit.studio.sample_shelf import SampleShelf
from aahcrawler.studio.site_groups import SiteGroup

HostName = Annotated[str, Query(max_length=255)]


def routes(site: Site, shelf: SampleShelf) -> APIRouter:
    """Return the routes by which an entry is begun."""
    router = APIRouter(prefix="/crawls/{crawl}/studio")

    @router.get("/begin")
    def choose_groups(session: Reading, crawl: str, host: HostName) -> Response:
        found = site.crawl(crawl)
        groups = shelf.groups(found, host)
        return site.crawl_page(session, found, "studio", "studio/begin.html", host=host, groups=groups, words=_words)

    return router


def _words(group: SiteGroup) -> str:
    return address_words(group.shape.path, group.shape.parameters, group.shape.query)
