"""Crawls are described, copied, handed out and deleted through a service."""

import csv
import io
import json
import tarfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

from aahcrawler.layout import ARCHIVE, CREATED, DELETED, LOCK, OBJECTS, REMOVING, SERVICE_LOG
from aahcrawler.objects.writer import ObjectWriter
from aahcrawler.service.api.app import ServiceSettings
from aahcrawler.service.catalog.crawl_catalog import Catalog, Crawl
from aahcrawler.service.steering.crawl_management import go_on_deleting, held
from aahcrawler.service.views.downloads import CutShortError, object_table, page_table, warc_file, warc_files, warc_tar
from aahcrawler.service.views.page_indexes import PageIndexes
from aahcrawler.service.web.entrance import UNLIMITED
from aahcrawler.service.web.noted_acts import ServiceLog
from aahcrawler.service.web.problems import ProblemError
from benchmarks import cockpit_crawl
from benchmarks.cockpit_pages import Shape
from tests.crawl.crawling import until
from tests.objects.samples import CAPTURE, FETCHED, POST
from tests.service.asking import JSON, Reply, Service, begun, serving

DEFINITION = """\
id: dikes  # it stays
contact: a@example.org
title: The dikes
seeds: [http://a.test/]
topic: {keywords: [flood]}
"""
TERMS = {
    "title": "The dikes, as people saw them",
    "description": "Posts on the flood",
    "creator": ["City Archive", 'A "second" one'],
    "publisher": [],
    "rights": ["Reading room: only"],
    "language": ["de", "nds"],
    "subject": ["floods", "#dikes"],
    "coverage": [],
}


