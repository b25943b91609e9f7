"""A magazine whose pages are one empty shell: the data of ``/article/ID`` are ``/api/articles/ID.json``."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from html import escape
from math import ceil
from pathlib import Path
from typing import Any, Final

from benchmarks.browser.replies import SCRIPT, Reply, Request, compressed, data, reply
from benchmarks.browser.site import Parts, Site, View
from benchmarks.software.content import Post, Thread
from benchmarks.software.markup import html
from benchmarks.software.writing import Size, Writer

_SIZE: Final = Size(single=70, few=0, overhanging=0, long=0)
_PAGE: Final = 20
SHELL: Final = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>The Gazette</title><base href="/">
<link rel="stylesheet" href="styles.css"></head><body><gazette-root></gazette-root>
<script src="runtime.js" defer></script><script src="main.js" defer></script></body></html>
"""
_RUNTIME: Final = """
window.gazette = {
  get: path => fetch('/api/' + path).then(answer => { if (!answer.ok) throw answer.status; return answer.json(); }),
  root: document.querySelector('gazette-root'),
};
"""
MAIN: Final = """
(async () => {
  const {get, root} = window.gazette;
  const config = await get('config.json');
  const menu = `<header><a href="/">${config.name}</a></header>`;
  const found = location.pathname.match(/^(.*\\/)?article\\/(\\w+)$/);
  const page = Number(new URLSearchParams(location.search).get('page') || 1);
  try {
    if (found) {
      const a = await get(`articles/${found[2]}.json`);
      document.title = a.title;
      root.innerHTML = menu + `<main><article><h1>${a.title}</h1>
        <p class="byline">By <span class="author">${a.author}</span>,
        <time datetime="${a.published}">${a.published.slice(0, 10)}</time></p>
        <div class="copy">${a.content}</div></article></main>
        <aside>${config.motto}</aside>`;
    } else {
      const list = await get(`articles.json?page=${page}`);
      root.innerHTML = menu + `<main><h1>Latest</h1><ul class="latest">` + list.articles.map(a =>
        `<li><a href="/${config.below}article/${a.id}">${a.title}</a>
        <small>${a.author}</small></li>`).join('') + '</ul>' + (page < list.pages
        ? `<a class="next" rel="next" href="/${config.below}?page=${page + 1}">Older</a>` : '') + '</main>';
    }
  } catch (error) {
    root.innerHTML = menu + `<main><h1>Not found</h1></main>`;
  }
})();
"""
FILES: Final = {
    "/runtime.js": reply(_RUNTIME, SCRIPT),
    "/main.js": reply(MAIN, SCRIPT),
    "/styles.css": reply("main{max-width:40em;margin:auto}", "text/css"),
}
PARTS: Final = (Parts("article", ".copy", heading="h1", author=".author", date="time"),)


class Gazette:
    """Answers what the script asks for; ``below`` is a folder in which the pages lie, such as ``stories/``."""

    def __init__(self, articles: Sequence[Thread], below: str = "") -> None:
        self._articles = {thread.id: thread for thread in articles}
        self._below = below

    def answer(self, request: Request) -> Reply:
        """Answer a request."""
        path = request.path
        if path == "/robots.txt":
            return reply("User-agent: *\nDisallow:\n", "text/plain")
        if path in FILES:
            return compressed(FILES[path], request)
        if path.startswith("/api/"):
            return compressed(self._data(path.removeprefix("/api/"), int(request.query.get("page", "1"))), request)
        return compressed(reply(SHELL, "text/html; charset=utf-8"), request)

    def _data(self, path: str, page: int) -> Reply:
        if path == "config.json":
            return data({"name": "The Gazette", "motto": "Read it again tomorrow.", "below": self._below})
        if path == "articles.json":
            return data(self._listed(page))
        article = self._articles.get(path.removeprefix("articles/").removesuffix(".json"))
        return data({"error": "no such article"}, status=404) if article is None else data(_said(article))

    def _listed(self, page: int) -> dict[str, Any]:
        articles = list(self._articles.values())
        shown = [
            {"id": each.id, "title": escape(each.title), "author": escape(each.posts[0].author)}
            for each in articles[(page - 1) * _PAGE : page * _PAGE]
        ]
        return {"articles": shown, "pages": self.pages}

    @property
    def pages(self) -> int:
        """The pages of the list."""
        return ceil(len(self._articles) / _PAGE)

    def views(self) -> Iterator[View]:
        """Yield the list and the articles."""
        for page in range(self.pages):
            yield View(f"/{self._below}?page={page + 1}" if page else f"/{self._below}", shows=".latest")
        for name in self._articles:
            yield View(f"/{self._below}article/{name}", PARTS, shows="article")


def _said(thread: Thread) -> dict[str, Any]:
    post: Post = thread.posts[0]
    return {
        "id": thread.id,
        "title": escape(thread.title),
        "author": escape(post.author),
        "published": post.date,
        "section": thread.forum,
        "content": html(post),
    }


@contextmanager
def opened(folder: Path, origin: str) -> Iterator[Site]:  # noqa: ARG001 - others need them
    """Open the magazine."""
    gazette = Gazette(Writer(13).content(10, _SIZE).threads)
    yield Site("shell", gazette.answer, tuple(gazette.views()))
