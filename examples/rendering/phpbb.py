"""A phpBB 3.3 board in the prosilver style.

The structure follows prosilver's templates: overall_header.html, forumlist_body.html, viewforum_body.html,
viewtopic_body.html, pagination.html and overall_footer.html.
"""

from dataclasses import dataclass
from datetime import datetime
from html import escape

from examples.rendering.board import Message, Thread, of_forum, threads
from examples.rendering.content import Board, Section
from examples.rendering.prose import Prose, digest, inline
from examples.rendering.recording import PageKind, Recording, TrueObject
from examples.rendering.requisites import PNG, add_style, png

STYLE = "/styles/prosilver/theme"


def record(board: Board, prose: Prose) -> Recording:
    """Return the recorded board."""
    return _Prosilver(board, Recording(board.host, "phpbb", "prosilver", {"ignore_params": ["sid"]})).record(prose)


@dataclass(frozen=True, slots=True)
class _Prosilver:
    board: Board
    site: Recording

    def record(self, prose: Prose) -> Recording:
        all_threads = threads(self.board, prose, "Re: ")
        self.index(all_threads)
        for forum in self.board.forums:
            self.forum(forum, of_forum(all_threads, forum.id))
        for thread in all_threads:
            self.thread(thread)
        self.junk(all_threads)
        add_style(self.site, STYLE, query="?assets_version=12")
        for name in ("flood-1", "flood-2", "flood-3"):
            self.site.file(f"/images/{name}.png", png(name, 48, 32), PNG)
        self.site.robots("User-agent: *", "Disallow: /search.php", "Disallow: /ucp.php", "Disallow: /posting.php")
        return self.site

    # ---- pages

    def index(self, all_threads: tuple[Thread, ...]) -> None:
        rows = "".join(self._forum_row(forum, of_forum(all_threads, forum.id)) for forum in self.board.forums)
        body = f"""<div class="forabg"><div class="inner">
<ul class="topiclist"><li class="header"><dl class="row-item"><dt><div class="list-inner">Forum</div></dt>
<dd class="topics">Topics</dd><dd class="posts">Posts</dd>
<dd class="lastpost"><span>Last post</span></dd></dl></li></ul>
<ul class="topiclist forums">
{rows}</ul>
</div></div>
<div class="stat-block statistics"><h3>Statistics</h3>
<p>Total posts <strong>{sum(len(t.messages) for t in all_threads)}</strong></p></div>"""
        self.site.page("/", self._page("Index page", "index", body), PageKind("intermediate", "list of forums"))
        self.site.same("/index.php", "/", PageKind("intermediate", "list of forums", dup_of="/"))

    def forum(self, forum: Section, own: list[Thread]) -> None:
        size = self.board.topics_per_page
        pages = range(0, max(len(own), 1), size)
        for start in pages:
            path = f"/viewforum.php?f={forum.id}" + (f"&start={start}" if start else "")
            html = self._forum_page(forum, own, start)
            self.site.page(path, html, PageKind("intermediate", "list of threads"))
            if not start:
                dup = PageKind("intermediate", "list of threads", dup_of=path)
                self.site.page(f"{path}&sk=t&sd=a", self._forum_page(forum, own[::-1], 0), dup)

    def _forum_page(self, forum: Section, own: list[Thread], start: int) -> str:
        size = self.board.topics_per_page
        rows = "".join(self._topic_row(thread) for thread in own[start : start + size])
        pages = _pagination(f"./viewforum.php?f={forum.id}", start, size, len(own))
        body = f"""<h2 class="forum-title"><a href="./viewforum.php?f={forum.id}">{escape(forum.name)}</a></h2>
<div class="action-bar bar-top">
<a href="./posting.php?mode=post&amp;f={forum.id}" class="button" title="Post a new topic"><span>New Topic</span></a>
<div class="pagination">{len(own)} topics {pages}</div></div>
<div class="forumbg"><div class="inner">
<ul class="topiclist"><li class="header"><dl class="row-item"><dt><div class="list-inner">Topics</div></dt>
<dd class="posts">Replies</dd><dd class="lastpost"><span>Last post</span></dd></dl></li></ul>
<ul class="topiclist topics">
{rows}</ul></div></div>
<div class="action-bar bottom"><a href="./viewforum.php?f={forum.id}&amp;sk=t&amp;sd=a">Sort by post time</a></div>"""
        return self._page(forum.name, "viewforum", body)

    def thread(self, thread: Thread) -> None:
        size = self.board.per_page
        for number, messages in enumerate(thread.chunks(size)):
            path = f"/viewtopic.php?t={thread.id}" + (f"&start={number * size}" if number else "")
            html = self._thread_page(thread, messages, number * size)
            self.site.page(path, html, PageKind("terminal", "thread", len(messages), on_topic=thread.on_topic))
            self.site.truth(self._true(thread, message, path) for message in messages)
            dup = PageKind("terminal", "thread", len(messages), dup_of=path)
            for message in messages:
                self.site.same(f"/viewtopic.php?p={message.id}", path, dup)

    def _thread_page(self, thread: Thread, messages: tuple[Message, ...], start: int) -> str:
        forum = next(forum for forum in self.board.forums if forum.id == thread.topic.forum)
        posts = "".join(_post(message, start + place) for place, message in enumerate(messages))
        pages = _pagination(f"./viewtopic.php?t={thread.id}", start, self.board.per_page, len(thread.messages))
        body = f"""<h2 class="topic-title"><a href="./viewtopic.php?t={thread.id}">{escape(thread.topic.title)}</a></h2>
<div class="action-bar bar-top">
<a href="./posting.php?mode=reply&amp;t={thread.id}" class="button" title="Post a reply"><span>Post Reply</span></a>
<div class="dropdown-container topic-tools"><ul class="dropdown-contents"><li>
<a href="./viewtopic.php?t={thread.id}&amp;view=print" accesskey="p"><span>Print view</span></a></li></ul></div>
<div class="pagination">{len(thread.messages)} posts {pages}</div></div>
{posts}<div class="action-bar bottom">
<a href="./viewforum.php?f={forum.id}" class="left-box arrow-left">
<span>Return to “{escape(forum.name)}”</span></a></div>"""
        return self._page(f"{thread.topic.title} - {self.board.name}", "viewtopic", body, forum)

    def junk(self, all_threads: tuple[Thread, ...]) -> None:
        """Pages that hold nothing new: print views, forms, members, search, feed."""
        for thread in all_threads:
            path = f"/viewtopic.php?t={thread.id}"
            kind = PageKind("terminal", "print view of thread", min(len(thread.messages), self.board.per_page), path)
            self.site.page(f"{path}&view=print", _print_view(self.board, thread), kind)
        login, form = "/ucp.php?mode=login", PageKind("other", "post form")
        self.site.page(login, self._page("Login", "ucp", _LOGIN_FORM), PageKind("other", "login or register form"))
        self.site.same("/ucp.php?mode=register", login, PageKind("other", "login or register form"))
        for thread in all_threads:
            self.site.same(f"/posting.php?mode=reply&t={thread.id}", login, form)
        for forum in self.board.forums:
            self.site.same(f"/posting.php?mode=post&f={forum.id}", login, form)
        profile = PageKind("terminal", "profile")
        members = self._page("Members", "memberlist", '<h2 class="memberlist-title">Members are shy here</h2>')
        self.site.page("/memberlist.php", members, PageKind("intermediate", "list of members"))
        for number in range(2, 2 + len(self.board.users)):
            self.site.same(f"/memberlist.php?mode=viewprofile&u={number}", "/memberlist.php", profile)
        search = self._page("Search", "search", '<h2 class="solo">Search</h2>')
        self.site.page("/search.php", search, PageKind("other", "search form"))

    # ---- parts

    def _page(self, title: str, script: str, body: str, forum: Section | None = None) -> str:
        crumb = (
            f'<span class="crumb" data-forum-id="{forum.id}"><a href="./viewforum.php?f={forum.id}">'
            f"<span>{escape(forum.name)}</span></a></span>"
            if forum
            else ""
        )
        sid = f"{digest(title, script):016x}{digest(script, title):016x}"
        board = escape(self.board.name)
        return f"""<!DOCTYPE html>
<html dir="ltr" lang="en-gb">
<head>
<meta charset="utf-8" />
<meta name="viewport" content="width=device-width, initial-scale=1" />
<title>{escape(title)}</title>
<link href=".{STYLE}/style.css?assets_version=12" rel="stylesheet">
</head>
<body id="phpbb" class="nojs notouch section-{script} ltr ">
<div id="wrap" class="wrap">
<a id="top" class="top-anchor" accesskey="t"></a>
<div id="page-header">
<div class="headerbar" role="banner"><div class="inner">
<div id="site-description" class="site-description">
<a id="logo" class="logo" href="./index.php" title="Board index"><span class="site_logo"></span></a>
<h1>{board}</h1><p>{escape(self.board.description)}</p></div>
</div></div>
<div class="navbar" role="navigation"><div class="inner">
<ul id="nav-main" class="nav-main linklist" role="menubar">
<li><a href="./search.php?sid={sid}" role="menuitem"><span>Search</span></a></li>
<li class="rightside"><a href="./ucp.php?mode=login&amp;sid={sid}" title="Login"><span>Login</span></a></li>
<li class="rightside"><a href="./ucp.php?mode=register&amp;sid={sid}"><span>Register</span></a></li></ul>
<ul id="nav-breadcrumbs" class="nav-breadcrumbs linklist navlinks"><li class="breadcrumbs">
<span class="crumb"><a href="./index.php"><span>Board index</span></a></span>{crumb}</li></ul>
</div></div>
</div>
<a id="start_here" class="anchor"></a>
<div id="page-body" class="page-body" role="main">
{body}
</div>
<div id="page-footer" class="page-footer" role="contentinfo">
<div class="navbar" role="navigation"><div class="inner"><ul id="nav-footer" class="nav-footer linklist">
<li class="breadcrumbs"><span class="crumb"><a href="./index.php"><span>Board index</span></a></span></li>
<li class="rightside">All times are <span title="UTC">UTC</span></li></ul></div></div>
<div class="copyright"><p class="footer-row"><span class="footer-copyright">Powered by
<a href="https://www.phpbb.com/">phpBB</a>&reg; Forum Software &copy; phpBB Limited</span></p></div>
</div>
</div>
</body>
</html>
"""

    def _forum_row(self, forum: Section, own: list[Thread]) -> str:
        last = _last_post(own[0]) if own else "No posts"
        posts = sum(len(thread.messages) for thread in own)
        return f"""<li class="row"><dl class="row-item forum_read"><dt title="No unread posts"><div class="list-inner">
<a href="./viewforum.php?f={forum.id}" class="forumtitle">{escape(forum.name)}</a>
<br />{escape(forum.description)}</div></dt>
<dd class="topics">{len(own)} <dfn>Topics</dfn></dd><dd class="posts">{posts} <dfn>Posts</dfn></dd>
<dd class="lastpost"><span>{last}</span></dd></dl></li>
"""

    def _topic_row(self, thread: Thread) -> str:
        first, title = thread.messages[0], escape(thread.topic.title)
        more = "".join(
            f'<li><a class="button" href="./viewtopic.php?t={thread.id}&amp;start={start}">{number}</a></li>'
            for number, start in enumerate(range(self.board.per_page, len(thread.messages), self.board.per_page), 2)
        )
        pages = f'<div class="pagination"><ul>{more}</ul></div>' if more else ""
        return f"""<li class="row bg1"><dl class="row-item topic_read">
<dt title="No unread posts"><div class="list-inner">
<a href="./viewtopic.php?t={thread.id}" class="topictitle">{title}</a><br />
{pages}<div class="topic-poster responsive-hide">by {_user(first)} &raquo; {_time(first.date)}</div></div></dt>
<dd class="posts">{len(thread.messages) - 1} <dfn>Replies</dfn></dd>
<dd class="lastpost"><span>{_last_post(thread)}</span></dd></dl></li>
"""

    def _true(self, thread: Thread, message: Message, path: str) -> TrueObject:
        first = thread.messages[0].id
        return TrueObject(
            id=f"p{message.id}",
            url=self.site.url(path),
            kind="post" if message.id == first else "reply",
            title=message.title,
            author=message.author,
            date=message.date,
            body=message.body,
            parent=None if message.id == first else f"p{first}",
            anchor=f"p{message.id}",
        )


