"""Makes the expressions that find what is marked as right and nothing that is marked as wrong."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from urllib.parse import urlsplit

from lxml.etree import XPathError
from lxml.html import HtmlElement

from aahcrawler.editor.rules.marked_pages import Marked, Role, Search, WantedMarks, holder, items_on
from aahcrawler.editor.rules.page_sample import SampledPage
from aahcrawler.editor.text.printable_text import an
from aahcrawler.helper.site_memory import site_of
from aahcrawler.page.markup import name_of
from aahcrawler.urls import resolve
from aahcrawler.wrapper_induction.element_features import Feature, Features, Match, words_of_pages
from aahcrawler.wrapper_induction.item_selectors import ItemInduction, ItemPage, SearchBudget
from aahcrawler.wrapper_induction.robust_paths import Expression, Path, RobustStep, leading_to
from knowledge_base.selectors import BadExpressionError, Selector

_NAMED = {"itemprop": "marked as", "property": "marked as", "rel": "marked as", "typeof": "of type", "role": "of role"}
_TAGS = {"a": "link", "img": "picture", "time": "time", "p": "paragraph", "li": "list entry", "tr": "table row"}
MAX_INDUCED = 5_000_000
"""The most elements that may be visited in search of an expression with a further condition."""
MAX_NESTED = 1_000_000
"""The most work that nested elements may cause; for more, no expression with a further condition is searched for."""
MAX_COMPARED = 50
FEW_MARKS = 4
MAX_KEPT = 14
"""The most expressions that are judged by the pages of the sample."""
MAX_ALIKE = 4
"""The most expressions among them that find the same on the marked pages."""
_ALONE = 3.0
"""The cost of finding only one of several similar elements, if all of them are meant."""
_NESTED = 4.0
"""The cost of finding elements within one another, if each is to be one object."""
_ANY_TAG = 0.4
_MISSED = 2.0
"""The cost of reading a field in none of the objects on the marked pages."""
_VAGUE = 0.6
"""The cost of finding several elements in an object, of which the first is read."""
_VAGUE_ON_PAGE = 1.5
"""The same for a field that is found on the whole page."""
_ANY = re.compile(r"(^|[ >])\*(?=[.#\[])")
_LABELLED = 1.8
"""The cost of relying on the words of a label, which differ if the site uses another language."""
_LABELS = frozenset({"th", "td", "dt", "b", "strong", "label", "span", "i", "em", "small"})
_MAX_LABEL_LENGTH = 30
_DATES = ("datetime", "title", "content", "data-time", "data-timestamp")


def words_of(path: Path, attribute: str = "", within: str = "") -> str:
    """Return in words what a path finds, such as ``every element of class entry``.

    ``within`` says where it looks, empty for the whole page.
    """
    if not path.steps:
        return "the element itself" if not path.start else "an element beside it"
    *above, last = path.steps
    said = f"every {step_words(last)}"
    for around, below in zip(reversed(above), reversed(path.steps[1:]), strict=True):
        said += f", {'directly ' if below.child else ''}in {an(step_words(around))}"
    if path.steps[0].child:
        said += ", directly in it"
    if path.start:
        said += ", beside it"
    if within:
        said += f", {within}"
    return f"the attribute {attribute} of {said}" if attribute else said


def step_words(step: RobustStep) -> str:
    """Return in words what one step finds, without an article."""
    parts = [_TAGS.get(step.tag, step.tag if step.tag and step.tag != "*" else "element")]
    if parts[0] in ("div", "span") and step.features:
        parts[0] = "element"
    parts += [feature_words(feature) for feature in step.features]
    parts += [_further_words(further) for further in step.further]
    return " ".join(parts)


def feature_words(feature: Feature) -> str:
    """Return in words what a feature requires of an element."""
    name, value = feature.attribute, feature.value
    match feature.match:
        case Match.WORD if name == "class":
            return f"of class {value}"
        case Match.WORD:
            return f"{_NAMED.get(name, f'with {name}')} {value}"
        case Match.EQUAL if name == "id":
            return f"with the id {value}"
        case Match.EQUAL:
            return f"with {name} {value}"
        case Match.NUMBERED:
            begins = f"begins with {value}" if value.endswith(("-", "_")) else f"is {value} and a number"
            return f"whose {name} {begins}"
        case Match.PART if name == "href":
            return f"whose address holds {value}"
        case Match.PART:
            return f"whose {name} holds {value}"
        case Match.END:
            return f"of type {value.lstrip('/')}" if name == "itemtype" else f"whose {name} ends with {value}"
        case Match.PRESENT:
            return f"with {an(name)}" if name != "href" else "that leads somewhere"


def _further_words(further: str) -> str:
    if further.isdigit():
        return f"number {further} of its sort"
    if further.startswith("not("):
        return "without what was marked as wrong"
    return "that holds what the others do not"


@dataclass(frozen=True)
class Candidate:
    """An expression with the elements that it finds on each of the marked pages.

    ``page`` says that a field's expression looks at the whole page. The lower the cost, the longer the expression is
    likely to work.
    """

    expression: Expression
    selector: Selector
    cost: float
    said: str
    found: tuple[tuple[HtmlElement, ...], ...]
    page: bool = False


@dataclass
class Candidates:
    """Makes the candidates for a wanted rule."""

    wanted: WantedMarks
    search: Search

    def all(self) -> tuple[Candidate, ...]:
        """Return the expressions, the most robust first, at most 14."""
        made = sorted(self._made(), key=lambda each: each.cost)
        if not made:
            made = list(self._narrowed())
        kept: list[Candidate] = []
        alike: dict[object, int] = {}
        for each in made:
            key = (each.found, each.expression.attribute)
            alike[key] = alike.get(key, 0) + 1
            if alike[key] <= MAX_ALIKE and len(kept) < MAX_KEPT:
                kept.append(each)
        return tuple(kept)

    def _made(self) -> Iterator[Candidate]:
        seen: set[Expression] = set()
        for path, attribute in self._paths():
            written = _readable(path, attribute) or _plain(path.written(attribute))
            if written in seen or not path.steps:
                continue
            seen.add(written)
            candidate = self._candidate(written, path.cost, words_of(path, attribute, self._within))
            if candidate is not None:
                yield candidate
        yield from self._labelled()

    def _labelled(self) -> Iterator[Candidate]:
        """Yield the expression for an element behind a label, such as the cell beside ``Written on``."""
        labels = {label_of(mark.element) for mark in self.wanted.right}
        label = labels.pop() if len(labels) == 1 and self.wanted.role is Role.FIELD else None
        if label is None:
            return
        tags = {name_of(mark.element) for mark in self.wanted.right}
        path = f"descendant::{label.tag}[normalize-space() = '{label.text}']/following-sibling::{tags.pop()}[1]"
        said = f"what stands beside “{label.text}”, {self._within or 'on the page'}"
        candidate = None if tags else self._candidate(Expression(xpath=path), _LABELLED, said)
        items = sum(map(len, self._items.values()))
        if candidate is not None and (self.is_of_page or 2 * sum(map(len, candidate.found)) > items):
            yield candidate

    @cached_property
    def _known(self) -> Features:
        urls = [page.captured.url for page in self.wanted.pages]
        return Features(words_of_pages(urls))

    @cached_property
    def _items(self) -> dict[str, tuple[HtmlElement, ...]]:
        """The elements of the objects on the marked pages, by the pages' record ids."""
        return {page.captured.record: items_on(page, self.wanted.items) for page in self.wanted.pages}

    @cached_property
    def is_of_page(self) -> bool:
        """Whether the field is outside of the objects."""
        if self.wanted.role is not Role.FIELD:
            return True
        if not self.wanted.items:
            return True
        return any(self._root(mark) is None for mark in self.wanted.right)

    @property
    def _within(self) -> str:
        return "" if self.is_of_page else "in each object"

    def _root(self, mark: Marked) -> HtmlElement | None:
        return holder(mark.element, self._items[mark.page.captured.record])

    @cached_property
    def _targets(self) -> list[tuple[HtmlElement, HtmlElement]]:
        if self.is_of_page:
            return [(mark.page.tree, mark.element) for mark in self.wanted.right]
        roots = ((self._root(mark), mark.element) for mark in self.wanted.right)
        return [(root, element) for root, element in roots if root is not None]

    def _paths(self) -> Iterator[tuple[Path, str]]:
        if not self._targets:
            return
        paths = leading_to(self._targets, self._known)
        dated = self._dated_attribute() if self.wanted.role is Role.FIELD else ""
        for path in (*self._to_hosts(), *paths, *map(_of_any_tag, paths)):
            if dated:
                yield Path(path.steps, path.cost - 0.5, path.start, path.turn), dated
            yield path, ""

    def _dated_attribute(self) -> str:
        """Return the attribute in which all marked elements have a date, empty if there is none."""
        if self.wanted.field not in ("", "date"):
            return ""
        elements = [mark.element for mark in self.wanted.right]
        return next((name for name in _DATES if all(_has_digits(each.get(name)) for each in elements)), "")

    def _to_hosts(self) -> Iterator[Path]:
        """Yield the path to links to the one other site that all marked links lead to, such as the software's maker."""
        if self.wanted.role is not Role.SIGN:
            return
        hosts = {_host(mark) for mark in self.wanted.right}
        host = hosts.pop() if len(hosts) == 1 else ""
        if host:
            yield Path((RobustStep("a", (Feature("href", Match.PART, host),)),), 0.8)

    def _candidate(self, written: Expression, cost: float, said: str) -> Candidate | None:
        """Return an expression with what it finds; None if it finds something wrong, or not all that is right."""
        try:
            selector = written.selector
        except BadExpressionError:
            return None
        found: list[tuple[HtmlElement, ...]] = []
        for page in self.wanted.pages:
            try:
                here = self._found(page, selector)
            except XPathError:
                return None
            right, wrong = self.wanted.marks_on(page)
            if not right.issubset(here) or not wrong.isdisjoint(here):
                return None
            found.append(here)
        penalty = self._penalty(found) + self._vagueness(selector) + self._missing(found)
        return Candidate(written, selector, cost + penalty, said, tuple(found), self.is_of_page)

    def _found(self, page: SampledPage, selector: Selector) -> tuple[HtmlElement, ...]:
        """Return what an expression finds on a page: for a field, what is read in each object."""
        if self.wanted.role is not Role.FIELD:
            return self.search.found(page, selector)
        if self.is_of_page:
            return self.search.found(page, selector)[:1]
        firsts = (self.search.found(page, selector, item)[:1] for item in self._items[page.captured.record])
        return tuple(element for found in firsts for element in found)

    def _penalty(self, found: Sequence[tuple[HtmlElement, ...]]) -> float:
        if self.wanted.role not in (Role.ITEM, Role.LINKS):
            return 0.0
        cost = 0.0
        if self.wanted.many and all(len(here) < 2 for here in found) and self._are_repeated:
            cost += _ALONE
        if self.wanted.role is Role.ITEM and any(map(_are_nested, found)):
            cost += _NESTED
        return cost

    def _vagueness(self, selector: Selector) -> float:
        if self.wanted.role is not Role.FIELD:
            return 0.0
        some = self._rooted[:FEW_MARKS]
        several = any(len(selector.elements(root, mark.page.page.elements)) > 1 for mark, root in some)
        vague = _VAGUE_ON_PAGE if self.is_of_page else _VAGUE
        return vague if several else 0.0

    def _missing(self, found: Sequence[tuple[HtmlElement, ...]]) -> float:
        """Return the cost of the objects on the marked pages for which the field is not read."""
        if self.wanted.role is not Role.FIELD or self.is_of_page:
            return 0.0
        items = sum(map(len, self._items.values()))
        return _MISSED * (1 - sum(map(len, found)) / items) if items else 0.0

    @cached_property
    def _rooted(self) -> list[tuple[Marked, HtmlElement]]:
        roots = [root for root, _ in self._targets]
        return list(zip(self.wanted.right, roots, strict=True)) if len(roots) == len(self.wanted.right) else []

    @cached_property
    def _are_repeated(self) -> bool:
        """Whether any marked element has siblings like it."""
        return any(alike_beside(mark.element) > 0 for mark in self.wanted.right)

    def _narrowed(self) -> Iterator[Candidate]:
        """Yield expressions with a further condition, or joined from several, if no simple one is left."""
        if any(map(self._is_costly, self.wanted.pages)):
            return
        pages = tuple(self._exact())
        if not any(page.items for page in pages):
            return
        many = self.wanted.role is not Role.FIELD
        induced = ItemInduction(pages, self._known, many, SearchBudget(MAX_INDUCED)).run()
        for written in induced.expressions if induced is not None else ():
            said = "those that were marked as right, and what is like them but not marked as wrong"
            candidate = self._candidate(written, 6.0, said)
            if candidate is not None:
                yield candidate

    def _is_costly(self, page: SampledPage) -> bool:
        """Return whether elements are nested so deeply that dozens of expressions would take too long to try."""
        tags = {name_of(mark.element) for mark in (*self.wanted.right, *self.wanted.wrong)}
        limits = page.page.elements.limits
        return any(limits.work(f"descendant::{tag}/descendant::{tag}", page.tree) > MAX_NESTED for tag in tags)

    def _exact(self) -> Iterator[ItemPage]:
        """Yield the elements that must be found exactly: those of the vaguest expression without the wrong ones."""
        if self.wanted.role is Role.FIELD and not self.is_of_page:
            right = {mark.element: root for root, mark in zip(self._targets, self.wanted.right, strict=False)}
            for mark in (*self.wanted.right, *self.wanted.wrong):
                root = self._root(mark)
                if root is not None:
                    items = (mark.element,) if mark.element in right else ()
                    yield ItemPage(root, mark.page.page.elements.size(root), items)
            return
        for page in self.wanted.pages:
            right_here, wrong = self.wanted.marks_on(page)
            alike = self._alike(page) - wrong if right_here else frozenset()
            wanted = tuple(each for each in page.tree.iter("*") if each in alike | right_here)
            yield ItemPage(page.tree, page.page.elements.size(page.tree), wanted)

    def _alike(self, page: SampledPage) -> frozenset[HtmlElement]:
        """Return the elements of a page that the cheapest path finds among those that find all that is right."""
        for path in leading_to(self._targets, self._known):
            try:
                found = frozenset(self.search.found(page, path.written().selector))
            except XPathError:
                continue
            if self.wanted.marks_on(page)[0] <= found:
                return found
        return frozenset()


