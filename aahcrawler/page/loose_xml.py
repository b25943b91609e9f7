"""Read lists in XML that need not be well-formed, entry by entry: what cannot be mended costs its own entry only.

Parsers of XML stop at the first mistake, or leave out bytes and so make other URLs of those that were written. Here
elements end where their parents do, or before what cannot be within them.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from aahcrawler.page.loose_tokens import UNKNOWN, Mistakes, Tag, Tokens

MOST_ELEMENTS = 10_000
"""The most elements of an entry; one that has more is dropped."""

_LONGEST_TEXT = 65_536
"""The characters of a text that are kept."""
_DEEPEST = 64
_MOST_BEFORE = 1_000
"""The most tags before the first container."""
_MOST_OTHERS = 32
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_AROUND = "".join(map(chr, range(33))) + "\u200b\ufeff"
_LINE_BREAK = re.compile(r"[ \t]*[\r\n]+[ \t]*")


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The local names, in lower case, of a kind of list.

    ``containers`` hold ``entries``. ``texts`` are elements of entries that hold text alone, ``fields`` those before
    which such an element must have lost its end tag.
    """

    containers: frozenset[str]
    entries: frozenset[str]
    texts: frozenset[str]
    fields: frozenset[str]


@dataclass(slots=True)
class Element:
    """An element; names and those of ``attributes`` are in lower case, ``name`` is without ``prefix``.

    ``content`` are texts and elements in their order. ``is_cut`` says that the document, or its container, ended within
    it, or that it is too long to be kept.
    """

    name: str
    prefix: str = ""
    attributes: dict[str, str] = field(default_factory=dict)
    content: list["str | Element"] = field(default_factory=list)
    is_cut: bool = False
    _length: int = 0

    @property
    def children(self) -> Iterator["Element"]:
        """Yield the elements directly within it."""
        return (each for each in self.content if isinstance(each, Element))

    def within(self) -> Iterator["Element"]:
        """Yield all elements within it, in document order."""
        for child in self.children:
            yield child
            yield from child.within()

    @property
    def text(self) -> str:
        """All text within it, without control characters, and without white space at its ends."""
        return _CONTROL.sub("", "".join(self.texts())).strip()

    @property
    def url(self) -> str:
        """Its text as a URL, see `exact_url`; "" as well if anything else is within it, or it is cut."""
        return "" if self.is_cut or any(self.children) else exact_url("".join(self.texts()))

    def texts(self) -> Iterator[str]:
        """Yield the texts within it, in document order."""
        for each in self.content:
            if isinstance(each, Element):
                yield from each.texts()
            else:
                yield each

    def add(self, text: str) -> None:
        """Add text, as much as is kept."""
        self.content.append(text[: _LONGEST_TEXT - self._length])
        self._length += len(text)
        if self._length > _LONGEST_TEXT:
            self._length, self.is_cut = _LONGEST_TEXT, True


def exact_url(written: str) -> str:
    r"""Return a URL without what lies around it or at its line breaks; "" if any of its characters is not known.

    >>> exact_url(" http://a.test/\n  b "), exact_url("http://a.test/caf\ufffd")
    ('http://a.test/b', '')
    """
    url = _LINE_BREAK.sub("", written.strip().strip(_AROUND))
    return "" if UNKNOWN in url or _CONTROL.search(url) else url


class LooseXml:
    """A list that is read once, by iterating over its entries.

    ``root`` is its outermost container, None if there is none yet, ``others`` are the first elements beside entries
    that were met. ``mistakes`` are counted meanwhile; whoever takes an entry for broken counts that, too. A document
    type with declarations of its own ends what is read, unless ``allows_subset``.
    """

    def __init__(self, pieces: Iterable[str], vocabulary: Vocabulary, *, allows_subset: bool = False) -> None:
        self.root: Element | None = None
        self.others: list[Element] = []
        self.mistakes = Mistakes()
        self._tokens = Tokens(pieces, self.mistakes, allows_subset=allows_subset)
        self._vocabulary = vocabulary
        self._open: list[Element] = []
        self._elements = 0
        self._before = 0

    def __iter__(self) -> Iterator[Element]:
        """Yield the entries, each as soon as it ends."""
        for token in self._tokens:
            if isinstance(token, str):
                self._text(token)
            elif token.is_end:
                yield from self._end(token.name)
            elif self._open or not self._is_container(token):
                yield from self._start(token)
            if self._before > _MOST_BEFORE:
                return
        yield from self._cut()

    def _is_container(self, tag: Tag) -> bool:
        if tag.name not in self._vocabulary.containers:
            return False
        if self.root is None:
            self.root = Element(tag.name, tag.prefix, tag.attributes)
        return True

    def _text(self, text: str) -> None:
        if self._open:
            self._open[-1].add(text)
        elif not text.strip("\ufeff").isspace():
            self.mistakes.mended += 1

    def _start(self, tag: Tag) -> Iterator[Element]:
        if self.root is None:
            self._before += 1
            self.mistakes.mended += 1
            return
        if tag.name in self._vocabulary.entries:
            yield from self._closed(0)
        elif self._lacks_end(tag.name):
            yield from self._closed(len(self._open) - 1)
        if not self._open:
            self._elements = 0
        self._elements += 1
        element = Element(tag.name, tag.prefix, tag.attributes)
        if self._open and self._elements <= MOST_ELEMENTS:
            self._open[-1].content.append(element)
        if not tag.is_empty and len(self._open) < _DEEPEST:
            self._open.append(element)
        elif not self._open:
            self._open.append(element)
            yield from self._closed(0, mistakes=0)

    def _lacks_end(self, name: str) -> bool:
        """Return whether the innermost element must have ended before an element of that name."""
        is_field = len(self._open) == 2 and name in self._vocabulary.fields
        return is_field and self._open[-1].name in self._vocabulary.texts

    def _end(self, name: str) -> Iterator[Element]:
        if len(self._open) > 1 and self._open[-1].name == name:
            self._open.pop()
            return
        depth = next((at for at in reversed(range(len(self._open))) if self._open[at].name == name), None)
        if depth is not None:
            yield from self._closed(depth, mistakes=len(self._open) - depth - 1)
        elif name in self._vocabulary.containers:
            yield from self._cut()
        else:
            self.mistakes.mended += 1
            if len(self._open) == 2 and self._open[-1].name in self._vocabulary.texts:
                self._open.pop()

    def _cut(self) -> Iterator[Element]:
        for element in self._open:
            element.is_cut = True
        yield from self._closed(0)

    def _closed(self, depth: int, mistakes: int | None = None) -> Iterator[Element]:
        """Close the open elements from that depth on; yield the entry that ends by that.

        Each of them lacks an end tag, unless the number of such ``mistakes`` is given.
        """
        self.mistakes.mended += len(self._open) - depth if mistakes is None else mistakes
        outermost = self._open[0] if self._open and depth == 0 else None
        del self._open[depth:]
        if outermost is None:
            return
        if outermost.name not in self._vocabulary.entries:
            self.others = [*self.others, outermost][:_MOST_OTHERS]
        elif self._elements > MOST_ELEMENTS:
            self.mistakes.dropped += 1
        else:
            yield outermost
