"""Edits of an entry that people make without writing XML: levels, links, objects, fields, signs."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from lxml import etree

from aahcrawler.editor.drafting.address_groups import AddressGroup, Shape
from aahcrawler.editor.drafting.annotated_xml import UNPROVEN
from aahcrawler.editor.rules.site_groups import plural
from aahcrawler.editor.text.edits import Add, Edit, Remove, SetAttribute, schema_order
from aahcrawler.editor.text.entry_text import EditError, EntryText
from aahcrawler.editor.text.places import is_within
from aahcrawler.wrapper_induction.robust_paths import Expression
from knowledge_base.model import FieldKind, Role, Strength
from knowledge_base.url_rules import BadGlobError, ParsedUrl, Reason

REASONS: Final[Mapping[Reason, str]] = {
    Reason.LOGIN: "a form to log in or out",
    Reason.REGISTER: "a form to become a member",
    Reason.REPLY_FORM: "a form to write an answer or something new",
    Reason.EDIT: "a form to change what is there",
    Reason.MODERATION: "for moderators: reports, moving, deleting",
    Reason.PRINT_VIEW: "the same page for printing",
    Reason.SORT_ORDER: "the same list in another order",
    Reason.SESSION: "the same page under the number of a visit",
    Reason.OLD_REVISION: "an older state of a page, or what was changed in it",
    Reason.FEED: "a feed for readers of news",
    Reason.API: "answers for programs",
    Reason.SEARCH: "a search and what it found",
    Reason.PROFILE: "the page of a member",
    Reason.MEMBER_LIST: "a list of members",
    Reason.CALENDAR: "a calendar, which never ends",
    Reason.DUPLICATE: "another address of a page that is fetched anyway",
    Reason.REDIRECT: "leads on to another page that is linked anyway",
    Reason.ARCHIVE_VIEW: "a list of what is found in other lists",
    Reason.HELP: "help, rules and terms",
    Reason.STATISTICS: "statistics, who is online",
    Reason.VOTE: "a vote, a like, a rating",
    Reason.ACTION: "does something: subscribe, mark, share",
}
"""Why addresses are avoided."""

ROLES: Final[Mapping[Role, str]] = {
    "intermediate": "leads to content",
    "terminal": "holds content",
}
"""What pages of a level are for."""

FIELDS: Final[Mapping[str, FieldKind]] = {
    "title": FieldKind.TEXT,
    "author": FieldKind.PERSON,
    "date": FieldKind.DATETIME,
    "body": FieldKind.TEXT,
}
"""The fields that mean the same everywhere, with what they are read as."""


_NAME = re.compile(r"[a-z][a-z0-9-]*")
_MAX_NAME_LENGTH = 40
ANY_LINK = Expression(css="a")
WHOLE = Expression(xpath="self::*")
"""The element of an object itself."""
_HOLDERS = ("navigate", "field", "identity", "parent", "extract", "level", "detect")
_LISTS = ("avoid", "canonical", "listings")
"""Elements that may be missing, and hold rules alone."""


@dataclass(frozen=True, slots=True)
class Made:
    """Edits of a text, and a sentence on what they do, which follows a person's name in the history."""

    edits: tuple[Edit, ...]
    said: str


def as_name(words: str) -> str:
    """Return a person's words as a name for files. Raise `EditError` if nothing of them is usable.

    >>> as_name("Topic pages (2)"), as_name("Größe")
    ('topic-pages-2', 'gr-e')
    """
    spelled = "".join(sign if sign.isascii() and sign.isalnum() else " " for sign in words.lower())
    name = "-".join(spelled.split())[:_MAX_NAME_LENGTH].strip("-")
    if not _NAME.fullmatch(name):
        raise EditError("give a name that begins with a letter from a to z, such as thread")
    return name


def element_at(text: EntryText, place: str, *tags: str) -> tuple[str, etree._Element]:
    """Return the place and element at a place; its tag must be one of ``tags``. Raise `EditError`."""
    known, element = text.place(place), text.element(place)
    if known is None or element is None:
        raise EditError(f"there is no {place} in the file (any more)")
    if tags and element.tag not in tags:
        raise EditError(f"{place} is no {' or '.join(tags)}")
    return known, element


def level_place(text: EntryText, name: str) -> str:
    """Return the place of a level. Raises `EditError` where there is none of that name."""
    known = text.place(f"level[{name}]")
    if known is None:
        raise EditError(f"there is no level {name} in the file (any more)")
    return known


def element_xml(tag: str, attributes: Mapping[str, str], *children: str) -> str:
    """Return an element as XML; attributes without a value are left out."""
    given = {name: value for name, value in attributes.items() if value}
    try:
        start = etree.tostring(etree.Element(tag, given), encoding="unicode")
    except ValueError as error:
        raise EditError(f"this cannot be written: {error}") from error
    return f"{start[:-2]}>{''.join(children)}</{tag}>" if children else start


