"""What the knowledge base makes of a page is told with the lines that say so, and with what almost fitted."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from lxml import etree
from typer.testing import CliRunner

from aahcrawler.archive.records import Identified
from aahcrawler.archive.writer import WarcWriter
from aahcrawler.cli import app
from aahcrawler.editor.explanation.explain import explain
from aahcrawler.editor.explanation.explanation_model import ActionView, Explanation, narrowed, plain_lines
from aahcrawler.editor.text.file_lines import FileLines, read_files
from aahcrawler.page import Headers, Page
from knowledge_base.file_selection import chosen_files
from knowledge_base.loader import FOLDER, load
from tests.archive.exchanges import INFO, identity, page_exchange
from tests.crawl.site import Reply, Site, serving
from tests.helper.saved_pages import html_page
from tests.shipped import shipped

TINY = """<?xml version="1.0"?>
<application name="Tiny" kind="web-forum">
  <detect>
    <pattern strength="proof" generator="TinyForum" cite="header.tpl, Tiny 1"/>
    <pattern strength="hint" css="div.tiny-footer a.brand"/>
  </detect>
  <avoid>
    <url reason="login" path="**/login.php"/>
  </avoid>
  <level name="list" role="intermediate">
    <when css="#list a.thread" cite="list.tpl, Tiny 1"/>
    <address path="**/list.php"/>
    <navigate name="threads" to="thread"><select css="a.thread"/></navigate>
    <navigate name="more" to="list"><select css="#list .pager a"/></navigate>
  </level>
  <level name="thread" role="terminal">
    <when css="#thread" cite="thread.tpl, Tiny 1"/>
    <unless parameters="print"/>
    <address path="**/thread.php" parameters="id"/>
    <extract name="posts" type="post" many="yes" always="yes">
      <item css="li.post"/>
      <item css="div.post"/>
      <identity trim="p"><select xpath="@id"/></identity>
      <field name="author" kind="person"><select css=".who"/></field>
      <field name="title"><select css="h2 b"/></field>
      <field name="body"><select css=".text"/></field>
    </extract>
  </level>
