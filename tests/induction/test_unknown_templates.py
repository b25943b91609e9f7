"""Posts of templates that nobody described: short ones with own links, notes of trackers, comments of wikis."""

from collections.abc import Sequence

import pytest

from aahcrawler.induction.generic_objects import read_objects
from aahcrawler.webobject import Person, WebObject
from tests.page.building import page_of

HOST = "http://site.test"
NAMES = ("ann7", "Carla Boyd", "ann7", "dan")
TEXTS = (
    "The ferry did not run on Monday, because nobody had cleared the snow from the pier.",
    "It ran on Tuesday, though an hour late. The captain apologised to everyone on board.",
    "My aunt still has the timetable of 1974. It was no better then, I can assure you.",
    "Did anybody see whether the second boat is back from the yard? They promised May.",
)
DIGESTS = ("9b1b9ecdd7", "7510a17847", "d5e1438e10", "98c6a046af")


def author(item: WebObject) -> str | None:
    found = item.first("author")
    return found.name if isinstance(found, Person) else None


def told(markup: str, path: str) -> Sequence[WebObject]:
    return read_objects(page_of(markup, url=HOST + path)).objects


def answer_to(number: int, link: str) -> str:
    return f" in reply to <a href='{link}'>{number}</a>" if number else ""


@pytest.mark.parametrize("newest_first", [False, True])
def test_a_post_is_known_by_the_link_to_itself_and_not_by_that_to_what_it_answers(newest_first: bool) -> None:
    posts = [
        f"<div class=msg><div class=hdr>({n + 1}) By <a href='/user/{name}'>{name}</a> on 2021-03-0{n + 1} 07:38:27"
        f"{answer_to(n, f'/post/{n + 10}')} <a href='/post/{n + 11}'>[link]</a> "
        f"<a href='/post/{n + 11}/source'>[source]"
        f"</a></div><div class=txt><p>{text}</p></div></div>"
        for n, (name, text) in enumerate(zip(NAMES, TEXTS, strict=True))
    ]
    shown = "".join(reversed(posts) if newest_first else posts)
    found = told(f"<title>Ferry - Forum</title><body><h1>Ferry</h1>{shown}", "/thread/4")
    ordered = found[::-1] if newest_first else found
    assert [each.iri for each in ordered] == [f"{HOST}/post/{n}" for n in (11, 12, 13, 14)]
    assert [(author(each), each.first("body")) for each in ordered] == list(zip(NAMES, TEXTS, strict=True))


def test_a_heading_with_a_date_is_a_byline_and_the_heading_above_names_the_thread() -> None:
    posts = "".join(
        f"<div class=post id=forum{n * 977}><h3>({n + 1}) By {name} on 2021-03-0{n + 1} 07:38:27"
        f"{answer_to(n, f'/forumpost/{DIGESTS[0]}')} <a href='/forumpost/{digest}'>[link]</a></h3>"
        f"<div><p>{text}</p></div></div>"
        for n, (name, text, digest) in enumerate(zip(NAMES, TEXTS, DIGESTS, strict=True))
    )
    page = (
        "<title>Works: Forum</title><body><header><h1>Works</h1></header>"
        f"<div class=content><h1>The winter ferry</h1>{posts}</div>"
    )
    found = told(page, f"/forumpost/{DIGESTS[0]}")
    assert [(each.type, each.first("title")) for each in found] == [
        ("post", "The winter ferry"),
        *[("reply", None)] * 3,
    ]
    assert [each.iri for each in found] == [f"{HOST}/forumpost/{digest}" for digest in DIGESTS]
    assert [author(each) for each in found] == list(NAMES)


def test_the_posts_of_one_person_are_a_list_although_they_stand_there_whole() -> None:
    threads = ("Winter ferry", "Winter ferry", "Timetables of old", "Second boat")
    entries = "".join(
        f"<div class=hit><a href='/post/{n}'>{thread}</a> 2021-03-0{n + 1} 07:38<div>{text}</div></div>"
        for n, (thread, text) in enumerate(zip(threads, TEXTS, strict=True))
    )
    assert told(f"<title>ann7</title><body><h1>Posts by ann7</h1>{entries}", "/user/ann7") == ()


@pytest.mark.parametrize(
    "entry",
    [
        "<li>2021-03-0{n} 07:38 <a href='/post/{n}'>Winter ferry {n}</a>: {text} (user: ann7)</li>",
        "<dt><i>07:3{n}</i> <a href='/issues/{n}'>Bug #{n}: Ferry</a></dt><dd>{text} <a href='/users/3'>Ann</a></dd>",
        "<tr><td>07:3{n}</td><td>{text} (forum: [<a href='/info/{digest}'>{digest}</a>] user: ann7)</td></tr>",
    ],
)
def test_a_time_line_is_no_article(entry: str) -> None:
    rows = "".join(
        entry.format(n=n + 1, text=text, digest=digest)
        for n, (text, digest) in enumerate(zip(TEXTS, DIGESTS, strict=True))
    )
    tag = {"<li": "ul", "<dt": "dl", "<tr": "table"}[entry[:3]]
    page = f"<title>Recent events</title><body><h1>Recent events</h1><{tag}>{rows}</{tag}>"
    assert told(page, "/timeline") == ()


