"""Parses navigation actions: links, requests made from values, forms."""

import re
from collections import Counter
from dataclasses import replace

from lxml import etree

from knowledge_base.model import Filler, Form, LinkSource, Navigate, RequestTemplate
from knowledge_base.parsing.attributes import (
    Notes,
    child_or_self,
    conditions,
    has_expression,
    selector,
    text,
    words,
    yes,
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
