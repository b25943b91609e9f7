# ruff: noqa: E501 - markup is as wide as it is written
"""Three small sites of differing make, with what their pages say: a static blog, a news site, questions and answers."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from aahcrawler.page import Page
from tests.page.building import page_of


@dataclass(frozen=True, slots=True)
class Said:
    """A text that somebody wrote: the day is in ISO 8601, with a time where the page shows one; "" without one."""

    author: str
    day: str
    text: str
    title: str = ""
    answers: tuple["Said", ...] = ()

    def all(self) -> Iterator["Said"]:
        """Yield it and what answers it, in the order of the page."""
        yield self
        for each in self.answers:
            yield from each.all()


@dataclass(frozen=True, slots=True)
class Shown:
    """A page of a site, and the texts on it; a list has none."""

    name: str
    page: Page
    said: tuple[Said, ...] = ()


LONG = (
    "The boats came back before noon, and the nets were so full that two of them had torn on the way.",
    "Nobody had expected it: the year before, the same crews had waited for weeks and landed hardly enough to eat.",
    "The warden keeps a book of every catch since 1911, and there are only four days in it that were better.",
)
SHORT = "The old crane is to be sold for scrap in June."

ARTICLES = (
    Said(
        "Ann Boyd",
        "2021-11-03",
        "\n".join(LONG),
        "A morning like no other",
        (
            Said(
                "Carl Ness",
                "2021-11-04",
                "I was on the second boat. My hands still hurt from hauling, and I do not mind.",
            ),
            Said("mo_fi", "2021-11-05", "Lovely."),
            Said(
                "Edda Lund", "2021-11-07", "Which book is that, and can one read it somewhere? My grandfather is in it."
            ),
        ),
    ),
    Said("Ben Aske", "2021-10-12", SHORT, "The crane goes", (Said("Carl Ness", "2021-10-12", "At last."),)),
    Said(
        "Ann Boyd",
        "2021-09-30",
        LONG[1],
        "Waiting for herring",
        (
            Said(
                "Edda Lund", "2021-10-01", "We wait every year, and every year somebody writes that nobody expected it."
            ),
            Said(
                "Ivo Marsh",
                "2021-10-02",
                "It is the cold water. The thermometer on the pier has not been right since spring.",
            ),
        ),
    ),
    Said("Ben Aske", "2021-09-02", f"{LONG[2]}\n{LONG[0]}", "Out of the warden's book"),
)


def _paragraphs(text: str) -> str:
    return "".join(f"<p>{line}</p>" for line in text.split("\n"))


def _day(iso: str, form: str) -> str:
    moment = datetime.fromisoformat(iso)
    return form.format(day=moment.day, month=moment.month, year=moment.year, name=f"{moment:%B}", short=f"{moment:%b}")


# A static blog: microformats, answers of other sites below the text.

_BLOG = """<!doctype html><html lang=en><head><title>{title} | Pier Notes</title></head><body>
<header class=site><p><a href="/">Pier Notes</a></p><nav><a href="/posts/">Posts</a> <a href="/about/">About</a></nav>
</header><main>{main}</main><footer><p>Written by the sea, and served from a shed. No rights reserved.</p></footer>"""


def _mention(number: int, said: Said) -> str:
    slug = said.author.split()[0].lower()
    return f"""<li class="mention u-comment h-cite" id="wm-{400 + number}">
<a class="p-author h-card u-url" href="https://{slug}.test/"><img alt="" src="/faces/{slug}.png">{said.author}</a>
<div class="p-content">{said.text}</div>
<a class=u-url href="https://{slug}.test/notes/{number}"><time class=dt-published datetime="{said.day}T10:0{number}:00Z">
{_day(said.day, "{short} {day}, {year}")}</time></a></li>"""


def blog() -> Iterator[Shown]:
    """Yield the pages of a static blog."""
    for number, each in enumerate(ARTICLES):
        mentions = "".join(_mention(n, answer) for n, answer in enumerate(each.answers))
        count = len(each.answers)
        section = f"<section class=webmentions><h2>{count} mentions</h2><ol>{mentions}</ol></section>" if count else ""
        main = f"""<article class="post h-entry"><h1 class=p-name>{each.title}</h1>
