"""Loading segments: the same promises hold for a folder and for an endpoint."""

import gzip
import os
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import cast

import pyoxigraph as ox
import pytest

from aahcrawler.annotations.keep_decisions import KeepAnswer, decide
from aahcrawler.layout import DECISIONS
from aahcrawler.segments import OPEN
from aahcrawler.segments.reader import Members
from aahcrawler.tombstones import Tombstone, write_tombstones
from offline.store.endpoint import LEDGER, Endpoint
from offline.store.loading import Destination, Loaded, LoadError, load
from offline.store.local import LocalStore, StoreError
from offline.store.queries import Table, ready_queries
from tests.forking import forked
from tests.offline.crawls import capture, post, segments_of, write_threads, writer
from tests.offline.endpoints import endpoint
from tests.offline.shapes import violations
from tests.revisits.test_change_log import kept, page

Held = Callable[[], set[ox.Quad]]
Opening = Callable[[], AbstractContextManager[tuple[Destination, Held]]]


@pytest.fixture(params=["folder", "endpoint"])
def opening(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Opening]:
    """Return what opens the same store again and again: as a destination, and as what is in it."""
    if request.param == "folder":

        @contextmanager
        def folder() -> Iterator[tuple[Destination, Held]]:
            with LocalStore(tmp_path / "kept") as store:
                yield store, lambda: set(store.rdf)

        yield folder
        return
    with endpoint() as stub:

        @contextmanager
        def service() -> Iterator[tuple[Destination, Held]]:
            with Endpoint(f"{stub.url}/update", f"{stub.url}/query", _no_sleep) as store:
                yield store, lambda: set(stub.rdf)

        yield service


def _no_sleep(_: float) -> None:
    pass


def in_store(quads: Iterable[ox.Quad]) -> set[ox.Quad]:
    """Return what a store holds, without what it remembers of loading."""
    kept = {ox.DefaultGraph(), ox.NamedNode(LEDGER)}
    return {quad for quad in quads if quad.graph_name not in kept}


def in_segments(crawl: Path) -> set[ox.Quad]:
    """Return what all segments of a crawl say, read in another way."""
    text = b"".join(gzip.decompress(path.read_bytes()) for path in segments_of(crawl))
    return set(ox.parse(text, ox.RdfFormat.N_QUADS))


def test_a_crawl_is_loaded_as_it_was_written(opening: Opening, tmp_path: Path) -> None:
    write_threads(tmp_path, range(200), size=20_000)
    assert len(segments_of(tmp_path)) > 1
    with opening() as (destination, held):
        loaded = load(tmp_path, destination)
        assert loaded == Loaded(len(segments_of(tmp_path)), len(in_segments(tmp_path)))
        assert in_store(held()) == in_segments(tmp_path)


def test_loading_again_changes_nothing(opening: Opening, tmp_path: Path) -> None:
    write_threads(tmp_path, range(5))
    with opening() as (destination, held):
        load(tmp_path, destination)
        before = held()
    with opening() as (destination, held):
        assert load(tmp_path, destination) == Loaded(0, 0)
        assert held() == before


def test_only_what_is_new_of_an_open_segment_is_loaded(opening: Opening, tmp_path: Path) -> None:
    with writer(tmp_path) as objects:
        for number in range(1, 4):
            objects.write(capture(number), [post(number, 1, "ann", "Text")])
            assert segments_of(tmp_path)[0].name.endswith(OPEN)
            with opening() as (destination, held):
                assert load(tmp_path, destination) == Loaded(1, 17)
                assert len(in_store(held())) == number * 17
    with opening() as (destination, held):
        assert load(tmp_path, destination) == Loaded(0, 0), "closing it makes nothing new"
        assert in_store(held()) == in_segments(tmp_path)


def test_a_torn_end_of_an_open_segment_waits(opening: Opening, tmp_path: Path) -> None:
    write_threads(tmp_path, range(3))
    (path,) = segments_of(tmp_path)
    whole = path.read_bytes()
    still_open = path.rename(path.with_name(path.name + OPEN))
    still_open.write_bytes(whole[:-10])
    with opening() as (destination, held):
        assert load(tmp_path, destination).segments == 1
        assert len({quad.graph_name for quad in in_store(held())}) == 2
        still_open.write_bytes(whole)
        assert load(tmp_path, destination).segments == 1
        still_open.rename(path)
        assert in_store(held()) == in_segments(tmp_path)


def test_crawls_of_one_id_and_second_are_told_apart(opening: Opening, tmp_path: Path) -> None:
    first, second = tmp_path / "1", tmp_path / "2"
    write_threads(first, range(3))
    write_threads(second, range(10, 12))
    assert [path.name for path in segments_of(first)] == [path.name for path in segments_of(second)]
    with opening() as (destination, held):
        for crawl in (first, second):
            assert load(crawl, destination).segments == 1
        assert in_store(held()) == in_segments(first) | in_segments(second)


