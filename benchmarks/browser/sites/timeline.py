"""Timelines that grow as one scrolls: one that keeps what it has shown, and one that takes away what is far above."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from html import escape
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, unquote

from benchmarks.browser.replies import SCRIPT, Reply, Request, compressed, data, reply
from benchmarks.browser.site import Act, Deed, Opening, Parts, Site, View
from benchmarks.software.content import Post
from benchmarks.software.markup import html
from benchmarks.software.writing import Size, Writer

_SIZE: Final = Size(single=30, few=20, overhanging=0, long=2)
_PIECE, _MOST = 15, 120
_PEOPLE: Final = 4
_SHELL: Final = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Murmur</title><style>
body{font:16px sans-serif;margin:0 auto;max-width:38em}.note{border-bottom:1px solid #ddd;padding:1em;min-height:7em}
</style></head><body><noscript>Murmur needs JavaScript.</noscript><div id="root"></div>
<script>window.__KEEPS__=%s</script><script src="/static/murmur.js" defer></script></body></html>
"""
_SCRIPT: Final = """
(() => {
  const root = document.getElementById('root');
  const person = (location.pathname.match(/^\\/@(.+)$/) || [])[1] || '';
  root.innerHTML = `<header><h1>${person ? '@' + decodeURIComponent(person) : 'Murmur'}</h1>
    <nav id="people"></nav></header><div id="space"></div><main id="feed" role="feed"></main><div id="end">...</div>`;
  const feed = document.getElementById('feed'), end = document.getElementById('end');
  const space = document.getElementById('space');
  const made = note => {
    const each = document.createElement('article');
    each.className = 'note';
    each.innerHTML = `<header><a class="who" href="/@${encodeURIComponent(note.author)}">${note.author}</a>
      <time datetime="${note.date}">${note.shown}</time></header><div class="said">${note.html}</div>`;
    return each;
  };
  let cursor = '', busy = false, height = 0;
  const notes = [], heights = [];
  let first = 0;
  const more = async () => {
    if (busy || cursor === null) return;
    busy = true;
    const answer = await fetch(`/api/feed?who=${person}&after=${cursor}`);
    const got = await answer.json();
    cursor = got.next;
    for (const note of got.notes) { notes.push(note); feed.append(made(note)); }
    if (cursor === null) end.textContent = 'That is all.';
    busy = false;
    if (!window.__KEEPS__) trim();
    if (cursor !== null && end.getBoundingClientRect().top < innerHeight + 200) more();
  };
  const trim = () => {
    const above = -1.5 * innerHeight;
    while (feed.firstElementChild && feed.firstElementChild.getBoundingClientRect().bottom < above) {
      const gone = feed.firstElementChild;
      heights[first++] = gone.offsetHeight;
      height += gone.offsetHeight;
      gone.remove();
      space.style.height = height + 'px';
    }
    while (first > 0 && space.getBoundingClientRect().bottom > above + innerHeight / 2) {
      height -= heights[--first];
      feed.prepend(made(notes[first]));
      space.style.height = height + 'px';
    }
  };
  new IntersectionObserver(seen => seen.some(each => each.isIntersecting) && more(),
    {rootMargin: '200px'}).observe(end);
  if (!window.__KEEPS__) addEventListener('scroll', trim, {passive: true});
  fetch('/api/people').then(answer => answer.json()).then(people => {
    document.getElementById('people').innerHTML = people.map(name =>
      `<a href="/@${encodeURIComponent(name)}">@${name}</a>`).join(' ');
  });
})();
"""
_PARTS: Final = (Parts("article.note", ".said", author=".who", date="time"),)


class Timeline:
    """Answers what the script of a timeline asks for: notes, the newest first, piece by piece."""

    def __init__(self, posts: Sequence[Post], *, keeps: bool) -> None:
        self._posts, self._keeps = posts, keeps

    def answer(self, request: Request) -> Reply:
        """Answer a request."""
        match request.path:
            case "/robots.txt":
                return reply("", "text/plain")
            case "/static/murmur.js":
                return compressed(reply(_SCRIPT, SCRIPT), request)
            case "/api/people":
                return data(self.people)
            case "/api/feed":
                return compressed(data(self._piece(request.query)), request)
        shell = _SHELL % json.dumps(self._keeps)
        return compressed(reply(shell, "text/html; charset=utf-8"), request)

    @property
    def people(self) -> list[str]:
        """Some of those who write, each with a timeline of their own."""
        return self.authors[:_PEOPLE]

    @property
    def authors(self) -> list[str]:
        """All who write: each note links to the timeline of its author."""
        return list(dict.fromkeys(post.author for post in self._posts))

    def _piece(self, query: dict[str, str] | Any) -> dict[str, Any]:
        posts = [post for post in self._posts if unquote(query.get("who", "")) in ("", post.author)]
        begin = int(query.get("after") or 0)
        end = begin + _PIECE
        notes = [
            {"author": escape(each.author), "date": each.date, "shown": each.date[:10], "html": html(each)}
            for each in posts[begin:end]
        ]
        return {"notes": notes, "next": end if end < len(posts) else None}

    def views(self) -> Iterator[View]:
        """Yield the timeline of all, and those of single people."""
        scroll = (Act(Deed.SCROLL),)
        yield View("/", _PARTS, scroll, shows="article.note", continued=True)
        for name in self.authors:
            yield View(f"/@{quote(name)}", _PARTS, scroll, shows="article.note", continued=True)


def _posts() -> list[Post]:
    """Return posts no two of which say the same: one could not tell which was seen."""
    content = Writer(12).content(10, _SIZE)
    said = {html(post): post for _, post in content.posts()}
    return sorted(said.values(), key=lambda post: post.date, reverse=True)[:_MOST]


@contextmanager
def _opened(folder: Path, origin: str, *, keeps: bool) -> Iterator[Site]:  # noqa: ARG001 - others need them
    timeline = Timeline(_posts(), keeps=keeps)
    yield Site("scroll" if keeps else "virtual", timeline.answer, tuple(timeline.views()))


plain: Opening = partial(_opened, keeps=True)
virtual: Opening = partial(_opened, keeps=False)
