"""What a data document said at a time, and which statements or rows each of its captures added and removed.

Two captures are compared by their content: RDF by its canonical statements (RDFC-1.0), so that another order, format or
label of a blank node is no change (Capturing Changes in the Web of Data, section 3.4, with a full comparison of
graphs); tables and JSON by their rows and values.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from aahcrawler.captures.capture_source import CaptureSource
from aahcrawler.documents import DocumentReader, NotComparedError, is_data, is_rdf
from aahcrawler.documents.statement_changes import StatementChanges, statement_changes
from aahcrawler.page import onward


@dataclass(frozen=True, slots=True)
class StatementVersion:
    """A capture of a document that says something else than the one before it.

    Each statement is a string of canonical N-Quads, those that share blank nodes are one string together; a row or
    value of other data is a line of JSON (``DocumentFormat.parts``). ``changes`` are against the capture before that
    could be read, ``columns`` those of its tables in their order there (``DocumentReader.columns``). Of one that cannot
    be read to its end, or not be compared, ``problem`` says why, and nothing else is said.
    """

    date: datetime
    record_id: str
    is_rdf: bool
    statements: Counter[str] = field(default_factory=Counter)
    changes: StatementChanges = field(default_factory=StatementChanges)
    columns: Mapping[str, Sequence[str]] = field(default_factory=dict)
    problem: str = ""

    def in_order(self, parts: Iterable[str]) -> Iterator[str]:
        """Yield rows and values, sorted, with the cells of each row in the order of the table's columns."""
        return (_with_order(part, self.columns) for part in sorted(parts))


def statement_versions(source: CaptureSource, url: str, reader: DocumentReader) -> Iterator[StatementVersion]:
    """Yield the versions of a canonical URL whose captures are data, the oldest first; none for any other URL.

    If it only ever redirects (303), they are those of the document to which it led last. Captures that say the same as
    the one before are left out.
    """
    for _ in range(onward.MAX_REDIRECTS):
        before: Counter[str] | None = None
        target, is_data_somewhere = None, False
        for capture in source.of_url(url):
            page = capture.page
            if page is None:
                continue
            target = onward.location(page.url, page.status, page.headers) or target
            if not page.is_content or not is_data(page):
                continue
            is_data_somewhere = True
            try:
                said = reader.statements(page).parts
                if said is None:
                    raise NotComparedError("it says more than can be held")
            except NotComparedError as error:
                yield StatementVersion(capture.date, capture.record_id, is_rdf(page), problem=str(error))
                continue
            if said != before:
                changes = statement_changes(before or Counter(), said)
                columns = {} if is_rdf(page) else reader.columns(page)
                yield StatementVersion(capture.date, capture.record_id, is_rdf(page), said, changes, columns)
                before = said
        if is_data_somewhere or target in (None, url):
            return
        url = str(target)


def changes_told(version: StatementVersion) -> Iterator[str]:
    """Yield lines that describe a version's changes: RDF Patch for RDF, and a line of JSON for other data."""
    return rdf_patch(version) if version.is_rdf else iter((_row_changes(version),))


def statements_told(version: StatementVersion) -> Iterator[str]:
    """Yield what a version says: lines of N-Quads of RDF, and of other data a line of JSON for each row or value."""
    return n_quads(version) if version.is_rdf else version.in_order(version.statements.elements())


def _row_changes(version: StatementVersion) -> str:
    """Return the rows that a version adds, removes and changes, as an object; numbers are written as they are held."""
    changes, ordered = version.changes, version.in_order
    pairs = (tuple(_with_order(row, version.columns) for row in pair) for pair in changes.changed)
    changed = ", ".join(f'{{"from": {before}, "to": {now}}}' for before, now in pairs)
    return (
        f'{{"captured": "{version.date:%Y-%m-%dT%H:%M:%SZ}", "record": {json.dumps(version.record_id)}, '
        f'"added": [{", ".join(ordered(changes.added.elements()))}], '
        f'"removed": [{", ".join(ordered(changes.removed.elements()))}], '
        f'"changed": [{changed}], "keys": {json.dumps(changes.keys, ensure_ascii=False)}}}'
    )


def _with_order(part: str, columns: Mapping[str, Sequence[str]]) -> str:
    """Return a row, as a line of JSON, with its cells in the order of columns by table; anything else as it is.

    >>> _with_order('{"a": "1", "b": "2", "z": "3"}', {"": ["z", "b"]})
    '{"z": "3", "b": "2", "a": "1"}'
    >>> _with_order('["T", {"a": "1", "b": "2"}]', {"T": ["b", "a"]})
    '["T", {"b": "2", "a": "1"}]'
    """
    if not columns or not part.startswith(("{", "[")):
        return part
    match json.loads(part):
        case dict() as row if "" in columns:
            return json.dumps(_ordered(row, columns[""]), ensure_ascii=False)
        case [str() as table, dict() as row] if table in columns:
            return json.dumps([table, _ordered(row, columns[table])], ensure_ascii=False)
    return part


def _ordered(row: Mapping[str, object], columns: Sequence[str]) -> Mapping[str, object]:
    """Return a row with these columns first; all of its values are texts."""
    return {
        name: row[name]
        for name in (*(each for each in columns if each in row), *(each for each in row if each not in set(columns)))
    }


def rdf_patch(version: StatementVersion) -> Iterator[str]:
    """Yield the lines of a version as RDF Patch (https://afs.github.io/rdf-patch/), beginning with what is removed.

    What is removed has the labels of blank nodes with which it was added, so patches can be applied one after another.
    """
    yield f"H id <{version.record_id}> ."
    yield f'H captured "{version.date:%Y-%m-%dT%H:%M:%SZ}" .'
    yield "TX ."
    for code, parts in (("D", version.changes.removed), ("A", version.changes.added)):
        yield from (f"{code} {line}" for part in sorted(parts) for line in _labelled(part))
    yield "TC ."


def n_quads(version: StatementVersion) -> Iterator[str]:
    """Yield the content of a version as lines of N-Quads."""
    for part in sorted(version.statements):
        yield from _labelled(part)


def _labelled(part: str) -> Iterator[str]:
    """Yield the lines of a part with blank node labels unique to it, because RDFC-1.0 begins again with each part."""
    name = f"b{hashlib.sha256(part.encode()).hexdigest()[:16]}"
    return (_relabelled(line, name) for line in part.splitlines())


def _relabelled(line: str, part: str) -> str:
    """Return a canonical statement whose blank nodes are those of a part.

    Literals are quoted, and a label begins a term, so nothing is replaced within quotes.

    >>> _relabelled('_:c14n0 <http://a.test/p> "say _:c14n0" .', "a1")
    '_:a1c14n0 <http://a.test/p> "say _:c14n0" .'
    """
    terms: list[str] = []
    quoted = escaped = False
    for character in line:
        if quoted and character == '"' and not escaped:
            quoted = False
        elif not quoted and character == '"':
            quoted = True
        escaped = quoted and character == "\\" and not escaped
        if not quoted and terms and terms[-1] == "_" and character == ":":
            terms.append(f":{part}")
        else:
            terms.append(character)
    return "".join(terms)
