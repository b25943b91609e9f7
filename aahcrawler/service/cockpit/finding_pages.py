"""What came of the seeds, and what was not fetched: failures, refused links, traps, repairs."""

from typing import Annotated, Final

from fastapi import APIRouter, Query, Response

from aahcrawler.service.cockpit.site import Reading, Site, address
from aahcrawler.service.views.crawl_findings import repairs_of, seeds_page, traps_of
from aahcrawler.service.views.refused_links import RefusedLinks, RefusedQuery

Text = Annotated[str, Query(max_length=2_000)]
Word = Annotated[str, Query(max_length=300)]
ROWS: Final = 20
"""Links that the list of what was not fetched shows at once: many more would be longer than three screens."""


def routes(site: Site) -> APIRouter:
    """Return the routes of findings."""
    router = APIRouter(prefix="/crawls/{crawl}")

    @router.get("/seeds")
    def show_seeds(
        session: Reading, crawl: str, verdict: Word = "", after: Annotated[int, Query(ge=0, le=10_000_000)] = 0
    ) -> Response:
        found = site.crawl(crawl)
        listed = seeds_page(found, verdict, after)
        more = address("crawls", crawl, "seeds", verdict=verdict, after=listed.next) if listed.next else ""
        return site.crawl_page(session, found, "seeds", "seeds.html", listed=listed, verdict=verdict, more=more)

    @router.get("/failures")
    def show_failures(
        session: Reading,
        crawl: str,
        kind: Annotated[str, Query(pattern="^(failed|refused)$")] = "failed",
        reason: Word = "",
        of_site: Annotated[str, Query(max_length=255, alias="site")] = "",
        text: Text = "",
        after: Word = "",
    ) -> Response:
        found = site.crawl(crawl)
        links, query = RefusedLinks(found), RefusedQuery(reason, of_site, text, after, ROWS)
        listed = links.failed(query) if kind == "failed" else links.refused(query)
        asked = {"kind": kind, "reason": reason, "site": of_site, "text": text}
        more = address("crawls", crawl, "failures", **asked, after=listed.next) if listed.next else ""
        states = site.instruments.states
        values = {"traps": traps_of(states, found), "repairs": repairs_of(states, found)}
        return site.crawl_page(
            session, found, "failures", "failures.html", listed=listed, asked=asked, more=more, **values
        )

    return router
