"""The private Redis-protocol server of one crawl, with its state in the crawl's folder."""

import logging
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Self
from urllib.parse import quote

from redis.exceptions import BusyLoadingError, RedisError

from aahcrawler.frontier.protocol import FrontierUnavailableError, FrontierUnreadableError
from aahcrawler.frontier.redis.redis_client import connect
from aahcrawler.frontier.server import launch
from aahcrawler.frontier.server.binary import APPEND_ONLY, ServerProgram, remember, server_program
from aahcrawler.frontier.server.file_mending import Arities, FileSync, mend_commands, mend_manifest
from aahcrawler.frontier.server.server_process import Ownership, claim, disclaim, end_orphan
from aahcrawler.segments import private

_LOG = "frontier.log"
_SOCKET_BYTES = 100
"""The most bytes in the path of a socket: Linux allows 107, other systems 103."""
_CANNOT_READ = re.compile(r"reading the append only file|in RDB reading|rdb file reading failure")
_START_SECONDS = 60.0
_STOP_SECONDS = 60.0
_OPTIONS = {
    "port": "0",
    "unixsocketperm": "700",
    "databases": "1",
    "daemonize": "no",
    "set-proc-title": "no",
    "save": "",
    "appendonly": "yes",
    "appendfilename": APPEND_ONLY,
    # A server that has this done itself writes nothing to the file while the disk is slow to sync, and answers all the
    # same: where it is killed then, up to two seconds of what it has acknowledged are lost.
    "appendfsync": "no",
    "aof-use-rdb-preamble": "yes",
    # What it keeps of URLs is compressed: to try again takes three times the processor time and saves 4 % of the file.
    "rdbcompression": "no",
    "auto-aof-rewrite-percentage": "100",
    "auto-aof-rewrite-min-size": "64mb",
    "maxmemory-policy": "noeviction",
    "hash-max-ziplist-entries": "512",
    "hash-max-ziplist-value": "4096",
    "loglevel": "notice",
}
_logger = logging.getLogger(__name__)