def _readable(path: Path, attribute: str) -> Expression | None:
    """Return a path in CSS by which names with a number only have to begin alike; None if it has no such name.

    The beginning suffices if a separator parts it from the number, as in ``entry-``.
    """
    if path.start or path.turn or not path.steps or path.steps[0].child:
        return None
    written = ""
    has_number = False
    for step in path.steps:
        parts = [step.tag if step.tag != "*" else ""]
        for feature in step.features:
            is_numbered = feature.match is Match.NUMBERED and feature.value.endswith(("-", "_"))
            has_number |= is_numbered
            css = f'[{feature.attribute}^="{feature.value}"]' if is_numbered else feature.css
            if css is None:
                return None
            parts.append(css)
        if step.further or not any(parts):
            return None
        written += (" > " if step.child else " ") + "".join(parts)
    return Expression(css=written.strip(), attribute=attribute) if has_number else None


def _plain(written: Expression) -> Expression:
    """Return an expression as people write it: ``.post`` instead of ``*.post``."""
    return replace(written, css=_ANY.sub(r"\1", written.css)) if "*" in written.css else written


def _of_any_tag(path: Path) -> Path:
    """Return a path without tags, since the names of guests, for instance, are often no links."""
    *above, last = path.steps or (RobustStep("*"),)
    if not last.features or any(feature.attribute == "href" for feature in last.features):
        return Path((), path.cost)
    return replace(path, steps=(*above, replace(last, tag="*")), cost=path.cost + _ANY_TAG)


