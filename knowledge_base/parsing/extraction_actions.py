"""Parses extraction and navigation actions, and a variant's replacements for parts of them."""

import re
import zoneinfo
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from lxml import etree

from knowledge_base.model import (
    DateFormat,
    Extract,
    Field,
    FieldKind,
    Filler,
    Form,
    Identity,
    Kind,
    LinkSource,
    Navigate,
    RequestTemplate,
    Run,
)
from knowledge_base.parsing.attributes import (
    Notes,
    child_or_self,
    conditions,
    has_expression,
    selector,
    selectors,
    text,
    words,
    yes,
)


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


_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")
_HOST = re.compile(r"(?:[A-Za-z][A-Za-z0-9+.\-]*:)?//[^/?#]*|[^/?#{]*:")


def navigate(element: etree._Element, earlier: Navigate | None, notes: Notes) -> Navigate:
    """Read a navigation action; attributes that the element lacks are taken from ``earlier``."""
    start = earlier or Navigate(text(element, "name"), "")
    read = replace(
        start,
        to=text(element, "to") or start.to,
        sources=tuple(
            LinkSource(selector(child, notes), yes(child, "documented")) for child in element.iterchildren("select")
        )
        or start.sources,
        when_none=words(element, "when-none") or start.when_none,
        requests=tuple(_request(child, notes) for child in element.iterchildren("request")) or start.requests,
        forms=tuple(_form(child, notes) for child in element.iterchildren("form")) or start.forms,
    )
    if not read.to:
        message = f"the level has no action {read.name} to take it from, so to= must say which level this leads to"
        notes.add(element, message)
    if not (read.sources or read.requests or read.forms):
        notes.add(element, "this action leads nowhere; put a <select>, a <request> or a <form> into it")
    return read


def _request(element: etree._Element, notes: Notes) -> RequestTemplate:
    address = text(element, "address")
    fillers = _fillers(element, notes)
    used = dict.fromkeys(_PLACEHOLDER.findall(address))
    for name in used:
        if name not in {filler.name for filler in fillers}:
            notes.add(element, f'nothing says what goes in the place of {{{name}}}; add <value name="{name}" .../>')
    for filler in fillers:
        if filler.name not in used:
            message = f"the value {filler.name} is used nowhere; write {{{filler.name}}} in the URL or take it out"
            notes.add(child_or_self(element, filler.name), message)
    _check_address(element, address, notes)
    return RequestTemplate(address, fillers, conditions(element, "when", notes))


def _check_address(element: etree._Element, address: str, notes: Notes) -> None:
    if set("{}").intersection(_PLACEHOLDER.sub("", address)):
        notes.add(element, "a brace has no partner; write each name between two of them: {next}")
    elif re.search(r"[\s#]", _PLACEHOLDER.sub("", address)):
        notes.add(element, "a URL has no blanks and no #; write %20 for a blank and take out what # begins")
    host = _HOST.match(address)
    if host is None:
        return
    if not re.match(r"(?:https?:)?//[^/]", host[0], re.IGNORECASE):
        notes.add(element, "a URL starts with a slash, with ?, or with http:// or https:// and a host")
    elif "{" in host[0]:
        notes.add(element, "values can stand only behind the host; write the host itself, or start with a slash")


def _form(element: etree._Element, notes: Notes) -> Form:
    return Form(selector(element, notes), _fillers(element, notes), text(element, "safe"))


def _fillers(element: etree._Element, notes: Notes) -> tuple[Filler, ...]:
    """Parse the fillers of a request or a form."""
    fillers = tuple(_filler(child, notes) for child in element.iterchildren("value"))
    for name, count in Counter(filler.name for filler in fillers).items():
        if count > 1:
            notes.add(child_or_self(element, name), f"{count} values are named {name}; keep one of them")
    several = [filler.name for filler in fillers if filler.each]
    if len(several) > 1:
        message = f'{" and ".join(several)} all say each="yes", which multiplies the requests; keep it at one of them'
        notes.add(child_or_self(element, several[1]), message)
    return fillers


def _filler(element: etree._Element, notes: Notes) -> Filler:
    found = Filler(
        text(element, "name"),
        (selector(element, notes),) if has_expression(element) else (),
        text(element, "parameter"),
        text(element, "icd"),
        text(element, "text"),
        int(text(element, "add") or 0),
        yes(element, "each"),
    )
    _check_filler(element, found, notes)
    return found


def _check_filler(element: etree._Element, filler: Filler, notes: Notes) -> None:
    if not (filler.selectors or filler.parameter or filler.icd or filler.text):
        notes.add(element, f"the value {filler.name} comes from nowhere; write css, xpath, parameter, icd or text")
    if text(element, "attribute") and not filler.selectors:
        notes.add(element, "attribute says what to take of an element; write css or xpath beside it to find one")
    given = [name for name in ("css", "xpath", "parameter", "icd") if text(element, name)]
    if len(given) > 1 and set(given) != {"css", "xpath"}:
        notes.add(element, f"{' and '.join(given)} stand here together; keep one of them")
    if filler.each and not (filler.selectors or filler.icd):
        notes.add(element, "each is for values of which there can be several; write css, xpath or icd, or take it out")
    if filler.add and filler.icd:
        notes.add(element, "add is for numbers, and the lists of the crawl's definition hold words; keep one of them")
    if filler.add and filler.text and not re.fullmatch(r"\s*-?[0-9]+\s*", filler.text):
        notes.add(element, f"add is for numbers, and {filler.text} is none; write a number or take add out")
