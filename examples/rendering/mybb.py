"""A MyBB 1.8 board in the default theme.

The structure follows the templates of mybb_theme.xml: headerinclude, header, index_boardstats, forumbit_depth2_forum,
forumdisplay_thread, showthread, postbit, multipage and footer.
"""

from dataclasses import dataclass
from html import escape

from examples.rendering.board import Message, Thread, of_forum, threads
from examples.rendering.content import Board, Section
from examples.rendering.prose import Prose, inline
from examples.rendering.recording import PageKind, Recording, TrueObject
from examples.rendering.requisites import PNG, add_style, png

STYLE = "/cache/themes/theme1"


def record(board: Board, prose: Prose) -> Recording:
    """Return the recorded board."""
    return _DefaultTheme(board, Recording(board.host, "mybb", "default")).record(prose)


@dataclass(frozen=True, slots=True)
class _DefaultTheme:
    board: Board
    site: Recording

    def record(self, prose: Prose) -> Recording:
        all_threads = threads(self.board, prose, "RE: ")
        self.index(all_threads)
        for forum in self.board.forums:
            self.forum(forum, of_forum(all_threads, forum.id))
        for thread in all_threads:
            self.thread(thread)
        self.junk(all_threads)
        add_style(self.site, STYLE, "global.css")
        for name in ("flood-1", "flood-2", "flood-3"):
            self.site.file(f"/images/{name}.png", png(name + self.board.host, 48, 32), PNG)
        self.site.file("/jscripts/general.js?ver=1827", b"var MyBB = { init: function () {} };\n", "text/javascript")
        self.site.robots(
            "User-agent: *", "Disallow: /member.php", "Disallow: /newreply.php", "Disallow: /printthread.php"
        )
        return self.site

    def index(self, all_threads: tuple[Thread, ...]) -> None:
        rows = "".join(self._forum_row(forum, of_forum(all_threads, forum.id)) for forum in self.board.forums)
        body = f"""<table border="0" cellspacing="0" cellpadding="5" class="tborder">
<thead><tr><td class="thead" colspan="5">
<div><strong><a href="forumdisplay.php?fid=1">On the water</a></strong></div></td></tr>
</thead><tbody id="cat_1_e">
{rows}</tbody></table>"""
        page = self._page(self.board.name, body)
        self.site.page("/", page, PageKind("intermediate", "list of forums"))
        for path in ("/index.php", "/forumdisplay.php?fid=1"):
            self.site.same(path, "/", PageKind("intermediate", "list of forums", dup_of="/"))

    def forum(self, forum: Section, own: list[Thread]) -> None:
        rows = "".join(_thread_row(thread) for thread in own)
        name = escape(forum.name)
        body = f"""<div class="float_right"><a href="newthread.php?fid={forum.id}" class="button new_thread_button">
<span>Post Thread</span></a></div>
<table border="0" cellspacing="0" cellpadding="5" class="tborder clear">
<tr><td class="thead" colspan="6"><div><strong>{name}</strong></div></td></tr>
<tr><td class="tcat" colspan="3" width="66%"><span class="smalltext"><strong>
<a href="forumdisplay.php?fid={forum.id}&amp;sortby=subject&amp;order=asc">Thread</a></strong></span></td>
<td class="tcat"><span class="smalltext"><strong>Replies</strong></span></td>
<td class="tcat" width="20%"><span class="smalltext"><strong>Last Post</strong></span></td></tr>
{rows}</table>"""
        page = self._page(f"{self.board.name} - {forum.name}", body, forum.name)
        path = f"/forumdisplay.php?fid={forum.id}"
        self.site.page(path, page, PageKind("intermediate", "list of threads"))
        dup = PageKind("intermediate", "list of threads", dup_of=path)
        self.site.same(f"{path}&sortby=subject&order=asc", path, dup)

    def thread(self, thread: Thread) -> None:
        for number, messages in enumerate(thread.chunks(self.board.per_page), start=1):
            path = f"/showthread.php?tid={thread.id}" + (f"&page={number}" if number > 1 else "")
            self.site.page(
                path,
                self._thread_page(thread, messages, number),
                PageKind("terminal", "thread", len(messages), on_topic=thread.on_topic),
            )
            self.site.truth(self._true(thread, message, path) for message in messages)
            dup = PageKind("terminal", "thread", len(messages), dup_of=path)
            for message in messages:
                self.site.same(f"/showthread.php?tid={thread.id}&pid={message.id}", path, dup)
        last = f"/showthread.php?tid={thread.id}&pid={thread.messages[-1].id}"
        self.site.redirect(f"/showthread.php?tid={thread.id}&action=lastpost", last, 302)

    def _thread_page(self, thread: Thread, messages: tuple[Message, ...], number: int) -> str:
        forum = next(forum for forum in self.board.forums if forum.id == thread.topic.forum)
        first = (number - 1) * self.board.per_page
        posts = "".join(_postbit(thread, message, first + place) for place, message in enumerate(messages, start=1))
        pages = _multipage(thread.id, number, len(thread.chunks(self.board.per_page)))
        title = escape(thread.topic.title)
        body = f"""<div class="float_left">{pages}</div>
<div class="float_right">
<a href="newreply.php?tid={thread.id}" class="button new_reply_button"><span>Post Reply</span></a></div>
<table border="0" cellspacing="0" cellpadding="5" class="tborder tfixed clear">
<tr><td class="thead"><div class="float_right"><span class="smalltext">
<strong><a href="javascript:void(0)" id="thread_modes">Thread Modes</a></strong></span></div>
<div><strong>{title}</strong></div></td></tr>
<tr><td id="posts_container"><div id="posts">
{posts}</div></td></tr></table>
<ul class="thread_tools">
<li class="printable"><a href="printthread.php?tid={thread.id}">View a Printable Version</a></li></ul>
<div class="smalltext"><a href="showthread.php?tid={thread.id}&amp;mode=threaded">Threaded Mode</a></div>"""
        return self._page(thread.topic.title, body, forum.name, forum.id)

    def junk(self, all_threads: tuple[Thread, ...]) -> None:
        """Pages that hold nothing new: print views, threaded views, forms, members."""
        login, form = "/member.php?action=login", PageKind("other", "post form")
        html = self._page("Login", '<form action="member.php" method="post"><input name="username" /></form>')
        self.site.page(login, html, PageKind("other", "member form"))
        self.site.same("/member.php?action=register", login, PageKind("other", "member form"))
        for thread in all_threads:
            path = f"/showthread.php?tid={thread.id}"
            shown = thread.messages[: self.board.per_page]
            threaded = PageKind("terminal", "thread", 1, dup_of=path)
            self.site.page(f"{path}&mode=threaded", self._thread_page(thread, shown[:1], 1), threaded)
            texts = "<hr />".join("<br />".join(inline(paragraph) for paragraph in one.body) for one in shown)
            printed = f"<html><head><title>{escape(thread.topic.title)}</title></head><body>{texts}</body></html>"
            kind = PageKind("terminal", "print view of thread", len(shown), dup_of=path)
            self.site.page(f"/printthread.php?tid={thread.id}", printed, kind)
            self.site.same(f"/newreply.php?tid={thread.id}", login, form)
        for forum in self.board.forums:
            self.site.same(f"/newthread.php?fid={forum.id}", login, form)
        for number in range(2, 2 + len(self.board.users)):
            self.site.same(f"/member.php?action=profile&uid={number}", login, PageKind("terminal", "profile"))

    def _page(self, title: str, body: str, forum: str = "", fid: int | None = None) -> str:
        name = escape(self.board.name)
        crumb = f'<a href="forumdisplay.php?fid={fid}">{escape(forum)}</a>' if fid else escape(forum)
        base = self.site.url("")
        return f"""<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Transitional//EN" "http://www.w3.org/TR/xhtml1/DTD/xhtml1-transitional.dtd">
<html xml:lang="en" lang="en" xmlns="http://www.w3.org/1999/xhtml">
<head>
<title>{escape(title)}</title>
<meta http-equiv="Content-Type" content="text/html; charset=UTF-8" />
<script type="text/javascript" src="{base}/jscripts/general.js?ver=1827"></script>
<link type="text/css" rel="stylesheet" href="{base}{STYLE}/global.css" />
<script type="text/javascript">
var cookiePrefix = "", use_xmlhttprequest = "1", my_post_key = "", rootpath = "{base}", imagepath = "{base}/images";
lang.unknown_error = "An unknown error has occurred.";
</script>
</head>
<body>
<div id="container"><a name="top" id="top"></a>
<div id="header"><div id="logo"><div class="wrapper"><a href="{base}/index.php">{name}</a></div></div>
<div id="panel"><div class="upper"><div class="wrapper"><span class="welcome">Hello There, Guest!
<a href="{base}/member.php?action=login" class="login">Login</a>
<a href="{base}/member.php?action=register" class="register">Register</a></span></div></div></div></div>
<div id="content"><div class="wrapper">
<div class="navigation"><a href="{base}/index.php">{name}</a> <span class="navsep">›</span>
<span class="active">{crumb}</span></div>
{body}
</div></div>
<div id="footer"><div class="lower"><div class="wrapper">
<span id="current_time"><strong>Current time:</strong> UTC</span>
<span id="copyright">Powered By <a href="https://mybb.com" target="_blank" rel="noopener">MyBB</a>,
&copy; <a href="https://mybb.com" target="_blank" rel="noopener">MyBB Group</a>.</span></div></div></div>
</div>
</body>
</html>
"""

    def _forum_row(self, forum: Section, own: list[Thread]) -> str:
        last = own[0]
        return f"""<tr><td class="trow1" align="center" width="1"><span class="forum_status forum_off"></span></td>
<td class="trow1"><strong><a href="forumdisplay.php?fid={forum.id}">{escape(forum.name)}</a></strong>
<div class="smalltext">{escape(forum.description)}</div></td>
<td class="trow1" align="center">{len(own)}</td>
<td class="trow1" align="center">{sum(len(thread.messages) for thread in own)}</td>
<td class="trow1" align="right"><span class="smalltext">
<a href="showthread.php?tid={last.id}&amp;action=lastpost" title="{escape(last.topic.title)}">
<strong>Last post</strong></a>
</span></td></tr>
"""

    def _true(self, thread: Thread, message: Message, path: str) -> TrueObject:
        first = thread.messages[0].id
        return TrueObject(
            id=f"post-{message.id}",
            url=self.site.url(path),
            kind="post" if message.id == first else "reply",
            title=message.title,
            author=message.author,
            date=message.date,
            body=message.body,
            parent=None if message.id == first else f"post-{first}",
            anchor=f"pid{message.id}",
            shown=frozenset({"title", "author", "date"} if message.id == first else {"author", "date"}),
        )


