"""A magazine of which the server makes nine pages of ten, and a script the tenth: stories below ``stories/``."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from html import escape
from math import ceil
from pathlib import Path
from typing import Final

from benchmarks.browser.replies import Reply, Request, not_found, page
from benchmarks.browser.site import Parts, Site, View
from benchmarks.browser.sites.shell import FILES, Gazette
from benchmarks.software.content import Thread
from benchmarks.software.markup import html
from benchmarks.software.writing import Size, Writer

_SIZE: Final = Size(single=98, few=0, overhanging=0, long=0)
_STORIES: Final = 10
_LISTED: Final = 20
_BELOW: Final = "stories/"
_PARTS: Final = (Parts("article", ".body", heading="article h1", author=".author", date="time"),)


class Magazine:
    """Answers with pages that are made, and passes on what is asked of the stories."""

    def __init__(self, threads: Sequence[Thread]) -> None:
        made, told = threads[_STORIES:], threads[:_STORIES]
        self._made = {thread.id: thread for thread in made}
        self._stories = Gazette(told, _BELOW)

    def answer(self, request: Request) -> Reply:
        """Answer a request."""
        path = request.path
        if path.startswith((f"/{_BELOW}", "/api/")) or path in FILES or path == "/robots.txt":
            return self._stories.answer(request)
        if path == "/":
            return page(self._list(int(request.query.get("page", "1"))))
        found = self._made.get(path.removeprefix("/news/"))
        return page(_article(found)) if found and path.startswith("/news/") else not_found()

    def _list(self, number: int) -> str:
        shown = list(self._made.values())[(number - 1) * _LISTED : number * _LISTED]
        links = "".join(f'<li><a href="/news/{each.id}">{escape(each.title)}</a></li>' for each in shown)
        older = f'<a rel="next" href="/?page={number + 1}">Older</a>' if number < self._pages else ""
        return _framed("News", f"<h1>News</h1><ul>{links}</ul>{older}")

    @property
    def _pages(self) -> int:
        return ceil(len(self._made) / _LISTED)

    def views(self) -> Iterator[View]:
        """Yield lists, articles, and stories."""
        for number in range(self._pages):
            yield View(f"/?page={number + 1}" if number else "/")
        for name in self._made:
            yield View(f"/news/{name}", _PARTS)
        yield from self._stories.views()


def _article(thread: Thread) -> str:
    post = thread.posts[0]
    when = f'<time datetime="{post.date}">{post.date[:10]}</time>'
    head = f'<p>By <span class="author">{escape(post.author)}</span>, {when}</p>'
    return _framed(
        thread.title, f'<article><h1>{escape(thread.title)}</h1>{head}<div class="body">{html(post)}</div></article>'
    )


def _framed(title: str, content: str) -> str:
    return f"""<!doctype html><html lang="en"><head><meta charset="utf-8">
<title>{escape(title)} - Both Ways</title></head>
<body><header><a href="/">Both Ways</a> <nav><a href="/">News</a> <a href="/{_BELOW}">Stories</a></nav></header>
<main>{content}</main><footer>Both Ways, a magazine</footer></body></html>"""


@contextmanager
def opened(folder: Path, origin: str) -> Iterator[Site]:  # noqa: ARG001 - others need them
    """Open the magazine."""
    magazine = Magazine(Writer(15).content(10, _SIZE).threads)
    yield Site("mixed", magazine.answer, tuple(magazine.views()))
