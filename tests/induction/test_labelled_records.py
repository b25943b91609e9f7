"""Posts whose fields have labels, as in trackers and archives of mail, and messages alone on their page."""

from collections.abc import Iterable
from datetime import datetime

import pytest

from aahcrawler.induction.field_labels import label_blocks
from aahcrawler.induction.generic_objects import read_objects
from aahcrawler.induction.outline import Outline
from aahcrawler.webobject import Person, WebObject
from tests.page.building import page_of

TEXTS = (
    "The ferry did not run on Monday, because nobody had cleared the snow from the pier in time.",
    "It ran on Tuesday, though an hour late, and the captain apologised to everyone on board.",
    "My aunt still has the timetable of 1974, and it was no better then, I can assure you of that.",
)
NAMES = ("ann", "carla", "dan")

BYLINES = {
    "cells with labels": "<tr><th>msg{n}</th><th>Author: {name}</th><th>Date: 2021-01-0{n}.19:25:00</th></tr>"
    "<tr><td colspan=3><pre>{text}</pre></td></tr>",
    "cells with links": "<tr><th><a href='msg{n}'>msg{n} (view)</a></th><th>Author: {name}</th>"
    "<th>Date: 2021-01-0{n}.19:25:00</th></tr><tr><td colspan=3><pre>{text}</pre></td></tr>",
    "a label in other words": "<tr><td><b>Reported by:</b> {name}</td><td>Submitted: 2021-01-0{n} 19:25</td></tr>"
    "<tr><td colspan=2>{text}</td></tr>",
}


def thread_of(template: str, numbers: Iterable[int] = (1, 2, 3)) -> str:
    rows = "".join(template.format(n=n, name=NAMES[n - 1], text=TEXTS[n - 1]) for n in numbers)
    return f"<title>Ferry</title><body><h1>Ferry</h1><table class=posts>{rows}</table>"


def author_of(item: WebObject) -> str | None:
    author = item.first("author")
    return author.name if isinstance(author, Person) else None


@pytest.mark.parametrize("byline", BYLINES.values(), ids=BYLINES)
def test_labels_name_authors_and_dates(byline: str) -> None:
    found = read_objects(page_of(thread_of(byline), url="http://site.test/issue7")).objects
    assert [(author_of(each), each.first("body")) for each in found] == list(zip(NAMES, TEXTS, strict=True))
    dates = [each.first("date") for each in found]
    assert [each.day for each in dates if isinstance(each, datetime)] == [1, 2, 3]


def test_a_post_is_known_by_the_page_that_its_number_links_to() -> None:
    page = page_of(thread_of(BYLINES["cells with links"]), url="http://site.test/issue7")
    assert [each.iri for each in read_objects(page).objects] == [f"http://site.test/msg{n}" for n in (1, 2, 3)]


def test_the_last_post_opens_a_thread_whose_newest_come_first() -> None:
    page = page_of(thread_of(BYLINES["cells with labels"], (3, 2, 1)), url="http://site.test/issue7")
    assert [(each.type, each.first("title")) for each in read_objects(page).objects] == [
        ("reply", None),
        ("reply", None),
        ("post", "Ferry"),
    ]


MESSAGE = """<title>Re: Ferry</title><body><h1>Re: Ferry</h1><hr>
<ul><li><em>To</em>: <a href="mailto:l@a.test">l@a.test</a></li><li><em>Subject</em>: Re: Ferry</li>
<li><em>From</em>: Ann Boyd &lt;<a href="mailto:ann@a.test">ann@a.test</a>&gt;</li>
<li><em>Date</em>: Mon, 10 Jan 2022 09:30:00 +0000</li></ul><hr><pre>{text}</pre><hr>
<ul><li><strong>Follow-Ups</strong>: <ul><li><a href="msg8.html">Re: Ferry</a>
<ul><li><em>From:</em> Dan Olsen</li></ul></li></ul></li></ul>"""


@pytest.mark.parametrize("text", ["Thanks!", *TEXTS])
def test_a_message_alone_is_what_follows_its_header(text: str) -> None:
    (found,) = read_objects(page_of(MESSAGE.format(text=text), url="http://site.test/msg7.html")).objects
    assert (found.iri, found.first("body"), author_of(found)) == ("http://site.test/msg7.html", text, "Ann Boyd")