def test_the_same_capture_in_two_segments_is_there_once(opening: Opening, tmp_path: Path) -> None:
    for _ in range(2):
        write_threads(tmp_path, range(3))
    assert len(segments_of(tmp_path)) == 2
    with opening() as (destination, held):
        assert load(tmp_path, destination).statements == 2 * len(in_store(held()))
        assert in_store(held()) == in_segments(tmp_path)


@pytest.mark.parametrize("harm", ["cut", "overwritten", "no statements"])
def test_a_damaged_segment_is_named_and_the_ones_before_it_are_kept(
    opening: Opening, tmp_path: Path, harm: str
) -> None:
    write_threads(tmp_path, range(2))
    write_threads(tmp_path, range(2, 9))
    sound, broken = segments_of(tmp_path)
    whole = broken.read_bytes()
    if harm == "cut":
        broken.write_bytes(whole[:-1])
    elif harm == "overwritten":
        broken.write_bytes(whole[:-200] + b"\0" * 10 + whole[-190:])
    else:
        broken.write_bytes(gzip.compress(b"no statement\n"))
    with opening() as (destination, held):
        with pytest.raises(LoadError, match=rf"{broken.name}: is damaged .* Restore it from a copy"):
            load(tmp_path, destination)
        assert set(ox.parse(gzip.decompress(sound.read_bytes()), ox.RdfFormat.N_QUADS)) <= in_store(held())
        broken.write_bytes(whole)
        assert load(tmp_path, destination).segments == 1
        assert in_store(held()) == in_segments(tmp_path)


@pytest.mark.parametrize("kind", ["absent", "empty", "file"])
def test_a_folder_that_is_no_crawl_is_refused(opening: Opening, tmp_path: Path, kind: str) -> None:
    folder = tmp_path / "no-crawl"
    if kind == "empty":
        folder.mkdir()
    elif kind == "file":
        folder.touch()
    with opening() as (destination, _), pytest.raises(LoadError, match="Name the output folder of a crawl"):
        load(folder, destination)


class _Stopping:
    """Brings statements in and then stops, as if killed, before it is remembered."""

    def __init__(self, store: LocalStore) -> None:
        self._store = store

    def loaded(self) -> dict[str, int]:
        return dict(self._store.loaded())

    def add(self, segment: str, members: Members) -> None:
        with members.stream(1 << 20) as text:
            self._store.rdf.load(text, ox.RdfFormat.N_QUADS)
        raise KeyboardInterrupt(segment)

    def replace(self, segment: str, members: Members) -> None:
        self.add(segment, members)

    def put(self, segment: str, text: bytes, mark: int) -> None:
        raise AssertionError((segment, text, mark))


def test_decisions_of_people_are_loaded_as_they_count_and_go_with_a_takedown(tmp_path: Path, opening: Opening) -> None:
    one, other = "http://forum.test/t/1", "http://forum.test/t/2"
    crawl = tmp_path / "crawl"
    write_threads(crawl, range(2))
    decide(crawl, [one, other], KeepAnswer.KEEP, "Anna B")
    decide(crawl, [one], KeepAnswer.REJECT, "ben")

    def decided() -> set[tuple[str, str, str]]:
        with opening() as (destination, held):
            load(crawl, destination)
            assert load(crawl, destination) == Loaded(0, 0)
            store = ox.Store()
            store.extend(held())
            answer = next(each for each in ready_queries() if each.name == "kept-pages").run(store, {})
            assert isinstance(answer, Table)
            told = [[getattr(cell, "value", "") for cell in row] for row in answer.rows]
            graphs = ox.serialize(
                (quad for quad in held() if "decisions:" in str(quad.graph_name)), format=ox.RdfFormat.N_QUADS
            )
            assert violations(graphs or b"") == []
        return {(page, answer, who) for page, answer, who, _ in told}

    assert decided() == {(one, "reject", "ben"), (other, "keep", "Anna B")}
    decide(crawl, [one], KeepAnswer.UNDECIDED, "ben")
    assert decided() == {(other, "keep", "Anna B")}
    decide(crawl, [one], KeepAnswer.KEEP, "ben")
    stone = Tombstone(id="1", at="2026-01-01T00:00:00Z", by="anna", reason="asked", prefixes=(other,))
    write_tombstones(crawl, [stone])
    assert decided() == {(one, "keep", "ben")}
    decide(crawl, [one], KeepAnswer.UNDECIDED, "ben")
    assert decided() == set()
    with (crawl / DECISIONS).open("ab") as file:
        file.write(b"{}\n")
    with opening() as (destination, _), pytest.raises(LoadError, match=f"{DECISIONS}:6: is no line"):
        load(crawl, destination)


def test_stopping_before_it_is_remembered_loses_nothing(tmp_path: Path) -> None:
    write_threads(tmp_path, range(9))
    with LocalStore(tmp_path / "kept") as store, pytest.raises(KeyboardInterrupt):
        load(tmp_path, _Stopping(store))
    with LocalStore(tmp_path / "kept") as store:
        assert load(tmp_path, store).segments == 1
        assert in_store(store.rdf) == in_segments(tmp_path)
        assert load(tmp_path, store) == Loaded(0, 0)


