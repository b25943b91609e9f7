"""Reads text and links of DOCX files (ECMA-376, parts 1 and 2), in the reader's child process."""

import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import unquote

from lxml.etree import _Element as Element
from lxml.etree import iterwalk

from aahcrawler.documents.content import About, LinkStart, Piece, TextMark, about, moment_of
from aahcrawler.documents.zip_package import Package, tag_of, text_of, value_of

_DOCUMENT: Final = "officeDocument"
_NOTES: Final = ("footnotes", "endnotes")
_UNREAD: Final = frozenset({"Fallback", "del", "moveFrom", "pPr", "rPr", "tblPr", "sectPr", "fldData"})
"""Elements without text of the document: what is said twice for older programs, was deleted, or is form alone."""
_SIGNS: Final = {"tab": " ", "ptab": " ", "br": " ", "cr": " ", "noBreakHyphen": "-"}
_HYPERLINK: Final = re.compile(r'\s*+HYPERLINK\s++(?:"([^"]++)"|([^\s"\\]++))', re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Relation:
    """The target of a part's relation: the name of another part or, if ``external``, a URL."""

    type: str
    target: str
    is_external: bool


def main_part(package: Package) -> str:
    """Return the name of the part that has a document's text, empty where the package is no such document."""
    found = (each.target for each in _relations(package, "").values() if each.type == _DOCUMENT)
    named = next((name for name in found if name in package), "")
    return named if posixpath.basename(posixpath.dirname(named)) == "word" else ""


def about_file(package: Package) -> About:
    """Return the metadata that a document declares."""
    root = package.xml("docProps/core.xml")
    return about(text_of(root, "title"), text_of(root, "creator"), moment_of(text_of(root, "created")))


def pieces(package: Package) -> Iterator[Piece]:
    """Yield the text of a document, then its notes."""
    main = main_part(package)
    relations = _relations(package, main)
    notes = (each.target for kind in _NOTES for each in relations.values() if each.type == kind)
    yield from _of_part(package, main, relations)
    for name in notes:
        yield from _of_part(package, name, _relations(package, name))


def _relations(package: Package, part: str) -> dict[str, _Relation]:
    """Return the relations of a part by id; without a part, those of the package itself."""
    folder, name = posixpath.split(part)
    root = package.xml(posixpath.join(folder, "_rels", f"{name}.rels"))
    found = {}
    for each in () if root is None else root.iter("{*}Relationship"):
        target, is_external = value_of(each, "Target"), value_of(each, "TargetMode") == "External"
        if not is_external:
            target = posixpath.normpath(posixpath.join("/", folder, unquote(target))).lstrip("/")
        kind = (value_of(each, "Type")).rpartition("/")[2]
        found[value_of(each, "Id")] = _Relation(kind, target, is_external)
    return found


def _of_part(package: Package, name: str, relations: dict[str, _Relation]) -> Iterator[Piece]:
    root = package.xml(name)
    if root is None:
        return
    fields = _Fields()
    walk = iterwalk(root, events=("start", "end"))
    for event, element in walk:
        tag = tag_of(element)
        if event == "start":
            if tag in _UNREAD:
                walk.skip_subtree()
            else:
                yield from _begun(element, tag, relations, fields)
        elif tag in ("hyperlink", "fldSimple"):
            yield TextMark.LINK_END
        elif tag == "p":
            yield TextMark.PARAGRAPH_END
    yield TextMark.SHEET_END


def _begun(element: Element, tag: str, relations: dict[str, _Relation], fields: "_Fields") -> Iterator[Piece]:
    if tag == "t":
        yield element.text or ""
    elif tag in _SIGNS:
        yield _SIGNS[tag]
    elif tag == "hyperlink":
        leads = relations.get(value_of(element, "id"))
        yield LinkStart(leads.target if leads is not None and leads.is_external else "")
    elif tag == "fldSimple":
        yield LinkStart(_address(value_of(element, "instr")))
    elif tag == "instrText":
        fields.instruct(element.text or "")
    elif tag == "fldChar":
        yield from fields.turn(value_of(element, "fldCharType"))


def _address(instruction: str) -> str:
    """Return the target of a field, empty unless it is a link.

    >>> _address(' HYPERLINK "http://a.test/" '), _address("PAGE")
    ('http://a.test/', '')
    """
    found = _HYPERLINK.match(instruction)
    return "" if found is None else found[1] or (found[2] or "")


@dataclass(slots=True)
class _Fields:
    """Fields written as a sequence of marks: beginning, instruction, separator, result and end."""

    _open: list[tuple[str, bool]] = field(default_factory=list)
    """The instructions of fields that have not ended, and whether their results have begun."""

    def instruct(self, text: str) -> None:
        if self._open and not self._open[-1][1]:
            self._open[-1] = (self._open[-1][0] + text, False)

    def turn(self, sign: str) -> Iterator[Piece]:
        if sign == "begin":
            self._open.append(("", False))
        elif sign == "separate" and self._open and not self._open[-1][1]:
            self._open[-1] = (self._open[-1][0], True)
            yield LinkStart(_address(self._open[-1][0]))
        elif sign == "end" and self._open and self._open.pop()[1]:
            yield TextMark.LINK_END
