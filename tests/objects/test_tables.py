"""Reading a crawl back as tables."""

import csv
import gzip
import io
import json
from contextlib import ExitStack
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given, strategies

from aahcrawler.objects import vocabulary as v
from aahcrawler.objects.capture_statements import ObjectRow, PageRow
from aahcrawler.objects.reader import ObjectChanges, ReadError, object_changes, object_rows, page_rows
from aahcrawler.objects.versions import Changes
from aahcrawler.objects.writer import CaptureDescription, ObjectWriter, statements
from aahcrawler.webobject import WebObject
from offline.tables import write_csv, write_jsonl, write_nq
from tests.objects.samples import CAPTURE, FETCHED, GRAPH, PAGE, POST, REPLY


def capture(number: int, **changes: object) -> CaptureDescription:
    iri = f"urn:uuid:00000000-0000-4000-8000-{number:012d}"
    return replace(CAPTURE, iri=iri, fetched_at=FETCHED + timedelta(seconds=number), **changes)  # type: ignore[arg-type]


def titled(web_object: WebObject, title: str) -> WebObject:
    return replace(web_object, properties={**web_object.properties, "title": (title,)})


def crawl_of(folder: Path, *captures: tuple[CaptureDescription, tuple[WebObject, ...]], size: int = 1 << 30) -> Path:
    with ObjectWriter(folder / "objects", "c", lambda: FETCHED, size=size) as writer:
        for description, objects in captures:
            writer.write(description, objects)
    return folder


def test_rows_of_a_page(tmp_path: Path) -> None:
    crawl = crawl_of(tmp_path, (CAPTURE, (POST, REPLY)))
    assert list(object_rows(crawl)) == [
        ObjectRow(
            url=f"{PAGE}&p=1",
            type="post",
            title="Which “bike”?",
            author="Jane Doe",
            date="2020-05-06T07:08:09Z",
            body='I say "none".\nYou?',
            part_of=PAGE,
            iri=f"{PAGE}#p1",
        ),
        ObjectRow(PAGE, "reply", None, "Bob B", None, "Two.", f"{PAGE}#p1", f"{PAGE}#p2"),
    ]
    assert list(page_rows(crawl)) == [
        PageRow(
            url=PAGE,
            status=200,
            application="phpBB",
            level="terminal",
            score=0.25,
            fetched_at="2026-01-02T03:04:05.600000Z",
            relevant=True,
            level_name="thread",
            media_type="text/html",
            priority=1.5,
            depth=2,
            via="http://forum.test/",
            capture=GRAPH,
            title='Which “bike”? – A "forum"',
        )
    ]


def test_page_of_no_known_application(tmp_path: Path) -> None:
    crawl = crawl_of(tmp_path, (CaptureDescription(GRAPH, PAGE, 404, FETCHED), ()))
    (row,) = page_rows(crawl)
    assert (row.status, row.application, row.level, row.score, row.relevant, row.via) == (
        404,
        None,
        None,
        None,
        None,
        None,
    )
    assert list(object_rows(crawl)) == []


@pytest.mark.parametrize("size", [1 << 30, 1])
def test_newest_capture_of_an_object_wins(tmp_path: Path, size: int) -> None:
    crawl = crawl_of(
        tmp_path,
        (capture(1), (titled(POST, "old"), titled(REPLY, "only here"))),
        (capture(3), (titled(POST, "new"),)),
        (capture(2), (titled(POST, "between"),)),
        size=size,
    )
    assert [row.title for row in object_rows(crawl)] == ["only here", "new"]
    assert [row.capture[-1] for row in page_rows(crawl)] == ["1", "2", "3"]


def test_of_two_captures_at_the_same_time_the_later_one_wins(tmp_path: Path) -> None:
    crawl = crawl_of(
        tmp_path,
        (replace(CAPTURE, iri="urn:uuid:1"), (titled(POST, "first"),)),
        (replace(CAPTURE, iri="urn:uuid:2"), (titled(POST, "second"),)),
    )
    assert [row.title for row in object_rows(crawl)] == ["second"]


