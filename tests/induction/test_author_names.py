"""People call themselves by single letters, signs and words: their names are kept where a page marks them."""

import pytest

from aahcrawler.induction.generic_objects import read_objects
from aahcrawler.webobject import Person
from tests.page.building import PARAGRAPH, page_of

ODD = ("a", "-=[X]=-", "_x_", "user123", "[DE]Max", "J", "~*~luna~*~", "Mr. T", "@ann", "今", "C++ guy", "Ünal", "-X-")
LINKED = '<a href="/user/{id}7">{name}</a>'
CALLED = '<span class="username">{name}</span>'
BOTH = '<p>Posted by <a class=author href="/member.php?u={id}">{name}</a></p>'
DECLARED = "<span itemprop=author>{name}</span>"


def thread_of(template: str, *names: str) -> list[str | None]:
    posts = "".join(
        f"<div class=post id=p{number}>{template.format(name=name, id=number)} "
        f"<span class=date>2026-10-0{number + 1} 12:0{number}</span>"
        f"<div class=body>{PARAGRAPH} {PARAGRAPH[number * 9 :]} number {number}</div></div>"
        for number, name in enumerate(names)
    )
    return authors(f"<html><head><title>Thread</title></head><body><h1>A thread of many</h1>{posts}</body></html>")


def article_of(byline: str, head: str = "") -> list[str | None]:
    return authors(
        f"<html><head>{head}<title>The harbour</title></head><body><article><h1>The harbour</h1>{byline}"
        f"<time>2026-10-01</time><div class=content><p>{PARAGRAPH * 2}</p><p>{PARAGRAPH * 3}</p></div></article>"
    )


def authors(markup: str) -> list[str | None]:
    found = (each.first("author") for each in read_objects(page_of(markup, url="http://a.test/x/1.html")).objects)
    return [each.name if isinstance(each, Person) else None for each in found]


@pytest.mark.parametrize("name", ODD)
@pytest.mark.parametrize("template", [LINKED, CALLED, BOTH, DECLARED])
def test_a_name_that_a_page_marks_is_kept_as_it_is(template: str, name: str) -> None:
    assert thread_of(template, name, "Carl Dorn", "Eva Roth") == [name, "Carl Dorn", "Eva Roth"]


@pytest.mark.parametrize("name", ["by", "von", "on", "007", "★", "12", "reply", "!!!"])
def test_words_and_signs_are_names_where_link_and_class_say_so(name: str) -> None:
    assert thread_of(BOTH, name, "Carl Dorn", "Eva Roth") == [name, "Carl Dorn", "Eva Roth"]


@pytest.mark.parametrize("name", ["by", "reply", "22 posts"])
def test_words_without_a_link_are_no_names(name: str) -> None:
    assert name not in thread_of(CALLED, name, "Carl Dorn", "Eva Roth")


@pytest.mark.parametrize("name", ODD)
@pytest.mark.parametrize("byline", ["<p class=byline>By <a rel=author href=/author/7>{}</a></p>", LINKED])
def test_the_author_of_an_article_keeps_the_name(byline: str, name: str) -> None:
    assert article_of(f"<p>by {byline.format(name, name=name, id=1)}</p>") == [name]


@pytest.mark.parametrize("name", ODD)
def test_a_declared_author_is_no_site_for_a_letter_of_its_host(name: str) -> None:
    assert article_of("", f'<meta name=author content="{name}">') == [name]


@pytest.mark.parametrize(
    "field",
    [
        "<div><label for=name{id}>Name</label> <input id=name{id} name=name required><p class=help>required</p></div>",
        "<p><label for=name{id}>Name:</label> <input id=name{id} name=name> <span class=helptext>Obligatory</span></p>",
        "<p><label for=name{id}><b>Name:</b></label> <span>Obligatory</span> <input id=name{id} name=name></p>",
        "<p><label for=name{id}>Name</label> <select id=name{id}></select> <span>Obligatory</span></p>",
        "<p><label>Name <input name=name></label> <span>Your real one</span></p>",
        "<tr><td>Author:</td><td><input name=name> <b>Never shown</b></td></tr>",
    ],
)
@pytest.mark.parametrize("byline", ["<h4>{name} <small>2 years ago</small></h4>", BOTH])
def test_what_a_form_to_reply_says_of_its_fields_is_no_author(field: str, byline: str) -> None:
    form = f"<form method=post action=/reply/{{id}}>{field}<textarea name=text></textarea><button>Send</button></form>"
    found = thread_of(byline + form.replace("<tr>", "<table><tr>").replace("</tr>", "</tr></table>"), "Ann Boyd", "Bo")
    assert set(found) <= {"Ann Boyd", "Bo", None}
    assert byline != BOTH or found == ["Ann Boyd", "Bo"]


@pytest.mark.parametrize("form", ["<form><input placeholder=Comment><button>Send</button></form>", "<input type=text>"])
@pytest.mark.parametrize(
    "byline",
    [
        "<p>Author: <b>{name}</b></p>",
        "<p>Author: {name}</p>",
        "<dl><dt>Author<dd>{name}</dl>",
        '<p><label for="">Author:</label> {name}</p>',
        "<p><input type=checkbox> Author: <b>{name}</b></p>",
    ],
)
def test_a_form_behind_a_name_takes_no_label_from_it(byline: str, form: str) -> None:
    assert thread_of(byline + form, "Ann Boyd", "Carl Dorn", "Eva Roth") == ["Ann Boyd", "Carl Dorn", "Eva Roth"]
    assert article_of(byline.format(name="Ann Boyd") + form) == ["Ann Boyd"]


@pytest.mark.parametrize("byline", ["<p class=author>3/4/2021</p>", "<p class=author>12 comments</p>"])
def test_dates_and_counts_are_no_names(byline: str) -> None:
    assert article_of(byline) == [None]


def test_an_address_that_is_none_costs_no_record() -> None:
    names = ("Ann", "Bert", "Cleo")
    template = '<p>Posted by <a class=author href="http://a]b/member.php?u={id}">{name}</a></p>'
    assert thread_of(template, *names) == [*names]
