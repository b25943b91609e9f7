"""What an RDF document said at a time, and the statements that each of its captures added and took away.

Two captures are compared by their canonical statements (RDFC-1.0), so that another order, format or label of a blank
node is no change (Capturing Changes in the Web of Data, section 3.4, with the comparison of graphs in full).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from aahcrawler.captures.capture_source import CaptureSource
from aahcrawler.documents import DocumentReader, is_rdf


@dataclass(frozen=True, slots=True)
class StatementVersion:
    """A capture of a document that says something else than the one before it.

    Each statement is a string of canonical N-Quads, those that share blank nodes are one string together. ``added`` and
    ``removed`` are against the capture before that could be read. ``statements`` is None where this one cannot be read
    to its end or compared; nothing is said of what it adds then.
    """

    date: datetime
    record_id: str
    statements: frozenset[str] | None
    added: frozenset[str] = frozenset()
    removed: frozenset[str] = frozenset()


def statement_versions(source: CaptureSource, url: str, reader: DocumentReader) -> Iterator[StatementVersion]:
    """Yield the versions of a canonical URL whose captures are RDF, the oldest first; none for any other.

    Captures that say the same as the one before are left out.
    """
    before: frozenset[str] = frozenset()
    is_first = True
    for capture in source.of_url(url):
        page = capture.page
        if page is None or not page.is_content or not is_rdf(page):
            continue
        said = reader.statements(page)
        if said is None:
            yield StatementVersion(capture.date, capture.record_id, None)
        elif is_first or said != before:
            yield StatementVersion(capture.date, capture.record_id, said, said - before, before - said)
            before, is_first = said, False


def rdf_patch(version: StatementVersion) -> Iterator[str]:
    """Yield the lines of a version as RDF Patch (https://afs.github.io/rdf-patch/), what is taken away first.

    Blank nodes have labels of their own in each part of a patch, since RDFC-1.0 begins anew with each.
    """
    yield f"H id <{version.record_id}> ."
    yield f'H captured "{version.date:%Y-%m-%dT%H:%M:%SZ}" .'
    if version.statements is None:
        yield 'H unread "not compared: broken, too large, or alike in too many ways" .'
    yield "TX ."
    for code, parts in (("D", version.removed), ("A", version.added)):
        for number, part in enumerate(sorted(parts)):
            for line in part.splitlines():
                yield f"{code} {_relabelled(line, f'{code.lower()}{number}')}"
    yield "TC ."


def n_quads(version: StatementVersion) -> Iterator[str]:
    """Yield what a version says, as lines of N-Quads."""
    for number, part in enumerate(sorted(version.statements or ())):
        for line in part.splitlines():
            yield _relabelled(line, f"s{number}")


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
