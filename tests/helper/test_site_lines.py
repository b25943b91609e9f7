"""Lines that the articles of a site have in common are no part of any of them, as soon as several pages have them."""

from datetime import UTC, datetime

from aahcrawler.helper import ApplicationAwareHelper
from aahcrawler.helper.site_memory import MAX_LINES, MAX_SITES, MIN_LINE_PAGES, SiteLines, Sites
from aahcrawler.page import Headers, Page
from knowledge_base.model import KnowledgeBase

NOTICE = "Every text of this paper may be read by schools for nothing, which the town pays for since the fair of 1998."
APPEAL = "Write to us if you know more about it, and we shall look into the boxes in the loft once more."
WORDS = ("slip", "winch", "chapel", "ferry", "quarry", "school", "bridge", "mill", "tower", "harbour")
PARTS = (
    "The {0} was built in the winter when the herring failed and the men of the town had nothing else to do.",
    "Whoever wants to see the {0} has to ask for its key at the house behind the church, and to bring it back by six.",
    "After the great storm nobody thought that the {0} would be used again, but it was within a week or two.",
    "There is a drawing of the {0} in the town hall, on which a dog can be seen that was not there, as we were told.",
)


def page(word: str, *more: str, url: str = "", body: str = "") -> Page:
    text = body or "".join(f"<p>{part.format(word)}</p>" for part in PARTS)
    markup = (
        f"<html><head><title>The {word} | Harbour News</title></head><body><p>{NOTICE}</p>"
        f"<div class=x><h1>The {word}</h1><p>{NOTICE}</p>{text}<p>This is known of it:</p>"
        f"<p>The book of the {word}, page 7.</p>"
        f"<p>{APPEAL}</p>{''.join(more)}</div></body></html>"
    )
    fields = Headers((("Content-Type", "text/html; charset=utf-8"),))
    return Page(url or f"http://a.test/{word}.html", 200, fields, markup.encode(), datetime(2024, 5, 1, tzinfo=UTC))


def body_of(helper: ApplicationAwareHelper, read: Page) -> str:
    return str(next(iter(helper.assist(read).objects)).first("body"))


def test_what_several_articles_repeat_is_left_out_of_the_next_ones() -> None:
    helper = ApplicationAwareHelper(KnowledgeBase(()))
    first = [body_of(helper, page(word)) for word in WORDS[:MIN_LINE_PAGES]]
    assert all(APPEAL in body for body in first)
    later = body_of(helper, page(WORDS[MIN_LINE_PAGES]))
    assert APPEAL not in later
    assert NOTICE not in later
    assert [part for part in PARTS if part.format(WORDS[MIN_LINE_PAGES]) not in later] == []
    again = [body_of(helper, page(word)) for word in WORDS[: MIN_LINE_PAGES + 1]]
    assert again == [*first, later], "a page that is read again has not changed"


def test_a_short_line_amid_a_text_stays_however_often_it_stands_there() -> None:
    helper = ApplicationAwareHelper(KnowledgeBase(()))
    bodies = [body_of(helper, page(word)) for word in WORDS]
    assert "This is known of it:" in bodies[0]
    assert "This is known of it:" in bodies[-1]


def test_a_page_that_is_read_again_and_again_repeats_nothing() -> None:
    helper = ApplicationAwareHelper(KnowledgeBase(()))
    bodies = {body_of(helper, page("slip")) for _ in range(2 * MIN_LINE_PAGES)}
    assert len(bodies) == 1


def test_a_copy_at_another_url_keeps_its_text() -> None:
    helper = ApplicationAwareHelper(KnowledgeBase(()))
    bodies = {
        body_of(helper, page("slip", url=f"http://a.test/print/{number}")) for number in range(2 * MIN_LINE_PAGES)
    }
    assert len(bodies) == 1


def test_sites_do_not_share_lines() -> None:
    lines = SiteLines()
    for number in range(MIN_LINE_PAGES):
        lines.learn("a.test", f"http://a.test/{number}", (1, 2, 10 + number))
    assert lines.repeated("a.test", "http://a.test/new") == {1, 2}
    assert lines.repeated("b.test", "http://b.test/new") == frozenset()


def test_memory_is_bounded_and_keeps_what_is_repeated() -> None:
    lines = SiteLines()
    for number in range(100):
        lines.learn("a.test", f"http://a.test/{number}", (1, *range(100 * number + 100, 100 * number + 130)))
    assert lines.repeated("a.test", "http://a.test/new") == {1}
    known = lines._sites["a.test"]
    assert len(known) == MAX_LINES
    for number in range(MAX_SITES + 5):
        lines.learn(f"{number}.test", f"http://{number}.test/", (1,))
    assert len(lines._sites) == MAX_SITES
    assert lines.repeated("a.test", "http://a.test/new") == frozenset()


def test_another_process_learns_the_same_lines() -> None:
    told, heard = Sites(), Sites()
    for number in range(MIN_LINE_PAGES):
        told.lessons.begin()
        told.lines.learn("a.test", f"http://a.test/{number}", (7,))
        heard.learn(tuple(told.lessons))
    assert heard.lines.repeated("a.test", "http://a.test/new") == {7}
