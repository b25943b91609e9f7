"""Find where a template has the numbers of objects, from which the fragments of their URLs are made."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from lxml.etree import XPathError
from lxml.html import HtmlElement

from aahcrawler.helper.extraction.field_reader import Owners
from aahcrawler.page.markup import name_of
from aahcrawler.wrapper_induction.delimiters import shared
from aahcrawler.wrapper_induction.element_features import Features, numbered_stem
from aahcrawler.wrapper_induction.item_selectors import SearchBudget
from aahcrawler.wrapper_induction.robust_paths import Expression, compiled, leading_to
from knowledge_base.model import Identity

MAX_ABOVE = 2
MAX_INNER = 400
"""The most elements of one item that are searched for numbers."""

MAX_SOURCES = 60
MAX_SAMPLED = 24
MAX_ALTERNATIVES = 3
FALLBACK = ("author", "date")
_TAIL = re.compile(r"(.*?)(\d{1,19})", re.DOTALL)
_FOREIGN = re.compile(r"user|author|member|profile|avatar|forum|board|topic|thread|reply_to|replyto|parent|quote|page")


@dataclass(frozen=True, slots=True, eq=False)
class Numbered:
    """An item whose number is to be found; ``fragment`` is the expected fragment, None if unknown."""

    item: HtmlElement
    page: int
    fragment: str | None
    owners: Owners | None


@dataclass(frozen=True, slots=True)
class _Source:
    """Where numbers are: an expression relative to the item, and the text before the number."""

    expression: Expression
    trim: str
    cost: float
    of: tuple[str, ...] = ()
    """The text that is read: sources with the same text are missing together."""


@dataclass
class IdentityInduction:
    """Induces the identity of the items of one action."""

    items: Sequence[Numbered]
    schema: Identity
    known: Features
    budget: SearchBudget
    fields: Sequence[str] = ()
    """The names of the fields that were induced."""
    spare: bool = True
    """Whether to find other places that number all items, for pages that lack the best one."""
    _sizes: dict[HtmlElement, list[HtmlElement]] = field(default_factory=dict)

    def run(self) -> Identity | None:
        """Return the identity; None if nothing distinguishes the objects of a page.

        The prefix stays that of the schema, so that the URLs of objects do not change.
        """
        before = self._as_before()
        if before is not None:
            return before
        sources = sorted(self._sources(), key=lambda each: each.cost)
        alternatives: list[_Source] = []
        prefix = self._prefix()
        left = list(self.items)
        for source in sources:
            if len(alternatives) == MAX_ALTERNATIVES:
                break
            if not left:
                alternatives += self._spare(source, alternatives) if self.spare else []
                continue
            numbers = self._read(source, left)
            if numbers is not None and (alternatives or len(numbers) > 0.5 * len(left)):
                alternatives.append(source)
                left = [each for each in left if each not in numbers]
        composed = self.schema.fields or tuple(name for name in FALLBACK if name in self.fields)
        if left and not composed:
            return None
        if not alternatives:
            return Identity((), ("",), self.schema.prefix if self.schema.fields else "", composed)
        trims = tuple(dict.fromkeys(source.trim for source in alternatives))
        fields = composed if left or self.schema.fields else ()
        return Identity(compiled(source.expression for source in alternatives), trims, prefix, fields)

    def _spare(self, source: _Source, alternatives: Sequence[_Source]) -> list[_Source]:
        """Return another source that numbers all items, because buttons and edit marks are missing on some pages."""
        if any(source.of == other.of for other in alternatives):
            return []
        numbers = self._read(source, self.items)
        return [source] if numbers is not None and len(numbers) == len(self.items) else []

    def _prefix(self) -> str:
        """Return the prefix of the known fragments, or else that of the schema."""
        fragments = [each.fragment for each in self.items if each.fragment]
        stems = {numbered_stem(fragment) for fragment in fragments}
        return stems.pop() if len(stems) == 1 and "" not in stems else self.schema.prefix

    def _as_before(self) -> Identity | None:
        """Return the former identity if it still gives all items different numbers."""
        if not self.schema.selectors:
            return None
        found: set[tuple[int, str]] = set()
        for each in self.items:
            fragment = _fragment(self.schema, each.item)
            if fragment is None or (each.page, fragment) in found or each.fragment not in (None, fragment):
                return None
            found.add((each.page, fragment))
        return self.schema

    def _read(self, source: _Source, items: Sequence[Numbered]) -> Mapping[Numbered, str] | None:
        """Return the fragments that a source gives; None if one is wrong or given twice on a page."""
        identity = Identity((source.expression.selector,), (source.trim,), self._prefix())
        found: dict[Numbered, str] = {}
        seen: set[tuple[int, str]] = set()
        for each in items:
            if not self.budget.spend(8):
                return None
            fragment = _fragment(identity, each.item)
            if fragment is None:
                continue
            if (each.page, fragment) in seen or each.fragment not in (None, fragment):
                return None
            if not fragment[-1].isdigit():
                return None
            seen.add((each.page, fragment))
            found[each] = fragment
        return found or None

    def _sources(self) -> Iterator[_Source]:
        """Yield the sources of numbers in the sampled items."""
        step = max(1, len(self.items) // MAX_SAMPLED)
        sampled = self.items[::step][:MAX_SAMPLED]
        yield from self._of_items(sampled)
        yield from self._around(sampled)
        yield from self._within(sampled)

    def _of_items(self, sampled: Sequence[Numbered]) -> Iterator[_Source]:
        for attribute, stem in _attributes([each.item for each in sampled]):
            yield _Source(Expression(xpath=f"@{attribute}"), stem, _cost(attribute, stem), ("item", attribute))

    def _around(self, sampled: Sequence[Numbered]) -> Iterator[_Source]:
        """Yield attributes of elements that contain only this item, and of the anchor before it."""
        for height in range(1, MAX_ABOVE + 1):
            above = [_above(each.item, height) for each in sampled]
            known = [element for element in above if element is not None]
            if len(known) < len(above) or len(set(known)) < len(known):
                break
            way = "/".join(["parent::*"] * height)
            for attribute, stem in _attributes(known):
                cost = _cost(attribute, stem) + height
                yield _Source(Expression(xpath=f"{way}/@{attribute}"), stem, cost, (way, attribute))
        before = [each.item.getprevious() for each in sampled]
        anchors = [element for element in before if isinstance(element, HtmlElement)]
        if len(anchors) == len(before):
            for attribute, stem in _attributes(anchors):
                written = Expression(xpath=f"preceding-sibling::*[1]/@{attribute}")
                yield _Source(written, stem, _cost(attribute, stem) + 1.5, ("before", attribute))

    def _within(self, sampled: Sequence[Numbered]) -> Iterator[_Source]:
        """Yield attributes of elements within the items, grouped by the text before their numbers."""
        groups: dict[tuple[str, str, str, str], list[tuple[HtmlElement, HtmlElement]]] = {}
        for each in sampled:
            seen: set[tuple[str, str, str, str]] = set()
            for element in self._inner(each):
                for key in _keys(element):
                    if key not in seen:
                        seen.add(key)
                        groups.setdefault(key, []).append((each.item, element))
        ranked = sorted(groups.items(), key=lambda group: (-len(group[1]), group[0]))
        for (tag, attribute, mark, stem), pairs in ranked[:MAX_SOURCES]:
            if len(pairs) < 0.5 * len(sampled):
                break
            yield from self._inner_source(tag, attribute, mark, stem, pairs)

    def _inner(self, each: Numbered) -> list[HtmlElement]:
        known = self._sizes.get(each.item)
        if known is None:
            inner = [element for element in each.item.iterdescendants() if isinstance(element.tag, str)][:MAX_INNER]
            own = [element for element in inner if each.owners is None or each.owners.of(element) is each.item]
            known = self._sizes[each.item] = own
        return known

    def _inner_source(
        self, tag: str, attribute: str, mark: str, stem: str, pairs: Sequence[tuple[HtmlElement, HtmlElement]]
    ) -> Iterator[_Source]:
        cost, of = 1.0 + _cost(attribute, stem or mark), (tag, attribute, mark, stem)
        if mark:
            text = f"substring-after(descendant::{tag}[contains(@{attribute}, '{mark}{stem}')]/@{attribute}, '{mark}')"
            yield _Source(Expression(xpath=text), stem, cost, of)
        elif stem:
            test = f"{tag}[starts-with(@{attribute}, '{stem}')]"
            rest = f"substring(@{attribute}, {len(stem) + 1})"
            number = f"[number({rest}) = number({rest})]"
            yield _Source(Expression(xpath=f"descendant::{test}{number}/@{attribute}"), stem, cost, of)
        else:
            for path in leading_to(pairs, self.known)[:3]:
                yield _Source(path.written(attribute), "", cost + path.cost, of)


def _fragment(identity: Identity, item: HtmlElement) -> str | None:
    for selector in identity.selectors:
        try:
            nodes = selector.nodes(item)[:1]
        except XPathError:
            continue
        for node in nodes:
            fragment = identity.fragment(node) if isinstance(node, str) else None
            if fragment is not None:
                return fragment
    return None


def _attributes(elements: Sequence[HtmlElement]) -> Iterator[tuple[str, str]]:
    """Yield the attributes that, on all elements, contain a number after the same text, with that text."""
    for attribute in sorted(map(str, elements[0].attrib)) if elements else ():
        if attribute in ("class", "style", "href", "onclick") or not re.fullmatch(r"[a-z][a-z-]*", attribute):
            continue
        values = [element.get(attribute) or "" for element in elements]
        stem = shared(values).rstrip("0123456789")
        numbers = (value[len(stem) :] for value in values)
        if (
            len(stem) <= 40
            and not re.search(r"['\s]", stem)
            and all(re.fullmatch(r"\d{1,19}", each) for each in numbers)
        ):
            yield attribute, stem


def _keys(element: HtmlElement) -> Iterator[tuple[str, str, str, str]]:
    """Yield tag, attribute, mark and stem of the numbers of an element; URLs have marks."""
    tag = name_of(element)
    for attribute, value in element.attrib.items():
        if not isinstance(attribute, str) or not isinstance(value, str) or len(value) > 2_000:
            continue
        if attribute == "href":
            yield from ((tag, attribute, mark, stem) for mark, stem in _marks(value))
        elif attribute in ("id", "name") or attribute.startswith("data-"):
            found = _TAIL.fullmatch(value) if re.fullmatch(r"[a-z][a-z-]*", attribute) else None
            if found and len(found[1]) <= 40 and not re.search(r"['\s]", found[1]):
                yield tag, attribute, "", found[1]


def _marks(reference: str) -> Iterator[tuple[str, str]]:
    """Yield the text before the number at the end of a URL: ``#`` and ``post-``, or ``?p=`` and nothing."""
    found = re.search(r"#([A-Za-z_-]*)\d{1,19}$", reference)
    if found:
        yield "#", found[1]
    found = re.search(r"[?&;/]([A-Za-z_]+[=/])\d{1,19}/?$", reference.partition("#")[0])
    if found and not found[0].endswith("/"):
        yield found[0].rstrip("0123456789"), ""


def _above(item: HtmlElement, height: int) -> HtmlElement | None:
    current: HtmlElement | None = item
    for _ in range(height):
        current = current.getparent() if current is not None else None
    return current if current is not None and current.tag not in ("body", "html") else None


def _cost(attribute: str, stem: str) -> float:
    """Return how unreliable a source is: identifiers are made for this purpose, other numbers may mean anything."""
    cost = 0.0 if attribute in ("id", "name") else 1.0 if attribute == "href" else 1.5
    return cost + (3.0 if _FOREIGN.search(f"{attribute} {stem}".lower()) else 0.0) + (0.5 if not stem else 0.0)