_LOGIN_FORM = """<form action="./ucp.php?mode=login" method="post" id="login"><div class="panel"><div class="inner">
<div class="content"><h2 class="login-title">Login</h2><fieldset class="fields1">
<dl><dt><label for="username">Username:</label></dt><dd><input type="text" name="username" id="username" /></dd></dl>
<dl><dt><label for="password">Password:</label></dt>
<dd><input type="password" name="password" id="password" /></dd></dl>
</fieldset></div></div></div></form>"""


def _time(moment: datetime) -> str:
    shown = f"{moment:%a %b %d, %Y} {moment.hour % 12 or 12}:{moment:%M} {'pm' if moment.hour >= 12 else 'am'}"
    return f'<time datetime="{moment.isoformat()}">{shown}</time>'


def _user(message: Message) -> str:
    profile = f"./memberlist.php?mode=viewprofile&amp;u={message.user}"
    return f'<a href="{profile}" class="username">{escape(message.author)}</a>'


def _last_post(thread: Thread) -> str:
    last = thread.messages[-1]
    return (
        f'<dfn>Last post</dfn> by {_user(last)} <a href="./viewtopic.php?p={last.id}#p{last.id}" title="View the '
        f'latest post"><i class="icon fa-external-link-square"></i>'
        f'<span class="sr-only">View the latest post</span></a><br />'
        f"{_time(last.date)}"
    )


