"""Every index holds what its sources hold, whatever happens to either: one suite for all that can be built again."""

import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aahcrawler.derived_index import DerivedIndex, Standing, coverage
from aahcrawler.segments import OPEN, recover
from tests.crawl.crawling import PATIENCE
from tests.derived_index.kinds import KINDS, Held, Kind
from tests.forking import Forked, forked

ENTRIES = 24


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> Kind:
    return KINDS[request.param]


def write(kind: Kind, folder: Path, name: str, numbers: range) -> None:
    add, close = kind.writer(folder, name)
    for number in numbers:
        add(number)
    close()


@pytest.fixture
def folder(kind: Kind, tmp_path: Path) -> Path:
    """Return a folder with sources of two writers, and no index."""
    write(kind, tmp_path, "a", range(ENTRIES))
    write(kind, tmp_path, "b", range(ENTRIES, 2 * ENTRIES))
    return tmp_path


def caught_up(kind: Kind, folder: Path) -> Held:
    with kind.index(folder) as index:
        assert index.catch_up()
        return kind.held(index)


def anew(kind: Kind, folder: Path) -> Held:
    """Return what an index holds that is built of a copy of the sources."""
    with tempfile.TemporaryDirectory() as name:
        copy = shutil.copytree(folder, Path(name) / "copy", ignore=shutil.ignore_patterns("indexes"))
        return caught_up(kind, copy)


def number_of(held: Held) -> int:
    return len(next(iter(held.values())))


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.sampled_from("abc"), st.integers(1, 6)),
        st.tuples(st.just("close"), st.sampled_from("abc"), st.just(0)),
        st.tuples(st.just("step"), st.just(""), st.integers(1, 5)),
        st.tuples(st.just("catch up"), st.just(""), st.integers(1, 5)),
        st.tuples(st.just("open"), st.just(""), st.just(0)),
    ),
    max_size=20,
)


