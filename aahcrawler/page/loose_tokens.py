"""Tell the tags of XML that need not be well-formed from its texts, in one pass and in linear time.

Any ``&`` and ``<`` that can be no markup stands for itself, and HTML's named entities that end in ``;`` are decoded.
Nothing that a document type declares is expanded or loaded.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from html import unescape
from html.entities import html5
from itertools import chain
from typing import Final, NamedTuple

UNKNOWN: Final = "\ufffd"
"""Stands for what has no meaning: bytes that could not be decoded, characters that XML does not have."""

_LONGEST_MARKUP = 262_144
"""The characters within which markup has to end, where a document comes in pieces."""
_LONGEST_REFERENCE = 40
_LONGEST_TAG = 4_096
"""The characters of a tag that are waited for, where the next piece may show that a ``<`` is within quotes."""
_MOST_TOKENS = 2_000_000
"""Twice those of a sitemap of 50 MiB whose entries name their translations."""
_MOST_MISTAKES = 100_000

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
        self._left = _MOST_TOKENS
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
                if self._is_refused or not self._left or self._mistakes.mended > _MOST_MISTAKES:
                    return
            rest = rest[at:]

    def _token(self, rest: str, at: int) -> tuple[str | Tag | None, int]:
        """Return what stands at one place and where it ends, -1 where that shows in the next piece."""
        if rest[at] != "<":
            end = self._end_of_text(rest, at)
            return self.decoded(rest[at:end]), end if end > at else -1
        token, end = self._markup(rest, at)
        if end < 0 and (self._is_last or len(rest) - at > _LONGEST_MARKUP):
            self._mistakes.mended += 1
            return "<", at + 1
        return token, end

    def _end_of_text(self, rest: str, at: int) -> int:
        end = rest.find("<", at)
        if end >= 0:
            return end
        cut = rest.rfind("&", max(at, len(rest) - _LONGEST_REFERENCE))
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
        is_short = not self._is_last and len(rest) - at <= _LONGEST_TAG
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
        if not self._is_last and len(rest) - at <= _LONGEST_MARKUP:
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