def _post(message: Message, place: int) -> str:
    text = "<br>\n<br>\n".join(inline(paragraph, "postlink") for paragraph in message.body)
    picture = f'<br>\n<img src="./images/{message.image}.png" class="postimage" alt="Image">' if message.image else ""
    signature = (
        f'<div id="sig{message.id}" class="signature">More from me: '
        f'<a href="http://kickoff-weekly.example/" class="postlink">Kickoff Weekly</a></div>'
        if message.author == "Bosun"
        else ""
    )
    return f"""<div id="p{message.id}" class="post has-profile bg{2 - place % 2}"><div class="inner">
<dl class="postprofile" id="profile{message.id}"><dt class="no-profile-rank no-avatar">
<div class="avatar-container"></div>{_user(message)}</dt></dl>
<div class="postbody"><div id="post_content{message.id}">
<h3{' class="first"' if place == 0 else ""}><a href="#p{message.id}">{escape(message.title)}</a></h3>
<p class="author"><a class="unread" href="./viewtopic.php?p={message.id}#p{message.id}" title="Post">
<i class="icon fa-file fa-fw icon-lightgray icon-md" aria-hidden="true"></i><span class="sr-only">Post</span></a>
<span class="responsive-hide">by <strong>{_user(message)}</strong> &raquo; </span>{_time(message.date)}</p>
<div class="content">{text}{picture}</div>
{signature}</div></div>
<div class="back2top"><a href="#top" class="top" title="Top"><span class="sr-only">Top</span></a></div>
</div></div>
<hr class="divider" />
"""


