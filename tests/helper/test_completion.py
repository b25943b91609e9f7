"""Known software under a theme that no file knows: nothing is read worse than without a file."""

from aahcrawler.helper import ApplicationAwareHelper, Failure
from aahcrawler.helper.application.application_reading import EVERY, FIRST_PAGES, Completion
from aahcrawler.helper.extraction.extraction import Extracted
from aahcrawler.helper.site_memory import MIN_LINE_PAGES, SiteLines, site_of
from aahcrawler.page import Page
from aahcrawler.webobject import WebObject
from tests.helper.building import application, article, helper_of, level
from tests.helper.saved_pages import html_page
from tests.induction.test_article_text import ICE, TEXT
from tests.shipped import shipped

URL = "http://blog.test/2022/01/ice/"
WORDPRESS = '<meta name="generator" content="WordPress 6.1">'


def page(body: str) -> Page:
    head = f"<title>Ice - Notes</title>{WORDPRESS}"
    return html_page(URL, f'<html lang="en"><head>{head}</head><body class="single single-post">{body}</body></html>')


def hentry(content: str) -> str:
    heading = '<h1 class="entry-title">Ice</h1>'
    return f'<article class="post type-post hentry">{heading}<div class="entry-content">{content}</div></article>'


def test_a_theme_that_no_file_knows_gives_the_post_all_the_same() -> None:
    byline = '<div class="x-author">By Eve Frost</div><time datetime="2022-01-10T09:00:00+00:00">10 January 2022</time>'
    markup = f'<div class="x1"><h1>Ice</h1>{byline}<div class="x2">{TEXT}</div></div>'
    found = ApplicationAwareHelper(shipped()).assist(page(markup))
    [post] = found.objects
    assert (post.type, post.first("title"), post.first("body")) == ("post", "Ice", "\n".join(ICE))
    assert post.inferred["body"] == "generic reading"
    assert found.match is not None
    assert found.match.application.name == "WordPress"
    assert Failure.INCOMPLETE in {each.failure for each in found.failed_actions}


def test_a_theme_that_the_file_knows_is_read_by_the_file() -> None:
    [post] = ApplicationAwareHelper(shipped()).assist(page(hentry(TEXT))).objects
    assert post.first("body") == "\n".join(ICE)
    assert "body" not in post.inferred


def test_what_stands_around_the_text_in_its_element_is_cut_off() -> None:
    junk = '<ul><li><a href="/tweet">Tweet</a></li><li><a href="/print">Print</a></li></ul>'
    [post] = ApplicationAwareHelper(shipped()).assist(page(hentry(TEXT + junk))).objects
    assert post.first("body") == "\n".join(ICE)


def test_a_list_where_the_text_is_expected_gives_way_to_the_text() -> None:
    menu = "".join(f'<ul class="m"><li>{word} &amp; more of it</li></ul>' for word in ("Ice", "Frost", "Snow"))
    more = tuple(
        f"In {year}, so the records of the harbour say, it froze for {year % 50} days." for year in range(1901, 1906)
    )
    text = TEXT + "".join(f"<p>{line}</p>" for line in more)
    [post] = ApplicationAwareHelper(shipped()).assist(page(f"{hentry(menu)}<section>{text}</section>")).objects
    assert str(post.first("body")).endswith("\n".join((*ICE, *more)))
    assert post.inferred["body"] == "generic reading"


def test_a_page_of_no_known_level_is_read_as_any_other() -> None:
    known = application("software", level("list", ".never", role="intermediate"))
    sign = '<i id="software-sign"></i>'
    markup = f"<html><head><title>Ice</title></head><body>{sign}<main><h1>Ice</h1>{TEXT}</main></body></html>"
    found = helper_of(known).assist(html_page(URL, markup))
    assert found.match is not None
    assert [each.first("body") for each in found.objects] == ["\n".join(ICE)]
    assert found.document.application == found.match.application.name


def compared(pages: int, missed: int = 0) -> list[bool]:
    """Return which of some pages are read generically as well; of the first ones the action misses the title."""
    known = application("software", level("post", "body", article()))
    completion = Completion(SiteLines())
    found: list[bool] = []
    for number in range(pages):
        url = f"http://blog.test/{number}"
        shown = html_page(url, f"<html><body><main><h1>Ice</h1>{TEXT}</main></body></html>")
        values = {"body": ("\n".join(ICE),), **({"title": ("Ice",)} if number >= missed else {})}
        own = Extracted(WebObject(url, "post", url, values), ())
        completion.completed(shown, known, known.levels[0], (own,), guessed=False)
        found.append("_made" in shown.__dict__)
    return found


def test_levels_whose_actions_miss_nothing_are_compared_rarely() -> None:
    found = compared(FIRST_PAGES + 2 * EVERY)
    assert sum(found) == FIRST_PAGES + 2
    assert all(found[:FIRST_PAGES])


def test_levels_whose_actions_miss_nothing_any_more_are_compared_rarely_again() -> None:
    found = compared(2 + 3 * FIRST_PAGES + 4 * EVERY, missed=2)
    assert all(found[: 2 + 3 * FIRST_PAGES])
    assert sum(found[2 + 3 * FIRST_PAGES :]) == 4


def test_what_all_articles_of_a_site_show_is_learned_where_they_are_compared() -> None:
    known, lines = application("software", level("post", "body", article())), SiteLines()
    completion = Completion(lines)
    repeated = []
    for number in range(FIRST_PAGES):
        url = f"http://blog.test/{number}"
        shown = html_page(url, f"<html><body><main><h1>Ice</h1>{TEXT}</main></body></html>")
        repeated.append(bool(lines.repeated(site_of(url), url)))
        own = Extracted(WebObject(url, "post", url, {"body": ("\n".join(ICE),), "title": ("Ice",)}), ())
        completion.completed(shown, known, known.levels[0], (own,), guessed=False)
    assert repeated == [number >= MIN_LINE_PAGES for number in range(FIRST_PAGES)]
