"""Running a command and watching what memory it and its children hold together."""

import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

SAMPLE_EVERY = 0.1


@dataclass(frozen=True, slots=True)
class Finished:
    """A command that ended: its exit code, wall seconds, output, and the peak of its process tree's memory in MiB."""

    code: int
    seconds: float
    peak_mib: float
    output: str


def run(command: Sequence[str], environment: Mapping[str, str], timeout: float) -> Finished:
    """Run a command to its end; its resident memory is sampled every 0.1 s, shared pages counted once a process."""
    started = time.monotonic()
    process = subprocess.Popen(
        command, env=dict(environment), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    peak = 0.0
    ended = threading.Event()

    def sample() -> None:
        nonlocal peak
        while not ended.wait(SAMPLE_EVERY):
            peak = max(peak, sum(map(_resident_mib, _tree(process.pid))))

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
    return Finished(process.returncode, time.monotonic() - started, peak, output)


def _tree(root: int) -> list[int]:
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


def _resident_mib(pid: int) -> float:
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0.0
    return next((int(line.split()[1]) / 1024 for line in status.splitlines() if line.startswith("VmRSS:")), 0.0)
