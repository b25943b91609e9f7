"""Records that stand alone on their page, and the addresses that records give for themselves."""

from datetime import UTC, datetime

from aahcrawler.helper import ApplicationAwareHelper
from aahcrawler.webobject import WebObject
from knowledge_base.model import KnowledgeBase
from tests.page.building import page_of

WORDS = "The harbour was closed for {} days, and {} boats had to wait outside until the storm of that week was over."
POST = """<div class="msg tone">
<div class="who"><b><a href="/people/{author}">{author}</a></b><i>since 2 May 2001</i></div>
<div class="when">{date}{link}</div><div class="said"><p>{said}</p></div></div>"""
NAMES = ("Ann", "Bob", "Cleo", "Dan", "Eve")


def thread(number: int, posts: int, link: str = "") -> str:
    shown = "".join(
        POST.format(
            author=NAMES[(number + place) % 5],
            date=f"{place + 1} March 2021 10:{10 + place}",
            link=link.format(number * 100 + place),
            said=WORDS.format(number + 2, place + 40),
        )
        for place in range(posts)
    )
    head = f"<title>Storm number {number} in town - Ports</title>"
    heading = f"<h1>Storm number {number} in town</h1>"
    return f"<html><head>{head}</head><body>{heading}<div class='talk'>{shown}</div></body></html>"


def objects(helper: ApplicationAwareHelper, number: int, posts: int, link: str = "") -> tuple[WebObject, ...]:
    url = f"http://a.test/talk/{number}/"
    return helper.assist(page_of(thread(number, posts, link), url=url)).objects


def test_a_post_alone_on_its_page_is_read_as_posts_of_other_threads_were() -> None:
    helper = ApplicationAwareHelper(KnowledgeBase(()))
    for number in (1, 2):
        assert len(objects(helper, number, 4)) == 4
    [one] = objects(helper, 3, 1)
    assert (one.type, one.first("title")) == ("post", "Storm number 3 in town")
    assert str(getattr(one.first("author"), "name", "")) == "Dan"
    assert one.first("date") == datetime(2021, 3, 1, 10, 10, tzinfo=UTC)
    assert one.first("body") == WORDS.format(5, 40)


def test_another_part_of_the_site_teaches_nothing() -> None:
    helper = ApplicationAwareHelper(KnowledgeBase(()))
    for number in (1, 2):
        objects(helper, number, 4)
    alone = helper.assist(page_of(thread(3, 1), url="http://a.test/other/3/")).objects
    assert [each.type for each in alone] != ["post"]


def test_addresses_of_records_are_of_one_template() -> None:
    helper = ApplicationAwareHelper(KnowledgeBase(()))
    deeds = '<a href="/history/{0}">2</a><a href="/post/{0}" title="Permalink" id="m{0}">#</a>'
    found = objects(helper, 1, 4, deeds)
    assert [each.iri for each in found] == [f"http://a.test/post/{number}" for number in range(100, 104)]


def test_a_link_that_only_happens_to_have_a_number_is_no_address() -> None:
    helper = ApplicationAwareHelper(KnowledgeBase(()))
    found = objects(helper, 1, 4, '<a href="/people/{0}" id="m{0}">her page</a>')
    assert [each.iri for each in found] == [f"http://a.test/talk/1/#m{number}" for number in range(100, 104)]


def test_a_post_alone_is_read_also_where_nothing_is_around_it() -> None:
    helper = ApplicationAwareHelper(KnowledgeBase(()))
    for number in (1, 2):
        objects(helper, number, 4)
    markup = thread(3, 1).replace("<div class='talk'>", "<section>").replace("</div></body>", "</section></body>")
    [one] = helper.assist(page_of(markup, url="http://a.test/talk/3/")).objects
    assert (one.type, str(getattr(one.first("author"), "name", ""))) == ("post", "Dan")
