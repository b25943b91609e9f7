"""Expressions that find given elements, made of what templates keep: names, not numbers, places or generated words."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import TypeVar

from lxml.html import HtmlElement

from knowledge_base.selectors import Selector, compile_selector, css_to_xpath

MOST_ABOVE = 6
"""How many elements above one are looked at for a name."""
MOST_SAMPLES = 3
"""Elements whose names are tried; the others are only compared."""
MOST_ALTERNATIVES = 3
MOST_CANDIDATES = 600
"""Expressions that are tried for one purpose."""
LEAST_SHARE = 0.6
"""The share of elements that an expression must find to be worth writing down."""

T = TypeVar("T")
_WORD = re.compile(r"[A-Za-z][A-Za-z_-]{1,39}")
_CAMEL = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
_NUMBERED = re.compile(r"([A-Za-z][A-Za-z_-]*?[-_]?)\d+")
_VOWEL = re.compile(r"[aeiouy]", re.IGNORECASE)
_STATES = re.compile(
    r"odd|even|first|last|alt|active|current|selected|open|closed|new|unread|read|hot|sticky|highlight|clear(fix)?"
    r"|row|col|container|left|right|bg|hidden|visible|(no-)?js|loaded|collapsed|expanded",
    re.IGNORECASE,
)
_SHORTEST_STEM = 2
_ABBREVIATION = 4


@dataclass(frozen=True, slots=True)
class Expression:
    """A selector as a file writes it, and the share of the wanted elements that it finds."""

    css: str = ""
    xpath: str = ""
    attribute: str = ""
    share: float = 1.0

    @property
    def selector(self) -> Selector:
        """The compiled form."""
        return compile_selector(css=self.css, xpath=self.xpath, attribute=self.attribute)

    def attributes(self) -> dict[str, str]:
        """Return what the file writes."""
        given = {"css": self.css, "xpath": self.xpath, "attribute": self.attribute}
        return {name: value for name, value in given.items() if value}


def is_stable(word: str) -> bool:
    """Say whether a class or id looks like a name that a template gives, not like a number, state or hash.

    >>> [is_stable(word) for word in ("post-body", "odd", "post-12", "css-1x9k", "bdVaJa", "threadItem")]
    [True, False, False, False, False, True]
    """
    if not _WORD.fullmatch(word) or _STATES.fullmatch(word):
        return False
    pieces = [piece for part in re.split(r"[-_]+", word) if part for piece in _CAMEL.findall(part)]
    short = sum(len(piece) < _SHORTEST_STEM + 1 for piece in pieces)
    spoken = len(word) <= _ABBREVIATION or any(_VOWEL.search(piece) for piece in pieces)
    return short <= len(pieces) / 2 and spoken and not _mixed(word)


def _mixed(word: str) -> bool:
    """Say whether letters change case as no word does: ``bdVaJa``."""
    changes = len(re.findall(r"[a-z][A-Z]", word))
    return changes > 1 and len(word) < 4 * (changes + 1)


def names(element: HtmlElement) -> Iterator[str]:
    """Yield CSS selectors of one element alone, those that say most first."""
    tag = str(element.tag)
    if is_stable(element.get("id") or ""):
        yield f"#{element.get('id')}"
    for attribute in ("itemprop", "rel", "role"):
        words = (element.get(attribute) or "").split()
        yield from (f'{tag}[{attribute}~="{word}"]' for word in words if _WORD.fullmatch(word))
    stable = [word for word in classes(element) if is_stable(word)]
    yield from (f"{tag}.{word}" for word in stable)
    yield from (f"{tag}.{one}.{two}" for one, two in pairwise(stable))
    stem = numbered_stem(element.get("id") or "")
    if stem:
        yield f'{tag}[id^="{stem}"]'
    stems = (numbered_stem(word) for word in classes(element))
    yield from (f'{tag}[class*="{stem}"]' for stem in stems if len(stem) > _SHORTEST_STEM)
    data = [name for name in element.attrib if isinstance(name, str) and re.fullmatch(r"data-[a-z-]+", name)]
    yield from (f"{tag}[{name}]" for name in data)


def classes(element: HtmlElement) -> tuple[str, ...]:
    """Return the class names of an element."""
    return tuple((element.get("class") or "").split())


def numbered_stem(word: str) -> str:
    """Return what stands before the number in an id or class, empty where it is no name with a number.

    >>> numbered_stem("post-12"), numbered_stem("p7"), numbered_stem("post"), numbered_stem("a1b2")
    ('post-', 'p', '', '')
    """
    found = _NUMBERED.fullmatch(word)
    return found[1] if found else ""


def finding_all(wanted: Sequence[HtmlElement], tree: HtmlElement, own_words: Collection[str] = ()) -> Expression | None:
    """Return the simplest expression that finds these elements of the page, and at best nothing else.

    Where no single name does, those are joined that find nothing else. Names that hold one of ``own_words`` are this
    page's alone and are passed over.
    """
    targets = set(wanted)
    best = Expression(share=0)
    exact: dict[str, set[HtmlElement]] = {}
    for css in islice(_candidates(wanted, tree), MOST_CANDIDATES):
        if any(word in css for word in own_words):
            continue
        found = set(_found(css, tree))
        share = 2 * len(found & targets) / (len(found) + len(targets))
        if share > best.share:
            best = Expression(css=css, share=share)
            if share == 1:
                return best
        if found and found <= targets:
            exact.setdefault(css, found)
    joined = _joined(exact, targets)
    if joined.share > best.share:
        return joined
    return best if best.share >= LEAST_SHARE else None


def _joined(exact: Mapping[str, set[HtmlElement]], targets: set[HtmlElement]) -> Expression:
    """Join the fewest selectors that find nothing but targets, those that find most first."""
    chosen: list[str] = []
    left = set(targets)
    while left and exact and len(chosen) < MOST_ALTERNATIVES:
        css = max(exact, key=lambda css: len(exact[css] & left))
        if not exact[css] & left:
            break
        chosen.append(css)
        left -= exact[css]
    hits = len(targets) - len(left)
    return Expression(css=", ".join(chosen), share=2 * hits / (hits + len(targets)) if chosen else 0)


def finding_parts(items: Sequence[HtmlElement], parts: Sequence[HtmlElement | None]) -> tuple[Expression, ...]:
    """Return expressions, alternatives of each other, whose first result in each item is the part of that item."""
    found: list[Expression] = []
    left = [(item, part) for item, part in zip(items, parts, strict=True) if part is not None]
    total = len(left)
    without = [item for item, part in zip(items, parts, strict=True) if part is None]
    while left and len(found) < MOST_ALTERNATIVES:
        best = _best_part(left, without)
        if best is None:
            break
        left = [(item, part) for item, part in left if _first(best.selector, item) is not part]
        found.append(Expression(best.css, best.xpath, share=1 - len(left) / total))
    return tuple(found)


def _best_part(wanted: Sequence[tuple[HtmlElement, HtmlElement]], without: Sequence[HtmlElement]) -> Expression | None:
    best: Expression | None = None
    for candidate in islice(_part_candidates(wanted), MOST_CANDIDATES):
        selector = candidate.selector
        hits = sum(_first(selector, item) is part for item, part in wanted)
        wrong = sum(_first(selector, item) is not None for item in without)
        share = (hits - wrong / 2) / len(wanted)
        if share > (best.share if best else 0):
            best = Expression(candidate.css, candidate.xpath, share=share)
            if share == 1:
                break
    return best


def _part_candidates(wanted: Sequence[tuple[HtmlElement, HtmlElement]]) -> Iterator[Expression]:
    places: dict[str, None] = {}
    for item, part in _samples(wanted):
        if part is item:
            yield Expression(xpath="self::*")
            continue
        if item not in part.iterancestors():
            yield from _beside(item, part)
            continue
        above = _above(part, item)
        own = [*names(part), *_by_address(part)]
        yield from (Expression(css=css) for css in own)
        pairs = [f"{high} {low}" for low in (*own, str(part.tag)) for holder in above for high in names(holder)]
        yield from (Expression(css=css) for css in pairs)
        yield Expression(css=str(part.tag))
        same = [other for other in item.iter(str(part.tag)) if other is not item]
        places[f"(.//{part.tag!s})[{same.index(part) + 1}]"] = None
    yield from (Expression(xpath=place) for place in places)


def _beside(item: HtmlElement, part: HtmlElement) -> Iterator[Expression]:
    """Yield expressions for a part that stands in an element behind the item, as in tables of two rows a post."""
    for place, sibling in enumerate(item.itersiblings(), start=1):
        if sibling is part or sibling in part.iterancestors():
            for css in (*names(part), str(part.tag)):
                path = css_to_xpath(css).replace("descendant::", "descendant-or-self::", 1)
                yield Expression(xpath=f"following-sibling::*[{place}]/{path}")
            return
        if place == MOST_ABOVE:
            return


def _by_address(element: HtmlElement) -> Iterator[str]:
    """Yield selectors for a link by the part of its address, behind the host, that names what it leads to."""
    if element.tag == "a":
        path = re.sub(r"^[a-z]+:|//[^/?]*", "", element.get("href") or "", flags=re.IGNORECASE)
        words = re.findall(r"(?<![A-Za-z])[A-Za-z][A-Za-z_-]{2,}[/=.?]", path.partition("#")[0])
        yield from (f'a[href*="{word}"]' for word in words)


def _candidates(wanted: Sequence[HtmlElement], tree: HtmlElement) -> Iterator[str]:
    for element in _different(wanted):
        own = list(names(element))
        yield from own
        above = _above(element, tree)
        for low in (*own, str(element.tag)):
            yield from (f"{high} {low}" for holder in above for high in names(holder))
        for holder in above[:1]:
            yield from (f"{high} > {element.tag!s}" for high in names(holder))
        yield str(element.tag)


def _samples(things: Sequence[T]) -> Sequence[T]:
    step = max(1, len(things) // MOST_SAMPLES)
    return things[::step][:MOST_SAMPLES]


def _different(elements: Sequence[HtmlElement]) -> list[HtmlElement]:
    """Return one element of each class, the most frequent classes first."""
    by_class: dict[tuple[str, str], list[HtmlElement]] = {}
    for element in elements:
        by_class.setdefault((str(element.tag), " ".join(filter(is_stable, classes(element)))), []).append(element)
    groups = sorted(by_class.values(), key=len, reverse=True)
    return [group[0] for group in groups[: 2 * MOST_SAMPLES]]


def _above(element: HtmlElement, top: HtmlElement) -> list[HtmlElement]:
    found: list[HtmlElement] = []
    for holder in element.iterancestors():
        if holder is top or len(found) == MOST_ABOVE:
            break
        found.append(holder)
    return found


def _found(css: str, tree: HtmlElement) -> list[HtmlElement]:
    return compile_selector(css=css).elements(tree)


def _first(selector: Selector, item: HtmlElement) -> HtmlElement | None:
    return next(iter(selector.elements(item)), None)
