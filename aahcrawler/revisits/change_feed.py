"""Write visits as rows of a table, lines of JSON, triples, and entries of an Atom feed (RFC 4287)."""

import csv
import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Final, TextIO
from uuid import NAMESPACE_URL, uuid5

from lxml import etree

from aahcrawler.objects import vocabulary as v
from aahcrawler.objects.nquads import boolean, integer, iri, moment, quads, text, typed
from aahcrawler.revisits.visit_record import ChangeFormat, ChangeKind, ChangeState, Dating, Visit


def visit_iri(url: str, at: datetime) -> str:
    """Return the IRI of the visit of a URL at a moment, which is also its id in feeds.

    >>> visit_iri("http://a.test/", datetime.fromisoformat("2026-01-02T03:04:05+00:00"))
    'urn:uuid:f31931d7-f7eb-5d05-a09e-5f2c9eebb6a7'
    """
    return uuid5(NAMESPACE_URL, f"{url} {at.isoformat(timespec='milliseconds')}").urn


def visit_statements(visit: Visit, graph: str = "") -> bytes:
    """Return the N-Quads of a visit, in UTF-8, without unknown values.

    Without ``graph``, the visit is its own graph.
    """
    subject = visit_iri(visit.url, visit.at)
    triples = [f"{iri(subject)} <{predicate}> {value}" for predicate, value in _of_visit(visit) if value is not None]
    if visit.dated is not None:
        triples += _of_dating(subject, visit.dated)
    return quads(triples, iri(graph or subject))


def _of_visit(visit: Visit) -> Iterator[tuple[str, str | None]]:
    yield v.RDF_TYPE, f"<{v.VISIT}>"
    yield v.URL, typed(visit.url, v.XSD_ANY_URI)
    yield v.STARTED_AT, moment(visit.at)
    yield v.ENDED_AT, None if visit.seconds is None else moment(visit.at + timedelta(seconds=visit.seconds))
    yield v.GENERATED, iri(visit.record_id) if visit.record_id else None
    yield v.STATUS, None if visit.status is None else integer(visit.status)
    yield v.CHANGE_STATE, text(visit.state)
    yield v.CHANGE_KIND, None if visit.kind is None else text(visit.kind)
    yield v.VOLATILE, boolean(True) if visit.volatile else None
    yield v.REASON, text(visit.reason) if visit.reason else None
    yield v.MOVED_TO, typed(visit.moved_to, v.XSD_ANY_URI) if visit.moved_to else None
    yield v.BYTES, integer(visit.size)
    yield v.REQUESTS, integer(visit.requests)
    if visit.statements is not None:
        counted = (v.STATEMENTS_ADDED, v.STATEMENTS_REMOVED, v.STATEMENTS_CHANGED)
        yield from zip(counted, map(integer, visit.statements), strict=True)
    yield v.INFORMED_BY, None if visit.previous is None else iri(visit_iri(visit.url, visit.previous))
    for predicate, names in ((v.ADDED, visit.new), (v.EDITED, visit.edited), (v.DELETED, visit.deleted)):
        for name in names:
            yield predicate, iri(name)


def _of_dating(subject: str, dated: Dating) -> Iterator[str]:
    """Yield statements of when the change happened: an interval, without its beginning if that is unknown."""
    interval = iri(f"{subject}#change")
    yield f"{iri(subject)} <{v.CHANGED_DURING}> {interval}"
    yield f"{interval} <{v.RDF_TYPE}> <{v.INTERVAL}>"
    yield f"{interval} <{v.DATED_BY}> {text(dated.by)}"
    for predicate, name, at in ((v.BEGINNING, "after", dated.after), (v.END, "before", dated.before)):
        if at is not None:
            instant = iri(f"{subject}#{name}")
            yield f"{interval} <{predicate}> {instant}"
            yield f"{instant} <{v.RDF_TYPE}> <{v.INSTANT}>"
            yield f"{instant} <{v.IN_DATE_TIME}> {typed(at.isoformat().replace('+00:00', 'Z'), v.XSD_DATE_TIME_STAMP)}"


_ATOM: Final = "http://www.w3.org/2005/Atom"
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")
_BREAKS: Final = dict.fromkeys(map(ord, "\t\r\n\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"), " ")
_LINE_BREAKS: Final = {0x85: "\\u0085", 0x2028: "\\u2028", 0x2029: "\\u2029"}
_DATED: Final = ("changed_after", "changed_before", "dated_by")
COLUMNS: Final = (
    *("url", "at", "state", "kind", "volatile", "new", "edited", "deleted", "statements"),
    *_DATED,
    *("status", "reason", "seconds", "size", "requests", "etag", "last_modified", "byte_digest", "text_digest"),
    *("previous", "moved_to", "record_id", "crawl"),
)
"""The columns of a table: first what a visit found, then what it cost and how the change was dated."""


def row_of(visit: Visit) -> dict[str, object]:
    """Return a visit as a row: moments as ISO 8601, IRIs as a list, unknown values as None."""
    dated = visit.dated
    after = None if dated is None or dated.after is None else _text(dated.after)
    row = dict(zip(_DATED, (after, dated and _text(dated.before), dated and dated.by), strict=True))
    return {name: row[name] if name in row else _as_json(getattr(visit, name)) for name in COLUMNS}


def _as_json(value: object) -> object:
    return _text(value) if isinstance(value, datetime) else list(value) if isinstance(value, tuple) else value


