"""Read an event's page from its wikitext, without what templates would add, which is unknown.

The text is scanned once, in time linear in its length however it is written; templates within more than twenty others
are skipped.
"""

import html
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from itertools import pairwise
from typing import Any, Final

from offline.collections.event_page import (
    MAX_REFERENCES,
    CitedPage,
    EventPage,
    EventPageError,
    EventTime,
    clock_in,
    days_in,
    event_time,
    names_date,
    original_of,
    published_in,
    type_of_file,
)
from offline.collections.reference_pages import revisions_in
from online_analysis.terms import Lexicon

_MAX_DEPTH: Final = 20
_MAX_VALUE: Final = 1_000
"""How many characters of a parameter, or of a reference, are examined."""
_TOKEN: Final = re.compile(r"\{\{|\}\}|\[\[|\]\]|\|")
_NAME: Final = re.compile(r"\s*([^=\n{}\[\]|]{1,80}?)\s*=")
_REF: Final = re.compile(r"<ref\b[^<>]{0,300}>|</ref\s{0,9}>", re.IGNORECASE)
_TAG: Final = re.compile(r"<[^<>]{0,500}>")
_LINK: Final = re.compile(r"\[\[([^\[\]|]{0,300})(?:\|([^\[\]]{0,1000}))?\]\]")
_NAMESPACE: Final = re.compile(r"[^\W\d_]+:\S")
_EXTERNAL: Final = re.compile(r"\[?((?:https?:)?//[^\s\[\]<>|{}\"]{4,2000})")
_LABELLED: Final = re.compile(r"\[(?:https?:)?//[^\s\[\]<>]{1,2000}\s?([^\[\]\n]{0,1000})\]")
_MARKS: Final = re.compile(r"'{2,5}|^[*#:;]+\s*|^=+\s*|\s*=+\s*$|__[A-Z]+__", re.MULTILINE)
_ADDRESSES: Final = ("url", "archive-url", "archiveurl", "archivurl", "archive url", "urlarchivo", "urlarchive")
_LANGUAGE_NAMES: Final = "language lang langue sprache idioma lingua taal språk język язык 言語 dil kieli"
_LANGUAGES: Final = frozenset(_LANGUAGE_NAMES.split())


@dataclass(frozen=True, slots=True)
class Template:
    """A call of a template, from ``start`` to ``end``: parameters by name in lower case, or by number."""

    name: str
    parameters: Mapping[str, str]
    start: int
    end: int


def templates_in(text: str) -> Sequence[Template]:
    """Return the templates of a text, inner ones before those around them."""
    found: list[Template] = []
    opened: list[tuple[str, int, list[int]]] = []
    for token in _TOKEN.finditer(text):
        sign = token[0]
        if sign in ("{{", "[["):
            opened.append((sign, token.start(), []))
        elif sign == "|":
            if opened and opened[-1][0] == "{{":
                opened[-1][2].append(token.start())
        elif sign == "]]":
            if opened and opened[-1][0] == "[[":
                opened.pop()
        else:
            while opened and opened[-1][0] == "[[":  # A link that is never closed.
                opened.pop()
            if opened:
                _, start, bars = opened.pop()
                if len(opened) < _MAX_DEPTH:
                    found.append(_template(text, start, bars, token.start()))
    return found


def _template(text: str, start: int, bars: Sequence[int], end: int) -> Template:
    edges = [start + 1, *bars, end]
    name, *written = (text[one + 1 : other] for one, other in pairwise(edges))
    parameters: dict[str, str] = {}
    number = 0
    for each in written:
        named = _NAME.match(each)
        if named is None:
            number += 1
        key = str(number) if named is None else named[1].casefold()
        parameters.setdefault(key, (each if named is None else each[named.end() :]).strip())
    return Template(name.strip().casefold(), parameters, start, end + 2)


def wikitext_of(body: bytes) -> tuple[str, Mapping[str, Any]] | None:
    """Return saved wikitext, alone or in an API response, and that response's other fields; else None."""
    text = body.decode("utf-8-sig", "replace")
    if text.lstrip().startswith("{") and not text.lstrip().startswith(("{{", "{|")):
        return _of_response(text)
    is_markup = "<html" in text[:5_000].lower() or "mw-parser-output" in text[:100_000]
    return None if is_markup or not ("[[" in text or "{{" in text) else (text, {})


def _of_response(text: str) -> tuple[str, Mapping[str, Any]] | None:
    try:
        response = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(response, dict):
        return None
    parsed = response.get("parse")
    if isinstance(parsed, dict) and "text" not in parsed:
        written = parsed.get("wikitext")
        written = written.get("*") if isinstance(written, dict) else written
        return (written, parsed) if isinstance(written, str) else None
    for revision in revisions_in(response):
        slots = revision.get("slots")
        main = slots.get("main") if isinstance(slots, dict) else revision
        content = main.get("content", main.get("*")) if isinstance(main, dict) else None
        if isinstance(content, str):
            return content, {"revid": revision.get("revid"), "title": _title_of(response)}
    return None


def _title_of(response: Mapping[str, Any]) -> str:
    pages = response["query"]["pages"]
    listed: Sequence[Any] = tuple(pages.values()) if isinstance(pages, dict) else pages
    return str(listed[0].get("title", ""))


