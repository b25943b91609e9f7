"""The sample of a host's pages, and the groups of its addresses."""

import re
from collections import Counter
from pathlib import Path

import pytest

from aahcrawler.archive.records import Resource
from aahcrawler.editor.rules.page_sample import (
    MAX_ADDED,
    MAX_ADDED_BYTES,
    MAX_JUDGED_BYTES,
    MAX_OF_GROUP,
    MAX_PAGES,
    ArchivedPages,
    CapturedPage,
    ReadBy,
    hosts,
    page_sample,
)
from aahcrawler.editor.rules.site_groups import Suggested, site_groups
from aahcrawler.page_index import PageIndex
from tests.crawl.crawling import aah
from tests.crawl.site import Reply, Site, serving
from tests.crawl.world import define, network
from tests.replay.archived import URL, Archived
from tests.studio.ropes import HOST, PAGES, parsed, record_of, sample_of

HTML = {"Content-Type": "text/html; charset=utf-8"}


def test_a_page_that_scripts_made_is_read_as_a_browser_left_it(tmp_path: Path) -> None:
    crawl = Archived(tmp_path)
    crawl.add("<title>App</title><div id=app>", resources=(Resource.rendered_dom(URL, b"<p>Made by scripts", URL),))
    crawl.close()
    captured = CapturedPage("urn:uuid:1", URL, "2026-01-02T03:04:05+00:00")
    page = ArchivedPages(tmp_path).page(captured)
    assert page is not None
    assert (page.rendered, page.text) == (True, "<p>Made by scripts")


def test_pages_are_drawn_evenly_and_always_the_same() -> None:
    paths = [f"/thread/{number}" for number in range(1, 500)] + [f"/tag/{word}/" for word in "abcdefgh"]
    sample = sample_of(dict.fromkeys(paths, PAGES["/thread/1"]))
    drawn_of = Counter(re.split(r"\d", page.url)[0] for page in sample.pages)
    assert drawn_of[f"http://{HOST}/thread/"] == MAX_OF_GROUP
    assert sum(drawn_of.values()) <= MAX_PAGES
    again = sample_of(dict.fromkeys(reversed(paths), PAGES["/thread/1"]))
    assert [page.url for page in again.pages] == [page.url for page in sample.pages]
    threads = [int(page.url.rpartition("/")[2]) for page in sample.pages if "/thread/" in page.url]
    assert len({number // 100 for number in threads}) == 5


def test_pages_kept_in_memory_are_bounded() -> None:
    sample = sample_of()
    sample.most_bytes = 250_000
    first = [sample.sampled(page) for page in sample.pages]
    assert all(first)
    again = sample.sampled(sample.pages[0])
    assert again is not None
    assert again is not first[0]
    assert sample.sampled(sample.pages[0]) is again
    sample.close()
    late = sample.sampled(sample.pages[0])
    assert late is not again
    assert sample.sampled(sample.pages[0]) is not late


def test_what_is_no_page_for_people_is_passed_over() -> None:
    sample = sample_of({"/thread/1": "<p>x" + " " * MAX_JUDGED_BYTES, "/thread/2": PAGES["/thread/2"]})
    assert [sample.sampled(page) is None for page in sample.pages] == [True, False]


def test_a_page_that_was_not_crawled_is_read_generically() -> None:
    sample = sample_of()
    added = sample.add("fetched", parsed("/thread/6"))
    page = sample.sampled(added)
    assert page is not None
    assert page.reading.by is ReadBy.GENERIC
    assert len(page.places) == 4
    assert sample.captured("fetched") is added
    assert sample.group_of("fetched") is None
    # Another work has another page of that name.
    other = sample.sampled(sample.add("fetched", parsed("/thread/2")))
    assert other is not None
    assert other.page.url.endswith("/thread/2")
    assert sample.sampled(added) is page
    for number in range(MAX_ADDED):
        sample.add(f"page {number}", parsed("/thread/1"))
    sample.most_bytes = 1
    sample.sampled(sample.pages[0])
    assert sample.sampled(added) is None
    assert sample.captured("page 0") is not None
    # Whoever still uses a sample that was let go of takes the page in anew.
    sample.close()
    assert sample.captured("page 0") is None
    late = sample.sampled(sample.add("fetched", parsed("/thread/6")))
    assert late is not None
    assert late.page.url.endswith("/thread/6")


def test_pages_taken_in_are_bounded_by_their_size() -> None:
    sample = sample_of()
    large = MAX_JUDGED_BYTES - 100
    for number in range(MAX_ADDED_BYTES // large + 2):
        sample.add(f"page {number}", parsed(f"/large/{number}", "x" * large))
    assert sample.captured("page 0") is None
    assert sample.captured("page 1") is None
    assert sample.captured("page 2") is not None


def test_groups_say_what_their_pages_are_for() -> None:
    groups = site_groups(sample_of())
    told = {group.shape.path: (group.role, group.captured, group.reason) for group in groups}
    assert told == {
        "**/thread/#": (Suggested.CONTENT, 6, "replies and posts on 6 of 6 pages"),
        "**/board/#": (Suggested.LIST, 2, "it leads to 3 pages that hold something"),
        "/": (Suggested.LIST, 1, "it leads to 2 lists"),
        "/login": (
            *(Suggested.NEITHER, 1),
            "nothing was read on them, and they hardly lead to pages that hold something",
        ),
    }
    example = groups[0].examples[0]
    assert (example.record, example.title, example.found) == (
        record_of("/thread/1"),
        "Wet ropes - Knots and Ropes",
        "2 replies, 1 post",
    )


@pytest.mark.starts
def test_a_sample_is_drawn_of_what_a_crawl_left(tmp_path: Path) -> None:
    site = Site({f"//{HOST}{path}": Reply(body.encode(), headers=HTML) for path, body in PAGES.items()})
    with serving(site):
        icd = define(
            tmp_path,
            [f"http://{HOST}/"],
            limits={"pages": 30, "requisites_per_page": 0},
            scope={"sites": "seeds"},
            network=network(site, HOST),
        )
        ended = aah("crawl", icd)
    assert ended.code == 0, ended.err
    folder = tmp_path / "crawl"
    with PageIndex(folder) as index:
        index.catch_up()
        with index.asked() as base:
            assert hosts(base)[0][0] == HOST
            sample = page_sample(folder, base, HOST)
            assert page_sample(folder, base, "elsewhere.test").pages == ()
    paths = {page.url.removeprefix(f"http://{HOST}") for page in sample.pages}
    assert paths >= {f"/thread/{number}" for number in range(1, 7)} | {"/", "/board/1"}
    thread = next(page for page in sample.pages if page.url.endswith("/thread/2"))
    read = sample.sampled(thread)
    assert read is not None
    assert read.page.body == PAGES["/thread/2"].encode()
    assert [each.body[:19] for each in read.reading.objects][:1] == ["Which knot holds be"]
    assert (read.reading.by, thread.objects) == (ReadBy.CRAWL, len(read.reading.objects))
