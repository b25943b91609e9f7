"""Fills, changes or serves an application; run by the interpreter of the application's environment.

    python -m benchmarks.software.site NAME create HOME CONTENT.json
    python -m benchmarks.software.site NAME edit HOME EDITS.json
    python -m benchmarks.software.site NAME serve HOME PORT

``NAME`` is a module of `benchmarks.software.sites` with functions of these names. The first two return the place of
each post by its id, which is written to HOME/places.json.
"""

import sys
from importlib import import_module
from pathlib import Path

from benchmarks.software.content import Content, read_edits, write_places

PLACES = "places.json"
ADDRESS = "address.txt"
"""The file in the home of a site that holds the address under which it is public."""


def main(name: str, command: str, home: Path, argument: str = "") -> None:
    """Do what was asked for."""
    site = import_module(f"benchmarks.software.sites.{name}")
    match command:
        case "create":
            home.mkdir(parents=True, exist_ok=True)
            content = Content.read(Path(argument))
            (home / ADDRESS).write_text(content.address, "utf-8")
            write_places(site.create(home, content), home / PLACES)
        case "edit":
            write_places(site.edit(home, read_edits(Path(argument))), home / PLACES)
        case "serve":
            site.serve(home, int(argument))
        case _:
            sys.exit(f"no such command: {command}")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]), *sys.argv[4:])