def note(n: int) -> str:
    return (
        f"<div class='journal has-notes'><div id=note-{n + 1}><a href='#note-{n + 1}'>#{n + 1}</a>"
        f"<h4>Updated by <a class='user active' href='/users/{n % 2}'>{NAMES[n]}</a> "
        f"<a title='03/2{n}/2021 12:5{n} AM' href='/activity?from=2021-03-2{n}'>about 5 years</a> ago</h4>"
        "<ul class=details><li><strong>Status</strong> changed from <i>New</i> to <i>Closed</i></li></ul>"
        f"<div class=wiki><p>{TEXTS[n]}</p></div></div></div>"
    )


def ticket(notes: Sequence[int]) -> str:
    return (
        "<title>Bug #7: The winter ferry of 1974 - Works - Minder</title><body><h1>Works</h1>"
        "<div id=content><h2>Bug #7</h2>"
        "<div class=issue><h3>The winter ferry of 1974</h3><p class=author>Added by "
        "<a class='user active' href='/users/9'>"
        "Eva Larsen</a> <a title='03/19/2021 10:00 AM' href='/activity?from=2021-03-19'>about 5 years</a> ago.</p>"
        "<div class=attributes><div><div>Status:</div><div>New</div></div><div><div>Priority:</div>"
        "<div>Normal</div></div>"
        "<div><div>Assignee:</div><div><a href='/users/4'>Lars Vos</a></div></div><div><div>Start date:</div>"
        f"<div>03/19/2021</div></div></div><div class=description><p>{TEXTS[3]} {TEXTS[2]} {TEXTS[1]}</p></div></div>"
        f"<div id=history><h3>History</h3>{''.join(map(note, notes))}</div></div>"
    )


def test_a_ticket_is_its_description_and_each_note_who_updated_it() -> None:
    opened, *notes = told(ticket((0, 1, 2)), "/issues/7")
    assert (opened.first("title"), author(opened)) == ("The winter ferry of 1974", "Eva Larsen")
    assert str(opened.first("body")).startswith(f"{TEXTS[3]} {TEXTS[2]} {TEXTS[1]}")
    assert [(author(each), each.first("body")) for each in notes] == list(zip(NAMES[:3], TEXTS[:3], strict=True))


def test_a_lone_note_is_read_by_what_notes_of_other_tickets_look_like() -> None:
    shapes = read_objects(page_of(ticket((0, 1, 2)), url=f"{HOST}/issues/7")).shapes
    page = page_of(ticket((1,)), url=f"{HOST}/issues/7").of_site(None, frozenset(), shapes)
    assert [(author(each), each.first("body")) for each in read_objects(page).objects[1:]] == [(NAMES[1], TEXTS[1])]


@pytest.mark.slow
def test_comments_below_a_wiki_page_end_with_who_wrote_them() -> None:
    comments = "".join(
        f"<div class=comment><p>{text}</p><p>-- <a href='/view/Main/{name}'>{name}"
        f"</a> - 0{n + 1} Mar 2021 - 08:01</p></div><hr>"
        for n, (name, text) in enumerate(zip(NAMES, TEXTS, strict=True))
    )
    page = f"<title>Ferry</title><body><h1>Ferry</h1><p>{' '.join(TEXTS)}</p><h2>Comments</h2>{comments}"
    wiki, *found = told(page, "/view/Works/Ferry")
    assert wiki.type == "article"
    assert [(author(each), each.first("body")) for each in found] == list(zip(NAMES, TEXTS, strict=True))


def test_messages_in_preformatted_elements_have_sender_date_subject_and_text() -> None:
    messages = "".join(
        f"<pre id=m{n}><a href='#e{n}'>*</a> <b>{'Re: ' if n else ''}Winter ferry</b>\n<b>From:"
        f"</b> {name} @ 2021-03-0{n + 1} "
        f"08:15 UTC (<a href='../../{n}-x@a.test/'>permalink</a> / "
        f"<a href='../../{n}-x@a.test/raw'>raw</a>)\n\n{text}\n"
        f"\n<a href='../../{n}-x@a.test/#r'>^</a> <a href='../../{n}-x@a.test/#R'>reply</a>\t["
        f"<a href='../t/'>nested</a>]</pre>"
        for n, (name, text) in enumerate(zip(NAMES, TEXTS, strict=True))
    )
    found = told(f"<title>Winter ferry - list</title><body>{messages}", "/list/0-x@a.test/T/")
    assert [each.iri for each in found] == [f"{HOST}/list/{n}-x@a.test/" for n in range(4)]
    assert [(author(each), each.first("body")) for each in found] == list(zip(NAMES, TEXTS, strict=True))
    assert [each.first("title") for each in found] == ["Winter ferry", *["Re: Winter ferry"] * 3]


