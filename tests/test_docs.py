"""The documentation says what is there: its links lead somewhere, its definitions load, its commands exist."""

import re
from functools import cache
from pathlib import Path

import pytest
from typer.core import TyperGroup
from typer.main import get_command

from aahcrawler.cli import app
from online_analysis.icd import Icd

PROJECT = Path(__file__).parents[1]
PAGES = [
    PROJECT / "README.md",
    PROJECT / "CHANGELOG.md",
    PROJECT / "CONTRIBUTING.md",
    *sorted((PROJECT / "docs").rglob("*.md")),
]
SOURCES = [
    path
    for package in ("aahcrawler", "knowledge_base", "online_analysis", "offline", "tests", "benchmarks")
    for path in (PROJECT / package, *(PROJECT / package).rglob("*"))
    if path.is_dir() or path.suffix in (".py", ".lua")
]
CRAWL_FOLDERS = ("former", "frontier", "references")
FENCE = re.compile(r"```(\w+)\n(.*?)```", re.DOTALL)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(PROJECT).as_posix())
def test_links_lead_to_files_that_exist(page: Path) -> None:
    targets = re.findall(r"\]\(([^)#]+)", page.read_text("utf-8"))
    assert [target for target in targets if "://" not in target and not (page.parent / target).exists()] == []


@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if page.parent.name == "architecture" or page.stem in ("architecture", "CONTRIBUTING")],
    ids=lambda page: page.relative_to(PROJECT).as_posix(),
)
def test_modules_and_packages_that_are_named_exist(page: Path) -> None:
    named = re.findall(r"`([a-z_]+(?:/[a-z_]+)*(?:\.py|\.lua|/))`", page.read_text("utf-8"))
    known = [path.relative_to(PROJECT).as_posix() for path in SOURCES]
    known += ["docs", *CRAWL_FOLDERS]
    assert [name for name in named if not any(f"/{path}".endswith(f"/{name.rstrip('/')}") for path in known)] == []


def test_the_definition_in_the_readme_loads() -> None:
    blocks = [text for kind, text in FENCE.findall((PROJECT / "README.md").read_text("utf-8")) if kind == "yaml"]
    assert blocks
    for text in blocks:
        assert Icd.parse(text.encode()).id


@cache
def commands() -> frozenset[str]:
    """Return all commands; one of a group stands after the name of the group."""
    top = get_command(app)
    assert isinstance(top, TyperGroup)
    groups = {name: each for name, each in top.commands.items() if isinstance(each, TyperGroup)}
    return frozenset([*top.commands, *(f"{name} {inner}" for name, each in groups.items() for inner in each.commands)])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(PROJECT).as_posix())
def test_every_command_that_is_named_exists(page: Path) -> None:
    named = set(re.findall(r"\baah ((?:icd |kb )?[a-z]+)\b(?= [A-Z\[-]|`| my-crawl| crawls/)", page.read_text("utf-8")))
    assert named <= commands(), page.name


def test_every_target_of_the_makefile_that_is_named_exists() -> None:
    makefile = (PROJECT / "Makefile").read_text("utf-8")
    for page in PAGES:
        for target in re.findall(r"\bmake ([a-z]+)\b(?=`|    #)", page.read_text("utf-8")):
            assert re.search(rf"^{target}:", makefile, re.MULTILINE), f"{page.name} names make {target}"


def test_every_layer_of_the_package_is_in_the_table_of_layers() -> None:
    (table,) = re.findall(
        r"## Layers\n(.*?)\n`knowledge_base/`", (PROJECT / "docs/architecture.md").read_text("utf-8"), re.S
    )
    packages = [path.parent.name for path in (PROJECT / "aahcrawler").glob("*/__init__.py")]
    assert [name for name in packages if f"`{name}/`" not in table] == []


def test_a_new_user_finds_the_first_site_at_once() -> None:
    beginning = (PROJECT / "README.md").read_text("utf-8").split("\n- **")[0]
    assert "(docs/first-site.md)" in beginning
    assert "(docs/not-yet.md)" in beginning
