"""Threads of mail in preformatted elements, and preformatted text that holds none."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime

import pytest

from aahcrawler.induction.generic_objects import read_objects
from aahcrawler.webobject import Person, WebObject
from tests.page.building import page_of

URL = "http://site.test/list/thread.html"
NAMES = ("Ann Boyd", "Carla Dunn", "Ann Boyd", "Ole Berg")
TEXTS = (
    "The ferry did not run on Monday, because nobody\nhad cleared the snow from the pier.",
    "It ran on Tuesday, though an hour late.\n\nThe captain apologised to everyone on board.",
    "> It ran on Tuesday, though an hour late.\n\nMy aunt still has the timetable of 1974.",
    "From what I hear:\nthe second boat is back from the yard.",
)
DAYS = tuple(datetime(2021, 3, day, 8, 15, tzinfo=UTC) for day in range(2, 6))


def told(markup: str) -> Sequence[WebObject]:
    return read_objects(page_of(f"<title>Winter ferry</title><body>{markup}", url=URL)).objects


def author(item: WebObject) -> str | None:
    found = item.first("author")
    return found.name if isinstance(found, Person) else None


def anchored(number: int) -> str:
    return (
        f"<a name=m{number}></a>\n<b>From:</b> {NAMES[number]} &lt;x{number}@a.test&gt;\n<b>Date:</b> "
        f"{DAYS[number]:%a, %d %b %Y %H:%M:%S} +0000\n<b>Subject:</b> Winter ferry\n\n{TEXTS[number]}\n\n"
    )


def linked(number: int) -> str:
    neighbours = "".join(
        f"  {day:%Y-%m-%d %H:%M} ` <a href='#m{n}'>{NAMES[n]}</a>\n" for n, day in enumerate(DAYS) if n != number
    )
    return (
        f"<a href='#e{number}' id='m{number}'>*</a> <b>Winter ferry</b>\n{neighbours}From: {NAMES[number]} @ "
        f"{DAYS[number]:%Y-%m-%d %H:%M} UTC (<a href='/list/{number}/'>permalink</a> / <a href='/list/{number}/raw'>raw"
        f"</a>)\n  To: boats\n\n{TEXTS[number]}\n\n<a href='#m{number}' id='e{number}'>^</a> "
        f"<a href='/list/{number}/'>permalink</a> <a href='/list/{number}/#R'>reply</a>\n\n"
    )


def mbox(number: int) -> str:
    return (
        f"From x{number} at a.test  {DAYS[number]:%a %b %d %H:%M:%S %Y}\nFrom: x{number} at a.test ({NAMES[number]})\n"
        f"Date: {DAYS[number]:%a, %d %b %Y %H:%M:%S} +0000\nSubject: Winter ferry\n"
        f"Message-ID: &lt;{number}@a.test&gt;\n\n"
        f"{TEXTS[number]}\n\n"
    )


def ruled(number: int) -> str:
    return (
        f"{'<hr>' if number else ''}From:    {NAMES[number]}\nSent:    {DAYS[number]:%Y-%m-%d %H:%M}\n"
        f"Subject: Winter ferry\n\n{TEXTS[number]}\n"
    )


@pytest.mark.parametrize("shown", [anchored, linked, mbox, ruled])
def test_a_thread_in_one_preformatted_element_is_a_message_for_each_marked_header(shown: Callable[[int], str]) -> None:
    found = told(f"<pre>{''.join(map(shown, range(4)))}</pre>")
    assert [author(each) for each in found] == list(NAMES)
    assert [each.first("date") for each in found] == list(DAYS)
    assert [each.first("body") for each in found] == list(TEXTS)
    assert {each.first("title") for each in found} == {"Winter ferry"}


def test_messages_are_named_by_their_links_or_anchors() -> None:
    by_links = told(f"<pre>{''.join(map(linked, range(4)))}</pre>")
    assert [each.iri for each in by_links] == [f"http://site.test/list/{n}/" for n in range(4)]
    by_anchors = told(f"<pre>{''.join(map(anchored, range(4)))}</pre>")
    assert [each.iri for each in by_anchors] == [f"{URL}#m{n}" for n in range(4)]


def test_an_element_for_each_message_is_read_like_one_for_all() -> None:
    apart = told("<hr>".join(f"<pre>{linked(n)}</pre>" for n in range(4)))
    together = told(f"<pre>{''.join(map(linked, range(4)))}</pre>")
    assert [(each.iri, each.properties) for each in apart] == [(each.iri, each.properties) for each in together]


def test_a_list_of_the_thread_below_its_messages_is_no_article() -> None:
    overview = "".join(f"{day:%Y-%m-%d %H:%M} ` <a href='#m{n}'>{NAMES[n]}</a>\n" for n, day in enumerate(DAYS))
    messages = "".join(f"<pre>{linked(n)}</pre><hr>" for n in range(4))
    note = "Thread overview: 4+ messages (download: <a href=t.gz>mbox.gz</a>)\n-- links below jump to the message --\n"
    found = told(f"<pre><a href='/'>Boats</a></pre>{messages}<pre>{note}{overview}</pre>")
    assert [each.type for each in found] == ["post", "reply", "reply", "reply"]


def test_a_quoted_header_without_a_mark_stays_in_its_message() -> None:
    quoted = f"{TEXTS[0]}\n\nFrom: Ole Berg\nSent: 2021-03-01 10:00\nTo: boats\nSubject: Pier\n\nThe pier is closed."
    page = anchored(0).replace(TEXTS[0], quoted) + anchored(1)
    found = told(f"<pre>{page}</pre>")
    assert [(author(each), each.first("body")) for each in found] == [("Ann Boyd", quoted), ("Carla Dunn", TEXTS[1])]


LOG = "\n\n".join(
    f"commit <a href='/c/{n}'>{n}b7c01d</a>\nAuthor: {name} &lt;x@a.test&gt;\n"
    f"Date:   {day:%a %b %d %H:%M:%S %Y} +0000\n\n    {text}"
    for n, (name, day, text) in enumerate(zip(NAMES, DAYS, TEXTS, strict=True))
)
CHANGES = "\n\n".join(
    f"{day:%Y-%m-%d}  {name}  &lt;x@a.test&gt;\n\n\t* pier.c (ferry): {text}"
    for name, day, text in zip(NAMES, DAYS, TEXTS, strict=True)
)
DIFF = "\n".join(f"diff --git a/{n}.eml b/{n}.eml\n+From: {NAMES[n]}\n+Date: {DAYS[n]:%Y-%m-%d}\n+" for n in range(4))
ROUTE = "\n".join(f"{day:%b %d %H:%M:%S} mail smtpd[7]: from=&lt;x@a.test&gt;, size=12" for day in DAYS)
TICKETS = "\n\n".join(f"from: station {n}\nto: pier\ntime: {day:%H:%M}" for n, day in enumerate(DAYS))
SOURCE = "\n".join(
    f"<a id=L{n}></a>{line}"
    for n, line in enumerate(
        f"MESSAGES = '''\n\nFrom: {NAMES[0]}\nDate: 2021-03-02\n\n{TEXTS[0]}\n\nFrom: {NAMES[1]}\nDate: 2021-03-03\n\n"
        f"{TEXTS[1]}\n'''\nprint(MESSAGES)".split("\n")
    )
)


@pytest.mark.parametrize("text", [LOG, CHANGES, DIFF, ROUTE, TICKETS, SOURCE])
def test_ordinary_preformatted_text_holds_no_messages(text: str) -> None:
    assert [each for each in told(f"<h1>Winter ferry</h1><pre>{text}</pre>") if each.type in ("post", "reply")] == []


def test_examples_of_messages_within_a_text_are_parts_of_it() -> None:
    example = f"<pre>From: {NAMES[0]}\nDate: Tue, 02 Mar 2021 08:15:00 +0000\n\n{TEXTS[0]}</pre>"
    prose = f"<p>{' '.join(TEXTS[0].split())} A header ends with an empty line, and the text of it follows behind.</p>"
    found = told(f"<h1>How mail is written</h1>{prose * 3}{example}{prose * 3}{example}{prose * 3}")
    assert [each.type for each in found] == ["article"]
