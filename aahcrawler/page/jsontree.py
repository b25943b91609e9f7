"""JSON as a tree of elements, so that expressions written for HTML read the answers of JSON endpoints too."""

import json
import re
from collections.abc import Iterable, Iterator

from lxml.etree import SubElement
from lxml.html import Element, HtmlElement

MAX_CHARACTERS = 5_000_000
"""A longer document is not read: cut off it would be no JSON, and real answers have a tenth of that."""

MAX_DEPTH = 64
"""The depth to which values are read; deeper ones are left out."""

MAX_ELEMENTS = 200_000
"""The most values of one document that become elements, in document order."""

MAX_NAMES = 2_000
"""The most names of elements in one document; further members are all called ``member``."""

ROOT, ITEM, MEMBER = "json", "item", "member"

_MAX_NAME_LENGTH = 64
_NAME = re.compile(r"[a-z_][a-z0-9_.-]*")
_NO_NAME_SIGN = re.compile(r"[^a-z0-9_.-]")
_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

Json = object


def parse(text: str) -> HtmlElement:
    """Return the element ``json`` that represents a JSON document; an empty element if the text is not JSON.

    A member of an object becomes an element named after its key in lower case, as names in HTML are. If the key is not
    such a name (``wp:term``, ``postStream``, ``12``), the attribute ``key`` holds it unchanged, and the name has ``_``
    for each sign that names cannot contain, and before a digit at its start. An array becomes an element ``item`` for
    each of its values. Text, numbers as written, ``true`` and ``false`` become the text of elements, ``null`` none; a
    line ends behind each element. Of equal keys the last one counts, as in browsers. Characters that XML cannot contain
    become U+FFFD. Never raises; time and memory are bounded by the constants of this module.

    >>> tree = parse('{"posts": [{"id": 7, "wp:term": "boats"}]}')
    >>> tree.xpath("posts/item/id")[0].text, tree.xpath("//*[@key='wp:term']")[0].text
    ('7', 'boats')
    """
    root: HtmlElement = Element(ROOT)
    if len(text) > MAX_CHARACTERS:
        return root
    try:
        value: Json = json.loads(text, parse_int=str, parse_float=str, parse_constant=_refused)
    except (ValueError, RecursionError):
        return root
    _grow(root, value)
    return root


def _refused(constant: str) -> Json:
    raise ValueError(f"{constant} is no JSON")


def _grow(root: HtmlElement, document: Json) -> None:
    """Add elements in document order, without recursion."""
    names = _Names()
    left = MAX_ELEMENTS
    root.text = _text(document)
    stack: list[Iterator[tuple[HtmlElement, str | None, Json]]] = [_children(root, document)]
    while stack and left > 0:
        child = next(stack[-1], None)
        if child is None:
            stack.pop()
            continue
        parent, key, value = child
        left -= 1
        element = SubElement(parent, ITEM if key is None else names.of(key))
        if key is not None and element.tag != key:
            element.set("key", _NO_XML.sub("\ufffd", key))
        element.text = _text(value)
        element.tail = "\n"
        if len(stack) < MAX_DEPTH:
            stack.append(_children(element, value))


def _children(parent: HtmlElement, value: Json) -> Iterator[tuple[HtmlElement, str | None, Json]]:
    members: Iterable[tuple[str | None, Json]] = ()
    if isinstance(value, dict):
        members = value.items()
    elif isinstance(value, list):
        members = ((None, each) for each in value)
    return ((parent, key, each) for key, each in members)


def _text(value: Json) -> str | None:
    if isinstance(value, bool):
        return "true" if value else "false"
    return _NO_XML.sub("\ufffd", value) if isinstance(value, str) else None


class _Names:
    """Names of elements. The parser never forgets a name, so the number of names from one document is limited."""

    def __init__(self) -> None:
        self._known: dict[str, str] = {}

    def of(self, key: str) -> str:
        name = self._known.get(key)
        if name is None:
            if len(self._known) >= MAX_NAMES:
                return MEMBER
            name = self._known[key] = _name(key)
        return name


def _name(key: str) -> str:
    lowered = key[:_MAX_NAME_LENGTH].lower()
    if _NAME.fullmatch(lowered):
        return lowered
    name = _NO_NAME_SIGN.sub("_", lowered) or MEMBER
    return name if _NAME.match(name) else f"_{name}"
