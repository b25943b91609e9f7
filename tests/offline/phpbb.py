"""A small forum as phpBB 3.3 with its style prosilver shows it, written by hand to the structure of its templates."""

from collections.abc import Sequence
from dataclasses import dataclass

from tests.crawl.site import Answer, Reply

HEAD = """<!DOCTYPE html><html dir="ltr" lang="en-gb"><head><meta charset="utf-8"><title>Harbour board - {title}</title>
<link href="./styles/prosilver/theme/stylesheet.css" rel="stylesheet"></head>
<body id="phpbb" class="nojs notouch section-{section} ltr"><div id="wrap" class="wrap"><div class="navbar"><ul
id="nav-breadcrumbs" class="nav-breadcrumbs linklist navlinks"><li class="breadcrumbs"><span class="crumb"><a
href="./index.php" itemprop="item"><span itemprop="name">Board index</span></a></span>{crumb}</li></ul></div>
<div id="page-body" class="page-body">"""
CRUMB = (
    '<span class="crumb"><a href="./viewforum.php?f=2" itemprop="item"><span itemprop="name">Boats</span></a></span>'
)
FOOT = """</div><div class="copyright">Powered by <a href="https://www.phpbb.com/">phpBB</a>&reg; Forum Software</div>
</div></body></html>"""
POST = """<div id="p{number}" class="post has-profile bg2"><div class="inner"><dl class="postprofile"><dt><a
href="./memberlist.php?mode=viewprofile&amp;u={user}" class="username">{author}</a></dt></dl><div class="postbody">
<h3><a href="./viewtopic.php?p={number}#p{number}">{title}</a></h3><p class="author"><a class="unread"
href="./viewtopic.php?p={number}#p{number}"></a> by <strong><a href="./memberlist.php?mode=viewprofile&amp;u={user}"
class="username">{author}</a></strong> &raquo; <time datetime="2024-03-0{day}T10:00:00+00:00">Mar 0{day}, 2024</time>
</p><div class="content">{text}</div></div></div></div>"""
QUOTE = """<blockquote cite="./viewtopic.php?p={number}#p{number}"><div><cite><a
href="./memberlist.php?mode=viewprofile&amp;u=1">somebody</a> wrote: <a href="./viewtopic.php?p={number}#p{number}"
data-post-id="{number}">&uarr;</a></cite>{text}</div></blockquote>"""
USERS = ("ann", "bob", "cy", "dee")


@dataclass(frozen=True, slots=True)
class Post:
    """A post: its text is markup."""

    number: int
    author: str
    text: str


def quote(number: int, text: str) -> str:
    """Return a quote that names the post it is from."""
    return QUOTE.format(number=number, text=text)


def thread(number: int, title: str, posts: Sequence[Post]) -> Reply:
    """Return the page of a thread."""
    shown = "".join(
        POST.format(
            number=post.number,
            author=post.author,
            user=USERS.index(post.author) + 50,
            title=title if place == 0 else f"Re: {title}",
            day=place + 1,
            text=post.text,
        )
        for place, post in enumerate(posts)
    )
    heading = f'<h2 class="topic-title"><a href="./viewtopic.php?t={number}">{title}</a></h2>'
    return _page(title, "viewtopic", CRUMB, heading + shown)


def board(threads: dict[int, Reply]) -> dict[str, Answer]:
    """Return the pages of a board with one forum."""
    rows = "".join(f'<dt><a href="./viewtopic.php?t={number}" class="topictitle">T</a></dt>' for number in threads)
    index = '<dl><dt><a href="./viewforum.php?f=2" class="forumtitle">Boats</a></dt></dl>'
    pages: dict[str, Answer] = {
        "/": _page("Index", "index", "", index),
        "/viewforum.php?f=2": _page("Boats", "viewforum", CRUMB, f"<dl>{rows}</dl>"),
    }
    return pages | {f"/viewtopic.php?t={number}": page for number, page in threads.items()}


def _page(title: str, section: str, crumb: str, body: str) -> Reply:
    return Reply((HEAD.format(title=title, section=section, crumb=crumb) + body + FOOT).encode())
