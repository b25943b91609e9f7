"""Outlines around web objects on a replayed page, each with a label that tells what it is."""

from typing import Final

from lxml.etree import SubElement
from lxml.etree import _Element as Element

from aahcrawler.replay.object_finding import ShownObject
from aahcrawler.replay.shown_text import shown

# Colours that those who see few of them tell apart, on white and under white letters.
_COLOURS: Final = {
    **dict.fromkeys(("post", "message", "ticket"), "#0072b2"),
    **dict.fromkeys(("reply", "comment"), "#b34700"),
    **dict.fromkeys(("article", "page", "chapter"), "#00694d"),
}
_OTHER: Final = "#8a3a6d"
_INSIDE: Final = {
    **dict.fromkeys(("table", "tbody", "thead", "tfoot", "tr"), ("td", "th")),
    **dict.fromkeys(("ul", "ol", "menu"), ("li",)),
    "dl": ("dt", "dd"),
    "picture": (),
    "select": (),
}
"""Elements that hold no text themselves, and those in them that do."""
_VOID: Final = frozenset({"img", "input", "br", "hr", "video", "audio", "iframe", "textarea", "svg", "canvas"})
_LABEL: Final = (
    "all:initial!important;display:inline-block!important;background:{}!important;color:#fff!important;"
    "font:600 12px/1.5 system-ui,-apple-system,'Segoe UI',sans-serif!important;padding:1px 8px!important;"
    "margin:0 8px 4px 0!important;border-radius:3px!important;max-width:100%!important;"
    "overflow-wrap:anywhere!important;unicode-bidi:isolate!important;vertical-align:top!important"
)
_LONGEST: Final = 60


def outline(element: Element, each: ShownObject) -> None:
    """Outline the element of an object and label it with type, number, author and date.

    The label has the id ``aah-object-`` and the number.
    """
    colour = _COLOURS.get(each.type, _OTHER)
    style = (element.get("style") or "").strip().rstrip(";")
    own = f"outline:3px solid {colour}!important;outline-offset:2px!important"
    element.set("style", f"{style};{own}" if style else own)
    label = new_label(element)
    label.set("id", f"aah-object-{each.number}")
    label.set("style", _LABEL.format(colour))
    told = (f"{each.type or 'object'} {each.number}", each.author, each.date)
    label.text = " · ".join(shown(text, _LONGEST) for text in told if text)


def new_label(element: Element) -> Element:
    """Return a new element where a label can be read: within, or before what holds no text."""
    place = element
    if element.tag in _INSIDE:
        names = _INSIDE[str(element.tag)]
        place = next(element.iterdescendants(*names), element) if names else element
    parent = place.getparent()
    holds_none = (place is element and element.tag in _INSIDE) or place.tag in _VOID
    if holds_none and parent is not None:
        before = place.makeelement("span")
        parent.insert(parent.index(place), before)
        return before
    label = SubElement(place, "span")
    place.insert(0, label)
    label.tail, place.text = place.text, None
    return label
