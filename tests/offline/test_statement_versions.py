"""What RDF documents said, version by version."""

import json
from pathlib import Path

import pyoxigraph as ox
import pytest
from typer.testing import CliRunner

from aahcrawler.cli import app
from tests.sources.dated import Dated, write_archive

pytestmark = pytest.mark.starts
URL = "http://data.test/dike"
SAID = '<#it> <http://v.test/height> {height} ; <http://v.test/by> [ <http://v.test/name> "say \\"_:x\\" {name}" ] .'
TURTLE = "text/turtle"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    other = '_:z <http://v.test/name> "say \\"_:x\\" Bo" . <#it> <http://v.test/by> _:z ; <http://v.test/height> 5 .'
    bodies = [
        ("2026-01-01", SAID.format(height=5, name="Bo"), TURTLE),
        ("2026-02-01", other, TURTLE),
        ("2026-03-01", SAID.format(height=6, name="Bo"), TURTLE),
        ("2026-04-01", "<h1>Moved</h1>", "text/html"),
        ("2026-05-01", SAID.format(height=6, name="Bea"), TURTLE),
    ]
    dated = [Dated(URL, f"{day}T00:00:00Z", body, fields={"Content-Type": kind}) for day, body, kind in bodies]
    write_archive(tmp_path / "a.warc.gz", dated)
    return tmp_path


def _patch(written: str) -> list[list[str]]:
    """Return the lines that each version removes and adds."""
    return [
        [line for line in version.splitlines() if line[:2] in ("A ", "D ")] for version in written.split("H id ")[1:]
    ]


def test_each_version_tells_what_it_adds_and_takes_away(folder: Path) -> None:
    ended = CliRunner().invoke(app, ["statements", str(folder), URL])
    assert ended.exit_code == 0, ended.output
    first, second, third = _patch(ended.stdout)
    assert len(first) == 3
    height = "<http://data.test/dike#it> <http://v.test/height>"
    integer = "<http://www.w3.org/2001/XMLSchema#integer>"
    assert second == [f'D {height} "5"^^{integer} .', f'A {height} "6"^^{integer} .']
    assert [line[0] for line in third] == ["D", "D", "A", "A"]
    assert all('"say \\"_:x\\" ' in line for line in third if "name" in line), "what is said stays as it is"


def test_what_a_document_said_at_a_time_can_be_loaded(folder: Path) -> None:
    ended = CliRunner().invoke(app, ["statements", str(folder), URL, "--at", "2026-04-15"])
    assert ended.exit_code == 0, ended.output
    quads = list(ox.parse(ended.stdout, format=ox.RdfFormat.N_QUADS))
    assert {str(quad.object.value) for quad in quads if isinstance(quad.object, ox.Literal)} == {"6", 'say "_:x" Bo'}


def test_what_is_no_rdf_or_came_later_is_said(folder: Path) -> None:
    for arguments in ([URL, "--at", "2025-01-01"], ["http://data.test/other"]):
        ended = CliRunner().invoke(app, ["statements", str(folder), *arguments])
        assert (ended.exit_code, ended.stdout) == (2, "")
        told = "is data" if URL in arguments else "http://data.test/other is unknown in"
        assert told in ended.stderr


def test_what_cannot_be_read_to_its_end_is_said_in_the_exit_code(tmp_path: Path) -> None:
    bodies = [("2026-01-01", "<> <http://v.test/p> 1 ."), ("2026-02-01", "<> <http://v.test/p> 1 . <> <")]
    dated = [Dated(URL, f"{day}T00:00:00Z", body, fields={"Content-Type": TURTLE}) for day, body in bodies]
    write_archive(tmp_path / "a.warc.gz", dated)
    ended = CliRunner().invoke(app, ["statements", str(tmp_path), URL])
    assert ended.exit_code == 4
    assert "captures that cannot be compared: 1; other versions: 1" in ended.stderr


def test_patches_can_be_applied_and_the_resource_leads_to_its_document(folder: Path) -> None:
    moved = Dated("http://data.test/id/dike", "2026-01-01T00:00:00Z", "", "303 See Other", {"Location": URL})
    write_archive(folder / "b.warc.gz", [moved])
    ended = CliRunner().invoke(app, ["statements", str(folder), moved.url])
    assert ended.exit_code == 0, ended.output
    said: set[str] = set()
    for version in _patch(ended.stdout):
        removed = {line[2:] for line in version if line[0] == "D"}
        assert removed <= said
        said = said - removed | {line[2:] for line in version if line[0] == "A"}
    last = CliRunner().invoke(app, ["statements", str(folder), URL, "--at", "2026-05-01"])
    assert set(last.stdout.splitlines()) == said


def test_versions_of_a_table_tell_which_rows_changed(tmp_path: Path) -> None:
    url = "http://data.test/gauges.csv"
    bodies = ["id,level\n1,5\n2,7\n", "level,id\n7,2\n5,1\n", "id,level\n1,6\n3,7\n"]
    days = [f"2026-0{month}-01T00:00:00Z" for month in (1, 2, 3)]
    dated = [Dated(url, day, body, fields={"Content-Type": "text/csv"}) for day, body in zip(days, bodies, strict=True)]
    write_archive(tmp_path / "a.warc.gz", dated)
    ended = CliRunner().invoke(app, ["statements", str(tmp_path), url])
    assert ended.exit_code == 0, ended.output
    first, last = map(json.loads, ended.stdout.splitlines())
    assert first["added"] == [{"id": "1", "level": "5"}, {"id": "2", "level": "7"}]
    assert (last["captured"], last["keys"]) == ("2026-03-01T00:00:00Z", ["id"])
    assert last["changed"] == [{"from": {"id": "1", "level": "5"}, "to": {"id": "1", "level": "6"}}]
    assert (last["added"], last["removed"]) == ([{"id": "3", "level": "7"}], [{"id": "2", "level": "7"}])
    ended = CliRunner().invoke(app, ["statements", str(tmp_path), url, "--at", "2026-02-15"])
    assert list(map(json.loads, ended.stdout.splitlines())) == first["added"]


def test_cells_stand_in_the_order_of_the_columns_of_each_version(tmp_path: Path) -> None:
    url = "http://data.test/gauges.csv"
    bodies = ["station,id,level\nOste,1,5\nElbe,2,7\n", "level,station,id\n6,Oste,1\n7,Elbe,2\n"]
    days = [f"2026-0{month}-01T00:00:00Z" for month in (1, 2)]
    dated = [Dated(url, day, body, fields={"Content-Type": "text/csv"}) for day, body in zip(days, bodies, strict=True)]
    write_archive(tmp_path / "a.warc.gz", dated)
    ended = CliRunner().invoke(app, ["statements", str(tmp_path), url])
    first, last = map(json.loads, ended.stdout.splitlines())
    assert [list(each) for each in first["added"]] == [["station", "id", "level"]] * 2
    assert [list(each) for each in last["changed"][0].values()] == [["level", "station", "id"]] * 2
    ended = CliRunner().invoke(app, ["statements", str(tmp_path), url, "--at", "2026-01-15"])
    assert ended.stdout.splitlines()[0] == '{"station": "Oste", "id": "1", "level": "5"}'
