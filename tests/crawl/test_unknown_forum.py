"""A forum of software that nobody described: copies of pages, deeds for members alone, and posts numbered anew."""

import json
import random
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from tests.crawl.crawling import aah
from tests.crawl.site import Reply, Site, html, serving
from tests.crawl.world import Crawled, crawl, network

THREADS = 14
A_PAGE = 5
WORDS = ("storm", "flood", "dike", "harbour", "rope", "anchor", "weather", "engine", "sail", "mast", "deck", "hull")
NAMES = ("Ann", "Bob", "Cleo", "Dan", "Eve", "Finn")


Crawls = tuple[Path, Sequence[Crawled], Sequence[Sequence[str]]]
"""The folder of two crawls, how they ended, and the paths that each asked for."""


def said(thread: int, place: int) -> str:
    chance = random.Random(1000 * thread + place)
    return ". ".join(" ".join(chance.choices(WORDS, k=9)).capitalize() for _ in range(4)) + "."


def post(thread: int, place: int, prefix: str) -> str:
    number = thread * 20 + place
    author = NAMES[(thread + place) % len(NAMES)]
    deeds = f'<a href="/post/{number}/past/">2</a> <a href="/post/{number}/answer/">Answer</a>'
    return (
        f'<div class="post" id="{prefix}{place + 1}"><a class="username" href="/member/{author}/">{author}</a>'
        f"<span>{thread + 1} March 2021 10:{10 + place}</span><div><p>{said(thread, place)}</p></div>{deeds}</div>"
    )


def shown(thread: int, page: int, prefix: str) -> Reply:
    places = range((page - 1) * A_PAGE, min(page * A_PAGE, count(thread)))
    pager = "".join(f'<a href="/topic/{thread}/?page={n}">{n}</a> ' for n in (1, 2)) if count(thread) > A_PAGE else ""
    posts = "".join(post(thread, place, prefix) for place in places)
    return html(f"Tides of number {thread}", f"<h1>Tides of number {thread}</h1><div>{posts}</div><p>{pager}</p>")


def count(thread: int) -> int:
    return 1 if thread % 5 == 4 else 7


def forum(prefix: str) -> Site:
    site = Site()

    def other(path: str) -> Reply:
        if path.startswith(("/post/", "/member/")):
            return Reply(status=302, headers={"Location": f"/login/?next={path}"})
        return Reply(b"<h1>Not found</h1>", 404)

    site.other = other
    site.pages["/"] = html("Tides", "".join(f'<p><a href="/topic/{n}/">Tides {n}</a></p>' for n in range(THREADS)))
    site.pages["/login/"] = html("Log in", "<p>Please log in.</p>")
    for thread in range(THREADS):
        for address, page in (("", 1), ("?page=1", 1), ("?page=2", 2)):
            if page == 1 or count(thread) > A_PAGE:
                site.pages[f"/topic/{thread}/{address}"] = shown(thread, page, prefix)
    return site


def objects(folder: Path) -> Sequence[Mapping[str, str]]:
    return [json.loads(line) for line in aah("objects", folder / "crawl").out.splitlines()]


@pytest.fixture(scope="module")
def crawls(
    tmp_path_factory: pytest.TempPathFactory,
) -> Crawls:
    folder, site = tmp_path_factory.mktemp("forum"), forum("c")
    found: list[Crawled] = []
    asked: list[list[str]] = []
    with serving(site):
        for prefix in ("c", "message-"):
            site.pages = forum(prefix).pages
            site.asked = []
            polite = {"delay": "0", "robots": "ignore"}
            found.append(crawl(folder, ["http://tides.test/"], network=network(site, "tides.test"), politeness=polite))
            asked.append([each.path for each in site.asked])
    return folder, found, asked


def test_all_posts_are_stated_once_although_their_pages_are_there_twice_and_are_numbered_anew(
    crawls: Crawls,
) -> None:
    folder, found, _ = crawls
    assert [each.ended.code for each in found] == [0, 0], found[0].ended.err
    stated = Counter(each["body"] for each in objects(folder))
    assert stated == Counter(said(thread, place) for thread in range(THREADS) for place in range(count(thread)))
    assert found[0].summary["trap"]["near_duplicate"] >= 3
    assert not re.findall("term:(?:added|edited|deleted)>", aah("objects", "--format", "nq", folder / "crawl").out)


def test_what_leads_to_a_login_alone_is_left_and_counted(
    crawls: Crawls,
) -> None:
    _, found, (asked, _) = crawls
    for deed in ("past", "answer"):
        assert 5 <= sum(path.endswith(f"/{deed}/") for path in asked) <= 10
    assert not [path for path in asked if path.startswith("/login")]
    summary = found[0].summary
    left = summary["refused"]["barren"] + summary["blocked"].get("barren", 0)
    assert left >= 2 * sum(map(count, range(THREADS))) - 20
    assert any(pattern.endswith(("/past/", "/**")) for pattern in summary["avoided"])
    assert sum("?page=1" in path for path in asked) <= 6 < sum("?page=2" in path for path in asked)


def test_the_next_crawl_knows_the_rules_from_the_start(
    crawls: Crawls,
) -> None:
    first, second = ({path for path in asked if "page=1" in path} for asked in crawls[2])
    assert second <= first


def test_first_posts_and_later_pages_are_told_apart(
    crawls: Crawls,
) -> None:
    types = Counter(each["type"] for each in objects(crawls[0]))
    assert types["post"] == THREADS
    assert types["reply"] == sum(map(count, range(THREADS))) - THREADS