@pytest.mark.slow
@pytest.mark.parametrize("name", KINDS)
@given(steps=STEPS)
@settings(max_examples=settings().max_examples // 2)
def test_one_that_has_caught_up_equals_one_that_is_built_anew(name: str, steps: list[tuple[str, str, int]]) -> None:
    kind = KINDS[name]
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        writers = {name: kind.writer(folder, name) for name in "abc"}
        writers["a"][0](0)
        index, number = kind.index(folder).open(), 1
        for what, writer, count in steps:
            match what:
                case "add":
                    for _ in range(count):
                        writers[writer][0](number)
                        number += 1
                case "close":
                    writers[writer][1]()
                    writers[writer] = kind.writer(folder, writer)
                case "open":
                    index.close()
                    index = kind.index(folder).open()
                case _:
                    index.at_once = count  # type: ignore[misc]
                    index.step() if what == "step" else index.catch_up()
        index.catch_up()
        held = kind.held(index)
        index.close()
        for _, close in writers.values():
            close()
        assert caught_up(kind, folder) == held
        assert anew(kind, folder) == held


CATCHES_UP = """
import os, signal, sys
from pathlib import Path
from tests.derived_index.kinds import KINDS

index, left = KINDS[sys.argv[1]].index(Path(sys.argv[2])).open(), int(sys.argv[3])
index.at_once = 1
print("begun", flush=True)
while index.step():
    left -= 1
    if left == 0:  # The next step is in the midst of its work then.
        index.base.set_progress_handler(lambda: os.kill(os.getpid(), signal.SIGKILL), 50)
index.close()
"""


def catching_up(kind: Kind, folder: Path, killed_after: int = 0) -> Forked:
    name = next(name for name, each in KINDS.items() if each is kind)
    return forked(CATCHES_UP, name, folder, killed_after)


def test_a_kill_while_it_catches_up_costs_nothing_and_doubles_nothing(kind: Kind, folder: Path) -> None:
    wanted = anew(kind, folder)
    for after in (1, 8, 12):
        with catching_up(kind, folder, after) as child:
            child.communicate(PATIENCE)
            assert child.returncode == -9
        with closing(kind.index(folder).open()) as index:
            assert number_of(kind.held(index)) < number_of(wanted)
    assert caught_up(kind, folder) == wanted


def test_long_entries_end_a_step_before_its_number_is_reached(kind: Kind, folder: Path) -> None:
    wanted = anew(kind, folder)
    with closing(kind.index(folder).open()) as index:
        index.bytes_at_once = 1  # type: ignore[misc]
        assert index.step()
        read = coverage(index.base)
        assert 0 < read.covered < read.size
        assert index.catch_up()
        assert kind.held(index) == wanted


def test_two_processes_catch_up_at_once_while_another_asks(kind: Kind, folder: Path) -> None:
    wanted = anew(kind, folder)
    with catching_up(kind, folder) as one, catching_up(kind, folder) as other:
        for child in (one, other):
            assert child.stdout.readline() == "begun\n"
        index = kind.index(folder)
        before = 0
        while one.poll() is None or other.poll() is None:
            with index.asked() as base:
                covered, known = coverage(base).covered, base.execute("SELECT count(*) FROM segment").fetchone()[0]
                assert covered >= before
                assert (covered, known) == (coverage(base).covered, known)
                before = covered
        assert (one.returncode, other.returncode) == (0, 0)
    with closing(kind.index(folder).open()) as index:
        assert kind.held(index) == wanted


def whole_garbage(path: Path) -> None:
    path.write_bytes(b"no database at all " * 500)


def empty(path: Path) -> None:
    path.write_bytes(b"")


def torn_pages(path: Path) -> None:
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.seek(4096)
        file.write(b"\xff" * (size - 4096))


def cut_short(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def of_another_version(path: Path) -> None:
    with closing(sqlite3.connect(path)) as base:
        base.execute("PRAGMA user_version = 99")
        base.execute("CREATE TABLE another (thing)")


def without_a_table(path: Path) -> None:
    with closing(sqlite3.connect(path)) as base:
        base.execute("DROP TABLE segment")


@pytest.mark.parametrize(
    "damage", [whole_garbage, empty, torn_pages, cut_short, of_another_version, without_a_table, Path.unlink]
)
def test_one_that_is_damaged_or_of_another_version_is_made_anew(kind: Kind, folder: Path, damage: Any) -> None:
    held = caught_up(kind, folder)
    index = kind.index(folder)
    assert index.path is not None
    damage(index.path)
    write(kind, folder, "c", range(2 * ENTRIES, 2 * ENTRIES + 5))
    after = caught_up(kind, folder)
    assert after == anew(kind, folder)
    assert number_of(after) > number_of(held)


def test_one_that_is_damaged_while_it_is_open_is_made_anew(kind: Kind, folder: Path) -> None:
    with kind.index(folder) as index:
        index.catch_up()
        index.base.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        assert index.path is not None
        torn_pages(index.path)
        index.base.execute("PRAGMA shrink_memory")
        write(kind, folder, "c", range(2 * ENTRIES, 2 * ENTRIES + 5))
        index.catch_up()
        assert kind.held(index) == anew(kind, folder)


def sources_of(index: DerivedIndex[Any]) -> Iterator[Path]:
    return (source.path for source in index.sources())


def test_what_was_taken_out_of_the_sources_is_taken_out_of_it(kind: Kind, folder: Path) -> None:
    before = caught_up(kind, folder)
    index = kind.index(folder)
    first, second = sources_of(index)
    first.unlink()
    with index.asked() as base:
        assert index.standing(base) is Standing.WRONG
    after = caught_up(kind, folder)
    assert after == anew(kind, folder)
    assert 0 < number_of(after) < number_of(before)
    part = second.with_name("part")
    part.write_bytes(b"")
    part.replace(second)
    assert number_of(caught_up(kind, folder)) == 0


def test_a_segment_that_is_cut_short_and_recovered_is_read_up_to_its_last_whole_entry(kind: Kind, folder: Path) -> None:
    index = kind.index(folder)
    path = list(sources_of(index))[-1]
    if not kind.extension:
        with path.open("a") as log:
            log.write("2026-01-01T10:00:01.000Z INFO crawl.core half")
        held = caught_up(kind, folder)
        with path.open("a") as log:
            log.write(" an event\n")
        assert number_of(caught_up(kind, folder)) == number_of(held) + 1 == 2 * ENTRIES + 1
        return
    os.truncate(path, path.stat().st_size - 9)
    torn = path.rename(path.with_name(path.name + OPEN))
    held = caught_up(kind, folder)
    assert held == anew(kind, folder)
    (recovered,) = recover(torn.parent, kind.extension)
    assert recovered.cut
    write(kind, folder, "c", range(2 * ENTRIES, 2 * ENTRIES + 5))
    after = caught_up(kind, folder)
    assert after == anew(kind, folder)
    assert number_of(after) > number_of(held)


def test_where_nothing_can_be_written_it_lies_elsewhere_or_is_refused(kind: Kind, folder: Path) -> None:
    index = kind.index(folder)
    assert index.path is not None
    index.path.parent.write_text("A file where the folder would be.")
    if not index.may_lie_elsewhere:
        with pytest.raises(OSError, match="indexes"):
            index.open()
        return
    with index:
        index.catch_up()
        assert index.is_temporary
        held, place = kind.held(index), index.path
    assert number_of(held) > 0
    assert not place.exists()
