"""Forms with method post are sent where their application's file calls them safe, and nowhere else."""

import gzip
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.crawl.crawling import aah, rows, summary, write_icd
from tests.crawl.site import Reply, Site, serving

FOLDER = "shipped"
FOUND = ("/find?stale=1", "q=storm+surge&in=all&go=1")
INDEX = """<?xml version="1.0" encoding="UTF-8"?>
<application name="Rush Index" kind="web-forum">
  <detect><pattern strength="proof" generator="Rush Index" cite="templates/head.html"/></detect>
  <avoid><url reason="search" path="/find"/></avoid>
  <level name="front" role="intermediate" start="yes">
    <when css="#finder" cite="templates/front.html"/>
    <address path="/"/>
    <navigate name="look-up" to="results">
      <form css="#finder" safe="search" cite="templates/front.html"><value name="q" text="storm surge"/></form>
    </navigate>
    <navigate name="anything" to="results"><select css="a.more" cite="templates/front.html"/></navigate>
  </level>
  <level name="results" role="intermediate">
    <when css="ol.found" cite="templates/found.html"/>
    <address path="/find" optional="q in go stale"/>
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
FRONT = """<form id="finder" action="/find?stale=1" method="post"><input name="q" value="old">
<input type="hidden" name="in" value="all"><button name="go" value="1">Go</button></form>
<a class="more" href="/find?__wb_method=POST&delete=1">more</a> <a href="/?__wb_method=POST&delete=2">again</a>"""


def rush(body: str) -> Reply:
    return Reply(f'<html lang="en"><head><meta name="generator" content="Rush Index 2"></head><body>{body}'.encode())


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    (tmp_path / "own" / "applications").mkdir(parents=True)
    (tmp_path / "own" / "applications" / "rush-index.xml").write_text(INDEX, "utf-8")
    monkeypatch.setenv("AAH_KNOWLEDGE_BASE", f"{FOLDER}{os.pathsep}{tmp_path / 'own'}")
    found = rush('<ol class="found"><li><a href="/topic/1">dike</a></ol>')
    made = Site({"/": rush(FRONT), "/topic/1": rush('<div class="said">The dike broke.</div>')}, posted={FOUND: found})
    with serving(made):
        yield made


def test_a_safe_form_is_sent_and_archived_byte_for_byte(site: Site, tmp_path: Path) -> None:
    ended = aah("crawl", write_icd(tmp_path, site.url, more="sources: {forms: safe}\n"))
    assert ended.code == 0, ended.err
    (sent,) = [asked for asked in site.asked if asked.method == "POST"]
    assert (sent.path, sent.body) == FOUND
    assert dict(sent.headers)["Content-Type"] == "application/x-www-form-urlencoded"
    crawl, url = tmp_path / "crawl", f"{site.url}find?stale=1&__wb_method=POST&{FOUND[1]}"
    assert {row["url"] for row in rows(crawl)} == {site.url, url, f"{site.url}topic/1"}
    assert [row["body"] for row in rows(crawl, "objects")] == ["The dike broke."]
    (warc,) = (crawl / "archive").glob("*.warc.gz")
    archived = gzip.decompress(warc.read_bytes())
    assert f"POST {FOUND[0]} HTTP/1.1".encode() in archived
    assert FOUND[1].encode() + b"\r\n\r\n" in archived
    assert f"WARC-Target-URI: {url}".encode() in archived
    index = (crawl / "indexes" / "index.cdxj").read_text("ascii")
    assert ")/find?__wb_method=post&go=1&in=all&q=storm%20surge&stale=1 " in index.lower()


def test_no_form_is_posted_unless_the_definition_says_so(site: Site, tmp_path: Path) -> None:
    ended = aah("crawl", write_icd(tmp_path, site.url))
    assert (ended.code, "set sources.forms to safe" in ended.err) == (3, True), "nothing else leads on from its page"
    assert {asked.method for asked in site.asked} == {"GET"}
    assert summary(tmp_path / "crawl")["refused"]["form"] >= 1


def test_nobody_but_a_form_says_what_is_posted(site: Site, tmp_path: Path) -> None:
    """Not links on pages, nor redirects, nor seeds, nor lists of URLs."""
    wanted = "find?__wb_method=POST&delete=3"
    site.pages["/topic/1"] = Reply(status=302, headers={"Location": f"/{wanted}"})
    site.pages["/sitemap.xml"] = Reply(
        f"<urlset><url><loc>{site.url}{wanted}</loc></url></urlset>".encode(), headers={"Content-Type": "text/xml"}
    )
    more = "sources: {forms: safe, sitemaps: guess}\n"
    assert aah("crawl", write_icd(tmp_path, site.url, more=more)).code == 0
    assert [asked.body for asked in site.asked if asked.method == "POST"] == [FOUND[1]]
    assert not [asked for asked in site.asked if "delete" in asked.path]


def test_what_a_form_gave_is_asked_for_again_by_its_form(site: Site, tmp_path: Path) -> None:
    icd = write_icd(tmp_path, site.url, more="sources: {forms: safe}\n")
    assert aah("crawl", icd).code == 0
    site.asked.clear()
    assert aah("crawl", icd).code == 0
    found = [(asked.method, asked.path) for asked in site.asked if asked.path.startswith("/find")]
    assert found == [("POST", FOUND[0])]
