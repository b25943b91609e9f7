"""One crawl that posts its scored links to another, through ``aah serve``."""

import asyncio
import json
import os
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

import pytest

from aahcrawler.crawl.peers import TOKEN, PeerExport, PushCounts, ScoredUrl
from aahcrawler.metadata import Link, LinkType
from aahcrawler.wire.ip_policy import IpPolicy
from tests import skipping
from tests.crawl.crawling import PATIENT, running, summary
from tests.crawl.gate import Gate
from tests.crawl.site import Site, html, links, serving
from tests.crawl.world import define, network
from tests.service.test_server import port_of

SECRET = "a token that nobody guesses"  # noqa: S105
PLAIN = "<p>The bakery sells rye bread, and on Sundays there are rolls with poppy seeds.</p>"
FLOOD = '<p>After the storm surge the harbour was closed, and <a href="http://two.test/dike">the dike</a> broke.</p>'


def two_sites(gate: Gate) -> Site:
    """Return a site with a page that links to another one, whose pages pass a gate."""
    elsewhere = '<p><a href="http://two.test/bread">Bread</a> <a href="http://spam.test/">dike flood harbour</a></p>'
    return Site(
        {
            "//one.test/": html("One", FLOOD + PLAIN + elsewhere + links("/more")),
            "//one.test/more": html("More", PLAIN),
            "//two.test/": html("Two", links(*(f"/{number}" for number in range(60)))),
            "//two.test/dike": html("The dike", FLOOD),
        },
        other=gate.holding(html("A page", PLAIN)),
    )


def test_what_one_crawl_finds_for_another_is_fetched_there_at_once(tmp_path: Path) -> None:
    environment, gate = {**os.environ, "AAH_SERVICE_TOKEN": SECRET}, Gate(free=2)
    with serving(two_sites(gate)) as site:
        two = define(
            tmp_path / "two",
            ["http://two.test/"],
            id="two",
            politeness={"delay": "0", "timeout": "10 min", "robots": "ignore"},
            network=network(site, "two.test"),
        )
        with ExitStack() as stack:
            slow = stack.enter_context(running("crawl", two))
            slow.until(lambda: gate.held > 0)
            serve = running("serve", tmp_path / "two" / "crawl", "--port", "0", environment=environment)
            port = port_of(stack.enter_context(serve))
            one = define(
                tmp_path / "one",
                ["http://one.test/"],
                id="one",
                politeness={"delay": "0", "robots": "ignore"},
                network=network(site, "one.test"),
                scope={"deny": ["host:spam.test"]},
                scoring={
                    "batch": 10,
                    "post_to": {"url": f"http://127.0.0.1:{port}/", "crawl": "two", "at_least": 0.3},
                },
            )
            with running("crawl", one, environment={**os.environ, TOKEN: SECRET}, code=PATIENT) as finder:
                ended = finder.ended()
            assert ended.code == 0, ended.err
            gate.let_pass(3)
            slow.until(lambda: "/dike" in site.paths() or gate.held > 0)
            assert "/dike" in site.paths()
            gate.open()
            slow.interrupt()
            assert slow.ended().code == 0
    posts = summary(tmp_path / "one" / "crawl")["posts"]
    assert (posts["sent"], posts["waiting"], posts["problem"]) == (sum(posts["outcomes"].values()), 0, "")
    assert posts["outcomes"]["accepted"] >= 1
    notes = [json.loads(line) for line in (tmp_path / "two" / "crawl" / "posted.jsonl").read_text("utf-8").splitlines()]
    dike = next(note for note in notes if note["url"] == "http://two.test/dike")
    assert (dike["source"], dike["anchor"], dike["outcome"]) == ("http://one.test/", "the dike", "accepted")
    assert all(note["score"] >= 0.3 and "spam" not in note["url"] for note in notes)
    log = (tmp_path / "one" / "crawl" / "crawl.log").read_text("utf-8")
    assert f"posted {posts['sent']} scored URLs" in log


