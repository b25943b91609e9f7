"""Runs a command and measures all of its processes, such as a browser's, even after their parents have ended."""

import os
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

SAMPLE_EVERY = 0.1
_TICKS: Final = os.sysconf("SC_CLK_TCK")
Process = tuple[int, int]
"""A process: its id, and its start in ticks since the machine started."""


@dataclass(frozen=True, slots=True)
class Finished:
    """An ended command: its exit code, wall seconds and output, and the memory that its processes held in MiB.

    ``cpu_seconds`` is the processor time, user and system, of all its processes.
    """

    code: int
    seconds: float
    output: str
    cpu_seconds: float = 0.0
    resident_mib: list[float] = field(default_factory=list)

    @property
    def peak_mib(self) -> float:
        """The most memory held at the same time."""
        return max(self.resident_mib, default=0.0)


@dataclass
class Watch:
    """Follows a process and all processes it started, whatever their parents are by now."""

    root: int
    cpu: dict[Process, float] = field(default_factory=dict)
    resident_mib: list[float] = field(default_factory=list)

    def sample(self) -> None:
        """Record all processes that exist now."""
        found = {pid for pid, _ in self.alive()}
        for pid in [self.root, *found]:
            found.update(tree(pid))
        for pid in found:
            if (told := _told(pid)) is not None:
                self.cpu[pid, told[0]] = told[1]
        self.resident_mib.append(sum(map(shared_mib, found)))

    def alive(self) -> list[Process]:
        """Return the recorded processes that still run."""
        return [each for each in self.cpu if (told := _told(each[0])) is not None and told[0] == each[1]]


def run(command: Sequence[str], environment: Mapping[str, str], timeout: float) -> Finished:
    """Run a command to its end; after ``timeout`` seconds, it is killed with all processes it started.

    Resident memory is sampled every 0.1 s; shared memory is counted once.
    """
    started, before = time.monotonic(), os.times()
    process = subprocess.Popen(
        command, env=dict(environment), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    watch, ended = Watch(process.pid), threading.Event()

    def follow() -> None:
        while not ended.wait(SAMPLE_EVERY):
            watch.sample()

    watcher = threading.Thread(target=follow, daemon=True)
    watcher.start()
    try:
        output, _ = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        for pid, _ in watch.alive():
            os.kill(pid, signal.SIGKILL)
        output, _ = process.communicate()
        output += f"\nstopped after {timeout:.0f} s"
    finally:
        ended.set()
        watcher.join()
    seconds, after = time.monotonic() - started, os.times()
    waited_for = after.children_user + after.children_system - before.children_user - before.children_system
    cpu = max(sum(watch.cpu.values()), waited_for)
    return Finished(process.returncode, seconds, output, cpu, watch.resident_mib)


def tree(root: int) -> list[int]:
    """Return a process and all its descendants."""
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
    return _mib(pid, "status", "VmRSS:")


def shared_mib(pid: int) -> float:
    """Return the resident memory of a process with its share of shared memory, 0 if it has ended."""
    return _mib(pid, "smaps_rollup", "Pss:")


def private_mib(pid: int) -> float:
    """Return the resident memory of a process that no other process shares, 0 where it has ended."""
    return _mib(pid, "smaps_rollup", "Private_Clean:", "Private_Dirty:")


def cpu_seconds(pid: int) -> float:
    """Return the processor time of a running process with all its threads."""
    return sum(int((task / "schedstat").read_text().split()[0]) for task in Path(f"/proc/{pid}/task").iterdir()) / 1e9


def _told(pid: int) -> tuple[int, float] | None:
    """Return the start of a process and the processor seconds it has used, None if it does not exist or is dead."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text("utf-8", errors="replace").rpartition(") ")[2].split()
    except OSError:
        return None
    return None if fields[0] in "ZX" else (int(fields[19]), (int(fields[11]) + int(fields[12])) / _TICKS)


def _mib(pid: int, file: str, *fields: str) -> float:
    try:
        lines = Path(f"/proc/{pid}/{file}").read_text().splitlines()
    except OSError:
        return 0.0
    return sum(int(line.split()[1]) for line in lines if line.startswith(fields)) / 1024
