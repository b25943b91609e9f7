"""Writes an extraction action from the objects that a page shows."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from lxml import etree
from lxml.html import HtmlElement

from aahcrawler import urls
from aahcrawler.authoring.drafting import sheet
from aahcrawler.authoring.drafting.expressions import Expression, finding_all, finding_parts, numbered_stem
from aahcrawler.authoring.drafting.labelling import Specimen
from aahcrawler.page import Page, dates
from aahcrawler.page.text import fold, plain_text

_DAY_FIRST = 12
_NUMERIC_DATE = re.compile(r"\b(\d{1,2})[./-](\d{1,2})[./-](?:\d{4}|\d{2})\b")
_OFTEN = 0.8
_LEFT_OUT = re.compile(r"signature|edited|quote-?author|share|social|related|tags|byline|breadcrumb", re.IGNORECASE)
_GENERAL = frozenset({"post", "posts", "article", "articles", "thread", "threads", "topic", "topics", "html", "page"})
_MOST_OF_BODY = 0.3
_ATTRIBUTES = ("datetime", "content", "title", "data-time", "data-timestamp")


@dataclass(frozen=True, slots=True)
class Objects:
    """What the objects of an action are: its name, their type, and the type of the first.

    ``beside`` says that they are answers to the page's own object: there may be none, and they have no title.
    """

    action: str
    type: str
    first_type: str = ""
    beside: bool = False


def write_extract(parent: etree._Element, objects: Objects, specimen: Specimen, page: Page) -> Expression | None:
    """Append an extract action and return the expression of its items; None, and nothing written, without one."""
    item = finding_all(specimen.items, page.tree, _own_words(page))
    if item is None:
        return None
    several = specimen.many or objects.beside or bool(objects.first_type)
    sheet.guess(parent, f"objects are {specimen.evidence}; {_number(specimen, several=several)}{_exactness(item)}")
    attributes = {"name": objects.action, "type": objects.type}
    attributes |= {"first-type": objects.first_type} if objects.first_type else {}
    attributes |= ({"many": "yes"} if several else {}) | ({} if objects.beside else {"always": "yes"})
    extract = sheet.add(parent, "extract", attributes)
    sheet.add(extract, "item", item.attributes() | {"cite": sheet.UNPROVEN})
    if several:
        _write_identity(extract, specimen)
    if not objects.beside:
        _write_title(extract, page, first_only=several)
    _write_field(extract, "author", {"kind": "person"}, specimen)
    _write_date(extract, specimen, page, first_only=several)
    _write_body(extract, specimen, page)
    return item


def _number(specimen: Specimen, *, several: bool) -> str:
    if not several:
        return "one a page"
    if specimen.many:
        return f"{len(specimen.items)} found"
    return "only one found: begin again with a page that shows several, as that tells much more"


def _own_words(page: Page) -> frozenset[str]:
    """Return the words of a page's address that may stand in ids made for it alone."""
    words = re.findall(r"[a-z]{4,}", page.url.partition("://")[2].partition("/")[2].lower())
    return frozenset(words) - _GENERAL


def _exactness(expression: Expression) -> str:
    return "" if expression.share == 1 else f"; the item finds some others too or misses some ({expression.share:.0%})"


def _write_identity(extract: etree._Element, specimen: Specimen) -> None:
    items = specimen.items
    found = _own_ids(items) or _ids_within(items) or _fragments(items)
    if found is None:
        telling = [name for name in ("author", "date") if _found(specimen, name)] or ["body"]
        sheet.guess(
            extract, f"no number was found in the objects, so that they are told apart by {' and '.join(telling)}"
        )
        sheet.add(extract, "identity", {"fields": " ".join(telling)})
        return
    stem, xpath = found
    sheet.guess(extract, f"the number that follows {stem} tells the objects apart")
    identity = sheet.add(extract, "identity", {"trim": stem, "prefix": stem})
    sheet.add(identity, "select", {"xpath": xpath, "cite": sheet.UNPROVEN})


def _own_ids(items: Sequence[HtmlElement]) -> tuple[str, str] | None:
    stem = _common_stem([[item.get("id") or ""] for item in items])
    return (stem, "@id") if stem else None


