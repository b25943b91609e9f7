"""Docsify: a script that shows files of Markdown as a site, under addresses of the History interface or after ``#``."""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Final

from benchmarks.browser.installing import environment
from benchmarks.browser.replies import HTML, SCRIPT, STYLE, Reply, Request, not_found, reply
from benchmarks.browser.site import Opening, Parts, Site, View
from benchmarks.software.content import Thread
from benchmarks.software.markup import markdown
from benchmarks.software.writing import Size, Writer

_SIZE: Final = Size(single=34, few=0, overhanging=0, long=0)
_INDEX: Final = """<!DOCTYPE html>
<html lang="en">
  <head>
    <meta charset="UTF-8" />
    <title>Handbook</title>
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <link rel="stylesheet" href="/lib/core.min.css" />
  </head>
  <body class="sidebar-chevron-right">
    <div id="app">Loading...</div>
    <script>window.$docsify = {settings}</script>
    <script src="/lib/docsify.min.js"></script>
  </body>
</html>
"""
_PARTS: Final = (Parts(".markdown-section", heading=".markdown-section h1", without="h1"),)
_TYPES: Final = {".js": SCRIPT, ".css": STYLE, ".md": "text/markdown; charset=utf-8"}


def _files(threads: Sequence[Thread], installed: Path, router: str) -> dict[str, bytes]:
    library = installed / "node_modules" / "docsify" / "dist"
    listed = "".join(f"* [{thread.title}](/{_place(thread)})\n" for thread in threads)
    settings = {"name": "Handbook", "loadSidebar": True, "routerMode": router, "subMaxLevel": 2, "auto2top": True}
    files = {
        "/index.html": _INDEX.replace("{settings}", json.dumps(settings)).encode(),
        "/lib/docsify.min.js": (library / "docsify.min.js").read_bytes(),
        "/lib/core.min.css": (library / "themes" / "core.min.css").read_bytes(),
        "/_sidebar.md": f"* [Home](/)\n{listed}".encode(),
        "/README.md": f"# Handbook\n\nAll that was ever learned here.\n\n{listed}".encode(),
    }
    for thread in threads:
        files[f"/{_place(thread)}.md"] = f"# {thread.title}\n\n{markdown(thread.posts[0])}".encode()
    return files


def _place(thread: Thread) -> str:
    return f"{thread.forum.split()[0].lower()}/{thread.id}"


def _answering(files: dict[str, bytes], router: str) -> Callable[[Request], Reply]:
    def answer(request: Request) -> Reply:
        path = "/index.html" if request.path == "/" else request.path
        if path in files and path != "/index.html":
            return reply(files[path], _TYPES.get(Path(path).suffix, "application/octet-stream"))
        is_page = path == "/index.html" or (router == "history" and not Path(path).suffix)
        return reply(files["/index.html"], HTML) if is_page else not_found()

    return answer


@contextmanager
def _opened(folder: Path, origin: str, *, router: str) -> Iterator[Site]:  # noqa: ARG001 - others need them
    threads = Writer(18).content(10, _SIZE).threads
    files = _files(threads, environment("docsify"), router)
    lead = "/#/" if router == "hash" else "/"
    views = [View("/", shows=".markdown-section h1")]
    views += [View(lead + _place(thread), _PARTS, shows=".markdown-section h1") for thread in threads]
    yield Site("docsify" if router == "history" else "docsify-hash", _answering(files, router), views)


history: Opening = partial(_opened, router="history")
hashed: Opening = partial(_opened, router="hash")
