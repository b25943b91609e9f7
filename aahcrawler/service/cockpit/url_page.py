"""One URL: where it is, why it was not fetched, what can be done about it, and how its score came to be."""

from typing import Annotated

from fastapi import APIRouter, Query, Response
from starlette.responses import RedirectResponse

from aahcrawler.service.cockpit.site import Reading, Site, address
from aahcrawler.service.steering.url_scores import admission
from aahcrawler.service.views.score_histories import ScoreHistories
from aahcrawler.service.views.url_captures import url_captures
from aahcrawler.service.views.url_story import url_story
from aahcrawler.service.web.problems import ProblemError

_LONGEST = 20_000


def routes(site: Site) -> APIRouter:
    """Return the routes of a URL."""
    router = APIRouter(prefix="/crawls/{crawl}/url")
    histories = ScoreHistories()

    @router.get("")
    def show(session: Reading, crawl: str, url: Annotated[str, Query(max_length=_LONGEST)] = "") -> Response:
        found = site.crawl(crawl)
        if not url.strip():
            return RedirectResponse(address("crawls", crawl, "queue"), 303)
        story = url_story(site.instruments.reach, found, url.strip())
        admitted = admission(found, story.url) if story.scope is not None else None
        values = {"story": story, "history": histories.history(found, story.url), "admission": admitted}
        try:
            with site.instruments.indexes.asked(found) as index:
                captured = url_captures(index, story.url)
        except ProblemError:
            captured = None  # Nothing of it is on this machine.
        return site.crawl_page(session, found, "queue", "url.html", captured=captured, **values)

    @router.get("/scores")
    def go_on(session: Reading, crawl: str, url: Annotated[str, Query(max_length=_LONGEST)]) -> Response:
        found = site.crawl(crawl)
        return site.part(session, "score_history.html", crawl=found, history=histories.history(found, url))

    return router
