"""Read pages without holding up the event loop: large ones in a process of their own, which the clock ends.

The result is the same wherever a page is read, unless the clock ended it, which whoever asked is told.
"""

import asyncio
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
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType
from typing import Any, Final, Generic, TypeVar

from aahcrawler.crawl.lease.lease_source import StoppedError
from aahcrawler.helper import ApplicationAwareHelper
from aahcrawler.helper.links.page_links import is_long
from aahcrawler.jobs import bound_memory
from aahcrawler.page import Headers, Page
from aahcrawler.page.page import describe_error, is_of_machine
from knowledge_base.model import KnowledgeBase

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
    bound_memory(bounds.memory)


def _packed(work: Callable[[], object], shared: Mapping[int, object]) -> bytes:
    try:
        return _written((True, work()), shared)
    except MemoryError:
        return _written((False, WorkEndedError("it took more memory than it may, and was ended")), shared)
    except Exception as error:
        if isinstance(error, OSError) and is_of_machine(error):
            return _written((False, OSError(error.errno, describe_error(error))), shared)
        return _written((False, RuntimeError(describe_error(error))), shared)


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


SECONDS: Final = 1.0
"""Processor time of the loop's thread: a busy machine gives up no more than a quiet one."""
_LOOK_EVERY: Final = 0.1


class LoopHeldError(BaseException):
    """Raised within work that holds the loop for too long.

    It is no ``Exception``, so that neither a stage of the work nor a library keeps it.
    """


class LoopGuard:
    """Gives up work in the main thread between two steps of Python; in other threads it just does it.

    What runs in foreign code is given up when that returns: expressions are bounded by their cost. A signal is sent for
    every tenth of a second of processor time that this process takes (``ITIMER_VIRTUAL``).
    """

    def __init__(self, seconds: float = SECONDS) -> None:
        self._seconds = seconds
        self._end = 0.0
        self._is_on = False

    def within(self, work: Callable[[], T]) -> T:
        """Return the result of work; raise ``LoopHeldError`` where it takes too long."""
        if threading.current_thread() is not threading.main_thread():
            return work()
        before = signal.getsignal(signal.SIGVTALRM)
        try:
            try:
                self._begin()
                return work()
            finally:
                self._is_on = False
        finally:
            # Nothing is raised from here on, whatever was under way when the clock struck.
            self._is_on = False
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
            signal.signal(signal.SIGVTALRM, before)

    def _begin(self) -> None:
        self._end = time.thread_time() + self._seconds
        self._is_on = True
        signal.signal(signal.SIGVTALRM, self._look)
        signal.setitimer(signal.ITIMER_VIRTUAL, _LOOK_EVERY, _LOOK_EVERY)

    def _look(self, _: int, __: FrameType | None) -> None:
        now = time.thread_time()
        if self._is_on and now > self._end:
            self._end = now + self._seconds  # Whoever swallows it is told once more.
            raise LoopHeldError


GRACE: Final = 10.0
"""Seconds that a page which is read apart has left once the crawl is told to end."""
AT_ONCE: Final = min(2, os.cpu_count() or 1)
"""Pages that are read apart at a time: each may take as much memory as one page may."""

logger = logging.getLogger(__name__)


_FIRST: Final = Page(
    "http://localhost/",
    200,
    Headers((("Content-Type", "text/html; charset=utf-8"),)),
    b"<html><title>First page</title><article><h1>First page</h1>"
    + b"<p>Nothing is said here, at some length.</p>" * 9,
    datetime(2000, 1, 1, tzinfo=UTC),
)
"""A page that is read before all others, so that what reading needs is imported by then."""


class PageReading:
    """Does work on pages, in the loop where that is short, else beside it. ``ending`` is set when the crawl ends."""

    def __init__(self, ending: asyncio.Event, bounds: Bounds | None = None, guard: LoopGuard | None = None) -> None:
        self._ending = ending
        self._bounds = bounds or Bounds()
        self._guard = guard or LoopGuard()
        self._places = asyncio.Semaphore(AT_ONCE)
        self._prepared: asyncio.Future[None] | None = None

    async def of(
        self,
        page: Page,
        work: Callable[[Page], T],
        shared: Iterable[object] = (),
        learn: Callable[[T], None] = lambda _: None,
    ) -> T:
        """Return the result of work on a page, or raise what it raises.

        ``shared`` are values of this process that the result may refer to. ``learn`` is called with a result that comes
        from another process, which has taught this one nothing. Raise ``WorkEndedError`` where the clock ended it, and
        ``StoppedError`` where the crawl ended before it did.
        """
        prepared = self._prepared = self._prepared or asyncio.ensure_future(asyncio.to_thread(_prepare))
        if not prepared.done():
            await asyncio.wait((prepared,))
        if not page.once(is_long):
            with suppress(LoopHeldError):
                return self._guard.within(lambda: work(page))
            logger.info("%s: it takes long to be read, and is read apart", page.url)
        fresh = replace(page)  # Without what work that was given up has left of it.
        async with self._places:
            found = await self._apart(lambda: work(fresh), shared)
        learn(found)
        return found

    async def _apart(self, work: Callable[[], T], shared: Iterable[object]) -> T:
        if self._ending.is_set():
            raise StoppedError
        forked = ForkedWork(work, shared, self._bounds)
        reading = asyncio.ensure_future(asyncio.to_thread(forked.result))
        ending = asyncio.ensure_future(self._ending.wait())
        try:
            await asyncio.wait((reading, ending), return_when=asyncio.FIRST_COMPLETED)
            if not reading.done():
                await asyncio.wait((reading,), timeout=GRACE)
            if not reading.done():
                raise StoppedError
            return reading.result()
        finally:
            ending.cancel()
            if not reading.done():
                forked.end()
                await asyncio.wait((reading,))
                reading.exception()  # What it ended with after that is nobody's concern.


def _prepare() -> None:
    """Import what reading needs: in the loop that would take long, and in each process of a page anew."""
    ApplicationAwareHelper(KnowledgeBase(())).assist(_FIRST)
