"""Change what an entry reads on pages, and by what it tells them: objects, fields, signs."""

from collections.abc import Iterator
from dataclasses import dataclass

from lxml import etree

from aahcrawler.editor.drafting.annotated_xml import UNPROVEN
from aahcrawler.editor.rules.site_groups import plural
from aahcrawler.editor.text.edits import Add, Edit, Remove, SetAttribute
from aahcrawler.editor.text.entry_text import EditError, EntryText
from aahcrawler.editor.text.places import is_within
from aahcrawler.editor.text.schema_order import schema_order
from aahcrawler.editor.works.made_edits import Made, added, as_name, found, level_place, selecting, shown, written
from aahcrawler.wrapper_induction.robust_paths import Expression
from knowledge_base.model import FieldKind, Strength

WHOLE = Expression(xpath="self::*")
"""The element of an object itself."""
_HOLDERS = ("navigate", "field", "identity", "parent", "extract", "level", "detect")
_LISTS = ("avoid", "canonical", "listings")
"""Elements that may be missing, and hold rules alone."""


@dataclass(frozen=True, slots=True)
class Extent:
    """Where a field is: on the whole ``page``, and whether the ``first`` object alone has it."""

    page: bool = False
    first: bool = False


def add_objects(text: EntryText, level: str, kind: str, item: Expression) -> Made:
    """Have objects of a type read on a level's pages: what ``item`` finds. Raises `EditError`.

    Until fields are named, all text of the element is the body. Each object is known by its words.
    """
    place = level_place(text, level)
    _, element = found(text, place)
    if element.get("role") != "terminal":
        raise EditError(f"level {level} leads to content and holds none; say first that it holds content")
    name = as_name(plural(kind))
    if text.place(f"{place}/extract[{name}]") is not None:
        raise EditError(f"{name} are read on pages of level {level} already; add another selector to these")
    parts = (
        selecting("item", item),
        written("identity", {"fields": "body"}),
        written("field", {"name": "body"}, selecting("select", WHOLE)),
    )
    given = {"name": name, "type": kind, "many": "yes"}
    said = f"each {shown(item)} on pages of level {level} is a {kind}"
    return Made((added(text, place, written("extract", given, *parts)),), said)


def add_item(text: EntryText, action: str, expression: Expression) -> Made:
    """Have objects looked for in another way where the ways before find none; ``action`` is the place of an extract."""
    place, element = found(text, action, "extract")
    said = f"where nothing else is found, each {shown(expression)} is a {element.get('type')}"
    return Made((added(text, place, selecting("item", expression)),), said)


def add_field(
    text: EntryText, action: str, name: str, kind: FieldKind, expression: Expression, extent: Extent | None = None
) -> Made:
    """Name a field of objects; ``action`` is the place of an extract. Raises `EditError` where there is one already."""
    place, element = found(text, action, "extract")
    called, where = as_name(name), extent or Extent()
    if any(each.get("name") == called for each in element.iterchildren("field")):
        raise EditError(f"there is a field {called} already; change where it is looked for, or add another place")
    given = {
        "name": called,
        "kind": kind.value if kind is not FieldKind.TEXT else "",
        "page": "yes" if where.page else "",
        "first-only": "yes" if where.first else "",
    }
    xml = written("field", given, selecting("select", expression))
    return Made((added(text, place, xml),), f"the {called} of {element.get('type')} is {shown(expression)}")


def add_select(text: EntryText, place: str, expression: Expression) -> Made:
    """Add another place to look in where the ones before find nothing: to a field, an identity, or links."""
    known, _ = found(text, place, "field", "identity", "parent", "navigate")
    said = f"{_called(text, known)} is looked for at {shown(expression)} as well"
    return Made((added(text, known, selecting("select", expression)),), said)


def exclude(text: EntryText, field: str, expression: Expression) -> Made:
    """Leave parts out of a field; ``field`` is its place."""
    known, _ = found(text, field, "field")
    said = f"{_called(text, known)} is without {shown(expression)}"
    return Made((added(text, known, selecting("without", expression)),), said)


