"""Do work in a copy of this process, which is ended by the clock whatever the work is busy with.

A copy knows all that this process knows, so that nothing has to be sent to it. What it learns ends with it: its result
is all that comes back.
"""

import ctypes
import fcntl
import gc
import io
import logging
import os
import pickle
import resource
import select
import signal
import stat
import time
import warnings
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Generic, TypeVar

from aahcrawler.page.failed_stages import is_of_machine, told

T = TypeVar("T")

_PIECE: Final = 1 << 20
_SOON: Final = 5
"""Seconds after which a copy ends itself whose parent did not."""
_PR_SET_PDEATHSIG: Final = 1
_prctl: Final = getattr(ctypes.CDLL(None), "prctl", None)


class WorkEndedError(Exception):
    """Work was ended before it came to its end: its message says by what."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """What work may take: seconds of processor time, seconds of any kind, and bytes of memory beyond what is there."""

    processor: int = 60
    seconds: float = 300.0
    memory: int = 1 << 30


class ForkedWork(Generic[T]):
    """Work under way in a copy of this process; ``result`` waits for it, in any thread, and is to be called once.

    ``shared`` are values that the result may refer to: these themselves are returned, and no copies.
    """

    def __init__(self, work: Callable[[], T], shared: Iterable[object] = (), bounds: Bounds | None = None) -> None:
        self._bounds = bounds or Bounds()
        self._shared = {id(each): each for each in shared}
        self._until = time.monotonic() + self._bounds.seconds
        self._reading, writing = os.pipe()
        parent = os.getpid()
        self._child = _fork()
        if self._child == 0:
            _end_with(parent)
            _run(work, writing, self._shared, self._bounds)
        os.close(writing)

    def result(self) -> T:
        """Return the result of the work, or raise what it raised; ``WorkEndedError`` where it was ended."""
        with os.fdopen(self._reading, "rb", buffering=0) as pipe:
            answer = _answer(pipe, self._until)
        if answer is None:
            self.end()
        _, status = os.waitpid(self._child, 0)
        self._child = 0
        if answer is None:
            raise WorkEndedError(f"it took more than {self._bounds.seconds:g} seconds, and was ended")
        if os.WIFSIGNALED(status) or not answer:
            raise WorkEndedError(_how(status, self._bounds))
        is_done, value = _Reader(io.BytesIO(answer), self._shared).load()
        if not is_done:
            raise value
        found: T = value
        return found

    def end(self) -> None:
        """End the work, so that ``result`` raises."""
        if self._child:
            os.kill(self._child, signal.SIGKILL)


def _fork() -> int:
    """Fork; in the copy no signal has been taken for this process's loop when this returns."""
    everything = set(signal.valid_signals())
    before = signal.pthread_sigmask(signal.SIG_BLOCK, everything)
    try:
        with warnings.catch_warnings():
            # The copy takes no lock that another thread may hold, and is ended by the clock if it did.
            warnings.simplefilter("ignore", DeprecationWarning)
            child = os.fork()
        if child == 0:
            _lone()
        return child
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _end_with(parent: int) -> None:
    """Have the kernel end a copy with its parent (prctl(2)), where it can; else the copy's own clock does."""
    if _prctl is not None:
        _prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
    if os.getppid() != parent:
        os._exit(0)


def _lone() -> None:
    """Have a copy react to signals by itself: those of a terminal are for its parent."""
    signal.set_wakeup_fd(-1)
    for each in (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(each, signal.SIG_IGN)
    for each in (signal.SIGTERM, signal.SIGALRM, signal.SIGXCPU, signal.SIGCHLD, signal.SIGVTALRM):
        signal.signal(each, signal.SIG_DFL)


def _run(work: Callable[[], object], writing: int, shared: Mapping[int, object], bounds: Bounds) -> None:
    """Do the work in the copy and send its result; end it without anything that its parent would do at its end."""
    try:
        gc.disable()  # It would touch, and so copy, all that is there.
        logging.disable()
        _let_go(writing)
        _bind(bounds)
        answer = _packed(work, shared)
        with os.fdopen(writing, "wb") as pipe:
            pipe.write(answer)
    finally:
        os._exit(0)


def _let_go(writing: int) -> None:
    """Close what is open but for files to read from: a lock, or a connection, is held as long as anybody has it."""
    for descriptor in (int(each.name) for each in tuple(Path("/proc/self/fd").iterdir())):
        if descriptor > 2 and descriptor != writing and not _is_read_alone(descriptor):
            with suppress(OSError):
                os.close(descriptor)


def _is_read_alone(descriptor: int) -> bool:
    try:
        mode = fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_ACCMODE
        return mode == os.O_RDONLY and stat.S_ISREG(os.fstat(descriptor).st_mode)
    except OSError:  # The one that listed them.
        return False


def _bind(bounds: Bounds) -> None:
    signal.setitimer(signal.ITIMER_REAL, bounds.seconds + _SOON)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (bounds.processor, bounds.processor + _SOON))
    taken = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * resource.getpagesize()
    _, most = resource.getrlimit(resource.RLIMIT_AS)
    wanted = taken + bounds.memory
    if most == resource.RLIM_INFINITY or wanted < most:
        resource.setrlimit(resource.RLIMIT_AS, (wanted, most))


def _packed(work: Callable[[], object], shared: Mapping[int, object]) -> bytes:
    try:
        return _written((True, work()), shared)
    except MemoryError:
        return _written((False, WorkEndedError("it took more memory than it may, and was ended")), shared)
    except Exception as error:
        if isinstance(error, OSError) and is_of_machine(error):
            return _written((False, OSError(error.errno, told(error))), shared)
        return _written((False, RuntimeError(told(error))), shared)


def _written(value: object, shared: Mapping[int, object]) -> bytes:
    buffer = io.BytesIO()
    _Writer(buffer, shared).dump(value)
    return buffer.getvalue()


class _Writer(pickle.Pickler):
    """Writes shared values as where they are in memory, which is the same in a copy."""

    def __init__(self, file: io.BytesIO, shared: Mapping[int, object]) -> None:
        super().__init__(file, pickle.HIGHEST_PROTOCOL)
        self._shared = shared

    def persistent_id(self, obj: Any) -> int | None:
        return id(obj) if id(obj) in self._shared else None


class _Reader(pickle.Unpickler):
    """Reads what a copy of this process wrote."""

    def __init__(self, file: io.BytesIO, shared: Mapping[int, object]) -> None:
        super().__init__(file)
        self._shared = shared

    def persistent_load(self, pid: Any) -> object:
        return self._shared[pid]


def _answer(pipe: io.FileIO, until: float) -> bytes | None:
    """Return all that a copy sends, None where it has not come to its end in time."""
    found = bytearray()
    while (left := until - time.monotonic()) > 0:
        if not select.select([pipe], [], [], left)[0]:
            break
        piece = pipe.read(_PIECE)
        if not piece:
            return bytes(found)
        found += piece
    return None


def _how(status: int, bounds: Bounds) -> str:
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) in (signal.SIGXCPU, signal.SIGKILL):
        return f"it took more than {bounds.processor} seconds of processor time, or was told to end"
    name = signal.Signals(os.WTERMSIG(status)).name if os.WIFSIGNALED(status) else "without a word"
    return f"its process ended: {name}"