def test_object_met_twice_in_one_capture_is_one_row(tmp_path: Path) -> None:
    crawl = crawl_of(tmp_path, (CAPTURE, (titled(POST, "first"), titled(POST, "second"))))
    assert [row.title for row in object_rows(crawl)] == ["first"]


def test_times_are_compared_as_times(tmp_path: Path) -> None:
    whole = FETCHED.replace(microsecond=0)
    crawl = crawl_of(
        tmp_path,
        (replace(CAPTURE, iri="urn:uuid:2", fetched_at=whole + timedelta(milliseconds=5)), (titled(POST, "later"),)),
        (replace(CAPTURE, iri="urn:uuid:1", fetched_at=whole), (titled(POST, "earlier"),)),
    )
    assert [row.title for row in object_rows(crawl)] == ["later"]


def test_running_crawl_is_read_up_to_its_last_whole_capture(tmp_path: Path) -> None:
    crawl = crawl_of(tmp_path, (capture(1), (POST,)), (capture(2), (REPLY,)))
    (path,) = (crawl / "objects").iterdir()
    whole = path.read_bytes()
    path.with_name(path.name + ".open").write_bytes(whole[:-1])
    path.unlink()
    assert [row.iri for row in object_rows(crawl)] == [POST.iri]
    assert [row.capture[-1] for row in page_rows(crawl)] == ["1"]


def test_statement_that_only_looks_like_provenance(tmp_path: Path) -> None:
    trick = f"<{GRAPH}> <http://www.w3.org/ns/prov#wasDerivedFrom> <{GRAPH}> <{GRAPH}> .\n"
    crawl = crawl_of(tmp_path, (CAPTURE, (replace(POST, properties={"body": (trick,)}),)))
    (row,) = object_rows(crawl)
    assert (row.iri, row.body) == (POST.iri, trick)


WRITTEN = strategies.tuples(strategies.integers(0, 3), strategies.integers(0, 40))
"""Who writes a capture, and the second it was made at."""


@given(written=strategies.lists(WRITTEN, max_size=30), size=strategies.sampled_from([1, 2_000, 1 << 30]), left=...)
def test_pages_come_in_the_order_of_time_whoever_wrote_them(
    tmp_path_factory: pytest.TempPathFactory, written: list[tuple[int, int]], size: int, left: bool
) -> None:
    folder = tmp_path_factory.mktemp("crawl") / "objects"
    with ExitStack() as opened:
        writers = [
            opened.enter_context(ObjectWriter(folder, f"writer{number}", lambda: FETCHED, size=size))
            for number in range(4)
        ]
        for number, (writer, second) in enumerate(written):
            made = replace(capture(number), fetched_at=FETCHED + timedelta(seconds=second))
            writers[writer].write(made, (POST,))
        if left:  # As a crawl that is running leaves them.
            found = list(page_rows(folder.parent))
    if not left:
        found = list(page_rows(folder.parent))
    times = [row.fetched_at for row in found]
    assert times == sorted(times)
    assert len({row.capture for row in found}) == len(found) == len(written)


@pytest.mark.slow
def test_many_captures_keep_their_order(tmp_path: Path) -> None:
    posts = [replace(POST, iri=f"urn:post:{n}", properties={"title": (str(n),)}) for n in range(12_000)]
    pages = ((capture(n), tuple(posts[n * 100 : n * 100 + 100])) for n in range(120))
    crawl = crawl_of(tmp_path, *pages, size=20_000)
    assert len(list((crawl / "objects").iterdir())) > 3
    assert [row.title for row in object_rows(crawl)] == [str(n) for n in range(12_000)]
    assert [row.capture for row in page_rows(crawl)] == [capture(n).iri for n in range(120)]


