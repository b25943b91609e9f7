"""The parts of an entry in plain words, for people who know what is on a page but not the format of entries."""

import re
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from aahcrawler.editor.rules.link_fates import EntryParts, Part
from aahcrawler.editor.text.printable_text import an

_PARTS: Final = re.compile(r"\*\*/|\*\*|\*|#")
_WORDS: Final = {"**/": "…/", "**": "…", "*": "‹any text›", "#": "‹number›"}
_SIGNALS: Final[Mapping[str, str]] = {
    "host": "the site is {}",
    "generator": "the page says it was made by “{}”",
    "script": "a script from an address with {}",
    "link": "a style sheet or the like from an address with {}",
    "header": "the server sends the field {}",
    "cookie": "the server sets the cookie {}",
    "text": "the source of the page holds “{}”",
    "css": "there is an element {}",
    "xpath": "there is an element {}",
}
_STRENGTHS: Final = {"proof": "it decides", "strong": "it is enough", "hint": "it needs a second one"}
_ROLES: Final = {"terminal": "pages that hold content", "intermediate": "pages that lead to content"}
_NAMES: Final[Mapping[str, str]] = {
    "detect": "Signs of the software",
    "canonical": "Addresses that mean the same page",
    "avoid": "Addresses that are never fetched",
    "listings": "Lists of everything",
    "about": "About",
    "ignore": "Not looked at",
    "needs-browser": "Needs a browser",
    "when": "Its sign",
    "unless": "Not when",
    "address": "Its addresses",
    "paging": "Further pages",
    "pages": "Links to further pages",
    "item": "One object",
    "identity": "What tells objects apart",
    "parent": "What it answers",
    "without": "Left out",
    "own": "Objects that the page holds as its own",
    "run": "How comments without elements are cut",
    "drop": "Does not count",
    "use": "As on another level",
    "instead": "Another type",
    "pattern": "Sign",
    "behaviour": "In a browser",
    "scroll": "Scroll to the end",
    "click": "Click for more",
    "open": "Unfold",
    "dismiss": "Close what covers the page",
    "play": "Play",
    "words": "What it says",
    "never": "Never clicked",
}
_CONTAINERS: Final = frozenset(
    {"detect", "avoid", "canonical", "listings", "level", "variant", "extract", "field", "behaviour"}
)
_FIELD_NOTES: Final = {
    "page": "anywhere on the page",
    "first-only": "of the first object alone",
    "many": "several values",
    "join": "all that is found is one value",
}


def address_words(path: str, parameters: tuple[str, ...] = (), query: str = "") -> str:
    """Return the shape of addresses as people read it.

    >>> address_words("**/topic.php", ("id", "view=print"))
    '…/topic.php with id and view=print'
    >>> address_words("/thread/#/*")
    '/thread/‹number›/‹any text›'
    """
    said = _PARTS.sub(lambda found: _WORDS[found[0]], path)
    asked = [*parameters, *([_PARTS.sub(lambda found: _WORDS[found[0]], query)] if query else [])]
    return f"{said} with {' and '.join(asked)}" if asked else said


@dataclass(frozen=True, slots=True)
class PartWords:
    """A part in words: a name, a sentence about it, and the expression that it looks by, empty where it has none."""

    name: str
    detail: str = ""
    expression: str = ""


def said_of(part: Part, parts: EntryParts) -> PartWords:
    """Return a part of an entry in words."""
    say = _SAY.get(part.tag)
    if say is not None:
        return say(part, parts)
    return PartWords(_NAMES.get(part.tag, part.tag.replace("-", " ").capitalize()), _rest(part), expression_of(part))


def short(part: Part, parts: EntryParts) -> str:
    """Return the label of an element that a part matches: ``title``, ``post``, ``sign of thread``."""
    extract, field, level = (parts.around(part, tag) for tag in ("extract", "field", "level"))
    if part.tag == "field" or (field is not None and part.tag == "select"):
        return _field_name(part if part.tag == "field" else field)
    if part.tag == "item" and extract is not None:
        return extract.text("type") or extract.text("name")
    if part.tag in ("when", "unless", "pattern"):
        whose = level.text("name") if level is not None else "the software"
        return f"sign of {whose}" if part.tag != "unless" else f"no {whose}"
    if part.tag == "without" and field is not None:
        return f"not in {_field_name(field)}"
    if part.tag == "select":
        around = parts.at(part.parent)
        return _NAMES.get(around.tag, around.tag).lower() if around is not None else "select"
    return said_of(part, parts).name.lower()


def whereabouts(place: str, parts: EntryParts) -> str:
    """Return the level that a place is in or of, and the action: ``level thread, posts``; empty outside of levels."""
    part = parts.at(place)
    if part is None:
        return ""
    level, action = (_itself_or_around(part, parts, *tags) for tags in (("level",), ("extract", "navigate")))
    if level is None:
        return ""
    named = f"level {level.text('name')}"
    return named if action is None else f"{named}, {action.text('name')}"


