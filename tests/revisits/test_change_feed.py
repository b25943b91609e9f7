"""The log of changes as others are given it: tables, lines of JSON, a feed, and the command that writes them."""

import csv
import io
import json
import re
from dataclasses import fields, replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from lxml import etree
from typer.testing import CliRunner

from aahcrawler.cli import app
from aahcrawler.layout import CHANGES, DEFINITION
from aahcrawler.page import Headers, Page
from aahcrawler.page.feeds import read_feed
from aahcrawler.revisits.change_feed import COLUMNS, atom_feed, visit_in_words, write_changes
from aahcrawler.revisits.change_log import ChangeLog
from aahcrawler.revisits.visit_record import (
    ChangeFormat,
    ChangeKind,
    ChangeState,
    DateSource,
    Dating,
    Visit,
    VisitRecord,
)
from aahcrawler.tombstones import Tombstone, write_tombstones
from tests.offline.shapes import violations

AT = datetime(2026, 2, 3, 4, 5, 6, 789_000, tzinfo=UTC)
BEFORE = datetime(2026, 2, 1, tzinfo=UTC)
VISIT = Visit(
    "http://a.test/page?a=1&b=2",
    AT,
    0.25,
    200,
    ChangeState.CHANGED,
    ChangeKind.CONTENT,
    etag='=HYPERLINK("x")\t"y"',
    size=1234,
    previous=BEFORE,
    new=("http://a.test/page#1", "http://a.test/page#2"),
    dated=Dating(BEFORE, AT, DateSource.COMPARISON),
)
BEGINNINGS = {"tsv": "url\tat\t", "csv": "url,at,", "nq": "<urn:uuid:", "atom": "<?xml"}
FAILED = Visit("http://b.test/", AT, None, None, ChangeState.FAILED, reason="timeout")


def written(output: ChangeFormat, *visits: Visit) -> str:
    out = io.StringIO(newline="")
    write_changes(visits, output, out, "a crawl")
    return out.getvalue()


def test_a_table_has_a_line_for_each_visit() -> None:
    first, second = csv.DictReader(io.StringIO(written(ChangeFormat.CSV, VISIT, FAILED), newline=""))
    assert (first["at"], first["seconds"], first["kind"]) == ("2026-02-03T04:05:06.789Z", "0.25", "content")
    assert first["new"] == "http://a.test/page#1 http://a.test/page#2"
    assert first["etag"].startswith("'=")  # No spreadsheet takes it for a formula.
    assert (first["changed_after"], first["dated_by"]) == ("2026-02-01T00:00:00.000Z", "comparison")
    assert (second["status"], second["reason"], second["dated_by"]) == ("", "timeout", "")


def test_values_of_a_table_with_tabs_hold_none() -> None:
    header, *rows = written(ChangeFormat.TSV, VISIT, FAILED).splitlines()
    assert header.split("\t") == list(COLUMNS)
    described = (Path(__file__).parents[2] / "docs" / "watching.md").read_text("utf-8")
    table = described[described.index("| `url`, `at` |") :].partition("\n\n")[0]
    assert header.split("\t") == re.findall(r"`(\w+)`", " ".join(row.split("|")[1] for row in table.splitlines()))
    assert {*COLUMNS, "dated"} == {
        *(each.name for each in fields(Visit)),
        "changed_after",
        "changed_before",
        "dated_by",
    }
    assert [len(row.split("\t")) for row in rows] == [len(COLUMNS)] * 2


def test_lines_of_json_hold_what_is_known() -> None:
    first, second = map(json.loads, written(ChangeFormat.JSONL, VISIT, FAILED).splitlines())
    assert first["new"] == list(VISIT.new)
    assert first["etag"] == VISIT.etag
    assert second["seconds"] is second["changed_after"] is None


@pytest.mark.slow
def test_triples_keep_to_the_shapes() -> None:
    first = replace(
        VISIT, url="http://c.test/", dated=Dating(None, AT, DateSource.LAST_MODIFIED), record_id="urn:uuid:1"
    )
    said = written(ChangeFormat.NQ, VISIT, first, FAILED)
    assert violations(said.encode()) == []
    assert violations(said.replace('"comparison"', '"guess"').encode())


