"""Captures that were read several times: each has one reading, the latest, whoever asks."""

import gzip
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pyoxigraph as ox
import pytest

from aahcrawler.captures.crawl_statements import CrawlStatements
from aahcrawler.layout import NQUADS, READINGS
from aahcrawler.objects import vocabulary as v
from aahcrawler.objects.reader import object_rows, page_rows, statements
from aahcrawler.objects.versions import Changes
from aahcrawler.objects.writer import CaptureDescription, Method, ObjectWriter, Reading, Readings, reading
from aahcrawler.segments import OPEN, Members, recover
from offline.store.endpoint import Endpoint
from offline.store.loading import Destination, load
from offline.store.local import LocalStore
from offline.store.queries import ask, objects_of, page_objects
from tests.offline.crawls import BEGUN, THREAD, capture, graph, post, segments_of, writer
from tests.offline.endpoints import endpoint
from tests.offline.shapes import crawl_violations


def again(number: int, minutes: int = 1, *, reader: str = "two", thread: int | None = None) -> CaptureDescription:
    """Describe a capture as it is read another time, so many minutes after all others."""
    first = replace(capture(number, thread), application="Forum")
    later = Reading(Method.REREAD, BEGUN + timedelta(days=1, minutes=minutes), first.iri)
    return replace(first, reader=reader, reading=later)


def text_of(crawl: Path) -> dict[str, str | None]:
    return {row.iri: row.body for row in object_rows(crawl)}


def stored(crawl: Path, store: LocalStore) -> dict[str, list[str]]:
    """Return the texts of each post that a store has, as a query finds them."""
    load(crawl, store)
    found = ask(store.rdf, "SELECT ?post ?text { GRAPH ?capture { ?post schema:text ?text } } ORDER BY ?post ?text")
    told: dict[str, list[str]] = {}
    for one, said in found.rows:  # type: ignore[union-attr]
        told.setdefault(one.value, []).append(said.value)  # type: ignore[union-attr]
    return told


@pytest.fixture
def crawl(tmp_path: Path) -> Path:
    """Return a crawl of three threads; the second is read twice more, the last time without its second post."""
    folder = tmp_path / "crawl"
    with writer(folder) as objects:
        for number in (1, 2, 3):
            objects.write(capture(number), [post(number, 1, "ann", f"first {number}"), post(number, 2, "bob", "more")])
        objects.write(again(2, 1), [post(2, 1, "ann", "second"), post(2, 2, "bob", "more"), post(2, 3, "cy", "false")])
        objects.write(again(2, 2, reader="three"), [post(2, 1, "ann", "third")])
    return folder


def test_tables_show_the_latest_reading_in_the_order_of_capture(crawl: Path) -> None:
    one, two, three = (THREAD.format(number) for number in (1, 2, 3))
    assert text_of(crawl) == {
        f"{one}#p1": "first 1",
        f"{one}#p2": "more",
        f"{two}#p1": "third",
        f"{three}#p1": "first 3",
        f"{three}#p2": "more",
    }
    rows = list(page_rows(crawl))
    assert [row.capture for row in rows] == [graph(1), graph(2), graph(3)]
    assert [(row.application, row.reader, row.method) for row in rows] == [
        (None, None, "first"),
        ("Forum", "three", "reread"),
        (None, None, "first"),
    ]


def test_statements_are_those_of_the_latest_reading_in_the_graph_of_the_capture(crawl: Path) -> None:
    quads = list(ox.parse("".join(statements(crawl)), ox.RdfFormat.N_QUADS))
    assert {quad.graph_name.value for quad in quads} == {graph(1), graph(2), graph(3)}
    said = [quad for quad in quads if quad.graph_name.value == graph(2) and quad.predicate.value == v.BODY]
    assert [quad.object for quad in said] == [ox.Literal("third")]


