"""A generated forum of any size: its pages are built like phpBB's, with ten posts a thread and about 25 kB each.

    python -m benchmarks.forum --threads N --hosts N

serves several of them from one process, each on an address of its own.
"""

import argparse
import asyncio
import random
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cache
from html import escape
from urllib.parse import parse_qsl, urlsplit
from zlib import crc32

from benchmarks.page_server import Pages, Served, message, serve, started

SEED = 20140630
POSTS = 10
LISTED = 25
"""Threads on one page of a forum."""
FORUM = 1000
"""Threads in one forum."""
_PAGE = """<!DOCTYPE html>
<html dir="ltr" lang="en-gb">
<head>
<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title} - The Harbour Board</title>
{head}</head>
<body id="phpbb" class="nojs notouch section-{section} ltr ">
<div id="wrap" class="wrap"><a id="top" class="top-anchor" accesskey="t"></a>
<div id="page-header"><div class="headerbar"><div class="inner">
<div id="site-description" class="site-description"><h1>The Harbour Board</h1>
<p>Boats, tides and those who mind them</p>
<p class="skiplink"><a href="#start_here">Skip to content</a></p></div></div></div>
<div class="navbar"><div class="inner"><ul id="nav-main" class="nav-main linklist">
<li><a href="./faq.php" rel="help"><span>FAQ</span></a></li>
<li><a href="./ucp.php?mode=register"><span>Register</span></a></li>
<li><a href="./ucp.php?mode=login"><span>Login</span></a></li></ul>
<ul id="nav-breadcrumbs" class="nav-breadcrumbs linklist navlinks"><li class="breadcrumbs">
<span class="crumb"><a href="./index.php"><span>Board index</span></a></span>{crumb}</li></ul></div></div></div>
<a id="start_here" class="anchor"></a>
<div id="page-body" class="page-body">
{body}
</div>
<div id="page-footer" class="page-footer"><div class="copyright">
<p class="footer-row"><span class="footer-copyright">Powered by <a href="https://www.phpbb.com/">phpBB</a>&reg; Forum
Software &copy; phpBB Limited</span></p></div></div></div>
</body></html>
"""
_POST = """<div id="p{id}" class="post has-profile bg{place}"><div class="inner">
<dl class="postprofile" id="profile{id}"><dt class="no-profile-rank no-avatar"><div class="avatar-container"></div>
<a href="./memberlist.php?mode=viewprofile&amp;u={user}" class="username">{name}</a></dt>
<dd class="profile-posts"><strong>Posts:</strong> <a href="./search.php?author_id={user}&amp;sr=posts">{posts}</a></dd>
<dd class="profile-joined"><strong>Joined:</strong> Sun Mar 0{place}, 2015 8:15 am</dd>
<dd class="profile-custom-field profile-phpbb_location"><strong>Location:</strong> {place} Quay Street</dd></dl>
<div class="postbody"><div id="post_content{id}">
<h3{first}><a href="./viewtopic.php?p={id}#p{id}">{title}</a></h3>
<ul class="post-buttons"><li><a href="./posting.php?mode=quote&amp;p={id}" title="Reply with quote" class="button">
<i class="icon fa-quote-left fa-fw" aria-hidden="true"></i><span class="sr-only">Quote</span></a></li></ul>
<p class="author"><a class="unread" href="./viewtopic.php?p={id}#p{id}" title="Post">
<i class="icon fa-file fa-fw icon-lightgray icon-md" aria-hidden="true"></i><span class="sr-only">Post</span></a>
<span class="responsive-hide">by <strong><a href="./memberlist.php?mode=viewprofile&amp;u={user}" class="username">
{name}</a></strong> &raquo; </span><time datetime="2023-03-{day:02}T08:15:{place:02}+00:00">
Wed Mar {day:02}, 2023 8:15 am</time></p>
<div class="content">{text}</div>
<div id="sig{id}" class="signature">
{name} keeps a boat at <a href="http://{name}.example/" class="postlink">the pier</a></div>
</div></div>
<div class="back2top"><a href="#top" class="top" title="Top"><i class="icon fa-chevron-circle-up fa-fw icon-gray"
aria-hidden="true"></i><span class="sr-only">Top</span></a></div></div></div>
<hr class="divider">
"""
_TOPIC = """<li class="row bg{place}"><dl class="row-item topic_read">
<dt title="No unread posts"><div class="list-inner">
<a href="./viewtopic.php?t={thread}" class="topictitle">{title}</a><br>
<div class="topic-poster responsive-hide">by <a href="./memberlist.php?mode=viewprofile&amp;u={user}" class="username">
user{user}</a> &raquo; <time datetime="2023-03-01T08:15:00+00:00">Wed Mar 01, 2023 8:15 am</time></div></div></dt>
<dd class="posts">10 <dfn>Replies</dfn></dd><dd class="views">{views} <dfn>Views</dfn></dd>
<dd class="lastpost"><span><dfn>Last post</dfn>by
<a href="./memberlist.php?mode=viewprofile&amp;u={user}">user{user}</a>
<a href="./viewtopic.php?p={last}#p{last}">View the latest post</a></span></dd></dl></li>
"""


