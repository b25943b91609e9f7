"""Expressions suggested for elements that somebody marked, and how they are judged."""

import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from lxml.html import HtmlElement

from aahcrawler.editor.rules.marked_pages import Marked, Role, WantedMarks
from aahcrawler.editor.rules.page_sample import PageSample, ReadBy, ReadObject, SampledPage, SampledReading
from aahcrawler.editor.rules.selector_suggestions import MAX_LOOKED_AT, Suggestion, suggest
from aahcrawler.editor.rules.suggestion_judging import OtherSoftware
from aahcrawler.editor.rules.values_on_pages import field_values
from knowledge_base.model import Field, FieldKind
from knowledge_base.selectors import compile_selector
from tests.authoring.tinyforum import topic
from tests.studio.ropes import PAGES, TRUTH, record_of, sample_of, thread

ITEM = (compile_selector(css="div.entry"),)


def on(sample: PageSample, path: str) -> SampledPage:
    """Return a page of the site."""
    captured = sample.captured(record_of(path))
    assert captured is not None
    page = sample.sampled(captured)
    assert page is not None
    return page


def marked(page: SampledPage, css: str, number: int = 0) -> Marked:
    """Mark the element of a number among those that a selector finds."""
    return Marked(page, compile_selector(css=css).elements(page.tree)[number])


def written(suggestion: Suggestion) -> str:
    """Return the expression."""
    return suggestion.expression.css or suggestion.expression.xpath


def texts(elements: tuple[HtmlElement, ...]) -> list[str]:
    """Return the texts of elements."""
    return [" ".join(element.text_content().split()) for element in elements]


def test_one_click_on_an_object_suggests_all_of_them() -> None:
    sample = sample_of()
    page = on(sample, "/thread/2")
    found = suggest(WantedMarks(Role.ITEM, (marked(page, "div.entry", 1),)), sample)
    best = found[0]
    assert written(best) == "div.entry"
    assert best.said == "every element of class entry"
    assert [element.get("id") for element in best.matches[0]] == ["entry-21", "entry-22", "entry-23", "entry-24"]
    assert (len(best.pages), best.of, best.agrees, best.disagrees) == (6, 10, 6, ())
    assert [each.cost for each in found] == sorted(each.cost for each in found)
    assert ('div[id^="entry-"]', "every element whose id begins with entry-") in {
        (written(each), each.said) for each in found
    }
    assert len({each.said for each in found}) == len(found)


def test_disagreement_is_told_page_by_page() -> None:
    readings = dict(TRUTH)
    readings["/thread/3"] = SampledReading(TRUTH["/thread/3"].objects[:2], TRUTH["/thread/3"].by)
    sample = sample_of(readings=readings)
    best = suggest(WantedMarks(Role.ITEM, (marked(on(sample, "/thread/2"), "div.entry"),)), sample)[0]
    assert [(each.url, each.said) for each in best.disagrees] == [
        ("http://knots.test/thread/3", "finds 5 where 2 was read before")
    ]
    found = suggest(WantedMarks(Role.ITEM, (marked(on(sample, "/login"), "form"),)), sample)[0]
    assert (len(found.pages), found.agrees, found.disagrees) == (1, 0, ())


def test_what_is_marked_as_wrong_is_never_found() -> None:
    advert = (
        '<div class="entry" id="advert"><div class="text"><p>Buy ropes at the chandler of the harbour.</p></div></div>'
    )
    pages = {
        path: body.replace('<div class="credit">', f'{advert}<div class="credit">') for path, body in PAGES.items()
    }
    sample = sample_of(pages)
    page = on(sample, "/thread/2")
    right, wrong = marked(page, "div.entry"), marked(page, "div#advert")
    found = suggest(WantedMarks(Role.ITEM, (right,), (wrong,)), sample)
    assert found
    assert [element.get("id") for element in found[0].matches[0]] == ["entry-21", "entry-22", "entry-23", "entry-24"]
    assert found[0].disagrees == ()
    bare = {path: re.sub(r' id="entry-\d+"| class="who"', "", body) for path, body in pages.items()}
    plain = on(sample_of(bare), "/thread/2")
    narrowed = suggest(
        WantedMarks(Role.ITEM, (marked(plain, "div.entry"),), (marked(plain, "div#advert"),)), sample_of(bare)
    )
    assert [len(each.matches[0]) for each in narrowed] == [4] * len(narrowed)
    assert narrowed


@pytest.mark.slow
@pytest.mark.parametrize("role", [Role.ITEM, Role.FIELD, Role.SIGN, Role.LEVEL])
def test_no_suggestion_misses_what_is_right_or_finds_what_is_wrong(role: Role) -> None:
    sample = sample_of()
    page = on(sample, "/thread/1")
    elements = list(page.tree.iterdescendants("*"))
    for number, element in enumerate(elements):
        wrong = elements[(number * 7 + 3) % len(elements)]
        marks = (Marked(page, wrong),) if wrong is not element else ()
        wanted = WantedMarks(role, (Marked(page, element),), marks, ITEM if role is Role.FIELD else ())
        for each in suggest(wanted, sample):
            assert element in each.matches[0], (each, element)
            assert wrong is element or wrong not in each.matches[0], (each, wrong)