def test_segments_keep_all_readings_apart(crawl: Path) -> None:
    text = b"".join(gzip.decompress(path.read_bytes()) for path in segments_of(crawl))
    held = ox.Dataset(ox.parse(text, ox.RdfFormat.N_QUADS))
    names = [graph(2), *(reading(graph(2), reader, Method.REREAD) for reader in ("two", "three"))]
    counts = [len(list(held.quads_for_graph_name(ox.NamedNode(name)))) for name in names]
    assert all(counts)
    latest = held.quads_for_subject(ox.NamedNode(names[2]))
    (said,) = [quad for quad in latest if quad.predicate.value == v.REVISION_OF]
    assert said.object == ox.NamedNode(graph(2))


def test_each_reading_fits_the_shapes(crawl: Path) -> None:
    assert crawl_violations(crawl) == []


@pytest.fixture(params=["folder", "endpoint"])
def destination(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Destination, ox.Store]]:
    if request.param == "folder":
        with LocalStore(tmp_path / "kept") as store:
            yield store, store.rdf
        return
    with endpoint() as stub, Endpoint(f"{stub.url}/update", f"{stub.url}/query", lambda _: None) as service:
        yield service, stub.rdf


def bodies(store: ox.Store) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for quad in store.quads_for_pattern(None, ox.NamedNode(v.BODY), None, None):
        found.setdefault(quad.graph_name.value, []).append(quad.object.value)  # type: ignore[union-attr]
    return {name: sorted(values) for name, values in found.items()}


LATEST = {graph(1): ["first 1", "more"], graph(2): ["third"], graph(3): ["first 3", "more"]}


def test_a_store_holds_the_latest_reading_of_each_capture(
    destination: tuple[Destination, ox.Store], crawl: Path
) -> None:
    into, held = destination
    assert load(crawl, into).segments == 2
    assert bodies(held) == LATEST
    assert load(crawl, into).segments == 0


def test_a_reading_that_comes_later_replaces_what_was_loaded(
    destination: tuple[Destination, ox.Store], tmp_path: Path
) -> None:
    into, held = destination
    with writer(tmp_path) as objects:
        objects.write(capture(1), [post(1, 1, "ann", "one"), post(1, 2, "ann", "two")])
        load(tmp_path, into)
        for minutes, found in enumerate((["a", "b"], ["c"], [])):
            objects.write(again(1, minutes), [post(1, place, "ann", body) for place, body in enumerate(found)])
            load(tmp_path, into)
            assert bodies(held) == ({graph(1): found} if found else {})
            assert load(tmp_path, into).segments == 0


def test_what_is_loaded_a_second_time_brings_no_former_reading_back(crawl: Path, tmp_path: Path) -> None:
    with LocalStore(tmp_path / "kept") as store:
        load(crawl, store)
        before = set(store.rdf)
        for quad in list(store.rdf.quads_for_pattern(None, None, None, ox.DefaultGraph())):
            store.rdf.remove(quad)  # as if it had been killed before it was remembered
        load(crawl, store)
        assert set(store.rdf) == before


def test_the_later_reading_counts_whichever_worker_wrote_it(
    destination: tuple[Destination, ox.Store], tmp_path: Path
) -> None:
    into, held = destination
    folder = tmp_path / "objects"
    with (
        ObjectWriter(folder, "a", lambda: BEGUN) as one,
        ObjectWriter(folder, "b", lambda: BEGUN + timedelta(hours=1)) as other,
    ):
        one.write(again(1, 2), [post(1, 1, "ann", "latest")])
        other.write(capture(1), [post(1, 1, "ann", "first")])
        other.write(again(1, 1), [post(1, 1, "ann", "earlier")])
        assert load(tmp_path, into).segments == 3
        assert bodies(held) == {graph(1): ["latest"]}
        assert list(text_of(tmp_path).values()) == ["latest"]
        other.write(again(1, 3), [post(1, 1, "ann", "newer still")])
        load(tmp_path, into)
        assert bodies(held) == {graph(1): ["newer still"]}


def test_pages_are_looked_up_as_they_were_read_last(crawl: Path, tmp_path: Path) -> None:
    with LocalStore(tmp_path / "kept") as store:
        load(crawl, store)
        (known,) = page_objects(store.rdf, THREAD.format(2))
        assert known.values[v.BODY] == ("third",)
        assert len(objects_of(store.rdf, graph(1))) == 2
        assert stored(crawl, store)[f"{THREAD.format(2)}#p1"] == ["third"]