def test_a_service_that_does_not_answer_delays_no_crawl(tmp_path: Path) -> None:
    with serving(two_sites(Gate())) as site:
        icd = define(
            tmp_path,
            ["http://one.test/"],
            politeness={"delay": "0", "robots": "ignore"},
            network=network(site, "one.test"),
            scoring={"post_to": {"url": "http://127.0.0.1:1/", "crawl": "two"}},
        )
        with running("crawl", icd) as finder:
            ended = finder.ended()
        assert ended.code == 0, ended.err
    posts = summary(tmp_path / "crawl")["posts"]
    assert (posts["sent"], posts["waiting"]) == (0, 0)
    assert posts["dropped"] >= 3
    assert posts["problem"]


class HistoryRecord:
    """Takes what is posted and posts nothing."""

    def __init__(self) -> None:
        self.put_in: list[ScoredUrl] = []
        self.posts = PushCounts()

    def put(self, scored: ScoredUrl) -> None:
        self.put_in.append(scored)

    async def run(self) -> None:
        await asyncio.Event().wait()

    async def drain(self, seconds: float) -> None:
        assert seconds > 0


def told(
    *found: Sequence[Link],
    refused: Mapping[str, Sequence[int]] | None = None,
    rescored: Mapping[str, float] | None = None,
) -> list[tuple[str, float]]:
    """Tell of the links of pages, then of scores; return what was put into the queue."""
    kept = HistoryRecord()

    async def tell() -> None:
        peer_export = PeerExport(kept, 0.25, IpPolicy())  # type: ignore[arg-type]
        for number, page in enumerate(found):
            peer_export.links(f"http://a.test/{number}", page, refused or {})
        peer_export.scored((rescored or {}).items())
        await peer_export.close()

    asyncio.run(tell())
    return [(scored.url, scored.score) for scored in kept.put_in]


def link(name: str, score: float) -> Link:
    return Link(f"http://{name}/", LinkType.PAGE, name, score)


def test_a_url_is_told_once_it_is_worth_it_and_again_when_it_is_worth_more() -> None:
    pages = [[link("b.test", 0.1), link("c.test", 0.5)], [link("b.test", 0.3), link("c.test", 0.4)]]
    rescored = {"http://c.test/": 0.7, "http://b.test/": 0.2, "http://d.test/": 0.25, "http://e.test/": 0.2}
    assert told(*pages, rescored=rescored) == [
        ("http://c.test/", 0.5),
        ("http://b.test/", 0.3),
        ("http://c.test/", 0.7),
        ("http://d.test/", 0.25),
    ]


def test_links_beyond_the_bounds_of_a_crawl_are_told_and_unwanted_ones_are_not() -> None:
    names = ["other.test", "deep.test", "denied.test", "spam.test", "foreign.test", "fine.test"]
    reasons = ["other_site", "too_deep", "denied", "spam", "language"]
    refused = {reason: [position] for position, reason in enumerate(reasons)}
    found = told([link(name, 0.5) for name in names], refused=refused)
    assert [url for url, _ in found] == ["http://other.test/", "http://deep.test/", "http://fine.test/"]


@pytest.mark.parametrize("host", ["127.0.0.1", "10.0.0.7:8080", "[::1]", "169.254.169.254"])
def test_addresses_that_are_nobodys_business_are_not_told(host: str) -> None:
    assert told([link(host, 0.9), link("93.184.216.34", 0.9)]) == [("http://93.184.216.34/", 0.9)]


def test_a_crawl_that_told_nothing_ends_at_once() -> None:
    async def timed() -> float:
        peer_export = PeerExport(HistoryRecord(), 0.25, IpPolicy())  # type: ignore[arg-type]
        peer_export.links("http://a.test/", [link("b.test", 0.1)], {})
        await peer_export.close()
        return asyncio.get_running_loop().time()

    assert skipping.run(timed()) == 0.0
