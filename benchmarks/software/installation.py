"""Real applications, each with its environment in ``.cache/software``, which is made on first use."""

import os
import shutil
import subprocess
import time
import urllib.error
import urllib.request
import venv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchmarks.recorded import PROJECT
from benchmarks.software.content import Place, read_places
from benchmarks.software.site import PLACES

ENVIRONMENTS: Final = PROJECT / ".cache" / "software"
REQUIREMENTS: Final = Path(__file__).with_name("requirements")
_STARTS_WITHIN: Final = 60.0
INSTALLS_WITHIN: Final = 1200.0
FILLS_WITHIN: Final = 1800.0


class InstallationError(Exception):
    """An application cannot be installed, filled or started; the message says why."""


@dataclass(frozen=True, slots=True)
class Application:
    """A real application: ``name`` is also that of its module in `benchmarks.software.sites`.

    It has a virtual environment with the pinned packages of its file in ``requirements``, and pinned packages of npm;
    ``programs`` are those of the system that it needs besides. A page of a thread shows ``page_size`` posts.
    """

    name: str
    kind: str
    page_size: int
    node: Sequence[str] = ()
    programs: Sequence[str] = ()

    def install(self) -> Path:
        """Make the environment if it is missing; return the interpreter that runs the application's module.

        Raises ``InstallationError`` with the installer's output, or with the name of a missing program.
        """
        require(self.programs)
        return installed(self.name, REQUIREMENTS / f"{self.name}.txt", self.node)

    def run(self, command: str, home: Path, argument: Path) -> Mapping[str, Place]:
        """Run the module's ``create`` or ``edit`` on a site in ``home``; return the place of each post by its id."""
        run_command([*self._command(command, home), argument], FILLS_WITHIN)
        return read_places(home / PLACES)

    @contextmanager
    def serving(self, home: Path, port: int) -> Iterator[None]:
        """Serve a site on a port of loopback until the block ends.

        Raises ``InstallationError`` if the server does not start.
        """
        with served([*self._command("serve", home), str(port)], home, port, home / "server.log"):
            yield

    def _command(self, command: str, home: Path) -> list[str]:
        return [
            str(ENVIRONMENTS / self.name / "bin" / "python"),
            "-m",
            "benchmarks.software.site",
            self.name,
            command,
            str(home),
        ]


@contextmanager
def served(command: Sequence[str], folder: Path, port: int, said: Path) -> Iterator[None]:
    """Run a command that serves on a port of loopback until the block ends; its output is appended to a file.

    Raises ``InstallationError`` if nothing responds.
    """
    with said.open("ab") as log:
        process = subprocess.Popen(command, cwd=folder, env=environment(), stdout=log, stderr=log)
        try:
            wait_for(port, process, said)
            yield
        finally:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def installed(name: str, requirements: Path, node: Sequence[str], package: Path | None = None) -> Path:
    """Make the environment with a name if it is missing; return its interpreter.

    It has the pinned packages of a file of requirements, if there is one, and packages of npm: the given ones or those
    of a ``package.json``. Raises ``InstallationError`` with the installer's output.
    """
    folder = ENVIRONMENTS / name
    interpreter, made = folder / "bin" / "python", folder / "made"
    files = [file.read_text("utf-8") if file is not None and file.is_file() else "" for file in (requirements, package)]
    pins = "\n".join((*filter(None, files), *node))
    if made.is_file() and made.read_text("utf-8") == pins:
        return interpreter
    shutil.rmtree(folder, ignore_errors=True)
    venv.create(folder, with_pip=True)
    if requirements.is_file():
        run_command([interpreter, "-I", "-m", "pip", "install", "-q", "-r", requirements], INSTALLS_WITHIN)
    if package is not None:
        shutil.copy(package, folder / "package.json")
    if node or package is not None:
        npm: list[str | Path] = ["npm", "install", "--prefix", folder, "--ignore-scripts", "--no-audit", "--no-fund"]
        run_command([*npm, *node], INSTALLS_WITHIN)
    made.write_text(pins, "utf-8")
    return interpreter


def require(programs: Iterable[str]) -> None:
    """Raise ``InstallationError`` if a program of the system is missing."""
    if missing := [name for name in programs if shutil.which(name) is None]:
        raise InstallationError(f"not installed: {', '.join(missing)}; install the packages of the system of that name")


def environment() -> dict[str, str]:
    """Return the environment that applications run in."""
    return {**os.environ, "PYTHONPATH": str(PROJECT), "PYTHONWARNINGS": "ignore", "TZ": "UTC"}


def run_command(command: Sequence[str | Path], within: float, cwd: Path | None = None) -> None:
    """Run a command, in a folder if one is given; raise ``InstallationError`` with its output if it fails."""
    try:
        finished = subprocess.run(
            list(map(str, command)),
            env=environment(),
            capture_output=True,
            text=True,
            timeout=within,
            check=False,
            cwd=cwd,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise InstallationError(str(error)) from error
    if finished.returncode:
        raise InstallationError((finished.stderr or finished.stdout).strip()[-500:])


def wait_for(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    """Wait until something responds on a port of loopback; raise ``InstallationError`` if that takes too long."""
    until = time.monotonic() + _STARTS_WITHIN
    while process.poll() is None and time.monotonic() < until:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=_STARTS_WITHIN):
                return
        except urllib.error.HTTPError:
            return
        except OSError:
            time.sleep(0.1)
    raise InstallationError(f"the server did not start:\n{log.read_text('utf-8', errors='replace')[-2000:]}")


APPLICATIONS: Final = (
    Application("spirit", "forum", 10),
    Application("mezzanine", "blog with comments", 10),
    Application("eleventy", "static site with comments", 10, node=("@11ty/eleventy@3.1.8",)),
)
