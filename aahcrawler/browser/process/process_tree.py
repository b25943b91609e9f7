"""Find and end the descendants of a process, by the parents that ``/proc`` gives (proc(5))."""

import os
import signal
import time
from collections.abc import Iterable

_KIB = 1024


def descendants(ancestor: int) -> list[int]:
    """Return the descendants of a process, nearest first, without those whose parent has ended."""
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):  # noqa: PTH208    # pathlib is slow to import.
        if name.isdigit() and (line := _read(f"/proc/{name}/stat")):
            # A process's name may hold anything; what follows its last bracket is its state, then its parent.
            children.setdefault(int(line.rpartition(b")")[2].split()[1]), []).append(int(name))
    found = [ancestor]
    for process in found:
        found.extend(children.get(process, ()))
    return found[1:]


def of_kind(processes: Iterable[int], kind: str) -> list[int]:
    """Return those of a browser's processes that have a type, such as ``renderer``."""
    wanted = f"--type={kind}".encode()
    return [process for process in processes if wanted in _read(f"/proc/{process}/cmdline")]


def tree_memory(processes: Iterable[int]) -> int:
    """Return how many bytes of memory processes use. The estimate is quick and rather too high.

    Shared memory counts for each process that maps it; only program files count once.
    """
    own, files = 0, 0
    for process in processes:
        sizes = _sizes(f"/proc/{process}/status", (b"RssAnon", b"RssShmem", b"RssFile"))
        own += sizes.get(b"RssAnon", 0) + sizes.get(b"RssShmem", 0)
        files = max(files, sizes.get(b"RssFile", 0))
    return own + files


def proportional_memory(processes: Iterable[int]) -> int | None:
    """Return the bytes of memory of processes, with shared memory divided among them; None if that is unknown."""
    total = 0
    for process in processes:
        size = _sizes(f"/proc/{process}/smaps_rollup", (b"Pss",)).get(b"Pss")
        if size is None and os.path.exists(f"/proc/{process}/stat"):  # noqa: PTH110
            return None
        total += size or 0
    return total


def end_descendants(patience: float) -> bool:
    """Kill and reap all descendants of this process, which adopts orphans; return whether none is left."""
    limit = time.monotonic() + patience
    while left := descendants(os.getpid()):
        for process in left:
            end(process)
        reap()
        if time.monotonic() > limit:
            return False
        time.sleep(0.002)
    return True


def reap() -> dict[int, int]:
    """Reap the ended children of this process; return their exit status by process."""
    ended: dict[int, int] = {}
    while True:
        try:
            process, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return ended
        if process == 0:
            return ended
        ended[process] = status


def end(process: int) -> None:
    """Kill a process if it exists and may be killed."""
    try:
        os.kill(process, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return


def _sizes(path: str, names: tuple[bytes, ...]) -> dict[bytes, int]:
    sizes: dict[bytes, int] = {}
    for line in _read(path).splitlines():
        name, _, value = line.partition(b":")
        if name in names:
            sizes[name] = int(value.split()[0]) * _KIB
    return sizes


def _read(path: str) -> bytes:
    """Return the content of a file in ``/proc``; empty if its process is gone or the file is not readable."""
    try:
        with open(path, "rb") as opened:  # noqa: PTH123
            return opened.read()
    except OSError:
        return b""