def _ids_within(items: Sequence[HtmlElement]) -> tuple[str, str] | None:
    for attribute in ("id", "name"):
        stem = _common_stem([[each.get(attribute) or "" for each in item.iter()] for item in items])
        if stem:
            return stem, f"(.//*[starts-with(@{attribute}, '{stem}')])[1]/@{attribute}"
    return None


def _fragments(items: Sequence[HtmlElement]) -> tuple[str, str] | None:
    within = [[(link.get("href") or "").partition("#")[2] for link in item.iter("a")] for item in items]
    stem = _common_stem(within)
    return (stem, f"substring-after((.//a[contains(@href, '#{stem}')])[1]/@href, '#')") if stem else None


def _common_stem(words: Sequence[Sequence[str]]) -> str:
    """Return what stands before a number that each item has of its own, empty where there is no such thing."""
    counts = Counter(stem for some in words for stem in {numbered_stem(word) for word in some} if stem)
    for stem, count in counts.most_common():
        firsts = [next((word for word in some if numbered_stem(word) == stem), None) for some in words]
        if count == len(words) and len(set(firsts)) == len(words):
            return stem
    return ""


def _write_title(extract: etree._Element, page: Page, *, first_only: bool) -> None:
    heading = _heading(page)
    found = finding_all([heading], page.tree) if heading is not None else None
    only = {"page": "yes"} | ({"first-only": "yes"} if first_only else {})
    if found is not None and heading is not None:
        sheet.guess(extract, f'the title is the heading "{fold(plain_text(heading))[:60]}"')
    else:
        sheet.guess(extract, "no heading was found, so that the title is the one of the browser's window")
        found = Expression(css="head > title")
    field = sheet.add(extract, "field", {"name": "title"} | only)
    sheet.add(field, "select", found.attributes() | {"cite": sheet.UNPROVEN})


def _heading(page: Page) -> HtmlElement | None:
    """Return the heading with which the page's title begins, else one that it holds, else the first of the page.

    Headings that link to the front page name the site.
    """
    titles = " ".join(fold(plain_text(title)) for title in page.tree.iter("title")).lower()
    found = [each for tag in ("h1", "h2", "h3") for each in page.tree.iter(tag) if fold(plain_text(each))]
    headings = [each for each in found if not _names_site(each, page)]
    shown = {each: fold(plain_text(each)).lower() for each in headings}
    begun = [each for each in headings if titles.startswith(shown[each])]
    held = [each for each in headings if shown[each] in titles]
    best = max(begun or held, key=lambda each: len(shown[each]), default=None)
    return best if best is not None else next(iter(headings), None)


def _names_site(heading: HtmlElement, page: Page) -> bool:
    links = (urls.resolve(page.base_url, link.get("href") or "") for link in heading.iter("a"))
    return any(url == urls.origin(page.url) + "/" for url in links if url)


def _found(specimen: Specimen, part: str) -> tuple[Expression, ...]:
    return finding_parts(specimen.items, specimen.parts.get(part, (None,) * len(specimen.items)))


def _write_field(extract: etree._Element, name: str, attributes: dict[str, str], specimen: Specimen) -> None:
    known = specimen.known(name)
    expressions = _found(specimen, name)
    if not expressions:
        if specimen.items:
            sheet.note(extract, f"no {name} was found; add a field if the page shows one")
        return
    examples = ", ".join(dict.fromkeys(f'"{fold(plain_text(element))[:40]}"' for element in known[:3]))
    sheet.guess(extract, f"{name}: {examples}{_coverage(len(known), len(specimen.items))}{_by_place(expressions)}")
    field = sheet.add(extract, "field", {"name": name} | attributes)
    for expression in expressions:
        sheet.add(field, "select", expression.attributes() | {"cite": sheet.UNPROVEN})


