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
import runpy, sys

program, *commands = sys.argv[1:]
for command in commands:
    sys.argv = [program, *command.split()]
    try:
        runpy.run_path(program, run_name="__main__")
    except SystemExit as ended:
        assert not ended.code, (command, ended.code)
from knowledge_base.loader import load
print("applications:", len(load().applications))
for name, module in list(sys.modules.items()):
    if name.partition(".")[0] in ("aahcrawler", "knowledge_base", "online_analysis", "offline"):
        print("module:", module.__file__)
"""
"""Runs the script that is installed as ``aah``, once for each command, and tells where all that it imported lies."""


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


def test_a_crawl_runs_in_any_folder_with_the_wheel_alone(installed: Path, tmp_path: Path) -> None:
    with serving(Site(pages={"/": front("/1"), "/1": thread({"p1": "The flood", "p2": "The dike"})})) as site:
        icd = write_icd(tmp_path, site.url)
        commands = (f"crawl {icd}", "objects crawl", "query crawl --list")
        program = (installed / "python", "-c", INSTALLED, installed / "aah")
        said = run(*program, *commands, cwd=tmp_path, more={"AAH_KNOWLEDGE_BASE": str(know(tmp_path / "kb"))})
    assert said.count('"post"') == 2
    assert "deleted-posts" in said
    assert "<html" in (tmp_path / "crawl/report.html").read_text("utf-8")
    assert f"applications: {len([*(PROJECT / 'knowledge_base/applications').glob('*.xml')])}\n" in said
    modules = [line.removeprefix("module: ") for line in said.splitlines() if line.startswith("module: ")]
    assert all(Path(module).is_relative_to(installed.parent) for module in modules)
    assert {Path(module).relative_to(installed.parent).parts[3] for module in modules} == set(PARTS[:4])


def test_every_file_that_is_no_code_is_in_the_wheel(installed: Path) -> None:
    (packages,) = installed.parent.glob("lib/python*/site-packages")
    left = [
        path.relative_to(PROJECT).as_posix()
        for part in PARTS[:4]
        for path in (PROJECT / part).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts and not (packages / path.relative_to(PROJECT)).is_file()
    ]
    assert left == []
