"""Jobs have the same result by any number of processes, and after any number of kills."""

import json
import os
import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from signal import SIGKILL
from time import sleep

import pytest
from pydantic import TypeAdapter

from aahcrawler.jobs import Job, JobError, Made, Work
from tests.forking import forked

ITEMS = [(f"site {number % 3}", f"item {number}") for number in range(40)]
NOTES = TypeAdapter(tuple[str, int])


@dataclass(frozen=True)
class Chaining:
    """Makes of each item a digest of it and of what came before it in its unit."""

    salt: str = ""
    pause: float = 0.0
    fails_at: str = ""

    @property
    def version(self) -> str:
        return self.salt

    @contextmanager
    def open(self) -> Iterator[Work[tuple[str, int]]]:
        yield self.work

    def work(self, part: str, given: Sequence[str]) -> Made[tuple[str, int]]:
        sleep(self.pause)
        found, before = [], f"{self.salt}{part}"
        for place, each in enumerate(given):
            if each == self.fails_at:
                os.kill(os.getpid(), SIGKILL)
            before = sha256(f"{before}{each}".encode()).hexdigest()
            found.append(((before, place), f"{each} {before}\n".encode()))
        return found


def job(folder: Path, step: Chaining | None = None, processes: int = 1) -> Job[tuple[str, int]]:
    """Return a job that keeps what it makes in a file."""

    def keep(made: Sequence[bytes]) -> None:
        with (folder / "kept").open("ab") as file:
            file.write(b"".join(made))

    return Job(step or Chaining(), NOTES, folder / "job.sqlite", keep, processes, at_once=4)


def outcome(folder: Path, done: Job[tuple[str, int]]) -> tuple[list[tuple[str, tuple[str, int]]], list[str]]:
    """Run a job; return its notes, and what was kept, each once."""
    with done.run(ITEMS) as notes:
        return list(notes), sorted(set((folder / "kept").read_text("utf-8").splitlines()))


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[object, list[str]]:
    folder = tmp_path_factory.mktemp("whole")
    return outcome(folder, job(folder))


def test_notes_come_in_the_order_of_items_and_what_is_kept_in_that_of_parts(tmp_path: Path) -> None:
    seen: list[int] = []
    done = job(tmp_path)
    with Job(done.step, done.notes, None, done.keep, seen=seen.append, at_once=4).run(ITEMS) as notes:
        assert [given for given, _ in notes] == [given for _, given in ITEMS]
    kept = [line.split()[1] for line in (tmp_path / "kept").read_text("utf-8").splitlines()]
    assert kept == [given.split()[1] for part in range(3) for of, given in ITEMS if of == f"site {part}"]
    assert (sum(seen), max(seen)) == (len(ITEMS), 4)


@pytest.mark.slow
@pytest.mark.starts
def test_two_processes_have_the_result_of_one(whole: tuple[object, list[str]], tmp_path: Path) -> None:
    assert outcome(tmp_path, job(tmp_path, processes=2)) == whole
    assert {path.name.partition(".lock")[0] for path in tmp_path.iterdir()} == {"job.sqlite", "kept"}
    assert not (tmp_path / "job.sqlite").exists()


KILLED = """
import sys
from pathlib import Path
from tests.jobs.test_jobs import Chaining, job, outcome
if __name__ == "__main__":
    folder = Path(sys.argv[1])
    print(flush=True)
    outcome(folder, job(folder, Chaining(pause=0.03), int(sys.argv[2])))
"""


@pytest.mark.slow
@pytest.mark.starts
@pytest.mark.parametrize("processes", [1, 2])
def test_kills_at_any_moment_change_nothing(whole: tuple[object, list[str]], tmp_path: Path, processes: int) -> None:
    lot, kills, ended = random.Random(processes), 0, 0  # One that had ended may be killed while it takes its leave.
    for _ in range(4):
        with forked(KILLED, tmp_path, processes) as process:
            process.stdout.readline()
            sleep(lot.uniform(0, 0.2) + (processes - 1) * lot.uniform(0, 1))
            process.kill()
            kills += process.wait() == -SIGKILL
        ended += (tmp_path / "kept").exists() and not (tmp_path / "job.sqlite").exists()
    assert kills
    found = outcome(tmp_path, job(tmp_path, processes=processes))
    assert found == whole
    kept = (tmp_path / "kept").read_text("utf-8").splitlines()
    assert len(kept) <= (ended + 1) * len(ITEMS) + 4 * kills, "a kill costs one unit"


@pytest.mark.slow
@pytest.mark.starts
def test_what_was_done_is_not_done_again_unless_something_else_is_asked(tmp_path: Path) -> None:
    with pytest.raises(JobError, match="a process has ended"):
        outcome(tmp_path, job(tmp_path, Chaining(fails_at="item 35"), processes=2))
    before = (tmp_path / "kept").read_text("utf-8").splitlines()
    assert 0 < len(before) < len(ITEMS)
    with job(tmp_path).run([("site 0", "another")]) as notes:
        assert len(list(notes)) == len(ITEMS), "what was begun is brought to its end"
    after = (tmp_path / "kept").read_text("utf-8").splitlines()
    assert after[: len(before)] == before
    assert len(after) == len(set(after)) == len(ITEMS)
    with pytest.raises(JobError):
        outcome(tmp_path, job(tmp_path, Chaining(fails_at="item 35"), processes=2))
    with job(tmp_path, Chaining(salt="two")).run([("site 0", "another")]) as notes:
        assert [given for given, _ in notes] == ["another"]


@pytest.mark.parametrize("damage", [b"", b"no database at all" * 100])
def test_a_damaged_journal_is_begun_anew(whole: tuple[object, list[str]], tmp_path: Path, damage: bytes) -> None:
    (tmp_path / "job.sqlite").write_bytes(damage)
    assert outcome(tmp_path, job(tmp_path)) == whole


def test_a_journal_in_use_or_in_a_folder_to_read_only_is_done_without(
    whole: tuple[object, list[str]], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with job(tmp_path).run(ITEMS) as notes:
        (tmp_path / "other").mkdir()
        other = job(tmp_path / "other")
        beside = Job(other.step, other.notes, tmp_path / "job.sqlite", other.keep, at_once=4)
        assert outcome(tmp_path / "other", beside) == whole
        assert json.dumps([note for _, note in notes]) == json.dumps([note for _, note in whole[0]])
    assert "what is done is lost if it is interrupted" in caplog.text
