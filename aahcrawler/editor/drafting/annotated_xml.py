"""The elements of an application's file as a draft writes them, with its guesses and how doubtful each is."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from lxml import etree
from lxml.etree import _Comment as Comment
from pydantic import BaseModel, ConfigDict, Field

from aahcrawler.editor.text.edits import Add, Edit, Put, Remove, SetAttribute
from aahcrawler.editor.text.entry_text import EntryText
from aahcrawler.editor.text.printable_text import printable

UNPROVEN = "unproven: read off a page"


def append_element(parent: etree._Element, tag: str, attributes: Mapping[str, str] | None = None) -> etree._Element:
    """Append an element; attributes come in the order given."""
    return etree.SubElement(parent, tag, dict(attributes or {}))


def note(parent: etree._Element, text: str) -> None:
    """Append a comment; forbidden character sequences are changed."""
    parent.append(_comment(text))


def guess(parent: etree._Element, text: str) -> None:
    """Append a comment that marks the next element as a guess."""
    parent.append(guessed(text))


def guessed(text: str) -> Comment:
    """Return a comment that marks the next element as a guess."""
    return _comment(f"guess: {text}")


def replace_by_note(element: etree._Element, text: str) -> None:
    """Put a comment in the place of an element and of the comments before it that mark it as a guess."""
    parent = element.getparent()
    before = element.getprevious()
    if parent is not None and isinstance(before, Comment) and (before.text or "").startswith(" guess: "):
        parent.remove(before)
    if parent is not None:
        parent.replace(element, _comment(text))


def _comment(text: str) -> Comment:
    return etree.Comment(f" {re.sub('-{2,}', '-', printable(text)).strip('-')} ")


def document(root: etree._Element) -> bytes:
    """Return the file, indented and with an empty line before each part."""
    etree.indent(root, "  ")
    for child in root:
        if child.tag == "level" or child.tag in ("detect", "canonical", "avoid"):
            _space_before(child)
    written = etree.tostring(root, xml_declaration=True, encoding="UTF-8")
    return re.sub(rb"^(<\?xml[^>]*)'1.0' encoding='UTF-8'", rb'\1"1.0" encoding="UTF-8"', written) + b"\n"


def _space_before(element: etree._Element) -> None:
    before = element.getprevious()
    while isinstance(before, Comment):
        before = before.getprevious()
    if before is not None:
        before.tail = "\n" + (before.tail or "")


MIN_DOUBT = 0.02
"""The doubt of a guess that everything speaks for."""
MAX_ALTERNATIVES = 6
WITHOUT_ALTERNATIVES = 0.5
_NEVER_EMPTY = ("canonical", "avoid")


class Alternative(BaseModel):
    """What else could be right, in words, and the edits that put it in place of the guess."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    said: str
    edits: tuple[Edit, ...]


class Doubt(BaseModel):
    """A guess at a place of a file; ``doubt`` is in [0, 1], higher if less evidence supports the guess."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    place: str
    said: str
    doubt: float = Field(gt=0, le=1)
    alternatives: tuple[Alternative, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Change:
    """One edit of an element in a file that is being written.

    ``element`` is removed, or replaced by ``xml``; or its ``attribute`` is set to ``value``; or it gets ``xml`` as a
    new child, before ``before`` if that is given.
    """

    kind: Literal["remove", "put", "set", "add"]
    element: etree._Element
    xml: etree._Element | None = None
    attribute: str = ""
    value: str | None = None
    before: etree._Element | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """Something else that could stand in a file that is being written."""

    said: str
    changes: tuple[Change, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Guess:
    """A guess while the file is being written: its element, and what else could be right."""

    element: etree._Element
    said: str
    doubt: float
    choices: tuple[Choice, ...] = ()


@dataclass
class Guesses:
    """Collects the guesses of a file while it is written, each marked by a comment before its element."""

    found: list[Guess] = field(default_factory=list)

    def mark(self, element: etree._Element, said: str, doubt: float, choices: Iterable[Choice] = ()) -> None:
        """Mark an element as a guess: by the comment before it, and by what else could be right."""
        element.addprevious(guessed(said))
        self.note(element, said, doubt, choices)

    def note(self, element: etree._Element, said: str, doubt: float, choices: Iterable[Choice] = ()) -> None:
        """Record a doubt about an element without adding a comment."""
        kept = tuple(choices)[:MAX_ALTERNATIVES]
        self.found.append(Guess(element, said, min(max(doubt, MIN_DOUBT), 1.0), kept))


def removal(said: str, *elements: etree._Element) -> Choice:
    """Return the choice to leave elements out."""
    return Choice(said, tuple(Change("remove", element) for element in elements))


def setting(said: str, element: etree._Element, attribute: str, value: str | None) -> Choice:
    """Return the choice of another value of an attribute; None leaves it out."""
    return Choice(said, (Change("set", element, attribute=attribute, value=value),))


def doubts_of(root: etree._Element, data: bytes, guesses: Iterable[Guess]) -> tuple[Doubt, ...]:
    """Return the doubts of a written file, the most doubtful first; guesses whose elements are gone have none.

    ``data`` is the file that ``root`` was written to. An alternative of which any element is gone is left out.
    """
    elements = [element for element in root.iter() if isinstance(element.tag, str)]
    places = dict(zip(elements, EntryText(data).places(), strict=True))
    kept = (guess for guess in guesses if guess.element in places)
    found = [_doubt(guess, places) for guess in kept]
    return tuple(sorted(found, key=lambda doubt: -doubt.doubt))


def _doubt(guess: Guess, places: Mapping[etree._Element, str]) -> Doubt:
    """Return a doubt; without alternatives it counts less, since there is little that anybody can do about it."""
    others = tuple(_alternatives(guess.choices, places))
    doubt = guess.doubt if others else guess.doubt * WITHOUT_ALTERNATIVES
    return Doubt(place=places[guess.element], said=guess.said, doubt=round(doubt, 3), alternatives=others)


def _alternatives(choices: Sequence[Choice], places: Mapping[etree._Element, str]) -> Iterable[Alternative]:
    for choice in choices:
        named = [element for change in choice.changes for element in (change.element, change.before)]
        if all(element is None or element in places for element in named):
            yield Alternative(said=choice.said, edits=tuple(_edit(change, places) for change in choice.changes))


def _edit(change: Change, places: Mapping[etree._Element, str]) -> Edit:
    place = places[change.element]
    match change.kind:
        case "remove":
            return Remove(place=places[_whole(change.element)])
        case "put":
            return Put(place=place, xml=_written(change.xml))
        case "set":
            return SetAttribute(place=place, attribute=change.attribute, value=change.value)
        case "add":
            before = places[change.before] if change.before is not None else ""
            return Add(place=place, xml=_written(change.xml), before=before)


def _whole(element: etree._Element) -> etree._Element:
    """Return an element, or its parent if the parent may not be left without such a child."""
    parent = element.getparent()
    if parent is None or parent.tag not in _NEVER_EMPTY:
        return element
    return element if sum(isinstance(each.tag, str) for each in parent) > 1 else parent


def _written(element: etree._Element | None) -> str:
    return etree.tostring(element, encoding="unicode", with_tail=False) if element is not None else ""