def read_wikitext(text: str, told: Mapping[str, Any], title: str = "") -> EventPage:
    """Read an event's page from its wikitext; ``title`` is its title if the response does not give it.

    Raises ``EventPageError`` if there is no text.
    """
    text = _without_comments(text)
    templates = templates_in(text)
    references = tuple(_spans_of_references(text))
    body = _plain(_without(text, [*((each.start, each.end) for each in templates), *references]))
    if not body:
        raise EventPageError("holds no text; save the page of the event itself")
    language = Lexicon().language_of(body) or ""
    cited = tuple(_cited_pages(text, templates, references, language))
    number = told.get("revid")
    return EventPage(
        str(told.get("title") or title),
        "",
        language,
        number if isinstance(number, int) else None,
        body,
        _time(templates, language),
        cited,
        bool(references),
    )


def _without_comments(text: str) -> str:
    kept, at = [], 0
    while (start := text.find("<!--", at)) >= 0:
        kept.append(text[at:start])
        end = text.find("-->", start)
        at = len(text) if end < 0 else end + 3
    return "".join((*kept, text[at:]))


def _spans_of_references(text: str) -> Iterator[tuple[int, int]]:
    start: int | None = None
    for tag in _REF.finditer(text):
        if tag[0].startswith("</"):
            if start is not None:
                yield start, tag.end()
            start = None
        elif tag[0].endswith("/>"):
            yield tag.span()
        else:
            start = tag.start() if start is None else start


def _without(text: str, spans: Sequence[tuple[int, int]]) -> str:
    kept, at = [], 0
    for start, end in sorted(spans):
        if end > at:
            kept.append(text[at : max(at, start)])
            at = end
    return "".join((*kept, text[at:]))


def _plain(text: str) -> str:
    """Return the text of paragraphs, lists and headings, a line each, without tables, files and markup."""
    lines, depth = [], 0
    for line in text.split("\n"):
        depth += line.lstrip().startswith("{|")
        if not depth:
            lines.append(line)
        depth -= bool(depth) and line.lstrip().startswith("|}")
    text = "\n".join(lines)
    for _ in range(2):  # The caption of a file has links of its own.
        text = _LINK.sub(_label, text)
    text = _MARKS.sub("", _TAG.sub("", _LABELLED.sub(r"\1", text)))
    folded = (" ".join(line.split()) for line in html.unescape(text).split("\n"))
    return "\n".join(filter(None, folded))


def _label(link: re.Match[str]) -> str:
    return "" if _NAMESPACE.match(link[1]) else link[2] or link[1]


def _time(templates: Sequence[Template], language: str) -> EventTime | None:
    """Return the time in the infobox: in templates for dates, which contain numbers, or in words."""
    for box in templates:
        if "infobox" not in box.name and "infoboks" not in box.name:
            continue
        for name, value in box.parameters.items():
            if not names_date(name):
                continue
            source = f"the infobox, {name!r}"
            dated = [day for each in templates_in(value) for day in _numbered(each)]
            if dated:
                return event_time(dated[0], dated[-1], source)
            days = days_in(_plain(_without(value, [(each.start, each.end) for each in templates_in(value)])), language)
            if days is not None:
                texts = (_plain(each[:_MAX_VALUE]) for each in box.parameters.values())
                clock = next(filter(None, (clock_in(each, days[0]) for each in texts)), None)
                return event_time(clock or days[0], days[1], source)
    return None


def _numbered(template: Template) -> Iterator[date]:
    """Yield the days given as numbers in a date template: ``{{Start date|2015|12|02}}``, or two of them."""
    given = (template.parameters.get(str(n), "") for n in range(1, 7))
    numbers = [int(each) for each in given if each.isdecimal() and len(each) < 5]
    for place in (0, 3):
        year, month, day = (*numbers[place : place + 3], 0, 0, 0)[:3]
        try:
            if year >= 1000:
                yield date(year, month, day)
        except ValueError:
            return


def _cited_pages(
    text: str, templates: Sequence[Template], references: Sequence[tuple[int, int]], language: str
) -> Iterator[CitedPage]:
    """Yield the pages to which references lead, each once: by a template with a URL, or by a plain link."""
    found: dict[str, CitedPage] = {}
    by_place = sorted((each for each in templates if each.parameters.get("url")), key=lambda each: each.start)
    at = 0
    for start, end in references or [(0, len(text))]:
        while at < len(by_place) and by_place[at].start < start:
            at += 1
        written = text[start : min(end, start + 5 * _MAX_VALUE)] if references else text
        if at < len(by_place) and by_place[at].end <= end:
            pages: Sequence[CitedPage | None] = [_of_template(by_place[at], language)]
        elif references:
            pages = [_of_links([each[1] for each in _EXTERNAL.finditer(written)], _plain(written), language)]
        else:
            pages = [_of_links([each[1]], "", language) for each in _EXTERNAL.finditer(written)]
        for page in pages:
            if page is not None and len(found) < MAX_REFERENCES:
                found.setdefault(page.url, page)
    yield from found.values()


def _of_template(template: Template, language: str) -> CitedPage | None:
    told = template.parameters
    links = [told[name] for name in _ADDRESSES if told.get(name)]
    days = [_plain(value[:_MAX_VALUE]) for name, value in told.items() if names_date(name)]
    written = next((value for name, value in told.items() if name in _LANGUAGES), "").strip().casefold()
    page = _of_links(links, days[0] if days else "", language)
    code = written.partition("-")[0]
    if page is None or page.other or not language or code == language or not re.fullmatch("[a-z]{2,3}", code):
        return page
    return replace(page, other=f"in {code}")


def _of_links(links: Sequence[str], text: str, language: str) -> CitedPage | None:
    original, archived = original_of(links, "")
    if original is None:
        return None
    return CitedPage(original, published_in([text[:_MAX_VALUE]], language), archived, type_of_file(original))
