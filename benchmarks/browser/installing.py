"""Environments of what the benchmark installs: in ``.cache/software``, each by its own pins in ``requirements``."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from benchmarks.recorded import PROJECT
from benchmarks.software.installation import ENVIRONMENTS, InstallationError, installed, wait_for

_REQUIREMENTS: Final = Path(__file__).with_name("requirements")
_RUNS_WITHIN: Final = 300.0


def environment(name: str) -> Path:
    """Make the environment of a name where it is not there; return its folder.

    ``requirements/NAME.txt`` pins packages of PyPI, ``requirements/NAME.json`` is a ``package.json``. Raises
    ``InstallationError``.
    """
    package = _REQUIREMENTS / f"{name}.json"
    if package.is_file() and (shutil.which("npm") is None or shutil.which("node") is None):
        raise InstallationError(f"{name} needs node and npm: install Debian's packages nodejs and npm")
    installed(name, _REQUIREMENTS / f"{name}.txt", (), package if package.is_file() else None)
    return ENVIRONMENTS / name


def run_module(folder: Path, module: str, *arguments: str | Path) -> None:
    """Run a module of the benchmark by the interpreter of an environment. Raises ``InstallationError``."""
    command = [str(folder / "bin" / "python"), "-m", module, *map(str, arguments)]
    settings = {**os.environ, "PYTHONPATH": str(PROJECT), "TZ": "UTC"}
    done = subprocess.run(command, env=settings, capture_output=True, text=True, timeout=_RUNS_WITHIN, check=False)
    if done.returncode:
        raise InstallationError(f"{module} ended with {done.returncode}: {done.stderr.strip()[-500:]}")


@contextmanager
def served(command: Sequence[str | Path], port: int, folder: Path) -> Iterator[None]:
    """Run a server that is to listen on a port of loopback until the block ends. Raises ``InstallationError``."""
    log = folder / "server.log"
    settings = {**os.environ, "TZ": "UTC", "NO_COLOR": "1"}
    with log.open("ab") as said:
        process = subprocess.Popen(list(map(str, command)), cwd=folder, env=settings, stdout=said, stderr=said)
    try:
        wait_for(port, process, log)
        yield
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            print(f"{command[0]} does not end, and is killed", file=sys.stderr)
            process.kill()
            process.wait()
