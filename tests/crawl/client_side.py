"""A forum whose pages are made by a script from JSON, beside pages that the server makes."""

import json
from collections.abc import Mapping

from tests.crawl.site import Reply

SHELL = b"""<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Harbour board</title></head>
<body><noscript>Please turn scripts on.</noscript><div id="app"></div><script src="/app.js"></script></body></html>"""
FRAMED = b"""<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Harbour board</title></head><body>
<header><a href="/">Harbour board</a> <nav><a href="/t/1">First</a> <a href="/plain/1">Plain pages</a></nav></header>
<main id="app"><span>...</span></main><footer>All rights reserved. <a href="/imprint">Imprint</a></footer>
<script src="/app.js"></script></body></html>"""
SCRIPT = b"""
const made = (tag, text, into, more) =>
  into.append(Object.assign(document.createElement(tag), {textContent: text}, more));
fetch('/api' + location.pathname).then(answer => answer.json()).then(page => {
  const app = document.getElementById('app');
  app.textContent = '';
  made('h1', page.title, app, {});
  for (const post of page.posts || []) {
    const article = document.createElement('article');
    made('span', post.author, article, {className: 'author'});
    made('time', post.date, article, {dateTime: post.date});
    made('p', post.text, article, {});
    app.append(article);
  }
  for (const link of page.links || []) made('a', link.title, app, {href: link.url});
  document.title = page.title;
});
"""
PEOPLE = ("jonas", "mette", "frida", "olav")
PLACES = ("pier", "lock", "dike", "sluice", "quay", "mole")


def post(thread: int, place: int) -> dict[str, str]:
    """Return a post of a thread."""
    words = f"The {PLACES[(thread + place) % 6]} by the old harbour was flooded again on day {place + 1} of the storm,"
    return {
        "author": PEOPLE[(thread + place) % 4],
        "date": f"2024-05-{10 + place:02d}T12:{thread:02d}:00Z",
        "text": f"{words} and number {thread * 10 + place} of the houses along it had to be left before the evening.",
    }


def api(threads: int = 5, posts: int = 4) -> dict[str, object]:
    """Return what the script asks for, by path."""
    links = [
        {"title": f"Flood of the {PLACES[each % 6]} {each}", "url": f"/t/{each}"} for each in range(1, threads + 1)
    ]
    found: dict[str, object] = {"/": {"title": "Harbour board: floods", "links": links}}
    for each in range(1, threads + 1):
        made = [post(each, place) for place in range(posts)]
        found[f"/t/{each}"] = {"title": f"Flood of the {PLACES[each % 6]} {each}", "posts": made}
    return found


def forum(threads: int = 5, posts: int = 4, shell: bytes = SHELL) -> Mapping[str, Reply]:
    """Return the pages of a forum on the client's side, by path."""
    plain = {"Content-Type": "application/json"}
    pages: dict[str, Reply] = {"/app.js": Reply(SCRIPT, headers={"Content-Type": "text/javascript"})}
    for path, answer in api(threads, posts).items():
        pages[path] = Reply(shell, headers={"Content-Type": "text/html; charset=utf-8", "ETag": '"shell"'})
        pages[f"/api{path}"] = Reply(json.dumps(answer).encode(), headers=plain)
    return pages


def article(number: int) -> Reply:
    """Return a page that the server makes, with a script that changes nothing of it."""
    text = " ".join(
        f"Sentence {each} of article {number} tells of the flood, the dike and the harbour." for each in range(20)
    )
    links = "".join(f'<a href="/plain/{each}">Article {each} of the flood</a> ' for each in range(1, 13))
    return Reply(
        f"<!doctype html><html lang=en><head><title>Article {number}</title></head><body><h1>Article {number}</h1>"
        f"<article><p>{text}</p></article><nav>{links}</nav><div id=more></div><script src=/stat.js></script>".encode()
    )
