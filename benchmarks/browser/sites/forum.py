"""A forum that a script renders: boards, threads, posts, from JSON, under addresses of the History interface."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from html import escape
from math import ceil
from pathlib import Path
from typing import Any, Final

from benchmarks.browser.replies import SCRIPT, STYLE, Reply, Request, compressed, data, reply
from benchmarks.browser.site import Parts, Site, View
from benchmarks.software.content import Content, Post, Thread
from benchmarks.software.markup import html
from benchmarks.software.writing import Size, Writer

SIZE: Final = Size(single=18, few=52, overhanging=5, long=9)
POSTS, THREADS = 10, 20
_SHELL: Final = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Tinker Board</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="stylesheet" href="/assets/main.7c1f0b.css"><link rel="icon" href="/assets/icon.svg"></head>
<body><noscript>This board needs JavaScript. Please switch it on.</noscript>
<div id="app"><div class="loader"></div></div><script type="module" src="/assets/main.7c1f0b.js"></script></body></html>
"""
_SCRIPT: Final = """
import { when, link } from './format.2be9a1.js';
const app = document.getElementById('app');
const get = async path => (await fetch(path, {headers: {Accept: 'application/json'}})).json();
const frame = (title, inner) => `<header class="bar"><a class="home" href="/">Tinker Board</a>
  <nav><a href="/">Boards</a> <a href="/about">About</a></nav></header>
  <main><h1>${title}</h1>${inner}</main><footer>Tinker Board, since 2024</footer>`;
const pager = (path, page, pages) => pages < 2 ? '' : '<nav class="pager">' + [...Array(pages).keys()].map(n =>
  n + 1 === page ? `<span>${n + 1}</span>` : link(n ? `${path}?page=${n + 1}` : path, n + 1)).join(' ') + '</nav>';
const boards = async () => {
  const {boards} = await get('/api/boards.json');
  return frame('Boards', '<ul class="boards">' + boards.map(b =>
    `<li>${link('/b/' + b.id, b.name)} <small>${b.threads} threads</small></li>`).join('') + '</ul>');
};
const board = async (id, page) => {
  const b = await get(`/api/boards/${id}.json?page=${page}`);
  return frame(b.name, '<ol class="threads">' + b.threads.map(t => `<li class="row">${link('/t/' + t.id, t.title)}
    <span class="by">${t.author}</span> <small>${t.posts} posts</small></li>`).join('') + '</ol>'
    + pager('/b/' + id, page, b.pages));
};
const post = p => `<article class="post" id="p${p.id}"><header><span class="writer">${p.author}</span>
  ${when(p.date)}</header><div class="text">${p.html}</div>
  <footer><button class="like">Like</button></footer></article>`;
const thread = async (id, page) => {
  const t = await get(`/api/threads/${id}.json?page=${page}`);
  document.title = t.title + ' - Tinker Board';
  return frame(t.title, `<p class="crumbs">${link('/b/' + t.board.id, t.board.name)}</p>
    <section class="posts">${t.posts.map(post).join('')}</section>` + pager('/t/' + id, page, t.pages));
};
const about = async () => frame('About', '<p>Rules: be kind, stay on topic.</p>');
const routes = [[/^\\/$/, boards], [/^\\/b\\/(\\w+)$/, board], [/^\\/t\\/(\\w+)$/, thread], [/^\\/about$/, about]];
async function show() {
  for (const [pattern, render] of routes) {
    const found = location.pathname.match(pattern);
    if (found) {
      const page = Number(new URLSearchParams(location.search).get('page') || 1);
      app.innerHTML = found[1] ? await render(found[1], page) : await render();
      return;
    }
  }
  app.innerHTML = frame('Not found', '<p>There is no such page.</p>');
}
document.addEventListener('click', event => {
  const a = event.target.closest('a');
  if (!a || a.origin !== location.origin) return;
  event.preventDefault();
  history.pushState({}, '', a.href);
  show();
});
addEventListener('popstate', show);
show();
"""
_FORMAT: Final = """
export const when = date => `<time datetime="${date}">${new Date(date).toLocaleString('en-GB',
  {dateStyle: 'medium', timeStyle: 'short', timeZone: 'UTC'})}</time>`;
export const link = (to, text) => `<a href="${to}">${text}</a>`;
"""
_CSS: Final = (
    "body{font:16px sans-serif;margin:0 auto;max-width:50em}.post{border:1px solid #ccc;margin:1em 0;padding:1em}"
)
_ICON: Final = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 8 8"><path d="M1 1h6v6H1z"/></svg>'
_ASSETS: Final = {
    "/assets/main.7c1f0b.js": reply(_SCRIPT, SCRIPT, ("Cache-Control", "max-age=31536000")),
    "/assets/format.2be9a1.js": reply(_FORMAT, SCRIPT, ("Cache-Control", "max-age=31536000")),
    "/assets/main.7c1f0b.css": reply(_CSS, STYLE),
    "/assets/icon.svg": reply(_ICON, "image/svg+xml"),
}
_PARTS: Final = (Parts("article.post", ".text", heading="main h1", author=".writer", date="time"),)
_BOARD: Final = re.compile(r"/api/boards/b(\d+)\.json$")
_THREAD: Final = re.compile(r"/api/threads/(\w+)\.json$")


