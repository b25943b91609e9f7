"""What a data document said at a time, and which statements or rows each of its captures added and removed.

Two captures are compared by their content: RDF by its canonical statements (RDFC-1.0), so that another order, format or
label of a blank node is no change (Capturing Changes in the Web of Data, section 3.4, with a full comparison of
graphs); tables and JSON by their rows and values.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime

from aahcrawler.captures.capture_source import CaptureSource
from aahcrawler.documents import DocumentReader, NotComparedError, is_data, is_rdf
from aahcrawler.documents.statement_changes import StatementChanges, statement_changes
from aahcrawler.page import onward


@dataclass(frozen=True, slots=True)
class StatementVersion:
    """A capture of a document that says something else than the one before it.

    Each statement is a string of canonical N-Quads; those that share blank nodes are one string. A row or value of
    other data is a line of JSON (``DocumentFormat.parts``). ``changes`` are against the last capture that could be
    read. If a capture cannot be read to its end or cannot be compared, ``problem`` says why, and the other fields are
    empty.
    """

    date: datetime
    record_id: str
    is_rdf: bool
    statements: Counter[str] = field(default_factory=Counter)
    changes: StatementChanges = field(default_factory=StatementChanges)
    problem: str = ""


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
                yield StatementVersion(capture.date, capture.record_id, is_rdf(page), said, changes)
                before = said
        if is_data_somewhere or target in (None, url):
            return
        url = str(target)


def changes_told(version: StatementVersion) -> Iterator[str]:
    """Yield lines that describe a version's changes: RDF Patch for RDF, and a line of JSON for other data."""
    return rdf_patch(version) if version.is_rdf else iter((_row_changes(version),))


def statements_told(version: StatementVersion) -> Iterator[str]:
    """Yield the content of a version: N-Quads for RDF, and a line of JSON for each row or value of other data."""
    return n_quads(version) if version.is_rdf else iter(sorted(version.statements.elements()))


def _row_changes(version: StatementVersion) -> str:
    """Return the rows that a version adds, removes and changes, as a JSON object; numbers are written as stored."""
    changes = version.changes
    pairs = (f'{{"from": {before}, "to": {now}}}' for before, now in changes.changed)
    return (
        f'{{"captured": "{version.date:%Y-%m-%dT%H:%M:%SZ}", "record": {json.dumps(version.record_id)}, '
        f'"added": {_array(changes.added.elements())}, "removed": {_array(changes.removed.elements())}, '
        f'"changed": {_array(pairs)}, "keys": {json.dumps(changes.keys, ensure_ascii=False)}}}'
    )


def _array(parts: Iterable[str]) -> str:
    return f"[{', '.join(sorted(parts))}]"


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
