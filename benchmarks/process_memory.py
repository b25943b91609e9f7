"""Runs a command and watches the memory of it and its children together."""

import resource
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

SAMPLE_EVERY = 0.1


@dataclass(frozen=True, slots=True)
class Finished:
    """A command that ended: its exit code, wall seconds, output, and the memory that its process tree held in MiB.

    ``cpu_seconds`` is processor time, user and system, of all of its processes that were waited for.
    """

    code: int
    seconds: float
    output: str
    cpu_seconds: float = 0.0
    resident_mib: list[float] = field(default_factory=list)

    @property
    def peak_mib(self) -> float:
        """The most memory that was held at once."""
        return max(self.resident_mib, default=0.0)


def run(command: Sequence[str], environment: Mapping[str, str], timeout: float) -> Finished:
    """Run a command to its end; its resident memory is sampled every 0.1 s; what processes share is counted once."""
    started, used = time.monotonic(), _children_seconds()
    process = subprocess.Popen(
        command, env=dict(environment), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    resident: list[float] = []
    ended = threading.Event()

    def sample() -> None:
        while not ended.wait(SAMPLE_EVERY):
            resident.append(sum(map(shared_mib, tree(process.pid))))

    watcher = threading.Thread(target=sample, daemon=True)
    watcher.start()
    try:
        output, _ = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        process.kill()
        output, _ = process.communicate()
        output += f"\nstopped after {timeout:.0f} s"
    finally:
        ended.set()
        watcher.join()
    seconds, cpu = time.monotonic() - started, _children_seconds() - used
    return Finished(process.returncode, seconds, output, cpu, resident)


def _children_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def tree(root: int) -> list[int]:
    """Return a process and all that descend from it."""
    found, waiting = [], [root]
    while waiting:
        pid = waiting.pop()
        found.append(pid)
        try:
            for task in Path(f"/proc/{pid}/task").iterdir():
                waiting += map(int, (task / "children").read_text().split())
        except OSError:
            continue
    return found


def resident_mib(pid: int) -> float:
    """Return the resident memory of a process, 0 where it has ended."""
    return _mib(pid, "status", ("VmRSS:",))


def shared_mib(pid: int) -> float:
    """Return the resident memory of a process, its part of what it shares with others, 0 where it has ended."""
    return _mib(pid, "smaps_rollup", ("Pss:",))


def private_mib(pid: int) -> float:
    """Return the resident memory of a process that no other process shares, 0 where it has ended."""
    return _mib(pid, "smaps_rollup", ("Private_Clean:", "Private_Dirty:"))


def cpu_seconds(pid: int) -> float:
    """Return the processor time that the threads of a process that runs have used."""
    return sum(int((task / "schedstat").read_text().split()[0]) for task in Path(f"/proc/{pid}/task").iterdir()) / 1e9


def _mib(pid: int, file: str, fields: tuple[str, ...]) -> float:
    try:
        lines = Path(f"/proc/{pid}/{file}").read_text().splitlines()
    except OSError:
        return 0.0
    return sum(int(line.split()[1]) for line in lines if line.startswith(fields)) / 1024
