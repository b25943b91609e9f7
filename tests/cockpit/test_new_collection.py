"""A collection out of archives, from an empty folder on: imports, the form, a dry run, and what is made of it."""

import html
import json
import re
from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect
from typer.testing import CliRunner

from aahcrawler.cli import app
from aahcrawler.service.cockpit.other_archives import archives_listed, others_in, with_others
from aahcrawler.service.cockpit.site import COOKIE, Form
from aahcrawler.service.views.reference_suggestions import article_read
from aahcrawler.service.web.problems import ProblemError
from tests.cockpit.cockpit_browser import BLIND, OPERATOR, Cockpit, Visit, serving, shoot, spilt, violations, visiting
from tests.crawl.crawling import until
from tests.sources.dated import Dated, page, write_archive

HOME, DAM = "http://dikes.test/", "http://dam.test/"
REPORT = "The storm surge of the river has flooded the harbour, and the dike breaks."
ARTICLE = """\
<html lang="en"><head><link rel="canonical" href="https://en.wikipedia.org/wiki/The_flood">
<title>The flood - Wikipedia</title></head><body><h1 id="firstHeading">The flood</h1>
<div id="mw-content-text"><div class="mw-parser-output">
<table class="infobox vevent"><tr><th>Date</th><td>
<span class="dtstart">2013-06-03</span> to <span class="dtend">2013-06-20</span></td></tr></table>
<p>The river rose after days of rain, and the dike of the town broke at night.</p>
<ol class="references"><li><cite>News. <a class="external" href="http://dam.test/">The dam</a>. 4 June 2013.</cite></li>
<li><cite>Blog. <a class="external" href="http://nowhere.test/">Lost</a></cite></li></ol></div></div></body></html>"""


@pytest.fixture(scope="module")
def cockpit(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cockpit]:
    """Yield a cockpit of a folder that was empty, and into which two archives were imported."""
    root = tmp_path_factory.mktemp("collecting")
    place = root / "crawls"
    place.mkdir()
    with serving(place) as cockpit:
        for name, captures in {
            "dikes": {HOME: page("Flood", "/levels", DAM, "/gone"), f"{HOME}levels": page("Levels of the river")},
            "dams": {DAM: page("The dam", "/cakes"), f"{DAM}cakes": page("Cakes", text="Butter and sugar. " * 9)},
        }.items():
            dated = [Dated(url, "2013-06-05T10:00:00Z", body) for url, body in captures.items()]
            archive = write_archive(root / f"{name}.warc.gz", dated)
            assert CliRunner().invoke(app, ["import", str(archive), str(place / name)]).exit_code == 0
        yield cockpit


def looked_at(page: Page, name: str) -> None:
    """Look at the page wide and narrow."""
    for width in (1280, 390):
        page.set_viewport_size({"width": width, "height": 900})
        assert not spilt(page), (name, width)
        assert not violations(page), (name, width)
        shoot(page, f"{name}-{width}")
    page.set_viewport_size({"width": 1280, "height": 900})


def filled(page: Page) -> None:
    page.get_by_label("Title").fill("The flood of 2013")
    page.get_by_label("Texts about it").fill(REPORT)
    page.get_by_label("Pages about it").fill(HOME)
    page.get_by_label("First day").fill("2013-06-01")
    page.get_by_label("Last day").fill("2013-06-30")
    page.get_by_label("Cool-down", exact=True).fill("4 weeks")
    page.get_by_label("dikes").check()
    page.get_by_label("dams").check()
    page.get_by_label("Contact").fill("a@example.org")