def test_killing_the_process_loses_nothing(tmp_path: Path) -> None:
    write_threads(tmp_path, range(1500), size=30_000)
    program = (
        "import sys; from pathlib import Path; from offline.store.loading import load;"
        "from offline.store.local import LocalStore\n"
        "with LocalStore(Path(sys.argv[2])) as store:\n print('open', flush=True); load(Path(sys.argv[1]), store)"
    )
    for delay in (0.02, 0.1, 0.3):
        with forked(program, tmp_path, tmp_path / "kept") as process:
            process.stdout.readline()
            time.sleep(delay)
            process.kill()
    with LocalStore(tmp_path / "kept") as store:
        load(tmp_path, store)
        assert in_store(store.rdf) == in_segments(tmp_path)


def test_a_store_has_one_owner_and_says_who(tmp_path: Path) -> None:
    with LocalStore(tmp_path / "kept"):
        with pytest.raises(StoreError, match=rf"process {os.getpid()} is using this store; wait for it"):
            LocalStore(tmp_path / "kept").__enter__()
        (tmp_path / "kept" / "store.owner").unlink()
        with pytest.raises(StoreError, match="another process is using this store"):
            LocalStore(tmp_path / "kept").__enter__()
    with LocalStore(tmp_path / "kept") as store:
        assert len(store.rdf) == 0


def test_a_store_that_another_program_has_open_is_left_alone(tmp_path: Path) -> None:
    tmp_path.joinpath("kept").mkdir()
    other = ox.Store(tmp_path / "kept" / "oxigraph")
    with pytest.raises(StoreError, match="a program other than aah has this store open"):
        LocalStore(tmp_path / "kept").__enter__()
    del other
    with LocalStore(tmp_path / "kept") as store:
        assert len(store.rdf) == 0


def test_a_damaged_store_says_what_to_do(tmp_path: Path) -> None:
    with LocalStore(tmp_path / "kept"):
        pass
    (tmp_path / "kept" / "oxigraph" / "CURRENT").write_text("nonsense\n")
    with pytest.raises(StoreError, match="Remove it to have it made again"):
        LocalStore(tmp_path / "kept").__enter__()
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match="name another folder with --store"):
        LocalStore(tmp_path / "file").__enter__()


@pytest.mark.slow
def test_a_large_segment_is_loaded_in_bulk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("offline.store.local._BULK", 1_000)
    monkeypatch.setattr("offline.store.local._ROUND", 30_000)
    write_threads(tmp_path, range(100))
    with LocalStore(tmp_path / "kept") as store:
        assert load(tmp_path, store).segments == 1
        assert in_store(store.rdf) == in_segments(tmp_path)
        assert list(store.loaded().values()) == [segments_of(tmp_path)[0].stat().st_size]


class _Full:
    """A store whose disk is full when it is closed."""

    def flush(self) -> None:
        raise OSError(28, "No space left on device")


def test_a_disk_that_is_full_at_the_end_is_told(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="Make room"), LocalStore(tmp_path) as store:
        store.rdf = cast("ox.Store", _Full())
    with LocalStore(tmp_path):
        pass


def test_visits_are_loaded_as_the_log_tells_them_by_now(
    tmp_path: Path, opening: Opening, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("offline.store.loading.AT_ONCE", 4)
    crawl = tmp_path / "crawl"
    write_threads(crawl, range(1))
    one, other, third = (f"http://a.test/{number}" for number in range(3))

    def asked(name: str) -> list[list[str]]:
        with opening() as (destination, held):
            load(crawl, destination)
            assert load(crawl, destination) == Loaded(0, 0)
            store = ox.Store()
            store.extend(held())
            answer = next(each for each in ready_queries() if each.name == name).run(store, {})
            assert isinstance(answer, Table)
            return [[getattr(cell, "value", "") for cell in row][:2] for row in answer.rows]

    kept(crawl, page(1, "a", url=one), page(2, "b", url=one), page(3, "c", url=one), page(3, "x", url=other))
    kept(crawl, page(4, "y", url=other), page(4, "z", url=third), page(5, "", url=other, status=404))
    assert asked("most-changed") == [[one, "2"], [other, "1"]]
    assert [url for url, _ in asked("gone-pages")] == [other]
    kept(crawl, page(6, "", url=third, status=404), page(7, "y", url=other))
    assert [url for url, _ in asked("gone-pages")] == [third]
    assert asked("most-changed") == [[other, "2"], [one, "2"]]
    stone = Tombstone(id="1", at="2026-01-01T00:00:00Z", by="anna", reason="asked", prefixes=(other,))
    write_tombstones(crawl, [stone])
    assert asked("most-changed") == [[one, "2"]]
