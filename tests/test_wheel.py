"""The wheel is whole: installed beside nothing of a checkout, it crawls."""

import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.crawl.board import front, know, thread
from tests.crawl.crawling import write_icd
from tests.crawl.site import Site, serving

PROJECT = Path(__file__).parents[1]
PARTS = ("aahcrawler", "knowledge_base", "online_analysis", "offline", "README.md", "LICENSE", "pyproject.toml")
BUILD = """
import sys
from setuptools.build_meta import build_wheel
build_wheel(sys.argv[1])
"""
"""What pip has the build system do that pyproject.toml names."""
INSTALLED = """
import aahcrawler, knowledge_base, offline
from knowledge_base.file_selection import named_folders
from knowledge_base.loader import load
print(aahcrawler.__file__, knowledge_base.__file__, offline.__file__, len(load(*named_folders("")).applications))
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the programs of a new environment with the wheel, and the dependencies of this one."""
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    source.mkdir()
    for part in PARTS:
        at = PROJECT / part
        if at.is_dir():
            shutil.copytree(at, source / part, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(at, source)
    run(sys.executable, "-c", BUILD, folder, cwd=source)
    environment = folder / "environment"
    venv.create(environment, symlinks=True)
    (wheel,) = folder.glob("*.whl")
    programs = environment / "bin"
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet", "--python", programs / "python")
    run(*pip, "install", "--no-compile", "--no-deps", "--no-index", wheel)  # What runs is compiled when it does.
    (packages,) = environment.glob("lib/python*/site-packages")
    # A path in such a file is searched after the environment's own packages; no .pth file there is read.
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n", "utf-8")
    shutil.rmtree(source)
    return programs


def run(*command: str | Path, cwd: Path | None = None, more: Mapping[str, str] | None = None) -> str:
    """Run a command to its end without a word of the checkout in its environment; return what it printed."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "AAH_"))}
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env=environment | dict(more or {}),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_what_is_installed_is_the_wheel_with_the_knowledge_base_that_ships(installed: Path, tmp_path: Path) -> None:
    *places, applications = run(installed / "python", "-c", INSTALLED, cwd=tmp_path).split()
    assert all(Path(place).is_relative_to(installed.parent) for place in places)
    assert int(applications) == len([*(PROJECT / "knowledge_base/applications").glob("*.xml")])


def test_a_crawl_runs_in_any_folder(installed: Path, tmp_path: Path) -> None:
    with serving(Site(pages={"/": front("/1"), "/1": thread({"p1": "The flood", "p2": "The dike"})})) as site:
        icd = write_icd(tmp_path, site.url)
        run(installed / "aah", "crawl", icd, cwd=tmp_path, more={"AAH_KNOWLEDGE_BASE": str(know(tmp_path / "kb"))})
    assert run(installed / "aah", "objects", "crawl", cwd=tmp_path).count('"post"') == 2
    assert "<html" in (tmp_path / "crawl/report.html").read_text("utf-8")
    assert "deleted-posts" in run(installed / "aah", "query", "crawl", "--list", cwd=tmp_path)


def test_every_file_that_is_no_code_is_in_the_wheel(installed: Path) -> None:
    (packages,) = installed.parent.glob("lib/python*/site-packages")
    left = [
        path.relative_to(PROJECT).as_posix()
        for part in PARTS[:4]
        for path in (PROJECT / part).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts and not (packages / path.relative_to(PROJECT)).is_file()
    ]
    assert left == []
