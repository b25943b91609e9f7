"""Ids of sessions and ids of content have the same names and shapes; what they do tells one from the other."""

import json
import random

import pytest

from aahcrawler.traps.session_ids import MAX_ASKED, SessionIds, is_id

BASE32 = "0123456789abcdefghijklmnopqrstuv"
DRAWN = random.Random(38)
FRONT = "http://a.test/"


def drawn(length: int) -> str:
    return "".join(DRAWN.choices(BASE32, k=length))


def links(form: str, value: str) -> list[str]:
    """Return a page's links, those to its host among them that were written with it and have no id."""
    pages = [f"topic.php?t={number}" for number in range(6)] + ["list.php"]
    with_id = [form.format(page, "&" if "?" in page else "?", value) for page in pages]
    return [*with_id, f"{FRONT}about.html", "http://elsewhere.test/?zid=" + value]


FORMS = {
    "?sid": "http://a.test/{0}{1}sid={2}",
    "?zid": "http://a.test/{0}{1}zid={2}",
    "?tok": "http://a.test/{0}{1}tok={2}",
    "6": "http://a.test/{2}/{0}",
}


@pytest.mark.parametrize("length", [26, 32, 40])
@pytest.mark.parametrize("name", FORMS)
def test_an_id_that_changes_is_that_of_a_session_whatever_its_name(name: str, length: int) -> None:
    ids, form = SessionIds(), FORMS[name]
    found = ids.suspects(FRONT, links(form, drawn(length)))
    assert [each.name for each in found] == [name]
    assert ids.decide(FRONT, found, links(form, drawn(length))) == {name: True}
    if name.startswith("?"):
        assert ids.without(form.format("topic.php?t=3", "&", drawn(length))) == f"{FRONT}topic.php?t=3"
        assert ids.without(form.format("list.php", "?", "17")).endswith("=17"), "numbers are content"
    assert not ids.suspects(FRONT, links(form, drawn(length))), "it is known by now"


def test_an_id_within_the_path_is_left_out_by_its_name() -> None:
    ids = SessionIds()
    first, second = ([f"{FRONT}topic{n};zz={value}?t={n}" for n in range(4)] for value in (drawn(30), drawn(30)))
    found = ids.suspects(FRONT, first)
    assert ids.decide(FRONT, found, second) == {";zz": True}
    assert ids.without(second[2]) == f"{FRONT}topic2?t=2"


def test_an_id_that_stays_the_same_is_content() -> None:
    ids, item = SessionIds(), drawn(32)
    page = [f"{FRONT}{what}.php?item={item}" for what in ("view", "photos", "reviews", "parts")]
    found = ids.suspects(FRONT, page)
    assert ids.decide(FRONT, found, page) == {"?item": False}
    assert ids.without(page[0]) == page[0]
    assert not ids.suspects(FRONT, page), "nobody asks again"


@pytest.mark.parametrize("form", ["info/{}", "timeline?c={}", "repo/commit/?id={}", "article.php?sid={}"])
def test_ids_that_differ_from_link_to_link_are_content(form: str) -> None:
    ids = SessionIds()
    assert not ids.suspects(FRONT, [FRONT + form.format(drawn(40)) for _ in range(6)])


@pytest.mark.parametrize("value", ["17", "20010320", "01/03/20/1234", "2001-03-20", "the-great-storm-of-1953", "news"])
def test_short_values_numbers_dates_and_titles_are_content(value: str) -> None:
    ids = SessionIds()
    assert not is_id(value)
    assert not ids.suspects(FRONT, [f"{FRONT}page{number}?sid={value}" for number in range(6)])


def test_what_is_found_out_can_be_found_to_be_wrong() -> None:
    ids = SessionIds()
    found = ids.suspects(FRONT, links(FORMS["?sid"], drawn(32)))
    ids.decide(FRONT, found, links(FORMS["?sid"], drawn(32)))
    stories = [f"{FRONT}article.php?sid={drawn(32)}" for _ in range(4)]
    assert ids.without(stories[0]) == f"{FRONT}article.php"
    ids.suspects(FRONT, stories)
    assert ids.without(stories[0]) == stories[0]


def test_what_says_nothing_decides_nothing_and_a_host_is_not_asked_for_ever() -> None:
    ids, page = SessionIds(), links(FORMS["?zid"], drawn(32))
    for _ in range(MAX_ASKED):
        found = ids.suspects(FRONT, page)
        assert found
        ids.asked(FRONT)
        assert not ids.decide(FRONT, found, [f"{FRONT}other"]), "the page shows something else"
    assert not ids.suspects(FRONT, page)
    assert ids.suspects("http://b.test/", [each.replace("a.test", "b.test") for each in page])


def test_what_was_found_out_is_kept() -> None:
    ids = SessionIds()
    found = ids.suspects(FRONT, links(FORMS["?tok"], drawn(26)))
    ids.decide(FRONT, found, links(FORMS["?tok"], drawn(26)))
    again = SessionIds()
    again.restore(json.loads(json.dumps(ids.state())))
    assert again.without(f"{FRONT}list.php?tok={drawn(26)}") == f"{FRONT}list.php"
