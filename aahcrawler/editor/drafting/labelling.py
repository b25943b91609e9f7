"""Label the objects that a page shows, with the elements of their parts: the input of a draft.

The one note of each labelled page describes how the objects were found.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import cast

from lxml.etree import _Element as Element
from lxml.html import HtmlElement

from aahcrawler.helper.extraction.field_reader import as_date
from aahcrawler.induction import (
    MainPart,
    Nature,
    PreparedPage,
    Record,
    RecordSet,
    Region,
    find_records,
    main_part,
    records,
)
from aahcrawler.induction.field_labels import names_nobody
from aahcrawler.induction.generic_objects import is_byline
from aahcrawler.page import Page, dates
from aahcrawler.page.text import fold, plain_text
from aahcrawler.webobject import Person
from aahcrawler.wrapper_induction.examples import Label, LabelledExample, LabelledObject, Method
from knowledge_base.model import DateFormat

MAX_ELEMENTS = 5000
DATA_COLUMNS = 3
MAX_VALUE_LENGTH = 60
"""Characters of a text beside a label up to which it is a value and no running text."""

_NUMBER = re.compile(r"\d+")
_LETTER = re.compile(r"[^\W\d_]")
_SENTENCE = re.compile(r"[.!?。！？]['\"»”)]?\s+\S")
_UNSHOWN = frozenset({"script", "style", "template", "noscript", "head"})
_Place = tuple[str, ...]


@dataclass(frozen=True)
class TemplateParts:
    """The elements of each page, by URL, that have the same text on all pages, or labels with short varying values."""

    parts: dict[str, tuple[HtmlElement, ...]]

    @classmethod
    def of(cls, pages: Sequence[Page]) -> "TemplateParts":
        """Compare pages of one level; a single page has nothing to be compared with."""
        if len(pages) < 2:
            return cls({})
        placed = [_unique_places(page) for page in pages]
        texts = {
            place: [_texts(each[place]) for each in placed]
            for place in placed[0]
            if all(place in each for each in placed)
        }
        shared = [place for place, each in texts.items() if _is_template(each)]
        return cls({page.url: _outermost(each, shared) for page, each in zip(pages, placed, strict=True)})

    def on(self, page: Page) -> tuple[HtmlElement, ...]:
        """Return the outermost of such elements of a page, in document order."""
        return self.parts.get(page.url, ())

    def within(self, holder: Element, page: Page) -> tuple[HtmlElement, ...]:
        """Return those within an element that are named, so that an expression can leave them out."""
        named = (each for each in self.on(page) if each.get("class") or each.get("id"))
        return tuple(each for each in named if any(above is holder for above in each.iterancestors()))


def _unique_places(page: Page) -> dict[_Place, HtmlElement]:
    """Return the elements whose path of tags and classes is unique on the page."""
    found: dict[_Place, HtmlElement] = {}
    counted: Counter[_Place] = Counter()
    places: dict[Element, _Place] = {}
    for number, element in enumerate(page.tree.iter()):
        if number == MAX_ELEMENTS:
            break
        if not isinstance(element.tag, str) or element.tag in _UNSHOWN or _is_of_data(element):
            continue
        parent = element.getparent()
        above = places.get(parent, ()) if parent is not None else ()
        own = _NUMBER.sub("#", " ".join(element.get(name) or "" for name in ("class", "id")))
        place = (*above, f"{element.tag}.{own}")
        places[element] = place
        counted[place] += 1
        found[place] = element
    return {place: element for place, element in found.items() if counted[place] == 1}


def _is_of_data(element: HtmlElement) -> bool:
    """Return whether an element is a table of data or of one: three columns and more are no labels beside values."""
    table = element if element.tag == "table" else next(element.iterancestors("table"), None)
    if table is None or next(table.iterdescendants("table"), None) is not None:
        return False
    first = next(table.iterdescendants("tr"), None)
    return first is not None and sum(cell.tag in ("td", "th") for cell in first) >= DATA_COLUMNS


def _texts(element: HtmlElement) -> tuple[str, ...]:
    """Return the texts within an element, each of one text node."""
    found = []
    for inner in element.iter():
        if isinstance(inner.tag, str) and inner.tag not in _UNSHOWN:
            found.append(fold(inner.text or ""))
        if inner is not element:
            found.append(fold(inner.tail or ""))
    return tuple(text for text in found if text)


def _is_template(texts: Sequence[tuple[str, ...]]) -> bool:
    """Return whether the texts at one place of several pages are labels that all have, and short values."""
    if not all(texts):
        return False
    shared = set(texts[0]).intersection(*texts[1:])
    if not any(map(_LETTER.search, shared)):
        return False
    values = [text for each in texts for text in each if text not in shared]
    return all(len(text) <= MAX_VALUE_LENGTH and not _SENTENCE.search(text) for text in values)


def _outermost(placed: dict[_Place, HtmlElement], shared: Sequence[_Place]) -> tuple[HtmlElement, ...]:
    known = set(shared)
    return tuple(
        placed[place]
        for place in shared
        if not any(above in known for above in (place[:length] for length in range(1, len(place))))
    )


MAX_NAME_LENGTH, MAX_DATE_LENGTH = 60, 120
MAX_LINE_LENGTH = 240
"""Characters of the element around a name up to which it is no running text."""
MAX_WORDS_BEFORE = 3

_AUTHOR = re.compile(r"author|byline|username|user-name|poster|vcard|creator|\bby\b", re.IGNORECASE)
_DATE = re.compile(r"date|time|posted|published", re.IGNORECASE)
_LEADS_TO_NAME = re.compile(
    r"(?:^|\s)(?:by|von|par|por|di|door|av|af|przez|oleh|autor|auteur|autore|author|от|автор|από)\W*$", re.IGNORECASE
)
MIN_TEXT = 20
"""Characters of an object's text; anything shorter is a button or a menu."""
MAX_ITEMS = 60
_WORKS = re.compile(r"(?:\w*Posting|\w*Article|Report|Recipe|Review|VideoObject|Photograph|MusicRecording)$")
_REPEATED = re.compile(r"(?:DiscussionForumPosting|SocialMediaPosting|Comment|Answer|Question|UserComments)$")
_PROPERTIES: Mapping[str, tuple[str, ...]] = {
    "title": ("headline", "name"),
    "author": ("author", "creator"),
    "date": ("datePublished", "dateCreated", "commentTime", "uploadDate"),
    "body": ("articleBody", "text", "commentText", "reviewBody", "description"),
}
_HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
_LINES = frozenset({"p", "blockquote", "pre", "ul", "ol", "table", "br", "figure", "dl", *_HEADINGS})
_SHARE = 0.7
_DATE_ATTRIBUTES = ("datetime", "content", "title", "data-time", "data-timestamp")
_BESIDE = re.compile(r"signature|edited|quote-?author|share|social|related|tags|byline|breadcrumb", re.IGNORECASE)
_MAX_OF_BODY = 0.3
_Parts = Mapping[str, Sequence[HtmlElement | None]]
"""For each field the element of each item, None if an item has none."""


