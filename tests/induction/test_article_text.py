"""The text of articles: what libraries and structure agree on, without headings, lone links and bylines."""

from collections.abc import Iterator

import pytest

from aahcrawler.induction.article_text import ArticleText, apart_from, article_text
from aahcrawler.induction.generic_objects import read_objects
from aahcrawler.induction.main_part import main_part
from aahcrawler.induction.outline import Outline
from aahcrawler.induction.prepared_page import PreparedPage
from aahcrawler.induction.record_finding import records
from aahcrawler.induction.record_sets import NoObject
from aahcrawler.induction.text_lines import letters, merged, share_of
from aahcrawler.page import Page
from tests.page.building import page_of

ICE = (
    "The harbour froze in the second week of January, and for the first time in a generation people walked across it.",
    "Nobody had measured the ice; everybody had an opinion about how thick it was, and most of these were wrong.",
    "On Sunday the ferry broke a channel through it, and the walks were over for this year and perhaps for many more.",
)
TEXT = "".join(f"<p>{line}</p>" for line in ICE)
STANDFIRST = "After the coldest night since records began, the town has found a shorter way to its lighthouse on foot."


def text_of(page: Page) -> ArticleText:
    where = PreparedPage.of(page)
    return article_text(page, where, main_part(where.outline, where.shown, records(page), where.names))


def article(body: str, head: str = "<title>Ice - The Gazette</title>") -> Page:
    return page_of(f"<html><head>{head}</head><body><main>{body}</main></body></html>")


def test_the_heading_and_lines_that_are_links_alone_are_no_text() -> None:
    page = article(
        f'<h1>Ice</h1>{TEXT}<p><a href="/frost">Read more: What the frost of 1947 did to the harbour</a></p>'
    )
    assert text_of(page).lines == ICE


def test_a_headline_that_is_a_link_is_no_text_with_words_before_it_but_a_source_is() -> None:
    more = '<p>Read more: <a href="/frost">What the frost of 1947 did to the harbour and the town</a></p>'
    source = '<p>Source: <a href="/gazette">The Gazette</a></p>'
    assert text_of(article(f"<h1>Ice</h1>{TEXT}{more}{source}{TEXT}")).lines == (*ICE, "Source: The Gazette", *ICE)


def test_the_standfirst_stands_first_and_captions_do_not() -> None:
    caption = (
        "<figure><img src=a.jpg><figcaption>People on the ice in front of the old lighthouse.</figcaption></figure>"
    )
    found = text_of(article(f"<h1>Ice</h1><h2>{STANDFIRST}</h2>{caption}<div>{TEXT}</div>"))
    assert found.lines == (STANDFIRST, *ICE)


def test_who_wrote_it_when_is_no_text() -> None:
    byline = '<p>By <a rel="author" href="/eve">Eve Frost</a>, <time datetime="2022-01-10">10 January 2022</time></p>'
    [found] = read_objects(article(f"<h1>Ice</h1>{byline}{TEXT}")).objects
    assert found.first("body") == "\n".join(ICE)


def test_a_declared_text_cuts_what_the_page_shows_beside_it() -> None:
    found = ArticleText((*ICE, "Our newsletter brings you the best of the harbour each Friday morning."), 0, 0, ())
    assert found.agreed_with(" ".join(ICE), shown=False) == "\n".join(ICE)


def test_an_excerpt_is_passed_over_and_what_is_missed_is_taken() -> None:
    found = ArticleText(ICE, 0, 0, ())
    assert found.agreed_with(ICE[0], shown=False) == "\n".join(ICE)
    assert ArticleText(ICE[:1], 0, 0, ()).agreed_with("\n".join(ICE), shown=False) == "\n".join(ICE)
    assert ArticleText(ICE[:1], 0, 0, ()).agreed_with("\n".join(ICE), shown=True) == ICE[0]