def replace_select(text: EntryText, place: str, expression: Expression) -> Made:
    """Put another selector in the place of one, in any element that has one. What else it says stays."""
    known, element = found(text, place)
    if element.get("css") is None and element.get("xpath") is None:
        raise EditError(f"{known} has no selector; choose one of those below it")
    if not expression.css and not expression.xpath:
        raise EditError("choose an element first, or write a selector")
    wanted = expression.attributes()
    edits: list[Edit] = [
        SetAttribute(place=known, attribute=name, value=wanted.get(name))
        for name in ("css", "xpath", "attribute")
        if element.get(name) != wanted.get(name)
    ]
    if edits and element.get("cite") != UNPROVEN:
        edits.append(SetAttribute(place=known, attribute="cite", value=UNPROVEN))
    # Of two expressions only one may stand in the file at any time: what goes is taken out first.
    edits.sort(key=lambda edit: isinstance(edit, SetAttribute) and edit.value is not None)
    return Made(tuple(edits), f"{_called(text, known)} is {shown(expression)}")


def add_sign(
    text: EntryText,
    expression: Expression,
    strength: Strength = Strength.HINT,
    level: str = "",
) -> Made:
    """Add a sign by which pages are told: of the application, or of a ``level``, where it has no strength."""
    if not level:
        xml = selecting("pattern", expression, {"strength": strength.name.lower()})
        said = f"{shown(expression)} is a sign of the application"
        return Made((Add(place=found(text, "detect[1]")[0], xml=xml),), said)
    place = level_place(text, level)
    said = f"pages with {shown(expression)} are of level {level}"
    return Made((added(text, place, selecting("when", expression)),), said)


def remove(text: EntryText, place: str) -> Made:
    """Remove an element; where it is the last of its sort, with the one around it if that may be missing.

    With a level go the links that lead to it. Raises `EditError` where an element of the sort must be there.
    """
    known, element = found(text, place)
    said = f"removed {_called(text, known)}"
    order = schema_order()
    gone = known
    while order.is_needed(text, gone) or _is_all_of_list(text, gone):
        above, _, last = gone.rpartition("/")
        if above.partition("[")[0] not in _LISTS:
            raise EditError(f"this is the last {last.partition('[')[0]}, and one must be there; add another one first")
        gone = above
    links = _leading_to(text, element.get("name") or "") if element.tag == "level" else ()
    return Made((*(Remove(place=each) for each in links if not is_within(each, gone)), Remove(place=gone)), said)


def _is_all_of_list(text: EntryText, place: str) -> bool:
    """Return whether an element is all that a list of rules holds, which would say nothing without it."""
    above = place.rpartition("/")[0]
    return above.partition("[")[0] in _LISTS and len(found(text, above)[1].findall("*")) == 1


def _leading_to(text: EntryText, level: str) -> Iterator[str]:
    """Yield the places of actions that lead to a level."""
    for place in text.places():
        _, element = found(text, place)
        if element.tag in ("navigate", "pages") and element.get("to") == level:
            yield place


def _called(text: EntryText, place: str) -> str:
    """Return an element as people speak of it: the date of reply, level thread."""
    _, element = found(text, place)
    segments = place.split("/")
    above = [found(text, "/".join(segments[: count + 1]))[1] for count in range(len(segments))]
    action = next((each for each in above if each.tag == "extract"), None)
    of = f" of {_said(action, 'type')}" if action is not None else ""
    named = next((each for each in reversed(above) if each.tag in _HOLDERS), element)
    match named.tag:
        case "field":
            return f"the {_said(named, 'name')}{of}"
        case "navigate":
            return f"where the links to {_said(named, 'to')} are"
        case "identity" | "parent":
            return f"the {'number' if named.tag == 'identity' else 'answered one'}{of}"
        case "extract":
            return f"what is a {_said(named, 'type')}"
        case "level":
            level = f"level {_said(named, 'name')}"
            return level if element.tag == "level" else f"{element.tag!s} of {level}"
    told = (_said(element, str(name)) for name in element.attrib if name not in ("cite", "strength"))
    return " ".join((str(element.tag), *told))


def _said(element: etree._Element, attribute: str) -> str:
    return element.get(attribute) or ""
