"""Sites that show nothing without scripts, read through their endpoints; forms filled with what a crawl looks for."""

import json
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from knowledge_base.loader import FOLDER
from tests.crawl.crawling import aah, rows, summary, write_icd
from tests.crawl.site import Reply, Site, serving
from tests.crawl.verifying import archived, assert_whole

POSTS = 103
COMMENTED = (3, 77)
LIST = "/wp-json/wp/v2/posts?per_page=100&_fields=id,type,title,_links"
PAGES = "/wp-json/wp/v2/pages?per_page=100&_fields=id,type,title,_links"
EMBED = "?_embed=author,wp:term,replies"


def answer(value: object, *more: tuple[str, str]) -> Reply:
    return Reply(json.dumps(value).encode(), headers={"Content-Type": "application/json; charset=UTF-8", **dict(more)})


def head(root: str, body: str) -> Reply:
    """Return a page whose theme leaves everything to a script."""
    links = f'<link rel="https://api.w.org/" href="{root}wp-json/"><script src="data:text/javascript,"></script>'
    return Reply(f'<!doctype html><html lang="en"><head><title>Floods</title>{links}</head>{body}</html>'.encode())


def listed(root: str, kind: str, number: int) -> dict[str, object]:
    collection = f"{root}wp-json/wp/v2/{kind}s"
    links = {"self": [{"href": f"{collection}/{number}"}], "collection": [{"href": collection}]}
    return {"id": number, "type": kind, "title": {"rendered": f"Flood {number}"}, "_links": links}


def post(root: str, number: int) -> dict[str, object]:
    said = f"<p>The storm surge of year {number} broke the dike, and the harbour stood under the flood.</p>"
    replies = [[{"id": 9, "author_name": "Nils", "date": "2019-11-02T09:00:00"}]] if number in COMMENTED else []
    item = listed(root, "post", number)
    item["_links"] = {"replies": [{"href": f"{root}wp-json/wp/v2/comments?post={number}"}]}
    return item | {
        "date_gmt": f"2019-11-{number % 28 + 1:02d}T08:00:00",
        "link": f"{root}2019/flood-{number}/",
        "title": {"rendered": f"Flood &amp; dike {number}"},
        "content": {"rendered": said},
        "_embedded": {"author": [{"id": 1, "name": "Ida Torn"}], "replies": replies},
    }


LISTINGS = ["/feed/?paged=1", "/?sitemap=posts&sitemap-subtype=post&paged=1"]
"""What is asked for where nothing else is left; this site has neither."""


def comment(root: str, number: int) -> dict[str, object]:
    link = f"{root}2019/flood-{number}/comment-page-1/#comment-{1000 + number}"
    said = {"rendered": "<p>I remember that <em>dike</em> well.</p>"}
    return {
        "id": 1000 + number,
        "post": number,
        "parent": 0,
        "author_name": "Nils",
        "date_gmt": "2019-11-30T08:00:00",
        "content": said,
        "link": link,
        "type": "comment",
    }


def fill(site: Site) -> None:
    """Put a WordPress site of posts, a page and comments into a site that has its port."""
    root = site.url
    site.pages["/"] = head(root, '<body><div id="app"></div></body>')
    first, second = range(1, 101), range(101, POSTS + 1)
    site.pages[LIST] = answer([listed(root, "post", number) for number in first])
    site.pages[f"{LIST}&page=2"] = answer([listed(root, "post", number) for number in second])
    for number in range(1, POSTS + 1):
        site.pages[f"/wp-json/wp/v2/posts/{number}{EMBED}"] = answer(post(root, number))
    for number in COMMENTED:
        path = f"/wp-json/wp/v2/comments?post={number}&per_page=100&order=asc"
        site.pages[path] = answer([comment(root, number)])
    about = {"type": "page", "link": f"{root}about/", "title": {"rendered": "About"}}
    site.pages[PAGES] = answer([listed(root, "page", 500)])
    site.pages[f"/wp-json/wp/v2/pages/500{EMBED}"] = answer(post(root, 500) | about)


@pytest.fixture(scope="module")
def shell() -> Iterator[Site]:
    with serving(Site()) as site:
        fill(site)
        yield site


