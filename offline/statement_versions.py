"""What an RDF document said at a time, and the statements that each of its captures added and took away.

Two captures are compared by their canonical statements (RDFC-1.0), so that another order, format or label of a blank
node is no change (Capturing Changes in the Web of Data, section 3.4, with the comparison of graphs in full).
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from aahcrawler.captures.capture_source import CaptureSource
from aahcrawler.documents import DocumentReader, NotComparedError, is_rdf
from aahcrawler.page import onward


@dataclass(frozen=True, slots=True)
class StatementVersion:
    """A capture of a document that says something else than the one before it.

    Each statement is a string of canonical N-Quads, those that share blank nodes are one string together. ``added`` and
    ``removed`` are against the capture before that could be read. Of one that cannot be read to its end, or not be
    compared, ``problem`` says why, and nothing else is said.
    """

    date: datetime
    record_id: str
    statements: frozenset[str] = frozenset()
    added: frozenset[str] = frozenset()
    removed: frozenset[str] = frozenset()
    problem: str = ""


def statement_versions(source: CaptureSource, url: str, reader: DocumentReader) -> Iterator[StatementVersion]:
    """Yield the versions of a canonical URL whose captures are RDF, the oldest first; none for any other.

    Where it only ever redirects (303), they are those of the document that it led to last. Captures that say the same
    as the one before are left out.
    """
    for _ in range(onward.MAX_REDIRECTS):
        before: frozenset[str] | None = None
        target, is_rdf_somewhere = None, False
        for capture in source.of_url(url):
            page = capture.page
            if page is None:
                continue
            target = onward.location(page.url, page.status, page.headers) or target
            if not page.is_content or not is_rdf(page):
                continue
            is_rdf_somewhere = True
            try:
                said = reader.statements(page)
            except NotComparedError as error:
                yield StatementVersion(capture.date, capture.record_id, problem=str(error))
                continue
            if said != before:
                known = before or frozenset()
                yield StatementVersion(capture.date, capture.record_id, said, said - known, known - said)
                before = said
        if is_rdf_somewhere or target in (None, url):
            return
        url = str(target)


def rdf_patch(version: StatementVersion) -> Iterator[str]:
    """Yield the lines of a version as RDF Patch (https://afs.github.io/rdf-patch/), what is taken away first.

    What is taken away has the labels of blank nodes that it was added with: patches can be applied one after another.
    """
    yield f"H id <{version.record_id}> ."
    yield f'H captured "{version.date:%Y-%m-%dT%H:%M:%SZ}" .'
    yield "TX ."
    for code, parts in (("D", version.removed), ("A", version.added)):
        yield from (f"{code} {line}" for part in sorted(parts) for line in _labelled(part))
    yield "TC ."


def n_quads(version: StatementVersion) -> Iterator[str]:
    """Yield what a version says, as lines of N-Quads."""
    for part in sorted(version.statements):
        yield from _labelled(part)


def _labelled(part: str) -> Iterator[str]:
    """Yield the lines of a part with labels that no other part has, since RDFC-1.0 begins anew with each."""
    name = f"b{hashlib.sha256(part.encode()).hexdigest()[:16]}"
    return (_relabelled(line, name) for line in part.splitlines())


def _relabelled(line: str, part: str) -> str:
    """Return a canonical statement whose blank nodes are those of a part.

    Literals are quoted, and a label begins a term: within quotes nothing is replaced.

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
