"""The log: what people did to a crawl, and what the crawl logged."""

from typing import Annotated, Final

from fastapi import APIRouter, Query, Response

from aahcrawler.event_index import EventQuery
from aahcrawler.service.cockpit.site import Reading, Site, address
from aahcrawler.service.steering.steering_log import read_acts
from aahcrawler.service.views.logged_events import events_page

Text = Annotated[str, Query(max_length=2_000)]
EVENTS: Final = 25
"""Events that the page shows at once: more would be longer than three screens."""
Word = Annotated[str, Query(max_length=300)]
_LEVELS = {"": (), "warnings": ("WARNING", "ERROR", "CRITICAL"), "errors": ("ERROR", "CRITICAL")}


def routes(site: Site) -> APIRouter:
    """Return the route of the log."""
    router = APIRouter(prefix="/crawls/{crawl}")

    @router.get("/log")
    def show_log(
        session: Reading,
        crawl: str,
        text: Text = "",
        level: Annotated[str, Query(pattern="^(warnings|errors)?$")] = "",
        after: Word = "",
    ) -> Response:
        found = site.crawl(crawl)
        listed = events_page(found, EventQuery(text.strip(), _LEVELS[level]), after, EVENTS)
        asked = {"text": text, "level": level}
        more = address("crawls", crawl, "log", **asked, after=listed.next) if listed.next else ""
        acts = read_acts(found)
        return site.crawl_page(session, found, "log", "log.html", listed=listed, acts=acts, asked=asked, more=more)

    return router
