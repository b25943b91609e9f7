"""Write the demo world: ``python -m examples.make_world`` renders ``examples/content`` into ``examples/world``.

The same content gives the same bytes, everywhere and every time; the result is part of the repository, and a test
compares the two. Edit the content or the templates, run this, and commit both.
"""

import shutil
from collections.abc import Mapping
from pathlib import Path

from examples.rendering import farm, generic, mybb, phpbb, wordpress
from examples.rendering.content import Blog, Board, Chronicle, Elsewhere, News, TownHall, load, load_prose
from examples.rendering.recording import Recording

WORLD = Path(__file__).resolve().parent / "world"


def recordings() -> list[Recording]:
    """Return all sites of the world."""
    prose = load_prose()
    elsewhere = load(Elsewhere, "elsewhere")
    return [
        phpbb.record(load(Board, "forum"), prose),
        wordpress.record(load(Blog, "blog"), prose),
        generic.record_chronicle(load(Chronicle, "chronicle"), prose),
        generic.record_news(load(News, "news"), prose),
        mybb.record(load(Board, "sailboard"), prose),
        generic.record_town_hall(load(TownHall, "townhall"), prose),
        *(generic.record_magazine(site, prose) for site in elsewhere.sites),
        farm.record(elsewhere.farm, prose),
    ]


def render() -> Mapping[str, bytes]:
    """Return the whole world as file contents by path below the world's folder."""
    return {f"{site.host}/{name}": body for site in recordings() for name, body in site.files().items()}


def write(folder: Path) -> int:
    """Write the world below ``folder``, in place of the sites it held before; return how many bytes it takes."""
    files = render()
    for host in {name.split("/")[0] for name in files}:
        shutil.rmtree(folder / host, ignore_errors=True)
    for name, body in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(body)
    return sum(map(len, files.values()))


if __name__ == "__main__":
    print(f"{write(WORLD) / 1e6:.2f} MB written to {WORLD}")
