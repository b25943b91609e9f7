"""Read lists in XML that need not be well-formed, entry by entry: what cannot be mended costs its own entry only.

Parsers of XML stop at the first mistake, or leave out bytes and so make other URLs of those that were written. Here
elements end where their parents do, or before what cannot be within them.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from html import unescape
from html.entities import html5
from itertools import chain
from typing import Final, NamedTuple

UNKNOWN: Final = "\ufffd"
"""Stands for what has no meaning: bytes that could not be decoded, characters that XML does not have."""

_MAX_MARKUP_LENGTH = 262_144
"""The characters within which markup has to end, where a document comes in pieces."""
_MAX_REFERENCE_LENGTH = 40
_MAX_TAG_LENGTH = 4_096
"""The characters of a tag that are waited for, where the next piece may show that a ``<`` is within quotes."""
_MAX_TOKENS = 2_000_000
"""Twice those of a sitemap of 50 MiB whose entries name their translations."""
_MAX_MISTAKES = 100_000

_NAME = r"([^\W\d][^\s/<>=\"']*+)"
# Possessive, so that matching is linear. A value in quotes has no < in XML, but may have one here within a line.
_TAG = re.compile(rf"""<(/?){_NAME}((?:[^<>"']++|"[^"<]*+"|'[^'<]*+'|"[^">\n]*+"|'[^'>\n]*+')*+)>""")
_SLOPPY_TAG = re.compile(rf"<(/?){_NAME}([^<>]*+)>")
# A name without a value is taken as well: else the search would begin anew at each of its characters.
_ATTRIBUTE = re.compile(r"""([^\s=<>"'/]++)(?:\s*+=\s*+(?:"([^"]*+)"|'([^']*+)'|([^\s"'>]++)))?+""")
_BRACKET = re.compile(r"[<>]")
_REFERENCE = re.compile(r"&(?:(#\d{1,7}|#[xX][0-9a-fA-F]{1,6});|([A-Za-z][A-Za-z0-9]{0,31});)?")
_SUBSET_OR_END = re.compile(r"[\[>]")
_DECLARED = re.compile(r"<!ENTITY\s+(?:%\s+)?([^\s%\"'>]+)")
_OF_XML = frozenset({"amp", "lt", "gt", "quot", "apos"})
_SECTIONS = (("<!--", "-->"), ("<![CDATA[", "]]>"), ("<?", "?>"))
_CDATA = "<![CDATA["


@dataclass(slots=True)
class Mistakes:
    """Counts the mistakes of a document while it is read: those that were mended, and entries that were dropped."""

    mended: int = 0
    dropped: int = 0

    @property
    def any(self) -> bool:
        """Return whether there are any."""
        return self.mended + self.dropped > 0

    def __str__(self) -> str:
        return f"{self.mended:,} mistakes mended, {self.dropped:,} entries left out"


class Tag(NamedTuple):
    """A tag; its name and those of its attributes are in lower case, and ``name`` is without ``prefix``."""

    name: str
    prefix: str
    attributes: dict[str, str]
    is_end: bool
    is_empty: bool


class Tokens:
    """The texts, with references decoded, and the tags of a document that comes in pieces.

    There are none behind a document type with declarations of its own where ``allows_subset`` does not allow that, nor
    behind 2,000,000 tokens or 100,000 mistakes.
    """

    def __init__(self, pieces: Iterable[str], mistakes: Mistakes, *, allows_subset: bool) -> None:
        self._pieces = pieces
        self._mistakes = mistakes
        self._allows_subset = allows_subset
        self._declared: frozenset[str] = frozenset()
        self._is_refused = self._is_last = False
        self._left = _MAX_TOKENS
        self._missing: set[str] = set()

    def __iter__(self) -> Iterator[str | Tag]:
        """Yield the tokens in order. Comments, instructions and the document type are passed over."""
        rest = ""
        for piece in chain(self._pieces, (None,)):
            self._is_last = piece is None
            rest += piece or ""
            self._missing.clear()
            at = 0
            while at < len(rest):
                token, end = self._token(rest, at)
                if end < 0:
                    break
                at = end
                if token:
                    yield token
                self._left -= 1
                if self._is_refused or not self._left or self._mistakes.mended > _MAX_MISTAKES:
                    return
            rest = rest[at:]

    def _token(self, rest: str, at: int) -> tuple[str | Tag | None, int]:
        """Return what stands at one place and where it ends, -1 where that shows in the next piece."""
        if rest[at] != "<":
            end = self._end_of_text(rest, at)
            return self.decoded(rest[at:end]), end if end > at else -1
        token, end = self._markup(rest, at)
        if end < 0 and (self._is_last or len(rest) - at > _MAX_MARKUP_LENGTH):
            self._mistakes.mended += 1
            return "<", at + 1
        return token, end

    def _end_of_text(self, rest: str, at: int) -> int:
        end = rest.find("<", at)
        if end >= 0:
            return end
        cut = rest.rfind("&", max(at, len(rest) - _MAX_REFERENCE_LENGTH))
        return len(rest) if cut < 0 or self._is_last else cut

    def _markup(self, rest: str, at: int) -> tuple[str | Tag | None, int]:
        found = _TAG.match(rest, at)
        if found is not None:
            return self._tag(found), found.end()
        for opening, closing in _SECTIONS:
            if rest.startswith(opening, at):
                return self._section(rest, at, opening, closing)
            if not self._is_last and opening.startswith(rest[at : at + len(opening)]):
                return None, -1
        if rest.startswith("<!", at):
            return None, self._end_of_declaration(rest, at)
        is_short = not self._is_last and len(rest) - at <= _MAX_TAG_LENGTH
        if is_short or _BRACKET.search(rest, at + 1) is None:
            return None, -1
        found = _SLOPPY_TAG.match(rest, at)
        self._mistakes.mended += 1
        return (self._tag(found), found.end()) if found is not None else ("<", at + 1)

    def _section(self, rest: str, at: int, opening: str, closing: str) -> tuple[str | None, int]:
        begin = at + len(opening)
        end = -1 if closing in self._missing else rest.find(closing, begin)
        if end >= 0:
            return rest[begin:end] if opening == _CDATA else None, end + len(closing)
        self._missing.add(closing)
        if not self._is_last and len(rest) - at <= _MAX_MARKUP_LENGTH:
            return None, -1
        self._mistakes.mended += 1
        return None, begin

    def _end_of_declaration(self, rest: str, at: int) -> int:
        found = None if ">" in self._missing else _SUBSET_OR_END.search(rest, at)
        if found is None:
            self._missing.add(">")
            return -1
        if found[0] == ">":
            return found.end()
        if not self._allows_subset:
            self._is_refused = True
            return len(rest)
        end = -1 if "]>" in self._missing else rest.find("]>", found.end())
        if end < 0:
            self._missing.add("]>")
            return found.end()
        self._declared |= frozenset(_DECLARED.findall(rest, found.end(), end))
        return end + 2

    def _tag(self, found: re.Match[str]) -> Tag:
        end, written_name, written = found.groups()
        prefix, _, name = written_name.lower().rpartition(":")
        is_empty = written.endswith("/")
        attributes = self._attributes(written[:-1] if is_empty else written) if "=" in written else {}
        return Tag(name, prefix, attributes, bool(end), is_empty)

    def _attributes(self, written: str) -> dict[str, str]:
        attributes: dict[str, str] = {}
        for found in _ATTRIBUTE.finditer(written):
            name, double, single, bare = found.groups()
            if found.lastindex == 1:
                continue
            self._mistakes.mended += bool(bare)
            attributes.setdefault(name.lower(), self.decoded(double or single or bare or ""))
        return attributes

    def decoded(self, text: str) -> str:
        """Return a text whose references are decoded; those to what the document declares itself are ``UNKNOWN``."""
        return _REFERENCE.sub(self._referred, text) if "&" in text else text

    def _referred(self, found: re.Match[str]) -> str:
        number, name = found.groups()
        if number:
            return unescape(found[0]) or UNKNOWN
        if name in _OF_XML:
            return html5[f"{name};"]
        self._mistakes.mended += 1
        return html5.get(f"{name};") or (UNKNOWN if name in self._declared else found[0])


MAX_ELEMENTS = 10_000
"""The most elements of an entry; one that has more is dropped."""

_MAX_TEXT_LENGTH = 65_536
"""The characters of a text that are kept."""
_MAX_DEPTH = 64
_MAX_BEFORE = 1_000
"""The most tags before the first container."""
_MAX_OTHERS = 32
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
        self.content.append(text[: _MAX_TEXT_LENGTH - self._length])
        self._length += len(text)
        if self._length > _MAX_TEXT_LENGTH:
            self._length, self.is_cut = _MAX_TEXT_LENGTH, True


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
            if self._before > _MAX_BEFORE:
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
        if self._open and self._elements <= MAX_ELEMENTS:
            self._open[-1].content.append(element)
        if not tag.is_empty and len(self._open) < _MAX_DEPTH:
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
            self.others = [*self.others, outermost][:_MAX_OTHERS]
        elif self._elements > MAX_ELEMENTS:
            self.mistakes.dropped += 1
        else:
            yield outermost
