"""Sites that write an id into every link: that of a session, or that of what the page is about."""

import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from aahcrawler.seeds import Verdict
from tests.crawl.site import Answer, Reply, Site, html, links, serving
from tests.crawl.test_dry_run import definition, tried
from tests.crawl.verifying import archived, assert_whole
from tests.crawl.world import Crawled, crawl, network

TOPICS = tuple(f"/topic.php?t={number}" for number in range(1, 6))
ITEM = "4d8f0a6c2b9e1f7a3c5d8e0b6a9f2c4e"
PARTS = tuple(f"/{part}.php?item={ITEM}" for part in ("view", "photos", "reviews"))
DRAWN = random.Random(38)
WORDS = ("storm", "flood", "dike", "harbour", "tide", "pier", "boat", "fog", "lamp", "crane")


def post(number: int) -> str:
    words = random.Random(number).choices(WORDS, k=80)
    return f"<p>{' '.join(words)}</p>"


def forum(name: str) -> Callable[[str], Reply]:
    """Return a forum that knows its visitors by an id in each link, and begins a session for whoever has none."""

    def answer(path: str) -> Reply:
        known = re.search(rf"[?&]{name}=(\w+)", path)
        own = known[1] if known else "".join(DRAWN.choices("0123456789abcdefghijklmnopqrstuv", k=26))
        page = re.sub(rf"[?&]{name}=\w+", "", path)
        led = [f"{each}{'&amp;' if '?' in each else '?'}{name}={own}" for each in ("/", *TOPICS)]
        number = int(page.rpartition("=")[2]) if "t=" in page else 0
        return html(f"Page {number}", post(number) + links(*led))

    return answer


def pages() -> dict[str, Answer]:
    hosts: dict[str, Answer] = {"/robots.txt": Reply(b"", 404)}
    for name, host in (("zid", "forum"), ("sid", "board")):
        hosts |= {f"//{host}.test{path}": forum(name) for path in ("/", *TOPICS)}
    hosts["//shop.test/"] = html("An item", post(7) + links(*PARTS))
    hosts |= {f"//shop.test{path}": html(path, post(8 + number)) for number, path in enumerate(PARTS)}
    return hosts


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Crawled, Site]]:
    hosts = ("forum.test", "board.test", "shop.test")
    with serving(Site(pages())) as site:
        seeds = [f"http://{host}/" for host in hosts]
        yield crawl(tmp_path_factory.mktemp("crawl"), seeds, network=network(site, *hosts)), site


@pytest.mark.parametrize("host", ["forum.test", "board.test"])
def test_an_id_that_is_another_one_for_another_visitor_is_left_out(crawled: tuple[Crawled, Site], host: str) -> None:
    found, site = crawled
    assert found.ended.code == 0, found.ended.err
    asked = sorted(each.path for each in site.of(host) if each.path != "/robots.txt")
    assert asked == sorted(("/", "/", *TOPICS))


def test_an_id_that_stays_the_same_is_content(crawled: tuple[Crawled, Site]) -> None:
    _, site = crawled
    asked = sorted(each.path for each in site.of("shop.test") if each.path != "/robots.txt")
    assert asked == sorted(("/", "/", *PARTS))


def test_asking_once_more_is_counted_and_archived_and_nobody_is_known_by_it(crawled: tuple[Crawled, Site]) -> None:
    found, site = crawled
    assert found.summary["probes"] == 3
    assert archived(found.folder)["http://shop.test/"] == 2
    again = [each for each in site.of("shop.test") if each.path == "/"][1]
    assert not [value for name, value in again.headers if name.lower() == "cookie"]
    assert_whole(found.folder)


def test_ids_are_kept_and_nobody_asks_where_the_definition_says_so(tmp_path: Path) -> None:
    with serving(Site(pages())) as site:
        found = crawl(
            tmp_path,
            ["http://forum.test/"],
            network=network(site, "forum.test"),
            scope={"canonical": {"sessions": "keep"}},
        )
        assert found.ended.code == 0
        assert site.paths().count("/") == 1
        assert sum("zid=" in path for path in site.paths()) >= len(TOPICS)


def test_a_page_of_which_all_links_are_refused_is_a_verdict_in_the_crawl_as_in_the_trial(tmp_path: Path) -> None:
    front = html("Front", links(*(f"/print/{number}" for number in range(4))))
    with serving(Site({"/robots.txt": Reply(b"", 404), "//a.test/": front})) as site:
        path = definition(tmp_path, site, ("a",))
        seed = tried(path)["a"]
        found = crawl(
            tmp_path / "crawled",
            ["http://a.test/"],
            network=network(site, "a.test"),
            scope={"deny": ["/print/"]},
        )
    said = "none of its links is followed, most of them since they are denied by scope.deny"
    assert (seed.verdict, seed.detail, seed.gives) == (Verdict.LINKS, said, False)
    assert seed.hints == ("make the patterns of scope.deny narrower",)
    (told,) = found.summary["seeds"]
    assert (told["verdict"], told["detail"]) == ("links refused", said)
    assert found.ended.code == 3
    assert f"links refused ({said})" in found.ended.err + found.ended.out
