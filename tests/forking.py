"""Processes that run ``aah``, or any code, without importing it anew: each is forked from one that has imported it.

What a crawl imports, and what it computes from files that come with it, costs more than most tests' crawls. A forked
process has its own session, environment, folder and output, as one that is started has, and runs what the installed
script runs.
"""

import atexit
import multiprocessing
import os
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerContext
from pathlib import Path
from threading import Timer
from typing import TextIO


@cache
def _forks() -> ForkServerContext:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.preloaded"])
    return context


class Forked:
    """A process of ``aah``, or of ``code`` in its place. It has what tests use of ``subprocess.Popen``."""

    def __init__(
        self, arguments: Sequence[str], environment: Mapping[str, str], cwd: Path | None = None, code: str = ""
    ) -> None:
        (runs, its_runs), (out, its_out), (err, its_err) = (_forks().Pipe(duplex=False) for _ in range(3))
        self._process = _forks().Process(
            target=_run, args=(list(arguments), dict(environment), cwd or Path.cwd(), code, its_runs, its_out, its_err)
        )
        self._process.start()
        for theirs in (its_runs, its_out, its_err):
            theirs.close()
        self.stdout, self.stderr = _text(out), _text(err)
        with runs:
            runs.recv()

    def __enter__(self) -> "Forked":
        return self

    def __exit__(self, *_: object) -> None:
        self.stdout.close()
        self.stderr.close()
        self._process.join()

    @property
    def pid(self) -> int:
        """The id of the process, and of its group."""
        assert self._process.pid is not None
        return self._process.pid

    @property
    def returncode(self) -> int:
        """The exit code of a process that has ended."""
        code = self._process.exitcode
        assert code is not None, "it runs"
        return code

    def poll(self) -> int | None:
        """Return the exit code, None while it runs."""
        return self._process.exitcode

    def send_signal(self, number: int) -> None:
        """Send a signal to the process, if it runs."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        """Ask it to end."""
        self._process.terminate()

    def kill(self) -> None:
        """End it."""
        self._process.kill()

    def wait(self) -> int:
        """Return the exit code, once it has ended."""
        self._process.join()
        return self.returncode

    def communicate(self, timeout: float) -> tuple[str, str]:
        """Return what it writes until it ends. It is killed, and ``TimeoutError`` raised, where that takes too long."""
        late = Timer(timeout, self.kill)
        late.start()
        with ThreadPoolExecutor(2) as readers:
            out, err = readers.map(lambda file: file.read(), (self.stdout, self.stderr))
        self._process.join()
        if late.finished.is_set():
            raise TimeoutError(f"it ran for {timeout} seconds: {err[-1000:]}")
        late.cancel()
        return out, err


def forked(code: str, *arguments: object) -> Forked:
    """Begin a process that runs code, which finds the arguments after the first place of ``sys.argv``."""
    return Forked(list(map(str, arguments)), os.environ, code=code)


def _text(pipe: Connection) -> TextIO:
    with pipe:
        return open(os.dup(pipe.fileno()), encoding="utf-8")  # noqa: PTH123


def _run(
    arguments: list[str],
    environment: dict[str, str],
    cwd: Path,
    code: str,
    runs: Connection,
    out: Connection,
    err: Connection,
) -> None:
    os.setsid()
    for number, pipe in enumerate((out, err), 1):
        with pipe:
            os.dup2(pipe.fileno(), number)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(cwd)
    sys.path[:0] = environment.get("PYTHONPATH", "").split(os.pathsep)
    sys.argv = ["aah", *arguments]
    with runs:
        runs.send(None)
    try:
        exec(code or "from aahcrawler import cli\ncli.main()", {"__name__": "__main__"})  # noqa: S102
    finally:
        atexit._run_exitfuncs()  # A process that multiprocessing has forked leaves them out.
