"""Records of pages made by hand, in shapes that forums, blogs and wikis have had over the years."""

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from aahcrawler.induction import Nature, Record, generic_objects, records
from aahcrawler.induction.outline import Outline
from aahcrawler.webobject import Person, Reference
from tests.pace import at_most
from tests.page.building import page_of

TEXTS = (
    "The ferry did not run on Monday, because nobody had cleared the snow from the pier in time.",
    "It ran on Tuesday, though an hour late, and the captain apologised to everyone on board.",
    "Thanks!",
    "My aunt still has the timetable of 1974, and it was no better then, I can assure you of that.",
)
NAMES = ("Ann Boyd", "Carla", "Ann Boyd", "Dan Olsen")
DATES = tuple(datetime(2022, 1, day, 9, 30, tzinfo=UTC) for day in (11, 12, 13, 14))


def thread(template: str, before: str = "", after: str = "") -> str:
    posts = "".join(
        template.format(number=7 + n, name=NAMES[n], slug=NAMES[n][:3], day=11 + n, text=TEXTS[n]) for n in range(4)
    )
    return f"<title>Ferry</title><body><h1>Ferry</h1>{before}{posts}{after}"


SHAPES = {
    "divisions": thread(
        "<div class='msg {slug}'><div class=who><a href='/user/{slug}'>{name}</a></div>"
        "<div class=when>{day}.01.2022, 09:30</div><div class=said>{text}</div><div><a href='#r'>Reply</a></div></div>"
    ),
    "rows of one table each": thread(
        "<table id=post{number}><tr><td><a href='/member.php?u={number}'>{name}</a><br>Member</td>"
        "<td><div>2022-01-{day} 09:30</div><div id=text{number}>{text}</div></td></tr></table>"
    ),
    "pairs of rows": thread(
        "<tr><td><b>{name}</b></td><td>{day} January 2022, 09:30</td></tr><tr><td>Member</td><td>{text}</td></tr>",
        "<table>",
        "</table>",
    ),
    "subjects beside the text, and authors beside both": thread(
        "<section><div class=whole><div class=box><div><a href='/profile/{slug}'>{name}</a></div><i>Newbie</i>"
        "<i>Posts: 28</i></div><div class=area><div><div><a href='/p/{number}'>Re: Ferry</a></div>"
        "<a href='/p/{number}'>{day} January 2022, 09:30</a></div><div class=part>{text}</div>"
        "<div class=part><ul><li><a href='/quote/{number}'>Quote</a><li><a href='/flag'>Quote selected</a></ul></div>"
        "</div></div></section>"
    ),
    "definition list": thread(
        "<dt id=c{number}><a href='/people/{slug}'>{name}</a> said</dt><dd><p>{text}</p></dd>"
        "<dd><a href='#c{number}'>{day} January 2022 09:30</a></dd>",
        "<dl>",
        "</dl>",
    ),
    "list items with time elements": thread(
        "<li><article><header><span class=author>{name}</span> <time datetime='2022-01-{day}T09:30:00Z'>a while ago"
        "</time></header><p>{text}</p></article></li>",
        "<ol>",
        "</ol>",
    ),
}


def posts_of(markup: str) -> tuple[Record, ...]:
    (found,) = records(page_of(markup, url="http://site.test/ferry"))
    assert found.nature is Nature.POSTS
    return found.records


@pytest.mark.parametrize("shape", SHAPES)
def test_posts_of_many_shapes(shape: str) -> None:
    found = posts_of(SHAPES[shape])
    assert [record.body.plain() if record.body else None for record in found] == list(TEXTS)
    assert [record.author.name if record.author else None for record in found] == list(NAMES)
    assert [record.date.moment if record.date else None for record in found] == list(DATES)


def test_replies_lie_below_what_they_answer() -> None:
    one = (
        "<li id=c{n}><div><b class=fn>{name}</b> <time datetime='2022-01-{day}T09:30Z'>x</time><p>{text}</p></div>"
        "{in_}</li>"
    )

    def item(n: int, in_: str = "") -> str:
        return one.format(n=n, name=NAMES[n], day=11 + n, text=TEXTS[n], in_=in_ and f"<ul>{in_}</ul>")

    found = posts_of(f"<title>x</title><ul>{item(0, item(1, item(2)))}{item(3)}</ul>")
    assert [record.parent for record in found] == [None, 0, 1, None]
    assert [record.body.plain() if record.body else None for record in found] == list(TEXTS)
    assert [record.key for record in found] == ["c0", "c1", "c2", "c3"]