def recaptured(number: int, crawl: int, former: int | None = None, **said: object) -> CaptureDescription:
    """Describe a capture of one of several crawls; odd ones are of another page than even ones."""
    graph = None if former is None else capture(former).iri
    page = {"url": f"{PAGE}&start={number % 2}", "crawl": v.crawl("floods", crawl), "revision_of": graph}
    return capture(number, **{**page, **said})


def test_pages_of_one_of_several_crawls(tmp_path: Path) -> None:
    crawl = crawl_of(
        tmp_path,
        (capture(1), (POST,)),
        (recaptured(2, 1), (POST,)),
        (recaptured(3, 2, unchanged=capture(1).iri, status=304), ()),
        (recaptured(4, 2, 2), ()),
    )
    assert [(row.capture[-1], row.crawl, row.unchanged) for row in page_rows(crawl)] == [
        ("1", 1, None),
        ("2", 1, None),
        ("3", 2, capture(1).iri),
        ("4", 2, None),
    ]
    assert [row.capture[-1] for row in page_rows(crawl, 2)] == ["3", "4"]
    assert all(row.is_page for row in page_rows(crawl))
    with pytest.raises(ReadError, match=r"no pages of crawl 3\. Its newest crawl is number 2"):
        list(page_rows(crawl, 3))


def deletions(folder: Path, *captures: tuple[CaptureDescription, tuple[WebObject, ...]]) -> dict[str, str | None]:
    return {row.iri[-1]: row.deleted and row.deleted[17:19] for row in object_rows(crawl_of(folder, *captures))}


GONE = Changes(deleted=(REPLY.iri,))


def test_deleted_object_is_listed_with_the_moment_it_was_found_gone(tmp_path: Path) -> None:
    assert deletions(
        tmp_path,
        (recaptured(2, 1), (POST, REPLY)),
        (recaptured(4, 2, 2, changes=GONE), (POST,)),
        (recaptured(6, 3, unchanged=recaptured(4, 2).iri), ()),
    ) == {"2": "09", "1": None}


def test_object_that_is_on_another_page_now_is_not_deleted(tmp_path: Path) -> None:
    moved = Changes(added=(REPLY.iri,))
    before = ((recaptured(2, 1), (POST, REPLY)), (recaptured(1, 1), ()))
    gone = (recaptured(4, 2, 2, changes=GONE), (POST,))
    earlier = (recaptured(3, 2, 1, changes=moved), (REPLY,))
    later = (recaptured(5, 2, 1, changes=moved), (REPLY,))
    assert deletions(tmp_path / "earlier", *before, earlier, gone) == {"1": None, "2": None}
    assert deletions(tmp_path / "later", *before, gone, later) == {"1": None, "2": None}


def test_object_on_another_page_that_did_not_change_is_not_deleted(tmp_path: Path) -> None:
    crawls = (
        (recaptured(1, 1), (REPLY,)),
        (recaptured(2, 1), (POST, REPLY)),
        (recaptured(4, 2, 2, changes=GONE), (POST,)),
    )
    assert deletions(tmp_path / "gone", *crawls) == {"1": None, "2": "09"}
    still = recaptured(5, 2, unchanged=recaptured(1, 1).iri, status=304)
    assert deletions(tmp_path / "still", *crawls, (still, ())) == {"1": None, "2": None}


def test_object_of_an_unchanged_page_that_was_understood_anew_is_not_deleted(tmp_path: Path) -> None:
    first = recaptured(1, 1)
    crawls = (
        (first, ()),
        (recaptured(2, 1), (POST, REPLY)),
        (recaptured(3, 2, unchanged=first.iri, status=304), (REPLY,)),
        (recaptured(4, 3, 2, changes=GONE), (POST,)),
    )
    assert deletions(tmp_path / "gone", *crawls) == {"1": None, "2": "09"}
    assert deletions(tmp_path / "still", *crawls, (recaptured(5, 3, unchanged=first.iri, status=304), ())) == {
        "1": None,
        "2": None,
    }


