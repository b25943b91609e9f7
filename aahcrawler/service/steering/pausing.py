"""A crawl, or a site, is paused and goes on."""

from typing import Literal

from aahcrawler import urls
from aahcrawler.service.catalog.crawl_catalog import Crawl
from aahcrawler.service.catalog.crawl_registry import CrawlRegistry
from aahcrawler.service.steering.steering_log import note
from aahcrawler.service.web.problems import BAD_SITE, ProblemError, Shown


class Paused(Shown):
    """Whether a crawl is paused, which sites are, and what that means, in words."""

    paused: bool
    sites: tuple[str, ...]
    detail: str


def pause(reach: CrawlRegistry, crawl: Crawl, by: str) -> Paused:
    """Have a crawl fetch nothing more, in none of its workers; what is being fetched is brought to its end."""
    return _crawl(reach, crawl, by, "pause")


def resume(reach: CrawlRegistry, crawl: Crawl, by: str) -> Paused:
    """Have a crawl that was paused go on."""
    return _crawl(reach, crawl, by, "resume")


def pause_site(reach: CrawlRegistry, crawl: Crawl, by: str, site: str) -> Paused:
    """Fetch nothing more of a site: of the pay-level domain of a host, in all crawls that share the server."""
    return _site(reach, crawl, by, "pause", site)


def resume_site(reach: CrawlRegistry, crawl: Crawl, by: str, site: str) -> Paused:
    """Fetch from a site that was paused again, in all crawls that share the server."""
    return _site(reach, crawl, by, "resume", site)


def _crawl(reach: CrawlRegistry, crawl: Crawl, by: str, act: Literal["pause", "resume"]) -> Paused:
    with reach.frontier(crawl) as frontier:
        was = frontier.is_paused()
        if act == "pause":
            frontier.pause()
        else:
            frontier.resume()
        is_paused, sites = frontier.is_paused(), tuple(sorted(frontier.paused_queues()))
    note(crawl, by, act, {}, {"was_paused": was, "paused": is_paused})
    if act == "pause":
        detail = "nothing more is fetched until the crawl is resumed, also after a restart; fetches under way end"
    else:
        detail = "the crawl goes on" + (f"; {len(sites):,} sites are still paused" if sites else "")
    return Paused(paused=is_paused, sites=sites, detail=detail)


def _site(reach: CrawlRegistry, crawl: Crawl, by: str, act: Literal["pause", "resume"], site: str) -> Paused:
    queue = site_named(site)
    with reach.frontier(crawl) as frontier:
        if act == "pause":
            frontier.pause_queue(queue)
        else:
            frontier.resume_queue(queue)
        is_paused, sites = frontier.is_paused(), tuple(sorted(frontier.paused_queues()))
    note(crawl, by, f"{act}_site", {"site": queue}, {"sites": list(sites)})
    crawls = "in all crawls that share the server"
    detail = f"{queue} is paused {crawls}" if act == "pause" else f"{queue} goes on {crawls}"
    if is_paused and act == "resume":
        detail += "; this crawl itself is paused"
    return Paused(paused=is_paused, sites=sites, detail=detail)


def site_named(host: str) -> str:
    """Return the site of a host, its pay-level domain. Raise ``ProblemError`` where the text names none."""
    is_bare = 0 < len(host) <= urls.MAX_LENGTH and not set(host) & set("/?#@ ")
    url = urls.canonicalize(f"http://{host}/") if is_bare else None
    queue = urls.queue_of(url) if url is not None else ""
    if not 0 < len(queue.encode()) <= 255:
        raise ProblemError(BAD_SITE, "give the name of a host, such as forum.example.org")
    return queue