def test_a_feed_is_read_by_feed_readers() -> None:
    document = atom_feed([VISIT, replace(FAILED, reason="\x00bad\ud800")], "a crawl", "http://c.test/changes.atom")
    page = Page("http://c.test/", 200, Headers((("Content-Type", "application/atom+xml"),)), document, AT)
    feed = read_feed(page)
    assert feed is not None
    assert [entry.url for entry in feed.entries] == [VISIT.url, FAILED.url]
    tree = etree.fromstring(document)
    (identity, *_) = tree.findall("{*}entry/{*}id")
    again = etree.fromstring(atom_feed([VISIT], "another"))
    assert again.findtext("{*}entry/{*}id") == identity.text
    assert tree.findtext("{*}updated") == "2026-02-03T04:05:06.789Z"
    assert tree.find("{*}link").attrib == {"rel": "self", "href": "http://c.test/changes.atom"}  # type: ignore[union-attr]


def test_a_visit_is_told_in_words() -> None:
    assert visit_in_words(VISIT) == "changed in its content; web objects: 2 new"
    assert visit_in_words(FAILED) == "failed: timeout"
    moved = Visit("http://a.test/", AT, 0.1, 301, ChangeState.CHANGED, ChangeKind.MOVED, moved_to="http://c.test/")
    assert visit_in_words(moved) == "changed: it has moved to http://c.test/"
    volatile = replace(VISIT, kind=ChangeKind.TEMPLATE, volatile=True, new=())
    assert visit_in_words(volatile) == "changed in its template only (what differs there differs on nearly every visit)"


@pytest.fixture
def crawl(tmp_path: Path) -> Path:
    (tmp_path / DEFINITION).write_text("{}")
    with ChangeLog(tmp_path / CHANGES, "test", 1, lambda: AT) as log:
        for number, day in ((1, 1), (2, 1), (1, 2)):
            at = round(datetime(2026, 3, day, 12, tzinfo=UTC).timestamp() * 1000)
            payload = f"{number}.{day}"
            log.visited(VisitRecord(url=f"http://a.test/{number}", at=at, status=200, payload=payload, text=payload))
    return tmp_path


def listed(crawl: Path, *options: str) -> list[tuple[str, str]]:
    ended = CliRunner().invoke(app, ["changes", str(crawl), "--format", "jsonl", *options])
    assert ended.exit_code == 0, ended.output
    return [(row["url"][-1], row["state"]) for row in map(json.loads, ended.stdout.splitlines())]


def test_the_command_writes_the_visits_that_are_wanted(crawl: Path) -> None:
    assert listed(crawl) == [("1", "new"), ("2", "new"), ("1", "changed")]
    assert listed(crawl, "--url", "http://a.test:80/1", "--state", "new") == [("1", "new")]
    assert listed(crawl, "--since", "2026-03-02") == [("1", "changed")]
    assert listed(crawl, "--until", "2026-03-02T00:00", "--telling") == [("1", "new"), ("2", "new")]
    assert listed(crawl, "--kind", "content", "--kind", "links") == [("1", "changed")]


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        (["--url", "http://a.test/unknown"], 0, "http://a.test/unknown: no visit of it is in the log of changes"),
        (["--url", "http://a.test/1", "--state", "failed"], 0, "http://a.test/1: no visit is as these options want it"),
        (["--state", "failed"], 0, "no visit is as these options want it"),
        (["--url", "http://a.test/taken"], 0, "http://a.test/taken: was taken out of the archive"),
        (["--url", "mailto:a@b.test"], 2, "is no URL of a page"),
        (["--since", "2026-03-02", "--until", "2026-03-01"], 2, "exchange the two"),
    ],
)
def test_why_nothing_is_found_is_said(crawl: Path, options: list[str], code: int, said: str) -> None:
    write_tombstones(crawl, [Tombstone(id="1", at="", by="me", reason="", urls=("http://a.test/taken",))])
    ended = CliRunner().invoke(app, ["changes", str(crawl), "--format", "jsonl", *options], env={"COLUMNS": "400"})
    assert (ended.exit_code, ended.stdout) == (code, "")
    assert said in ended.stderr


@pytest.mark.parametrize(
    ("output", "beginning"), [("tsv", "url\tat\t"), ("csv", "url,at,"), ("nq", "<urn:uuid:"), ("atom", "<?xml")]
)
def test_the_command_writes_each_format(crawl: Path, output: str, beginning: str) -> None:
    ended = CliRunner().invoke(app, ["changes", str(crawl), "--format", output])
    assert ended.exit_code == 0
    assert ended.stdout.startswith(beginning)


def test_a_folder_that_is_no_crawl_is_a_mistake(tmp_path: Path) -> None:
    ended = CliRunner().invoke(app, ["changes", str(tmp_path)])
    assert ended.exit_code == 2
    assert "is no folder of a crawl" in ended.output