@pytest.mark.slow
def test_the_whole_way_from_the_form_to_the_collection(chromium: Browser, cockpit: Cockpit) -> None:
    with visiting(chromium, cockpit) as visit:
        page = visit.goto("/")
        page.get_by_role("link", name="New collection from archives").click()
        looked_at(page, "new-collection")
        assert page.evaluate("document.documentElement.scrollHeight") <= 3 * 900
        filled(page)
        page.get_by_role("button", name="Add what texts and pages link to").click()
        expect(page.get_by_label("Addresses", exact=True)).to_have_value(DAM)
        page.get_by_label("Addresses", exact=True).fill(f"{HOME}\n{DAM}\nhttp://nowhere.test/")
        page.get_by_role("button", name="Look into the archives").click()
        expect(page.get_by_text("2 of 3 seeds in the archives")).to_be_visible()
        expect(page.get_by_text("4 captures of 6 addresses looked up")).to_be_visible()
        page.get_by_text("The most relevant").click()
        expect(page.get_by_text("time 1.0").first).to_be_visible()
        page.get_by_text("2 addresses in no archive").click()
        looked_at(page, "new-collection-tried")
        page.get_by_role("button", name="Make the collection").click()
        expect(page).to_have_url(re.compile("/crawls/the-flood-of-2013$"))
        folder = cockpit.place / "the-flood-of-2013"
        until(lambda: json.loads((folder / "crawl.json").read_text()).get("state") == "finished")
        summary = json.loads((folder / "crawl.json").read_text())
        assert (summary["pages"], summary["requests"], summary["relevant"]) == (4, 0, 3)
        assert "../dikes" in (folder / "definition.yaml").read_text()
        assert not [said for said in visit.wrong if "favicon" not in said]


@pytest.mark.slow
def test_an_article_fills_in_what_it_tells(chromium: Browser, cockpit: Cockpit, tmp_path: Path) -> None:
    saved = tmp_path / "flood.html"
    saved.write_text(ARTICLE)
    with visiting(chromium, cockpit, java_script_enabled=False) as visit:
        page = visit.goto("/new/collection")
        page.get_by_label("Last day").fill("2013-07-01")
        page.get_by_label("An article of Wikipedia").set_input_files(saved)
        page.get_by_role("button", name="Read the article").click()
        expect(page.get_by_label("Title")).to_have_value("The flood")
        expect(page.get_by_label("First day")).to_have_value("2013-06-03")
        expect(page.get_by_label("Last day")).to_have_value("2013-07-01")
        expect(page.get_by_label("Texts about it")).to_have_value(re.compile("dike of the town broke"))
        expect(page.get_by_label("Addresses", exact=True)).to_have_value(f"{DAM}\nhttp://nowhere.test/")
        page.get_by_label("dams").check()
        page.get_by_label("Contact").fill("a@example.org")
        page.get_by_role("button", name="Look into the archives").click()
        _without_scripts(visit, page)


def _without_scripts(visit: Visit, page: Page) -> None:
    """Follow the dry run by its link, as long as it goes on."""
    while page.get_by_text("1 of 2 seeds in the archives").count() == 0:
        page.get_by_role("link", name="See how far it is").click()
        page.wait_for_timeout(100)
    expect(page.get_by_text("1 of 2 seeds in the archives")).to_be_visible()
    assert not visit.wrong


def sent(cockpit: Cockpit, token: str = OPERATOR, **fields: str) -> str:
    cookie = cockpit.entered(token)
    named = {name.replace("__", "."): value for name, value in fields.items()}
    said = {"secret": cockpit.form_secret(cookie), "action": "make", **named}
    return html.unescape(cockpit.post("/new/collection", said, cookie).body.decode())


def test_mistakes_stand_at_their_fields_and_nothing_is_made(cockpit: Cockpit) -> None:
    before = {each.name for each in cockpit.place.iterdir()}
    told = sent(cockpit, seeds="no address", event__start="2013-07-01", event__end="2013-06-01", scoring__relevant="2")
    for field in ("contact", "seeds", "event-end", "scoring-relevant"):
        assert f'href="#f-{field}"' in told, field
    assert 'value="2013-07-01"' in told, "what was typed is still there"
    good = {"contact": "a@example.org", "seeds": HOME, "topic__keywords": "flood"}
    assert "names no archive" in sent(cockpit, **good)
    assert "names no crawl or import" in sent(cockpit, **good, **{"archive:../x": "1"})
    assert "a number of captures" in sent(cockpit, **good, **{"archive:dikes": "1"}, captures="many", action="sample")
    assert "choose the saved article" in sent(cockpit, action="article")
    (cockpit.place / "exclusions.txt").write_text("host:dikes.test\n")
    assert "excluded by the institution" in sent(cockpit, **good, **{"archive:dikes": "1"})
    (cockpit.place / "exclusions.txt").unlink()
    assert "is no safe folder name" in sent(cockpit, **good, **{"archive:dikes": "1"}, id="../elsewhere")
    assert {each.name for each in cockpit.place.iterdir()} - {"service-log.jsonl"} <= before


