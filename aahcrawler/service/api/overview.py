"""The readable state of the service: crawls with their counts, and the states of URLs."""

from collections.abc import Mapping

from pydantic import BaseModel

from aahcrawler.frontier.protocol import State
from aahcrawler.service.catalog.crawl_catalog import Crawl, Fault
from aahcrawler.service.catalog.gateway import Gateway
from aahcrawler.service.web.problems import BAD_URL, NO_URL, ProblemError


class CountsView(BaseModel):
    """URLs by state, pages and requisites apart, and how many queues hold some."""

    pages: Mapping[State, int]
    requisites: Mapping[State, int]
    queues: int
    reasons: Mapping[str, int]


class CrawlView(BaseModel):
    """A crawl. ``reachable`` says whether URLs can be posted to it now; where not, ``detail`` says why."""

    id: str
    title: str
    crawl: int
    update: str
    reachable: bool
    detail: str = ""
    counts: CountsView | None = None


class UrlView(BaseModel):
    """The state of a URL. Score, depth and ``via`` are null once it has ended; ``via`` is empty for a seed."""

    url: str
    state: State
    score: float | None = None
    depth: int | None = None
    via: str | None = None
    immediate: bool = False
    reason: str = ""


class Overview:
    """Reads from frontiers. Blocks while they answer."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway

    def crawl(self, crawl: Crawl) -> CrawlView:
        """Return a crawl with its counts, as far as they can be had."""
        shown = CrawlView(
            id=crawl.id,
            title=crawl.icd.title,
            crawl=crawl.number,
            update=crawl.icd.scoring.update,
            reachable=False,
        )
        try:
            with self._gateway.frontier(crawl) as frontier:
                counts = frontier.counts()
        except ProblemError as problem:
            return shown.model_copy(update={"detail": problem.detail})
        shown_counts = CountsView(
            pages=counts.pages, requisites=counts.requisites, queues=counts.queues, reasons=counts.reasons
        )
        return shown.model_copy(update={"reachable": True, "counts": shown_counts})

    def url(self, crawl: Crawl, text: str) -> UrlView:
        """Return the state of a URL. Raise ``ProblemError`` for an invalid one, or one unknown to the crawl."""
        target = crawl.admission.target(text)
        if isinstance(target, Fault):
            raise ProblemError(BAD_URL, "give a whole http or https URL, percent-encoded as a query parameter")
        with self._gateway.frontier(crawl) as frontier:
            status = frontier.status(target.url)
        if status is None:
            raise ProblemError(NO_URL, f"{target.url} was never offered to {crawl.id}")
        shown = UrlView(url=target.url, state=status.state, immediate=status.at_front, reason=status.reason)
        offer = status.offer
        return shown.model_copy(
            update={"score": offer.score if offer.score >= 0 else None, "depth": offer.depth, "via": offer.via}
            if offer is not None
            else {}
        )
