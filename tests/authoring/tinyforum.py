"""TinyForum, an invented forum software: pages of a site that runs it, as the documentation shows them."""

from tests.helper.saved_pages import html_page

SITE = "http://knots.example"

HEAD = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<meta name="generator" content="TinyForum 2.1">
<link rel="stylesheet" href="/tinyforum/skin.css"><script src="/tinyforum/tiny.js"></script>
</head><body class="{body}">
<div class="menu"><a href="/">Knots and Ropes</a> <a href="/login.php">Log in</a> <a href="/search.php">Search</a></div>
"""
FOOT = """<p class="credit">Powered by <a href="https://tinyforum.example/">TinyForum</a> 2.1</p></body></html>
"""
ENTRY = """<div class="entry" id="entry-{number}">
<div class="who"><a class="who-name" href="/user.php?id={user}">{author}</a><br>member for years</div>
<p class="when">{date}</p>
<div class="text"><p>{text}</p></div>
<p class="tools"><a href="/reply.php?topic=7&amp;quote={number}">Reply</a></p>
</div>
"""
POSTS = (
    (4, 1, "Ada", "13.2.2024 14:05", "Which knot holds best when the rope is wet and stiff from the salt of the sea?"),
    (
        5,
        2,
        "Bo",
        "13.2.2024 16:40",
        "The bowline, of course. It does not slip, and it can be untied after a long night.",
    ),
    (
        9,
        3,
        "Cleo",
        "14.2.2024 09:12",
        "Take two half hitches more if the rope is new: new rope is slippery for a while.",
    ),
)


def topic(*, posts: tuple[tuple[int, int, str, str, str], ...] = POSTS) -> str:
    entries = "".join(
        ENTRY.format(number=number, user=user, author=author, date=date, text=text)
        for number, user, author, date, text in posts
    )
    return (
        HEAD.format(title="Wet ropes - Knots and Ropes", body="tf-page")
        + '<p class="path"><a href="/">Home</a> &gt; <a href="/board.php?id=2">Sailing</a></p>\n'
        + f'<h1 class="subject">Wet ropes</h1>\n{entries}'
        + '<p class="pages">1 <a href="/topic.php?id=7&amp;page=2">2</a> '
        + '<a href="/topic.php?id=7&amp;page=3">3</a></p>\n'
        + '<p><a href="/print.php?id=7">Print</a></p>\n'
        + FOOT
    )


def board() -> str:
    return (
        HEAD.format(title="Sailing - Knots and Ropes", body="tf-page")
        + '<h1 class="subject">Sailing</h1>\n<ul class="topics">\n'
        + '<li><a class="topic-link" href="/topic.php?id=7">Wet ropes</a> by Ada</li>\n'
        + '<li><a class="topic-link" href="/topic.php?id=8">Storm anchors</a> by Bo</li>\n</ul>\n'
        + FOOT
    )


def form() -> str:
    return (
        HEAD.format(title="Log in - Knots and Ropes", body="tf-page")
        + '<form action="/login.php" method="post"><input name="name"><input name="word" type="password"></form>\n'
        + FOOT
    )


TOPIC = html_page(f"{SITE}/topic.php?id=7", topic())
BOARD = html_page(f"{SITE}/board.php?id=2", board())
FORM = html_page(f"{SITE}/login.php", form())
