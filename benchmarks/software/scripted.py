"""Applications that scripts outside of the project build, crawled with and without their entries.

The folder of scripts holds ``sites``, which build the applications below a place that stands for ``@HERE@``, and
``icd/NAME.yaml``, whose seed says where a crawl begins. They are copied for each measurement, with their places filled
in; ``truth/NAME.json`` is what a script says that it has filled its application with.
"""

import json
import os
import shutil
import sys
import tarfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import yaml

from benchmarks.recorded import PROJECT, free_port
from benchmarks.results import Row
from benchmarks.software.front import Front
from benchmarks.software.installation import (
    ENVIRONMENTS,
    FILLS_WITHIN,
    INSTALLS_WITHIN,
    REQUIREMENTS,
    InstallationError,
    installed,
    require,
    run_command,
    served,
)
from benchmarks.software.measuring import Case, Crawlable, Plan, crawl, keep
from benchmarks.software.scorer import Described, TrueObjects
from knowledge_base.file_selection import SHIPPED

SCRIPTS: Final = PROJECT.parent / "shared" / "software"
"""The folder of scripts where none is named."""
_SERVANT: Final = "nobody"
"""As whom a server runs that refuses to run as root."""
_TEXTS: Final = frozenset({".py", ".sh", ".yaml"})


@dataclass(frozen=True, slots=True)
class Scripted:
    """An application that a script builds.

    ``environments`` are the folders that the script expects beside it, each with the name of an environment in
    `ENVIRONMENTS`. The command that ``fills`` it, and the one that ``serves`` it on ``{port}``, run in the copy of the
    folder, the latter in ``serves_in``. ``sources`` is what the script wants as an unpacked source distribution.
    ``entry`` is the name of the file of the knowledge base that describes it, empty if none does.
    """

    name: str
    fills: Sequence[str]
    serves: Sequence[str]
    environments: Mapping[str, str]
    entry: str = ""
    programs: Sequence[str] = ()
    serves_in: str = "."
    sources: str = ""
    unprivileged: str = ""
    """A folder that the server writes to, if it refuses to run as root."""


SCRIPTED: Final = (
    Scripted(
        "roundup",
        ("trac/bin/python", "sites/roundup_populate.py"),
        ("trac/bin/roundup-server", "-p", "{port}", "-n", "127.0.0.1", "works=roundup-home"),
        {"trac": "trackers"},
        entry="roundup",
        unprivileged="roundup-home",
    ),
    Scripted(
        "trac",
        ("trac/bin/python", "sites/trac_populate.py"),
        ("trac/bin/tracd", "-s", "-p", "{port}", "--hostname", "127.0.0.1", "trac-env"),
        {"trac": "trackers"},
        entry="trac",
    ),
    Scripted(
        "hyperkitty",
        ("sh", "sites/hyperkitty.sh"),
        (
            "{here}/hk/bin/python",
            "manage.py",
            "runserver",
            "--settings",
            "settings_run",
            "--noreload",
            "--insecure",
            "127.0.0.1:{port}",
        ),
        {"hk": "hyperkitty"},
        entry="hyperkitty",
        programs=("sassc",),
        serves_in="hkx/hyperkitty-1.3.12/example_project",
        sources="HyperKitty==1.3.12",
    ),
    Scripted(
        "mhonarc",
        ("sh", "sites/mhonarc.sh"),
        (sys.executable, "serve_static.py", "mhonarc/out", "{port}"),
        {},
        entry="mhonarc",
        programs=("mhonarc",),
    ),
    Scripted(
        "sigal",
        ("trac/bin/python", "sites/sigal_populate.py", "photoswipe"),
        (sys.executable, "serve_static.py", "sig/out", "{port}"),
        {"trac": "trackers"},
    ),
)


@dataclass(frozen=True)
class ScriptedSite(Crawlable):
    """An application that scripts have built."""

    application: Scripted

    @property
    def name(self) -> str:
        """The name of the application."""
        return self.application.name

    @property
    def here(self) -> Path:
        """The copy of the scripts, with all that they have built."""
        return self.folder / "here"

    @property
    def seed(self) -> str:
        """The URL that the definition beside the scripts begins with, behind the front."""
        definition = yaml.safe_load((self.here / "icd" / f"{self.name}.yaml").read_text("utf-8"))
        return self.front.url.rstrip("/") + (urlsplit(definition["seeds"][0]).path or "/")

    @cached_property
    def true(self) -> TrueObjects:
        """What the script has filled the application with."""
        said = json.loads((self.here / "truth" / f"{self.name}.json").read_text("utf-8"))
        items = said["items"] if isinstance(said, dict) else said
        return TrueObjects(described(number, item) for number, item in enumerate(items))

    @contextmanager
    def serving(self) -> Iterator[None]:
        """Serve the application until the block ends."""
        command = [part.format(port=self.backend, here=self.here) for part in self.application.serves]
        if self.application.unprivileged and os.geteuid() == 0:
            _hand_over(self.here / self.application.unprivileged, self.folder)
            command[1:1] = ["-u", _SERVANT]
        with served(command, self.here / self.application.serves_in, self.backend, self.folder / "server.log"):
            yield