def date_in(item: HtmlElement, page: Page) -> HtmlElement | None:
    """Return the first element of an item that is named a date and shows one, alone or beside icons."""
    times = list(_html(item.iter("time")))
    named = (each for each in _html(item.iter()) if _DATE.search(_names(each)) and not _holds_text_within(each))
    for element in (*times, *named):
        shown = element.get("datetime") or element.get("title") or plain_text(element)
        if shown and len(shown) <= MAX_DATE_LENGTH and dates.read_date(shown, now=page.fetched_at) is not None:
            return element
    return None


def author_in(item: HtmlElement) -> HtmlElement | None:
    """Return the element of an item that is named its author, else a link in a short line after a word such as by."""
    named = [element for element in _html(item.iter()) if _AUTHOR.search(_names(element))]
    short = [element for element in named if 0 < len(plain_text(element)) <= MAX_NAME_LENGTH]
    return next(_html(short[0].iter("a")), short[0]) if short else _introduced(item)


def _introduced(item: HtmlElement) -> HtmlElement | None:
    """Return the first link that follows a word which leads to a name."""
    before = ""
    for element in item.iter():
        if not isinstance(element.tag, str):
            continue
        if element.tag == "a" and _leads_to_name(before) and _is_name(_html_of(element)):
            return _html_of(element)
        before = fold(element.text or "") or before
        for closed in _closed_at(element, item):
            before = fold(closed.tail or "") or before
    return None


