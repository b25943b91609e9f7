"""Entries, comments and people in microformats."""

import pytest

from aahcrawler.induction import generic_objects
from aahcrawler.page.schemaorg import items
from aahcrawler.webobject import Person
from tests.pace import at_most
from tests.page.building import PARAGRAPH, page_of

HERE = "http://site.test/news/ice"
ENTRY = f"""<title>Ice</title><article class="h-entry"><h1 class="p-name">The ice</h1>
<a class="p-author h-card" href="/u/ann">Ann</a> <time class=dt-published datetime="2022-01-14T10:00:00Z">then</time>
<a class=u-url href="/news/ice">#</a><div class=e-content><p>{PARAGRAPH}</p></div>
<div class="u-comment h-cite" id=c1><a class="p-author h-card" href="http://bob.test/"><i class=p-name>Bob</i></a>
<time class=dt-published datetime="2022-01-15">now</time><p class=e-content>It was thick enough for me.</p></div>
</article>"""


def test_an_entry_is_an_article() -> None:
    article = generic_objects.read_objects(page_of(ENTRY)).objects[0]
    assert (article.iri, article.type, article.first("title")) == (HERE, "article", "The ice")
    assert article.first("author") == Person("Ann", "http://site.test/u/ann")
    assert str(article.first("date")).startswith("2022-01-14 10:00")
    assert str(article.first("body")).startswith("The harbour froze")


def test_a_citation_that_is_a_comment_is_one() -> None:
    _, comment = generic_objects.read_objects(page_of(ENTRY)).objects
    assert (comment.iri, comment.type, comment.part_of) == (f"{HERE}#c1", "comment", HERE)
    assert comment.first("author") == Person("Bob", "http://bob.test/")
    assert comment.first("body") == "It was thick enough for me."


@pytest.mark.parametrize("number", [1, 4])
def test_the_entries_of_a_feed_are_a_list(number: int) -> None:
    entry = (
        '<div class=h-entry><h2 class=p-name><a class=u-url href="/post/{0}">Day {0}</a></h2>'
        f"<div class=e-content>{PARAGRAPH * 3}</div></div>"
    )
    listed = "".join(entry.format(n) for n in range(1, number + 1))
    assert generic_objects.read_objects(page_of(f"<title>All</title><div class=h-feed>{listed}</div>")).objects == ()


@pytest.mark.slow
@pytest.mark.parametrize(
    "markup", ["<div class='h-entry p-comment'><b class=e-content>x</b>" * 50_000, "<a class='h-card fn'>" * 100_000]
)
def test_hostile_classes_are_read_in_bounded_time(markup: str) -> None:
    page = page_of(markup)
    assert page.tree.tag == "html"
    with at_most(3):
        assert len(items(page)) <= 1_000