class Forum:
    """Answers what the script of a forum asks for."""

    def __init__(self, content: Content) -> None:
        self._content = content
        self._threads = {thread.id: thread for thread in content.threads}

    def answer(self, request: Request) -> Reply:
        """Answer a request: data, a file, or the shell, which is the same for all addresses."""
        path, page = request.path, int(request.query.get("page", "1"))
        if path == "/robots.txt":
            return reply("User-agent: *\nDisallow: /admin/\n", "text/plain")
        if path.startswith(("/api/", "/assets/")):
            found = _ASSETS.get(path) or self._data(path, page)
            return compressed(found, request)
        return compressed(reply(_SHELL, "text/html; charset=utf-8"), request)

    def _data(self, path: str, page: int) -> Reply:
        boards = self._content.forums
        if path == "/api/boards.json":
            return data({"boards": [self._board(number) for number in range(len(boards))]})
        if (found := _BOARD.match(path)) and int(found[1]) < len(boards):
            return data(self._board_page(int(found[1]), page))
        if (found := _THREAD.match(path)) and found[1] in self._threads:
            return data(self._thread_page(self._threads[found[1]], page))
        return data({"error": "not found"}, status=404)

    def _board(self, number: int) -> dict[str, Any]:
        name = self._content.forums[number]
        return {"id": f"b{number}", "name": name, "threads": len(self._of(name))}

    def _of(self, forum: str) -> Sequence[Thread]:
        return [thread for thread in self._content.threads if thread.forum == forum]

    def _board_page(self, number: int, page: int) -> dict[str, Any]:
        threads = self._of(self._content.forums[number])
        shown = [
            {"id": each.id, "title": escape(each.title), "author": each.posts[0].author, "posts": len(each.posts)}
            for each in threads[(page - 1) * THREADS : page * THREADS]
        ]
        return {**self._board(number), "threads": shown, "pages": ceil(len(threads) / THREADS)}

    def _thread_page(self, thread: Thread, page: int) -> dict[str, Any]:
        posts = [_post(post) for post in thread.posts[(page - 1) * POSTS : page * POSTS]]
        board = {"id": f"b{self._content.forums.index(thread.forum)}", "name": thread.forum}
        pages = ceil(len(thread.posts) / POSTS)
        return {"id": thread.id, "title": escape(thread.title), "board": board, "posts": posts, "pages": pages}

    def views(self) -> Iterator[View]:
        """Yield all pages: boards, threads, and the further pages of both."""
        yield View("/", shows=".boards")
        yield View("/about", shows="main p")
        for number, name in enumerate(self._content.forums):
            for page in range(ceil(len(self._of(name)) / THREADS)):
                yield View(_paged(f"/b/b{number}", page), shows=".threads")
        for thread in self._content.threads:
            for page in range(ceil(len(thread.posts) / POSTS)):
                yield View(_paged(f"/t/{thread.id}", page), _PARTS, shows=".posts", continued=page > 0)


def _post(post: Post) -> dict[str, Any]:
    return {"id": post.id, "author": escape(post.author), "date": post.date, "html": html(post)}


def _paged(path: str, page: int) -> str:
    return f"{path}?page={page + 1}" if page else path


@contextmanager
def opened(folder: Path, origin: str) -> Iterator[Site]:  # noqa: ARG001 - others need them
    """Open the forum."""
    forum = Forum(Writer(11).content(POSTS, SIZE))
    yield Site("forum", forum.answer, tuple(forum.views()))