def test_a_click_within_an_object_suggests_the_field_of_each() -> None:
    sample = sample_of()
    page = on(sample, "/thread/2")
    found = suggest(WantedMarks(Role.FIELD, (marked(page, ".who-name span", 2),), items=ITEM, field="author"), sample)
    assert texts(found[0].matches[0]) == ["Dag", "Edda", "Ada", "Bo"]
    assert not found[0].page
    assert (len(found[0].pages), found[0].agrees, found[0].disagrees) == (6, 6, ())
    wrong = suggest(WantedMarks(Role.FIELD, (marked(page, ".who", 2),), items=ITEM, field="author"), sample)[0]
    assert len(wrong.disagrees) == 6
    assert wrong.disagrees[0].said.startswith(
        "reads “Dag sails since 1999” where “Dag” was read before (4 of 4 differ)"
    )


def test_dates_are_read_of_the_attribute_that_tells_them_exactly() -> None:
    sample = sample_of()
    page = on(sample, "/thread/2")
    found = suggest(WantedMarks(Role.FIELD, (marked(page, "time"),), items=ITEM, field="date"), sample)
    assert found[0].expression.attribute == "datetime"
    assert found[0].agrees == 6
    assert found[0].disagrees == ()


def test_a_value_beside_the_objects_is_one_of_the_page() -> None:
    sample = sample_of()
    found = suggest(
        WantedMarks(Role.FIELD, (marked(on(sample, "/thread/2"), "h1"),), items=ITEM, field="title"), sample
    )
    assert (written(found[0]), found[0].page, found[0].agrees) == ("h1.subject", True, 6)


def test_links_are_judged_by_where_they_lead() -> None:
    sample = sample_of()
    page = on(sample, "/board/1")
    found = suggest(WantedMarks(Role.LINKS, (marked(page, "a.line-link"),)), sample)
    assert (written(found[0]), found[0].agrees, found[0].disagrees) == ("a.line-link", 2, ())
    wide = [each for each in found if any(verdict.said for verdict in each.disagrees)]
    assert all("lead elsewhere" in verdict.said for each in wide for verdict in each.disagrees)


def test_a_sign_of_a_level_is_on_no_page_of_others() -> None:
    sample = sample_of()
    found = suggest(WantedMarks(Role.LEVEL, (marked(on(sample, "/board/1"), "ul"),)), sample)
    assert (written(found[0]), len(found[0].pages), found[0].disagrees) == ("ul.lines", 2, ())
    everywhere = suggest(WantedMarks(Role.LEVEL, (marked(on(sample, "/board/1"), "div.menu"),)), sample)
    assert len(everywhere[0].disagrees) == 8
    assert everywhere[0].disagrees[0].said == "a page of other addresses shows it"


def test_a_sign_of_the_software_is_on_no_saved_page_of_another(tmp_path: Path) -> None:
    folder = tmp_path / "tinyforum"
    folder.mkdir()
    (folder / "topic.html").write_text(topic())
    (folder / "topic.json").write_text('{"url": "http://tiny.test/topic.php?id=7", "application": null, "level": null}')
    (folder / "broken.html").write_text("no expectation beside it")
    software = OtherSoftware((tmp_path,))
    sample = sample_of()
    page = on(sample, "/thread/1")
    shared = suggest(WantedMarks(Role.SIGN, (marked(page, "div.entry"),)), sample, software)
    assert {each.others for each in shared if written(each) == "div.entry"} <= {("tinyforum/topic",)}
    assert suggest(WantedMarks(Role.SIGN, (marked(page, "div.entry"),)), sample, software, "tinyforum")[0].others == ()
    own = suggest(WantedMarks(Role.SIGN, (marked(page, "div.credit a"),)), sample, software)[0]
    assert (written(own), own.others, len(own.pages)) == ('a[href*="ropeboard.example"]', (), 10)


@pytest.mark.slow
def test_work_on_hostile_pages_is_bounded() -> None:
    deep = "<div class='entry'>" * 1_500 + "x" + "</div>" * 1_500
    wide = "".join(
        f"<p class='entry c{number} {' '.join(f'w{n}' for n in range(40))}'>x</p>" for number in range(8_000)
    )
    pages = {**PAGES, "/thread/7": f"<body>{deep}</body>", "/thread/8": f"<body>{wide}</body>"}
    sample = sample_of(pages)
    for path, css in (("/thread/7", "div.entry"), ("/thread/8", "p.entry")):
        page = on(sample, path)
        mark = marked(page, css, 700)
        for each in suggest(WantedMarks(Role.ITEM, (mark,)), sample):
            assert mark.element in each.matches[0]