def _closed_at(element: Element, item: Element) -> Iterator[Element]:
    """Yield the elements within an item that end together with a childless element, the innermost first."""
    if len(element):
        return
    current: Element | None = element
    while current is not None and current is not item:
        yield current
        if current.getnext() is not None:
            return
        current = current.getparent()


def _leads_to_name(text: str) -> bool:
    words = text.split()
    return len(words) <= MAX_WORDS_BEFORE and _LEADS_TO_NAME.search(text) is not None and names_nobody(text)


def _is_name(link: HtmlElement) -> bool:
    shown = plain_text(link)
    above = link.getparent()
    if not 0 < len(shown) <= MAX_NAME_LENGTH or not any(map(str.isalpha, shown)) or above is None:
        return False
    return len(plain_text(above)) <= MAX_LINE_LENGTH


def _holds_text_within(element: HtmlElement) -> bool:
    """Return whether a child of an element holds text; icons hold none."""
    return any(isinstance(child.tag, str) and plain_text(child) for child in element)


def _names(element: HtmlElement) -> str:
    return " ".join(element.get(name) or "" for name in ("class", "rel", "itemprop"))


def _html(elements: Iterator[Element]) -> Iterator[HtmlElement]:
    return (cast("HtmlElement", element) for element in elements if isinstance(element.tag, str))


def _html_of(element: Element) -> HtmlElement:
    return cast("HtmlElement", element)


def ways_of_repeated(page: Page) -> Iterator[LabelledExample]:
    """Yield the full texts of people on a page, posts of a thread or comments, as found in one way and another."""
    yield from ways_of_answers(page)
    if (articles := _articles(page)) is not None:
        yield articles


def ways_of_answers(page: Page) -> Iterator[LabelledExample]:
    """Yield the repeated texts of a page about one thing, on which articles may be teasers of other things."""
    found = _declared(page, _REPEATED)
    if found is not None and len(found.objects) > 1:
        yield found
    if (induced := _induced(page)) is not None:
        yield induced


def ways_of_single(page: Page, template: TemplateParts | None = None) -> Iterator[LabelledExample]:
    """Yield the one thing a page is about, such as an article, as found in one way and another; none without text.

    ``template`` is what the page has in common with others of its level.
    """
    differing = _differing(page, template) if template is not None else None
    for found in (_declared(page, _WORKS, only=True), _only_article(page), _main(page), differing, _longest(page)):
        if found is not None:
            yield found


def without_template(example: LabelledExample, template: TemplateParts) -> LabelledExample:
    """Return an example of a single object without the parts of its body that are the same on all pages."""
    label = example.objects[0].labels.get("body") if len(example.objects) == 1 else None
    common = template.within(label.elements[0], example.page) if label is not None else ()
    if label is None or not common:
        return example
    without = tuple(dict.fromkeys((*label.without, *(each for each in common if not _is_held(each, label.without)))))
    body = replace(label, value=plain_text(label.elements[0], without), without=without)
    only = example.objects[0]
    return replace(example, objects=(replace(only, labels={**only.labels, "body": body}),)) if body.value else example


def _is_held(element: HtmlElement, holders: Sequence[Element]) -> bool:
    return element in holders or not set(element.iterancestors()).isdisjoint(holders)


def with_wider_bodies(example: LabelledExample) -> LabelledExample | None:
    """Return an example whose bodies are the elements around them; None if none is within its object."""
    objects = tuple(map(_widened, example.objects))
    return replace(example, objects=objects) if objects != example.objects else None


def _widened(labelled: LabelledObject) -> LabelledObject:
    label, item = labelled.labels.get("body"), labelled.elements[0]
    if label is None or label.elements[0] is item:
        return labelled
    above = label.elements[0].getparent()
    if above is None or (above is not item and item not in above.iterancestors()):
        return labelled
    own = {name: _html_of(each.elements[0]) for name, each in labelled.labels.items()}
    return replace(labelled, labels={**labelled.labels, "body": _body_label({**own, "body": _html_of(above)})})