def test_addresses_that_would_be_lost_are_shown_before_a_collection_is_made(cockpit: Cockpit) -> None:
    typed = f"{HOME} with words\nno address\nflood.test/b.html\n{HOME}"
    good = {"contact": "a@example.org", "topic__keywords": "flood", "archive:dikes": "1", "id": "lost-lines"}
    told = sent(cockpit, seeds=typed, **good)
    assert "line 1, http://dikes.test/ with words: has more than an address; “with words” is not read" in told
    assert "line 2, no address: holds no web address" in told
    assert "is read as http://flood.test/b.html" in told
    assert typed in told, "what was typed is still there"
    assert not (cockpit.place / "lost-lines").exists()
    sent(cockpit, seeds=typed, **good, leave_out="1")
    assert (cockpit.place / "lost-lines").is_dir()


def test_the_short_name_follows_the_title_until_it_is_edited(cockpit: Cockpit) -> None:
    first = sent(cockpit, title="Storm", action="read")
    assert 'name="id" value="storm"' in first
    assert 'name="proposed" value="storm"' in first
    assert 'name="id" value="surge"' in sent(cockpit, title="Surge", id="storm", proposed="storm", action="read")
    assert 'name="id" value="mine"' in sent(cockpit, title="Surge", id="mine", proposed="storm", action="read")


def test_archives_elsewhere_are_as_many_as_are_named(cockpit: Cockpit) -> None:
    rows = {
        "elsewhere.1.kind": "replay",
        "elsewhere.1.name": "Library",
        "elsewhere.1.first": "http://library.test/cdx",
        "elsewhere.3.kind": "memento",
        "elsewhere.3.first": "no address",
        "elsewhere.4.kind": "memento",
    }
    good = {"contact": "a@example.org", "seeds": HOME, "topic__keywords": "flood"}
    good |= {"event__start": "2013-06-01", "event__end": "2013-06-30"}
    told = sent(cockpit, **good, **rows)
    assert "Library</a>: write the web address of the place where captures are shown" in told
    assert "Archive 3 elsewhere</a>: is no web address" in told
    assert 'href="#f-elsewhere-1-second"' in told
    assert "captures.sources" not in told
    for typed in ("Library", "http://library.test/cdx", "no address", "2013-06-01", "a@example.org"):
        assert f'value="{typed}"' in told, "nothing typed is lost"
    told = sent(cockpit, **good, **rows, action="another")
    assert re.findall(r'name="elsewhere\.(\d)\.kind"', told) == ["1", "2", "3"], "empty ones give their place"
    (cockpit.place / "exclusions.txt").write_text("host:library.test\n")
    whole = {**rows, "elsewhere.1.second": "http://library.test/web/", "elsewhere.3.first": ""}
    told = sent(cockpit, **good, **whole, **{"archive:dikes": "1"})
    assert "Library: is excluded by the institution" in told
    (cockpit.place / "exclusions.txt").unlink()


LIST = [
    {"id": "small", "timemap": "http://small.test/timemap/link/", "probability": 0.2},
    {"id": "large", "name": "Large", "timegate": "http://large.test/web/", "probability": 0.9},
    {"id": "off", "timegate": "http://off.test/web/", "probability": 1.0, "ignore": True},
    {"id": "none", "probability": 1.0},
]


def test_a_list_of_archives_is_taken_over_by_its_probabilities() -> None:
    form = Form({"elsewhere.1.first": "http://large.test/web/", "elsewhere.1.kind": "memento", "title": "Flood"})
    more = with_others(form, archives_listed(json.dumps(LIST).encode()))
    assert [(each.name, each.first or each.second) for each in others_in(more)] == [
        ("", "http://large.test/web/"),
        ("small", "http://small.test/timemap/link/"),
    ]
    assert more.get("title") == "Flood"