def _member(message: Message) -> str:
    return f'<a href="member.php?action=profile&amp;uid={message.user}">{escape(message.author)}</a>'


def _thread_row(thread: Thread) -> str:
    last = thread.messages[-1]
    return f"""<tr class="inline_row"><td align="center" class="trow1 forumdisplay_regular" width="2%">
<span class="thread_status folder" title="No new posts.">&nbsp;</span></td>
<td align="center" class="trow1 forumdisplay_regular" width="2%">&nbsp;</td>
<td class="trow1 forumdisplay_regular"><div><span> <span class=" subject_old" id="tid_{thread.id}">
<a href="showthread.php?tid={thread.id}">{escape(thread.topic.title)}</a></span></span>
<div class="author smalltext">{_member(thread.messages[0])}</div></div></td>
<td align="center" class="trow1 forumdisplay_regular">{len(thread.messages) - 1}</td>
<td class="trow1 forumdisplay_regular" style="white-space: nowrap; text-align: right;"><span class="lastpost smalltext">
{last.date:%m-%d-%Y, %I:%M %p}<br />
<a href="showthread.php?tid={thread.id}&amp;action=lastpost">Last Post</a>: {_member(last)}</span></td></tr>
"""


def _postbit(thread: Thread, message: Message, number: int) -> str:
    text = "<br />\n<br />\n".join(inline(paragraph, "mycode_url") for paragraph in message.body)
    picture = (
        f'<br />\n<img src="images/{message.image}.png" class="mycode_img" alt="[Image]" />' if message.image else ""
    )
    return f"""<a name="pid{message.id}" id="pid{message.id}"></a>
<div class="post " style="" id="post_{message.id}">
<div class="post_author"><div class="author_information">
<strong><span class="largetext">{_member(message)}</span></strong><br />
<span class="smalltext">Member<br /></span></div></div>
<div class="post_content">
<div class="post_head"><div class="float_right" style="vertical-align: top"><strong>
<a href="showthread.php?tid={thread.id}&amp;pid={message.id}#pid{message.id}" title="{escape(message.title)}"
>#{number}</a>
</strong></div>
<span class="post_date">{message.date:%m-%d-%Y, %I:%M %p}
<span class="post_edit" id="edited_by_{message.id}"></span></span></div>
<div class="post_body scaleimages" id="pid_{message.id}">
{text}{picture}
</div>
<div class="post_meta" id="post_meta_{message.id}"></div></div>
<div class="post_controls"><div class="postbit_buttons post_management_buttons float_right">
<a href="newreply.php?tid={thread.id}" title="Quote this message in a reply"
class="postbit_quote"><span>Reply</span></a>
</div></div></div>
"""


def _multipage(thread: int, current: int, pages: int) -> str:
    if pages < 2:
        return ""
    address = f"showthread.php?tid={thread}"
    items = []
    for number in range(1, pages + 1):
        query = f"&amp;page={number}" if number > 1 else ""
        link = f'<a href="{address}{query}" class="pagination_page">{number}</a>'
        items.append(f'<span class="pagination_current">{number}</span>' if number == current else link)
    if current < pages:
        items.append(f'<a href="{address}&amp;page={current + 1}" class="pagination_next">Next »</a>')
    return f'<div class="pagination"><span class="pages">Pages ({pages}):</span> {" ".join(items)}</div>'
