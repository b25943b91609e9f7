"""Fills, changes or serves an application; run by the interpreter of the application's environment.

    python -m benchmarks.software.site NAME create HOME CONTENT.json
    python -m benchmarks.software.site NAME edit HOME EDITS.json
    python -m benchmarks.software.site NAME serve HOME PORT

``NAME`` is a module of `benchmarks.software.sites` with the three functions. The first two write to HOME/places.json
where each post is shown: the path of the page by the id of the post.
"""

import json
import sys
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path

from benchmarks.software.content import Content, read_edits

PLACES = "places.json"


def main(name: str, command: str, home: Path, argument: str) -> None:
    """Do what was asked for."""
    site = import_module(f"benchmarks.software.sites.{name}")
    match command:
        case "create":
            home.mkdir(parents=True, exist_ok=True)
            _note(home, site.create(home, Content.read(Path(argument))))
        case "edit":
            _note(home, site.edit(home, read_edits(Path(argument))))
        case "serve":
            site.serve(home, int(argument))
        case _:
            sys.exit(f"no such command: {command}")


def _note(home: Path, places: Mapping[str, str]) -> None:
    (home / PLACES).write_text(json.dumps(places), "utf-8")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]), sys.argv[4])
