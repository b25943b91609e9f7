"""Every command of the operator's page is one that there is."""

import re
import shlex
from pathlib import Path

import pytest
import typer
from typer.core import TyperGroup

from aahcrawler.cli import app

DOCS = (Path(__file__).parents[2] / "docs" / "operating.md").read_text("utf-8")
LINES = [line for block in re.findall(r"```sh\n(.*?)```", DOCS, re.DOTALL) for line in block.splitlines()]


@pytest.mark.parametrize("line", LINES)
def test_it_is_understood(line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("crawls", "floods").mkdir(parents=True)
    name, *arguments = shlex.split(line)
    assert name == "aah"
    command = typer.main.get_command(app)
    while isinstance(command, TyperGroup):
        command = command.commands[arguments.pop(0)]
    command.make_context(command.name, arguments)


def test_every_command_is_shown() -> None:
    group = typer.main.get_command(app)
    assert isinstance(group, TyperGroup)
    frontier = group.commands["frontier"]
    assert isinstance(frontier, TyperGroup)
    assert {words[2] for words in map(str.split, LINES) if words[1] == "frontier"} == set(frontier.commands)
    assert all(command.help for command in frontier.commands.values())
