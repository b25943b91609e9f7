"""Whole sites, written page by page after the templates: every post is collected, and hardly a page fetched twice."""

from collections import deque
from collections.abc import Callable
from urllib.parse import parse_qs, urlsplit

import pytest

from aahcrawler.helper import ApplicationAwareHelper
from tests.helper.saved_pages import html_page
from tests.shipped import shipped

POSTS_A_PAGE = 10
MAX_REQUESTS = 300
Site = Callable[[str], str | None]

FORUMS = {2: tuple(range(10, 40)), 3: tuple(range(40, 48))}
"""Threads of each forum; the thread 5 is an announcement that all forums show."""
ANNOUNCEMENT = 5
THREADS = {thread: 1 + 7 * (thread % 5) for forum in FORUMS.values() for thread in forum} | {ANNOUNCEMENT: 3}
POSTS = {1000 * thread + number for thread, posts in THREADS.items() for number in range(posts)}


def numbers(query: str) -> dict[str, int]:
    return {name: int(values[-1]) for name, values in parse_qs(query).items() if values[-1].isdigit()}


def slice_of(items: list[int], start: int, size: int) -> list[int]:
    return items[start : start + size]


def posts_of(thread: int) -> list[int]:
    return [1000 * thread + number for number in range(THREADS[thread])]


def phpbb_3_0(url: str) -> str | None:
    """Session ids in every link, orders in links to other pages, announcements in all forums."""
    parts = urlsplit(url)
    asked, file = numbers(parts.query), parts.path.rpartition("/")[2]
    start = asked.get("start", 0)
    sid = f"&amp;sid={abs(hash(url)):x}"

    def frame(section: str, body: str) -> str:
        return (
            f'<body id="phpbb" class="section-{section} ltr"><div id="page-header"><ul class="linklist navlinks"><li>'
            f'<a href="./index.php?{sid[5:]}">Index</a></li></ul><a href="./search.php">Search</a>'
            f'<a href="./ucp.php?mode=login{sid}">Login</a></div><div id="page-body">{body}</div></body>'
        )

    def pages(link: str, total: int, size: int, order: str) -> str:
        sorted_link = f"{link}&amp;st=0&amp;sk=t&amp;sd={order}"
        return "".join(f'<a href="{sorted_link}&amp;start={at}">{at}</a>' for at in range(0, total, size))

    if file in ("", "index.php"):
        rows = "".join(
            f'<a href="./viewforum.php?f={forum}{sid}" class="forumtitle">Forum</a>'
            f'<a href="./viewtopic.php?f={forum}&amp;p={1000 * threads[0]}{sid}#p{1000 * threads[0]}">last</a>'
            for forum, threads in FORUMS.items()
        )
        return frame("index", rows)
    if file == "viewforum.php":
        forum, threads = asked["f"], list(FORUMS[asked["f"]])
        shown = [ANNOUNCEMENT, *slice_of(threads, start, 25)]
        rows = "".join(
            f'<li class="row"><a href="./viewtopic.php?f={forum}&amp;t={thread}{sid}" class="topictitle">Topic</a>'
            + pages(f"./viewtopic.php?f={forum}&amp;t={thread}", THREADS[thread], POSTS_A_PAGE, "a")
            + f'<a href="./viewtopic.php?f={forum}&amp;t={thread}&amp;view=unread#unread">new</a></li>'
            for thread in shown
        )
        return frame("viewforum", rows + pages(f"./viewforum.php?f={forum}", len(threads), 25, "d"))
    if file == "viewtopic.php" and "t" in asked:
        thread, forum = asked["t"], asked.get("f", 2)
        link = f"./viewtopic.php?f={forum}&amp;t={thread}"
        rows = "".join(
            f'<div id="p{post}" class="post bg1"><div class="postbody"><h3><a href="#p{post}">Re: Topic</a></h3>'
            f'<p class="author"><a href="./viewtopic.php?p={post}#p{post}">Post</a>by <strong>Ada</strong> &raquo; '
            f'Sun Nov 04, 2012 9:30 am </p><div class="content">Words of {post}, after '
            f'<a href="./viewtopic.php?f={forum}&amp;t={thread}&amp;p={post}#p{post}">this</a>.</div></div></div>'
            for post in slice_of(posts_of(thread), start, POSTS_A_PAGE)
        )
        more = f'<a href="{link}&amp;view=next">next</a><a href="{link}&amp;start=0&amp;view=print">print</a>'
        head = f'<h2><a href="{link}&amp;start={start}">Topic</a></h2>'
        return frame("viewtopic", head + rows + pages(link, THREADS[thread], POSTS_A_PAGE, "a") + more)
    return None


