"""Tickets, questions and threads of software that nobody described, in long and in short texts."""

from collections.abc import Callable, Sequence
from datetime import datetime

import pytest

from aahcrawler.induction.generic_objects import read_objects
from aahcrawler.webobject import Person, WebObject
from tests.induction import short_tickets, tracker_pages
from tests.induction.tracker_pages import LONG, PAGES, SHORT, TITLE, Note, notes
from tests.page.building import page_of

URL = "http://site.test/issues/17"
ALONE_IN_WIDE_FRAMES = (tracker_pages.lines_of_values, tracker_pages.activities)
"""Pages whose description is too short to be told from what stands around it."""

Make = Callable[[Sequence[Note]], str]


def told(item: WebObject) -> tuple[str, str | None, str]:
    author, date = item.first("author"), item.first("date")
    name = author.name if isinstance(author, Person) else None
    return (
        " ".join(str(item.first("body")).split()),
        name,
        date.date().isoformat() if isinstance(date, datetime) else "",
    )


@pytest.mark.parametrize("make", PAGES.values(), ids=PAGES)
@pytest.mark.parametrize("texts", [LONG, LONG[:2]], ids=["four", "two"])
def test_a_report_and_the_notes_on_it_are_read(make: Make, texts: Sequence[str]) -> None:
    given = notes(texts)
    found = read_objects(page_of(make(given), url=URL)).objects
    assert [told(each) for each in found] == [(each.text, each.name, each.day) for each in given]
    assert [each.first("title") for each in found] == [TITLE, *(None for _ in given[1:])]


@pytest.mark.parametrize("make", [each for each in PAGES.values() if each not in ALONE_IN_WIDE_FRAMES])
def test_notes_may_be_a_few_words(make: Make) -> None:
    given = notes(SHORT)
    found = read_objects(page_of(make(given), url=URL)).objects
    assert [told(each) for each in found] == [(each.text, each.name, each.day) for each in given]


@pytest.mark.parametrize("maker", short_tickets.TEMPLATES)
@pytest.mark.parametrize("text", short_tickets.TEXTS, ids=["a report", "a few words"])
def test_a_ticket_without_notes_is_read_whatever_its_length(maker: str, text: str) -> None:
    template = short_tickets.TEMPLATES[maker]
    markup = template.markup.format(
        title=short_tickets.TITLE, author=short_tickets.AUTHOR, day=short_tickets.DAY, text=text
    )
    (found,) = read_objects(page_of(markup, url="http://site.test" + template.path)).objects
    assert (found.first("title"), found.first("body")) == (short_tickets.TITLE, text)
    author, date = found.first("author"), found.first("date")
    assert author is None or (isinstance(author, Person) and author.name == short_tickets.AUTHOR)
    assert isinstance(date, datetime)
    assert date.date().isoformat() == short_tickets.DAY


@pytest.mark.parametrize("make", PAGES.values(), ids=PAGES)
def test_no_value_of_a_short_page_is_invented(make: Make) -> None:
    for texts in (SHORT, SHORT[:2], SHORT[:1]):
        given = notes(texts)
        for each in read_objects(page_of(make(given), url=URL)).objects:
            text, name, day = told(each)
            of = next(note for note in given if note.text in text)
            assert name in (of.name, None)
            assert day in (of.day, "")


def test_rows_of_two_colours_are_records_of_one_set() -> None:
    posts = "".join(
        f"<div class='{'odd' if note.number % 2 else 'even'}'><div class=mail><div class=head><b "
        f"class=name>{note.name}</b> "
        f"<span class=date>{note.date}</span></div><div class=text><p>{note.text}</p></div></div></div>"
        for note in notes(LONG * 2)
    )
    found = read_objects(
        page_of(f"<title>{TITLE}</title><body><h1>{TITLE}</h1><div class=replies>{posts}</div>", url=URL)
    ).objects
    assert [told(each)[0] for each in found] == list(LONG)


def test_the_first_post_of_a_thread_ends_where_its_frame_does() -> None:
    def mail(note: Note, kind: str) -> str:
        return (
            f"<div class='mail {kind}'><div class=head><h2 class=author>{note.name}</h2><span "
            f"class=date>{note.date}</span></div>"
            f"<div class=text><p>{note.text}</p></div></div>"
        )

    first, *others = notes(LONG)
    replies = "".join(
        f"<div class='{'odd' if n % 2 else 'even'}'>{mail(note, '')}</div>" for n, note in enumerate(others)
    )
    body = (
        f"<h3>{TITLE}</h3><div class=row><div class=wide>{mail(first, 'first')}<p><i></i><a href='?sort=date'>by "
        "date</a></p>"
        f"<div class=replies>{replies}</div></div><div class=narrow><ul><li>2 days</li><li>3 comments</li></ul>"
        "<div>people (3)</div><ul><li><i></i>hannah</li><li><i></i>Olaf Brink</li><li><i></i>teo</li></ul></div>"
        "</div>"
    )
    found = read_objects(page_of(f"<title>{TITLE}</title><body>{body}", url=URL)).objects
    assert [told(each) for each in found] == [(each.text, each.name, each.day) for each in (first, *others)]
    assert [each.type for each in found] == ["post", "reply", "reply", "reply"]


def test_a_sentence_is_no_name() -> None:
    text = "The ferry of the northern pier did not run at all."
    page = page_of(
        f"<title>{TITLE}</title><body><h1>{TITLE}</h1><div><time>{'2021-01-04'}</time><p>{text}</p></div>", url=URL
    )
    assert all(told(each)[1] is None for each in read_objects(page).objects)


def test_a_button_that_finds_all_posts_is_no_author() -> None:
    (note,) = notes(LONG[:1])
    post = (
        f"<div class=post id=post_{note.number}><div class=side><b><a href='/member?action=profile&amp;uid=5'>"
        f"{note.name}</a></b></div><div class=head><span class=date>{note.date}</span> "
        f"<a href='/thread?tid=7&amp;pid={note.number}"
        f"#pid{note.number}'>#1</a></div><div class=text id=pid_{note.number}>{note.text}</div><div class=deeds>"
        "<a href='/private?action=send&amp;uid=5'>Message</a> "
        f"<a href='/search?action=finduser&amp;uid=5'>Find</a></div></div>"
    )
    tree = "".join(
        f"<div><a href='/thread?pid={n}'>{TITLE}</a> - by <a href='/member?uid={n}'>teo</a> - 2021-01-0{n} 10:00</div>"
        for n in (6, 7)
    )
    found = read_objects(
        page_of(f"<title>{TITLE}</title><body><h1>{TITLE}</h1>{post}<div>{tree}</div>", url=URL)
    ).objects
    assert [told(each) for each in found] == [(note.text, note.name, note.day)]


def test_a_table_of_posts_with_a_head_is_no_ticket() -> None:
    rows = "".join(
        f"<tr><td>Posted: {note.date}</td><td>Subject: {TITLE}</td></tr><tr><td><b class=author>{note.name}</b></td>"
        f"<td>{note.text}</td></tr>"
        for note in notes(LONG)
    )
    table = f"<table><tr><th>Author</th><th>Message</th></tr>{rows}</table>"
    found = read_objects(page_of(f"<title>{TITLE}</title><body><h1>{TITLE}</h1>{table}", url=URL)).objects
    assert [told(each)[0] for each in found] == list(LONG)
