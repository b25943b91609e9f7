"""Proxies that others made, on loopback: tinyproxy and Squid (HTTP), Dante and microsocks (SOCKS 5)."""

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchmarks.recorded import free_port

_STARTS_WITHIN: Final = 20.0
_FOLDERS: Final = ("/usr/local/sbin", "/usr/sbin", "/sbin")
"""Where Debian has servers, which is on no user's path."""


@dataclass(frozen=True, slots=True)
class Rules:
    """What a proxy is to do: ask for a ``user`` and ``password`` unless these are empty; refuse all of loopback."""

    user: str = ""
    password: str = ""
    refuses: bool = False


Command = Callable[[Path, int, Rules], Sequence[str]]
"""Writes what a server needs into a folder, and returns the arguments by which it listens on a port, in front."""


@dataclass(frozen=True, slots=True)
class Server:
    """A program that is a proxy; ``scheme`` is that of its URL."""

    program: str
    scheme: str
    command: Command

    @property
    def path(self) -> str | None:
        """Where the program is, None where it is not installed."""
        return shutil.which(self.program, path=os.pathsep.join((os.environ.get("PATH", ""), *_FOLDERS)))

    @contextmanager
    def running(self, folder: Path, rules: Rules) -> Iterator[str]:
        """Run it until the end of the block, and yield its URL. Raise ``OSError`` where it does not start."""
        if self.path is None:
            raise FileNotFoundError(f"{self.program} is not installed")
        port = free_port()
        log = folder / f"{self.program}.log"
        with log.open("wb") as output:
            command = [self.path, *self.command(folder, port, rules)]
            process = subprocess.Popen(command, cwd=folder, stdout=output, stderr=output)
            try:
                _wait_for(port, process, log)
                yield f"{self.scheme}://127.0.0.1:{port}"
            finally:
                process.terminate()
                process.wait(_STARTS_WITHIN)


def _wait_for(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    until = time.monotonic() + _STARTS_WITHIN
    while process.poll() is None and time.monotonic() < until:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    raise OSError(f"{process.args!r} does not listen: {log.read_text('utf-8', 'replace')[-1000:]}")


def _written(folder: Path, name: str, *lines: str) -> str:
    target = folder / name
    target.write_text("".join(f"{line}\n" for line in lines if line), "utf-8")
    return str(target)


def _tinyproxy(folder: Path, port: int, rules: Rules) -> Sequence[str]:
    login = f"BasicAuth {rules.user} {rules.password}" if rules.user else ""
    refused = f'Filter "{_written(folder, "refused", "127.0.0.1")}"' if rules.refuses else ""
    lines = (f"Port {port}", "Listen 127.0.0.1", "Timeout 60", "LogLevel Warning", login, refused)
    return "-d", "-c", _written(folder, "tinyproxy.conf", *lines)


def _squid(folder: Path, port: int, rules: Rules) -> Sequence[str]:
    lines = (
        f"http_port 127.0.0.1:{port}",
        *("pid_filename none", "access_log none", "cache_log /dev/null", "cache deny all", "shutdown_lifetime 0"),
        f"http_access {'deny' if rules.refuses else 'allow'} all",
    )
    return "-N", "-f", _written(folder, "squid.conf", *lines)


def _dante(folder: Path, port: int, rules: Rules) -> Sequence[str]:
    lines = (
        *("logoutput: stderr", f"internal: 127.0.0.1 port = {port}", "external: 127.0.0.1"),
        *("clientmethod: none", "socksmethod: none", "client pass { from: 0/0 to: 0/0 }"),
        f"socks {'block' if rules.refuses else 'pass'} {{ from: 0/0 to: 0/0 }}",
    )
    return "-f", _written(folder, "danted.conf", *lines), "-p", str(folder / "danted.pid")


def _microsocks(_: Path, port: int, rules: Rules) -> Sequence[str]:
    login = ("-u", rules.user, "-P", rules.password) if rules.user else ()
    return "-i", "127.0.0.1", "-p", str(port), *login


SERVERS: Final[Mapping[str, Server]] = {
    each.program: each
    for each in (
        Server("tinyproxy", "http", _tinyproxy),
        Server("squid", "http", _squid),
        Server("danted", "socks5h", _dante),
        Server("microsocks", "socks5h", _microsocks),
    )
}
"""The servers by the names of their programs. Squid and Dante take no users here, microsocks refuses nobody."""
