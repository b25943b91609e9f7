"""Measure the cost of expressions on pages that are hard for them, and suggest faster ones."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import cycle, islice
from math import log
from time import thread_time
from xml.sax.saxutils import escape, quoteattr

from lxml import etree

from knowledge_base.element_index import compiled

FULL = 20_000
"""Elements of a page at its full size; the nested one is a tenth as deep."""

_STRING = re.compile(r"\"([^\"]*)\"|'([^']*)'")
_ATTRIBUTE = re.compile(r"@\s*([A-Za-z_][\w-]*)")
_NAME = re.compile(r"(?<![\w@$-])([A-Za-z_][\w-]*)(?!\s*\(|::|[\w:-])")
_OPERATORS = frozenset({"and", "or", "mod"})
_MAX_WORDS = 8
_WIDTH = 100
SLOW = 0.5
"""The seconds on a page of common elements from which an expression is called slow."""
HOPELESS = 5.0
"""Seconds on such a page with which an expression cannot be used, and on one made against it a slow one."""
_SIZES = (250, 1_000)
_LONG = 0.005
"""Seconds on the smallest page from which the next one is but twice as large."""
_LINEAR = 1.3
"""Growth up to which time is proportional to size; on small pages, linear parts hide quadratic ones."""
_DESCENT = re.compile(r"//|\bdescendant(?:-or-self)?::")
_COSTLY = re.compile(
    r"\b(?:ancestor|ancestor-or-self|preceding|following|preceding-sibling|following-sibling|namespace)::"
    r"|\[[^\]]*/|\bcount\s*\(|[(,\[]\s*\.\s*[,)=\]]|\(\s*\)|\bdescendant[^|]*\[[^\]]*::"
)
_WHOLE_PAGE = re.compile(
    r"\[\s*(?:not\s*\(\s*|count\s*\(\s*|boolean\s*\(\s*)*//?(?![/\]])\w*|\b(?:and|or|not\s*\()\s*//"
)
_BACKWARD = re.compile(r"\b(ancestor|ancestor-or-self|preceding|following)::")
_SIBLINGS = re.compile(r"\b(preceding-sibling|following-sibling)::")
_WITHIN = re.compile(r"\[[^\]]*(?:\.//|descendant(?:-or-self)?::)")
_COUNTED = re.compile(r"\bcount\s*\(")
_ALL_TEXT = re.compile(r"[(,]\s*\.\s*[,)]")
ADVICE = {
    _WHOLE_PAGE: "a condition on the whole page is looked at again for each element; write it once in front, "
    "/*[condition]//a, or as a when or unless of its own",
    _BACKWARD: "{0}:: walks through the page again for each element; begin at the outer element and go down, "
    "div[...]//a, or use parent::",
    _COUNTED: "count() looks at all there are; for any write the path alone, for more than one path[2]",
    _WITHIN: "// within [...] looks through all that each element holds; name the steps down to it, ul/li/a",
    _SIBLINGS: "{0}:: looks at all siblings of each element; add [1] to look at the nearest alone",
    _ALL_TEXT: "the whole text of each element is read; compare an attribute, or name the element whose text counts",
}
"""The causes of slow expressions, the costliest first, and what to write instead."""
OTHERWISE = "name an element with its id or class first, so that the rest is looked at for few elements"


@dataclass(frozen=True, slots=True)
class Words:
    """The vocabulary of a generated page: names of elements and attributes, and the attributes' values."""

    tags: tuple[str, ...]
    attributes: tuple[str, ...]
    values: tuple[str, ...]

    @property
    def text(self) -> str:
        """Text of an element, escaped."""
        return escape(self.values[0])

    def elements(self, number: int) -> Iterator[tuple[str, str]]:
        """Yield start tags without brackets and their names, so that each name meets each value."""
        kinds = [
            (f"{tag} " + " ".join(f"{name}={quoteattr(value)}" for name in self.attributes), tag)
            for value in self.values
            for tag in self.tags
        ]
        return islice(cycle(kinds), number)


COMMON = Words(
    ("div", "a", "span", "td", "p", "li"),
    ("class", "id", "href"),
    ("post message entry content", "post12", "index.php?topic=12", "http://a.test/2026/11/post"),
)
"""The contents of most pages."""


def words_of(expression: str) -> Words:
    """Return the names and values that an XPath expression looks for.

    >>> words_of("//form[@id='login']/a")
    Words(tags=('form', 'a'), attributes=('id', 'class'), values=('login', 'login12'))
    """
    strings = [(a or b).strip() for a, b in _STRING.findall(expression)]
    bare = _STRING.sub("''", expression)
    names = [name for name in _NAME.findall(_ATTRIBUTE.sub("", bare)) if name not in _OPERATORS]
    words = _distinct([string for string in strings if string and string.isprintable()])
    values = dict.fromkeys((" ".join(words) or "x", *words, *(f"{word}12" for word in words)))
    return Words(_distinct(names) or ("div",), _distinct([*_ATTRIBUTE.findall(bare), "class", "id"]), tuple(values))


