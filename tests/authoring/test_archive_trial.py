"""A knowledge base is tried on what a crawl has archived: what would change is told, the most important first."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from aahcrawler.archive.records import Identified
from aahcrawler.archive.writer import WarcWriter
from aahcrawler.cli import app
from aahcrawler.editor.pages.archive_trial import (
    ArchiveTrialError,
    HeaviestPages,
    Progress,
    Question,
    Result,
    Summary,
    chosen,
    page_lines,
    summary_lines,
    tried,
    without_changes,
)
from aahcrawler.editor.pages.page_readings import PageChanged
from aahcrawler.helper import ApplicationAwareHelper
from aahcrawler.metadata import Link, Metadata, write_metadata
from aahcrawler.page import Page
from knowledge_base.loader import load
from knowledge_base.model import KnowledgeBase
from tests.archive.exchanges import INFO, exchange_of, identity, response_bytes
from tests.authoring.test_check_pages import FILE
from tests.authoring.tinyforum import SITE, board, form, topic
from tests.crawl.crawling import aah
from tests.crawl.site import Reply, Site, serving
from tests.crawl.world import crawl, network
from tests.helper.saved_pages import html_page

BOARD, TOPIC, FORM = f"{SITE}/board.php?id=2", f"{SITE}/topic.php?id=7", f"{SITE}/login.php"
PAGES = {BOARD: board(), TOPIC: topic(), FORM: form()}
BROKEN = '<div class="entry" id="entry-1">' * 3_000


def knowledge(folder: Path, old: str = "", new: str = "") -> KnowledgeBase:
    """Write a file with a part of it replaced, and load it."""
    assert old in FILE
    (folder / "applications").mkdir(parents=True, exist_ok=True)
    (folder / "applications" / "tiny.xml").write_text(FILE.replace(old, new), "utf-8")
    return load(folder)


def recorded(page: Page, knowledge_base: KnowledgeBase) -> bytes:
    """Return the metadata that a crawl with a knowledge base records of a page."""
    found = ApplicationAwareHelper(knowledge_base).comparing_drafts().assist(page)
    match = found.match
    return write_metadata(
        Metadata(
            url=page.url,
            application=match.application.name if match else None,
            level=match.level.name if match and match.level else None,
            links=tuple(Link(link.url) for link in found.document.outlinks),
            objects=found.objects,
            priority=0.5,
        )
    )


def archive(folder: Path, knowledge_base: KnowledgeBase, pages: dict[str, str]) -> Path:
    """Write what a crawl with a knowledge base would have archived."""
    with WarcWriter(folder / "archive", INFO, identity=identity()) as writer:
        for url, markup in pages.items():
            wire, payload = response_bytes(markup.encode())
            metadata = recorded(html_page(url, markup), knowledge_base)
            exchange = replace(exchange_of(wire, payload), url=url)
            writer.write(exchange, Identified("text/html", "en"), metadata=metadata)
    return folder


@pytest.fixture
def base(tmp_path: Path) -> KnowledgeBase:
    return knowledge(tmp_path / "kb")


def results(question: Question) -> tuple[Sequence[Result], Sequence[PageChanged], Summary]:
    told = list(tried(question))
    pages = [each for each in told if isinstance(each, PageChanged)]
    summary = told[-1]
    assert isinstance(summary, Summary)
    assert all(isinstance(each, Progress) for each in told if each not in (*pages, summary))
    return told, pages, summary


def test_the_same_knowledge_base_changes_nothing(tmp_path: Path, base: KnowledgeBase) -> None:
    told, pages, summary = results(Question(archive(tmp_path / "crawl", base, PAGES), base))
    assert not pages
    assert (summary.archived, summary.pages, summary.differing, summary.skipped) == (3, 3, 0, 0)
    assert told[0] == Progress(done=0, of=3)
    assert told[-2] == Progress(done=3, of=3)
    assert list(summary_lines(summary))[-1] == "nothing would change"


def test_a_draft_is_read_as_the_crawl_read_it(tmp_path: Path) -> None:
    draft = knowledge(tmp_path / "kb", "<application ", '<application draft="yes" ')
    _, pages, summary = results(Question(archive(tmp_path / "crawl", draft, PAGES), draft))
    assert (pages, summary.pages) == ([], 3)


def test_what_would_change_is_told_object_by_object(tmp_path: Path, base: KnowledgeBase) -> None:
    folder = archive(tmp_path / "crawl", base, PAGES)
    mended = knowledge(tmp_path / "kb", 'css=".who a"', 'css=".when"')
    _, (page,), summary = results(Question(folder, mended))
    assert (page.url, page.lost, page.gained, page.changed) == (TOPIC, 0, 0, 3)
    first = page.objects[0]
    assert (first.change, first.type, first.title) == ("changed", "reply", "Wet ropes")
    assert [(each.name, each.before, each.after) for each in first.fields] == [("author", "Ada", "13.2.2024 14:05")]
    assert summary.fields == {"author": 3}
    lines = list(page_lines([page]))
    assert '    author: "Ada" -> "13.2.2024 14:05"' in lines


def test_objects_and_links_that_are_lost_and_places_that_change(tmp_path: Path, base: KnowledgeBase) -> None:
    folder = archive(tmp_path / "crawl", base, PAGES)
    worse = knowledge(tmp_path / "kb", '<when css="ul.topics"', '<when css="ol.topics"')
    avoiding = knowledge(tmp_path / "kb", 'path="**/user.php"', 'path="**/topic.php"')
    _, (page,), summary = results(Question(folder, worse))
    assert (page.before.level, page.after.level, page.after.application) == ("forum", "", "Tiny")
    assert [(move.before, move.after, move.pages) for move in summary.moves] == [("Tiny/forum", "Tiny", 1)]
    _, pages, _ = results(Question(folder, avoiding, base))
    listed = next(each for each in pages if each.url == BOARD)
    assert {each.url: each.reason for each in listed.refused} == dict.fromkeys(listed.left, "profile")
    assert f"  not followed any more: {listed.left[0]} (profile)" in "\n".join(page_lines([listed]))


def test_an_application_is_tried_against_what_is_there_without_it(tmp_path: Path, base: KnowledgeBase) -> None:
    folder = archive(tmp_path / "crawl", base, PAGES)
    first = tmp_path / "kb"
    knowledge(tmp_path / "own", 'css=".who a"', 'css=".nobody"')
    before, said = without_changes((first, tmp_path / "own"), "tiny")
    assert said == f"the file for Tiny in an earlier folder, {first / 'applications' / 'tiny.xml'}"
    _, (page,), _ = results(Question(folder, load(first, tmp_path / "own"), before, against=said))
    assert [each.name for each in page.objects[0].fields] == ["author"]
    without, said = without_changes((first,), "Tiny")
    assert (without.applications, said) == ((), "reading without Tiny")
    _, pages, summary = results(Question(folder, base, without))
    assert {each.url for each in pages} >= {TOPIC, BOARD}
    assert summary.moves[0].before == ""
    with pytest.raises(ArchiveTrialError, match="no file describes Nothing; there are files for Tiny"):
        without_changes((first,), "Nothing")


@pytest.mark.slow
def test_damaged_and_hostile_pages_are_passed_over(tmp_path: Path, base: KnowledgeBase) -> None:
    hostile = {
        f"{SITE}/topic.php?id=9": f"{topic()}{BROKEN}",
        f"{SITE}/topic.php?id=10": "\x00\x1b[31m<div class=entry>",
    }
    folder = archive(tmp_path / "crawl", base, {**PAGES, **hostile})
    worse = knowledge(tmp_path / "kb", "div.entry", "div.nothing")
    _, pages, summary = results(Question(folder, worse))
    assert summary.pages == 5
    assert TOPIC in {each.url for each in pages}
    assert all(sign.isprintable() for line in page_lines(pages) for sign in line)
    (file,) = (folder / "archive").glob("*.warc.gz")
    data = bytearray(file.read_bytes())
    data[len(data) // 3 : len(data) // 3 + 400] = bytes(400)
    file.write_bytes(data)
    *_, last = tried(Question(folder, worse))
    assert isinstance(last, Summary)
    with pytest.raises(ArchiveTrialError, match="holds no archive; name the folder of a crawl"):
        next(tried(Question(tmp_path, worse)))


def test_pages_are_chosen_from_every_host_and_sort() -> None:
    urls = [f"http://a.test/topic/{number}" for number in range(1_000)]
    urls += [f"http://a.test/board.php?id={number}" for number in range(50)] + ["http://b.test/", "http://c.test/x/y"]
    few = chosen(urls, 6)
    assert len(few) == 6
    assert {"http://b.test/", "http://c.test/x/y"} < few
    assert sum("/topic/" in url for url in few) == sum("board.php" in url for url in few) == 2
    assert chosen(urls, 0) == frozenset(urls)
    assert chosen(reversed(urls), 6) == few


def test_the_heaviest_pages_are_kept() -> None:
    heaviest = HeaviestPages(2)
    for number in (3, 1, 5, 2, 5):
        heaviest.add(PageChanged(url=f"http://a.test/{number}", weight=number))
    assert [page.url for page in heaviest.pages()] == ["http://a.test/5", "http://a.test/5"]


@pytest.mark.slow
def test_the_command(tmp_path: Path, base: KnowledgeBase) -> None:
    folder = archive(tmp_path / "crawl", base, PAGES)
    command = ["kb", "try", str(folder), "--kb", str(tmp_path / "kb")]
    same = CliRunner().invoke(app, command)
    assert (same.exit_code, same.stdout.splitlines()[-1]) == (0, "nothing would change")
    knowledge(tmp_path / "kb", 'css=".who a"', 'css=".when"')
    told = CliRunner().invoke(app, command)
    assert told.exit_code == 1
    assert told.stdout.splitlines()[:4] == [
        "3 archived pages, compared with what the crawl recorded",
        "pages: 1 would change, 2 would not",
        "objects: 0 lost, 0 gained, 3 read differently",
        "fields read differently: 3 author",
    ]
    lines = CliRunner().invoke(app, [*command, "--json", "--host", "knots.example"]).stdout.splitlines()
    assert [json.loads(line)["kind"] for line in lines] == ["progress", "page", "progress", "summary"]
    nowhere = CliRunner().invoke(app, [*command, "--application", "Other"])
    assert (nowhere.exit_code, "no file describes Other" in nowhere.stderr) == (2, True)


@pytest.mark.starts
def test_a_crawl_is_read_again_as_it_was_recorded(tmp_path: Path) -> None:
    knowledge(tmp_path / "kb")
    pages = {url.removeprefix(SITE): markup for url, markup in PAGES.items()}
    pages["/topic.php?id=8"] = topic().replace("Wet ropes", "Storm anchors").replace("?id=7", "?id=8")
    with serving(Site(pages={path: Reply(markup.encode()) for path, markup in pages.items()})) as site:
        done = crawl(
            tmp_path,
            [BOARD],
            network=network(site, "knots.example"),
            limits={"pages": 6},
        )
    assert done.ended.code == 0, done.ended.err
    shipped = aah("kb", "try", done.folder, "--kb", "shipped", "--pages", "0")
    assert (shipped.code, "nothing would change" in shipped.out) == (0, True), shipped.out + shipped.err
    told = aah("kb", "try", done.folder, "--kb", f"shipped:{tmp_path / 'kb'}", "--application", "Tiny")
    assert told.code == 1
    assert any(line.endswith("no known application -> Tiny/thread") for line in told.out.splitlines()), told.out
