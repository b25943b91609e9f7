"""Pages with dates: threads of old boards, and articles."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from benchmarks.wildweb.pages import document, prose
from benchmarks.wildweb.tongues import SENTENCES

AUTHORS = ("Marten", "Ilsebill", "Corvin")


@dataclass(frozen=True, slots=True)
class Post:
    """A post: its author, what its page shows as its date, in HTML, and its text."""

    author: str
    shown: str
    text: str


def posts(lang: str, shown: Sequence[str]) -> tuple[Post, ...]:
    """Return three posts in a language, with what their page shows as their dates."""
    return tuple(map(Post, AUTHORS, shown, SENTENCES[lang]))


def table_board(title: str, lang: str, written: Sequence[Post]) -> str:
    """Return a thread in a table, a row a post, as boards of the turn of the century made it."""
    rows = "".join(
        f'<tr class="row{number % 2 + 1}"><td class="poster" valign="top"><b>{post.author}</b></td>'
        f'<td class="entry" valign="top"><span class="small">{post.shown}</span><hr size="1">'
        f'<div class="message">{post.text}</div></td></tr>'
        for number, post in enumerate(written)
    )
    return document(title, f'<h2>{title}</h2><table class="thread" width="95%">{rows}</table>', lang=lang)


def block_board(title: str, lang: str, written: Sequence[Post]) -> str:
    """Return a thread of blocks with a line of author and date above each text."""
    blocks = "".join(
        f'<div class="message" id="m{number}"><div class="head"><span class="author">{post.author}</span> '
        f'<span class="posted">{post.shown}</span></div><div class="words"><p>{post.text}</p></div></div>'
        for number, post in enumerate(written, 1)
    )
    return document(title, f'<h1>{title}</h1><div id="messages">{blocks}</div>', lang=lang)


def phpbb_board(title: str, lang: str, written: Sequence[Post]) -> str:
    """Return a thread as phpBB's prosilver shows it."""
    blocks = "".join(
        f'<div id="p{n}" class="post has-profile bg{n % 2 + 1}"><div class="inner"><dl class="postprofile" '
        f'id="profile{n}"><dt><a href="./memberlist.php?mode=viewprofile&amp;u={n}" class="username">{post.author}'
        f'</a></dt></dl><div class="postbody"><div id="post_content{n}"><h3 class="first"><a href="#p{n}">Re: {title}'
        f'</a></h3><p class="author"><span class="responsive-hide">by <strong><a '
        f'href="./memberlist.php?mode=viewprofile&amp;u={n}" class="username">{post.author}</a></strong> &raquo; '
        f'</span>{post.shown}</p><div class="content">{post.text}</div></div></div></div></div>'
        for n, post in enumerate(written, 1)
    )
    return (
        f'<!DOCTYPE html><html dir="ltr" lang="{lang}"><head><meta charset="utf-8"><title>{title}</title></head>'
        f'<body id="phpbb" class="nojs notouch section-viewtopic ltr"><div id="wrap" class="wrap"><div id="page-body" '
        f'class="page-body"><h2 class="topic-title"><a href="./viewtopic.php?t=1">{title}</a></h2>{blocks}</div></div>'
        "</body></html>"
    )


def article_page(title: str, shown: str, head: str = "", lang: str = "en", name: str = "") -> str:
    """Return an article with a line of author and date below its heading."""
    said = "".join(f"<p>{prose(f'{name or title} {number}')}</p>" for number in range(5))
    return document(title, f"<article><h1>{title}</h1><p class='byline'>{shown}</p>{said}</article>", head, lang)


Board = Callable[[str, str, Sequence[Post]], str]
"""Makes a thread of a title, a language and posts."""