@pytest.mark.slow
def test_pages_looked_at_are_bounded_and_those_alike_come_first() -> None:
    pages = {f"/thread/{number}": thread(1 + number % 6) for number in range(1, 90)}
    pages |= {f"/tag/{number}/of/{word}": PAGES["/login"] for number in range(30) for word in ("a", "b")}
    sample = sample_of(pages, readings={})
    best = suggest(WantedMarks(Role.ITEM, (marked(on(sample, "/thread/5"), "div.entry"),)), sample)[0]
    assert best.of <= MAX_LOOKED_AT
    assert sum("/thread/" in each.url for each in best.pages) >= 20


def test_values_are_cut_out_of_lines_that_hold_more() -> None:
    def posts(*told: tuple[str, str]) -> str:
        return "<body>" + "".join(
            f'<div class="entry"><p class="head">By {name} at {when}, said</p><p class="text">So says {name}.</p></div>'
            for name, when in told
        )

    sample = sample_of(
        {
            "/thread/1": posts(("Ada Lace", "7:40 pm on April 26, 2024")),
            "/thread/2": posts(("Bo", "8:41 am on May 3, 2024"), ("Cleo", "11:41 am on May 13, 2024")),
        },
        readings={},
    )
    page = on(sample, "/thread/1")
    found = suggest(WantedMarks(Role.FIELD, (marked(page, ".head"),), items=ITEM, field="date"), sample)
    assert found[0].said == "a part of the text of every paragraph of class head, in each object"
    date = Field("date", FieldKind.DATETIME, (found[0].expression.selector,))
    assert [value.value for each in field_values(sample, ITEM, date) for value in each.values] == [
        "2024-04-26T19:40:00+00:00",
        "2024-05-03T08:41:00+00:00",
        "2024-05-13T11:41:00+00:00",
    ]


def story(number: int) -> tuple[str, list[str]]:
    """Return the texts of an article and of the remarks on it."""
    body = f"What the harbour of {number} was like before the storm came, and after it had gone at last."
    return body, [f"Remark {each} on the harbour of {number}." for each in (1, 2, 3)]


def test_an_article_may_hold_the_comments_on_it() -> None:
    def article(number: int) -> str:
        body, remarks = story(number)
        items = "".join(f'<li class="remark">{remark}</li>' for remark in remarks)
        return (
            f'<div class="story"><h1>Harbour {number}</h1><div class="words"><p>{body}</p></div><ul>{items}</ul></div>'
        )

    def reading(number: int) -> SampledReading:
        body, remarks = story(number)
        comments = (ReadObject(each + 1, f"#{each}", "comment", body=remark) for each, remark in enumerate(remarks))
        return SampledReading((ReadObject(0, "#", "article", f"Harbour {number}", body=body), *comments), ReadBy.CRAWL)

    paths = [f"/story/{number}" for number in range(1, 5)]
    pages = {path: article(number) for number, path in enumerate(paths)}
    sample = sample_of(pages, readings={path: reading(number) for number, path in enumerate(paths)})
    page = on(sample, "/story/2")
    whole = suggest(WantedMarks(Role.ITEM, (marked(page, "div.story"),), many=False), sample)[0]
    assert (written(whole), whole.agrees, whole.disagrees) == ("div.story", 4, ())
    remark = suggest(WantedMarks(Role.ITEM, (marked(page, "li.remark"),)), sample)[0]
    assert (len(remark.matches[0]), remark.agrees, remark.disagrees) == (3, 4, ())


@pytest.mark.slow
def test_several_threads_may_ask_of_one_sample() -> None:
    sample = sample_of()
    sample.most_bytes = 400_000  # Pages are dropped and parsed anew all the time.

    def asked(number: int) -> list[str]:
        page = on(sample, f"/thread/{1 + number % 6}")
        found = suggest(WantedMarks(Role.ITEM, (marked(page, "div.entry"),)), sample)
        assert {element.getroottree().getroot() for element in found[0].matches[0]} == {page.tree}
        return [written(each) for each in found]

    with ThreadPoolExecutor(8) as pool:
        told = list(pool.map(asked, range(24)))
    assert [each[0] for each in told] == ["div.entry"] * 24


def test_what_stands_beside_a_label_is_found_by_it() -> None:
    rows = ("Camera", "Taken", "Here since")
    pages = {
        f"/picture/{number}": "<body><h1>Old nets</h1><table>"
        + "".join(f"<tr><th>{name}</th><td>{name} {number}</td></tr>" for name in (rows if number % 2 else rows[1:]))
        + "</table></body>"
        for number in range(1, 6)
    }
    sample = sample_of(pages, readings={})
    found = suggest(WantedMarks(Role.FIELD, (marked(on(sample, "/picture/1"), "td", 2),), field="place"), sample)
    assert written(found[0]) == "descendant::th[normalize-space() = 'Here since']/following-sibling::td[1]"
    assert found[0].said == "what stands beside “Here since”, on the page"
    assert len(found[0].pages) == 5