def deepest_with_text(
    holder: HtmlElement, besides: Sequence[HtmlElement] = (), lines: Set[str] = _LINES
) -> HtmlElement:
    """Return the innermost element that still holds most of an element's text and is none of the ``lines`` of one."""
    skipped = set(besides)
    current = holder
    while True:
        total = len(plain_text(current, besides))
        children = [child for child in current if isinstance(child.tag, str) and child not in skipped]
        best = max(children, key=lambda child: len(plain_text(child, besides)), default=None)
        if best is None or best.tag in lines or len(plain_text(best, besides)) < _SHARE * total:
            return current
        current = best


def _declared(page: Page, types: re.Pattern[str], *, only: bool = False) -> LabelledExample | None:
    """Read microdata: elements with their schema.org type; with ``only``, the only such element."""
    scopes = [element for element in _html(page.tree.iter()) if types.search(element.get("itemtype") or "")]
    items = [scope for scope in scopes if _property(scope, "body") is not None][:MAX_ITEMS]
    if not items or (only and len(items) > 1):
        return None
    kinds = sorted({(item.get("itemtype") or "").rpartition("/")[2] for item in items})
    parts = {part: [_property(item, part) for item in items] for part in _PROPERTIES}
    return _labelled(page, items, parts, f"elements that call themselves {', '.join(kinds)} in the words of schema.org")


def _property(scope: HtmlElement, part: str) -> HtmlElement | None:
    """Return the element of a property of the scope itself, not of one within it, unless it describes the value."""
    for name in _PROPERTIES[part]:
        for element in _html(scope.iter()):
            if name in (element.get("itemprop") or "").split() and _scope(element) is scope:
                return element
    return None


def _scope(element: HtmlElement) -> Element | None:
    return next((holder for holder in element.iterancestors() if holder.get("itemscope") is not None), None)


def _articles(page: Page) -> LabelledExample | None:
    """Take the ``article`` elements that have a date and hold text and no other article."""
    items = [item for item in _innermost_articles(page) if date_in(item, page) is not None]
    return _with_parts(page, items, "article elements with dates") if len(items) > 1 else None


def _only_article(page: Page) -> LabelledExample | None:
    items = _innermost_articles(page)
    return _with_parts(page, items, "the page's only article element") if len(items) == 1 else None


def _innermost_articles(page: Page) -> list[HtmlElement]:
    found = _html(page.tree.iter("article"))
    innermost = [element for element in found if next(element.iterdescendants("article"), None) is None]
    return [element for element in innermost if len(plain_text(element)) >= MIN_TEXT][:MAX_ITEMS]


def _induced(page: Page) -> LabelledExample | None:
    """Return the page's repeated texts with authors and dates, the set with most text."""
    sets = [found for found in records(page) if found.nature is Nature.POSTS and len(found.records) > 1]
    best = max(sets, key=_text_of, default=None)
    if best is None:
        return None
    wanted = best.records[:MAX_ITEMS]
    items = _widest([record.element for record in wanted])
    parts = {
        "author": tuple(_author_of(record, item) for record, item in zip(wanted, items, strict=True)),
        "date": tuple(_html_of(record.date.element) if record.date else None for record in wanted),
        "body": _whole_bodies([_holder(record.body) for record in wanted], items),
    }
    return _labelled(page, items, parts, "repeated elements with authors or dates", wanted)


def _author_of(record: Record, item: HtmlElement) -> HtmlElement | None:
    """Return the element of a record's author, the one with the most specific name if there are several."""
    if record.author is None:
        return None
    named = author_in(item)
    shown = fold(plain_text(named)) if named is not None else ""
    return named if shown and shown in record.author.name else _html_of(record.author.element)


def _text_of(found: RecordSet) -> int:
    return sum(len(record.body.plain()) for record in found.records if record.body is not None)