def test_the_reporter_is_the_author_of_an_article_and_its_owner_is_not() -> None:
    fields = (
        "<tr><th>Owned by:</th><td>dan</td><th>Reported by:</th><td>ann</td></tr><tr><th>Status:</th><td>new</td></tr>"
    )
    text = "".join(f"<p>{each}</p>" for each in TEXTS * 2)
    page = page_of(f"<title>Ferry</title><body><main><h1>Ferry</h1><table>{fields}</table><div>{text}</div></main>")
    (found,) = read_objects(page).objects
    assert author_of(found) == "ann"
    assert "Owned by" not in str(found.first("body"))


MOMENTS = {
    "a title with other words": "<a href='/t?{n}' title='See timeline at 2021-01-0{n} 10:02:00'>a year ago</a>",
    "beside the last change, a weekday": "Last edited <i>Sat Jan  1 12:00:00 2022</i><br><u>2021-01-0{n} 10:02</u>",
    "beside the last change": "<i>Last edited 2022-01-0{n} 12:00</i> <span>2021-01-0{n} 10:02</span>",
}


@pytest.mark.parametrize("moment", MOMENTS.values(), ids=MOMENTS)
def test_the_date_of_a_post_is_the_exact_one_that_is_no_change(moment: str) -> None:
    posts = "".join(
        f"<div class=post id=p{n}><b class=author>{NAMES[n - 1]}</b> {moment.format(n=n)}<p>{TEXTS[n - 1]}</p></div>"
        for n in (1, 2, 3)
    )
    found = read_objects(page_of(f"<title>Ferry</title><body><h1>Ferry</h1>{posts}")).objects
    assert [str(each.first("date"))[:16] for each in found] == [f"2021-01-0{n} 10:02" for n in (1, 2, 3)]


def test_an_authors_name_in_a_heading_is_no_title() -> None:
    posts = "".join(
        f"<div class=mail><div id=K{n}X><div class=mail-author><h2 class=name>{NAMES[n - 1]}</h2></div>"
        f'<span class=date>0{n} January 2021</span> <span title="Sender\'s time: Jan. {n}, 2021, 10:02 a.m.">10:02 a.m.'
        f"</span></div><p>{TEXTS[n - 1]}</p><div><a class=btn href='/login'>Sign in to reply online</a></div></div>"
        for n in (1, 2, 3)
    )
    found = read_objects(
        page_of(f"<title>Ferry</title><body><h3>Ferry</h3>{posts}", url="http://site.test/thread/1")
    ).objects
    assert [author_of(each) for each in found] == list(NAMES)
    assert [each.first("title") for each in found] == ["Ferry", None, None]
    assert [str(each.first("date"))[:16] for each in found] == [f"2021-01-0{n} 10:02" for n in (1, 2, 3)]


def test_entries_of_an_activity_page_yield_no_objects() -> None:
    entries = "".join(
        f"<h2>0{n} January 2021</h2><dl><dt><a href='/ticket/{n}#comment:4'><b>10:02</b> Ticket #{n} (The ferry of the "
        f"island) updated by <span class=author>{NAMES[n - 1]}</span></a></dt><dd>{TEXTS[n - 1][:70]}</dd></dl>"
        for n in (1, 2, 3)
    )
    assert read_objects(page_of(f"<title>Timeline</title><body><h1>Timeline</h1>{entries}")).objects == ()


def test_a_thread_in_a_table_is_no_block_of_labels() -> None:
    tree = page_of(thread_of(BYLINES["cells with labels"])).tree
    assert label_blocks(Outline(tree)) == ()


def test_a_number_in_the_name_of_an_author_is_no_number_of_a_post() -> None:
    said = "The harbour was flooded for days, and the dike broke near the mill. People were brought away by boat. "
    posts = "".join(
        f'<div class="post"><a class="author" href="/profile/member{n}">member{n}</a> '
        f'<time datetime="2024-05-0{n}T10:00">May {n}</time>'
        f"<p>{said * 2} Gauge {n}.</p></div>"
        for n in (3, 5, 8)
    )
    objects = read_objects(page_of(f"<!doctype html><title>Flood report</title><h1>Flood report</h1>{posts}")).objects
    assert len(objects) == 3
    assert not [each.iri for each in objects if "/profile/" in each.iri]