def test_what_a_template_in_a_script_holds_is_read_where_the_page_shows_nothing_else() -> None:
    script = f"<script type='text/template'>{TEXT}</script>"
    page = page_of(
        f"<html><head><title>Ice</title></head><body><p>Frost.</p><noscript>{TEXT}</noscript>{script}</body></html>"
    )
    assert set(ICE) <= set(text_of(page).lines)


def test_the_work_that_a_page_declares_under_another_address_is_its_article() -> None:
    declared = (
        '<script type="application/ld+json">{"@type": "NewsArticle", "url": "https://gazette.test/en/ice", '
        f'"headline": "Ice", "datePublished": "2022-01-10T09:00:00Z", "articleBody": "{ICE[0]}"}}</script>'
    )
    [found] = read_objects(article(f"<h1>Ice</h1>{TEXT}", f"<title>Ice - The Gazette</title>{declared}")).objects
    assert found.first("body") == "\n".join(ICE)


def test_a_front_page_that_lists_nothing_is_an_article_and_one_of_teasers_is_none() -> None:
    front = "https://harbour.test/"
    markup = f"<html><head><title>Ice</title></head><body><main><h1>Ice</h1>{TEXT}{TEXT}</main></body></html>"
    assert [each.type for each in read_objects(page_of(markup, url=front)).objects] == ["article"]
    teasers = "".join(f'<h2><a href="/{n}">Day {n}</a></h2><p>{line}</p>' for n, line in enumerate(ICE))
    assert (
        read_objects(page_of(f"<html><body><main><h1>Ice</h1>{teasers}</main></body></html>", url=front)).objects == ()
    )


@pytest.mark.slow
def test_a_page_that_is_too_large_for_the_library_is_read_by_its_structure() -> None:
    menu = "<nav>" + "<b>x</b>" * 20_001 + "</nav>"
    found = text_of(
        page_of(f"<html><head><title>Ice</title></head><body>{menu}<main><h1>Ice</h1>{TEXT}</main></body></html>")
    )
    assert found.lines == ICE


def test_markup_that_is_nested_too_deeply_is_read_by_what_takes_no_time_for_it() -> None:
    nested = "<table><tr><td>" * 600 + TEXT
    page = page_of(f"<html><head><title>Ice</title></head><body><main><h1>Ice</h1>{nested}</main></body></html>")
    assert article_text(page, PreparedPage.of(page), None).lines == ICE


def test_texts_are_compared_by_their_letters() -> None:
    assert letters("Ice, 3 cm!") == 6
    assert share_of("\n".join(ICE), "\n".join(ICE[1:]).upper()) == letters("".join(ICE[1:])) / letters("".join(ICE))


def test_two_readings_merged_have_the_standfirst_of_one_and_nothing_that_only_the_other_has() -> None:
    own = "\n".join(("menu", ICE[0], "Join our newsletter", ICE[1], "3 cm", ICE[2], "share"))
    other = "\n".join((STANDFIRST, *ICE, "about us"))
    assert merged(own, other, "\n".join((*ICE, "3 cm"))).split("\n") == [STANDFIRST, *ICE[:2], "3 cm", ICE[2]]
    assert merged("nothing of it", other, "") == "nothing of it"


def test_comments_do_not_make_a_thread_of_an_article() -> None:
    said = ("Boyd", "I was there, too, and it held."), ("Wu", "My dog did not like it at all.")
    comments = "".join(
        f'<li class="comment" id="c{n}"><b class="author">Ann {name}</b> '
        f'<time datetime="2022-01-1{n}T10:00">1{n} January</time><p>{words}</p></li>'
        for n, (name, words) in enumerate(said, 1)
    )
    found = read_objects(article(f'<article><h1>Ice</h1>{TEXT}</article><ol class="comments">{comments}</ol>')).objects
    assert [each.type for each in found] == ["article", "comment", "comment"]
    assert found[0].first("body") == "\n".join(ICE)


def test_rows_of_names_and_numbers_are_no_article() -> None:
    rows = "".join(
        f"<tr><td>{n} member{n}</td><td>0 posts and 20 topics, Sat 1{n % 9} January 2022</td></tr>" for n in range(40)
    )
    assert read_objects(article(f"<h1>Members</h1><table>{rows}</table>", "<title>Members</title>")).article is None


