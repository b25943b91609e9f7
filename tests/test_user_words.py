"""What people read says no word of the machine's: the glossary names these words, and what is said in their place."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from aahcrawler.cli import app

PROJECT = Path(__file__).parents[1]
GLOSSARY = PROJECT / "docs" / "glossary.md"
HEADING = "## Words that people do not meet"
TEMPLATES = sorted((PROJECT / "aahcrawler" / "service" / "cockpit" / "templates").rglob("*.html"))
SPEAKING = [
    path
    for package in (
        "report",
        "service/cockpit",
        "service/views",
        "service/steering",
        "operating",
        "editor",
        "schedule",
    )
    for path in sorted((PROJECT / "aahcrawler" / package).rglob("*.py"))
]
QUERY = re.compile(r"SELECT|INSERT|DELETE FROM|UPDATE|CREATE|PREFIX|%\(")


def avoided() -> dict[str, str]:
    """Return the words that are not said, with what is said in their place."""
    rows = re.findall(r"^\| `([^`]+)` \| ([^|]+) \|$", GLOSSARY.read_text("utf-8").partition(HEADING)[2], re.MULTILINE)
    return {word: said.strip() for word, said in rows}


def unsaid(texts: Iterator[str]) -> list[str]:
    """Return the texts that say one of the words."""
    words = re.compile(rf"\b({'|'.join(map(re.escape, avoided()))})s?\b", re.IGNORECASE)
    return [text for text in texts if words.search(text)]


def test_the_glossary_names_words_and_what_is_said_in_their_place() -> None:
    assert len(avoided()) > 10
    assert all(avoided().values())
    assert unsaid(iter(["The harvest ratio of a crawl", "Pages of a crawl"])) == ["The harvest ratio of a crawl"]


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.stem)
def test_pages_of_the_cockpit_say_none(path: Path) -> None:
    assert unsaid(shown(path.read_text("utf-8"))) == []


@pytest.mark.parametrize("path", SPEAKING, ids=lambda path: path.relative_to(PROJECT / "aahcrawler").as_posix())
def test_messages_say_none(path: Path) -> None:
    assert unsaid(said(ast.parse(path.read_text("utf-8")))) == []


def test_help_says_none() -> None:
    assert unsaid(helps(typer.main.get_command(app))) == []


def shown(template: str) -> Iterator[str]:
    """Yield what a template shows: texts of elements and attributes, and literals of several words in expressions."""
    for block in re.findall(r"\{[{%](.*?)[%}]\}", template, re.DOTALL):
        yield from (text for text in re.findall(r'"([^"]*)"', block) if " " in text.strip())
    plain = re.sub(r"\{[{%#].*?[%}#]\}", "…", template, flags=re.DOTALL)
    yield from re.findall(r'\b(?:title|aria-label|placeholder|alt)="([^"]*)"', plain)
    yield from (text.strip() for text in re.sub(r"<[^>]*>", "\n", plain).split("\n") if text.strip())


def said(module: ast.Module) -> Iterator[str]:
    """Yield the literals of several words in a module but for its docstrings, queries and keys."""
    nodes = list(ast.walk(module))
    silent = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    silent |= {id(key) for node in nodes if isinstance(node, ast.Dict) for key in node.keys}
    texts = (node.value for node in nodes if isinstance(node, ast.Constant) and id(node) not in silent)
    yield from (text for text in texts if isinstance(text, str) and " " in text.strip() and not QUERY.search(text))


def helps(command: Any) -> Iterator[str]:
    """Yield the help of a command, of its options and of the commands below it."""
    yield command.help or ""
    yield from (getattr(parameter, "help", None) or "" for parameter in command.params)
    for below in getattr(command, "commands", {}).values():
        yield from helps(below)
