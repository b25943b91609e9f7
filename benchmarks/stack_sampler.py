"""Runs a module as a program, and writes where its processor time went.

    python -m benchmarks.stack_sampler OUT.json MODULE [ARGUMENT ...]

``OUT.json`` holds ``seconds``, all processor time that the process used, and ``stacks``: pairs of the modules of a
stack, innermost first, each named once for calls within it, and the seconds found in it. A timer that runs with
processor time looks every few milliseconds at the stacks of all threads, and gives each the time that its thread has
used since. Garbage collection is timed for itself, as a module ``gc`` that was called where it happened; what was used
before the first look is ``interpreter``, and by threads that no look found ``unseen``.
"""

import gc
import json
import runpy
import signal
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

EVERY = 0.002
"""Seconds of processor time between two samples; kernels may round them up."""
COLLECTION = "gc"
INTERPRETER = ("interpreter",)
UNSEEN = ("unseen",)

Stack = tuple[str, ...]


def modules(frame: FrameType | None) -> Iterator[str]:
    """Yield the modules of a stack, innermost first, each once for calls within it."""
    last = ""
    while frame is not None:
        name = frame.f_globals.get("__name__") or ""
        if name != last:
            yield name
        last, frame = name, frame.f_back


class Sampler:
    """Counts processor time by stack."""

    def __init__(self) -> None:
        self._seconds: defaultdict[Stack, float] = defaultdict(float, {INTERPRETER: time.process_time()})
        self._used: dict[int, float] = {}
        self._main = threading.get_ident()
        self._collecting = 0.0

    def start(self) -> None:
        """Begin to sample."""
        self._used = _clocks(sys._current_frames())  # noqa: SLF001
        gc.callbacks.append(self._collected)
        signal.signal(signal.SIGPROF, self._look)
        signal.setitimer(signal.ITIMER_PROF, EVERY, EVERY)

    def stop(self) -> None:
        """Stop sampling."""
        signal.setitimer(signal.ITIMER_PROF, 0)
        gc.callbacks.remove(self._collected)

    def result(self) -> dict[str, Any]:
        """Return the counts in the form of the output file."""
        seconds = time.process_time()
        self._seconds[UNSEEN] += max(0.0, seconds - sum(self._seconds.values()))
        return {"seconds": seconds, "stacks": [[list(stack), found] for stack, found in self._seconds.items()]}

    def _look(self, _number: int, here: FrameType | None) -> None:
        frames: dict[int, FrameType | None] = {**sys._current_frames(), self._main: here}  # noqa: SLF001
        used = _clocks(frames)
        for thread, now in used.items():
            spent = now - self._used.get(thread, 0.0)
            if spent > 0:
                self._seconds[tuple(modules(frames[thread]))] += spent
        self._used = used

    def _collected(self, phase: str, _information: dict[str, int]) -> None:
        """Time a garbage collection, and subtract its time from the thread in which it ran."""
        if phase == "start":
            self._collecting = time.thread_time()
            return
        spent, thread = time.thread_time() - self._collecting, threading.get_ident()
        self._seconds[COLLECTION, *modules(sys._getframe(1))] += spent  # noqa: SLF001
        self._used[thread] = self._used.get(thread, 0.0) + spent


def _clocks(threads: Iterable[int]) -> dict[int, float]:
    """Return the processor time of each thread, while all of them wait for the interpreter."""
    return {thread: time.clock_gettime(time.pthread_getcpuclockid(thread)) for thread in threads}


def main() -> None:
    """Run a module, and write what it used, even if it fails."""
    target, module, *arguments = sys.argv[1:]
    sys.argv = [module, *arguments]
    sampler = Sampler()
    sampler.start()
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    finally:
        sampler.stop()
        Path(target).write_text(json.dumps(sampler.result()), "utf-8")


if __name__ == "__main__":
    main()
