"""A board whose pages are made by a script from JSON: shells at /t/N, data at /api/t/N.json."""

import json

from tests.crawl.site import Answer, Reply

WORDS = "The harbour was flooded for days, and the dike broke near the mill. People were brought away by boat. "
SCRIPT = """
const link = (to, text) => `<a href="${to}">${text}</a>`;
async function show() {
  const [, kind, id] = location.pathname.split('/');
  const answer = await fetch(kind === 't' ? `/api/t/${id}.json` : '/api/threads.json');
  const data = await answer.json();
  document.title = data.title + ' - Board';
  document.getElementById('app').innerHTML = `<h1>${data.title}</h1>` + (kind === 't'
    ? data.posts.map(post => `<article class="post" id="p${post.id}">
        <a class="author" href="/u/${post.by}">${post.by}</a>
        <time datetime="${post.at}">${post.at.slice(0, 10)}</time>
        <div class="body">${post.html}</div></article>`).join('')
    : data.threads.map(thread => `<p>${link('/t/' + thread.id, thread.title)}</p>`).join(''));
}
show();
"""
SHELL = (
    b'<!doctype html><html><head><title>Board</title></head><body><div id="app"></div><script src="/app.js"></script>'
)


def pages(threads: int) -> dict[str, Answer]:
    """Return the pages of a board with so many threads, each with more posts than the one before."""
    found: dict[str, Answer] = {
        "/": Reply(SHELL),
        "/app.js": Reply(SCRIPT.encode(), headers={"Content-Type": "text/javascript"}),
        "/robots.txt": Reply(b"", 404),
        "/api/threads.json": data({"title": "All talk", "threads": [thread(each) for each in range(1, threads + 1)]}),
    }
    for number in range(1, threads + 1):
        found[f"/t/{number}"] = Reply(SHELL)
        found[f"/api/t/{number}.json"] = data({**thread(number), "posts": posts(number)})
    return found


def data(value: object) -> Reply:
    """Answer with JSON."""
    return Reply(json.dumps(value).encode(), headers={"Content-Type": "application/json"})


def thread(number: int) -> dict[str, object]:
    """Return what is said of a thread."""
    return {"id": number, "title": f"Flood report number {number}"}


def posts(number: int) -> list[dict[str, object]]:
    """Return the posts of a thread."""
    return [
        {
            "id": 100 * number + place,
            "by": f"member{(7 * number + place) % 13}",
            "at": f"2024-0{1 + place}-1{number % 10}T10:00:00Z",
            "html": f"<p>{WORDS}</p><p>Gauge {number}-{place} stood at {number * 10 + place} metres. {WORDS}</p>",
        }
        for place in range(2 + number % 3)
    ]