<p class=meta><time class=dt-published datetime="{each.day}T08:00:00Z">{_day(each.day, "{day} {name} {year}")}</time>
by <a class="p-author h-card" rel=author href="/about/#{number}">{each.author}</a> · 2 min read</p>
<div class=e-content>{_paragraphs(each.text)}</div><p class=tags><a href="/tags/sea/">sea</a></p></article>{section}
<nav class=pager><a href="/posts/{number + 1}/">Older</a></nav>"""
        url = f"http://pier.test/posts/{number}/"
        yield Shown(f"blog {number}", page_of(_BLOG.format(title=each.title, main=main), url=url), (each,))
    rows = "".join(
        f"<h2><a href='/posts/{number}/'>{each.title}</a></h2><p class=meta>{_day(each.day, '{day} {name} {year}')}</p>"
        f"<p>{each.text.partition(chr(10))[0]}</p><p><a href='/posts/{number}/'>Read on</a></p>"
        for number, each in enumerate(ARTICLES)
    )
    for name in ("posts", "tags/sea"):
        page = page_of(_BLOG.format(title=name, main=f"<h1>{name}</h1>{rows}"), url=f"http://pier.test/{name}/")
        yield Shown(f"blog {name}", page)
    one = rows.partition("</p><h2>")[0] + "</p>"
    yield Shown(
        "blog one", page_of(_BLOG.format(title="ice", main=f"<h1>ice</h1>{one}"), url="http://pier.test/tags/ice/")
    )
    lines = "".join(
        f"<li>{_day(each.day, '{day} {name} {year}')} <a href='/posts/{n}/'>{each.title}</a></li>"
        for n, each in enumerate(ARTICLES * 6)
    )
    yield Shown(
        "blog all",
        page_of(_BLOG.format(title="All", main=f"<h1>All</h1><ul>{lines}</ul>"), url="http://pier.test/all/"),
    )


# A news site: every text is a node, comments have subjects and lie within what they answer.

_NEWS = """<!doctype html><html lang=en><head><title>{title} | Harbour News</title></head><body class=path-node>
<div id=page><header role=banner><a href="/">Harbour News</a></header><ul class=menu><li><a href="/">Home</a></li>
<li><a href="/archive">Archive</a></li></ul><div role=main id=content><h1 class=page-title>{title}</h1>{main}</div>
<aside class=region><h2>Who is online</h2><p>There are currently 0 users online.</p></aside></div>"""


def _comment(number: int, said: Said, below: str = "") -> str:
    return f"""<a id="remark-{70 + number}"></a><article class="note js-note" role=article>
<footer class=note__meta><p class=note__author>Submitted by <a href="/user/{number + 3}">{said.author}</a> on
{_day(said.day, "{month:02}/{day:02}/{year}")} - 10:0{number}</p>
<p><a href="/remark/{70 + number}#remark-{70 + number}">Permalink</a></p></footer>
<div class=note__content><h3><a href="/remark/{70 + number}#remark-{70 + number}">{said.text[:9]}</a></h3>
<div class=field__item><p>{said.text}</p></div><ul class=links><li><a href="/remark/reply/{number}">Reply</a></li></ul>
</div></article>{f"<div class=indented>{below}</div>" if below else ""}"""


def _nested(answers: Sequence[Said]) -> str:
    """Return comments of which the second answers the first."""
    made = [_comment(number, each) for number, each in enumerate(answers)]
    if len(made) > 1:
        made[:2] = [_comment(0, answers[0], made[1])]
    return "".join(made)


def news() -> Iterator[Shown]:
    """Yield the pages of a news site."""
    for number, each in enumerate(ARTICLES):
        form = "<form class=note-form><input name=subject><textarea name=body></textarea></form>"
        section = f"<section class=field--note><h2>Comments</h2>{_nested(each.answers)}<h2>Add new comment</h2>{form}</section>"
        main = f"""<article role=article class="node node--full"><footer class=node__meta><div>Submitted by
<a href="/user/{number}">{each.author}</a> on {_day(each.day, "{month:02}/{day:02}/{year}")} - 08:00</div></footer>
<div class=node__content><div class=field--body>{_paragraphs(each.text)}</div><div>Tags <a href="/term/1">sea</a></div>
{section}</div></article>"""
        page = page_of(_NEWS.format(title=each.title, main=main), url=f"http://news.test/node/{number}")
        yield Shown(f"news {number}", page, (each,))
    rows = [
        f"""<article role=article class="node node--teaser"><h2><a href="/node/{number}">{each.title}</a></h2>