@pytest.fixture(scope="module")
def crawl(shell: Site, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("aah")
    ended = aah("crawl", write_icd(folder, shell.url))
    assert (ended.code, ended.out) == (0, ""), ended
    return folder / "crawl"


def test_every_post_is_collected_under_the_address_of_its_page(shell: Site, crawl: Path) -> None:
    found = {row["iri"].removeprefix(shell.url): row for row in rows(crawl, "objects")}
    posts = {f"2019/flood-{number}/" for number in range(1, POSTS + 1)}
    comments = {f"2019/flood-{number}/#comment-{1000 + number}" for number in COMMENTED}
    assert found.keys() == posts | comments | {"about/"}
    assert {name for name, row in found.items() if row["type"] == "comment"} == comments
    assert found["about/"]["type"] == "page"
    first = found["2019/flood-3/"]
    assert (first["title"], first["author"], first["date"]) == ("Flood & dike 3", "Ida Torn", "2019-11-04T08:00:00Z")
    assert first["body"].startswith("The storm surge of year 3 broke the dike")
    (reply,) = (found[name] for name in comments if "flood-77/" in name)
    assert reply["body"] == "I remember that dike well."


def test_nothing_is_asked_twice_and_nothing_that_tells_nothing_new(shell: Site, crawl: Path) -> None:
    asked = Counter(shell.paths())
    assert set(asked.values()) == {1}
    del asked["/favicon.ico"]  # A browser that looks at the front page, an empty shell, asks for it.
    lists, pages = 3, 1
    needed = 1 + lists + POSTS + pages + len(COMMENTED)
    assert len(asked) == needed
    about = summary(crawl)
    assert about["pages"] == needed
    assert about["application"] == {"WordPress": needed}
    assert about["listing"] == {}
    assert about["failed_actions"] == 0


def test_the_answers_are_in_the_archive(shell: Site, crawl: Path) -> None:
    assert_whole(crawl)
    kept = archived(crawl)
    assert kept[f"{shell.url}wp-json/wp/v2/posts/103{EMBED}"] == 1
    assert {url for url in kept if "/wp-json/" in url} == {
        shell.url + path[1:] for path in shell.paths() if path.startswith("/wp-json/")
    }


def test_a_site_that_shows_its_posts_is_asked_for_nothing_more(tmp_path: Path) -> None:
    with serving(Site()) as site:
        fill(site)
        entry = '<article class="hentry"><h2 class="entry-title"><a href="/2019/flood-1/">Flood 1</a></h2></article>'
        site.pages["/"] = head(site.url, f'<body class="home blog"><main>{entry}</main></body>')
        content = '<h1 class="entry-title">Flood 1</h1><div class="entry-content"><p>The dike broke.</p></div>'
        article = f'<body class="single single-post"><article class="hentry">{content}</article></body>'
        site.pages["/2019/flood-1/"] = head(site.url, article)
        assert aah("crawl", write_icd(tmp_path, site.url)).code == 0
        assert site.paths() == ["/", "/2019/flood-1/", *LISTINGS]


INDEX = """<?xml version="1.0" encoding="UTF-8"?>
<application name="Reed Index" kind="web-forum">
  <detect><pattern strength="proof" generator="Reed Index" cite="templates/head.html"/></detect>
  <avoid><url reason="search" path="/find"/></avoid>
  <level name="front" role="intermediate" start="yes">
    <when css="#finder" cite="templates/front.html"/>
    <address path="/"/>
    <navigate name="look-up" to="results">
      <form css="#finder" cite="templates/front.html"><value name="q" icd="keywords" each="yes"/></form>
    </navigate>
    <navigate name="news" to="results"><form css="#letter" cite="templates/front.html"/></navigate>
    <navigate name="anything" to="topic"><select css="a" cite="templates/front.html"/></navigate>
  </level>
  <level name="results" role="intermediate">
    <when css="ol.found" cite="templates/found.html"/>
    <address path="/find" parameters="q in=all" optional="go"/>
    <navigate name="topics" to="topic"><select css="ol.found a" cite="templates/found.html"/></navigate>
  </level>
  <level name="topic" role="terminal">
    <when css="div.said" cite="templates/topic.html"/>
    <address path="/topic/#"/>
    <extract name="post" type="post" always="yes">
      <item css="div.said" cite="templates/topic.html"/>
      <field name="body"><select xpath="."/></field>
    </extract>
  </level>
</application>
"""
FINDER = """<form id="finder" action="/find?stale=1"><input name="q" value="old">
<input type="hidden" name="in" value="all"><button name="go" value="1">Go</button></form>
<form id="letter" action="/subscribe" method="post"><input name="mail"></form>
<a href="/find?q=spoons&in=spoons">spoons</a>"""


def reed(body: str) -> Reply:
    return Reply(f'<html lang="en"><head><meta name="generator" content="Reed Index 2"></head><body>{body}'.encode())


def test_a_form_is_filled_with_the_words_of_the_definition(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "own" / "applications").mkdir(parents=True)
    (tmp_path / "own" / "applications" / "reed-index.xml").write_text(INDEX, "utf-8")
    monkeypatch.setenv("AAH_KNOWLEDGE_BASE", f"{FOLDER}{os.pathsep}{tmp_path / 'own'}")
    site = Site({"/": reed(FINDER), "/topic/1": reed('<div class="said">The dike broke.</div>')})
    words = ["harbour", "flood", "dike", "storm+surge"]
    for word in words:
        site.pages[f"/find?q={word}&in=all&go=1"] = reed('<ol class="found"><li><a href="/topic/1">dike</a></ol>')
    with serving(site):
        ended = aah("crawl", write_icd(tmp_path, site.url))
    assert ended.code == 0, ended
    assert sorted(site.paths()) == sorted(["/", "/topic/1", *(f"/find?q={word}&in=all&go=1" for word in words)])
    assert {asked.method for asked in site.asked} == {"GET"}
    assert [row["body"] for row in rows(tmp_path / "crawl", "objects")] == ["The dike broke."]
    about = summary(tmp_path / "crawl")
    assert about["failed_actions"] == 1
    assert about["refused"] == {"search": 1}
    log = (tmp_path / "crawl" / "crawl.log").read_text("utf-8")
    assert "its method is post" in log