def selecting(tag: str, expression: Expression, attributes: Mapping[str, str] | None = None) -> str:
    """Return an element with an expression as XML, cited as not documented."""
    if not expression.css and not expression.xpath:
        raise EditError("choose an element first, or write a selector")
    return element_xml(tag, {**(attributes or {}), **expression.attributes(), "cite": UNPROVEN})


def added(text: EntryText, parent: str, xml: str) -> Add:
    """Return the edit that adds an element to its parent, at the position that the schema requires."""
    tag = str(etree.fromstring(xml).tag)
    return Add(place=parent, xml=xml, before=schema_order().before(text, parent, tag))


def expression_text(expression: Expression) -> str:
    """Return an expression as people are told it.

    >>> expression_text(Expression(css=".when", attribute="title"))
    '.when, its title'
    """
    written_so = expression.css or expression.xpath
    return f"{written_so}, its {expression.attribute}" if expression.attribute else written_so


@dataclass(frozen=True, slots=True)
class NamedGroup:
    """A group of similar addresses that a person made a level. Its pages are recognised by address alone."""

    group: AddressGroup
    role: Role
    name: str


def name_level(text: EntryText, chosen: NamedGroup) -> Made:
    """Add a level for a group, with its address. Raise `EditError`.

    It comes last, so that it takes no page from another level.
    """
    name = as_name(chosen.name)
    if text.place(f"level[{name}]") is not None:
        raise EditError(f"there is a level {name} already; choose another name")
    said = f"pages such as {chosen.group.urls[0] if chosen.group.urls else chosen.group.shape.path} are of level {name}"
    return Made((added(text, "", _level(name, chosen)),), f"{said}, which {ROLES[chosen.role]}")


def set_role(text: EntryText, level: str, role: Role) -> Made:
    """Set whether a level leads to content or holds it. Raise `EditError` if it has objects and is to hold none."""
    place = level_place(text, level)
    _, element = element_at(text, place)
    if role == "intermediate" and element.find(".//extract") is not None:
        raise EditError(f"objects are read on pages of level {level}; remove these first, or let it hold content")
    return Made((SetAttribute(place=place, attribute="role", value=role),), f"level {level} {ROLES[role]}")


def add_link_rule(
    text: EntryText, level: str, to: str, group: AddressGroup | None = None, expression: Expression = ANY_LINK
) -> Made:
    """Follow links on a level's pages to another level. Raise `EditError`.

    Without ``expression``, these are all links whose URLs are of the level ``to``. ``group`` are further URLs that lead
    to it; unless an address of that level matches them, it gets theirs.
    """
    place, target = level_place(text, level), level_place(text, to)
    is_any = expression == ANY_LINK
    select = selecting("select", expression, {"documented": "yes"} if is_any else None)
    edits = list(_address(text, target, group)) if group is not None else []
    _, element = element_at(text, place)
    same = next((each for each in element.iterchildren("navigate") if each.get("to") == to), None)
    if same is None:
        name = _free_name(element, f"to-{to}")
        edits.append(added(text, place, element_xml("navigate", {"name": name, "to": to}, select)))
    elif not any(
        (Expression(*(each.get(name) or "" for name in ("css", "xpath", "attribute"))) == expression)
        for each in same.iterchildren("select")
    ):
        edits.append(Add(place=f"{place}/navigate[{same.get('name')}]", xml=select))
    what = f"all links to {to}" if is_any else f"links at {expression_text(expression)}"
    return Made(tuple(edits), f"on pages of level {level}, {what} lead to level {to}")


def avoid(text: EntryText, group: AddressGroup | Shape, reason: Reason) -> Made:
    """Never fetch these URLs. Raise `EditError` if that would exclude a level."""
    shape = group if isinstance(group, Shape) else group.shape
    for each in (place for place in text.places() if place.endswith("]") and "/address[" in place):
        _, element = element_at(text, each)
        if _attributes(element) == shape.attributes():
            level = each.partition("/")[0]
            raise EditError(f"these are the addresses of {level}; remove that first, or choose other links")
    url = element_xml("url", {"reason": reason.value, **shape.attributes(), "cite": UNPROVEN})
    said = f"addresses such as {_example(group)} are avoided: {REASONS[reason]}"
    if text.place("avoid[1]") is None:
        return Made((added(text, "", element_xml("avoid", {}, url)),), said)
    return Made((Add(place="avoid[1]", xml=url),), said)


def _level(name: str, chosen: NamedGroup) -> str:
    shape = chosen.group.shape.attributes()
    when = element_xml("when", {**shape, "cite": UNPROVEN})
    return element_xml("level", {"name": name, "role": chosen.role}, when, element_xml("address", shape))


def _address(text: EntryText, level: str, group: AddressGroup) -> list[Edit]:
    """Return the edits that give a level the address of a group; none if it has it."""
    known, element = element_at(text, level)
    shapes = [_shape(each) for each in element.iterchildren("address")]
    urls = [ParsedUrl.parse(url) for url in group.urls]
    if urls and all(any(shape.rule.matches(url) for shape in shapes if shape is not None) for url in urls):
        return []
    if group.shape in shapes:
        return []
    return [added(text, known, element_xml("address", group.shape.attributes()))]


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


