"""The queue: searched, a URL scored anew, fetched at once or kept out; and the sites that it is made of."""

from math import inf
from typing import Annotated

from fastapi import APIRouter, Path, Query, Response

from aahcrawler.frontier.blocking_rules import RuleKind
from aahcrawler.frontier.protocol import State
from aahcrawler.service.cockpit.site import Reading, Site, address
from aahcrawler.service.steering.exclusion_rules import RuleShown
from aahcrawler.service.views.queue_pages import QueueQuery, queue_page
from aahcrawler.service.views.site_pages import SiteOrder, SiteQuery, site_page, sites_page
from aahcrawler.service.web.asking_again import AskingAgain

Text = Annotated[str, Query(max_length=2_000)]
Word = Annotated[str, Query(max_length=300)]
Score = Annotated[str, Query(pattern=r"^(\d{1,3}([.,]\d{0,6})?)?$")]
STATES = (
    (State.QUEUED, "queued"),
    (State.LEASED, "being fetched"),
    (State.BLOCKED, "blocked"),
    (State.DUE, "to be fetched again"),
    (State.FAILED, "failed"),
)
ORDERS = (("queued", "most queued"), ("best", "best score"), ("done", "most fetched"), ("name", "name"))


def routes(site: Site) -> APIRouter:
    """Return the routes of the queue and its sites."""
    router = APIRouter(prefix="/crawls/{crawl}", route_class=AskingAgain)
    reach = site.instruments.reach

    @router.get("/queue")
    def show_queue(
        session: Reading,
        crawl: str,
        text: Text = "",
        state: State = State.QUEUED,
        of_site: Annotated[str, Query(max_length=255, alias="site")] = "",
        lowest: Score = "",
        highest: Score = "",
        after: Text = "",
    ) -> Response:
        found = site.crawl(crawl)
        bounds = _number(lowest, -inf), _number(highest, inf)
        listed = queue_page(reach, found, QueueQuery(state, of_site, text, *bounds, after))
        asked = {"text": text, "state": str(state), "site": of_site, "lowest": lowest, "highest": highest}
        more = address("crawls", crawl, "queue", **asked, after=listed.next) if listed.next else ""
        values = {"listed": listed, "asked": asked, "more": more, "states": STATES}
        return site.crawl_page(session, found, "queue", "queue.html", **values)

    @router.get("/sites")
    def show_sites(
        session: Reading,
        crawl: str,
        text: Word = "",
        order: SiteOrder = "queued",
        waiting: bool = False,
        after: Annotated[int, Query(ge=0, le=10_000_000)] = 0,
    ) -> Response:
        found = site.crawl(crawl)
        listed = sites_page(reach, found, SiteQuery(text, order, waiting, after))
        asked = {"text": text, "order": order, "waiting": waiting}
        more = address("crawls", crawl, "sites", **asked, after=listed.next) if listed.next else ""
        values = {"listed": listed, "asked": asked, "more": more, "orders": ORDERS}
        return site.crawl_page(session, found, "sites", "sites.html", **values)

    @router.get("/sites/{name}")
    def show_site(session: Reading, crawl: str, name: Annotated[str, Path(max_length=255)]) -> Response:
        found = site.crawl(crawl)
        shown = site_page(reach, found, name)
        rule = RuleShown(kind=RuleKind.HOST, text=name.partition(":")[0], reason="")
        return site.crawl_page(session, found, "sites", "site.html", shown=shown, rule=rule)

    return router


def _number(typed: str, default: float) -> float:
    """Return a number as people type it, with a point or a comma."""
    return float(typed.replace(",", ".")) if typed else default
