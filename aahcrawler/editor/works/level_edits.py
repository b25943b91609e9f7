"""Change the levels of an entry, and which links lead where, from groups of alike addresses."""

from collections.abc import Mapping
from dataclasses import dataclass

from lxml import etree

from aahcrawler.editor.drafting.address_groups import AddressGroup, Shape
from aahcrawler.editor.drafting.annotated_xml import UNPROVEN
from aahcrawler.editor.text.edits import Add, Edit, SetAttribute
from aahcrawler.editor.text.entry_text import EditError, EntryText
from aahcrawler.editor.works.made_edits import (
    REASONS,
    ROLES,
    Made,
    added,
    as_name,
    found,
    level_place,
    selecting,
    shown,
    written,
)
from aahcrawler.wrapper_induction.robust_paths import Expression
from knowledge_base.globs import BadGlobError
from knowledge_base.model import Role
from knowledge_base.url_rules import ParsedUrl, Reason

ANY_LINK = Expression(css="a")


@dataclass(frozen=True, slots=True)
class NamedGroup:
    """A group of alike addresses that a person made a level of.

    Their pages are told by the address alone.
    """

    group: AddressGroup
    role: Role
    name: str


def name_level(text: EntryText, chosen: NamedGroup) -> Made:
    """Add a level for a group, with its address. Raises `EditError`.

    It comes last, so that it takes no page from any other level.
    """
    name = as_name(chosen.name)
    if text.place(f"level[{name}]") is not None:
        raise EditError(f"there is a level {name} already; choose another name")
    said = f"pages such as {chosen.group.urls[0] if chosen.group.urls else chosen.group.shape.path} are of level {name}"
    return Made((added(text, "", _level(name, chosen)),), f"{said}, which {ROLES[chosen.role]}")


def set_role(text: EntryText, level: str, role: Role) -> Made:
    """Say whether a level leads to content or holds it. Raises `EditError` where it has objects and is to hold none."""
    place = level_place(text, level)
    _, element = found(text, place)
    if role == "intermediate" and element.find(".//extract") is not None:
        raise EditError(f"objects are read on pages of level {level}; remove these first, or let it hold content")
    return Made((SetAttribute(place=place, attribute="role", value=role),), f"level {level} {ROLES[role]}")


def add_link_rule(
    text: EntryText, level: str, to: str, group: AddressGroup | None = None, expression: Expression = ANY_LINK
) -> Made:
    """Have links of a level's pages followed to another level. Raises `EditError`.

    Without an ``expression`` these are all links whose URLs are of that level. ``group`` are URLs that lead there as
    well: where no address of that level fits them, it gets theirs.
    """
    place, target = level_place(text, level), level_place(text, to)
    is_any = expression == ANY_LINK
    select = selecting("select", expression, {"documented": "yes"} if is_any else None)
    edits = list(_address(text, target, group)) if group is not None else []
    _, element = found(text, place)
    same = next((each for each in element.iterchildren("navigate") if each.get("to") == to), None)
    if same is None:
        name = _free_name(element, f"to-{to}")
        edits.append(added(text, place, written("navigate", {"name": name, "to": to}, select)))
    elif not any(
        (Expression(*(each.get(name) or "" for name in ("css", "xpath", "attribute"))) == expression)
        for each in same.iterchildren("select")
    ):
        edits.append(Add(place=f"{place}/navigate[{same.get('name')}]", xml=select))
    what = f"all links to {to}" if is_any else f"links at {shown(expression)}"
    return Made(tuple(edits), f"on pages of level {level}, {what} lead to level {to}")


def avoid(text: EntryText, group: AddressGroup | Shape, reason: Reason) -> Made:
    """Have URLs never fetched. Raises `EditError` where that would leave out a level."""
    shape = group if isinstance(group, Shape) else group.shape
    for each in (place for place in text.places() if place.endswith("]") and "/address[" in place):
        _, element = found(text, each)
        if _attributes(element) == shape.attributes():
            level = each.partition("/")[0]
            raise EditError(f"these are the addresses of {level}; remove that first, or choose other links")
    url = written("url", {"reason": reason.value, **shape.attributes(), "cite": UNPROVEN})
    said = f"addresses such as {_example(group)} are avoided: {REASONS[reason]}"
    if text.place("avoid[1]") is None:
        return Made((added(text, "", written("avoid", {}, url)),), said)
    return Made((Add(place="avoid[1]", xml=url),), said)


def _level(name: str, chosen: NamedGroup) -> str:
    shape = chosen.group.shape.attributes()
    when = written("when", {**shape, "cite": UNPROVEN})
    return written("level", {"name": name, "role": chosen.role}, when, written("address", shape))


def _address(text: EntryText, level: str, group: AddressGroup) -> list[Edit]:
    """Return what gives a level the addresses of a group, nothing where it has them already."""
    known, element = found(text, level)
    shapes = [_shape(each) for each in element.iterchildren("address")]
    urls = [ParsedUrl.parse(url) for url in group.urls]
    if urls and all(any(shape.rule.matches(url) for shape in shapes if shape is not None) for url in urls):
        return []
    if group.shape in shapes:
        return []
    return [added(text, known, written("address", group.shape.attributes()))]


def _shape(address: etree._Element) -> Shape | None:
    given = _attributes(address)
    shape = Shape(given.get("path", ""), tuple(given.get("parameters", "").split()), given.get("query", ""))
    try:
        return shape if shape.rule else None
    except BadGlobError:
        return None


def _attributes(element: etree._Element) -> Mapping[str, str]:
    names = ("path", "parameters", "query")
    return {name: value for name in names if (value := element.get(name))}


def _free_name(level: etree._Element, name: str) -> str:
    taken = {each.get("name") for each in level}
    numbered = (name if number == 1 else f"{name}-{number}" for number in range(1, len(taken) + 2))
    return next(each for each in numbered if each not in taken)


def _example(group: AddressGroup | Shape) -> str:
    if isinstance(group, AddressGroup) and group.urls:
        return group.urls[0]
    shape = group if isinstance(group, Shape) else group.shape
    return " ".join(shape.attributes().values())