def test_object_that_came_back_is_not_deleted_until_it_is_gone_again(tmp_path: Path) -> None:
    crawls = (
        (recaptured(2, 1), (POST, REPLY)),
        (recaptured(4, 2, 2, changes=GONE), (POST,)),
        (recaptured(6, 3, 4, changes=Changes(added=(REPLY.iri,))), (POST, REPLY)),
    )
    assert deletions(tmp_path / "back", *crawls) == {"1": None, "2": None}
    again = recaptured(8, 4, 6, changes=GONE)
    assert deletions(tmp_path / "again", *crawls, (again, (POST,))) == {"1": None, "2": "13"}


def test_what_a_crawl_changed_in_the_objects(tmp_path: Path) -> None:
    third = replace(POST, iri=f"{PAGE}#p3")
    crawl = crawl_of(
        tmp_path,
        (recaptured(2, 1), (POST, REPLY)),
        (recaptured(4, 2, 2, changes=Changes(edited=(POST.iri,), deleted=(REPLY.iri,))), (POST,)),
        (recaptured(5, 2), (third, POST)),
        (recaptured(7, 3, unchanged=recaptured(5, 2).iri), ()),
    )
    assert object_changes(crawl, 1) == ObjectChanges(2, 0, 0)
    assert object_changes(crawl, 2) == ObjectChanges(1, 1, 1)
    assert object_changes(crawl, 3) == ObjectChanges(0, 0, 0)


def test_what_a_better_reader_finds_on_a_former_page_was_there_then(tmp_path: Path) -> None:
    third = replace(POST, iri=f"{PAGE}#p3")
    crawl = crawl_of(
        tmp_path,
        (recaptured(2, 1), ()),
        (recaptured(3, 1), ()),
        (recaptured(4, 2, 2, changes=Changes(added=(third.iri,))), (POST, third)),
        (recaptured(5, 2, 3, unchanged=capture(3).iri), (REPLY,)),
    )
    assert object_changes(crawl, 2) == ObjectChanges(1, 0, 0)


def test_an_object_that_moved_to_another_page_is_neither_added_nor_deleted(tmp_path: Path) -> None:
    crawl = crawl_of(
        tmp_path,
        (recaptured(2, 1), (POST, REPLY)),
        (recaptured(4, 2, 2, changes=GONE), (POST,)),
        (recaptured(5, 2, 1, changes=Changes(added=(REPLY.iri,))), (REPLY,)),
    )
    assert object_changes(crawl, 2) == ObjectChanges(0, 0, 0)


def test_deletion_of_captures_that_name_no_crawl(tmp_path: Path) -> None:
    gone = replace(capture(4), revision_of=capture(2).iri, changes=GONE)
    assert deletions(tmp_path, (capture(2), (POST, REPLY)), (gone, (POST,))) == {"1": None, "2": "09"}


def test_versions_are_no_objects(tmp_path: Path) -> None:
    edited = recaptured(4, 2, 2, changes=Changes(edited=(POST.iri,)))
    crawl = crawl_of(tmp_path, (recaptured(2, 1), (POST,)), (edited, (titled(POST, "new"),)))
    assert [(row.iri, row.title) for row in object_rows(crawl)] == [(POST.iri, "new")]


def test_json_lines(tmp_path: Path) -> None:
    odd = 'a\u2028b\u0085c\\\u2029\n"d" é'
    crawl = crawl_of(tmp_path, (CAPTURE, (titled(POST, odd), REPLY)))
    out = io.StringIO()
    write_jsonl(object_rows(crawl), out)
    lines = out.getvalue().splitlines()
    rows = [json.loads(line) for line in lines]
    assert list(rows[0]) == ["url", "type", "title", "author", "date", "body", "part_of", "iri", "deleted", "inferred"]
    assert rows[0]["title"] == odd
    assert rows[1]["title"] is None
    assert "é" in lines[0]
    out = io.StringIO()
    write_jsonl(page_rows(crawl), out)
    (page,) = map(json.loads, out.getvalue().splitlines())
    assert list(page)[:6] == ["url", "status", "application", "level", "score", "fetched_at"]
    assert (page["status"], page["level"], page["score"]) == (200, "terminal", 0.25)