@pytest.mark.parametrize(
    ("body", "head", "reason"),
    [
        ("<h1>Ice</h1><p>Gone.</p>", "<title>Ice</title>", NoObject.NO_TEXT),
        (f"<h1>Ice</h1><p>{ICE[0]}</p>", "<title>Ice</title>", NoObject.LITTLE_TEXT),
        (f"<h1>Ice</h1>{TEXT}", "<title>Ice</title><meta name=robots content=noindex>", NoObject.WITHHELD),
        (
            "".join(f'<h2><a href="/{n}">Day {n}</a></h2><p>{line}</p>' for n, line in enumerate(ICE)),
            "<title>Ice</title>",
            NoObject.LIST,
        ),
        (f"<h1>Ice</h1>{TEXT}", "<title>Ice</title>", None),
    ],
)
def test_a_page_without_an_object_tells_why(body: str, head: str, reason: NoObject | None) -> None:
    assert read_objects(article(body, head)).reason == reason


SIGNED = '<p>By <a class="author" href="/ann">Ann Boyd</a>, <time datetime="2022-01-12">12 January 2022</time></p>'
BOX = '<aside><h3><a href="/other">Snow on the hills</a></h3></aside>'
SAID = f"<h1>Ice</h1>{SIGNED}{TEXT}{TEXT}"


@pytest.mark.parametrize(
    ("robots", "query", "is_article"),
    [
        ("noindex", "", True),
        ("noindex", "?id=7", True),
        ("noindex, nofollow", "", True),
        ("noindex, nofollow", "?action=diff", False),
    ],
)
def test_a_long_text_is_an_article_whatever_search_engines_are_told_unless_it_is_a_tool(
    robots: str, query: str, *, is_article: bool
) -> None:
    head = f'<title>Ice</title><meta name="robots" content="{robots}">'
    found = read_objects(page_of(f"<head>{head}</head><main>{SAID}</main>", url=f"http://site.test/ice{query}"))
    assert (found.article is not None) is is_article
    assert found.reason is (None if is_article else NoObject.WITHHELD)


@pytest.mark.parametrize(
    "body",
    [
        f'<h3><a href="/other">Snow on the hills</a></h3><div>{SAID}</div>',
        SAID + "".join(f'<h3><a href="/{n}">Day {n}</a></h3><p>{line}</p>' for n, line in enumerate(ICE * 3)),
        f"<h1>Ice</h1>{SIGNED}<div><p>{ICE[0]}</p>{BOX}{TEXT}{TEXT}</div>",
    ],
    ids=["link-above", "teasers-below", "link-amid"],
)
def test_links_to_other_pages_beside_a_text_make_no_list_of_it(body: str) -> None:
    found = read_objects(article(body, "<title>Ice</title>"))
    assert found.article is not None
    assert ICE[-1] in found.article.text.plain


def test_the_only_entry_of_a_list_is_no_article() -> None:
    body = f'<h1>Winter</h1><article><header><h2><a href="/ice">Ice</a></h2>{SIGNED}</header>{TEXT}{TEXT}</article>'
    found = read_objects(article(body, "<title>Winter</title>"))
    assert found.article is None
    assert found.reason is NoObject.LIST


def test_a_text_loses_what_only_comments_say_and_keeps_what_they_quote() -> None:
    said = "".join(f"<p class=c>{line}</p>" for line in (ICE[0], "Mine was thicker by far, as everybody knew."))
    where = PreparedPage.of(page_of(f"<title>Ice</title><body><main>{TEXT}</main><section>{said}</section>"))
    lines = (*ICE, ICE[0], "Mine was thicker by far, as everybody knew.")
    text = ArticleText(lines, 1, 500, lines)
    section = where.outline.tags.index("section")
    found = apart_from(text, where.outline, [(section, where.outline.ends[section])])
    assert (found.lines, found.lead, found.whole) == (ICE, 1, ICE)
    assert apart_from(text, where.outline, []) is text


