"""What was found can be had as a WARC file and as Apache Parquet."""

import json
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner
from warcio.archiveiterator import ArchiveIterator

from aahcrawler.archive.checking import Tally, check
from aahcrawler.cli import app
from aahcrawler.search import Question, SearchedFolder, SearchIndex, search
from aahcrawler.search.found_records import FoundRecords
from aahcrawler.search.parquet_rows import SCHEMA
from tests.imports.archives import imported, members, pages, record
from tests.search.archives import SITE, post, running


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "floods"
    with running(folder) as crawl:
        crawl.page("one", "the dyke holds", [post("o", "the dyke held all night")])
        crawl.page("two", "bread is baked at six")
        crawl.page("three", "the dyke has broken")
    return folder


def test_the_records_of_results_are_copied_with_all_that_belongs_to_them(folder: Path, tmp_path: Path) -> None:
    target = tmp_path / "found.warc.gz"
    said = CliRunner().invoke(app, ["search", str(folder), "dyke", "--warc", str(target)])
    assert said.exit_code == 0, said.output
    assert "2 captures of 2 results" in said.stderr
    with target.open("rb") as file:
        read = [(each.rec_type, each.rec_headers.get_header("WARC-Target-URI")) for each in ArchiveIterator(file)]
    assert [kind for kind, _ in read].count("warcinfo") == 2
    assert {url for kind, url in read if kind == "response"} == {f"{SITE}/one", f"{SITE}/three"}
    assert {kind for kind, _ in read} >= {"request", "metadata"}
    assert [*check(target, Tally())] == []
    original = {name: (fields, block) for name, fields, block in kept_in(folder)}
    copied = {name: (fields, block) for name, fields, block in kept_in(target)}
    assert len(copied.keys() - original.keys()) == 1  # Its own warcinfo record.
    assert all(original[name] == each for name, each in copied.items() if name in original)
    again = CliRunner().invoke(app, ["search", str(folder), "dyke", "--warc", str(target)])
    assert (again.exit_code, "exists, and is not overwritten" in again.output) == (2, True)


def kept_in(place: Path) -> list[tuple[str, list[tuple[str, str]], bytes]]:
    paths = [place] if place.is_file() else sorted((place / "archive").glob("*.warc.gz"))
    read: list[tuple[str, list[tuple[str, str]], bytes]] = []
    for path in paths:
        with path.open("rb") as file:
            read += [
                (each.rec_headers.get_header("WARC-Record-ID"), each.rec_headers.headers, each.raw_stream.read())
                for each in ArchiveIterator(file, no_record_parse=True)
            ]
    return read


def test_a_revisit_comes_with_what_it_shows_and_what_moved_meanwhile_is_left_out(tmp_path: Path) -> None:
    shown = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<title>Dykes</title><p>The dyke holds."
    profile = "http://netpreserve.org/warc/1.0/revisit/identical-payload-digest"
    first, other = record(1, shown, url="http://dikes.test/a"), pages(1, first=3)
    named = {"WARC_Refers_To": f"<{first.record_id}>", "WARC_Profile": profile}
    revisit = record(2, b"HTTP/1.1 200 OK\r\n\r\n", "revisit", url="http://dikes.test/b", **named)
    path, root = tmp_path / "a.warc.gz", tmp_path / "crawl"
    path.write_bytes(members([*other, first, revisit]))
    imported(root, path, by_reference=True)
    with SearchIndex(root).open() as index:
        assert index.catch_up()
        index.rest()
        hits = search([SearchedFolder(root, index).opened()], Question("url:http://dikes.test/b")).hits
        records = FoundRecords(hits, {root: index})
        (tmp_path / "found.warc.gz").write_bytes(b"".join(records.pieces("found.warc.gz", "b")))
        assert (records.captures, records.missing) == (2, 0)
        read = {name.strip("<>") for name, _, _ in kept_in(tmp_path / "found.warc.gz")}
        assert {first.record_id, revisit.record_id} < read
        # Where other records lie at these places now, none is taken for what was found.
        path.write_bytes(members([first, *other, revisit]))
        moved = FoundRecords(hits, {root: index})
        (tmp_path / "moved.warc.gz").write_bytes(b"".join(moved.pieces("moved.warc.gz", "b")))
        assert {name.strip("<>") for name, _, _ in kept_in(tmp_path / "moved.warc.gz")} & {
            each.record_id for each in (first, *other)
        } == set()
        assert moved.missing == 1


def test_results_are_a_parquet_table_of_the_same_columns(folder: Path, tmp_path: Path) -> None:
    target = tmp_path / "found.parquet"
    said = CliRunner().invoke(app, ["search", str(folder), "dyke", "--parquet", str(target), "--format", "jsonl"])
    assert said.exit_code == 0, said.output
    assert pq.read_table(target).to_pylist() == [json.loads(line) for line in said.stdout.splitlines()]
    empty = CliRunner().invoke(app, ["search", str(folder), "nothing -nothing", "--parquet", str(target)])
    assert empty.exit_code == 0
    assert pq.read_table(target).schema == SCHEMA


def test_where_pyarrow_is_absent_the_extra_is_named(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "aahcrawler.search.parquet_rows", raising=False)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    said = CliRunner().invoke(app, ["search", str(folder), "dyke", "--parquet", str(tmp_path / "x.parquet")])
    assert (said.exit_code, "pip install 'aahcrawler[parquet]'" in said.output) == (2, True)