@pytest.mark.slow
@pytest.mark.parametrize("every", [23, pytest.param(1, marks=pytest.mark.soak)])
def test_a_writer_killed_at_any_byte_leaves_whole_readings(crawl: Path, tmp_path: Path, every: int) -> None:
    (first,) = [path for path in segments_of(crawl) if READINGS not in path.name]
    (later,) = [path for path in segments_of(crawl) if READINGS in path.name]
    whole = later.read_bytes()
    with later.open("rb") as file:
        members = Members(file)
        members.member()
        middle = members.end
    texts = {0: "first 2", middle: "second", len(whole): "third"}
    torn = later.with_name(later.name + OPEN)
    later.rename(torn)
    near = {size + more for size in texts for more in (-1, 0, 1) if 0 <= size + more <= len(whole)}
    for size in sorted({*range(0, len(whole) + 1, every), *near}):
        torn.write_bytes(whole[:size])
        kept = max(end for end in texts if end <= size)
        assert text_of(crawl)[f"{THREAD.format(2)}#p1"] == texts[kept]
        assert len(list(page_rows(crawl))) == 3
        if size % 97 == 0 or size in texts:
            with LocalStore(tmp_path / f"kept-{size}") as store:
                assert texts[kept] in stored(crawl, store)[f"{THREAD.format(2)}#p1"]
                assert len(stored(crawl, store)[f"{THREAD.format(2)}#p1"]) == 1
    torn.write_bytes(whole[:-3])
    (mended,) = recover(crawl / "objects", NQUADS)
    assert mended.kept == middle
    assert text_of(crawl)[f"{THREAD.format(2)}#p1"] == "second"
    assert first.exists()


def test_a_reading_whose_first_one_is_lost_is_shown_and_loaded(crawl: Path, tmp_path: Path) -> None:
    (first,) = [path for path in segments_of(crawl) if READINGS not in path.name]
    first.unlink()
    assert list(text_of(crawl).values()) == ["third"]
    assert "".join(statements(crawl)).count(v.OBJECT_TYPE) == 1
    with LocalStore(tmp_path / "kept") as store:
        assert stored(crawl, store) == {f"{THREAD.format(2)}#p1": ["third"]}


def test_deletions_are_those_of_the_latest_readings(tmp_path: Path) -> None:
    page, later = THREAD.format(1), replace(capture(2, thread=1), revision_of=graph(1))
    gone = f"{page}#p2"
    with writer(tmp_path) as objects:
        objects.write(capture(1), [post(1, 1, "ann", "stays"), post(1, 2, "bob", "a quotation taken for a post")])
        objects.write(replace(later, changes=Changes(deleted=(gone,))), [post(1, 1, "ann", "stays")])
        assert [row.iri for row in object_rows(tmp_path) if row.deleted] == [gone]
        objects.write(again(1), [post(1, 1, "ann", "stays")])
        objects.write(
            replace(again(2, thread=1), revision_of=graph(1), changes=Changes()), [post(1, 1, "ann", "stays")]
        )
    assert [(row.iri, row.deleted) for row in object_rows(tmp_path)] == [(f"{page}#p1", None)]


def test_captures_are_told_as_they_were_written(crawl: Path) -> None:
    stated = CrawlStatements(crawl)
    told = [each for number in (1, 2, 3) if (each := stated.reading(graph(number))) is not None]
    stated.forget()
    assert all(each.objects for each in told)
    assert [each.description for each in told] == [capture(1), again(2, 2, reader="three"), capture(3)]


def test_a_crawl_without_later_readings_has_none(tmp_path: Path) -> None:
    with writer(tmp_path) as objects:
        objects.write(capture(1), [post(1, 1, "ann", "one")])
    assert len(Readings(tmp_path / "objects")) == 0
    assert [READINGS in path.name for path in segments_of(tmp_path)] == [False]
