"""A private Redis-protocol server for one crawl, its state in the crawl's folder."""

import logging
import os
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

from aahcrawler.frontier.protocol import FrontierUnavailableError
from aahcrawler.frontier.redis.redis_client import connect
from aahcrawler.frontier.server import launch
from aahcrawler.frontier.server.binary import server_binary
from aahcrawler.frontier.server.file_sync import FileSync
from aahcrawler.frontier.server.server_process import Ownership, claim, disclaim, end_orphan
from aahcrawler.segments import private

_LOG = "frontier.log"
_FILE = "frontier.aof"
_SOCKET_BYTES = 100
"""Linux takes 107 bytes, other systems 103."""
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
    "appendfilename": _FILE,
    # A server that has this done itself writes nothing to the file while the disk is slow to sync, and answers all the
    # same: where it is killed then, up to two seconds of what it has acknowledged are lost.
    "appendfsync": "no",
    "aof-use-rdb-preamble": "yes",
    # What it keeps of URLs is compressed: to try again takes three times the processor time and saves 4 % of the file.
    "rdbcompression": "no",
    "aof-load-truncated": "yes",
    "auto-aof-rewrite-percentage": "100",
    "auto-aof-rewrite-min-size": "64mb",
    "maxmemory-policy": "noeviction",
    "hash-max-ziplist-entries": "512",
    "hash-max-ziplist-value": "4096",
    "loglevel": "notice",
}
_logger = logging.getLogger(__name__)


class EmbeddedServer:
    """A server for as long as the context lasts: ``with EmbeddedServer(folder) as server: ... server.url``.

    It listens on a unix socket that only this user can reach, and on nothing else. What was acknowledged survives the
    death of any process; after a power failure at most the last second is lost: the server writes its append-only file
    before it answers, and this process forces it to the disk every second. The server has a session of its own, so
    that Ctrl-C does not reach it, and ends with the crawler's process where that is killed (Linux); one left behind
    elsewhere is ended by the next start in its folder.

    One that dies is started again by ``revive``, with the same URL.

    With ``lent`` it is not a crawl's own, but there to look at one that does not run (``server_process.lent_at``).

    The caller makes sure that no two crawls use one folder. Entering raises ``FrontierUnavailableError``, with the
    end of the server's log where it started and failed.
    """

    def __init__(self, folder: Path, *, lent: bool = False) -> None:
        self._folder = folder.resolve()
        self._lent = lent
        self._socket = Path()
        self._process: subprocess.Popen[bytes] | None = None
        self._keeper = threading.Thread()
        self._changing = threading.Lock()
        self._stopped = False

    @property
    def url(self) -> str:
        """The URL to give to ``RedisFrontier``."""
        return f"unix://{quote(str(self._socket))}"

    @property
    def pid(self) -> int | None:
        """The server's process id; None when it does not run."""
        return self._process.pid if self._process is not None and self._keeper.is_alive() else None

    def __enter__(self) -> Self:
        binary = server_binary(self._folder)
        try:
            _make_private(self._folder)
            end_orphan(self._folder)
            self._socket = _runtime_folder() / "s"
        except OSError as error:
            raise self._not_started(error) from error
        try:
            self._launch(binary)
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def revive(self) -> None:
        """Start the server again where it has died; nothing happens while it runs, or after ``stop``.

        Raise ``FrontierUnavailableError`` where it does not start.
        """
        with self._changing:
            if self._stopped or self._process is None or self._keeper.is_alive():
                return
            code = self._process.returncode
            _logger.warning(
                "the frontier's server, process %d, has died (%d); starting it again", self._process.pid, code
            )
            self._launch(server_binary(self._folder))

    def stop(self) -> None:
        """End the server once it has written everything. Calling it twice does no harm."""
        with self._changing:
            self._stopped = True
            self._end()

    def _launch(self, binary: Path) -> None:
        try:
            self._remove_leftovers()
            log_start = self._log_size()
            self._start(binary)
        except OSError as error:
            raise self._not_started(error) from error
        self._wait_until_ready(binary, log_start)
        self._report_repair(log_start)

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
        with suppress(OSError):
            self._socket.unlink(missing_ok=True)
            self._socket.parent.rmdir()
        disclaim(self._folder)

    def _start(self, binary: Path) -> None:
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
        FileSync(self._folder, _FILE).start(self._has_ended_within)
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

    def _wait_until_ready(self, binary: Path, log_start: int) -> None:
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
                    return
                time.sleep(pause)
                pause = min(pause * 1.5, 0.05)
        tail = "\n".join(list(self._log_lines(log_start))[-15:])
        raise FrontierUnavailableError(
            f"the frontier's server {binary} did not start in {self._folder}; the end of its log says:\n{tail}"
        )

    def _report_repair(self, log_start: int) -> None:
        for line in self._log_lines(log_start):
            if "Truncating the AOF" in line:
                _logger.warning("the last write to the frontier was torn and has been cut off: %s", line.strip("! "))

    def _remove_leftovers(self) -> None:
        for path in self._folder.glob("temp-*.aof"):
            path.unlink()

    def _log_size(self) -> int:
        log = self._folder / _LOG
        return log.stat().st_size if log.exists() else 0

    def _log_lines(self, start: int) -> Iterator[str]:
        with (self._folder / _LOG).open("rb") as log:
            log.seek(start)
            for line in log:
                yield line.decode(errors="replace").rstrip()


def _make_private(folder: Path) -> None:
    """Make a folder whose files nobody else may read: cookies are in them. Those that are there are closed, too."""
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o700)
    for path in folder.rglob("*"):
        if not path.is_symlink():
            path.chmod(0o700 if path.is_dir() else 0o600)


def _runtime_folder() -> Path:
    """Make a folder of mode 700 whose path leaves room for a socket's name."""
    refused: OSError | None = None
    for place in (os.environ.get("XDG_RUNTIME_DIR", ""), tempfile.gettempdir(), "/tmp"):  # noqa: S108 (mode 700)
        if not place or len(os.fsencode(place)) + len("/aah-12345678/s") > _SOCKET_BYTES:
            continue
        try:
            return Path(tempfile.mkdtemp(prefix="aah-", dir=place))
        except OSError as error:
            refused = error
    raise refused or OSError("no place for a socket: set XDG_RUNTIME_DIR to a short path of a folder you can write to")
