"""Docstrings name errors that exist."""

import builtins
import re
from pathlib import Path

PROJECT = Path(__file__).parents[1]
PACKAGES = ("aahcrawler", "knowledge_base", "online_analysis", "offline")
ERROR = re.compile(r"\b[A-Z]\w*Error\b")
DOCSTRING = re.compile(r'"""(.*?)"""', re.DOTALL)


def test_docstrings_name_only_errors_that_exist() -> None:
    known, named = set(dir(builtins)), dict[str, str]()
    for path in (path for package in PACKAGES for path in (PROJECT / package).rglob("*.py")):
        text = path.read_text("utf-8")
        known.update(ERROR.findall(DOCSTRING.sub("", text)))
        named.update((name, path.name) for said in DOCSTRING.findall(text) for name in ERROR.findall(said))
    assert {name: file for name, file in named.items() if name not in known} == {}