</application>
"""
HEAD = '<!doctype html><html><head><title>Oars</title><meta name="generator" content="TinyForum 1.2"></head><body>'
THREAD = f"""{HEAD}<div id="thread"><a href="login.php">Log in</a>
<div class="post" id="p1"><h2>Oars</h2><i class="who">Ada</i><p class="text">Which are lightest?</p></div>
<div class="post" id="p2"><i class="who">Bob</i><p class="text">Those of spruce.</p></div></div>"""
URL = "http://a.test/thread.php?id=1"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    applications = tmp_path / "kb" / "applications"
    applications.mkdir(parents=True)
    (applications / "tiny.xml").write_text(TINY, encoding="utf-8")
    return tmp_path / "kb"


def explained(folder: Path, markup: str, url: str = URL) -> Explanation:
    page = Page(
        url, 200, Headers((("Content-Type", "text/html"),)), markup.encode(), datetime(2026, 11, 21, tzinfo=UTC)
    )
    return explain(page, load(folder), FileLines(read_files(chosen_files((folder,)).applications)))


def action(explanation: Explanation, name: str) -> ActionView:
    return next(each for each in explanation.actions if each.name == name)


def line_of(place: str) -> int:
    return int(place.rpartition(":")[2])


def test_the_front_page_tells_where_everything_is_listed() -> None:
    knowledge_base, places = shipped(), FileLines(read_files(chosen_files((FOLDER,)).applications))
    head = '<head><meta name=generator content="WordPress 6.4"></head>'
    generator = f'<html>{head}<body class="{{}}"><p>Knots</p></body></html>'
    front = explain(html_page("http://a.test/blog/", generator.format("blog")), knowledge_base, places)
    assert front.listings[0] == "feed http://a.test/blog/feed/?paged=1"
    assert "  sitemap http://a.test/blog/?sitemap=posts&sitemap-subtype=post&paged=1" in list(plain_lines(front))
    post = explain(html_page("http://a.test/blog/knots/", generator.format("single")), knowledge_base, places)
    assert post.listings == ()


def test_what_it_is_and_by_which_lines(folder: Path) -> None:
    found = explained(folder, THREAD)
    assert (found.application, found.level, found.variant, found.generic) == ("Tiny", "thread", "", None)
    assert found.recognised is not None
    proof, hint = found.recognised.patterns
    assert (proof.held, proof.strength, proof.cite, line_of(proof.place)) == (True, "proof", "header.tpl, Tiny 1", 4)
    assert (hint.held, hint.written, line_of(hint.place)) == (False, 'css="div.tiny-footer a.brand"', 5)
    thread = next(level for level in found.levels if level.name == "thread")
    assert [(each.tag, each.held, line_of(each.place)) for each in thread.conditions] == [
        ("when", True, 17),
        ("unless", False, 18),
    ]
    assert [(each.reason, each.count) for each in found.refused] == [("login", 1)]


def test_what_each_action_returned(folder: Path) -> None:
    posts = action(explained(folder, THREAD), "posts")
    assert (posts.count, posts.sort, line_of(posts.place)) == (2, "extract", 20)
    assert "div.post [line 22] (2)" in posts.by
    assert "li.post" not in posts.by
    fields = {shown.name: shown for shown in posts.fields}
    assert (fields["author"].count, fields["author"].samples) == (2, ("Ada", "Bob"))
    assert ".who [line 24]" in fields["author"].by
    assert [(step.expression, step.count) for step in fields["title"].steps] == [("h2", 1), ("h2 b", 0)]


def test_navigation_and_what_found_nothing(folder: Path) -> None:
    markup = f'{HEAD}<div id="list"><a class="thread" href="thread.php?id=1">Oars</a></div>'
    found = explained(folder, markup, "http://a.test/list.php")
    threads, more = action(found, "threads"), action(found, "more")
    assert (threads.count, threads.to) == (1, "thread")
    assert threads.samples == ("http://a.test/thread.php?id=1 (Oars)",)
    assert (more.count, [step.expression for step in more.steps]) == (0, ["#list", "#list .pager"])


def test_a_changed_template_is_narrowed_down(folder: Path) -> None:
    found = explained(folder, f'{HEAD}<div id="thread"><div class="entry" id="p1">Hello</div></div>')
    posts = action(found, "posts")
    assert posts.count == 0
    assert [(step.expression, step.count) for step in posts.steps][-1] == ("div.post", 0)
    assert any("posts: nothing-found" in failure for failure in found.failures)


def test_what_almost_fitted(folder: Path) -> None:
    found = explained(folder, f'{HEAD}<div id="list"><a class="topic" href="t">T</a></div>', "http://a.test/")
    assert (found.application, found.level) == ("Tiny", "")
    when = next(level for level in found.levels if level.name == "list").conditions[0]
    assert [(step.expression, step.count) for step in when.steps] == [
        ("#list", 1),
        ("#list a", 1),
        ("#list a.thread", 0),
    ]
    lines = list(plain_lines(found))
    assert any(line.startswith("Almost level list; no when holds") for line in lines)
    assert any("#list a  finds 1, #list a.thread  finds 0" in line for line in lines)


def test_an_unless_that_keeps_a_page_out(folder: Path) -> None:
    lines = list(plain_lines(explained(folder, THREAD, f"{URL}&print=1")))
    assert any(line.startswith("Almost level thread; an unless keeps the page out") for line in lines)
    assert any("unless holds, so the page is not of this level" in line for line in lines)


def test_a_page_of_no_known_application(folder: Path) -> None:
    markup = (
        '<title>Hills</title><div class="tiny-footer">x</div><p>A long walk in the hills, with <a href="/b">views</a>.'
    )
    found = explained(folder, markup, "http://b.test/")
    assert (found.application, found.recognised, found.actions) == ("", None, ())
    assert found.generic is not None
    assert (found.generic.title, found.generic.links) == ("Hills", 1)
    assert [near.name for near in found.nearest] == ["Tiny"]
    brand = found.nearest[0].patterns[1]
    assert (brand.held, brand.seen) == (False, True)
    assert [(step.expression, step.count) for step in brand.steps][1:] == [
        ("div.tiny-footer", 1),
        ("div.tiny-footer a", 0),
    ]


def test_the_command_reads_files(folder: Path, tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    file.write_text(THREAD)
    command = ["kb", "explain", str(file), "--kb", str(folder)]
    told = CliRunner().invoke(app, command)
    assert told.exit_code == 2
    assert "--url" in told.stderr
    told = CliRunner().invoke(app, [*command, "--url", URL])
    assert told.exit_code == 0, told.output
    assert "Level: thread (terminal)" in told.stdout
    machine = CliRunner().invoke(app, [*command, "--url", URL, "--json"])
    assert json.loads(machine.stdout)["actions"][0]["count"] == 2


def test_the_command_asks_the_network(folder: Path) -> None:
    with serving(
        Site(
            {
                "/old": Reply(b"", 301, {"Location": "/thread.php?id=1"}),
                "/thread.php?id=1": Reply(THREAD.encode()),
                "/away": Reply(b"", 301, {"Location": "http://10.0.0.1/"}),
            }
        )
    ) as site:
        told = CliRunner().invoke(app, ["kb", "explain", f"{site.url}old", "--kb", str(folder)])
        refused = CliRunner().invoke(app, ["kb", "explain", f"{site.url}away", "--kb", str(folder)])
    assert told.exit_code == 0, told.output
    assert f"redirected from {site.url}old" in told.stdout
    assert "Action posts: 2 objects" in told.stdout
    assert (refused.exit_code, "--allow-private" in refused.stderr) == (2, True)


def test_the_command_reads_archives(folder: Path, tmp_path: Path) -> None:
    with WarcWriter(tmp_path / "archive", INFO, identity=identity()) as writer:
        writer.write(page_exchange(THREAD.encode(), chunk=True, coded=True), Identified("text/html", "en"))
    (file,) = (tmp_path / "archive").glob("*.warc.gz")
    command = ["kb", "explain", str(file), "--kb", str(folder), "--url"]
    told = CliRunner().invoke(app, [*command, "http://forum.test/thread?id=1"])
    assert told.exit_code == 0, told.output
    assert "Action posts: 2 objects" in told.stdout
    missing = CliRunner().invoke(app, [*command, "http://forum.test/"])
    assert (missing.exit_code, "no capture" in missing.stderr) == (2, True)


@pytest.mark.parametrize(
    ("css", "xpath", "steps"),
    [
        (
            "",
            "//div[@id='a']/p[b]/i",
            [("//div", 2), ("//div[@id='a']", 1), ("//div[@id='a']/p", 1), ("//div[@id='a']/p[b]", 0)],
        ),
        ("", "//x | //div/p", [("//div", 2), ("//div/p", 1)]),
        ("", "(//p)[2]", [("(//p)", 1), ("(//p)[2]", 0)]),
        ("", "descendant::p/@title", [("descendant::p", 1), ("descendant::p/@title", 0)]),
        ("", "string(//p)", [("string(//p)", 1)]),
        ("div#a > p.b", "", [("div", 2), ("div#a", 1), ("div#a > p", 1), ("div#a > p.b", 0)]),
        ("p:not(.c) b", "", [("p", 1), ("p:not(.c)", 1), ("p:not(.c) b", 0)]),
        ("a[href='x y.z'], div", "", [("div", 2)]),
    ],
)
def test_how_far_expressions_get(css: str, xpath: str, steps: list[tuple[str, int]]) -> None:
    page = etree.fromstring("<body><div id='a'><p>Text</p></div><div/></body>")
    assert [(step.expression, step.count) for step in narrowed(css, xpath, page)] == steps
