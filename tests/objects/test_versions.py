"""What counts as an edit, and how versions are named."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta, timezone

import pyoxigraph as ox
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aahcrawler.objects.versions import Changes, carried, compare, is_edited, version
from aahcrawler.webobject import Person, Reference, Value, WebObject
from tests.objects.samples import GRAPH, PAGE, POST, REPLY

URN = re.compile(r"urn:[a-z0-9][a-z0-9-]{1,30}[a-z0-9]:(?:[A-Za-z0-9\-._~!$&'()*+,;=:@/]|%[0-9A-F]{2})+")
"""RFC 8141, section 2."""


def changed(web_object: WebObject, properties: Mapping[str, tuple[Value, ...]], **fields: str) -> WebObject:
    given = {"iri": web_object.iri, "type": web_object.type, "source_url": web_object.source_url} | fields
    kept = {name: values for name, values in {**web_object.properties, **properties}.items() if values}
    return WebObject(given["iri"], given["type"], given["source_url"], kept, web_object.part_of)


def test_what_is_new_edited_and_gone() -> None:
    third = changed(REPLY, {"body": ("Three.",)}, iri=f"{PAGE}#p3")
    fourth = changed(REPLY, {"body": ("Four.",)}, iri=f"{PAGE}#p4")
    edited = changed(POST, {"body": ("A blue one.",)})
    assert compare((POST, REPLY, third), (edited, third, fourth)) == Changes(
        added=(fourth.iri,), edited=(POST.iri,), deleted=(REPLY.iri,)
    )


def test_what_no_object_of_a_page_shows_any_more_is_the_template_s_doing() -> None:
    posts = [changed(POST, {"title": (f"Title {n}",)}, iri=f"{PAGE}#p{n}") for n in range(3)]
    untitled = [changed(post, {"title": ()}) for post in posts]
    assert compare(posts, untitled) == compare(untitled, posts) == Changes()
    assert compare(posts, [untitled[0], *posts[1:]]) == Changes(edited=(posts[0].iri,))
    edited = [changed(post, {"body": ("Another.",)}) for post in untitled]
    assert compare(posts, edited) == Changes(edited=tuple(post.iri for post in posts))


def test_order_is_that_of_the_pages() -> None:
    posts = [changed(POST, {"body": (f"Text {n}.",)}, iri=f"{PAGE}#p{n}") for n in (5, 3, 4)]
    names = tuple(post.iri for post in posts)
    assert compare((), posts) == Changes(added=names)
    assert compare(posts, ()) == Changes(deleted=names)
    again = [changed(post, {"title": ("Another",)}) for post in posts]
    assert compare(posts[::-1], again) == Changes(edited=names)


def test_nothing_changed() -> None:
    assert compare((POST, REPLY), (REPLY, POST)) == Changes()
    assert compare((), ()) == Changes()


@pytest.mark.parametrize(
    "properties",
    [
        {"title": ("Which car?",)},
        {"title": ()},
        {"body": ('I say "none".\nYou!',)},
        {"body": ('I say "none".You?',)},
        {"body": ()},
        {"author": (Person("Jane Roe", "http://forum.test/u/7"),)},
        {"date": (datetime(2020, 5, 6, 7, 8, 10, tzinfo=UTC),)},
        {"tags": ("bikes",)},
        {"images": (Reference("http://forum.test/img/bike.png"),)},
        {"links": (Reference("http://elsewhere.test/?id=8"),)},
        {"description": ("A question",)},
    ],
)
def test_what_a_person_calls_an_edit(properties: Mapping[str, tuple[Value, ...]]) -> None:
    assert is_edited(POST, changed(POST, properties))
    assert is_edited(changed(POST, properties), POST)


@pytest.mark.parametrize(
    "properties",
    [
        {"title": (" Which\xa0“bike”? ",)},
        {"body": ('I say  "none".\r\n\r\nYou?\u200b',)},
        {"author": (Person(" Jane  Doe ", "http://forum.test/members/jane.7"),)},
        {"tags": ("C:\\", "Bikes")},
        {"url": (Reference(f"{PAGE}&p=1&highlight=x"),)},
        {"likes": (4,)},
        {"signature": ("Ride on",)},
        {"date": (datetime(2020, 5, 6, 7, 0, 9, 4711, UTC),)},
    ],
)
def test_what_changes_without_anybodys_touching_it(properties: Mapping[str, tuple[Value, ...]]) -> None:
    assert not is_edited(POST, changed(POST, properties))
    assert not is_edited(changed(POST, properties), POST)


def test_pictures_are_told_by_their_files_and_links_of_the_site_by_their_paths() -> None:
    former = changed(
        POST,
        {
            "images": (Reference("http://forum.test/img/bike.png?s=1"), Reference("http://forum.test/file?id=5&sid=a")),
            "links": (Reference("http://forum.test/go?to=1&sid=a"), Reference("http://elsewhere.test/?id=7")),
        },
    )
    now = changed(
        POST,
        {
            "images": (Reference("http://forum.test/file?id=5&sid=b"), Reference("http://cdn.test/x/bike.png")),
            "links": (Reference("http://elsewhere.test/?id=7"), Reference("http://www.forum.test/go?to=1&sid=b")),
        },
    )
    assert is_edited(former, changed(now, {"images": (Reference("http://cdn.test/x/car.png"),)}))
    assert is_edited(former, changed(now, {"links": (Reference("http://elsewhere.test/?id=7"),)}))
    same = changed(now, {"links": (Reference("http://elsewhere.test/?id=7"), Reference("http://forum.test/go?x"))})
    assert not is_edited(former, same)


def test_dates_that_are_counted_from_the_fetch_are_no_edit() -> None:
    fetched = datetime(2026, 1, 2, 3, 4, 5, 678_901, UTC)
    hours = changed(POST, {"date": (fetched - timedelta(hours=3),)})
    days = changed(POST, {"date": (fetched + timedelta(days=9) - timedelta(days=10),)})
    exact = changed(POST, {"date": (fetched.replace(second=0, microsecond=0) - timedelta(hours=3),)})
    assert not is_edited(hours, days)
    assert not is_edited(hours, exact)


def test_dates_that_are_told_less_precisely_are_no_edit() -> None:
    seconds, minutes = datetime(2020, 5, 6, 7, 8, 10, tzinfo=UTC), datetime(2020, 5, 6, 7, 8, tzinfo=UTC)
    day, next_day = datetime(2020, 5, 6, tzinfo=UTC), datetime(2020, 5, 7, tzinfo=UTC)
    told = {moment: changed(POST, {"date": (moment,)}) for moment in (seconds, minutes, day, next_day)}
    same = [(seconds, minutes), (minutes, seconds), (seconds, day), (day, minutes)]
    assert not any(is_edited(told[one], told[other]) for one, other in same)
    assert is_edited(told[seconds], changed(POST, {"date": (minutes + timedelta(minutes=1),)}))
    assert is_edited(told[seconds], told[next_day])
    assert is_edited(told[day], told[next_day])


def test_objects_without_numbers_are_known_by_what_they_say() -> None:
    old = changed(REPLY, {}, iri=f"{PAGE}#c-Bob-20260102000405")
    new = changed(REPLY, {}, iri=f"{PAGE}#c-Bob-20260203000405")
    assert compare((POST, old), (POST, new)) == Changes()
    assert compare((old,), (new, changed(new, {}, iri=f"{new.iri}-2"))) == Changes(added=(f"{new.iri}-2",))
    other = changed(new, {"body": ("Something else.",)})
    assert compare((old,), (other,)) == Changes(added=(other.iri,), deleted=(old.iri,))


def test_objects_without_a_text_are_known_by_their_names_alone() -> None:
    old, new = (WebObject(f"{PAGE}#i{n}", "image", PAGE, {}) for n in (1, 2))
    assert compare((old,), (new,)) == Changes(added=(new.iri,), deleted=(old.iri,))


@given(st.text(), st.text())
def test_names_of_versions_are_valid_and_told_apart(one: str, other: str) -> None:
    name = version(GRAPH, f"http://a.test/{one}")
    assert URN.fullmatch(name)
    assert ox.NamedNode(name).value == name
    assert version(GRAPH, f"http://a.test/{one}") == name
    assert version(GRAPH.replace("0001", "0002"), f"http://a.test/{one}") != name
    if one.isalnum() and other.isalnum() and one != other:
        assert version(GRAPH, f"http://a.test/{other}") != name


def test_a_moment_is_the_same_in_any_zone() -> None:
    utc = datetime(2026, 1, 2, 22, 30, 9, tzinfo=UTC)
    local = changed(POST, {"date": (utc.astimezone(timezone(timedelta(hours=5))),)})
    assert not is_edited(changed(POST, {"date": (utc,)}), local)
    assert is_edited(changed(POST, {"date": (utc + timedelta(hours=1),)}), local)


def numbered(prefix: str, *said: str, moment: int = 0) -> tuple[WebObject, ...]:
    first = datetime(2026, 1, 2, 10, 30, tzinfo=UTC)
    return tuple(
        WebObject(
            f"{PAGE}#{prefix}{number}",
            "reply",
            PAGE,
            {
                "author": (Person(f"Writer {number}"),),
                "date": (first + timedelta(hours=number, seconds=moment),),
                "body": (text,),
                "url": (Reference(f"{PAGE}#{prefix}{number}"),),
                "parent": (Reference(f"{PAGE}#{prefix}0"),),
            },
        )
        for number, text in enumerate(said)
    )


def test_a_page_that_numbers_its_objects_anew_adds_and_deletes_nothing() -> None:
    former, now = numbered("c", "One.", "Two.", "Three."), numbered("post-", "One.", "Two.", "Three.")
    assert compare(former, now) == Changes()
    known = carried(former, now)
    assert [each.iri for each in known] == [each.iri for each in former]
    assert [each.first("url") for each in known] == [each.first("url") for each in now]
    assert {each.first("parent") for each in known} == {Reference(f"{PAGE}#c0")}
    assert carried(former, known) == known


def test_an_edit_is_told_although_the_page_numbers_its_objects_anew() -> None:
    former, now = numbered("c", "One.", "Two."), numbered("post-", "One.", "Two, and more.", "Three.")
    assert compare(former, now) == Changes(added=(f"{PAGE}#post-2",), edited=(f"{PAGE}#c1",))
    later = numbered("post-", "One, edited.", "Two, and more.", "Three.")
    assert compare(carried(former, now), later) == Changes(edited=(f"{PAGE}#c0",))


def test_objects_of_one_author_and_minute_are_not_taken_for_one_another() -> None:
    one = numbered("c", "One.")[0]
    twins = [changed(one, {"body": (text,)}, iri=f"{PAGE}#post-{text}") for text in ("Two.", "Three.")]
    found = compare((one,), [changed(each, {"url": ()}) for each in twins])
    assert (len(found.added), found.edited, found.deleted) == (2, (), (one.iri,))


def remark(number: int, who: str, day: int, text: str) -> WebObject:
    at = datetime(2024, 5, day, 9, 30, tzinfo=UTC)
    given: dict[str, tuple[Value, ...]] = {"author": (Person(who),), "date": (at,), "body": (text,)}
    return WebObject(f"{PAGE}#r{number}", "comment", PAGE, given, PAGE)


REMARKS = [("Ann", 1, "First."), ("Bob", 2, "Bump."), ("Ann", 3, "Third."), ("Cleo", 4, "Bump.")]


def test_a_page_that_counts_its_objects_has_deleted_one_and_shifted_the_others() -> None:
    former = [remark(number, *each) for number, each in enumerate(REMARKS, 1)]
    now = [remark(number, *each) for number, each in enumerate([REMARKS[0], *REMARKS[2:]], 1)]
    assert compare(former, now) == Changes(deleted=(f"{PAGE}#r2",))
    assert [each.iri for each in carried(former, now)] == [f"{PAGE}#r1", f"{PAGE}#r3", f"{PAGE}#r4"]


def test_an_edit_is_found_among_shifted_objects() -> None:
    former = [remark(number, *each) for number, each in enumerate(REMARKS, 1)]
    now = [remark(1, *REMARKS[0]), remark(2, "Ann", 3, "Third, and better."), remark(3, *REMARKS[3])]
    assert compare(former, now) == Changes(edited=(f"{PAGE}#r3",), deleted=(f"{PAGE}#r2",))


def test_what_is_new_under_the_address_of_a_shifted_object_has_an_iri_of_its_own() -> None:
    former = [remark(number, *each) for number, each in enumerate(REMARKS, 1)]
    now = [remark(number, *each) for number, each in enumerate([*REMARKS[1:], ("Dan", 5, "Fifth.")], 1)]
    known = carried(former, now)
    assert len({each.iri for each in known}) == 4
    assert compare(former, now) == Changes(added=(known[-1].iri,), deleted=(f"{PAGE}#r1",))
    assert compare(known, now) == Changes()
    assert carried(known, now) == known


def test_an_edit_of_text_author_or_date_is_no_shift() -> None:
    former = [remark(number, *each) for number, each in enumerate(REMARKS, 1)]
    edited = remark(2, "Bob", 20, "Bump, once more.")
    assert compare(former, [former[0], edited, *former[2:]]) == Changes(edited=(f"{PAGE}#r2",))


def test_a_redesign_that_shows_authors_of_comments_alone_edits_no_article() -> None:
    text = "The harbour froze in the second week of January, and people walked across it."
    article = WebObject(PAGE, "article", PAGE, {"author": (Person("Eve"),), "body": (text,)})
    remarks = [remark(number, *each) for number, each in enumerate(REMARKS, 1)]
    assert compare([article, *remarks], [changed(article, {"author": ()}), *remarks]) == Changes()


def test_a_text_under_another_address_is_the_same_though_its_author_is_no_longer_shown() -> None:
    text = "The harbour froze in the second week of January, and people walked across it."
    former = changed(remark(1, "Ann", 1, text), {}, iri=f"{PAGE}#post-1")
    now = changed(remark(1, "Ann", 1, text), {"author": ()}, iri=PAGE)
    assert compare([former], [now]) == Changes()


@pytest.mark.parametrize("name", ["tag", "tags", "description"])
def test_a_redesign_that_shows_no_tags_any_more_edits_nothing_though_one_that_goes_is_an_edit(name: str) -> None:
    posts = [changed(POST, {"tags": (), name: ("ice", "harbour")}, iri=f"{PAGE}#p{n}") for n in range(3)]
    assert compare(posts, [changed(post, {name: ()}) for post in posts]) == Changes()
    assert compare(posts, [*posts[:2], changed(posts[2], {name: ("ice",)})]) == Changes(edited=(f"{PAGE}#p2",))