class Terminal(io.StringIO):
    """A terminal that keeps what is written to it."""

    def isatty(self) -> bool:
        return True


OBEYED = "a\x1b[31m\x9bb\u202ec\x7f"


def test_a_terminal_obeys_no_title(tmp_path: Path) -> None:
    crawl = crawl_of(tmp_path, (CAPTURE, (titled(POST, OBEYED),)))
    shown = [Terminal() for _ in range(2)]
    write_jsonl(object_rows(crawl), shown[0])
    write_csv(object_rows(crawl), shown[1])
    for each in shown:
        assert "\\u001b[31m\\u009bb\\u202ec\\u007f" in each.getvalue()
        assert not set(OBEYED) - set("abc[31m") & set(each.getvalue())
    assert json.loads(shown[0].getvalue())["title"] == OBEYED


def test_a_table_in_a_file_is_faithful(tmp_path: Path) -> None:
    out = io.StringIO(newline="")
    write_csv(object_rows(crawl_of(tmp_path, (CAPTURE, (titled(POST, OBEYED),)))), out)
    assert OBEYED in out.getvalue()


@pytest.mark.parametrize("formula", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1"])
def test_csv_is_safe_in_spreadsheets(tmp_path: Path, formula: str) -> None:
    crawl = crawl_of(tmp_path, (replace(CAPTURE, score=-0.5), (titled(POST, formula), titled(REPLY, 'a "b", c\nd'))))
    out = io.StringIO()
    write_csv(object_rows(crawl), out)
    rows = list(csv.DictReader(io.StringIO(out.getvalue(), newline="")))
    assert [row["title"] for row in rows] == ["'" + formula, 'a "b", c\nd']
    assert rows[1]["date"] == ""
    out = io.StringIO()
    write_csv(page_rows(crawl), out)
    (page,) = csv.DictReader(io.StringIO(out.getvalue(), newline=""))
    assert page["score"] == "-0.5"


def test_nquads_are_those_of_the_segments(tmp_path: Path) -> None:
    crawl = crawl_of(tmp_path, (capture(1), (POST,)), (capture(2), (titled(REPLY, "\u2028\x0b"),)), size=1)
    out = io.StringIO()
    write_nq(crawl, out)
    expected = statements(capture(1), (POST,)) + statements(capture(2), (titled(REPLY, "\u2028\x0b"),))
    assert out.getvalue() == expected.decode()


def test_folder_that_is_no_crawl(tmp_path: Path) -> None:
    with pytest.raises(ReadError, match="is not a folder"):
        list(object_rows(tmp_path / "absent"))
    with pytest.raises(ReadError, match="holds no crawl"):
        list(page_rows(tmp_path))


def test_crawl_without_a_page_yet(tmp_path: Path) -> None:
    (tmp_path / "objects").mkdir()
    assert not [*object_rows(tmp_path), *page_rows(tmp_path)]


@pytest.mark.parametrize("damage", ["cut", "not gzip", "not N-Quads", "not UTF-8"])
def test_damaged_segments_are_named(tmp_path: Path, damage: str) -> None:
    crawl = crawl_of(tmp_path, (CAPTURE, (POST,)))
    (path,) = (crawl / "objects").iterdir()
    content = path.read_bytes()
    graph = GRAPH.encode()
    broken = {
        "cut": content[:-20],
        "not gzip": b"<html>" + content,
        "not N-Quads": gzip.compress(b"<%s> nonsense <%s> .\n" % (graph, graph)),
        "not UTF-8": gzip.compress(b'<%s> <urn:p> "\xff" <%s> .\n' % (graph, graph)),
    }
    path.write_bytes(broken[damage])
    for reading in (object_rows, page_rows):
        with pytest.raises(ReadError, match=path.name):
            list(reading(crawl))