@dataclass(frozen=True, slots=True)
class Label:
    """An element whose text says what is behind it."""

    tag: str
    text: str


def label_of(element: HtmlElement) -> Label | None:
    """Return the label directly before an element: a short text without numbers; None where there is none."""
    before = element.getprevious()
    if before is None or before.tag not in _LABELS:
        return None
    text = " ".join("".join(before.itertext()).split())
    if (
        not text
        or len(text) > _MAX_LABEL_LENGTH
        or "'" in text
        or not text.isprintable()
        or any(map(str.isdigit, text))
    ):
        return None
    return Label(str(before.tag), text) if any(map(str.isalpha, text)) else None


def alike_beside(element: HtmlElement) -> int:
    """Return how many siblings of an element have its tag and one of its classes, or no class if it has none."""
    words = frozenset((element.get("class") or "").split())
    parent = element.getparent()
    beside = (each for each in parent if each is not element) if parent is not None else ()
    return sum(
        each.tag == element.tag and bool(words & set((each.get("class") or "").split()) or not words) for each in beside
    )


def _are_nested(found: Sequence[HtmlElement]) -> bool:
    among = set(found)
    return any(not among.isdisjoint(each.iterancestors()) for each in found[:MAX_COMPARED])


def _has_digits(value: str | None) -> bool:
    return value is not None and sum(map(str.isdigit, value)) >= 4


def _host(mark: Marked) -> str:
    """Return the host of another site that a marked link leads to, empty if it leads to none."""
    href = mark.element.get("href") or ""
    url = resolve(mark.page.page.base_url, href) if href else None
    if url is None or site_of(url) == site_of(mark.page.captured.url):
        return ""
    return (urlsplit(url).hostname or "").removeprefix("www.")
