"""Runs the example that docs/knowledge-base.md works through: its files, its commands, its changes, in their order."""

import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from typer.testing import CliRunner

from aahcrawler.cli import app

DOCUMENT = Path(__file__).parents[2] / "docs" / "knowledge-base.md"
FILE = Path("mine/applications/tinyforum.xml")

_STEP = re.compile(
    r"^```(?P<kind>\w+)(?: (?P<name>\S+))?\n(?P<text>.*?)^```$"
    r"|Put `(?P<new>css=[^`]+)` in the\s+place of `(?P<old>[^`]+)`",
    re.DOTALL | re.MULTILINE,
)


@dataclass(frozen=True)
class Output:
    """A command, what the document says that it prints, and what it printed."""

    command: str
    promised: str
    printed: str

    @property
    def expected(self) -> str:
        """What the document says, its dots filled in; the document's own text where something else was printed."""
        pieces = re.split(r"^\.\.\.\n", self.promised, flags=re.MULTILINE)
        wanted = r"(?:.*\n)*?".join(map(re.escape, pieces))
        return self.printed if re.fullmatch(wanted, self.printed) else self.promised


def tutorial(document: str) -> str:
    """Return the part of the document that is worked through."""
    return document.partition("## Add an application, step by step\n")[2].partition("\n## ")[0]


def finished_file(document: str) -> str:
    """Return the file that the tutorial ends with."""
    return "".join(re.findall(r"^```xml\n(.*?)^```$", tutorial(document), re.DOTALL | re.MULTILINE))


def outputs(document: str) -> Iterator[Output]:
    """Work through the document in the current folder."""
    environment: dict[str, str] = {}
    finished = False
    for step in _STEP.finditer(tutorial(document)):
        if step["new"]:
            FILE.write_text(FILE.read_text("utf-8").replace(step["old"], step["new"]), "utf-8")
        elif step["kind"] == "html":
            Path(step["name"]).write_text(step["text"], "utf-8")
        elif step["kind"] == "xml" and not finished:
            FILE.write_text(finished_file(document), "utf-8")
            finished = True
        elif step["kind"] == "text":
            yield Output("the draft", step["text"], _where_it_stands(step["text"], FILE.read_text("utf-8")))
        elif step["kind"] == "console":
            yield from _ran(step["text"], environment)


def _where_it_stands(excerpt: str, text: str) -> str:
    return excerpt if excerpt in text else text


def _ran(text: str, environment: dict[str, str]) -> Iterator[Output]:
    for line, promised in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", text, re.MULTILINE):
        yield Output(line, promised, _printed(shlex.split(line), environment))


def _printed(words: list[str], environment: dict[str, str]) -> str:
    match words:
        case ["mkdir", "-p", folder]:
            Path(folder).mkdir(parents=True)
            return ""
        case ["export", setting]:
            name, _, value = setting.partition("=")
            environment[name] = value
            return ""
        case ["aah", *arguments]:
            return _run(arguments, environment)
    raise AssertionError(f"the document has a command that is not known here: {words}")


def _run(arguments: list[str], environment: Mapping[str, str]) -> str:
    return CliRunner().invoke(app, arguments, env=dict(environment)).output