def _itself_or_around(part: Part, parts: EntryParts, *tags: str) -> Part | None:
    return part if part.tag in tags else parts.around(part, *tags)


def expression_of(part: Part) -> str:
    """Return the expression of a part as the file has it, empty where there is none."""
    return part.text("css") or part.text("xpath")


def is_container(part: Part) -> bool:
    """Return whether a part only groups the parts in it."""
    return part.tag in _CONTAINERS


def _field_name(part: Part | None) -> str:
    return part.text("name") if part is not None else ""


def _pattern(part: Part, _: EntryParts) -> PartWords:
    name = next((each for each in _SIGNALS if part.text(each)), "")
    value = part.text(name)
    words = _SIGNALS[name].format(value) if name else f"the address is like {_address_of(part)}"
    strength = _STRENGTHS.get(part.text("strength"), "")
    return PartWords("Sign", f"{words}{f' ({strength})' if strength else ''}")


def _condition(part: Part, _: EntryParts) -> PartWords:
    expression, address = expression_of(part), _address_of(part)
    words = [f"there is an element {expression}"] if expression else []
    words += [f"the address is like {address}"] if address else []
    return PartWords(_NAMES[part.tag], " and ".join(words) or _rest(part))


def _address(part: Part, _: EntryParts) -> PartWords:
    optional = part.text("optional")
    return PartWords(_NAMES[part.tag], f"{_address_of(part)}{f', perhaps with {optional}' if optional else ''}")


def _extract(part: Part, _: EntryParts) -> PartWords:
    many = "several on a page" if part.text("many") == "yes" else "one on a page"
    return PartWords(f"Content: {part.text('name')}", f"each {an(part.text('type') or 'thing')}, {many}")


def _field(part: Part, _: EntryParts) -> PartWords:
    notes = [note for attribute, note in _FIELD_NOTES.items() if part.text(attribute) == "yes"]
    kind = part.text("kind")
    return PartWords(part.text("name").capitalize(), ", ".join([*([an(kind)] if kind else []), *notes]))


def _select(part: Part, parts: EntryParts) -> PartWords:
    around = parts.at(part.parent)
    first = part.number == 0
    attribute = part.text("attribute")
    name = "Links at" if around is not None and around.tag == "navigate" else "Read at" if first else "or else at"
    return PartWords(name, f"its {attribute}" if attribute else "", expression_of(part))


def _behaviour(part: Part, _: EntryParts) -> PartWords:
    levels = " and ".join(part.text("level").split())
    allowed = ", and may send requests that ask for more" if part.text("allows") else ""
    return PartWords(f"In a browser: {part.text('name')}", f"on pages of {levels or 'any level'}{allowed}")


def _drop(part: Part, _: EntryParts) -> PartWords:
    what = part.text("parameter") or part.text("file")
    value = part.text("value")
    return PartWords(_NAMES["drop"], f"{what}{f' where it is {value}' if value else ''}")


def _address_of(part: Part) -> str:
    path, query = part.text("path"), part.text("query")
    parameters = tuple(part.text("parameters").split())
    return address_words(path, parameters, query) if path or parameters or query else ""


def _rest(part: Part) -> str:
    """Return the attributes of a part that have no words of their own."""
    held = {"css", "xpath", "cite", "name"}
    given = [f"{name}: {value}" for name, value in part.element.attrib.items() if str(name) not in held]
    text = (part.element.text or "").strip()
    return "; ".join([*given, *([textwrap.shorten(text, 200, placeholder=" …")] if text else [])])


_SAY: Final[Mapping[str, Callable[[Part, EntryParts], PartWords]]] = {
    "level": lambda part, _: PartWords(f"Level {part.text('name')}", _ROLES.get(part.text("role"), part.text("role"))),
    "variant": lambda part, _: PartWords(f"Variant {part.text('name')}", "what differs where pages show its sign"),
    "pattern": _pattern,
    "when": _condition,
    "unless": _condition,
    "needs-browser": _condition,
    "address": _address,
    "paging": lambda part, _: PartWords(
        _NAMES["paging"], f"they differ in {part.text('parameter') or part.text('part')}"
    ),
    "url": lambda part, _: PartWords(f"Avoid because {part.text('reason').replace('-', ' ')}", _address_of(part)),
    "navigate": lambda part, _: PartWords(
        f"Links to {part.text('to') or part.text('name')}", f"called {part.text('name')}"
    ),
    "extract": _extract,
    "field": _field,
    "select": _select,
    "drop": _drop,
    "behaviour": _behaviour,
}
