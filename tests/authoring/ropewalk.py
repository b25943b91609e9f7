"""Ropewalk, an invented forum software with ids and titles in its URLs, as a whole site: six forums, threads, profiles.

It shows what made drafts fail: generic names of files, bodies with lists and code, log-in forms below ``/user/``,
numbers of first pages, and links to histories and forms.
"""

from collections.abc import Mapping

from aahcrawler.page import Page
from tests.helper.saved_pages import html_page

SITE = "http://ropewalk.example"
FORUMS = ("1-music", "2-film", "3-the-arts-4", "4-long-distance-sailing", "5-off-topic", "6-login-problems")
AUTHORS = ("ada", "bo-jones", "cleo")
THREADS = tuple(range(10, 28))
PAGES = 2
"""Pages of the long thread, which is the first."""

_TEXTS = (
    "<p>Which rope lasts longest when it lies in the salt water of the harbour for a whole year, thread {n}?</p>",
    """<p>There are three that I would try first, in this order, answer {n}:</p><ul><li>polyester with a cover</li>
<li>old hemp from the yard</li></ul><p>All of them need to be rinsed afterwards.</p>""",
    """<p>This is how I count the turns on the drum of the winch, note {n}:</p><pre><code>turns = rope / drum
print(turns)</code></pre><p>It never failed me.</p>""",
    "<blockquote><p>Which rope lasts longest?</p></blockquote><p>The one that never gets wet, as remark {n} says.</p>",
)

_PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>{title} - Quay Talk</title>
<link rel="icon" href="/static/favicon.ico"><link rel="stylesheet" href="/static/css/styles.css">
<script src="/static/js/main.js"></script>{more}</head><body>
<header class="header"><a class="logo" href="/">Quay Talk</a>
<nav class="nav"><a href="/user/login/?next=/">Log in</a> <a href="/user/register/">Register</a>
<a href="/search/">Search</a></nav></header>
<div class="container"><div class="content">{content}</div></div>
<footer class="footer"><a href="/about/">About</a></footer></body></html>"""


def title_of(thread: int) -> str:
    """Return the title of a thread."""
    return f"{('Wet ropes', 'Old hemp', 'Top 10 knots')[thread % 3]} {thread}"


def path_of(thread: int) -> str:
    """Return the path of a thread."""
    return f"/topic/{thread}-{title_of(thread).lower().replace(' ', '-')}/"


def bodies(thread: int, page: int = 1) -> list[str]:
    """Return the markup of the texts of a thread's page."""
    first = 100 * thread + 10 * page
    return [_TEXTS[(thread + place) % len(_TEXTS)].format(n=first + place) for place in range(4)]


def _post(thread: int, number: int, text: str) -> str:
    author = AUTHORS[number % 3]
    return f"""<div class="comment" id="c{number}"><div class="comment-info">
<a class="comment-author" href="/user/{number % 3 + 1}/{author}/">{author}</a>
<time datetime="2024-03-{number % 27 + 1:02}T10:00:00Z">then</time></div>
<div class="comment-text">{text}</div>
<ul class="comment-actions"><li><a href="/comment/history/{number}/">history</a></li>
<li><a href="/comment/publish/{thread}/quote/{number}/">quote</a></li>
<li><a href="/comment/like/{number}/">like</a></li></ul></div>"""


def thread_page(thread: int, page: int = 1, more: str = "") -> str:
    """Return the markup of a page of a thread."""
    posts = "".join(_post(thread, 100 * thread + 10 * page + i, text) for i, text in enumerate(bodies(thread, page)))
    path = path_of(thread)
    pager = "".join(f'<a href="{path}?page={n}">{n}</a> ' for n in range(1, PAGES + 1)) if thread == THREADS[0] else ""
    forum = FORUMS[thread % 6]
    crumbs = f'<p class="breadcrumb"><a href="/">Home</a> <a href="/forum/{forum}/">{forum}</a></p>'
    content = f"""{crumbs}<h1>{title_of(thread)}</h1>{posts}<div class="pager">{pager}</div>
<a href="/comment/publish/{thread}/">Reply</a> <a href="/topic/moderate/close/{thread}/">close</a>"""
    return _PAGE.format(title=title_of(thread), content=content, more=more)


def forum_page(place: int, more: str = "") -> str:
    """Return the markup of a forum: its threads."""
    threads = [each for each in THREADS if each % 6 == place]
    rows = "".join(
        f'<li class="topic"><a class="title" href="{path_of(each)}">{title_of(each)}</a> by '
        f'<a href="/user/{each % 3 + 1}/{AUTHORS[each % 3]}/">{AUTHORS[each % 3]}</a></li>'
        for each in threads
    )
    content = f'<h1>{FORUMS[place]}</h1><ul class="topics">{rows}</ul><a href="/topic/publish/{place}/">New topic</a>'
    return _PAGE.format(title=FORUMS[place], content=content, more=more)


def front_page(more: str = "") -> str:
    """Return the markup of the front page: all forums."""
    rows = "".join(f'<li><a class="title" href="/forum/{name}/">{name}</a></li>' for name in FORUMS)
    return _PAGE.format(title="Forums", content=f'<h1>Forums</h1><ul class="forums">{rows}</ul>', more=more)


def login_page(more: str = "") -> str:
    """Return the markup of the form to log in."""
    form = '<form method="post"><input name="name"><input name="word" type="password"></form>'
    return _PAGE.format(title="Log in", content=form, more=more)


def site(more: str = "") -> Mapping[str, Page]:
    """Return all pages of the site by their URLs, ``more`` in the head of each."""
    pages = {"/": front_page(more), "/user/login/?next=/": login_page(more), "/user/login/": login_page(more)}
    pages |= {f"/forum/{name}/": forum_page(place, more) for place, name in enumerate(FORUMS)}
    pages |= {path_of(each): thread_page(each, more=more) for each in THREADS}
    long = path_of(THREADS[0])
    pages |= {f"{long}?page={n}": thread_page(THREADS[0], n, more) for n in range(1, PAGES + 1)}
    return {f"{SITE}{path}": html_page(f"{SITE}{path}", markup) for path, markup in pages.items()}
