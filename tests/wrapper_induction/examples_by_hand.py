"""Examples made by hand: pages written to the structure of templates, and expressions that say where things stand."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from lxml.html import HtmlElement

from aahcrawler.page import Page, dates
from aahcrawler.page.text import fold, plain_text
from aahcrawler.webobject import Person, Value, WebObject
from aahcrawler.wrapper_induction.examples import Label, LabelledExample, LabelledObject, Method
from aahcrawler.wrapper_induction.induce import run
from aahcrawler.wrapper_induction.wrapper import Wrapper
from knowledge_base.model import Extract, Field, FieldKind, Identity
from knowledge_base.selectors import compile_selector
from tests.page.building import page_of

NOW = datetime(2026, 1, 1, tzinfo=UTC)
NOTHING = compile_selector(css="gone")

WORDS = (
    "The harbour froze over in January and everybody walked across it.",
    "Nobody believed it at first, least of all the ferry company.",
    "We had to break the ice around the hull every single morning.",
    "The bakery by the pier sold hot soup out of the window.",
    "Then the wind turned and within two days it was all gone.",
    "I still have the photographs somewhere in the attic.",
    "My grandfather told the same of the winter of forty-seven.",
)
NAMES = ("Ann Boyd", "Jan", "Olga Petrova", "Müller", "slowpoke", "王小明", "Bo")


def field_of(name: str, kind: FieldKind = FieldKind.TEXT, **more: object) -> Field:
    return Field(name, kind, (NOTHING,), **more)  # type: ignore[arg-type]


def posts(*fields: Field, identity: Identity | None = None) -> Extract:
    """Return an action for posts that finds nothing any more."""
    return Extract(
        name="posts",
        type="reply",
        items=(NOTHING,),
        fields=fields or (AUTHOR, DATE, BODY),
        many=True,
        always=True,
        first_type="post",
        identity=identity or Identity((NOTHING,), ("p",), "p"),
    )


AUTHOR = field_of("author", FieldKind.PERSON)
DATE = field_of("date", FieldKind.DATETIME)
BODY = field_of("body")
TITLE = field_of("title", page=True, first_only=True)


@dataclass(frozen=True)
class Marks:
    """Where a template has things, in XPath: items, and fields relative to them.

    ``/@name`` behind the path of a field is the attribute of the label; ``values`` say what is its value where that is
    not all of the text, ``without`` what in it does not belong to it, ``beside`` which other elements an item has.
    """

    item: str
    fields: Mapping[str, str] = field(default_factory=dict)
    without: Mapping[str, str] = field(default_factory=dict)
    beside: str = ""
    values: Mapping[str, str] = field(default_factory=dict)


def example(page: Page, marks: Marks, confidence: float = 0.9) -> LabelledExample:
    """Return what a repair strategy with these marks would say of a page."""
    items = [item for item in page.tree.xpath(marks.item) if isinstance(item, HtmlElement)]
    return LabelledExample(page, Method.INDUCED, tuple(_labelled(item, marks) for item in items), confidence)


def _labelled(item: HtmlElement, marks: Marks) -> LabelledObject:
    others = item.xpath(marks.beside) if marks.beside else []
    labels: dict[str, Label] = {}
    for name, marked in marks.fields.items():
        path, _, attribute = marked.partition("/@")
        found = item.xpath(path)
        if not found:
            continue
        without = tuple(part for each in found for part in each.xpath(marks.without.get(name, "self::none")))
        text = found[0].get(attribute) if attribute else "\n".join(plain_text(each, without) for each in found)
        if name in marks.values:
            text = item.xpath(marks.values[name])
        labels[name] = Label(tuple(found), _value(name, fold(text) if name != "body" else text), attribute, without)
    return LabelledObject((item, *others), labels)


def _value(name: str, text: str) -> Value:
    if name == "author":
        return Person(text)
    if name == "date":
        moment = dates.parse(text, now=NOW)
        assert moment is not None, text
        return moment
    return text


def read(learned: Wrapper, page: Page) -> list[tuple[object, ...]]:
    """Return fragment, author, date and body of each object that the learned action finds."""
    found = run(learned.action, page)
    assert found is not None
    return [_shown(each) for each in found]


def _shown(each: WebObject) -> tuple[object, ...]:
    author, date = each.first("author"), each.first("date")
    return (
        each.iri.partition("#")[2],
        author.name if isinstance(author, Person) else author,
        f"{date:%d.%m.%Y %H:%M}" if isinstance(date, datetime) else date,
        each.first("body"),
    )


def expected(count: int, first: int = 1, prefix: str = "p") -> list[tuple[object, ...]]:
    return [
        (f"{prefix}{n}", NAMES[n % len(NAMES)], f"{n % 27 + 1:02}.03.2022 10:{n % 60:02}", WORDS[n % len(WORDS)])
        for n in range(first, first + count)
    ]


def texts(learned: Wrapper) -> Sequence[str]:
    """Return all expressions as written."""
    action = learned.action
    selectors = [*action.items, *(each for field in action.fields for each in (*field.selectors, *field.without))]
    return [each.css or each.source for each in selectors]


def page(markup: str, name: str = "t=1") -> Page:
    page = page_of(f"<body>{markup}</body>", url=f"http://forum.test/viewtopic.php?{name}")
    return replace(page, fetched_at=NOW)
