"""A crawl of a small forum, from its pages to what the ready-made queries answer."""

import csv
import io
from pathlib import Path

import pytest

from aahcrawler.objects.reader import object_rows, page_rows
from tests.crawl.crawling import aah, write_icd
from tests.crawl.site import Site, serving
from tests.offline.phpbb import Post, board, quote, thread
from tests.offline.shapes import crawl_violations

TABLE = "https://tides.example/table?year=2024"
PICTURE = '<img src="data:image/gif;base64,R0lGODlhAQABAAAAACw=" data-src="/images/mooring.jpg" alt="">'


@pytest.fixture(scope="module")
def crawl(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """Return a finished crawl of a forum on loopback, and the forum's address."""
    mooring = [
        Post(10, "ann", f'Where to moor at the harbour? See the <a href="{TABLE}">tides</a>.'),
        Post(11, "bob", quote(10, "Where to moor?") + f"Look at {PICTURE} and <a href='{TABLE}'>this</a>."),
        Post(12, "cy", quote(77, "Of another thread.") + '<a href="./viewtopic.php?t=2">There</a> is a dike.'),
    ]
    dike = [
        Post(20, "dee", f'The dike, <a href="{TABLE}">again</a>, <a href="mailto:dee@example.org">mail</a>.'),
        Post(21, "ann", '<a href="https://ann.example/">Mine</a>, <a href="#p20">above</a>, '
             '<a href="./memberlist.php?mode=viewprofile&amp;u=53">@dee</a>'),
    ]  # fmt: skip
    site = Site(board({1: thread(1, "Mooring", mooring), 2: thread(2, "The dike", dike)}))
    folder = tmp_path_factory.mktemp("forum")
    with serving(site) as served:
        ended = aah("crawl", write_icd(folder, served.url))
        assert ended.code == 0, ended.err
        return folder / "crawl", served.url


def rows(crawl: Path, *arguments: str) -> list[list[str]]:
    ended = aah("query", crawl, *arguments, "--format", "csv")
    assert ended.code == 0, ended.err
    return list(csv.reader(io.StringIO(ended.out, newline="")))[1:]


def test_links_of_several_authors(crawl: tuple[Path, str]) -> None:
    folder, _ = crawl
    assert [row[:3] for row in rows(folder, "--ready", "links-by-many-authors")] == [[TABLE, "3", "3"]]


def test_each_post_has_its_own_links_and_pictures(crawl: tuple[Path, str]) -> None:
    folder, url = crawl
    links = rows(folder, "SELECT ?post ?link { GRAPH ?g { ?post sioc:links_to ?link } } ORDER BY ?post ?link")
    assert [(post.rpartition("#")[2], link) for post, link in links] == [
        ("p10", TABLE),
        ("p11", TABLE),
        ("p12", f"{url}viewtopic.php?t=2"),
        ("p20", TABLE),
        ("p21", "https://ann.example/"),
    ]
    assert rows(folder, "SELECT ?post ?image { GRAPH ?g { ?post schema:image ?image } }") == [
        [f"{url}viewtopic.php?t=1#p11", f"{url}images/mooring.jpg"]
    ]


def test_threads_and_their_forum(crawl: tuple[Path, str]) -> None:
    folder, url = crawl
    query = """SELECT DISTINCT ?thread ?about ?forum ?name { GRAPH ?g {
        ?thread a sioc:Thread ; dcterms:title ?about ; sioc:has_container ?forum .
        ?forum a sioc:Forum ; dcterms:title ?name } } ORDER BY ?thread"""
    assert rows(folder, query) == [
        [f"{url}viewtopic.php?t=1", "Mooring", f"{url}viewforum.php?f=2", "Boats"],
        [f"{url}viewtopic.php?t=2", "The dike", f"{url}viewforum.php?f=2", "Boats"],
    ]
    assert [row.type for row in object_rows(folder)].count("reply") == 3
    assert {row.type for row in object_rows(folder)} == {"post", "reply"}


def test_quotes_of_posts_of_the_thread_are_answers(crawl: tuple[Path, str]) -> None:
    folder, url = crawl
    assert rows(folder, "SELECT ?one ?other { GRAPH ?g { ?one sioc:reply_of ?other } }") == [
        [f"{url}viewtopic.php?t=1#p11", f"{url}viewtopic.php?t=1#p10"]
    ]


def test_it_keeps_to_the_shapes(crawl: tuple[Path, str]) -> None:
    assert crawl_violations(crawl[0]) == []


def test_a_second_crawl_tells_what_became_of_the_posts(tmp_path: Path) -> None:
    first = [Post(10, "ann", "Where to moor at the harbour?"), Post(11, "bob", "Buy dikes!")]
    other = thread(2, "The dike", [Post(20, "dee", "The dike leaks.")])
    later = [Post(10, "ann", "Where to moor at the <b>old harbour</b>?"), Post(12, "cy", "At the dike.")]
    site = Site(board({1: thread(1, "Mooring", first), 2: other}))
    with serving(site) as served:
        icd = write_icd(tmp_path, served.url)
        assert aah("crawl", icd).code == 0
        site.pages |= board({1: thread(1, "Mooring", later), 2: other})
        assert aah("crawl", icd).code == 0
        mooring = f"{served.url}viewtopic.php?t=1"
    folder = tmp_path / "crawl"
    (edited,) = rows(folder, "--ready", "edited-posts")
    assert edited[1:] == [
        "ann", "Mooring", "Where to moor at the harbour?", "Where to moor at the old harbour?", f"{mooring}#p10"
    ]  # fmt: skip
    (deleted,) = rows(folder, "--ready", "deleted-posts")
    assert deleted[1:] == ["bob", "Re: Mooring", "Buy dikes!", f"{mooring}#p11"]
    (added,) = rows(folder, "--ready", "added-posts", "--arg", "from=1", "--arg", "to=2")
    assert [added[0], added[2], added[4]] == ["2", "cy", f"{mooring}#p12"]
    assert {row.iri: bool(row.deleted) for row in object_rows(folder)} == {
        f"{mooring}#p10": False,
        f"{mooring}#p11": True,
        f"{mooring}#p12": False,
        f"{mooring.replace('t=1', 't=2')}#p20": False,
    }
    pages = [(row.url, row.unchanged is not None) for row in page_rows(folder, 2) if row.is_page]
    assert sorted(pages) == [
        (served.url, True),
        (f"{served.url}viewforum.php?f=2", True),
        (mooring, False),
        (mooring.replace("t=1", "t=2"), True),
    ]
    assert crawl_violations(folder) == []
