"""Isso: comments that a script puts below the articles of a static site."""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from html import escape
from pathlib import Path
from typing import Final

from benchmarks.browser.installing import environment, run_module, served
from benchmarks.browser.passing_on import passed_on
from benchmarks.browser.replies import Reply, Request, not_found, page
from benchmarks.browser.site import Parts, Site, View
from benchmarks.recorded import free_port
from benchmarks.software.content import Thread
from benchmarks.software.markup import html, markdown
from benchmarks.software.writing import Size, Writer

_SIZE: Final = Size(single=6, few=22, overhanging=0, long=0)
_BELOW: Final = "/comments/"
_CONFIGURATION: Final = """
[general]
dbpath = {home}/comments.db
host = {origin}
[server]
listen = http://127.0.0.1:{port}/
public-endpoint = {origin}/comments
[guard]
enabled = false
"""
_PARTS: Final = (
    Parts("article.essay", ".prose", heading="article.essay h1", author=".author", date=".essay > p > time"),
    Parts(".isso-comment", ".isso-text", author=".isso-author", date="time"),
)


def _article(thread: Thread) -> Reply:
    post = thread.posts[0]
    return page(f"""<!doctype html><html lang="en"><head><meta charset="utf-8">
<title>{escape(thread.title)}</title></head><body><p><a href="/">Essays</a></p>
<article class="essay"><h1>{escape(thread.title)}</h1>
<p>By <span class="author">{escape(post.author)}</span>, <time datetime="{post.date}">{post.date[:10]}</time></p>
<div class="prose">{html(post)}</div></article>
<script data-isso="{_BELOW}" data-isso-max-comments-top="inf" data-isso-max-comments-nested="inf"
 src="{_BELOW}js/embed.min.js"></script><section id="isso-thread"></section></body></html>""")


def _answering(threads: Sequence[Thread], backend: Callable[[Request], Reply]) -> Callable[[Request], Reply]:
    known = {f"/essays/{thread.id}/": thread for thread in threads}

    def answer(request: Request) -> Reply:
        if request.path.startswith(_BELOW):
            return backend(_below(request))
        if request.path == "/":
            links = "".join(f'<li><a href="{path}">{escape(each.title)}</a></li>' for path, each in known.items())
            return page(f"<!doctype html><title>Essays</title><h1>Essays</h1><ul>{links}</ul>")
        thread = known.get(request.path)
        return _article(thread) if thread else not_found()

    return answer


def _below(request: Request) -> Request:
    target = "/" + request.target.removeprefix(_BELOW)
    return Request(request.method, target, request.fields, request.body, request.raw)


def _comments(threads: Sequence[Thread]) -> dict[str, list[dict[str, object]]]:
    return {
        f"/essays/{thread.id}/": [
            {"author": p.author, "created": datetime.fromisoformat(p.date).timestamp(), "text": markdown(p)}
            for p in thread.posts[1:]
        ]
        for thread in threads
    }


@contextmanager
def opened(folder: Path, origin: str) -> Iterator[Site]:
    """Fill a database of comments and serve it below the site. Raises ``InstallationError``."""
    installed = environment("isso")
    threads = Writer(20).content(10, _SIZE).threads
    port = free_port()
    configuration, comments = folder / "isso.cfg", folder / "comments.json"
    configuration.write_text(_CONFIGURATION.format(home=folder, origin=origin, port=port), "utf-8")
    comments.write_text(json.dumps(_comments(threads)), "utf-8")
    run_module(installed, "benchmarks.browser.isso_filling", configuration, comments)
    with served([installed / "bin" / "isso", "-c", configuration, "run"], port, folder):
        views = [View("/")]
        views += [View(f"/essays/{thread.id}/", _PARTS, shows="#isso-root, .isso-postbox") for thread in threads]
        yield Site("isso", _answering(threads, passed_on(port)), views)
