"""Work in a copy of this process: what comes back, and what ends it."""

import fcntl
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import TextIO

import pytest

from aahcrawler.crawl.core.page_reading import Bounds, ForkedWork, WorkEndedError
from tests.crawl.crawling import PATIENCE

pytestmark = pytest.mark.starts


class Shared:
    """A value that cannot be sent."""

    def __reduce__(self) -> str:
        raise TypeError("not to be copied")


def test_the_result_of_work_comes_back() -> None:
    assert ForkedWork(lambda: {"links": ["a", "b"], "process": os.getpid() != 0}).result() == {
        "links": ["a", "b"],
        "process": True,
    }


def test_work_changes_nothing_here() -> None:
    known: list[int] = []

    def learns() -> list[int]:
        known.append(1)
        return known

    assert ForkedWork(learns).result() == [1]
    assert known == []


def test_shared_values_come_back_as_themselves() -> None:
    shared = Shared()
    assert ForkedWork(lambda: ("of", shared), [shared]).result()[1] is shared


def fails() -> None:
    raise KeyError("a")


def refused() -> None:
    Path("/nowhere/at/all").read_text()


def test_what_work_raises_is_raised_here() -> None:
    with pytest.raises(RuntimeError, match="KeyError: 'a'"):
        ForkedWork(fails).result()


def test_errors_of_the_machine_stay_what_they_are() -> None:
    with pytest.raises(OSError, match="nowhere") as raised:
        ForkedWork(refused).result()
    assert raised.value.errno == 2


def spins() -> None:
    while True:
        pass


def sleeps() -> None:
    signal.pause()


def eats() -> int:
    return len(b"x" * (1 << 30))


def dies() -> None:
    os.kill(os.getpid(), signal.SIGSEGV)


def leaves() -> None:
    os._exit(3)


@pytest.mark.parametrize(
    ("work", "said"),
    [
        pytest.param(spins, "more than 1 seconds of processor time", id="processor"),
        pytest.param(eats, "more memory", id="memory"),
        pytest.param(dies, "SIGSEGV", id="crash"),
        pytest.param(leaves, "without a word", id="gone"),
    ],
)
def test_work_that_takes_too_much_is_ended(work: Callable[[], object], said: str) -> None:
    with pytest.raises(WorkEndedError, match=said):
        ForkedWork(work, bounds=Bounds(processor=1, memory=1 << 28)).result()


def test_work_that_only_waits_is_ended_by_the_clock() -> None:
    with pytest.raises(WorkEndedError, match=r"more than 0\.2 seconds"):
        ForkedWork(sleeps, bounds=Bounds(seconds=0.2)).result()


def test_work_can_be_told_to_end() -> None:
    work = ForkedWork(sleeps)
    work.end()
    with pytest.raises(WorkEndedError, match="told to end"):
        work.result()


def _lock(file: TextIO) -> None:
    """Lock a file, which a copy has to let go first; fail where it keeps it."""
    for _ in range(1_000):
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(0.01)
        else:
            return
    pytest.fail("the copy still has the lock")


def test_a_copy_holds_no_lock_and_no_connection(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    with (tmp_path / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        work = ForkedWork(sleeps)
        os.close(writing)
        assert os.read(reading, 1) == b"", "the copy still has the pipe open"
    with (tmp_path / "lock").open("w") as again:
        _lock(again)
    os.close(reading)
    work.end()
    with pytest.raises(WorkEndedError):
        work.result()


def test_files_that_are_open_for_reading_stay_readable(tmp_path: Path) -> None:
    path = tmp_path / "model"
    path.write_bytes(b"rows")
    with path.open("rb") as file:
        assert ForkedWork(lambda: os.pread(file.fileno(), 4, 0)).result() == b"rows"


def test_a_terminal_interrupts_the_parent_alone() -> None:
    def interrupted() -> str:
        os.kill(os.getpid(), signal.SIGINT)
        return "on"

    assert ForkedWork(interrupted).result() == "on"


def test_a_copy_ends_with_its_parent() -> None:
    def parent() -> int:
        return ForkedWork(sleeps)._child

    child = ForkedWork(parent).result()
    until = time.monotonic() + PATIENCE
    while Path(f"/proc/{child}").exists() and "Z" not in Path(f"/proc/{child}/stat").read_text().split(")")[1]:
        assert time.monotonic() < until, "the copy outlives its parent"