@pytest.mark.parametrize("written", ["", "[", "{}", '[{"id": 1}]', "[" * 100_000])
def test_what_is_no_list_of_archives_is_told(written: str) -> None:
    with pytest.raises(ProblemError, match=r"list of archives"):
        archives_listed(written.encode())


def test_a_history_tells_when_edits_fell() -> None:
    days = [20] * 5 + [19, 21] * 3 + [1, 0, 2, 1] * 6
    edits = [(day, each) for day, count in enumerate(days) for each in range(count)]
    revisions = [
        {"revid": 100 * day + each + 1, "timestamp": f"{date(2013, 6, 3) + timedelta(day)}T10:{each:02}:00Z"}
        for day, each in edits
    ]
    history = json.dumps({"query": {"pages": {"7": {"revisions": revisions}}}}).encode()
    read = article_read(ARTICLE.encode(), history)
    assert (read.start, read.end) == ("2013-06-03", "2013-06-13")
    assert read.cool_down == "3 d", "a quarter of eleven days, in whole ones"
    assert "current when edits fell" in read.notes[0]
    with pytest.raises(ProblemError, match="the history"):
        article_read(ARTICLE.encode(), b"{}")


@pytest.mark.slow
def test_archives_elsewhere_are_added_in_a_browser(chromium: Browser, cockpit: Cockpit, tmp_path: Path) -> None:
    listed = tmp_path / "archives.json"
    listed.write_text(json.dumps(LIST))
    with visiting(chromium, cockpit) as visit:
        page = visit.goto("/new/collection")
        page.get_by_label("Title").fill("The flood of 2013")
        page.get_by_text("Archives elsewhere, and the live web").click()
        page.get_by_label("First address").fill("http://library.test/web/")
        page.get_by_role("button", name="One more archive").click()
        page.get_by_label("What it is").nth(1).select_option(label="CDX server with WARC files")
        page.get_by_label("First address").nth(1).fill("http://cdx.test/index")
        page.get_by_label("A list of archives").set_input_files(listed)
        page.get_by_role("button", name="Add those of the list").click()
        expect(page.get_by_label("First address")).to_have_count(4)
        expect(page.get_by_label("First address").nth(2)).to_have_value("http://large.test/web/")
        expect(page.get_by_label("Title")).to_have_value("The flood of 2013")
        page.get_by_role("button", name="Make the collection").click()
        expect(page.get_by_text("write the web address of the folder of the WARC files").first).to_be_visible()
        expect(page.get_by_label("First address").nth(1)).to_have_value("http://cdx.test/index")
        looked_at(page, "new-collection-archives")
        assert not visit.wrong


def test_a_dry_run_is_followed_and_given_up_by_its_page(cockpit: Cockpit) -> None:
    fields = {
        "contact": "a@example.org",
        "seeds": HOME,
        "topic__keywords": "flood",
        "archive:dikes": "1",
        "id": "tried",
    }
    told = sent(cockpit, action="sample", **fields)
    found = re.search(r'href="(/new/collection/sample/tried/[^"?]+)\?whole=1"', told)
    if found is not None:  # It may be over already.
        cookie = f"{COOKIE}={cockpit.entered(OPERATOR)}"
        until(lambda: b"data-again" not in cockpit.ask("GET", found[1], Cookie=cookie).body)
        told = html.unescape(cockpit.ask("GET", f"{found[1]}?whole=1", Cookie=cookie).body.decode())
        given_up = sent(cockpit, action="cancel", job=found[1].rpartition("/")[2], **fields)
        assert "The dry run is given up" in given_up
    assert "1 of 1 seed in the archives" in told
    assert "Levels of the river" in told
    assert not (cockpit.place / "tried").exists()


def test_who_sees_no_crawls_sees_no_archives(cockpit: Cockpit) -> None:
    cookie = cockpit.entered(BLIND)
    answer = cockpit.ask("GET", "/new/collection", Cookie=f"{COOKIE}={cookie}")
    assert answer.status == 403
    assert b"dikes" not in answer.body