LISTED = (
    "The first to cross was the baker, who had flour to deliver and no patience at all.",
    "The second was a dog that belonged to nobody.",
)
ITEMS = "".join(f"<li>{line}</li>" for line in LISTED)


def test_lists_of_sentences_amid_the_text_and_at_its_end_are_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("aahcrawler.induction.article_text._trafilatura", lambda _: [*ICE])
    amid = "".join(f"<p>{line}</p>" for line in ICE[:2]) + f"<ul>{ITEMS}</ul><p>{ICE[2]}</p>"
    assert text_of(article(f"<h1>Ice</h1>{amid}")).lines == (*ICE[:2], *LISTED, ICE[2])
    assert text_of(article(f"<h1>Ice</h1>{TEXT}<ol>{ITEMS}</ol>")).lines == (*ICE, *LISTED)


@pytest.mark.parametrize(
    "beside",
    [
        "<ul>" + "".join(f'<li><a href="/{n}">{line}</a></li>' for n, line in enumerate(LISTED)) + "</ul>",
        "<ul>" + "".join(f'<li><img src="/{n}.jpg">{line}</li>' for n, line in enumerate(LISTED)) + "</ul>",
        "<ul><li>Harbour</li><li>Ice</li></ul>",
        f"<div><ul>{ITEMS}</ul></div>",
    ],
    ids=["links", "captions", "words", "elsewhere"],
)
def test_other_lists_below_the_text_are_left_out(beside: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("aahcrawler.induction.article_text._trafilatura", lambda _: [*ICE])
    assert text_of(article(f"<h1>Ice</h1>{TEXT}{beside}")).lines == ICE


def test_links_with_a_count_and_several_links_in_one_line_are_no_text(monkeypatch: pytest.MonkeyPatch) -> None:
    beside = [f"{word} ({number})" for number, word in enumerate(("Harbours", "Ice", "Winter"), 3)]
    lines = [*ICE, *beside, "Share by letter", "Share by pigeon"]
    monkeypatch.setattr("aahcrawler.induction.article_text._trafilatura", lambda _: lines)
    counted = "".join(
        f'<li><a href="/{each.split()[0]}">{each.split()[0]}</a> {each.split()[1]}</li>' for each in beside
    )
    shared = '<div><a href="/letter">Share by letter</a> <a href="/pigeon">Share by pigeon</a></div>'
    assert text_of(article(f"<h1>Ice</h1>{TEXT}{shared}<ul>{counted}</ul>")).lines == ICE


def test_an_article_is_not_read_from_the_comments_that_quote_it(monkeypatch: pytest.MonkeyPatch) -> None:
    said = [
        f"I walked across it on day {n}, and the ice was thicker than anybody in the town had thought."
        for n in (1, 2, 3)
    ]
    lines = [f"> {ICE[1]}", *said]
    monkeypatch.setattr("aahcrawler.induction.article_text._trafilatura", lambda _: lines)
    comments = "".join(
        f'<div class="comment" id="c{n}"><div><a href="/user/{name}">{name}</a></div><div>{n + 1}.05.2021, 10:30</div>'
        f"<div>{quoted}{text}</div></div>"
        for n, name, quoted, text in zip(
            range(3), ("Ann", "Carla", "Ben"), (f"&gt; {ICE[1]}<br>", "", ""), said, strict=True
        )
    )
    found = read_objects(
        article(f'<h1>Ice</h1><div>{TEXT}</div><div id="comments"><h2>Comments</h2>{comments}</div>')
    ).objects
    assert [each.type for each in found] == ["article", "comment", "comment", "comment"]
    assert found[0].first("body") == "\n".join(ICE)


def test_a_whole_page_in_one_line_is_no_text(monkeypatch: pytest.MonkeyPatch) -> None:
    menu = "".join(f'<a href="/{word}">{word}</a> ' for word in ("Harbours", "Winter", "Ferries", "Captains"))
    whole = f"Harbours Winter Ferries Captains {' '.join(ICE)}"
    monkeypatch.setattr("aahcrawler.induction.article_text._trafilatura", lambda _: [whole])
    assert text_of(article(f"<nav>{menu}</nav><h1>Ice</h1><div>{TEXT}</div>")).lines == ICE


def test_what_stands_beside_a_short_main_part_is_no_article() -> None:
    body = f"<main><h1>Ice</h1><p>Nobody has this badge.</p></main><aside class='levels'>{TEXT}</aside>"
    found = read_objects(page_of(f"<html><head><title>Ice - The Gazette</title></head><body>{body}</body></html>"))
    assert found.objects == ()
    assert found.reason is not None


def test_a_button_in_a_heading_is_no_part_of_it() -> None:
    heading = "<h1><div>Ice in the harbour</div> <button>edit</button></h1>"
    byline = '<p>By <a rel="author" href="/eve">Eve Frost</a>, <time datetime="2022-01-10">10 January 2022</time></p>'
    [found] = read_objects(
        article(f"{heading}{byline}{TEXT}", "<title>Ice in the harbour - The Gazette</title>")
    ).objects
    assert found.first("title") == "Ice in the harbour"


def quoted(mark: str) -> str:
    said = ("Ann Boyd", "It held when I stood on it, and that is all I can say."), ("Bo Wu", "My dog did not like it.")
    return "".join(
        f'<blockquote class="{mark}"><p>{words} Who else was there on that day, and who has pictures of it?</p>{name} '
        f'<a href="https://social.test/{n}">January 1{n}, 2022</a></blockquote>'
        for n, (name, words) in enumerate(said, 1)
    )


def test_posts_of_a_network_that_a_text_embeds_are_no_comments_on_it() -> None:
    found = read_objects(article(f"<article><h1>Ice</h1>{TEXT}{TEXT}{quoted('twitter-tweet')}{TEXT}</article>"))
    assert [each.type for each in found.objects] == ["article"]
    assert not [each for each in found.sets if each.container.tag == "blockquote"]


def test_a_text_that_asks_not_to_be_indexed_needs_no_signature_but_is_no_copy() -> None:
    body = f"<h1>Ice</h1>{TEXT}{TEXT}"
    robots = '<title>Ice</title><meta name="robots" content="noindex">'
    assert read_objects(article(body, robots)).article is not None
    copy = '<link rel="canonical" href="/ice">'
    assert read_objects(article(body, robots + copy)).reason is NoObject.WITHHELD


def test_the_lines_of_a_page_are_found_once_and_without_a_way_to_the_root_for_each(
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
    deep = "<span>" * 200 + "".join(f"<b>w{number}</b> " for number in range(2_000))
    entries = "".join(
        f'<h2><a href="/{n}">A headline of several words {n}</a></h2><p>{ICE[n % 3]}</p>' for n in range(9)
    )
    assert read_objects(article(f"<h1>Ice</h1>{TEXT}{entries}{deep}")) is not None
    assert steps < 600_000, steps


@pytest.mark.parametrize(("key", "kinds"), [("", ["article"]), ("id=part_{}", ["post", "reply", "reply"])])
def test_parts_of_a_text_that_name_days_are_no_posts_unless_they_have_addresses(key: str, kinds: list[str]) -> None:
    parts = "".join(
        f'<div {key.format(n)}><time datetime="2022-01-1{n}">1{n} January</time><p>{line}</p></div>'
        for n, line in enumerate(ICE)
    )
    found = read_objects(article(f"<h1>Ice</h1><div>{parts}</div>", "<title>Ice</title>"))
    assert [each.type for each in found.objects] == kinds


def test_a_short_text_of_a_front_page_is_an_article() -> None:
    page = page_of(f"<title>Ice</title><body><main><h1>Ice</h1>{TEXT}</main></body>", url="http://site.test/")
    assert read_objects(page).article is not None