def _distinct(found: list[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(found))[:_MAX_WORDS]


def _flat(words: Words, size: int) -> str:
    return "".join(f"<{start}>{words.text}</{tag}>" for start, tag in words.elements(size))


def _nested(words: Words, size: int) -> str:
    chosen = tuple(words.elements(size // 10))
    starts = "".join(f"<{start}>{words.text}" for start, _ in chosen)
    return starts + "".join(f"</{tag}>" for _, tag in reversed(chosen))


def _tables(words: Words, size: int) -> str:
    cells = "".join(f"<td><{start}>{words.text}</{tag}></td>" for start, tag in words.elements(_WIDTH))
    return f"<table>{f'<tr>{cells}</tr>' * max(1, size // (2 * _WIDTH))}</table>"


def _attributes(words: Words, size: int) -> str:
    more = " ".join(f"filler{number}={quoteattr(words.values[0])}" for number in range(50))
    return "".join(f"<{start} {more}/>" for start, _ in words.elements(size // 20))


def _texts(words: Words, size: int) -> str:
    text = "Some words of a long text. " * 400
    return "".join(f"<{start}>{text}</{tag}>" for start, tag in words.elements(size // 100))


SHAPES: Mapping[str, Callable[[Words, int], str]] = {
    f"a page of {FULL:,} elements beside one another": _flat,
    f"a page whose elements are nested {FULL // 10:,} deep": _nested,
    "a page with wide tables": _tables,
    "a page whose elements have many attributes": _attributes,
    "a page of long texts": _texts,
}
"""The pages by their names in messages."""


def stress_page(shape: str, words: Words, size: int) -> etree._Element:
    """Return the document element of a page of about ``size`` elements."""
    return etree.fromstring(f"<html><body>{SHAPES[shape](words, size)}</body></html>", etree.XMLParser(huge_tree=True))


@lru_cache(maxsize=32)
def common_page(shape: str, size: int) -> etree._Element:
    """Return a page of common contents; built once."""
    return stress_page(shape, COMMON, size)


@dataclass(frozen=True, slots=True)
class Cost:
    """The seconds an expression takes on the worst of the pages; ``tailored`` if that was made against it."""

    seconds: float
    shape: str
    tailored: bool = False

    @property
    def is_slow(self) -> bool:
        """Return whether the expression should be rewritten."""
        return self.seconds >= (HOPELESS if self.tailored else SLOW)

    @property
    def is_hopeless(self) -> bool:
        """Return whether the expression must not be used."""
        return self.seconds >= HOPELESS and not self.tailored

    def __str__(self) -> str:
        made = " of the elements it looks for" if self.tailored else ""
        return f"takes {self.seconds:.1f} s on {self.shape}{made}"


def worst(source: str, busy: Callable[[str], None]) -> Cost:
    """Return the highest cost of an XPath expression on the pages.

    ``busy`` is called with each page before it is tried. On pages of common elements, slow expressions are measured; in
    all other cases the time is extrapolated from smaller pages. Raise `lxml.etree.XPathError` for an expression that
    fails on a page.
    """
    expression = compiled(source)
    shapes = tuple(SHAPES)
    if is_linear(source):
        busy(shapes[0])
        return Cost(seconds(expression, common_page(shapes[0], _SIZES[0])), shapes[0])
    costs = []
    for shape in shapes:
        busy(shape)
        costs.append(Cost(_on_common(expression, shape), shape))
        if costs[-1].is_hopeless:
            return costs[-1]
    usual = max(costs, key=lambda cost: cost.seconds)
    if usual.is_slow:
        return usual
    busy(f"{shapes[0]} of the elements it looks for")
    words = words_of(source)
    estimate = _estimated(expression, lambda size: stress_page(shapes[0], words, size), HOPELESS)
    tailored = Cost(estimate, shapes[0], tailored=True)
    return tailored if tailored.is_slow else usual


def seconds(expression: etree.XPath, tree: etree._Element) -> float:
    """Return the processor time of one evaluation."""
    started = thread_time()
    expression(tree)
    return thread_time() - started


def _on_common(expression: etree.XPath, shape: str) -> float:
    estimate = _estimated(expression, lambda size: common_page(shape, size), SLOW)
    if not SLOW <= estimate < 2 * HOPELESS:
        return estimate
    quarter = seconds(expression, common_page(shape, FULL // 4))
    if quarter * 16 >= 2 * HOPELESS:
        return quarter * 16
    return seconds(expression, common_page(shape, FULL))


def _estimated(expression: etree.XPath, pages: Callable[[int], etree._Element], enough: float) -> float:
    """Estimate the time on a full page from two smaller ones, or from one if ``enough`` is out of reach."""
    ratio = FULL / _SIZES[0]
    first = seconds(expression, pages(_SIZES[0]))
    if first > SLOW or first * ratio**2 < enough:
        return first * ratio
    size = _SIZES[1] if first < _LONG else 2 * _SIZES[0]
    tree = pages(size)
    second = seconds(expression, tree)
    if second < SLOW:
        second = min(second, seconds(expression, tree))
    growth = log(max(second / first, 1.0)) / log(size / _SIZES[0])
    power = 1.0 if growth < _LINEAR else min(max(growth, 2.0), 3.0)
    return float(second * (FULL / size) ** power)


def is_linear(source: str) -> bool:
    """Return whether the time of an expression is, by its shape, linear in the size of the page.

    >>> is_linear("//a[@href][contains(@class, 'x')]"), is_linear("//a[not(//p)]"), is_linear("//div//a")
    (True, False, False)
    """
    bare = _bare(source)
    return not _COSTLY.search(bare) and all(len(_DESCENT.findall(branch)) < 2 for branch in bare.split("|"))


def _bare(source: str) -> str:
    """Empty the strings of an expression."""
    return re.sub(r"\"[^\"]*\"|'[^']*'", "''", source)


def advice(source: str) -> str:
    """Return why an XPath expression is slow and what to write instead.

    >>> advice("//a[not(//p)]").partition(";")[0]
    'a condition on the whole page is looked at again for each element'
    """
    bare = _bare(source)
    for sign, words in ADVICE.items():
        found = sign.search(bare)
        if found is not None:
            return words.format(*found.groups())
    return OTHERWISE
