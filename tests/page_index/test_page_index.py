"""The index of pages says what the segments say, whatever happens to either."""

import gzip
import shutil
import sqlite3
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from aahcrawler.derived_index import Standing, coverage
from aahcrawler.layout import INDEXES, NQUADS, OBJECTS, PAGES, SCORES
from aahcrawler.objects.capture_statements import ObjectRow, PageRow, read_statements
from aahcrawler.objects.counts import object_counts
from aahcrawler.objects.reader import object_rows, page_rows
from aahcrawler.objects.versions import Changes
from aahcrawler.objects.vocabulary import SOFT_404
from aahcrawler.objects.vocabulary import crawl as crawl_iri
from aahcrawler.objects.writer import CaptureDescription, Method, ObjectWriter, Reading
from aahcrawler.page_index import EXCERPT, MAX_POINTS, Course, PageIndex, captures_in, member_at, url_key
from aahcrawler.segments import OPEN, Members
from aahcrawler.webobject import Person, Value, WebObject
from benchmarks.cockpit_crawl import write_crawl
from benchmarks.cockpit_pages import Shape

AT = datetime(2026, 3, 1, 12, tzinfo=UTC)
HOSTILE = 'He said "no" \\u0041 \\n\n\r\t<b>&amp;</b> \u2028\x85\x0b \u202e😀 \\'


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with two crawls, the second of which met most pages again."""
    folder = tmp_path_factory.mktemp("made")
    for number in (1, 2):
        write_crawl(folder, Shape(100, 60, crawl=number))
    return folder


@pytest.fixture
def crawl(made: Path, tmp_path: Path) -> Path:
    """Return a copy of it."""
    return shutil.copytree(made, tmp_path / "crawl")


@contextmanager
def indexed(crawl: Path, step: int = 1000) -> Iterator[sqlite3.Connection]:
    """Bring the index of a folder up to date, and lend it."""
    with PageIndex(crawl) as index:
        index.at_once = step  # type: ignore[misc]
        index.catch_up()
        with index.asked() as base:
            yield base


def kept(base: sqlite3.Connection) -> list[ObjectRow]:
    """Return the objects of an index."""
    names = "url, type, title, author, date, excerpt, part_of, iri, deleted, inferred"
    return sorted((ObjectRow(*row) for row in base.execute(f"SELECT {names} FROM object")), key=lambda o: o.iri)  # noqa: S608


def stated(crawl: Path) -> list[ObjectRow]:
    """Return the objects of a folder, their bodies cut as the index cuts them."""
    rows = (
        ObjectRow(**{name: getattr(row, name) for name in row.__slots__} | {"body": row.body and row.body[:EXCERPT]})
        for row in object_rows(crawl)
    )
    return sorted(rows, key=lambda o: o.iri)


def tallied(base: sqlite3.Connection, topic: str) -> dict[str, int]:
    found = base.execute("SELECT name, sum(n) FROM tally WHERE topic = ? GROUP BY name HAVING sum(n)", (topic,))
    return dict(found.fetchall())


def counted_pages(pages: Iterable[PageRow]) -> Collection[PageRow]:
    """Return the last capture of each page in each crawl."""
    in_time = sorted((page for page in pages if page.is_page), key=lambda page: (page.fetched_at, page.capture))
    return {(page.crawl, page.url): page for page in in_time}.values()


def pages_of(base: sqlite3.Connection) -> dict[int, int]:
    return dict(base.execute("SELECT crawl, n FROM tally WHERE topic = 'pages' AND n").fetchall())


def assert_as_stated(base: sqlite3.Connection, crawl: Path) -> None:
    """Assert that the index holds what the segments state."""
    pages = list(page_rows(crawl))
    rows = base.execute(
        "SELECT record, url, status, application, level, role, score, relevant, unchanged, trap, crawl, is_page, depth,"
        " via FROM capture WHERE NOT is_requisite"
    )
    assert sorted(map(tuple, rows)) == sorted(
        (
            *(p.capture, p.url, p.status, p.application, p.level_name, p.level, p.score, p.relevant, p.unchanged),
            *(p.trap, p.crawl, p.is_page, p.depth, p.via),
        )
        for p in pages
    )
    assert kept(base) == stated(crawl)
    counts = object_counts(crawl)
    assert tallied(base, "type") == counts.types
    for field in ("title", "author", "date"):
        assert tallied(base, field) == {name: n for (name, what), n in counts.complete.items() if what == field}
    assert sum(tallied(base, "captures").values()) == len(pages)
    counted = counted_pages(pages)
    assert sum(tallied(base, "pages").values()) == len(counted)
    assert sum(tallied(base, "relevant").values()) == sum(bool(p.relevant) for p in counted)
    words = base.execute("SELECT count(*) FROM words").fetchone()[0]
    assert words == len(kept(base))


@pytest.mark.slow
@pytest.mark.parametrize("step", [7, 1000])
def test_the_index_holds_what_the_segments_of_several_crawls_state(crawl: Path, step: int) -> None:
    with indexed(crawl, step) as base:
        assert_as_stated(base, crawl)
        assert coverage(base).is_complete
        assert PageIndex(crawl).standing(base) is Standing.SOUND
        for number in (1, 2):
            course = Course.of(base, number)
            pages = counted_pages(page_rows(crawl, number))
            assert sum(point.pages for point in course.points) == len(pages)
            assert sum(point.relevant for point in course.points) == sum(bool(page.relevant) for page in pages)


@pytest.mark.slow
def test_what_a_page_was_judged_is_found_by_its_url(crawl: Path) -> None:
    with indexed(crawl) as base:
        (url,) = base.execute("SELECT url FROM capture WHERE status = 200 LIMIT 1").fetchone()
        found = base.execute(
            "SELECT name, place FROM judged JOIN segment ON segment.id = segment WHERE url = ?", (url_key(url),)
        ).fetchall()
        assert found
        assert all(f'"url":"{url}"'.encode() in member_at(crawl, *row) for row in found)
        assert {row[0].partition("/")[0] for row in found} == {SCORES}


def test_a_crawl_that_runs_is_followed_capture_by_capture(tmp_path: Path) -> None:
    with ObjectWriter(tmp_path / OBJECTS, "test", lambda: AT) as writer, PageIndex(tmp_path) as index:
        for number in range(5):
            writer.write(capture(number), [post(number, body=f"Version {number}")])
            assert not index.step()
            with index.asked() as base:
                assert tallied(base, "captures") == {"": number + 1}
    with indexed(tmp_path) as base:  # The segment has its final name by now.
        assert_as_stated(base, tmp_path)


def test_of_a_torn_segment_the_whole_members_are_taken_in_and_the_rest_once_it_is_whole(tmp_path: Path) -> None:
    with ObjectWriter(tmp_path / OBJECTS, "test", lambda: AT) as writer:
        for number in range(3):
            writer.write(capture(number), [post(number)])
    (path,) = (tmp_path / OBJECTS).iterdir()
    whole = path.read_bytes()
    torn = path.with_name(path.name + OPEN)
    path.rename(torn)
    torn.write_bytes(whole[:-20])
    with indexed(tmp_path) as base:
        assert tallied(base, "captures") == {"": 2}
        assert coverage(base).damaged == ()
        assert coverage(base).is_complete
    with torn.open("ab") as file:
        file.write(whole[-20:])
    torn.rename(path)
    with indexed(tmp_path) as base:
        assert_as_stated(base, tmp_path)


def test_a_damaged_segment_is_named_and_the_others_are_read(tmp_path: Path) -> None:
    for name in ("a", "b"):
        with ObjectWriter(tmp_path / OBJECTS, name, lambda: AT) as writer:
            writer.write(capture(ord(name)), [post(ord(name))])
            writer.write(capture(1000 + ord(name)))
    first = min((tmp_path / OBJECTS).iterdir())
    content = first.read_bytes()
    begin = second_member(first)
    first.write_bytes(content[: begin + 12] + b"\xff\xff\xff\xff" + content[begin + 16 :])
    with indexed(tmp_path) as base:
        found = coverage(base)
        assert captures_in(base) == 3
        assert len(found.damaged) == 1
        assert first.name in found.damaged[0]


def second_member(path: Path) -> int:
    with path.open("rb") as file:
        members = Members(file)
        members.member()
        return members.end


def test_a_statement_without_sense_costs_its_capture_alone(tmp_path: Path) -> None:
    with ObjectWriter(tmp_path / OBJECTS, "test", lambda: AT) as writer:
        for number in range(3):
            writer.write(capture(number))
    (path,) = (tmp_path / OBJECTS).iterdir()
    members = [gzip.compress(text) for text in texts(path)]
    members[1] = gzip.compress(gzip.decompress(members[1]).replace(b'"200"', b'"many"'))
    path.write_bytes(b"".join(members))
    with indexed(tmp_path) as base:
        assert captures_in(base) == 2
        assert "many" in coverage(base).damaged[0]


def texts(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        members = Members(file)
        while text := members.member():
            yield text


@pytest.mark.slow
def test_what_was_taken_out_of_the_segments_is_forgotten(crawl: Path) -> None:
    with indexed(crawl) as base:
        record, url = base.execute("SELECT record, url FROM capture WHERE objects > 1 AND crawl = 1").fetchone()
    for path in (crawl / OBJECTS).glob(f"*.{NQUADS}"):
        left = [text for text in texts(path) if url.encode() not in text]
        part = path.with_name("part")
        part.write_bytes(b"".join(map(gzip.compress, left)))
        part.replace(path)
    with indexed(crawl) as base:
        assert (
            base.execute("SELECT count(*) FROM capture WHERE record = ? OR url = ?", (record, url)).fetchone()[0] == 0
        )
        assert_as_stated(base, crawl)


@pytest.mark.slow
def test_a_segment_that_is_gone_is_forgotten(crawl: Path) -> None:
    with indexed(crawl):
        pass
    max((crawl / OBJECTS).iterdir()).unlink()
    with indexed(crawl) as base:
        assert_as_stated(base, crawl)


@pytest.mark.slow
@pytest.mark.parametrize("damage", [b"", b"no database at all, but longer than a header of one is" * 10])
def test_a_damaged_index_is_made_anew(crawl: Path, damage: bytes) -> None:
    with indexed(crawl):
        pass
    (crawl / INDEXES / PAGES).write_bytes(damage)
    with indexed(crawl) as base:
        assert_as_stated(base, crawl)


@pytest.mark.slow
def test_an_index_of_another_version_is_made_anew(crawl: Path) -> None:
    with indexed(crawl):
        pass
    with sqlite3.connect(crawl / INDEXES / PAGES) as base:
        base.execute("PRAGMA user_version = 99")
        base.execute("DROP TABLE sighting")
    base.close()
    with indexed(crawl) as base:
        assert_as_stated(base, crawl)


@pytest.mark.slow
def test_where_nothing_can_be_written_the_index_is_elsewhere(crawl: Path) -> None:
    shutil.rmtree(crawl / INDEXES)
    (crawl / INDEXES).write_text("A file where the folder would be.")
    with PageIndex(crawl) as index:
        index.catch_up()
        with index.asked() as base:
            assert_as_stated(base, crawl)
        assert index.is_temporary
        place = index.path
        assert place is not None
        assert place.exists()
    assert not place.exists()


def test_a_later_reading_takes_the_place_of_the_first(tmp_path: Path) -> None:
    with ObjectWriter(tmp_path / OBJECTS, "test", lambda: AT) as writer:
        writer.write(capture(1), [post(1, body="the first words"), post(2, title="Only at first")])
        writer.write(capture(2), [post(1, body="the newest words", on=2)])
        with indexed(tmp_path) as base:
            assert_as_stated(base, tmp_path)
        writer.write(reread(capture(2), 1), [post(3, on=2)])
        writer.write(reread(capture(1), 2), [post(1, body="read again"), post(4, author="Ann")])
        with indexed(tmp_path) as base:
            assert_as_stated(base, tmp_path)
            assert [o.iri.rpartition("#")[2] for o in kept(base)] == ["p1", "p3", "p4"]
    (tmp_path / INDEXES / PAGES).unlink()
    with indexed(tmp_path) as base:
        assert_as_stated(base, tmp_path)


def test_an_object_that_was_found_gone_is_deleted_until_it_is_seen_again(tmp_path: Path) -> None:
    gone = Changes(deleted=(post(1).iri,))
    with ObjectWriter(tmp_path / OBJECTS, "test", lambda: AT) as writer:
        writer.write(capture(1), [post(1), post(2)])
        writer.write(capture(2, url=1, crawl=2, revision_of=capture(1).iri, changes=gone), [post(2)])
        with indexed(tmp_path) as base:
            assert_as_stated(base, tmp_path)
            assert [o.deleted is not None for o in kept(base)] == [True, False]
            assert tallied(base, "deleted") == {"": 1}
        writer.write(capture(3, url=1, crawl=3, unchanged=capture(1).iri))
        with indexed(tmp_path) as base:
            assert_as_stated(base, tmp_path)
            assert [o.deleted for o in kept(base)] == [None, None]
            assert tallied(base, "deleted") == {}


def test_a_page_counts_once_in_a_crawl_that_fetched_it_again_after_a_kill(tmp_path: Path) -> None:
    captures = [capture(1), capture(2), capture(3, url=1), capture(4, url=1, crawl=2), capture(5, url=1)]
    for order in ([0, 1, 2, 3, 4], [4, 3, 2, 1, 0], [2, 4, 0, 3, 1]):
        crawl = tmp_path / "".join(map(str, order))
        with ObjectWriter(crawl / OBJECTS, "test", lambda: AT) as writer:
            for number in order:
                writer.write(captures[number], [post(1)])
            with indexed(crawl) as base:
                assert pages_of(base) == {1: 2, 2: 1}
                assert sum(point.pages for point in Course.of(base, 1).points) == 2
            writer.write(reread(captures[4], 1), [post(1), post(2)])
            writer.write(replace(reread(captures[0], 2), trap=SOFT_404))
            with indexed(crawl) as base:
                assert pages_of(base) == {1: 2, 2: 1}
            writer.write(replace(reread(captures[4], 3), trap=SOFT_404))
            writer.write(replace(reread(captures[2], 3), trap=SOFT_404))
            with indexed(crawl) as base:
                assert pages_of(base) == {1: 1, 2: 1}


def test_hostile_texts_are_kept_as_they_are(tmp_path: Path) -> None:
    hostile = post(1, title=HOSTILE, author=HOSTILE, body=HOSTILE)
    with ObjectWriter(tmp_path / OBJECTS, "test", lambda: AT) as writer:
        writer.write(capture(1), [hostile])
    with indexed(tmp_path) as base:
        assert_as_stated(base, tmp_path)
        (row,) = kept(base)
        assert (row.title, row.body) == (HOSTILE, HOSTILE)


def test_the_course_of_a_crawl_is_told_in_few_points_whatever_the_order_of_pages() -> None:
    course = Course()
    for at in [*range(1000, 3000), *range(1000), *range(3000, 5000)]:
        course.add(at, relevant=at % 2 == 0, score=0.5)
    assert len(course.points) <= MAX_POINTS
    assert [point.last_at for point in course.points] == sorted(point.last_at for point in course.points)
    assert sum(point.pages for point in course.points) == 5000
    assert sum(point.relevant for point in course.points) == 2500
    course.add(17, relevant=False, score=0.5, sign=-1)
    assert sum(point.pages for point in course.points) == 4999
    assert course.begun_at == 0


def test_statements_are_read_as_the_parser_reads_them(made: Path) -> None:
    (path, *_) = sorted((made / OBJECTS).iterdir())
    read = [read_statements(text) for text in texts(path)]
    by_capture = {page.capture: page for page in page_rows(made)}
    assert [each.row for each in read if not each.is_requisite] == [
        by_capture[each.row.capture] for each in read if not each.is_requisite
    ]
    assert any(each.is_requisite for each in read)


def capture(number: int, *, url: int | None = None, crawl: int = 1, **told: object) -> CaptureDescription:
    """Return a capture of a page."""
    return CaptureDescription(
        iri=f"urn:uuid:00000000-0000-4000-8000-{number:012}",
        url=page(number if url is None else url),
        status=200,
        fetched_at=AT + timedelta(minutes=number),
        crawl=crawl_iri("test", crawl),
        score=0.5,
        relevant=True,
        **told,  # type: ignore[arg-type]
    )


def reread(first: CaptureDescription, minutes: int) -> CaptureDescription:
    """Return a later reading of a capture."""
    told = {name: getattr(first, name) for name in first.__slots__}
    later = Reading(Method.REREAD, AT + timedelta(days=1, minutes=minutes), first.iri)
    return CaptureDescription(**told | {"reader": f"r{minutes}", "reading": later})


def page(number: int) -> str:
    return f"http://forum.test/{number}"


def post(number: int, *, on: int = 1, author: str = "", **told: str) -> WebObject:
    """Return an object."""
    properties: dict[str, tuple[Value, ...]] = {name: (value,) for name, value in told.items()}
    if author:
        properties["author"] = (Person(author),)
    return WebObject(f"http://forum.test/#p{number}", "post", page(on), properties)
