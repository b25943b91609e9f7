"""Parses extraction actions, and a variant's replacements for parts of one."""

import zoneinfo
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from lxml import etree

from knowledge_base.model import DateFormat, Extract, Field, FieldKind, Identity, Kind, Run
from knowledge_base.parsing.attributes import Notes, selector, selectors, text, words, yes


def extract(element: etree._Element, earlier: Extract | None, kind: Kind, notes: Notes) -> Extract:
    """Read an extraction action; attributes that the element lacks are taken from ``earlier``."""
    types = [text(element, "type"), text(element, "first-type")]
    check_types(element, (*types, *(text(child, "type") for child in element.iterchildren("instead"))), kind, notes)
    start = _without(earlier, words(element, "drop")) if earlier else Extract(text(element, "name"), "", (), ())
    read = replace(
        start,
        type=text(element, "type") or start.type,
        items=selectors(element, "item", notes) or start.items,
        fields=_merged(start.fields, tuple(_field(child, notes) for child in element.iterchildren("field"))),
        many=yes(element, "many") if element.get("many") else start.many,
        always=yes(element, "always") if element.get("always") else start.always,
        first_type=text(element, "first-type") or start.first_type,
        instead=tuple((text(child, "type"), selector(child, notes)) for child in element.iterchildren("instead"))
        or start.instead,
        identity=_identity(element.find("identity"), notes) or start.identity,
        parent=_identity(element.find("parent"), notes) or start.parent,
        run=_run(element.find("run"), notes) or start.run,
    )
    known = set(_faults(earlier)) if earlier is not None else set()
    for fault in _faults(read):
        if fault not in known:
            place = element.find(fault[0]) if fault[0] else None
            notes.add(element if place is None else place, fault[1])
    return read


def _without(action: Extract, dropped: Sequence[str]) -> Extract:
    """Return an action without the fields and parts that a variant declares missing on its pages."""
    return replace(
        action,
        fields=tuple(field for field in action.fields if field.name not in dropped),
        identity=None if "identity" in dropped else action.identity,
        parent=None if "parent" in dropped else action.parent,
        instead=() if "instead" in dropped else action.instead,
        run=None if "run" in dropped else action.run,
    )


def check_types(element: etree._Element, types: Iterable[str], kind: Kind, notes: Notes) -> None:
    """Record types that objects of this kind of application do not have; empty types are skipped."""
    for value in types:
        if value and value not in kind.types:
            known = ", ".join(sorted(kind.types))
            notes.add(element, f"a {kind.name} has no objects of type {value}; its types are {known}")


def _faults(action: Extract) -> Iterator[tuple[str, str]]:
    """Yield the faults of the action as a whole: the child concerned, if any, and the message."""
    parts = (("type", action.type), ("<item>", action.items), ("<field>", action.fields))
    lacking = " and ".join(name for name, given in parts if not given)
    if lacking:
        yield "", f"the level has no action {action.name} to take them from, so {lacking} must stand here"
    if action.run is not None and not (action.many and action.identity is not None):
        yield "", 'a run makes several objects on a page: write many="yes" and an <identity>, say fields="author date"'
    elif action.many and action.identity is None:
        yield "", "several objects on a page need an identity, or they cannot be told apart"
    names = {field.name for field in action.fields}
    for name in action.identity.fields if action.identity is not None else ():
        if name not in names:
            yield "identity", f"the identity is made of {name}, which is no field here; add a <field> of that name"
    for field in action.fields if action.many else ():
        if field.declared and not field.first_only:
            advice = f'give {field.name} first-only="yes" or take declared out'
            yield (
                f"field[@name='{field.name}']",
                f"declared speaks of the page as a whole, and here are several objects; {advice}",
            )


def _merged(earlier: tuple[Field, ...], own: tuple[Field, ...]) -> tuple[Field, ...]:
    """Replace fields by those of the same name; new ones come after the others."""
    names = {field.name for field in own}
    merged: list[Field] = []
    placed: set[str] = set()
    for field in (*earlier, *own):
        if field.name not in names:
            merged.append(field)
        elif field.name not in placed:
            placed.add(field.name)
            merged += [new for new in own if new.name == field.name]
    return tuple(merged)


def _identity(element: etree._Element | None, notes: Notes) -> Identity | None:
    if element is None:
        return None
    found = Identity(
        selectors(element, "select", notes),
        words(element, "trim") or ("",),
        text(element, "prefix"),
        words(element, "fields"),
    )
    if not found.selectors and not found.fields:
        notes.add(element, 'an identity needs a <select> or the names of fields to make it of: fields="author date"')
    return found


def _run(element: etree._Element | None, notes: Notes) -> Run | None:
    if element is None:
        return None
    return Run(*(selectors(element, tag, notes) for tag in ("block", "signature", "stop", "heading")))


def _field(element: etree._Element, notes: Notes) -> Field:
    kind = FieldKind(element.get("kind", "text"))
    if kind is not FieldKind.DATETIME and any(text(element, name) for name in ("order", "zone", "format")):
        notes.add(element, 'order, zone and format are for dates; add kind="datetime" or take them out')
    found = Field(
        text(element, "name"),
        kind,
        selectors(element, "select", notes),
        selectors(element, "without", notes),
        page=yes(element, "page"),
        first_only=yes(element, "first-only"),
        many=yes(element, "many"),
        strip=text(element, "strip"),
        join=yes(element, "join"),
        markup=yes(element, "markup"),
        declared=words(element, "declared"),
        date=_date(element, notes),
    )
    _check_field(element, found, notes)
    return found


def _check_field(element: etree._Element, field: Field, notes: Notes) -> None:
    if not field.selectors and not field.declared:
        notes.add(
            element, f"nothing says where {field.name} stands; add a <select>, or declared= with its schema.org name"
        )
    if field.without and not field.selectors:
        notes.add(element, "without leaves parts out of what a <select> finds; add one or take <without> out")
    if field.join and field.many:
        notes.add(element, "join makes one value and many keeps several; keep one of them")
    if field.join and not field.selectors:
        notes.add(element, "join puts together what a <select> finds; add one or take join out")


def _date(element: etree._Element, notes: Notes) -> DateFormat:
    zone = text(element, "zone") or "UTC"
    try:
        zoneinfo.ZoneInfo(zone)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError):
        notes.add(element, f"there is no time zone {zone}; write UTC or a name such as Europe/Berlin")
    order = element.get("order")
    return DateFormat(
        "dmy" if order == "dmy" else "mdy" if order == "mdy" else "ymd" if order == "ymd" else None,
        zone,
        element.get("format"),
    )