def _pagination(address: str, start: int, size: int, total: int) -> str:
    if total <= size:
        return "&bull; Page <strong>1</strong> of <strong>1</strong>"
    items = []
    for number, begin in enumerate(range(0, total, size), start=1):
        if begin == start:
            items.append(f'<li class="active"><span>{number}</span></li>')
        else:
            items.append(f'<li><a class="button" href="{_start(address, begin)}" role="button">{number}</a></li>')
    if start:
        back = _start(address, start - size)
        items.insert(0, f'<li class="arrow previous"><a class="button" href="{back}" rel="prev">Previous</a></li>')
    if start + size < total:
        ahead = _start(address, start + size)
        items.append(
            f'<li class="arrow next"><a class="button button-icon-only" href="{ahead}" rel="next">Next</a></li>'
        )
    return f"<ul>{''.join(items)}</ul>"


def _start(address: str, start: int) -> str:
    return f"{address}&amp;start={start}" if start else address


def _print_view(board: Board, thread: Thread) -> str:
    posts = "".join(
        f'<div class="post"><h3>{escape(message.title)}</h3>'
        f'<div class="date">Posted: <strong>{message.date:%Y-%m-%d %H:%M}</strong></div>'
        f'<div class="author">by <strong>{escape(message.author)}</strong></div><div class="content">'
        f"{'<br><br>'.join(inline(paragraph) for paragraph in message.body)}</div></div><hr />\n"
        for message in thread.messages[: board.per_page]
    )
    return f"""<!DOCTYPE html>
<html dir="ltr" lang="en-gb"><head><meta charset="utf-8" /><meta name="robots" content="noindex" />
<title>{escape(board.name)} :: {escape(thread.topic.title)}</title></head>
<body id="phpbb"><div id="wrap" class="wrap"><div id="page-header"><h1>{escape(board.name)}</h1></div>
<div id="page-body" class="page-body">
{posts}</div></div></body></html>
"""
