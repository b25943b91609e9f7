"""Processes that run ``aah``, or any code, without importing it anew: each is forked from one that has imported it.

What a crawl imports, and what it computes from files that come with it, costs more than most tests' crawls. A forked
process has its own session, environment, folder and output, as one that is started has, and runs what the installed
script runs. What the program spawns in a test's own process or in that of ``aah kb`` is forked as well, and so are the
workers of a crawl.
"""

import atexit
import multiprocessing
import os
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from io import TextIOWrapper
from multiprocessing import connection, context, forkserver
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerContext, ForkServerProcess
from pathlib import Path
from threading import Timer
from types import SimpleNamespace
from typing import Any, BinaryIO


class _Spawned(ForkServerProcess):
    """A process that has the environment of the one that begins it, as a spawned one has."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._environment = dict(os.environ)

    def run(self) -> None:
        """Run what it was made for."""
        _set_environment(self._environment)
        super().run()


class _Spawning(ForkServerContext):
    Process = _Spawned


def fork_what_is_spawned() -> None:
    """Have each process that this one would spawn from now on forked, from one that has all of the project imported."""
    _forks().set_forkserver_preload(["tests.preloaded"])
    vars(context)["_concrete_contexts"]["spawn"] = _Spawning()


def share_forks() -> None:
    """Start now what processes are forked of, so that all processes share it that this one forks from now on."""
    server = vars(forkserver)["_forkserver"]
    server.ensure_running()
    # Whoever is not its parent cannot ask whether it runs.
    vars(server)["ensure_running"] = lambda: None


def _forks() -> ForkServerContext:
    return multiprocessing.get_context("forkserver")


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

    def await_end(self) -> None:
        """Wait for its end, whatever other threads ask of it."""
        connection.wait([self._process.sentinel])

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


def _text(pipe: Connection) -> TextIOWrapper:
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
    _set_environment(environment)
    os.chdir(cwd)
    sys.path[:0] = environment.get("PYTHONPATH", "").split(os.pathsep)
    sys.argv = ["aah", *arguments]
    if "--workers" in arguments or arguments[:1] == ["kb"]:
        serve_forks()
        _fork_workers()
    with runs:
        runs.send(None)
    try:
        exec(code or "from aahcrawler import cli\ncli.main()", {"__name__": "__main__"})  # noqa: S102
    finally:
        atexit._run_exitfuncs()  # A process that multiprocessing has forked leaves them out.


def _set_environment(environment: Mapping[str, str]) -> None:
    """Have this process have an environment, and look itself for what that brings."""
    from aahcrawler.documents.formats import added_formats

    os.environ.clear()
    os.environ.update(environment)
    if "PYTHONPATH" in environment:
        added_formats.cache_clear()


class _Worker:
    """A worker of a crawl. It has what a supervisor uses of ``subprocess.Popen``."""

    def __init__(
        self, command: Sequence[str], *, stdin: int, stdout: BinaryIO, stderr: BinaryIO, env: Mapping[str, str]
    ) -> None:
        assert stdin == subprocess.PIPE
        reading, writing = os.pipe()
        self.stdin = open(writing, "wb", buffering=0)  # noqa: PTH123, SIM115 - it is open as long as the worker runs
        arguments = list(command[command.index("aahcrawler.cli") + 1 :])
        files = [Connection(number) for number in (reading, os.dup(stdout.fileno()), os.dup(stderr.fileno()))]
        self._process = _forks().Process(target=_work, args=(arguments, dict(env), files))
        self._process.start()
        for file in files:
            file.close()

    @property
    def pid(self) -> int | None:
        """The id of the process."""
        return self._process.pid

    @property
    def returncode(self) -> int | None:
        """The exit code, None while it runs."""
        return self._process.exitcode

    def poll(self) -> int | None:
        """Return the exit code, None while it runs."""
        return self._process.exitcode


def serve_forks() -> None:
    """Have what this process spawns forked from one that is as this one is now, in its session and group."""
    address = vars(connection)["arbitrary_address"]("AF_UNIX")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(address)
        listener.listen()
        alive, held = os.pipe()
        pid = os.fork()
        if pid == 0:
            try:
                os.close(held)
                forkserver.main(listener.fileno(), alive, [])
            finally:
                os._exit(0)
    os.close(alive)
    server = vars(forkserver._forkserver)
    server.update(_forkserver_address=address, _forkserver_alive_fd=held, _forkserver_pid=pid)
    vars(context)["_concrete_contexts"]["spawn"] = _Spawning()


def _fork_workers() -> None:
    """Have workers of crawls forked that this process would start."""
    from aahcrawler.crawl.cluster import supervisor

    vars(supervisor)["subprocess"] = SimpleNamespace(Popen=_Worker, PIPE=subprocess.PIPE)


def _work(arguments: list[str], environment: dict[str, str], files: Sequence[Connection]) -> None:
    from aahcrawler import cli

    for number, file in enumerate(files):
        with file:
            os.dup2(file.fileno(), number)
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115 - multiprocessing has set another one
    _set_environment(environment)
    sys.argv = ["aah", *arguments]
    try:
        cli.main()
    finally:
        atexit._run_exitfuncs()
