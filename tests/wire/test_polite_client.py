"""What fetches outside of a crawl has its manners."""

import asyncio
from ipaddress import ip_network
from pathlib import Path

import pytest

from aahcrawler.exchange import Exchange
from aahcrawler.page import Page
from aahcrawler.wire.client import IpPolicy, WireClient, WireSettings
from aahcrawler.wire.polite_client import DelayError, Manners, PoliteClient, Turns
from aahcrawler.wire.robots_txt import RobotsDeniedError, RobotsUnreachableError
from online_analysis.icd import Politeness
from tests.crawl.site import Reply, Site, serving

PLAIN = {"Content-Type": "text/plain"}


def fetched(
    folder: Path, *urls: str, patience: float = 20.0, kept: list[Exchange] | None = None, **fields: object
) -> list[Page | Exception]:
    async def fetch() -> list[Page | Exception]:
        client = WireClient(WireSettings(folder, IpPolicy((ip_network("127.0.0.0/8"),))))
        manners = Manners({"User-Agent": "AAHCrawler/1 (+me@example.org)"}, 1_000, patience)
        keep = [] if kept is None else kept
        polite = PoliteClient(client, Politeness.model_validate({"delay": "0", **fields}), manners, keep.append)
        found: list[Page | Exception] = []
        for url in urls:
            try:
                found.append(await polite.page(url))
            except (RobotsDeniedError, RobotsUnreachableError, DelayError) as error:
                found.append(error)
        await client.close()
        return found

    return asyncio.run(fetch())


def test_robots_txt_is_asked_once_and_names_the_line_that_forbids(tmp_path: Path) -> None:
    rules = Reply(b"User-agent: *\nAllow: /a\nDisallow: /no # nobody", headers=PLAIN)
    kept: list[Exchange] = []
    with serving(Site({"/robots.txt": rules, "/a": Reply(b"<p>a"), "/b": Reply(b"x" * 2_000)})) as site:
        found = fetched(tmp_path, f"{site.url}a", f"{site.url}no/x", f"{site.url}b", kept=kept)
        assert [asked.path for asked in site.asked] == ["/robots.txt", "/a", "/b"]
        assert {asked.agent for asked in site.asked} == {"AAHCrawler/1 (+me@example.org)"}
    page, refused, large = found
    assert isinstance(page, Page)
    assert page.body == b"<p>a"
    assert isinstance(refused, RobotsDeniedError)
    assert (refused.rule, refused.reason) == ("line 3, Disallow: /no", "robots")
    assert isinstance(large, Page)
    assert (len(large.body), large.complete) == (1_000, False)
    assert [exchange.response.closed for exchange in kept] == [True] * 3


def test_a_host_whose_robots_txt_fails_is_not_asked_again(tmp_path: Path) -> None:
    with serving(Site({"/robots.txt": Reply(b"", 503), "/a": Reply(b"<p>a")})) as site:
        found = fetched(tmp_path, f"{site.url}a", f"{site.url}a")
        assert [asked.path for asked in site.asked] == ["/robots.txt"]
    assert [getattr(each, "reason", "") for each in found] == ["robots.txt"] * 2


def test_robots_txt_may_be_ignored(tmp_path: Path) -> None:
    deny = Reply(b"User-agent: *\nDisallow: /", headers=PLAIN)
    with serving(Site({"/robots.txt": deny, "/a": Reply(b"<p>a")})) as site:
        fetched(tmp_path, f"{site.url}a", robots="ignore")
        assert [asked.path for asked in site.asked] == ["/a"]


@pytest.mark.parametrize(
    ("rules", "answer", "asked"),
    [
        (b"User-agent: *\nCrawl-delay: 30", Reply(b"<p>a"), 0),
        (b"", Reply(b"busy", 503, {"Retry-After": "900"}), 1),
        (b"", Reply(b"<p>a", 200, {"Retry-After": "900"}), 2),
    ],
    ids=["Crawl-delay", "Retry-After", "Retry-After of a page"],
)
def test_nobody_waits_longer_than_they_are_patient(tmp_path: Path, rules: bytes, answer: Reply, asked: int) -> None:
    with serving(Site({"/robots.txt": Reply(rules, headers=PLAIN), "/a": answer, "/b": answer})) as site:
        found = fetched(tmp_path, f"{site.url}a", f"{site.url}b", patience=5.0)
        assert len(site.asked) == 1 + asked
    assert [isinstance(each, DelayError) for each in found] == [place >= asked for place in range(2)]


def test_turns_are_a_delay_apart_for_each_name() -> None:
    now = 100.0
    turns = Turns(lambda: now)
    assert [turns.reserve("a", 4.0), turns.reserve("a", 4.0), turns.reserve("b", 4.0)] == [0.0, 4.0, 0.0]
    with pytest.raises(DelayError, match="8 s"):
        turns.reserve("a", 4.0, patience=7.0)
    assert turns.reserve("a", 4.0, patience=8.0) == 8.0
    now = 200.0
    assert turns.reserve("a", 4.0) == 0.0
    turns.ended("a", 9.0)
    assert turns.reserve("a", 4.0) == 9.0
