"""Comments that no element holds, which signatures end, are found in other templates of a wiki, with their fields."""

from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from aahcrawler.adaptation.adapter import adaptation
from aahcrawler.adaptation.learned import LearnedAction
from aahcrawler.helper import ApplicationAwareHelper, Assistance
from aahcrawler.metadata import Metadata
from aahcrawler.page import Page
from aahcrawler.webobject import Person, WebObject
from aahcrawler.wrapper_induction.examples import Method
from knowledge_base.model import Application, Extract, Field, FieldKind, Identity, KnowledgeBase, PageLevel, Run
from knowledge_base.url_rules import PathGlob, UrlRule
from tests.adaptation.redesigned import NAMES, WORDS
from tests.helper.building import css, sign, when, xpath
from tests.helper.saved_pages import html_page

SITE = "http://wiki.test"
TALK = Extract(
    "talk",
    "comment",
    (css("#talk"),),
    (
        Field("title", FieldKind.TEXT, (xpath("self::*[@data-first]/@data-heading"),)),
        Field("author", FieldKind.PERSON, (css(".signature .signed"),)),
        Field("date", FieldKind.DATETIME, (xpath("@data-date"),)),
        Field("body", FieldKind.TEXT, (css(".written"),)),
    ),
    many=True,
    always=True,
    identity=Identity((), fields=("author", "date")),
    run=Run((css("p, li, dd, div"),), (css("a.signs"),), (css("h2"),)),
)


def wiki() -> KnowledgeBase:
    level = PageLevel(
        "talk", "terminal", when(".discussion"), actions=(TALK,), addresses=(UrlRule(PathGlob("talk"), (("t", "*"),)),)
    )
    return KnowledgeBase((Application("wiki", "wiki", (sign(".wiki-sign"),), (level,)),))


def said(page: int, comment: int) -> str:
    return f"{WORDS[(page + comment) % len(WORDS)]} Number {10 * page + comment} of them."


def title(page: int, comment: int) -> str:
    return f"Ice of {1900 + 10 * page + comment}"


def old(heading: str) -> str:
    return f"<h2>{heading}</h2>"


def divided(heading: str) -> str:
    return f'<div class="topic"><b class="words">{heading}</b> <a href="/answer">answer</a></div>'


def named_by_itself(heading: str) -> str:
    own = "".join(chr(ord("k") + int(digit)) for digit in heading if digit.isdigit())
    return f'<h1><span id="{own}" class="{own}">{heading}</span><i>[<a href="/w?edit={own}">edit</a>]</i></h1>'


def talk(number: int, container: str, heading: Callable[[str], str], signs: str) -> Page:
    """Return a page with two sections of two comments each."""
    lines = []
    for comment in range(4):
        if comment % 2 == 0:
            lines.append(heading(title(number, comment)))
        name = NAMES[(number + comment) % len(NAMES)]
        link = f'<a class="{signs}" href="/wiki/User:{name.replace(" ", "_")}">{name}</a>'
        lines.append(f"<p>{said(number, comment)} {link} 10:{10 + comment}, {number} March 2022 (UTC)</p>")
    markup = (
        f"<html><head><title>Talk {number}</title></head><body class='wiki-sign discussion'><h1>Talk {number}</h1>"
        f"<div {container}>{''.join(lines)}</div><footer><p>All rights reserved.</p></footer></body></html>"
    )
    return html_page(f"{SITE}/talk?t={number}", markup)


@dataclass
class Crawl:
    """A helper that adapts; ``told`` is what it learned."""

    told: list[LearnedAction] = field(default_factory=list)

    def __post_init__(self) -> None:
        base = wiki()
        self.helper = ApplicationAwareHelper(base, adapter=adaptation(base, self.told.append))

    def read(self, page: Page, former: Metadata | None = None) -> Assistance:
        return self.helper.assist(page, former)


def told(objects: tuple[WebObject, ...]) -> list[tuple[object, ...]]:
    return [(each.first("title"), _name(each), each.first("body")) for each in objects]


def _name(each: WebObject) -> str:
    author = each.first("author")
    return author.name if isinstance(author, Person) else ""


def expected(number: int) -> list[tuple[object, ...]]:
    return [
        (
            title(number, comment) if comment % 2 == 0 else None,
            NAMES[(number + comment) % len(NAMES)],
            said(number, comment),
        )
        for comment in range(4)
    ]


@pytest.mark.parametrize("heading", [old, divided, named_by_itself])
@pytest.mark.parametrize("signs", ["signs", "person"])
@pytest.mark.parametrize("remembers", [True, False])
def test_comments_are_mended_with_titles_and_authors(
    heading: Callable[[str], str], signs: str, *, remembers: bool
) -> None:
    before, crawl = Crawl(), Crawl()
    for number in range(1, 6):
        former = before.read(talk(number, "id=talk", old, "signs")).objects
        assert told(former) == expected(number)
        metadata = Metadata(application="wiki", level="talk", objects=former) if remembers else None
        found = crawl.read(talk(number, "class=talks", heading, signs), metadata)
        assert told(found.objects) == expected(number)
    (learned,) = crawl.told
    assert learned.method is (Method.MEMORY if remembers else Method.INDUCED)
    assert len(learned.pages) == 2
