"""Processes of ``aah`` that a service starts: one runs a crawl, one reports progress."""

import json
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from subprocess import Popen
from typing import Any, Final

from aahcrawler.crawls import Started, last_start
from aahcrawler.layout import START_LOG
from aahcrawler.segments import private
from aahcrawler.service.catalog.crawl_registry import KnowledgeFolders
from aahcrawler.service.web.problems import CONFLICT, NOT_STARTED, ProblemError

MAX_SECONDS: Final = 900.0
"""Seconds after which a process is ended."""
MAX_MEMORY: Final = 4 << 30
"""Bytes of address space that a process may take."""
MAX_REPORTED_LINES: Final = 5_000
MAX_LINE_LENGTH: Final = 4 << 20
"""Bytes of one line; a process that writes a longer one is ended."""
_MAX_ERROR_LENGTH: Final = 4_000


class ReportingProcess:
    """A process of ``aah`` that reports in lines of JSON; it starts when the object is made.

    It is killed after 15 minutes, or after ``seconds``, and if it exceeds its memory or a line's length. Any thread may
    kill it.
    """

    def __init__(
        self, arguments: Sequence[str], folder: Path, environment: Mapping[str, str], seconds: float | None = None
    ) -> None:
        """Start ``aah`` with these arguments in a folder; ``environment`` is added to the service's."""
        self._seconds = MAX_SECONDS if seconds is None else seconds
        self._process = subprocess.Popen(
            [sys.executable, "-m", "aahcrawler.cli", *arguments],
            cwd=folder,
            env={**os.environ, **environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        with suppress(ProcessLookupError):  # It may have ended already.
            resource.prlimit(self._process.pid, resource.RLIMIT_AS, (MAX_MEMORY, MAX_MEMORY))
        self._problem = ""

    @property
    def problem(self) -> str:
        """Its output that is no JSON, or why it was killed; empty if neither."""
        return self._problem

    @property
    def exit_code(self) -> int | None:
        """Its exit code, None while it runs."""
        return self._process.poll()

    def kill(self) -> None:
        """Kill it now."""
        self._process.kill()

    def told(self) -> Iterator[Mapping[str, Any]]:
        """Yield the reported objects, and wait for the end. If the generator is closed, the process is killed."""
        guard = threading.Timer(self._seconds, self._give_up, (f"it took longer than {self._seconds:g} seconds",))
        guard.daemon = True
        guard.start()
        try:
            with self._process:
                try:
                    yield from self._objects()
                finally:
                    self._process.kill()
        finally:
            guard.cancel()

    def _objects(self) -> Iterator[Mapping[str, Any]]:
        assert self._process.stdout is not None  # noqa: S101 (it was asked for)
        for _ in range(MAX_REPORTED_LINES):
            line = self._process.stdout.readline(MAX_LINE_LENGTH)
            if not line:
                self._process.wait()
                return
            if len(line) == MAX_LINE_LENGTH:
                return self._give_up("it wrote a line that is too long")
            told = _object(line)
            if told is not None:
                yield told
            else:
                self._note(line.decode("utf-8", "replace"))
        self._give_up("it wrote too many lines")

    def _give_up(self, why: str) -> None:
        self._note(why)
        self._process.kill()

    def _note(self, said: str) -> None:
        self._problem = f"{self._problem} {said.strip()}"[:_MAX_ERROR_LENGTH].strip()


def _object(line: bytes) -> Mapping[str, Any] | None:
    try:
        told = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return told if isinstance(told, dict) else None


PATIENCE: Final = 30.0
"""Seconds for which a crawl that is started is watched before whoever asked is answered."""
MAX_LINES: Final = 50
"""Lines of what a crawl said that did not start that are given back."""
_MAX_LINE_LENGTH = 1000
_READ = 1 << 16
_LOOK_EVERY = 0.1
_MISTAKE = (1, 2)
"""Exit codes of ``aah crawl`` that say that nothing was begun, or that it failed."""
_SECRET = "AAH_SERVICE_TOKEN"  # noqa: S105 (the name of a variable)


@dataclass(frozen=True, slots=True)
class Launched:
    """A started process: its exit code, None while it runs, and its output so far.

    ``open`` is True once the crawl has opened its folder.
    """

    pid: int
    code: int | None
    lines: tuple[str, ...]
    open: bool


class Processes:
    """Starts and ends the processes of crawls. Thread-safe."""

    def __init__(self, knowledge: Callable[[], KnowledgeFolders], patience: float = PATIENCE) -> None:
        """Take ``knowledge``, which returns the folders of the knowledge base that crawls use."""
        self._knowledge = knowledge
        self._patience = patience
        self._asked: dict[tuple[str, int], float] = {}
        self._starting: set[str] = set()
        self._lock = threading.Lock()

    def end(self, crawl: str, process: Started) -> bool:
        """Ask a process to end in good order, as Ctrl-C does; return False if it was asked before.

        A second signal would end it at once, so it is never sent. Raise ``ProblemError`` if the signal is not
        permitted.
        """
        known = crawl, process.pid
        with self._lock:
            if known in self._asked:
                return False
            self._asked[known] = time.monotonic()
        try:
            os.kill(process.pid, signal.SIGINT)
        except ProcessLookupError:
            return True
        except PermissionError:
            with self._lock:
                self._asked.pop(known, None)
            raise ProblemError(
                CONFLICT, f"process {process.pid} is another user's: stop the crawl where it was started, with Ctrl-C"
            ) from None
        return True

    @contextmanager
    def starting(self, crawl: str) -> Iterator[None]:
        """Prevent others from starting the same crawl. Raise ``ProblemError`` if it is being started."""
        with self._lock:
            if crawl in self._starting:
                raise ProblemError(CONFLICT, f"{crawl} is just being started; wait for that")
            self._starting.add(crawl)
        try:
            yield
        finally:
            with self._lock:
                self._starting.discard(crawl)

    def launch(self, folder: Path, arguments: Sequence[str], working_folder: Path) -> Launched:
        """Start ``aah`` in a session of its own, so that it outlives this process, and watch it for some seconds.

        Its output goes to a file in the folder. Raise ``ProblemError`` if it cannot be started.
        """
        environment = {name: value for name, value in os.environ.items() if name != _SECRET}
        environment |= self._knowledge().environment
        path = folder / START_LOG
        try:
            with open(path, "ab", opener=private) as log:
                said_before = log.seek(0, os.SEEK_END)
                process = Popen(
                    [sys.executable, "-m", "aahcrawler.cli", *arguments],
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    cwd=working_folder,
                    env=environment,
                    start_new_session=True,
                )
        except OSError as error:
            raise ProblemError(NOT_STARTED, f"{path.name} cannot be written, or no process started: {error}") from error
        with self._lock:  # Another process may have had its number.
            self._asked = {known: at for known, at in self._asked.items() if known[1] != process.pid}
        # It is waited for, so that nothing is left of it in the system's table when it ends.
        threading.Thread(target=process.wait, daemon=True, name=f"crawl {process.pid}").start()
        deadline = time.monotonic() + self._patience
        while process.returncode is None and time.monotonic() < deadline and not _is_open(folder, process.pid):
            time.sleep(_LOOK_EVERY)
        code = process.returncode
        return Launched(process.pid, code, _said(path, said_before), _is_open(folder, process.pid))


def failure(launched: Launched) -> ProblemError | None:
    """Return why a process failed to begin, in its own words; None if it runs or ended well."""
    if launched.code is None or launched.code not in _MISTAKE:
        return None
    said = launched.lines[-1] if launched.lines else "it said nothing"
    return ProblemError(NOT_STARTED, f"the crawl did not start: {said}", lines=launched.lines)


def _is_open(folder: Path, pid: int) -> bool:
    found = last_start(folder)
    return found is not None and found.pid == pid


def _said(path: Path, begin: int) -> tuple[str, ...]:
    """Return the last lines of a file from offset ``begin`` on, without control characters."""
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(begin, size - _READ))
        lines = file.read(_READ).decode("utf-8", "replace").splitlines()
    plain = ("".join(sign for sign in line if sign.isprintable())[:_MAX_LINE_LENGTH] for line in lines)
    return tuple(line for line in plain if line.strip())[-MAX_LINES:]