def _widest(elements: Sequence[Element]) -> tuple[HtmlElement, ...]:
    """Climb from each element equally far, as long as no ancestor contains another of the elements."""
    holders = Counter(above for element in elements for above in element.iterancestors())
    own = [[element, *(above for above in element.iterancestors() if holders[above] == 1)] for element in elements]
    steps = min(map(len, own)) - 1
    return tuple(_html_of(climbed[steps]) for climbed in own)


def _holder(region: Region | None) -> HtmlElement | None:
    """Return the element of a region, or the one around all of its elements."""
    if region is None or not region.elements:
        return None
    first = region.elements[0]
    above = first.getparent()
    return _html_of(first if len(region.elements) == 1 or above is None else above)


def _whole_bodies(bodies: Sequence[HtmlElement | None], items: Sequence[HtmlElement]) -> tuple[HtmlElement | None, ...]:
    """Return the elements that hold bodies as a whole, where single paragraphs were found of some.

    A text of one paragraph is in the same element as longer ones: the one named as theirs, else the one around it that
    holds nothing else.
    """
    names = Counter((body.tag, body.get("class")) for body in bodies if body is not None and body.tag not in _LINES)
    usual = names.most_common(1)[0][0] if names else None
    found: list[HtmlElement | None] = []
    for body, item in zip(bodies, items, strict=True):
        found.append(_whole_body(body, item, usual) if body is not None and body.tag in _LINES else body)
    return tuple(found)


def _whole_body(body: HtmlElement, item: HtmlElement, usual: tuple[object, str | None] | None) -> HtmlElement:
    above = [each for each in _html(body.iterancestors()) if item is each or item in each.iterancestors()]
    named = next((each for each in above if (each.tag, each.get("class")) == usual), None)
    if named is not None:
        return named
    text = plain_text(body)
    return next((each for each in above if each.tag not in _LINES and plain_text(each) == text), body)


def _main(page: Page) -> LabelledExample | None:
    """Take the main text of a page, with the author and the date that belong to it."""
    prepared = PreparedPage.of(page)
    found = main_part(prepared.outline, prepared.shown, find_records(prepared), prepared.names)
    body = _holder(found.body) if found is not None else None
    if found is None or body is None or len(plain_text(body)) < MIN_TEXT:
        return None
    byline = found.author if found.author is not None and is_byline(found.author) else None
    named = author_in(body) if byline else None
    author = named if named is not None else _html_of(byline.element) if byline else None
    date = _html_of(found.date.element) if found.date else None
    item = next(
        above
        for above in (body, *_html(body.iterancestors()))
        if all(part is None or part is above or above in part.iterancestors() for part in (author, date))
    )
    parts = {"author": (author,), "date": (date,), "body": (body,)}
    return _labelled(page, [item], parts, "the element that holds most of the running text", [found])


def _differing(page: Page, template: TemplateParts) -> LabelledExample | None:
    """Return the innermost element with most of the text that is neither of the template nor of answers."""
    body = next(_html(page.tree.iter("body")), None)
    common = template.on(page)
    if body is None or not common:
        return None
    answers = [_html_of(each.elements[0]) for example in ways_of_answers(page) for each in example.objects]
    headings = [each for each in _html(body.iter("h1", "h2", "h3")) if body is not each]
    holder = deepest_with_text(body, (*common, *answers, *headings), _LINES - {"table"})
    if holder is body or len(plain_text(holder, (*common, *answers))) < MIN_TEXT:
        return None
    above = [each for each in _html(holder.iterancestors()) if body in each.iterancestors()]
    item = next((each for each in above if any(each in heading.iterancestors() for heading in headings)), holder)
    own = {"date": date_in(item, page), "author": author_in(item)}
    found = {name: None if part is not None and _is_held(part, answers) else part for name, part in own.items()}
    parts = {**{name: (part,) for name, part in found.items()}, "body": (holder,)}
    return _labelled(page, [item], parts, "the element that holds most of what differs from page to page")


def _longest(page: Page) -> LabelledExample | None:
    """Return the element with most of the text, whatever it is."""
    body = next(_html(page.tree.iter("body")), None)
    if body is None or len(plain_text(body)) < MIN_TEXT:
        return None
    mains = [element for element in _html(body.iter()) if element.tag == "main" or element.get("role") == "main"]
    holder = mains[0] if len(mains) == 1 else deepest_with_text(body)
    return _with_parts(page, [holder], "the element that holds most of the text")


