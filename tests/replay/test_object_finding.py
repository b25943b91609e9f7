"""The element of an object is found, or none: never another one's."""

from pathlib import Path

from lxml.etree import _Element as Element

from aahcrawler.page import Headers, Page
from aahcrawler.replay.addresses import Modifier
from aahcrawler.replay.object_finding import ShownObject, find_objects
from aahcrawler.replay.replayed_captures import Annotations, ReplayedCaptures
from tests.replay.archived import URL, Archived, body_of, now, shown

POST = '<div class="post" id="{0}"><p class="by">by <b>{1}</b>, 1 May</p><div class="text">{2}</div></div>'


def posts(*said: tuple[str, str]) -> str:
    return "".join(POST.format(f"p{number}", author, text) for number, (author, text) in enumerate(said, 1))


def found(html: str, *objects: ShownObject) -> dict[int, str]:
    """Return the ids of the elements that were found by the numbers of the objects."""
    page = Page(URL, 200, Headers((("Content-Type", "text/html"),)), html.encode(), now())
    return {number: _id_of(element) for number, element in find_objects(page.tree, objects).items()}


def _id_of(element: Element) -> str:
    return str(element.get("id") or element.get("class") or element.tag)


def objects(*said: tuple[str, str]) -> tuple[ShownObject, ...]:
    return tuple(ShownObject(number, "post", "", author, "", body) for number, (author, body) in enumerate(said, 1))


def test_a_post_is_the_smallest_element_with_its_text_and_author() -> None:
    said = (("Anna", "The lock was shut at four in the morning."), ("Bo", "Nobody told the night desk of it."))
    assert found(posts(*said), *objects(*said)) == {1: "p1", 2: "p2"}


def test_repeated_texts_are_told_apart_by_author_and_by_order() -> None:
    said = (("Anna", "Thanks!"), ("Bo", "+1"), ("Cy", "Thanks!"), ("Anna", "Thanks!"), ("Bo", "+1"))
    assert found(posts(*said), *objects(*said)) == {1: "p1", 2: "p2", 3: "p3", 4: "p4", 5: "p5"}


def test_a_repeated_text_without_enough_places_is_not_found() -> None:
    said = (("Anna", "Thanks!"), ("Bo", "Other words that are there."), ("Anna", "Thanks!"))
    html = posts(*said[:2])
    assert found(html, *objects(*said)) == {2: "p2"}


def test_a_short_text_is_not_found_in_a_longer_one() -> None:
    html = posts(("Anna", "Thanks for nothing"), ("Bo", "No thanks"))
    assert found(html, *objects(("Cy", "Thanks"))) == {}


def test_a_quoted_text_is_not_taken_for_the_post_itself() -> None:
    first = "The scaffolding had been ordered by the town and by nobody else."
    quoting = f"<blockquote>Anna wrote: <p>{first}</p></blockquote>That is not what the minutes say at all."
    html = posts(("Anna", first), ("Bo", quoting))
    assert found(html, *objects(("Anna", first), ("Bo", "That is not what the minutes say at all."))) == {
        1: "p1",
        2: "p2",
    }
    alone = posts(("Bo", quoting))
    assert found(alone, *objects(("Anna", first))) == {}


def test_a_text_of_which_the_reading_left_out_a_part_is_found_by_its_lines() -> None:
    html = posts(("Anna", "<p>The first line of the article.</p><p>Advertisement</p><p>The last line of it.</p>"))
    body = "The first line of the article.\nThe last line of it."
    assert found(html, *objects(("Anna", body))) == {1: "p1"}
    assert found(html, *objects(("Anna", "The first line of the article.\nNever said."))) == {}


def test_what_has_a_title_alone_is_found_in_its_heading() -> None:
    html = '<ul><li id="menu">Flood</li></ul><h1 id="head">Flood</h1><p>Something else'
    assert found(html, ShownObject(1, "thread", title="Flood")) == {1: "head"}


def test_white_space_signs_and_case_do_not_matter_but_scripts_are_no_text() -> None:
    html = '<script>The  LOCK was shut.</script><div id="x">The  <b>lock</b>\n was\u00ad shut</div>'
    assert found(html, *objects(("", "The lock was — shut."))) == {1: "x"}


def test_an_object_without_text_is_not_found() -> None:
    assert found("<p>x", ShownObject(1, "image"), ShownObject(2, "post", body="—")) == {}


def test_marks_are_on_the_page_where_they_are_asked_for(tmp_path: Path) -> None:
    said = (("Anna <b>", "The lock was shut at four in the morning."), ("Bo", "Not on the page"))
    crawl = Archived(tmp_path)
    crawl.add(
        posts((said[0][0].replace("<", "&lt;"), said[0][1])) + '<a href="/n" title="Next">n</a><a href="/m">m</a>'
    )
    crawl.close()
    marks = Annotations(objects(*said), {"http://a.test/n": 0.734})
    captures = ReplayedCaptures(tmp_path, lambda _crawl, _response: marks)
    both = shown(captures, modifier=Modifier.BOTH)
    text = body_of(both).decode()
    assert both.found == {1}
    assert 'id="aah-object-1"' in text
    assert ">post 1 · Anna &lt;b&gt;</span>" in text
    assert 'title="score 0.734 · Next"' in text
    assert text.count('title="score') == 1
    assert "1 of 2 web objects outlined; what is missing was not found" in text
    objects_alone = body_of(shown(captures, modifier=Modifier.OBJECTS)).decode()
    assert "aah-object-1" in objects_alone
    assert "score 0.734" not in objects_alone
    links_alone = body_of(shown(captures, modifier=Modifier.LINKS)).decode()
    assert "aah-object-1" not in links_alone
    assert "score 0.734" in links_alone
    assert "aah-object" not in body_of(shown(captures)).decode()


def test_a_row_of_a_table_is_labelled_where_text_may_stand(tmp_path: Path) -> None:
    crawl = Archived(tmp_path)
    text = "The lock was shut at four in the morning."
    crawl.add(f"<table><tr><td>Anna</td><td>{text}</td></tr></table>")
    crawl.close()
    marks = Annotations(objects(("Anna", text)))
    body = body_of(shown(ReplayedCaptures(tmp_path, lambda _crawl, _response: marks), modifier=Modifier.OBJECTS))
    assert b'<td><span id="aah-object-1"' in body
