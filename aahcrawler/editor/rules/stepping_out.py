"""Finds the element that a person means: by a text that it shows, or from an element that was clicked on outwards."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from lxml.html import HtmlElement

from aahcrawler.editor.rules.marked_pages import Role, holder
from aahcrawler.editor.rules.page_sample import SampledPage
from aahcrawler.editor.rules.selector_candidates import alike_beside
from aahcrawler.page.text import UNSEEN, fold, plain_text
from aahcrawler.wrapper_induction.element_features import is_name

MAX_FOUND = 50
MAX_READ = 6_000_000
"""The most characters that one search reads; in deeply nested markup, the same text is read many times."""
MIN_CHAIN = 2
MAX_AROUND = 12
MAX_COMPARED = 60
"""The most elements within an element that are compared to tell whether two are built alike."""
_ALIKE = 0.5
_WHOLE = 0.9
"""An element holds the whole of a text if it holds this share of it."""
_SHOWN = 80
_TELLING = frozenset({"a", "time", "h1", "h2", "h3", "h4", "h5", "h6"})
_PARAGRAPHS = frozenset({"p", "blockquote", "pre", "ul", "ol", "li", "br", "em", "strong", "i", "b", "code", "span"})


def elements_with(tree: HtmlElement, text: str, most: int = MAX_FOUND) -> tuple[HtmlElement, ...]:
    """Return the innermost elements that contain a text, those with the least text first.

    Case and white space do not matter. Nothing is found for a single character.
    """
    wanted = fold(text).casefold()
    if len(wanted) < MIN_CHAIN:
        return ()
    left = MAX_READ
    found: list[tuple[int, int, HtmlElement]] = []
    open_elements = [tree]
    while open_elements and left > 0:
        element = open_elements.pop()
        within: list[HtmlElement] = []
        for child in element:
            if not isinstance(child.tag, str) or child.tag in UNSEEN:
                continue
            held = fold(plain_text(child)).casefold()
            left -= len(held) + 1
            if wanted in held:
                within.append(child)
            if left <= 0:
                break
        open_elements += reversed(within)
        if not within and element is not tree:
            found.append((len(plain_text(element)), len(found), element))
    return tuple(element for _, _, element in sorted(found, key=lambda each: each[:2])[:most])


@dataclass(frozen=True, slots=True)
class Around:
    """An element, or one around it. ``words`` name it, ``text`` is the beginning of its text.

    ``alike`` is the number of its siblings that are like it, ``objects`` the number of recorded objects in it.
    """

    element: HtmlElement
    words: str
    text: str
    alike: int
    objects: int


def around(page: SampledPage, element: HtmlElement) -> tuple[Around, ...]:
    """Return an element and its ancestors up to the body of the page, the innermost first; at most 12."""
    line = islice(_line(element), MAX_AROUND)
    return tuple(Around(each, named(each), _beginning(each), alike_beside(each), _held(page, each)) for each in line)


def meant(
    page: SampledPage, element: HtmlElement, role: Role, field: str = "", items: Sequence[HtmlElement] = ()
) -> HtmlElement:
    """Return the element that a click probably means: the element itself or one around it.

    For an object it is the whole of it, for a link the link, for a body the element with the whole text, and for a name
    or a date the outer element that links or gives it as well. ``items`` are the elements of the objects.
    """
    if role is Role.LINKS:
        return next((each for each in _line(element) if each.tag in ("a", "area")), _only_link(element))
    if role is Role.ITEM:
        return _object(page, element)
    if role is not Role.FIELD:
        return element
    within = holder(element, tuple(items))
    line = [each for each in _line(element) if within is None or within in each.iterancestors() or each is element]
    return _body(page, line, within) if field == "body" else _value(line)


def named(element: HtmlElement) -> str:
    """Return an element as people may know it: its tag, with its id and classes from the template."""
    words = [word for word in (element.get("class") or "").split()[:8] if is_name(word)][:3]
    identity = element.get("id") or ""
    return str(element.tag) + (f"#{identity}" if is_name(identity) else "") + "".join(f".{word}" for word in words)


def _line(element: HtmlElement) -> Iterator[HtmlElement]:
    """Yield an element and its ancestors up to the body of the page."""
    current: HtmlElement | None = element
    while current is not None and current.tag not in ("body", "html"):
        yield current
        current = current.getparent()


def _only_link(element: HtmlElement) -> HtmlElement:
    links = list(islice(element.iter("a"), 2))
    return links[0] if len(links) == 1 else element


def _object(page: SampledPage, element: HtmlElement) -> HtmlElement:
    """Return the ancestor of an element that contains exactly one object, by recorded objects or by similar siblings.

    Of several such elements, the outermost is returned that has the same names as those around most other objects.
    """
    line = list(_line(element))
    holding = [each for each in line if _held(page, each) == 1]
    if holding and len(page.places) > 1:
        kinds = Counter(kind for place in page.places.values() for kind in {_kind(each) for each in _line(place)})
        return max(reversed(holding), key=lambda each: kinds[_kind(each)])
    place = next((each for each in page.places.values() if each in line), None)
    if place is not None:
        return place
    repeated = [each for each in line if each.tag not in _PARAGRAPHS - {"li"} and _are_repeated(each)]
    return repeated[-1] if repeated else _article(line)


def _article(line: Sequence[HtmlElement]) -> HtmlElement:
    """Return the element of a line of ancestors that is the page's subject: it has a heading, or is marked as such."""
    told = (each for each in line if each.tag in ("article", "main") or each.get("itemtype"))
    headed = (each for each in line if next(each.iter("h1", "h2"), None) is not None)
    blocks = (each for each in line if each.tag not in _PARAGRAPHS)
    return next((each for found in (told, headed, blocks) for each in found), line[0])