<footer>Submitted by <a href="/user/{number}">{each.author}</a> on {_day(each.day, "{month:02}/{day:02}/{year}")}</footer>
<div class=node__content><p>{each.text.partition(chr(10))[0]}</p></div><ul class=links>
<li><a href="/node/{number}">Read more</a></li><li><a href="/node/{number}#notes">{len(each.answers)} comments</a></li></ul>
</article>"""
        for number, each in enumerate(ARTICLES)
    ]
    for name, shown in (("archive", rows), ("term/1", rows[:2]), ("user/1", rows[1:2])):
        main = _NEWS.format(title=name.replace("/", " "), main="".join(shown))
        yield Shown(f"news {name}", page_of(main, url=f"http://news.test/{name}"))


# Questions and answers: days are told in words, with the moment in a title.

_ASKED = """<!doctype html><html lang=en><head><title>{title} - Ask the Harbour</title></head><body>
<div class=top><a href="/">Ask the Harbour</a> <a href="/users">Users</a> <a href="/ask">Ask</a></div>
<div class=wrap>{main}</div><div class=bottom>All answers are those of their writers.</div>"""

QUESTIONS = (
    Said(
        "Ivo Marsh",
        "2022-01-12T09:15",
        "My line of the old kind frays where it runs through the block. Would a thimble help, or do I need a wider block?",
        "Which knot for a fraying line?",
        (
            Said(
                "Edda Lund", "2022-01-12T11:20", "A wider block. A thimble only moves the trouble by a hand's breadth."
            ),
            Said(
                "Carl Ness",
                "2022-01-13T07:45",
                "Turn the line end for end first; you will get two more years out of it.",
            ),
        ),
    ),
    Said(
        "mo_fi",
        "2022-01-13T16:00",
        "Is it true that one may not whistle on board? My uncle says so, and he has never been wrong about the sea.",
        "Whistling on board",
        (
            Said(
                "Ann Boyd",
                "2022-01-14T08:30",
                "It calls up the wind, they say. I whistle all the time and nothing comes.",
            ),
        ),
    ),
    Said(
        "Edda Lund",
        "2022-01-14T19:40",
        "Where can I read the book that the warden keeps? The museum has been closed since the flood of last spring.",
        "The warden's book",
    ),
)


def _when(said: Said, ago: str) -> str:
    return f'<span class=when title="{said.day.replace("T", " ")}:00Z">{ago}</span>'


def _entry(kind: str, number: int, said: Said, verb: str) -> str:
    return f"""<div class="{kind}" id="{kind}-{number}"><div class=score><b>{number % 3}</b><span>votes</span></div>
<div class=matter><div class=prose><p>{said.text}</p></div><div class=sign><span class=did>{verb}</span>
{_when(said, "2 days ago")} <a href="/users/{len(said.author)}/">{said.author}</a> <span class=points>1{number}</span></div>
</div></div>"""


def questions() -> Iterator[Shown]:
    """Yield the pages of a site of questions and answers."""
    for number, each in enumerate(QUESTIONS):
        answers = "".join(_entry("answer", 30 + n, answer, "answered") for n, answer in enumerate(each.answers))
        count = len(each.answers)
        main = f"""<h1><a href="/q/{number}">{each.title}</a></h1>{_entry("question", number, each, "asked")}
<h2>{count} {"Answer" if count == 1 else "Answers"}</h2>{answers}
<h2>Your answer</h2><form action="/answer"><textarea name=text></textarea></form>"""
        page = page_of(_ASKED.format(title=each.title, main=main), url=f"http://ask.test/q/{number}")
        yield Shown(f"questions {number}", page, (each,))
    rows = "".join(
        f"""<div class=row><div class=n>{len(each.answers)} answers</div><div><h3><a href="/q/{number}">{each.title}</a></h3>
<div class=cut>{each.text[:90]} ...</div><div class=sign>asked {_when(each, "2 days ago")}
<a href="/users/{len(each.author)}/">{each.author}</a></div></div></div>"""
        for number, each in enumerate(QUESTIONS * 2)
    )
    for name in ("newest", "tagged/rope"):
        page = page_of(_ASKED.format(title=name, main=f"<h1>{name}</h1>{rows}"), url=f"http://ask.test/{name}")
        yield Shown(f"questions {name}", page)
