"""Federated Wiki: pages that are JSON, drawn by a script beside one another. Held out: nothing was tuned on it."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from benchmarks.browser.installing import environment, served
from benchmarks.browser.passing_on import passed_on
from benchmarks.browser.site import Parts, Site, View
from benchmarks.recorded import free_port
from benchmarks.software.content import Thread
from benchmarks.software.writing import Size, Writer

_SIZE: Final = Size(single=24, few=0, overhanging=0, long=0)
_PARTS: Final = (Parts(".page .story", heading=".page h1"),)
_FRONT: Final = "welcome-visitors"


def _slug(title: str) -> str:
    return re.sub(r"[^A-Za-z0-9-]", "", re.sub(r"\s", "-", title)).lower()


def _page(title: str, paragraphs: list[str], when: str) -> dict[str, Any]:
    story = [{"type": "paragraph", "id": f"{n:016x}", "text": text} for n, text in enumerate(paragraphs, 1)]
    moment = int(1000 * datetime.fromisoformat(when).timestamp())
    return {"title": title, "story": story, "journal": [{"type": "create", "item": {"title": title}, "date": moment}]}


def _written(thread: Thread) -> dict[str, Any]:
    post = thread.posts[0]
    return _page(thread.title, [block.plain for block in post.blocks], post.date)


@contextmanager
def opened(folder: Path, origin: str) -> Iterator[Site]:  # noqa: ARG001 - others need it
    """Fill a wiki and serve it. Raises ``InstallationError``."""
    installed = environment("wiki")
    threads = Writer(21).content(10, _SIZE).threads
    pages = folder / "data" / "pages"
    pages.mkdir(parents=True)
    links = [f"[[{thread.title}]]" for thread in threads]
    front = _page(
        "Welcome Visitors", ["Welcome to this wiki. These pages are worth a look.", *links], "2024-01-01T00:00Z"
    )
    for written in (front, *map(_written, threads)):
        (pages / _slug(written["title"])).write_text(json.dumps(written), "utf-8")
    port = free_port()
    packages = installed / "node_modules"
    program = packages / "wiki" / "index.js"
    told = ("--host", "127.0.0.1", "-p", str(port), "-d", folder / "data", "--packageDir", packages)
    with served(["node", program, *told], port, folder):
        views = [View(f"/view/{_FRONT}", shows=".page .story .item")]
        views += [View(f"/view/{_slug(thread.title)}", _PARTS, shows=".page .story .item") for thread in threads]
        yield Site("wiki", passed_on(port), views)
