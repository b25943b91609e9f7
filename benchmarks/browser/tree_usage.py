"""Runs a command and measures all of its processes, a browser's among them, also where their parents end first."""

import os
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from benchmarks.process_memory import tree

_EVERY: Final = 0.2
_MEMORY_EVERY: Final = 5
"""Samples of time for each of memory, which costs more to read."""
_TICKS: Final = os.sysconf("SC_CLK_TCK")
Process = tuple[int, int]
"""A process: its number, and when it began in ticks since the machine did."""


@dataclass(frozen=True, slots=True)
class Used:
    """What a command used: wall seconds, processor seconds of all its processes, and the most memory at once in MiB.

    Memory is proportional: what several processes share counts once.
    """

    code: int
    seconds: float
    output: str
    cpu_seconds: float
    peak_mib: float


@dataclass
class Watch:
    """Follows a process and all that it started, whoever their parents are by now."""

    root: int
    cpu: dict[Process, float] = field(default_factory=dict)
    peak_mib: float = 0.0

    def sample(self, *, memory: bool = False) -> None:
        """Look at all processes that there are."""
        alive = self.alive()
        found = {pid for pid, _ in alive}
        for pid in [self.root, *found]:
            found.update(tree(pid))
        held = 0.0
        for pid in found:
            told = _told(pid)
            if told is not None:
                self.cpu[pid, told[0]] = told[1]
                held += proportional_mib(pid) if memory else 0.0
        self.peak_mib = max(self.peak_mib, held)

    def alive(self) -> list[Process]:
        """Return the processes seen so far that still run."""
        return [each for each in self.cpu if (told := _told(each[0])) is not None and told[0] == each[1]]


def used_by(command: Sequence[str], environment: Mapping[str, str] | None, timeout: float) -> Used:
    """Run a command to its end; one that takes longer than so many seconds is killed with all that it started."""
    started = time.monotonic()
    before = os.times()
    process = subprocess.Popen(
        command,
        env=None if environment is None else dict(environment),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    watch, ended = Watch(process.pid), threading.Event()
    watching = threading.Thread(target=_watch, args=(watch, ended), daemon=True)
    watching.start()
    try:
        output, _ = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        for pid, _ in watch.alive():
            os.kill(pid, signal.SIGKILL)
        output, _ = process.communicate()
        output += f"\nstopped after {timeout:.0f} s"
    finally:
        ended.set()
        watching.join()
    seconds, after = time.monotonic() - started, os.times()
    waited_for = after.children_user + after.children_system - before.children_user - before.children_system
    cpu = max(sum(watch.cpu.values()), waited_for)
    return Used(process.returncode, seconds, output, cpu, watch.peak_mib)


def _watch(watch: Watch, ended: threading.Event) -> None:
    number = 0
    while not ended.is_set():
        watch.sample(memory=number % _MEMORY_EVERY == 0)
        number += 1
        ended.wait(_EVERY)


def _told(pid: int) -> tuple[int, float] | None:
    """Return when a process began and the processor seconds it has used, None where there is none, or it is dead."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text("utf-8", errors="replace").rpartition(") ")[2].split()
    except OSError:
        return None
    return None if fields[0] in "ZX" else (int(fields[19]), (int(fields[11]) + int(fields[12])) / _TICKS)


def proportional_mib(pid: int) -> float:
    """Return the memory of a process, what it shares divided by those who share it; 0 where it has ended."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0.0
    return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024


def name_of(pid: int) -> str:
    """Return the command line of a process, cut short."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")[:120]
    except OSError:
        return ""