def test_a_list_of_articles_yields_no_objects() -> None:
    teaser = (
        "<article><h2><a href='/{number}'>Story {number} of {name}</a></h2><p>By <a href='/author/{slug}'>{name}</a>, "
        "<time datetime='2022-01-{day}'>x</time></p><p>{text}</p><a href='/{number}'>More</a></article>"
    )
    page = page_of(thread(teaser), url="http://site.test/news/")
    (found,) = records(page)
    assert found.nature is Nature.TEASERS
    assert [record.target for record in found.records] == [f"http://site.test/{number}" for number in range(7, 11)]
    assert generic_objects.read_objects(page).objects == ()


def test_an_article_and_its_comments() -> None:
    comment = (
        "<div id=comment-{number} class=comment><cite>{name}</cite> <a href='#comment-{number}'>{day} January 2022 "
        "09:30</a><div class=text>{text}</div></div>"
    )
    article = (
        f"<article><p>By Eve, 10 January 2022</p><p>{TEXTS[0]}</p><p>{TEXTS[1] * 3}</p></article><h2>Comments</h2>"
    )
    page = page_of(thread(comment, article), url="http://site.test/ferry")
    whole, *comments = generic_objects.read_objects(page).objects
    assert (whole.type, whole.iri, whole.first("title")) == ("article", "http://site.test/ferry", "Ferry")
    assert str(whole.first("body")).startswith(TEXTS[0])
    assert [each.iri for each in comments] == [f"http://site.test/ferry#comment-{number}" for number in range(7, 11)]
    assert {each.part_of for each in comments} == {whole.iri}
    assert [each.first("author") for each in comments] == [Person(name) for name in NAMES]


@pytest.mark.parametrize(("answer", "nature"), [("#answer", Nature.POSTS), ("", Nature.TEASERS)])
def test_comments_in_an_aside_are_told_by_links_into_this_page(answer: str, nature: Nature) -> None:
    link = f"<a href='{answer}'>Reply</a>" if answer else ""
    markup = thread(
        "<div class=msg><p class=who>{name} on <span>{day} January 2022 09:30</span></p><p>{text}</p>"
        + link
        + "</div>",
        f"<p>{5 * ' '.join(TEXTS)}</p><aside>",
        "</aside>",
    )
    (found,) = records(page_of(markup, url="http://site.test/ferry"))
    assert (found.nature, len(found.records)) == (nature, 4)


def test_a_wiki_discussion_signed_in_its_text() -> None:
    signed = (
        "<p>{text} <a href='/wiki/User:{slug}'>{name}</a> (<a href='/wiki/Talk:{slug}'>talk</a>) 09:30, {day} January "
        "2022 (UTC)</p>"
    )
    found = posts_of(thread(signed, "<h2>Which day?</h2>"))
    assert [record.body.plain() if record.body else None for record in found] == list(TEXTS)
    assert [record.author.name if record.author else None for record in found] == list(NAMES)
    assert found[0].title == "Which day?"


@pytest.mark.parametrize(
    "markup",
    [
        "",
        "<p>Nothing at all.",
        "<table>" + "".join(f"<tr><td><a href=/u/{n}>user{n}</a><td>{n + 1} May 2021<td>{n}</tr>" for n in range(20)),
        "<ul>" + "".join(f"<li>{n + 1} May 2021: <a href=/{n}>Story {n} of the harbour</a>" for n in range(20)),
    ],
)
def test_lists_of_members_and_links_hold_no_objects(markup: str) -> None:
    assert (
        generic_objects.read_objects(page_of(f"<title>List</title>{markup}", url="http://site.test/list")).objects == ()
    )


def test_the_form_to_answer_shows_posts_that_are_not_its_own() -> None:
    markup = SHAPES["divisions"].replace("<h1>Ferry</h1>", "<h1>Reply</h1><form><textarea></textarea></form>")
    assert generic_objects.read_objects(page_of(markup, url="http://site.test/answer")).objects == ()


@pytest.mark.slow
@pytest.mark.parametrize("times", [1, 100])
def test_large_pages_take_seconds_at_most(times: int) -> None:
    page = page_of(SHAPES["divisions"] * times + "<div class=msg>" * 1_500, url="http://site.test/ferry")
    with at_most(3):
        first = generic_objects.read_objects(page)
    assert first.objects == generic_objects.read_objects(page).objects


def test_counts_about_somebody_are_not_the_name() -> None:
    shape = thread(
        "<article class='msg'><div class=author_statistics>Posts: {number}<br>Reputation: "
        "<a href='/reputation.php?uid={number}'>{day}</a></div><div><a href='/member.php?uid={number}'>{name}</a></div>"
        "<div>{day}.01.2022, 09:30</div><section>{text}</section></article>"
    )
    assert [record.author.name if record.author else None for record in posts_of(shape)] == list(NAMES)


