"""Drafts of lists: each that a person named has a level, with its further pages and the lists within it."""

import pytest

from aahcrawler.editor.drafting.address_groups import AddressGroup, Shape
from aahcrawler.editor.drafting.begin import Begun, Wish, begin
from aahcrawler.editor.drafting.draft import avoidable, loaded
from aahcrawler.editor.drafting.level_plans import Given, LevelPlan
from aahcrawler.editor.text.edits import Remove, apply
from aahcrawler.editor.text.entry_text import EntryText
from aahcrawler.helper import ApplicationAwareHelper
from aahcrawler.page import Page
from knowledge_base.url_rules import Paging, ParsedUrl
from tests.helper.saved_pages import html_page

SITE = "http://coast.example"
MENU = "<nav><a href='/'>Coast</a> <a href='/overview'>Overview</a> <a href='/enter'>Enter</a></nav>"


def shown(path: str, main: str) -> Page:
    """Return a page of the site."""
    head = f"<html><head><title>Coast {path}</title></head>"
    return html_page(f"{SITE}{path}", f"{head}<body>{MENU}<main>{main}</main></body></html>")


def view(number: int) -> Page:
    """Return the page of a picture."""
    told = f"The tide of day {number} left the old breakwater dry, and number {number} of the boats lay on its side."
    return shown(f"/view/{number}", f"<h1>Day {number}</h1><div class='words'>{told} We walked out to it.</div>")


def listed(path: str, numbers: range, *others: str) -> Page:
    """Return a page of a list, with links to other lists or to its further pages."""
    links = "".join(f"<li><a href='/view/{number}'>Day {number}</a></li>" for number in numbers)
    further = "".join(f"<a class='page' href='{url}'>{url.rpartition('-')[2]}</a>" for url in others if "seite" in url)
    inner = "".join(f"<h3><a href='{url}'>{url}</a></h3>" for url in others if "seite" not in url)
    return shown(path, f"<h1>{path}</h1>{inner}<ul class='grid'>{links}</ul><p>{further}</p>")


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> Begun:
    lists = (
        listed("/", range(1, 3), "/sets/north", "/sets/south", "/sets/east", "/sets/west"),
        listed("/sets/north", range(1, 5), "/sets/north/cliffs", "/sets/north/seite-2"),
        listed("/sets/south", range(5, 9)),
        listed("/sets/north/seite-2", range(9, 12), "/sets/north"),
        listed("/sets/north/cliffs", range(12, 15)),
        listed("/overview", range(1, 15)),
    )
    given = Given((view(1), view(2)), lists)
    return begin(Wish("Coastline", "photo", site=True), given, (tmp_path_factory.mktemp("kb"),))


@pytest.mark.parametrize(
    "path", ["/sets/north", "/sets/north/seite-2", "/sets/east", "/sets/north/cliffs", "/sets/west/dunes", "/overview"]
)
def test_lists_that_a_person_named_and_those_like_them_have_a_level(begun: Begun, path: str) -> None:
    match = ApplicationAwareHelper(begun.knowledge_base).assist(listed(path, range(20, 25))).match
    assert match is not None
    assert match.level is not None
    assert match.level.role == "intermediate"


def test_a_page_that_nothing_is_like_keeps_its_own_address(begun: Begun) -> None:
    application = begun.knowledge_base.application("Coastline")
    levels = [application.level_of(ParsedUrl.parse(f"{SITE}{path}")) for path in ("/overview", "/enter")]
    assert [level is not None for level in levels] == [True, False]


def test_all_rules_can_be_taken_out_one_after_the_other(begun: Begun) -> None:
    entry = EntryText(begun.draft.file)
    shape = '<url reason="action" path="**/{}" cite="unproven: read off a page"/>'
    entry = entry.add("", f"<avoid>{shape.format('a')}{shape.format('b')}</avoid>", before="level[1]")
    first, second = (place for place in entry.places() if "/url" in place)
    entry = apply(entry, [Remove(place=second), Remove(place=first)])
    assert loaded(entry.data).application("Coastline").levels


def test_avoiding_acts_leaves_further_pages_alone() -> None:
    level = LevelPlan("photo", True, Shape("**/view/#"), paging=(Paging(part="/seite-#"),))
    acts = AddressGroup(
        Shape("**/view/#/*"), tuple(f"{SITE}/view/{n}/{act}" for n in (1, 2) for act in ("hug", "tell"))
    )
    assert [shape.path for shape in avoidable(acts, [level])] == ["**/view/#/hug", "**/view/#/tell"]
    numbered = AddressGroup(Shape("**/view/#/*"), (f"{SITE}/view/1/x1", f"{SITE}/view/1/y2"))
    assert avoidable(numbered, [level]) == ()
    assert avoidable(numbered, []) == (numbered.shape,)