def described(number: int, item: Mapping[str, Any]) -> Described:
    """Return an item of a script's truth; the first of its acceptable bodies is the whole one.

    Where there are other forms of the author's name, such as the real one beside that of the account, the first counts.
    """
    body, *others = item["bodies"]
    return Described(str(number), item["page"], body, item["title"], item["author"], item["date"], others=tuple(others))


def measure_scripted(application: Scripted, scripts: Path, plan: Plan, folder: Path) -> Iterator[Row]:
    """Build an application and yield a row for each case that is planned: its software unknown, and known.

    Raises ``InstallationError`` where the application cannot be had, ``BenchmarkError`` where a crawl fails.
    """
    cases = [case for case in (Case.UNKNOWN, Case.KNOWN) if case in plan.cases]
    if not application.entry:
        cases = [case for case in cases if case is Case.UNKNOWN]
    if not cases:
        return
    backend = free_port()
    with Front(backend, folder / "requests.jsonl").running() as front:
        site = ScriptedSite(folder, front, backend, application)
        build(application, scripts, site.here)
        for case in cases:
            yield _row(site, case, plan)


def _row(site: ScriptedSite, case: Case, plan: Plan) -> Row:
    shutil.rmtree(site.crawled, ignore_errors=True)
    entries = [each.entry for each in SCRIPTED if each.entry]
    folders = str(without_entries(entries, site.folder / "knowledge_base")) if case is Case.UNKNOWN else ""
    done = crawl(site, 1, knowledge_base=folders)
    known = done.known()
    if plan.kept is not None:
        keep(site.crawled, plan.kept / f"{site.name}-{case}", known, None)
    blank = dict.fromkeys(("cost_ratio", "false_changes", "missed_changes", "failure"))
    head: Row = {"app": site.name, "case": case, "change": None}
    return {**head, **done.row(known), **blank}


def without_entries(names: Sequence[str], target: Path) -> Path:
    """Copy the knowledge base that ships without the files of these names; return the copy."""
    shutil.rmtree(target, ignore_errors=True)
    left_out = shutil.ignore_patterns("*.py", "__pycache__", "pages", *(f"{name}.xml" for name in names))
    shutil.copytree(SHIPPED, target, ignore=left_out)
    return target


def build(application: Scripted, scripts: Path, here: Path) -> None:
    """Copy the scripts to a place, put the environments beside them, and fill the application.

    Raises ``InstallationError`` if the scripts or a program are missing, or with the output of a failed command.
    """
    if not (scripts / "sites").is_dir():
        raise InstallationError(f"there are no scripts in {scripts}; say where with --scripts")
    require(application.programs)
    shutil.copytree(scripts, here)
    for file in here.rglob("*"):
        if file.is_file() and file.suffix in _TEXTS:
            text = file.read_text("utf-8")
            file.write_text(text.replace("@HERE@", str(here)).replace("@PROJECT@", str(PROJECT)), "utf-8")
    (here / "truth").mkdir(exist_ok=True)
    for beside, name in application.environments.items():
        installed(name, REQUIREMENTS / f"{name}.txt", ())
        (here / beside).symlink_to(ENVIRONMENTS / name)
    if application.sources:
        _unpack_sources(application, here)
    command, *arguments = application.fills
    program = str(here / command) if "/" in command else command
    run_command([program, *arguments], FILLS_WITHIN, here)


def _unpack_sources(application: Scripted, here: Path) -> None:
    """Put the example project of a source distribution where the script expects it, with the settings of the script."""
    environment = ENVIRONMENTS / next(iter(application.environments.values()))
    kept = environment / "sources"
    if not kept.is_dir():
        download = ("-I", "-m", "pip", "download", "-q", "--no-deps", "--no-binary", ":all:", application.sources)
        run_command([environment / "bin" / "python", *download, "-d", kept], INSTALLS_WITHIN)
    for archive in kept.glob("*.tar.gz"):
        with tarfile.open(archive) as packed:
            packed.extractall(here / "hkx", filter="data")
    settings = here / "sites" / f"{application.name}_settings_run.py"
    shutil.copy(settings, here / application.serves_in / "settings_run.py")


def _hand_over(written: Path, folder: Path) -> None:
    """Let the user that a server runs as write to a folder, and reach it."""
    for parent in (folder, *list(folder.parents)[:1], folder / "here"):
        parent.chmod(0o755)
    for path in (written, *written.rglob("*")):
        shutil.chown(path, _SERVANT)
