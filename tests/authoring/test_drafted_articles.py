"""Drafts of pages about one thing: whose it is, when it was made, and its text without what stands around it."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from aahcrawler.editor.drafting.begin import Begun, Wish, begin
from aahcrawler.editor.drafting.labelling import TemplateParts
from aahcrawler.editor.drafting.level_plans import Given
from aahcrawler.helper import ApplicationAwareHelper
from aahcrawler.page import Page
from aahcrawler.webobject import WebObject
from knowledge_base.model import KnowledgeBase
from tests.helper.saved_pages import html_page

SITE = "http://mill.example"
SENTENCES = (
    "Grind the rye twice and sieve it over a wide bowl before the dough is set.",
    "The old stones want dressing every autumn, which takes two people and a long day.",
    "Water from the upper pond drives the wheel until the first frost closes the sluice.",
    "Whoever carries a sack up the stairs gets bread and a seat beside the oven for it.",
)
WRITERS = ("Ines Falk", "Ole Brandt", "Mira Sand")


def text(number: int, sentences: int = 4) -> str:
    """Return the text of an article, other words for each."""
    chosen = (SENTENCES[(number + place) % len(SENTENCES)] for place in range(sentences))
    return "".join(f"<p>Part {number} of {place}: {each}</p>" for place, each in enumerate(chosen))


def read(begun: Begun, page: Page) -> Sequence[WebObject]:
    """Return what the draft reads of a page if all of its guesses are trusted."""
    known = tuple(replace(each, draft=False) for each in begun.knowledge_base.applications)
    return ApplicationAwareHelper(KnowledgeBase(known)).assist(replace(page)).objects


def drafted(pages: Sequence[Page], folder: Path, kind: str = "blog") -> Begun:
    """Draft a file for the site of pages, of the first two of them."""
    return begin(Wish("Millstone", kind, site=True), Given(tuple(pages[:2])), (folder,))


def story(number: int, sentences: int = 4) -> Page:
    """Return a page that says at the top of the text itself who wrote it and when, with icons and without classes."""
    writer = WRITERS[number % 3]
    facts = (
        f'Am <em class="posted-on" title="2023-0{number % 9 + 1}-04T10:00:00+00:00"><i class="icon"></i>dem 4.</em> '
        f'von <a href="/leute/{writer.split()[0].lower()}"><i class="icon"></i>{writer}</a> in <a href="/korn">Korn</a>'
    )
    return html_page(
        f"{SITE}/geschichte-{number}.html",
        f"<html><head><title>Mahlgang {number}</title></head><body><nav><a href='/'>Mühle</a></nav>"
        f"<article><h1>Mahlgang {number}</h1><div class='inhalt'><div class='kasten'>{facts}</div>"
        f"{text(number, sentences)}</div></article></body></html>",
    )


@pytest.mark.slow
def test_the_author_is_found_by_the_word_before_the_name_and_the_line_is_no_text(tmp_path: Path) -> None:
    begun = drafted([story(1), story(2)], tmp_path)
    for page, writer in ((story(1), "Ole Brandt"), (story(3, 1), "Ines Falk"), (story(5), "Mira Sand")):
        (item,) = read(begun, page)
        author, body = item.first("author"), str(item.first("body"))
        assert getattr(author, "name", None) == writer
        assert body.startswith("Part ")


def picture(number: int, *, answered: bool = False) -> Page:
    """Return a page whose frame is a table, with facts below the text and, perhaps, what others said of it."""
    facts = (
        f"<tr><th>Taken</th><td class='date'>1{number % 9}.02.2024</td></tr><tr><th>Lens</th><td>50 mm</td></tr>"
        f"<tr><th>Shown</th><td>{number * 7} times</td></tr>"
    )
    said = (
        "".join(
            f"<li class='echo' id='e{place}'><b class='author'>{writer}</b> <i>1{place}.03.2024 10:00</i>"
            f"<div class='echo-text'>{text(number + place, 2)}</div></li>"
            for place, writer in enumerate(WRITERS, 1)
        )
        if answered
        else "<li>Be the first to say something about it.</li>"
    )
    return html_page(
        f"{SITE}/bild/{number}",
        f"<html><head><title>Wheel {number} - Mill</title></head><body><table class='frame'><tr>"
        f"<td class='menu'><a href='/'>Mill</a> <a href='/random'>Random</a> <a href='/alben'>All albums</a></td>"
        f"<td class='stage'><h3 class='name'>Wheel {number}</h3><div class='sizes'>Sizes: small large</div>"
        f"<div class='legend'>{SENTENCES[number % 4]} Number {number} of many. {SENTENCES[(number + 1) % 4]}</div>"
        f"<table class='facts'>{facts}</table><ul class='echoes'>{said}</ul></td></tr>"
        f"<tr><td class='foot'>77 pictures of the mill, all rights reserved.</td></tr></table></body></html>",
    )


@pytest.mark.slow
def test_what_all_pages_have_is_no_text_of_any(tmp_path: Path) -> None:
    begun = drafted([picture(1), picture(2, answered=True)], tmp_path, "photo")
    for page in (picture(1), picture(2, answered=True), picture(7), picture(8, answered=True)):
        item = read(begun, page)[0]
        number = int(page.url.rpartition("/")[2])
        legend = f"{SENTENCES[number % 4]} Number {number} of many. {SENTENCES[(number + 1) % 4]}"
        assert (item.first("title"), item.first("body")) == (f"Wheel {number}", legend)


def diary(number: int, days: tuple[int, ...]) -> Page:
    """Return an article with notes whose writers stand in one line with dates that begin alike."""
    notes = "".join(
        f"<div class='note' id='n{number}{day}'><div class='head'>{WRITERS[day % 3]} (2{day % 9}.03.2024 10:00)</div>"
        f"<div class='note-text'>{text(number + day, 2)}</div></div>"
        for day in days
    )
    return html_page(
        f"{SITE}/diary/{number}",
        f"<html><head><title>Day {number}</title></head><body><article><h1>Day {number}</h1>"
        f"<div class='told'>{text(number)}{text(number + 20)}</div></article><div>{notes}</div></body></html>",
    )


@pytest.mark.slow
def test_no_part_of_a_date_separates_a_name_from_it(tmp_path: Path) -> None:
    begun = drafted([diary(1, (1, 2, 3, 4)), diary(2, (2, 3, 5))], tmp_path)
    first = diary(9, (1, 3, 5)).body.replace(b" (2", b" (1")
    answers = read(begun, replace(diary(9, (1, 3, 5)), body=first))[1:]
    assert [getattr(each.first("author"), "name", None) for each in answers] == ["Ole Brandt", "Ines Falk", "Mira Sand"]


def debate(number: int, answers: int) -> Page:
    """Return a page of contributions, each of which has a heading of its own."""
    posts = "".join(
        f"<div class='entry' id='e{number}{place}'><h4 class='about'>{'AW: ' if place else ''}Sluice {number}</h4>"
        f"<p class='from'><a class='username' href='/u/{place}'>{WRITERS[place % 3]}</a> "
        f"<time datetime='2023-03-0{place + 1}T10:00:00Z'>{place + 1}. March</time></p>"
        f"<div class='says'>{text(number + place, 2)}</div></div>"
        for place in range(answers)
    )
    head = f"<html><head><title>Sluice {number}</title></head><body><h1>Sluice {number}</h1>"
    return html_page(f"{SITE}/debate/{number}", f"{head}<div class='all'>{posts}</div></body></html>")


@pytest.mark.slow
def test_answers_keep_the_headings_that_they_have(tmp_path: Path) -> None:
    begun = drafted([debate(1, 4), debate(2, 5)], tmp_path, "web-forum")
    titles = [each.first("title") for each in read(begun, debate(7, 3))]
    assert titles == ["Sluice 7", "AW: Sluice 7", "AW: Sluice 7"]


def measured(number: int) -> Page:
    """Return a page whose text ends with a table of measures, and whose facts stand in a table of labels."""
    rows = "".join(
        f"<tr><td>{part}</td><td>{number + size} cm</td><td>oak</td></tr>" for size, part in enumerate("abc")
    )
    head = "<thead><tr><th>Board</th><th>Width</th><th>Wood</th></tr></thead>"
    facts = f"<tr><td>Drawn by</td><td>{WRITERS[number % 3]}</td></tr><tr><td>Number</td><td>{number}</td></tr>"
    return html_page(
        f"{SITE}/log/{number}/",
        f"<html><head><title>Sluice {number}</title></head><body><h1>Sluice {number}</h1><div class='log-text'>"
        f"{text(number)}<table>{head}<tbody>{rows}</tbody></table></div>"
        f"<table class='facts'>{facts}</table></body></html>",
    )


def test_a_table_of_data_is_text_although_all_pages_have_its_head() -> None:
    pages = (measured(11), measured(27))
    found = TemplateParts.of(pages).on(pages[0])
    assert [part.get("class") for part in found] == ["facts"]