BUTTONS = (
    '<a class=btn href="/answer">Reply</a>',
    '<a href="#">Reply</a>',
    '<a href="javascript:answer()">Reply</a>',
    "<span role=button>Reply</span>",
    "<span onclick='answer()'>Reply</span>",
)


@pytest.mark.parametrize("button", BUTTONS)
@pytest.mark.parametrize("number", [2, 3])
def test_a_button_beside_the_date_names_nobody(button: str, number: int) -> None:
    posts = "".join(
        f"<div class=msg><div class=top>{button} <span>1{n} January 2022 09:30</span></div><p>{TEXTS[n]}</p></div>"
        for n in range(number)
    )
    (found,) = records(page_of(f"<title>Ferry</title><h1>Ferry</h1>{posts}", url="http://site.test/ferry"))
    assert [record.author for record in found.records] == [None] * number


def test_one_author_of_all_posts_is_named_all_the_same() -> None:
    posts = "".join(
        f"<div class=msg><div class=top><a class=user href='/u/7'>Ann</a> <span>1{n} January 2022 09:30</span></div>"
        f"<p>{TEXTS[n]}</p></div>"
        for n in range(3)
    )
    (found,) = records(page_of(f"<title>Ferry</title><h1>Ferry</h1>{posts}", url="http://site.test/ferry"))
    assert [record.author and record.author.name for record in found.records] == ["Ann"] * 3


@pytest.mark.parametrize(
    ("heading", "types"),
    [
        ("<a href='/story/{0}'>Story {0}</a>", []),
        ("Part {0}", ["article"]),
        ("Part {0} <a href='#part-{0}'>#</a>", ["article"]),
    ],
)
def test_a_row_of_teasers_without_elements_of_their_own_is_no_article(heading: str, types: list[str]) -> None:
    text = "".join(f"<p>{text} {text}</p>" for text in TEXTS)
    row = "".join(f"<h2>{heading.format(number)}</h2>{text}" for number in range(4))
    page = page_of(f"<head><title>News</title><body><main><h1>News</h1>{text}{row}</main>", url="http://site.test/news")
    assert [each.type for each in generic_objects.read_objects(page).objects] == types


OPINION = "All that I write here is my own opinion, and no advice of my employer."
BY = "<p class=by><b>{name}</b> wrote on {day} January 2022, 09:30</p>"


@pytest.mark.parametrize(
    ("template", "signed"),
    [
        (
            "{said}" + BY + "{own}",
            (
                "",
                "All that I write is my own opinion, and no advice.",
                "",
                "Whoever reads this is welcome on my own boat.",
            ),
        ),
        (BY + "{said}{own}", (OPINION, OPINION, "", OPINION)),
    ],
    ids=["below the byline", "repeated"],
)
def test_a_signature_is_no_text(template: str, signed: tuple[str, ...]) -> None:
    posts = "".join(
        f"<div class=msg id=m{n}>"
        + template.format(
            said=f"<div class=said><p>{TEXTS[n]}</p></div>",
            own=f"<p class=own>{signed[n]}</p>" if signed[n] else "",
            name=NAMES[n],
            day=11 + n,
        )
        + "</div>"
        for n in range(4)
    )
    bodies = [each.body.plain() for each in posts_of(f"<title>Ferry</title><h1>Ferry</h1>{posts}") if each.body]
    assert bodies == list(TEXTS)


@pytest.mark.parametrize("number", [2, 4])
@pytest.mark.parametrize("query", ["", "?page=2"])
def test_a_page_of_a_person_lists_what_stands_elsewhere(number: int, query: str) -> None:
    posts = "".join(
        f'<div class=msg><a class=username href="/user/7/ann/">Ann Boyd</a><ul><li><a href="/found/{n}">Topic {n} of '
        f"the ferry</a></li><li>{11 + n} January 2022, 09:30</li></ul><div class=said><p>{TEXTS[n]}</p></div></div>"
        for n in range(number)
    )
    markup = f"<title>Posts by Ann Boyd</title><h1>Ann Boyd</h1>{posts}"
    page = page_of(markup, url=f"http://site.test/user/7/ann/{query}")
    assert all(each.nature is Nature.TEASERS for each in records(page))
    assert generic_objects.read_objects(page).objects == ()


def test_a_list_in_a_page_with_a_sidebar_is_none_beside_the_content() -> None:
    wrapped = f"<div class='col-with-sidebar'><main>{SHAPES['divisions']}</main></div>"
    assert len(posts_of(wrapped)) == 4


REMARK = (
    "<div class=remarks><div class=remark id=r{n}><p class=text>{text}</p><a class=username href='/user/{name}'>"
    "{name}</a> <span>{day} January 2022, 10:30</span></div></div>"
)
SAID = (
    "I asked the captain, and he said that the pier belongs to the town and not to him.",
    "The town says that it belongs to the captain, which is what it said last year as well.",
    "Both are wrong, because it was sold to the railway in the year that the station burned down.",
)