def write_changes(visits: Iterable[Visit], output: ChangeFormat, out: TextIO, named: str) -> None:
    """Write visits; ``named`` is the crawl's name, for the feed. For CSV, open ``out`` with ``newline=""``.

    A text that a spreadsheet would read as a formula gets an apostrophe in front; line breaks and tabs in values of TSV
    become spaces.
    """
    match output:
        case ChangeFormat.JSONL:
            out.writelines(
                json.dumps(row_of(visit), ensure_ascii=False).translate(_LINE_BREAKS) + "\n" for visit in visits
            )
        case ChangeFormat.CSV:
            writer = csv.writer(out, lineterminator="\r\n")
            writer.writerow(COLUMNS)
            writer.writerows(map(_cells, visits))
        case ChangeFormat.TSV:
            out.write("\t".join(COLUMNS) + "\n")
            out.writelines("\t".join(cell.translate(_BREAKS) for cell in _cells(visit)) + "\n" for visit in visits)
        case ChangeFormat.NQ:
            out.writelines(visit_statements(visit).decode() for visit in visits)
        case ChangeFormat.ATOM:
            out.write(atom_feed(visits, named).decode())


def atom_feed(visits: Iterable[Visit], named: str, address: str = "") -> bytes:
    """Return an Atom feed of visits in UTF-8, in their order; ``address`` is the URL of the feed, empty if it has none.

    The id of an entry is made from the URL and the moment of its visit, so that readers recognise it.
    """
    entries = list(map(_entry, visits))
    feed = etree.Element(f"{{{_ATOM}}}feed", nsmap={None: _ATOM})
    updated = max((entry.findtext(f"{{{_ATOM}}}updated", "") for entry in entries), default=_text(_BEGINNING))
    _add(feed, "id", uuid5(NAMESPACE_URL, f"aahcrawler:changes:{named}").urn)
    _add(feed, "title", f"Changes: {named}")
    _add(feed, "updated", updated)
    _add(_add(feed, "author"), "name", "AAHCrawler")
    if address:
        _add(feed, "link", rel="self", href=address)
    feed.extend(entries)
    return etree.tostring(feed, xml_declaration=True, encoding="UTF-8", pretty_print=True)


def visit_in_words(visit: Visit) -> str:
    """Return what a visit found, in words.

    >>> at = datetime(2026, 1, 2, tzinfo=UTC)
    >>> visit_in_words(Visit("http://a.test/", at, None, 200, ChangeState.CHANGED, ChangeKind.LINKS))
    'changed in its links'
    >>> visit_in_words(Visit("http://a.test/", at, None, 200, ChangeState.CHANGED, reason="not read to its end"))
    'changed; not read to its end'
    """
    if visit.state is ChangeState.FAILED:
        return f"failed: {visit.reason or f'status {visit.status}'}"
    objects: Mapping[str, int] = {"new": len(visit.new), "edited": len(visit.edited), "gone": len(visit.deleted)}
    statements = dict(zip(("added", "removed", "changed"), visit.statements or (), strict=False))
    return "".join(
        (
            str(visit.state),
            _KINDS.get(visit.kind, "") if visit.kind is not None else "",
            f" to {visit.moved_to}" if visit.kind is ChangeKind.MOVED and visit.moved_to else "",
            " (what differs there differs on nearly every visit)" if visit.volatile else "",
            _counted("web objects", objects),
            _counted("statements or rows", statements),
            f"; {visit.reason}" if visit.reason else "",
        )
    )


def _counted(what: str, numbers: Mapping[str, int]) -> str:
    counted = ", ".join(f"{number:,} {name}" for name, number in numbers.items() if number)
    return f"; {what}: {counted}" if counted else ""


_BEGINNING: Final = datetime(1970, 1, 1, tzinfo=UTC)
_KINDS: Final = {
    ChangeKind.CONTENT: " in its content",
    ChangeKind.TEMPLATE: " in its template only",
    ChangeKind.LINKS: " in its links",
    ChangeKind.BACK: ": it is back",
    ChangeKind.MOVED: ": it has moved",
}


def _entry(visit: Visit) -> etree._Element:
    entry = etree.Element(f"{{{_ATOM}}}entry")
    at = _text(visit.at)
    _add(entry, "id", visit_iri(visit.url, visit.at))
    _add(entry, "title", f"{visit.state}: {visit.url}")
    _add(entry, "updated", at)
    _add(entry, "link", rel="alternate", href=visit.url)
    for name in filter(None, (visit.state, visit.kind)):
        _add(entry, "category", term=name)
    _add(entry, "summary", f"{visit_in_words(visit)}{_when(visit.dated)}")
    return entry


def _when(dated: Dating | None) -> str:
    if dated is None:
        return ""
    if dated.after == dated.before:
        return f". Changed at {_text(dated.before)} ({dated.by})"
    between = (
        f"before {_text(dated.before)}" if dated.after is None else f"{_text(dated.after)} to {_text(dated.before)}"
    )
    return f". Changed {between} ({dated.by})"


def _add(parent: etree._Element, name: str, text: str = "", **attributes: str) -> etree._Element:
    found = etree.SubElement(parent, f"{{{_ATOM}}}{name}", {key: _plain(value) for key, value in attributes.items()})
    if text:
        found.text = _plain(text)
    return found


def _plain(text: str) -> str:
    """Return a text without characters that XML cannot contain."""
    return "".join(
        sign for sign in text if sign >= " " and not "\ud800" <= sign <= "\udfff" and sign not in "\ufffe\uffff"
    )


def _cells(visit: Visit) -> Iterator[str]:
    for value in row_of(visit).values():
        text = " ".join(map(str, value)) if isinstance(value, list) else "" if value is None else str(value)
        yield f"'{text}" if text.startswith(_FORMULA) else text


def _text(moment: datetime) -> str:
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
