"""Pages that scripts make of JSON are made of it without a browser, once a few looks have shown how."""

from pathlib import Path

import pytest

from aahcrawler.objects.counts import object_counts
from tests.browsing import chromium_executable
from tests.crawl import scripted_board
from tests.crawl.site import Reply, Site, serving
from tests.crawl.world import crawl, network

HOST = "http://site.test"
THREADS = 12


@pytest.mark.slow
def test_the_later_pages_of_a_shape_are_made_of_their_data(tmp_path: Path) -> None:
    chromium_executable()
    with serving(Site(scripted_board.pages(THREADS), other=Reply(b"", 404))) as site:
        crawled = crawl(tmp_path, [f"{HOST}/"], network=network(site, "site.test"), browser={"at_once": 1})
    summary = crawled.summary
    posts = sum(len(scripted_board.posts(number)) for number in range(1, THREADS + 1))
    found = object_counts(crawled.folder).types
    assert (found["post"], found["post"] + found["reply"]) == (THREADS, posts)
    assert summary["browser"]["pages"] < THREADS / 2 + 1
    assert summary["data"]["pages"] == THREADS + 1 - summary["browser"]["pages"]
    asked = [asked.path for asked in site.asked if asked.path.startswith("/api/t/")]
    assert sorted(asked) == sorted(set(asked))