def test_remarks_in_posts_answer_them() -> None:
    said = [f"{text} {TEXTS[0]} {TEXTS[3]} {TEXTS[1]}" for text in TEXTS]
    posts = "".join(
        f"<div class=msg id=m{n}><div class=said><p>{said[n]}</p></div><div class=by><a class=username "
        f"href='/user/{n}'>{NAMES[n]}</a> <span>{11 + n} January 2022, 09:30</span></div>"
        f"{REMARK.format(n=n, text=SAID[n], name=('Eve', 'Finn', 'Gus')[n], day=12 + n) if n < 3 else ''}</div>"
        for n in range(4)
    )
    page = page_of(f"<title>Ferry</title><h1>Ferry</h1><div>{posts}</div>", url="http://site.test/ferry")
    found = {each.iri: each for each in generic_objects.read_objects(page).objects}
    assert [found[f"http://site.test/ferry#m{n}"].first("body") for n in range(4)] == said
    for n in range(3):
        remark = found[f"http://site.test/ferry#r{n}"]
        assert (remark.type, remark.first("body")) == ("reply", SAID[n])
        assert remark.first("parent") == Reference(f"http://site.test/ferry#m{n}")


def test_what_heads_every_post_alike_is_no_title() -> None:
    posts = SHAPES["divisions"].replace("<div class=said>", "<h4>Comments</h4><div class=said>")
    assert {each.title for each in posts_of(posts)} == {""}


@pytest.mark.slow
def test_posts_that_end_with_thousands_of_links_are_read_in_bounded_time() -> None:
    tail = "<div><a href='#r'>Reply</a></div>" * 700
    markup = thread(
        "<div class='msg {slug}'><div class=who><a href='/user/{slug}'>{name}</a></div><div class=when>{day}.01.2022, "
        "09:30</div><div class=said>{text}</div>" + tail + "</div>"
    )
    with at_most(7):
        found = generic_objects.read_objects(page_of(markup, url="http://site.test/ferry")).objects
    assert len(found) == len(TEXTS)


WORDED = [name for name, markup in SHAPES.items() if "January 2022" in markup]


@pytest.mark.parametrize("shape", WORDED)
def test_dates_that_nobody_can_read_cost_no_record(shape: str) -> None:
    readable = [each for found in records(page_of(SHAPES[shape])) for each in found.records]
    page = page_of(SHAPES[shape].replace("January 2022", "Qerxzumi 2022"))
    unread = [each for found in records(page) for each in found.records]
    assert [each.body and each.body.plain() for each in unread] == [
        each.body and each.body.plain() for each in readable
    ]
    assert [each.author and each.author.name for each in unread] == list(NAMES)
    assert not any(each.date and each.date.told for each in unread)


def test_posts_by_their_identifiers_need_no_dates() -> None:
    posts = thread(
        "<div id=post{number}><a class=username href='/u/{slug}'>{name}</a><div class=said>{text}</div></div>"
    )
    found = generic_objects.read_objects(page_of(posts)).objects
    assert [each.first("body") for each in found] == list(TEXTS)
    assert not any("date" in each.properties for each in found)


def test_lines_with_numbers_are_no_records() -> None:
    lists = "".join(f"<div class=row><b>Model {each}</b><p>{each} of 2000 sold</p></div>" for each in range(3, 9))
    assert not generic_objects.read_objects(page_of(f"<title>Stock</title><body><h1>Stock</h1>{lists}")).objects


def test_dates_without_a_year_make_records_and_date_none() -> None:
    yearless = SHAPES["definition list"].replace("January 2022 09:30", "January")
    found = generic_objects.read_objects(page_of(yearless)).objects
    assert len(found) == len(TEXTS)
    assert not any("date" in each.properties for each in found)


def test_records_within_one_another_take_no_way_to_the_root_of_the_page_for_each_of_their_texts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    steps = 0
    ancestors = Outline.ancestors

    def counted(outline: Outline, place: int) -> Iterator[int]:
        nonlocal steps
        for above in ancestors(outline, place):
            steps += 1
            yield above

    monkeypatch.setattr(Outline, "ancestors", counted)
    took = []
    for number in (75, 150):
        steps = 0
        items = (
            f"<div class=comment id=c{n}><a href=/user/{n}>ann{n}</a> 2021-03-02 {TEXTS[0]}" for n in range(number)
        )
        generic_objects.read_objects(page_of("<h1>Ferry</h1>" + "".join(items), url="http://site.test/ferry"))
        took.append(steps)
    assert took[1] < 5 * took[0], took