@cache
def _paragraphs() -> list[str]:
    from wordfreq import top_n_list  # noqa: PLC0415 - what it imports takes long

    chance, words = random.Random(SEED), top_n_list("en", 3000)
    return [" ".join(chance.choices(words, k=chance.randint(30, 60))).capitalize() + "." for _ in range(3000)]


@dataclass(frozen=True)
class Forum:
    """A board with the threads numbered from ``first`` up to ``threads``, in forums of ``size`` threads each.

    Every page is a pure function of its URL. Boards have threads in common only if they have numbers in common.
    """

    threads: int
    first: int = 0
    size: int = FORUM

    @property
    def pages(self) -> int:
        """The number of pages: the board's index, lists of threads, and threads."""
        lists = sum(-(-self._size(forum) // LISTED) for forum in self._forums)
        return 1 + lists + self.threads - self.first

    def addresses(self) -> Iterator[str]:
        """Yield the URL of each page, relative to the board, as the pages themselves write it."""
        yield "index.php"
        for forum in self._forums:
            for start in range(0, self._size(forum), LISTED):
                yield f"viewforum.php?f={forum}&start={start}" if start else f"viewforum.php?f={forum}"
        for thread in range(self.first, self.threads):
            yield f"viewtopic.php?t={thread}"

    def page(self, file: str, parameters: dict[str, str]) -> bytes | None:
        """Return the page of a file and its parameters, None where there is none."""
        try:
            match file:
                case "" | "index.php":
                    return self._index().encode()
                case "viewforum.php":
                    return self._list(int(parameters["f"]), int(parameters.get("start", "0"))).encode()
                case "viewtopic.php":
                    return self._thread(int(parameters["t"])).encode()
        except (KeyError, ValueError):
            return None
        return None

    @property
    def _forums(self) -> range:
        return range(self.first // self.size, -(-self.threads // self.size))

    def _size(self, forum: int) -> int:
        return min(self.size, self.threads - forum * self.size)

    def _title(self, thread: int) -> str:
        return escape(f"{_paragraphs()[thread % 3000][:40].strip()} {thread}")

    def _index(self) -> str:
        rows = "".join(
            f'<li class="row"><a href="./viewforum.php?f={forum}" class="forumtitle">Harbour number {forum}</a></li>\n'
            for forum in self._forums
        )
        body = f'<div class="forabg"><ul class="topiclist forums">\n{rows}</ul></div>'
        return _PAGE.format(title="Board index", head="", section="index", crumb="", body=body)

    def _list(self, forum: int, start: int) -> str:
        if not (forum in self._forums and 0 <= start < self._size(forum) and start % LISTED == 0):
            raise ValueError(start)
        chance = random.Random(f"{SEED}:{forum}:{start}")
        rows = "".join(
            _TOPIC.format(
                place=number % 2 + 1,
                thread=thread,
                title=self._title(thread),
                user=chance.randrange(2, 2000),
                views=chance.randrange(10**5),
                last=(thread + 1) * POSTS,
            )
            for number, thread in enumerate(range(forum * self.size, forum * self.size + self._size(forum)))
            if start <= number < start + LISTED
        )
        starts, address = range(0, self._size(forum), LISTED), f"./viewforum.php?f={forum}"
        paging = "".join(
            f'<li><a class="button" href="{address}&amp;start={at}" role="button">{at // LISTED + 1}</a></li>'
            for at in starts
            if at and at != start
        )
        body = (
            f'<h2 class="forum-title"><a href="./viewforum.php?f={forum}">Harbour number {forum}</a></h2>\n'
            f'<div class="action-bar bar-top"><div class="pagination"><ul>{paging}</ul></div></div>\n'
            f'<div class="forumbg"><div class="inner"><ul class="topiclist topics">\n{rows}</ul></div></div>'
        )
        title = f"Harbour number {forum}"
        return _PAGE.format(title=title, head="", section="viewforum", crumb=self._crumb(forum), body=body)

    def _crumb(self, forum: int) -> str:
        return (
            f' <span class="crumb"><a href="./viewforum.php?f={forum}"><span>Harbour number {forum}</span></a></span>'
        )

    def _thread(self, thread: int) -> str:
        if not self.first <= thread < self.threads:
            raise ValueError(thread)
        chance, title = random.Random(f"{SEED}:{thread}"), self._title(thread)
        posts = "".join(self._post(thread, place, title, chance) for place in range(POSTS))
        body = f'<h2 class="topic-title"><a href="./viewtopic.php?t={thread}">{title}</a></h2>\n{posts}'
        head = f'<link rel="canonical" href="./viewtopic.php?t={thread}">\n'
        return _PAGE.format(
            title=title, head=head, section="viewtopic", crumb=self._crumb(thread // self.size), body=body
        )

    def _post(self, thread: int, place: int, title: str, chance: random.Random) -> str:
        user = chance.randrange(2, 2000)
        return _POST.format(
            id=thread * POSTS + place + 1,
            user=user,
            name=f"user{user}",
            posts=chance.randrange(1, 5000),
            place=place % 9 + 1,
            day=chance.randint(1, 28),
            first=' class="first"' if place == 0 else "",
            title=title if place == 0 else f"Re: {title}",
            text="<br>\n<br>\n".join(chance.choices(_paragraphs(), k=2)),
        )


MODIFIED = "Wed, 01 Mar 2023 08:15:00 GMT"
MAX_KEPT = 5000
"""The most pages that are held in memory; others are generated at each request."""


class Boards(Pages):
    """The boards of all hosts."""

    def __init__(self, boards: dict[str, Forum]) -> None:
        super().__init__()
        self._boards = boards
        self._kept: dict[tuple[str, str], bytes | None] = {}

    def make(self) -> None:
        """Generate the pages that are held in memory."""
        for host, board in self._boards.items():
            for address in board.addresses():
                if len(self._kept) >= MAX_KEPT:
                    return
                self._kept[host, f"/{address}"] = self._made(host, f"/{address}")

    def respond(self, host: str, target: str, fields: dict[str, str]) -> bytes:
        """Return the response for a path of a host: its page, or 304."""
        tag = f'"{crc32(target.encode()):08x}"'
        validators = f"ETag: {tag}\r\nLast-Modified: {MODIFIED}\r\n"
        if fields.get("if-none-match") == tag:
            self.counts.not_modified += 1
            return f"HTTP/1.1 304 Not Modified\r\n{validators}\r\n".encode()
        key = (host, target)
        body = self._kept[key] if key in self._kept else self._made(host, target)
        if body is None:
            return message("404 Not Found", b"<h1>Not found</h1>")
        self.ask(host, target)
        return message("200 OK", body, fields=validators)

    def _made(self, host: str, target: str) -> bytes | None:
        address = urlsplit(target)
        return self._boards[host].page(address.path.lstrip("/"), dict(parse_qsl(address.query)))


def boards(threads: int, hosts: int = 1) -> dict[str, Forum]:
    """Return the board of each host, with so many threads; no two have a page in common.

    >>> [(host, board.pages) for host, board in boards(20, 2).items()]
    [('127.0.0.2', 22), ('127.0.0.3', 22)]
    """
    if hosts == 1:
        return {"127.0.0.1": Forum(threads)}
    size = min(threads, FORUM)
    step = -(-threads // size) * size
    return {f"127.0.0.{2 + n}": Forum(n * step + threads, n * step, size) for n in range(hosts)}


def serving(threads: int, hosts: int = 1) -> AbstractContextManager[Served]:
    """Serve forums from another process until the block ends."""
    arguments = ("--threads", str(threads), "--hosts", str(hosts))
    return started("benchmarks.forum", arguments, tuple(boards(threads, hosts)))


def main() -> None:
    """Serve until the process is ended."""
    parser = argparse.ArgumentParser(description="Serve made-up forums.")
    parser.add_argument("--threads", type=int, default=1000)
    parser.add_argument("--hosts", type=int, default=1)
    arguments = parser.parse_args()
    served = boards(arguments.threads, arguments.hosts)
    pages = Boards(served)
    pages.make()
    asyncio.run(serve(tuple(served), pages))


if __name__ == "__main__":
    main()