@dataclass(frozen=True, slots=True)
class World:
    """A service of a folder that holds the crawl ``dikes``, which was created and not started."""

    service: Service
    place: Path

    def ask(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Reply:
        sent = None if body is None else json.dumps(body).encode()
        return self.service.ask(method, f"/v1/crawls{path}", sent, Content_Type=JSON)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    place = tmp_path / "crawls"
    place.mkdir()
    with serving(ServiceSettings(Catalog([place]), rates=UNLIMITED, log=ServiceLog(place / SERVICE_LOG))) as service:
        world = World(service, place)
        assert world.ask("POST", "", {"definition": DEFINITION}).status == 201
        yield world


@pytest.fixture(scope="module")
def archived(tmp_path_factory: pytest.TempPathFactory) -> Crawl:
    """Return a crawl at rest that has an archive."""
    place = tmp_path_factory.mktemp("archived")
    cockpit_crawl.make(place / "flood", Shape(pages=30, queued=3))
    (crawl,) = Catalog([place]).crawls()
    return crawl


# Described


def test_a_description_is_written_into_the_definition_and_shown_at_once(world: World) -> None:
    assert world.ask("PUT", "/dikes/description", TERMS).json == TERMS
    assert world.ask("GET", "/dikes/description").json == TERMS
    assert [each["title"] for each in world.ask("GET", "").json] == [TERMS["title"]]
    text = (world.place / "dikes" / CREATED).read_text("utf-8")
    assert "id: dikes  # it stays\n" in text
    fewer = {"title": "Dikes", "subject": ["floods"]}
    assert world.ask("PUT", "/dikes/description", fewer).status == 200
    assert "rights" not in (world.place / "dikes" / CREATED).read_text("utf-8")
    (first, *_) = world.ask("GET", "/dikes/steering").json["acts"]
    assert (first["act"], first["by"]) == ("describe", "local")


@pytest.mark.parametrize(
    ("wrong", "status"),
    [
        ({"title": ""}, 400),
        ({"title": "x" * 1001}, 400),
        ({"title": "x", "language": ["German"]}, 422),
        ({"title": "x", "creator": "one"}, 400),
        ({"title": "x", "author": ["one"]}, 400),
    ],
)
def test_a_description_with_mistakes_changes_nothing(world: World, wrong: Mapping[str, Any], status: int) -> None:
    before = (world.place / "dikes" / CREATED).read_bytes()
    assert world.ask("PUT", "/dikes/description", wrong).status == status
    assert (world.place / "dikes" / CREATED).read_bytes() == before


# Copied


def test_a_copy_has_the_definition_under_another_title_and_nothing_else(world: World) -> None:
    (world.place / "dikes" / "crawl.log").write_text("what was done\n", "utf-8")
    made = world.ask("POST", "/dikes/copy", {"title": "The dikes, again"})
    assert (made.status, made.json["id"], made.json["started"]) == (201, "the-dikes-again", None)
    assert made.json["id"] != world.ask("POST", "/dikes/copy", {"title": "The dikes, again"}).json["id"]
    copied = world.place / "the-dikes-again"
    assert {path.name for path in copied.iterdir()} == {CREATED, "steering.jsonl"}
    text = (copied / CREATED).read_text("utf-8")
    assert 'title: "The dikes, again"' in text or "title: The dikes, again" in text
    assert "keywords: [flood]" in text
    assert str(copied) in text


# Deleted


def test_a_crawl_is_deleted_once_its_id_is_said_again(world: World) -> None:
    refused = world.ask("DELETE", "/dikes?confirm=dike")
    assert (refused.status, (world.place / "dikes" / CREATED).exists()) == (409, True)
    lost = held(world.place / "dikes")
    gone = world.ask("DELETE", "/dikes?confirm=dikes")
    assert (gone.status, gone.json["held"]["files"] >= lost.files) == (200, True)
    assert world.ask("GET", "").json == []
    until(lambda: {path.name for path in world.place.iterdir()} == {SERVICE_LOG})
    entries = [json.loads(line) for line in (world.place / SERVICE_LOG).read_text("utf-8").splitlines()]
    (done,) = [each for each in entries if each["act"] == "DELETE" and each["outcome"] == "done"]
    assert done["did"] == ["delete dikes"]
    assert world.ask("POST", "", {"definition": DEFINITION}).status == 201, "its name is free again"


def test_a_crawl_whose_folder_is_in_use_is_not_deleted(world: World) -> None:
    with FileLock(world.place / "dikes" / LOCK):
        refused = world.ask("DELETE", "/dikes?confirm=dikes")
    assert refused.status == 409
    assert (world.place / "dikes" / CREATED).exists()


def test_what_a_crash_left_of_a_deletion_is_no_crawl_and_goes_when_a_service_begins(world: World) -> None:
    left = world.place / f"{DELETED}dikes-0a"
    (world.place / "dikes").rename(left)
    assert world.ask("GET", "").json == []
    go_on_deleting(Catalog([world.place]).deleted())
    until(lambda: not left.exists())


def test_links_are_not_followed_when_a_crawl_is_deleted(world: World, tmp_path: Path) -> None:
    (tmp_path / "kept").write_text("kept", "utf-8")
    (world.place / "dikes" / "away").symlink_to(tmp_path, target_is_directory=True)
    assert world.ask("DELETE", "/dikes?confirm=dikes").status == 200
    until(lambda: not list(world.place.glob(f"{DELETED}*")))
    assert (tmp_path / "kept").exists()


# Handed out


def test_the_archive_is_handed_out_as_it_lies_on_the_disk(archived: Crawl) -> None:
    files = warc_files(archived)
    whole = warc_tar(archived)
    content = b"".join(whole.pieces)
    assert len(content) == whole.size
    with tarfile.open(fileobj=io.BytesIO(content)) as tar:
        found = {info.name: tar.extractfile(info) for info in tar}
        read = {name: file.read() for name, file in found.items() if file is not None}
    assert read == {f"{archived.id}/{each.path.name}": each.path.read_bytes() for each in files}
    assert files
    one = warc_file(archived, files[0].path.name)
    assert b"".join(one.pieces) == files[0].path.read_bytes()


def test_a_file_that_a_crawl_writes_is_not_handed_out(archived: Crawl) -> None:
    assert archived.folder is not None
    being_written = archived.folder / ARCHIVE / "x-20260101000000-00009.warc.gz.open"
    being_written.write_bytes(b"")
    try:
        assert being_written not in [each.path for each in warc_files(archived)]
        for name in (being_written.name, "../crawl.log", "..", ""):
            with pytest.raises(ProblemError):
                warc_file(archived, name)
    finally:
        being_written.unlink()


def test_nothing_is_handed_out_while_pages_are_taken_out(archived: Crawl) -> None:
    assert archived.folder is not None
    begun = warc_tar(archived)
    (archived.folder / REMOVING).write_text('{"captures": []}', "utf-8")
    try:
        with pytest.raises(ProblemError, match="taken out"):
            warc_tar(archived)
        with pytest.raises(CutShortError):
            list(begun.pieces)
    finally:
        (archived.folder / REMOVING).unlink()


def test_tables_have_every_page_and_object_and_no_formula(archived: Crawl) -> None:
    indexes = PageIndexes()
    try:
        pages, objects = (
            list(csv.DictReader(io.StringIO(b"".join(table(indexes, archived)).decode(), newline="")))
            for table in (page_table, object_table)
        )
        with indexes.asked(archived) as asked:
            counted = [
                asked.base.execute(f"SELECT count(*) FROM {name}").fetchone()[0]  # noqa: S608 (these two names)
                for name in ("capture WHERE NOT is_requisite", "object")
            ]
    finally:
        indexes.close()
    assert [len(pages), len(objects)] == counted
    assert len({row["record"] for row in pages}) == len(pages) > 0
    assert not [value for row in (*pages, *objects) for value in row.values() if value.startswith(("=", "+", "@"))]


def test_no_text_of_a_page_is_a_formula_of_a_table(tmp_path: Path) -> None:
    begun(tmp_path / "crawl", id="sums")
    (crawl,) = Catalog([tmp_path]).crawls()
    made = replace(POST, properties={"title": ("=1+1",), "body": ('+ a,\r\n"b"',)})
    with ObjectWriter(tmp_path / "crawl" / OBJECTS, "sums", lambda: FETCHED) as writer:
        writer.write(CAPTURE, (made,))
    indexes = PageIndexes()
    try:
        (row,) = csv.DictReader(io.StringIO(b"".join(object_table(indexes, crawl)).decode(), newline=""))
    finally:
        indexes.close()
    assert (row["title"], row["excerpt"][:3]) == ("'=1+1", "'+ ")