def _write_date(extract: etree._Element, specimen: Specimen, page: Page, *, first_only: bool) -> None:
    known = specimen.known("date")
    expressions = _found(specimen, "date")
    if not expressions:
        sheet.guess(extract, "no date was found on the page; what its metadata declare is taken")
        declared = {"name": "date", "kind": "datetime", "declared": "datePublished dateCreated"}
        sheet.add(extract, "field", declared | ({"first-only": "yes"} if first_only else {}))
        return
    attribute = next((name for name in _ATTRIBUTES if _is_date_attribute(known, name, page.fetched_at)), "")
    shown = [element.get(attribute) or "" if attribute else fold(plain_text(element)) for element in known]
    order = "" if attribute in ("datetime", "content") else _order(shown)
    zone = "" if attribute == "datetime" else "; times are taken for UTC unless zone= says otherwise"
    sheet.guess(extract, f'date: "{shown[0][:60]}"{_doubt(order, shown)}{zone}{_by_place(expressions)}')
    field = sheet.add(extract, "field", {"name": "date", "kind": "datetime"} | ({"order": order} if order else {}))
    for expression in expressions:
        taken = Expression(expression.css, expression.xpath, attribute)
        sheet.add(field, "select", taken.attributes() | {"cite": sheet.UNPROVEN})


def _is_date_attribute(elements: Sequence[HtmlElement], name: str, now: datetime) -> bool:
    values = [element.get(name) or "" for element in elements]
    return all(value and dates.parse(value, now=now) is not None for value in values)


def _order(shown: Iterable[str]) -> str:
    """Return the order that numbers of dates prove, else the usual one, else nothing where no date needs it."""
    pairs = [(int(found[1]), int(found[2])) for text in shown if (found := _NUMERIC_DATE.search(text))]
    if any(second > _DAY_FIRST for _, second in pairs):
        return "mdy"
    return "dmy" if pairs else ""


def _doubt(order: str, shown: Iterable[str]) -> str:
    pairs = [(int(found[1]), int(found[2])) for text in shown if (found := _NUMERIC_DATE.search(text))]
    proven = any(number > _DAY_FIRST for pair in pairs for number in pair)
    return "; whether the day or the month comes first cannot be told here" if order and not proven else ""


def _write_body(extract: etree._Element, specimen: Specimen, page: Page) -> None:
    _write_field(extract, "body", {}, specimen)
    field = extract[-1]
    if field.get("name") != "body":
        return
    for css in dict.fromkeys((*_bylines(specimen, page), *_left_out(specimen.known("body")))):
        sheet.guess(field, f"this is no part of the text: {css}")
        sheet.add(field, "without", {"css": css, "cite": sheet.UNPROVEN})


def _bylines(specimen: Specimen, page: Page) -> Iterator[str]:
    """Yield selectors of what holds title, author or date within the text and nothing of the text itself."""
    bodies = specimen.parts.get("body", ())
    for parts in ((_heading(page),), specimen.parts.get("author", ()), specimen.parts.get("date", ())):
        pairs = [
            (body, part) for body, part in zip(bodies, parts, strict=False) if body is not None and part is not None
        ]
        holders = [(body, holder) for body, part in pairs if (holder := _holder(part, body)) is not None]
        found = finding_parts([body for body, _ in holders], [holder for _, holder in holders])
        yield from (expression.css for expression in found if expression.css)


def _holder(part: HtmlElement, body: HtmlElement) -> HtmlElement | None:
    """Climb from a part of a text as long as little of the text is within; None where it is no part of it."""
    above = list(part.iterancestors())
    if body not in above:
        return None
    most = _MOST_OF_BODY * len(plain_text(body))
    holder = part
    for element in above[: above.index(body)]:
        if len(plain_text(element)) > most:
            break
        holder = element
    return holder


def _left_out(bodies: Iterable[HtmlElement]) -> list[str]:
    words: dict[str, None] = {}
    for body in bodies:
        for element in body.iterdescendants():
            named = [word for word in (element.get("class") or "").split() if _LEFT_OUT.search(word)]
            words |= {f".{word}": None for word in named if re.fullmatch(r"[A-Za-z][A-Za-z_-]*", word)}
    return list(words)[:4]


def _coverage(known: int, total: int) -> str:
    return "" if known == total else f"; {known} of {total} objects have one"


def _by_place(expressions: Sequence[Expression]) -> str:
    if any(expression.xpath.startswith("(") for expression in expressions):
        return "; found by its place alone, as it has no name: look for something better"
    return ""