class EmbeddedServer:
    """A server that runs within the context: ``with EmbeddedServer(folder) as server: ... server.url``.

    It listens only on a unix socket that only this user can reach. Acknowledged changes survive the death of any
    process; a power failure loses at most the last second: the server writes its append-only file before it responds,
    and this process forces it to disk every second. The server is in a session of its own, so that Ctrl-C does not
    reach it. On Linux it ends with the crawler's process if that is killed; elsewhere the next start in its folder ends
    a server left behind.

    If it dies, ``revive`` restarts it with the same URL. A damaged append-only file is cut back to its last whole
    command before the server is started (``file_mending``).

    With ``lent`` it does not serve a crawl, but people who look at the frontier of a crawl that is not running
    (``server_process.lent_at``).

    The caller ensures that no two crawls use one folder. Entering raises ``FrontierUnavailableError``, with the end of
    the server's log, if it fails to start, and ``FrontierUnreadableError`` if no installed server can read the folder's
    files.
    """

    def __init__(self, folder: Path, *, lent: bool = False) -> None:
        self._folder = folder.resolve()
        self._lent = lent
        self._socket = Path()
        self._process: subprocess.Popen[bytes] | None = None
        self._keeper = threading.Thread()
        self._syncing: threading.Thread | None = None
        self._changing = threading.Lock()
        self._stopped = False
        self._log_start = 0

    @property
    def url(self) -> str:
        """The URL to give to ``RedisFrontier``."""
        return f"unix://{quote(str(self._socket))}"

    @property
    def pid(self) -> int | None:
        """The server's process id; None if it is not running."""
        return self._process.pid if self._process is not None and self._keeper.is_alive() else None

    def __enter__(self) -> Self:
        program = server_program(self._folder)
        try:
            _make_private(self._folder)
            end_orphan(self._folder)
            self._socket = _runtime_folder() / "s"
        except OSError as error:
            raise self._not_started(error) from error
        try:
            self._launch(program)
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def revive(self) -> None:
        """Restart the server if it has died. Has no effect while it runs, or after ``stop``.

        Raises ``FrontierUnavailableError`` if it does not start.
        """
        with self._changing:
            if self._stopped or self._process is None or self._keeper.is_alive():
                return
            code = self._process.returncode
            _logger.warning(
                "the frontier's server, process %d, has died (%d); starting it again", self._process.pid, code
            )
            self._launch(server_program(self._folder))

    def stop(self) -> None:
        """End the server once it has written everything. May be called twice."""
        with self._changing:
            self._stopped = True
            self._end()

    def _launch(self, program: ServerProgram) -> None:
        try:
            self._remove_leftovers()
            mend_manifest(self._folder)
            mend_commands(self._folder, _arities, is_refused=False)
            while not self._serves(program):
                if not mend_commands(self._folder, _arities, is_refused=True):
                    raise self._unreadable(program)
            remember(self._folder, program.server)
        except OSError as error:
            raise self._not_started(error) from error

    def _serves(self, program: ServerProgram) -> bool:
        """Start the server; return True if it serves, False if it ended because it cannot read its file.

        Raises ``FrontierUnavailableError`` if it does not start for another reason.
        """
        self._log_start = self._log_size()
        self._start(program.path)
        if self._is_ready_in_time():
            self._report_repair()
            return True
        if not self._keeper.is_alive() and any(map(_CANNOT_READ.search, self._log_lines())):
            return False
        tail = "\n".join(list(self._log_lines())[-15:])
        raise FrontierUnavailableError(
            f"the frontier's server {program.path} did not start in {self._folder}; the end of its log says:\n{tail}"
        )

    def _unreadable(self, program: ServerProgram) -> FrontierUnreadableError:
        named = (found[0] for line in self._log_lines() if (found := re.search(rf"{APPEND_ONLY}[.\w]*\b", line)))
        name = next(named, APPEND_ONLY)
        return FrontierUnreadableError(
            f"the frontier's file {name} is damaged where it cannot be cut, and {program.server} cannot read it: bring "
            f"it back from a copy, or remove the folder {self._folder.name} to begin with an empty frontier; nothing "
            "of it was changed"
        )

    def _not_started(self, error: OSError) -> FrontierUnavailableError:
        return FrontierUnavailableError(
            f"the frontier's server cannot be started in {self._folder}: {error}; "
            "make room or correct the permissions, or choose another folder"
        )

    def _end(self) -> None:
        for number in (signal.SIGTERM, signal.SIGKILL):
            if self._keeper.is_alive() and self._process is not None:
                self._process.send_signal(number)
                self._keeper.join(_STOP_SECONDS)
        self._wait_for_sync()
        with suppress(OSError):
            self._socket.unlink(missing_ok=True)
            self._socket.parent.rmdir()
        disclaim(self._folder)

    def _wait_for_sync(self) -> None:
        if self._syncing is not None:
            self._syncing.join(_STOP_SECONDS)

    def _start(self, binary: Path) -> None:
        self._wait_for_sync()
        # Linux takes the end of the starting thread for the parent's death: this one lives as long as the server.
        started = threading.Event()
        failures: list[OSError] = []

        def keep() -> None:
            try:
                self._process = self._spawn(binary)
            except OSError as error:
                failures.append(error)
                return
            finally:
                started.set()
            self._process.wait()

        self._keeper = threading.Thread(target=keep, name="frontier-server", daemon=True)
        self._keeper.start()
        started.wait()
        if failures or self._process is None:
            raise failures[0]
        self._syncing = FileSync(self._folder, APPEND_ONLY, ".incr.aof").start(self._has_ended_within)
        claim(self._folder, Ownership(self._process.pid, os.getpid(), str(self._socket), self._lent))

    def _has_ended_within(self, seconds: float) -> bool:
        keeper = self._keeper
        keeper.join(seconds)
        return not keeper.is_alive()

    def _spawn(self, binary: Path) -> subprocess.Popen[bytes]:
        options = _OPTIONS | {
            "dir": str(self._folder),
            "logfile": str(self._folder / _LOG),
            "unixsocket": str(self._socket),
            # A server that truncates the file itself keeps nothing, and takes damage in the middle for the end.
            "aof-load-truncated": "yes" if (self._folder / APPEND_ONLY).is_file() else "no",
        }
        arguments = [part for name, value in options.items() for part in (f"--{name}", value)]
        launcher = [sys.executable, "-I", "-S", launch.__file__, str(os.getpid())]
        with open(self._folder / _LOG, "ab", opener=private) as log:
            return subprocess.Popen(
                [*launcher, str(binary), *arguments],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                umask=0o077,
            )

    def _is_ready_in_time(self) -> bool:
        deadline = time.monotonic() + _START_SECONDS
        pause = 0.001
        with closing(connect(self.url)) as client:
            while self._keeper.is_alive() and time.monotonic() < deadline:
                try:
                    client.ping()
                except BusyLoadingError:
                    deadline = time.monotonic() + _START_SECONDS
                except RedisError:
                    pass
                else:
                    return True
                time.sleep(pause)
                pause = min(pause * 1.5, 0.05)
        return False

    def _report_repair(self) -> None:
        for line in self._log_lines():
            if "Truncating the AOF" in line:
                _logger.warning("the last write to the frontier was torn and has been cut off: %s", line.strip("! "))

    def _remove_leftovers(self) -> None:
        for path in self._folder.glob("temp-*.aof"):
            path.unlink()

    def _log_size(self) -> int:
        log = self._folder / _LOG
        return log.stat().st_size if log.exists() else 0

    def _log_lines(self) -> Iterator[str]:
        """Yield the lines logged by the server since its last start."""
        with (self._folder / _LOG).open("rb") as log:
            log.seek(self._log_start)
            for line in log:
                yield line.decode(errors="replace").rstrip()


def _make_private(folder: Path) -> None:
    """Make a folder readable by this user only, with the files in it, because they contain cookies."""
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o700)
    for path in folder.rglob("*"):
        if not path.is_symlink():
            path.chmod(0o700 if path.is_dir() else 0o600)


def _runtime_folder() -> Path:
    """Make a folder of mode 700 whose path is short enough for a socket."""
    refused: OSError | None = None
    for place in (os.environ.get("XDG_RUNTIME_DIR", ""), tempfile.gettempdir(), "/tmp"):  # noqa: S108 (mode 700)
        if not place or len(os.fsencode(place)) + len("/aah-12345678/s") > _SOCKET_BYTES:
            continue
        try:
            return Path(tempfile.mkdtemp(prefix="aah-", dir=place))
        except OSError as error:
            refused = error
    raise refused or OSError("no place for a socket: set XDG_RUNTIME_DIR to a short path of a folder you can write to")


def _arities() -> Arities:
    """Ask an empty server for the commands it knows, and the number of their words."""
    with (
        tempfile.TemporaryDirectory() as empty,
        EmbeddedServer(Path(empty)) as server,
        closing(connect(server.url)) as client,
    ):
        return {str(name): int(command["arity"]) for name, command in client.command().items()}