def _kind(element: HtmlElement) -> tuple[str, frozenset[str]]:
    words = frozenset(word for word in (element.get("class") or "").split()[:8] if is_name(word))
    return str(element.tag), words


def _held(page: SampledPage, element: HtmlElement) -> int:
    return sum(place is element or element in place.iterancestors() for place in page.places.values())


def _are_repeated(element: HtmlElement) -> bool:
    """Return whether an element has siblings that are built alike."""
    parent = element.getparent()
    if parent is None or not alike_beside(element):
        return False
    built = _built(element)
    beside = (each for each in parent if each is not element and each.tag == element.tag)
    return any(_is_alike(built, _built(each)) for each in islice(beside, MAX_COMPARED))


def _built(element: HtmlElement) -> frozenset[tuple[str, str]]:
    within = islice(element.iter("*"), MAX_COMPARED)
    return frozenset((str(each.tag), word) for each in within for word in (each.get("class") or "-").split()[:8])


def _is_alike(one: frozenset[tuple[str, str]], other: frozenset[tuple[str, str]]) -> bool:
    return len(one & other) > _ALIKE * len(one | other)


def _body(page: SampledPage, line: Sequence[HtmlElement], within: HtmlElement | None) -> HtmlElement:
    """Return the innermost element of a line that contains the whole text: the recorded one, or all paragraphs."""
    around_it = within if within is not None else line[-1]
    known = [
        each
        for each in page.reading.objects
        if (at := page.places.get(each.number)) is not None
        and (at is around_it or around_it in at.iterancestors() or at in around_it.iterancestors())
    ]
    if len(known) == 1 and known[0].body:
        least = _WHOLE * len(fold(known[0].body))
        whole = next((each for each in line if len(fold(plain_text(each))) >= least), None)
        if whole is not None:
            return whole
    return next((each for each in line if each.tag not in _PARAGRAPHS), line[0])


def _value(line: Sequence[HtmlElement]) -> HtmlElement:
    """Return the outer element with the same text as the innermost one that is a link, a time or a heading."""
    text = fold(plain_text(line[0]))
    same = [each for each in line if fold(plain_text(each)) == text] if text else []
    return next((each for each in same if each.tag in _TELLING), line[0])


def _beginning(element: HtmlElement) -> str:
    text = fold(plain_text(element))
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN].rstrip()}…"
