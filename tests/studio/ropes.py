"""A made-up forum, Knots and Ropes, of software that nobody has described: its pages, and a sample of them."""

from collections.abc import Mapping
from datetime import UTC, datetime
from urllib.parse import urlsplit

from aahcrawler.editor.rules.page_sample import CapturedPage, PageSample, ReadBy, ReadObject, SampledReading, drawn
from aahcrawler.page import Headers, Page

HOST = "knots.test"
AT = datetime(2026, 3, 1, 12, tzinfo=UTC)
SUBJECTS = ("Wet ropes", "Storm anchors", "Splices that hold", "Old nets", "The harbour in winter", "New cleats")
NAMES = ("Ada", "Bo", "Cleo", "Dag", "Edda")
SENTENCES = (
    "Which knot holds best when the rope is wet and stiff from the salt of the sea, and who has tried it?",
    "The bowline, of course. It does not slip, and it can be untied after a long night in the harbour.",
    "Take two half hitches more if the rope is new: new rope is slippery for a while, as everybody knows.",
    "My grandfather spliced his lines each winter by the stove, and none of them ever parted in a storm.",
    "Do not buy the cheap nylon from the market; it rots in the sun within two summers and then it snaps.",
)


def page(title: str, content: str, *, of: str = HOST) -> str:
    """Return a page of the site."""
    return f"""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>{title} - Knots and Ropes</title>
<meta name="generator" content="RopeBoard 3.2"><link rel="stylesheet" href="/ropeboard/skin.css"></head>
<body class="rb-page"><div class="menu"><a href="/">Knots and Ropes</a> <a href="/login">Log in</a>
<a href="/search">Search</a></div>
{content}
<div class="credit">Run by <a href="https://ropeboard.example/">RopeBoard</a> for {of}</div></body></html>
"""


def author_of(thread: int, number: int) -> str:
    """Return who wrote a post."""
    return NAMES[(thread + number) % len(NAMES)]


def texts_of(thread: int, number: int) -> tuple[str, str]:
    """Return the paragraphs of a post."""
    first = f"{SENTENCES[(thread * 2 + number) % len(SENTENCES)]} This is what thread {thread} says at {number}."
    return first, SENTENCES[(number + 3) % len(SENTENCES)]


def post(thread: int, number: int) -> str:
    """Return the markup of a post."""
    name, texts = author_of(thread, number), texts_of(thread, number)
    return f"""<div class="entry{" odd" if number % 2 else ""}" id="entry-{thread * 10 + number}">
<div class="who"><a class="who-name" href="/sailor/{name.lower()}"><span>{name}</span></a><br>sails since 1999</div>
<p class="when">written <time datetime="2024-02-{number + 10}T0{thread}:15:00Z">{number + 10}.2.2024</time></p>
<div class="text"><p>{texts[0]}</p><p>{texts[1]}</p></div>
<p class="tools"><a href="/reply/{thread * 10 + number}">Answer</a></p>
</div>
"""


def thread(number: int, posts: int = 4) -> str:
    """Return a page with posts."""
    subject = SUBJECTS[number - 1]
    path = f'<p class="path"><a href="/board/{1 + number % 2}">Board {1 + number % 2}</a></p>'
    return page(
        subject,
        f'{path}<h1 class="subject">{subject}</h1>' + "".join(post(number, each) for each in range(1, posts + 1)),
    )


def board(number: int) -> str:
    """Return a page that lists threads."""
    rows = "".join(
        f'<li class="line"><a class="line-link" href="/thread/{each}">{SUBJECTS[each - 1]}</a></li>'
        for each in range(1, 7)
        if 1 + each % 2 == number
    )
    return page(f"Board {number}", f'<h1 class="board">Board {number}</h1><ul class="lines">{rows}</ul>')


PAGES: Mapping[str, str] = {
    "/": page(
        "Start", '<ul class="boards"><li><a href="/board/1">Board 1</a></li><li><a href="/board/2">2</a></li></ul>'
    ),
    **{f"/board/{number}": board(number) for number in (1, 2)},
    **{f"/thread/{number}": thread(number, 2 + number % 4) for number in range(1, 7)},
    "/login": page("Log in", '<form method="post"><input name="who"><input name="word" type="password"></form>'),
}
POSTS: Mapping[int, int] = {number: 2 + number % 4 for number in range(1, 7)}


def parsed(path: str, body: str | None = None) -> Page:
    """Return a page of the site as a crawl has it."""
    source = PAGES[path] if body is None else body
    headers = Headers((("Content-Type", "text/html; charset=utf-8"),))
    return Page(f"http://{HOST}{path}", 200, headers, source.encode(), AT)


def recorded(number: int, posts: int) -> SampledReading:
    """Return what a crawl that reads everything rightly records of a thread."""
    objects = (
        ReadObject(
            each - 1,
            f"http://{HOST}/thread/{number}#{each}",
            "reply" if each > 1 else "post",
            SUBJECTS[number - 1] if each == 1 else "",
            author_of(number, each),
            f"2024-02-{each + 10}T0{number}:15:00Z",
            "\n".join(texts_of(number, each)),
        )
        for each in range(1, posts + 1)
    )
    return SampledReading(tuple(objects), ReadBy.CRAWL)


def sample_of(pages: Mapping[str, str] = PAGES, readings: Mapping[str, SampledReading] | None = None) -> PageSample:
    """Return a sample of pages, by their paths, with what was recorded of them: the truth unless it is given."""
    captured = [CapturedPage(record_of(path), f"http://{HOST}{path}", AT.isoformat()) for path in sorted(pages)]
    told = TRUTH if readings is None else readings

    def load(wanted: CapturedPage) -> Page:
        parts = urlsplit(wanted.url)
        path = parts.path + (f"?{parts.query}" if parts.query else "")
        return parsed(path, pages[path])

    def read(wanted: CapturedPage) -> SampledReading:
        return told.get(wanted.url.removeprefix(f"http://{HOST}"), SampledReading((), ReadBy.NOBODY))

    return PageSample(HOST, drawn(captured), load, read)


TRUTH: Mapping[str, SampledReading] = {f"/thread/{number}": recorded(number, posts) for number, posts in POSTS.items()}


def record_of(path: str) -> str:
    """Return the id of the record of a page."""
    return f"urn:uuid:{path}"