def _with_parts(page: Page, items: Sequence[HtmlElement], evidence: str) -> LabelledExample:
    dated = tuple(date_in(item, page) for item in items)
    authors = tuple(author_in(item) for item in items)
    titles = tuple(next(_html(item.iter(*_HEADINGS)), None) for item in items)
    besides = [tuple(part for part in three if part is not None) for three in zip(dated, authors, titles, strict=True)]
    bodies = tuple(deepest_with_text(item, known) for item, known in zip(items, besides, strict=True))
    return _labelled(page, items, {"title": titles, "author": authors, "date": dated, "body": bodies}, evidence)


def _labelled(
    page: Page, items: Sequence[HtmlElement], parts: _Parts, evidence: str, told: Sequence[Record | MainPart] = ()
) -> LabelledExample:
    """Label the parts of items; the caller labels titles, since it knows whether the objects have one.

    ``told`` are the results of induction for each item: names and dates may be a part of their elements' text.
    """
    dated = [element for element in parts.get("date", ()) if element is not None]
    attribute = _date_attribute(dated, page)
    objects: list[LabelledObject] = []
    for number, item in enumerate(items):
        own = {name: element for name, elements in parts.items() if (element := elements[number]) is not None}
        record = told[number] if told else None
        labels = {
            "author": _author_label(own["author"], record) if "author" in own else None,
            "date": _date_label(own["date"], attribute, record, page) if "date" in own else None,
            "body": _body_label(own) if "body" in own else None,
        }
        known = {name: label for name, label in labels.items() if label is not None}
        objects.append(LabelledObject((item,), known))
    return LabelledExample(page, Method.INDUCED, tuple(objects), 1.0, notes=(evidence,))


def _author_label(element: HtmlElement, record: Record | MainPart | None) -> Label | None:
    shown = fold(plain_text(element))
    name = fold(record.author.name) if record is not None and record.author is not None else ""
    return Label((element,), Person(name if name and name in shown else shown)) if shown else None


def _date_label(element: HtmlElement, attribute: str, record: Record | MainPart | None, page: Page) -> Label | None:
    shown = element.get(attribute) if attribute else fold(plain_text(element))
    moment = as_date(shown or "", DateFormat(), page)
    if moment is None and record is not None and record.date is not None:
        moment = record.date.moment
    return Label((element,), moment, attribute) if moment is not None else None


def _body_label(own: Mapping[str, HtmlElement]) -> Label:
    body = own["body"]
    without = _left_out(body, [part for name, part in own.items() if name != "body"])
    return Label((body,), plain_text(body, without), without=without)


def _date_attribute(elements: Sequence[HtmlElement], page: Page) -> str:
    """Return the attribute that gives the date on all of some elements, empty if their text is to be read."""
    values = {name: [element.get(name) or "" for element in elements] for name in _DATE_ATTRIBUTES}
    dated = (name for name in values if all(dates.read_date(value, now=page.fetched_at) for value in values[name]))
    return next(dated, "")


def _left_out(body: HtmlElement, beside: Sequence[HtmlElement]) -> tuple[HtmlElement, ...]:
    """Return elements of a body outside its text: lines of title, author and date, and elements named so.

    Nothing is returned within another part of the result.
    """
    lines = [holder for part in beside if (holder := _line_of(part, body)) is not None]
    named = (each for each in _html(body.iterdescendants()) if _BESIDE.search(each.get("class") or ""))
    found = dict.fromkeys((*lines, *named))
    return tuple(each for each in found if found.keys().isdisjoint(each.iterancestors()))


def _line_of(part: HtmlElement, body: HtmlElement) -> HtmlElement | None:
    """Climb from a part of a text as long as little of the text is within; None if it is no part of it."""
    above = list(part.iterancestors())
    if body not in above:
        return None
    most = _MAX_OF_BODY * len(plain_text(body))
    holder = part
    for element in above[: above.index(body)]:
        if len(plain_text(element)) > most:
            break
        holder = element
    return holder
