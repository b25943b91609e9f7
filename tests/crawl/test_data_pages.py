"""Pages that scripts make of JSON are made of it without a browser, once a few looks have shown how."""

from pathlib import Path

import pytest

from aahcrawler.objects.counts import object_counts
from tests.browsing import sandboxed_chromium
from tests.crawl import scripted_board
from tests.crawl.site import Reply, Site, serving
from tests.crawl.world import crawl, network

HOST = "http://site.test"
THREADS = 12


@pytest.mark.slow
def test_the_later_pages_of_a_shape_are_made_of_their_data(tmp_path: Path) -> None:
    sandboxed_chromium()
    with serving(Site(scripted_board.pages(THREADS), other=Reply(b"", 404))) as site:
        hosts = network(site, "site.test")
        crawled = crawl(tmp_path, [f"{HOST}/"], network=hosts, browser={"at_once": 1})
        summary, asked = crawled.summary, [asked.path for asked in site.asked if asked.path.startswith("/api/t/")]
        types = object_counts(crawled.folder).types
        again = crawl(tmp_path, [f"{HOST}/"], network=hosts, browser={"at_once": 1}).summary
    posts = sum(len(scripted_board.posts(number)) for number in range(1, THREADS + 1))
    assert (types["post"], types["post"] + types["reply"]) == (THREADS, posts)
    assert summary["browser"]["pages"] < THREADS / 2 + 1
    assert summary["data"]["pages"] == THREADS + 1 - summary["browser"]["pages"]
    assert sorted(asked) == sorted(set(asked))
    assert (again["changed"], again["new"]) == (0, 0), "whichever way its pages were made"
