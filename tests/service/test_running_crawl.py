"""A crawl that is running, and scores that are posted to it meanwhile."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from aahcrawler.service.api.app import ServiceSettings
from aahcrawler.service.catalog.crawl_catalog import Catalog
from tests.crawl.crawling import running, until
from tests.crawl.gate import Gate
from tests.crawl.site import Answer, Reply, Site, html, links, serving
from tests.crawl.world import define, network
from tests.service.asking import Service
from tests.service.asking import serving as serving_scores

HOSTS = ("site.test", "other.test")
ROBOTS = Reply(b"User-agent: *\nDisallow: /private\n", headers={"Content-Type": "text/plain"})


@pytest.fixture
def gate() -> Gate:
    """Return a gate that holds the third page of a crawl, until a test lets it go on."""
    return Gate(free=2)


@pytest.fixture
def site(gate: Gate) -> Iterator[Site]:
    page = html("A page", "<p>Nothing of interest.</p>")
    pages: dict[str, Answer] = {
        "//site.test/": html("Front", links(*(f"/{number}" for number in range(40)))),
        "//other.test/at-once": page,
        "/robots.txt": ROBOTS,
    }
    with serving(Site(pages, other=gate.holding(page))) as running_site:
        yield running_site


@pytest.fixture
def crawl(tmp_path: Path, site: Site, gate: Gate) -> Iterator[Path]:
    polite = {"delay": "0.05 s", "timeout": "10 min"}
    reached = network(site, *HOSTS)
    icd = define(
        tmp_path,
        ["http://site.test/"],
        politeness=polite,
        network=reached,
        scope={"sites": "anywhere", "deny": ["/no"]},
    )
    with running("crawl", icd) as process:
        process.until(lambda: gate.held > 0)
        yield tmp_path / "crawl"
        gate.open()
        process.interrupt()
        ended = process.ended()
        assert ended.code == 0, ended.err


@pytest.fixture
def service(crawl: Path) -> Iterator[Service]:
    with serving_scores(ServiceSettings(Catalog([crawl]))) as opened:
        yield opened


def state(service: Service, path: str) -> str:
    said = service.get(f"/v1/crawls/test/urls?url=http://site.test{path}").json
    return str(said.get("state"))


def test_posted_scores_change_the_order_of_a_crawl_that_runs(service: Service, site: Site, gate: Gate) -> None:
    asked = set(site.paths())
    assert not asked & {"/39", "/38", "/37", "/new"}, "links of equal score are followed in their order"
    said = [
        {"url": "http://site.test/38", "score": 0.9, "source": "analyser"},
        {"url": "http://site.test/new", "score": 0.8, "anchor": "found elsewhere"},
        {"url": "http://site.test/39", "score": 0.1, "immediate": True},
        {"url": "http://site.test/37", "blacklist": True},
        {"url": "http://site.test/private", "score": 1.0},
        {"url": "http://site.test/no", "score": 1.0},
    ]
    began = len(site.paths())
    reply = service.post(said)
    assert reply.outcomes == ["rescored", "accepted", "rescored", "blacklisted", "accepted", "out_of_scope"]
    gate.let_pass(3)
    until(lambda: {"/38", "/39", "/new"} <= set(site.paths()))
    since = site.paths()[began:]
    # One more may have been leased before the scores came.
    order = [path for path in since if path in {"/38", "/39", "/new"}]
    assert order == ["/39", "/38", "/new"]
    assert len(since) <= 4
    gate.open()
    until(lambda: state(service, "/private") == "blocked")
    assert state(service, "/37") == "blocked"
    assert not {"/private", "/no", "/37"} & set(site.paths())


def test_a_url_of_another_site_is_fetched_while_the_first_one_is_waited_for(
    service: Service, site: Site, gate: Gate
) -> None:
    assert service.post({"url": "http://other.test/at-once", "score": 0.5}).outcomes == ["accepted"]
    until(lambda: "/at-once" in site.paths())
    assert gate.held == 1
    (shown,) = service.get("/v1/crawls").json
    assert (shown["id"], shown["reachable"], shown["crawl"]) == ("test", True, 1)
