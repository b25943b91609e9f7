"""Pages that are hard for expressions: common elements in the worst shapes, and elements an expression looks for."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import cycle, islice
from xml.sax.saxutils import escape, quoteattr

from lxml import etree

FULL = 20_000
"""Elements of a page at its full size; the nested one is a tenth as deep."""

_STRING = re.compile(r"\"([^\"]*)\"|'([^']*)'")
_ATTRIBUTE = re.compile(r"@\s*([A-Za-z_][\w-]*)")
_NAME = re.compile(r"(?<![\w@$-])([A-Za-z_][\w-]*)(?!\s*\(|::|[\w:-])")
_OPERATORS = frozenset({"and", "or", "mod"})
_MOST_WORDS = 8
_WIDTH = 100


@dataclass(frozen=True, slots=True)
class Words:
    """The contents of a page: names of elements and attributes, and values that all attributes take in turn."""

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
    return tuple(dict.fromkeys(found))[:_MOST_WORDS]


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


def page(shape: str, words: Words, size: int) -> etree._Element:
    """Return the document element of a page of about ``size`` elements."""
    return etree.fromstring(f"<html><body>{SHAPES[shape](words, size)}</body></html>", etree.XMLParser(huge_tree=True))


@lru_cache(maxsize=32)
def common_page(shape: str, size: int) -> etree._Element:
    """Return a page of common contents; built once."""
    return page(shape, COMMON, size)
