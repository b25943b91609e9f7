"""Applications: what each is, and its environment in ``.cache/software``, which is made on first use."""

import os
import shutil
import subprocess
import time
import urllib.error
import urllib.request
import venv
from collections.abc import Iterator, Mapping, Sequence
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
_INSTALLS_WITHIN: Final = 1200.0
_FILLS_WITHIN: Final = 1800.0


class InstallationError(Exception):
    """Raised where an application cannot be installed, filled or started; the message tells why."""


@dataclass(frozen=True, slots=True)
class Login:
    """How members log in: the path of the form, its two fields, and the sign of a page that members see."""

    path: str
    user: str
    password: str
    sign: str


@dataclass(frozen=True, slots=True)
class Application:
    """A real application: ``name`` is also that of its module in `benchmarks.software.sites`.

    Each has a virtual environment of its own, with what its file in ``requirements`` pins, and pinned packages of npm
    beside that. A page of a thread shows ``page_size`` posts. One that is ``held_out`` is not looked at while the
    crawler is worked on. One with a ``login`` can show itself to members alone.
    """

    name: str
    kind: str
    page_size: int
    node: Sequence[str] = ()
    held_out: bool = False
    login: Login | None = None

    def install(self) -> Path:
        """Make the environment where it is not there; return the interpreter that runs the application's module.

        Raises ``InstallationError`` with what the installer said.
        """
        return installed(self.name, REQUIREMENTS / f"{self.name}.txt", self.node)

    def run(self, command: str, home: Path, argument: Path) -> Mapping[str, Place]:
        """Let the module ``create`` or ``edit`` a site in ``home``; return the place of each post by its id."""
        _run([*self._command(command, home), argument], _FILLS_WITHIN)
        return read_places(home / PLACES)

    def join(self, home: Path, member: Path) -> None:
        """Let the module register the member whose name and password a file of JSON has."""
        _run([*self._command("join", home), member], _FILLS_WITHIN)

    def end_sessions(self, home: Path) -> None:
        """Let the module forget who is logged in."""
        _run(self._command("end-sessions", home), _FILLS_WITHIN)

    @contextmanager
    def serving(self, home: Path, port: int, *, members_only: bool = False) -> Iterator[None]:
        """Serve a site on a port of loopback until the block ends, to all or to its members.

        Raises ``InstallationError`` where the server does not start.
        """
        command = self._command("serve-members" if members_only else "serve", home)
        with (home / "server.log").open("ab") as log:
            process = subprocess.Popen([*command, str(port)], cwd=home, env=_environment(), stdout=log, stderr=log)
            try:
                wait_for(port, process, home / "server.log")
                yield
            finally:
                process.terminate()
                try:
                    process.wait(10)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()

    def _command(self, command: str, home: Path) -> list[str]:
        return [
            str(ENVIRONMENTS / self.name / "bin" / "python"),
            "-m",
            "benchmarks.software.site",
            self.name,
            command,
            str(home),
        ]


def installed(name: str, requirements: Path, node: Sequence[str], package: Path | None = None) -> Path:
    """Make the environment of a name where it is not there; return its interpreter.

    It holds what a file of requirements pins, where there is one, and packages of npm beside that, or those that a
    ``package.json`` names. Raises ``InstallationError`` with what the installer said.
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
        _run([interpreter, "-I", "-m", "pip", "install", "-q", "-r", requirements], _INSTALLS_WITHIN)
    if package is not None:
        shutil.copy(package, folder / "package.json")
    if node or package is not None:
        npm: list[str | Path] = ["npm", "install", "--prefix", folder, "--ignore-scripts", "--no-audit", "--no-fund"]
        _run([*npm, *node], _INSTALLS_WITHIN)
    made.write_text(pins, "utf-8")
    return interpreter


def _environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(PROJECT), "PYTHONWARNINGS": "ignore", "TZ": "UTC"}


def _run(command: Sequence[str | Path], within: float) -> None:
    try:
        finished = subprocess.run(
            list(map(str, command)), env=_environment(), capture_output=True, text=True, timeout=within, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise InstallationError(str(error)) from error
    if finished.returncode:
        raise InstallationError((finished.stderr or finished.stdout).strip()[-500:])


def wait_for(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    """Wait until something answers on a port of loopback; raises ``InstallationError`` where nothing does for long."""
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
    Application(
        "spirit", "forum", 10, login=Login("user/login/", "username", "password", "css=a[href*='/user/logout/']")
    ),
    Application("mezzanine", "blog with comments", 10),
    Application("eleventy", "static site with comments", 10, node=("@11ty/eleventy@3.1.8",)),
    Application("askbot", "questions and answers", 10, held_out=True),
)
