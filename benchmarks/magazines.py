"""Two magazines whose pages are made by scripts: all pages of ``gazette``, a tenth of ``mixed``, below ``stories/``.

The pages of the gazette are the same empty shell; the data of ``/article/ID`` are at ``/api/articles/ID.json``.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from math import ceil
from typing import Any, Final

from benchmarks.exact_server import SCRIPT, Reply, Request, compressed, data, not_found, page, reply
from benchmarks.software.content import Post, Thread, html
from benchmarks.software.scorer import Described
from benchmarks.software.writing import Size, Writer


@dataclass(frozen=True, slots=True)
class Magazine:
    """A site, and the articles that its readers see."""

    respond: Callable[[Request], Reply]
    articles: tuple[Described, ...]


_SIZE: Final = Size(single=70, few=0, overhanging=0, long=0)
_PAGE: Final = 20
SHELL: Final = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>The Gazette</title><base href="/">
<link rel="stylesheet" href="styles.css"></head><body><gazette-root></gazette-root>
<script src="runtime.js" defer></script><script src="main.js" defer></script></body></html>
"""
_RUNTIME: Final = """
window.gazette = {
  get: path => fetch('/api/' + path).then(response => {
    if (!response.ok) throw response.status;
    return response.json();
  }),
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


class Gazette:
    """Responds to the pages' script; ``below`` is the folder of the pages, such as ``stories/``."""

    def __init__(self, articles: Sequence[Thread], below: str = "") -> None:
        self._articles = {thread.id: thread for thread in articles}
        self._below = below

    def respond(self, request: Request) -> Reply:
        """Return the response to a request."""
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
        return {"articles": shown, "pages": ceil(len(articles) / _PAGE)}

    def articles(self) -> Iterator[Described]:
        """Yield the articles that readers see."""
        return (_described(thread, f"/{self._below}article/{name}") for name, thread in self._articles.items())


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


_MIXED_SIZE: Final = Size(single=98, few=0, overhanging=0, long=0)
_STORIES: Final = 10
_LISTED: Final = 20
_BELOW: Final = "stories/"


class Mixed:
    """Responds with static pages, and passes on requests for the stories."""

    def __init__(self, threads: Sequence[Thread]) -> None:
        made, told = threads[_STORIES:], threads[:_STORIES]
        self._made = {thread.id: thread for thread in made}
        self._stories = Gazette(told, _BELOW)

    def respond(self, request: Request) -> Reply:
        """Return the response to a request."""
        path = request.path
        if path.startswith((f"/{_BELOW}", "/api/")) or path in FILES or path == "/robots.txt":
            return self._stories.respond(request)
        if path == "/":
            return page(self._list(int(request.query.get("page", "1"))))
        found = self._made.get(path.removeprefix("/news/"))
        return page(_article(found)) if found and path.startswith("/news/") else not_found()

    def _list(self, number: int) -> str:
        shown = list(self._made.values())[(number - 1) * _LISTED : number * _LISTED]
        links = "".join(f'<li><a href="/news/{each.id}">{escape(each.title)}</a></li>' for each in shown)
        more = number < ceil(len(self._made) / _LISTED)
        older = f'<a rel="next" href="/?page={number + 1}">Older</a>' if more else ""
        return _framed("News", f"<h1>News</h1><ul>{links}</ul>{older}")

    def articles(self) -> Iterator[Described]:
        """Yield the articles that readers see."""
        yield from (_described(thread, f"/news/{name}") for name, thread in self._made.items())
        yield from self._stories.articles()


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


def _described(thread: Thread, path: str) -> Described:
    post = thread.posts[0]
    return Described(thread.id, path, post.plain, thread.title, post.author, post.date)


def _opened(site: Gazette | Mixed) -> Magazine:
    return Magazine(site.respond, tuple(site.articles()))


MAGAZINES: Final = {
    "mixed": _opened(Mixed(Writer(15).content(10, _MIXED_SIZE).threads)),
    "gazette": _opened(Gazette(Writer(13).content(10, _SIZE).threads)),
}
"""The magazines by name."""