MYBB_HEAD = '<script>var cookiePrefix = ""; var my_post_key = "00";</script><div class="navigation">'


def mybb_rows(shown: list[int], link: Callable[[int], str]) -> str:
    return "".join(
        f'<div class="post " id="post_{post}"><div class="author_information"><span class="largetext">Nils</span></div>'
        f'<strong><a href="{link(post)}#pid{post}" title="RE: x">#1</a></strong><span class="post_date">03-02-2023, '
        f'07:05 PM</span><div class="post_body" id="pid_{post}">Words of {post}.</div></div>'
        for post in shown
    )


def mybb_seo(url: str) -> str | None:
    """Search engine friendly addresses, page links in thread lists, links to last and newest posts."""
    path = urlsplit(url).path.rpartition("/")[2]
    kind, *words = path.removesuffix(".html").split("-")
    page = int(words[2]) if len(words) == 3 and words[1] == "page" else 1
    if path in ("", "index.php"):
        rows = (f'<a href="forum-{forum}.html">F</a><a href="thread-10-lastpost.html">x</a>' for forum in FORUMS)
        return MYBB_HEAD + "</div>" + "".join(rows) + '<a href="portal.php">Portal</a><a href="archive/">Lite</a>'
    number = int(words[0]) if words and words[0].isdigit() else 0
    if kind == "forum" and number in FORUMS:
        threads = list(FORUMS[number])
        rows = (
            f'<span id="tid_{thread}"><a href="thread-{thread}.html">T</a></span>'
            f'<a href="thread-{thread}-newpost.html">n</a><a href="thread-{thread}-lastpost.html">l</a>'
            f'(<a href="thread-{thread}.html">1</a> <a href="thread-{thread}-page-2.html">2</a>)'
            for thread in slice_of(threads, 20 * (page - 1), 20)
        )
        more = "".join(f'<a href="forum-{number}-page-{at}.html">{at}</a>' for at in (2,) if len(threads) > 20)
        return f'{MYBB_HEAD}<a href="index.php">B</a></div><table class="tborder">{"".join(rows)}</table>{more}'
    if kind == "thread" and number in THREADS and words[1:2] in ([], ["page"]):
        shown = slice_of(posts_of(number), POSTS_A_PAGE * (page - 1), POSTS_A_PAGE)
        count = -(-THREADS[number] // POSTS_A_PAGE)
        more = "".join(f'<a href="thread-{number}-page-{at}.html">{at}</a>' for at in range(2, count + 1))
        modes = f'<a href="showthread.php?mode=linear&amp;tid={number}&amp;pid={shown[0]}#pid{shown[0]}">Linear</a>'
        posts = mybb_rows(shown, lambda post: f"thread-{number}-post-{post}.html")
        nav = f'<a href="index.php">B</a><a href="forum-2.html">F</a></div><div id="posts">{posts}</div>'
        return f'{MYBB_HEAD}{nav}<a href="thread-{number}.html">1</a>{more}{modes}'
    return None


def wordpress_plain(url: str) -> str | None:
    """Without permalinks, below a folder, with comments on several pages."""
    parts = urlsplit(url)
    asked = numbers(parts.query)
    root = "http://site.test/blog/"
    head = '<head><meta name="generator" content="WordPress 6.7" /></head>'
    home = f'<a href="{root}" rel="home">Home</a><a href="{root}?cat=3">Soil</a>'
    if "p" in asked and asked["p"] in THREADS:
        article, page = asked["p"], asked.get("cpage", 1)
        rows = "".join(
            f'<li class="comment" id="comment-{post}"><article class="comment-body" id="div-comment-{post}">'
            f'<div class="comment-author"><b class="fn">Omar</b></div><time datetime="2024-05-03T07:30:00Z">May</time>'
            f'<div class="comment-content">Words of {post}</div><a class="comment-reply-link" '
            f'href="{root}?p={article}&amp;replytocom={post}#respond">Reply</a></article></li>'
            for post in slice_of(posts_of(article), POSTS_A_PAGE * (page - 1), POSTS_A_PAGE)
        )
        older = f'<a href="{root}?p={article}&amp;cpage={page + 1}#comments">Newer</a>'
        more = older if page * POSTS_A_PAGE < THREADS[article] else ""
        near = "".join(f'<a rel="prev" href="{root}?p={other}">o</a>' for other in (article - 1,) if other in THREADS)
        return (
            f'{head}<body class="single single-post">{home}<article class="hentry"><h1 class="entry-title">A</h1>'
            f'<div class="entry-content">Words</div></article>{near}<ol>{rows}</ol>{more}</body>'
        )
    if parts.path == "/blog/" and asked.keys() <= {"paged"}:
        page, articles = asked.get("paged", 1), sorted(THREADS, reverse=True)
        rows = "".join(
            f'<h2 class="entry-title"><a href="{root}?p={article}" rel="bookmark">A</a></h2>'
            f'<a href="{root}?p={article}#respond">Leave a comment</a><a href="{root}?author=1">Ines</a>'
            for article in slice_of(articles, 10 * (page - 1), 10)
        )
        more = f'<a href="{root}?paged={page + 1}">Older</a>' if page * 10 < len(articles) else ""
        return (
            f'{head}<body class="home blog">{home}<main>{rows}{more}</main><a href="{root}?feed=rss2">Feed</a></body>'
        )
    return None


def crawl(site: Site, start: str) -> tuple[list[str], list[str]]:
    """Return the addresses requested and the fragments of the objects found, in order."""
    helper = ApplicationAwareHelper(shipped())
    queue, seen, found = deque([start]), [start], dict[str, None]()
    while queue and len(seen) < MAX_REQUESTS:
        url = queue.popleft()
        markup = site(url)
        assistance = helper.assist(html_page(url, markup or "<title>Not found</title>", 200 if markup else 404))
        found |= dict.fromkeys(item.iri for item in assistance.objects)
        for link in assistance.document.outlinks:
            if link.url not in seen:
                seen.append(link.url)
                queue.append(link.url)
    return seen, list(found)


PAGES = 1 + sum(-(-posts // POSTS_A_PAGE) for posts in THREADS.values())
"""The start page and all pages of threads or articles; three more pages of lists lead to them."""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("site", "start", "needed", "prefix", "posts"),
    [
        (phpbb_3_0, "http://site.test/", PAGES + 3, "p", POSTS),
        (mybb_seo, "http://site.test/", PAGES + 3 - 1, "pid", POSTS - set(posts_of(ANNOUNCEMENT))),
        (wordpress_plain, "http://site.test/blog/", PAGES + 3, "comment-", POSTS),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_every_post_once_and_hardly_a_request_wasted(
    site: Site, start: str, needed: int, prefix: str, posts: set[int]
) -> None:
    requested, objects = crawl(site, start)
    fragments = [fragment for iri in objects if (fragment := iri.partition("#")[2])]
    assert sorted(fragments) == sorted(f"{prefix}{post}" for post in posts)
    assert len(requested) <= 1.05 * needed