@dataclass(frozen=True, slots=True)
class Extent:
    """Where a field is looked for: on the whole ``page``, and only for the ``first`` object."""

    page: bool = False
    first: bool = False


def add_objects(text: EntryText, level: str, kind: str, item: Expression) -> Made:
    """Read objects of a type on a level's pages, in the elements that ``item`` finds. Raise `EditError`.

    Until fields are added, all text of the element is the body, and an object is identified by its text.
    """
    place = level_place(text, level)
    _, element = element_at(text, place)
    if element.get("role") != "terminal":
        raise EditError(f"level {level} leads to content and holds none; say first that it holds content")
    name = as_name(plural(kind))
    if text.place(f"{place}/extract[{name}]") is not None:
        raise EditError(f"{name} are read on pages of level {level} already; add another selector to these")
    parts = (
        selecting("item", item),
        element_xml("identity", {"fields": "body"}),
        element_xml("field", {"name": "body"}, selecting("select", WHOLE)),
    )
    given = {"name": name, "type": kind, "many": "yes"}
    said = f"each {expression_text(item)} on pages of level {level} is a {kind}"
    return Made((added(text, place, element_xml("extract", given, *parts)),), said)


def add_item(text: EntryText, action: str, expression: Expression) -> Made:
    """Add a fallback expression for an extraction's objects; ``action`` is its place."""
    place, element = element_at(text, action, "extract")
    said = f"where nothing else is found, each {expression_text(expression)} is a {element.get('type')}"
    return Made((added(text, place, selecting("item", expression)),), said)


def add_field(
    text: EntryText, action: str, name: str, kind: FieldKind, expression: Expression, extent: Extent | None = None
) -> Made:
    """Add a field to objects; ``action`` is the place of an extraction. Raise `EditError` if it has such a field."""
    place, element = element_at(text, action, "extract")
    called, where = as_name(name), extent or Extent()
    if any(each.get("name") == called for each in element.iterchildren("field")):
        raise EditError(f"there is a field {called} already; change where it is looked for, or add another place")
    given = {
        "name": called,
        "kind": kind.value if kind is not FieldKind.TEXT else "",
        "page": "yes" if where.page else "",
        "first-only": "yes" if where.first else "",
    }
    xml = element_xml("field", given, selecting("select", expression))
    return Made((added(text, place, xml),), f"the {called} of {element.get('type')} is {expression_text(expression)}")


def add_select(text: EntryText, place: str, expression: Expression) -> Made:
    """Add a fallback selector, used when those before find nothing, to a field, an identity, or links."""
    known, _ = element_at(text, place, "field", "identity", "parent", "navigate")
    said = f"{_called(text, known)} is looked for at {expression_text(expression)} as well"
    return Made((added(text, known, selecting("select", expression)),), said)


def exclude(text: EntryText, field: str, expression: Expression) -> Made:
    """Exclude parts from a field; ``field`` is its place."""
    known, _ = element_at(text, field, "field")
    said = f"{_called(text, known)} is without {expression_text(expression)}"
    return Made((added(text, known, selecting("without", expression)),), said)


def replace_select(text: EntryText, place: str, expression: Expression) -> Made:
    """Replace the selector of any element; its other attributes are kept."""
    known, element = element_at(text, place)
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
    return Made(tuple(edits), f"{_called(text, known)} is {expression_text(expression)}")


def add_sign(
    text: EntryText,
    expression: Expression,
    strength: Strength = Strength.HINT,
    level: str = "",
) -> Made:
    """Add a sign of the application, or of a ``level``, where ``strength`` has no meaning."""
    if not level:
        xml = selecting("pattern", expression, {"strength": strength.name.lower()})
        said = f"{expression_text(expression)} is a sign of the application"
        return Made((Add(place=element_at(text, "detect[1]")[0], xml=xml),), said)
    place = level_place(text, level)
    said = f"pages with {expression_text(expression)} are of level {level}"
    return Made((added(text, place, selecting("when", expression)),), said)


def remove(text: EntryText, place: str) -> Made:
    """Remove an element, and its parent if that would become empty and is optional.

    Links to a removed level are removed as well. Raise `EditError` if an element of this sort is required.
    """
    known, element = element_at(text, place)
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
    """Return whether an element is the only rule in a list, which would be meaningless without it."""
    above = place.rpartition("/")[0]
    return above.partition("[")[0] in _LISTS and len(element_at(text, above)[1].findall("*")) == 1


def _leading_to(text: EntryText, level: str) -> Iterator[str]:
    """Yield the places of actions that lead to a level."""
    for place in text.places():
        _, element = element_at(text, place)
        if element.tag in ("navigate", "pages") and element.get("to") == level:
            yield place


def _called(text: EntryText, place: str) -> str:
    """Return an element in words: the date of reply, level thread."""
    _, element = element_at(text, place)
    segments = place.split("/")
    above = [element_at(text, "/".join(segments[: count + 1]))[1] for count in range(len(segments))]
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