def test_a_preformatted_message_alone_is_the_page() -> None:
    header = (
        "From: Ann Boyd &lt;ann@a.test&gt;\nTo: list@a.test\nSubject: <a href='#r'>Winter ferry</a>\n"
        "Date: Sun, 05 Sep 2021 13:11:12 +0000\t[<a href='#r'>thread overview</a>]\nMessage-ID: &lt;0-x@a.test&gt;\n\n"
    )
    page = f"<title>Winter ferry - Ann</title><body><pre>{header}{TEXTS[0]}\n\n{TEXTS[1]}\n</pre><hr><pre>x</pre>"
    (found,) = told(page, "/list/0-x@a.test/")
    assert (found.iri, found.first("title"), author(found)) == (f"{HOST}/list/0-x@a.test/", "Winter ferry", "Ann Boyd")
    assert found.first("body") == f"{TEXTS[0]}\n\n{TEXTS[1]}"


def test_a_listing_of_settings_is_no_message() -> None:
    page = f"<title>Settings</title><body><pre>name: ferry\nauthor: Ann\ndate: 2021-03-02\n\n{TEXTS[0]}</pre>"
    assert [each for each in told(page, "/docs/settings") if each.first("author")] == []


@pytest.mark.parametrize("cells", ["<td>Open</td>", "<td>minor</td><td><a href='/user/3'>ann7</a></td><td>new</td>"])
def test_rows_of_tickets_are_a_list(cells: str) -> None:
    rows = "".join(
        f"<tr><td><a href='/ticket/{digest}'>{digest}</a></td><td>2021-03-0{n + 1} 08:15:00</td>{cells}"
        f"<td>The {word} of the northern harbour behind the lock</td></tr>"
        for n, (digest, word) in enumerate(zip(DIGESTS, ("ferry", "crane", "pier", "market"), strict=True))
    )
    page = f"<title>All tickets</title><body><table><tr><th>#<th>mtime<th>status<th>title</tr>{rows}</table>"
    assert told(page, "/report/1") == ()


def test_what_an_archive_says_of_each_message_is_no_text_of_it() -> None:
    head = (
        "<table><tr><td>Author:</td><td><a href='/author/4.html'>Ann Boyd</a></td></tr><tr><td>Date:</td>"
        "<td>2021-03-05 04:16 UTC</td></tr><tr><td>Subject:</td><td>Winter ferry</td></tr></table>"
    )
    notes = "<hr><p>Posted to these lists:</p><table><tr><td><a href='/list/a'>boats</a></td></tr></table>"
    replies = "<p>Replies:</p><ul><li><a href='/message/18.html'>Carla Boyd</a></li></ul>"
    page = f"<title>Winter ferry</title><body><h1>Winter ferry</h1>{head}<div>{TEXTS[0]}<br><br>{TEXTS[1]}</div>"
    (found,) = told(page + notes + replies, "/message/17.html")
    assert (author(found), found.first("body")) == ("Ann Boyd", f"{TEXTS[0]}\n{TEXTS[1]}")


def test_the_number_of_a_ticket_is_no_part_of_its_title() -> None:
    notes = "".join(
        f"<div id=c{n}><div><b>{name}</b> <i>2021-03-0{n} 08:15</i> <a href='/view.php?id=7#c{n}'>#{n}</a></div>"
        f"<p>{text}</p></div>"
        for n, (name, text) in enumerate(zip(NAMES, TEXTS, strict=True), 1)
    )
    row = "<table><tr><th>Summary</th><td>0000007: Winter ferry</td></tr></table>"
    opened, *_ = told(f"<title>0000007: Winter ferry</title><body>{row}{notes}", "/view.php?id=7")
    assert opened.first("title") == "Winter ferry"
    opened, *_ = told(f"<title>Note 7 - Boats and ferries</title><body>{notes}", "/view.php?id=7")
    assert opened.first("title") is None, "the name of the site"


@pytest.mark.parametrize(("mark", "first"), [("fn", NAMES[0]), ("town", None)])
def test_a_first_note_whose_head_has_another_class_has_its_author_at_the_same_place(
    mark: str, first: str | None
) -> None:
    notes = "".join(
        f"<div id=c{n} class=note><div class={'note-head' if n else 'opening-head'}>"
        f"<span class=number><a href='#c{n}'>{f'Note {n}' if n else 'Description'}</a></span> "
        f"<span class={'fn' if n else mark}>{name}</span> "
        f"<span class=when>2021-03-0{n + 1} 07:38:27</span></div><pre class=text>{text}</pre></div>"
        for n, (name, text) in enumerate(zip(NAMES, TEXTS, strict=True))
    )
    found = told(f"<title>7 - Ferry</title><body><h1>Ferry</h1><div id=notes>{notes}</div>", "/ticket?id=7")
    assert [author(each) for each in found] == [first, *NAMES[1:]]
    assert [each.first("body") for each in found] == list(TEXTS)
