"""Reads the results of SPARQL queries in the reader's child process: texts, links, and solutions that can be compared.

The formats are SPARQL 1.1 Query Results JSON and XML (W3C Recommendations of 2013). Answers in CSV and TSV are tables.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from pyoxigraph import BlankNode, Literal, NamedNode, QueryBoolean, QueryResultsFormat, Triple, parse_query_results

from aahcrawler.documents.content import (
    MAX_ANCHOR,
    MAX_CONTEXT,
    MAX_TEXT,
    About,
    SentFile,
    folded,
    sheets_of,
)
from aahcrawler.page.transcript import Sheet, TranscriptLink

MAX_SOLUTIONS: Final = 200_000
"""Solutions that are read of one answer, the first ones."""

Term = NamedNode | BlankNode | Literal | Triple
Solution = list[tuple[str, Term]]


def contents(file: SentFile) -> tuple[About, Iterator[Sheet]]:
    """Return the number of solutions, and sheets with their literals, a line for each, and the resources they name.

    A link has the solution's literals around it. Raise ``SyntaxError`` where nothing can be read; ``CutError`` after
    the last sheet says why the rest is missing, as of an answer that its server broke off.
    """
    found: list[Solution] = []
    cut = ""
    try:
        for solution in _solutions(file):
            if len(found) == MAX_SOLUTIONS:
                cut = f"more than {MAX_SOLUTIONS:,} solutions"
                break
            found.append(solution)
    except (SyntaxError, ValueError) as error:
        if not found:
            raise
        cut = str(error)
    return About(entries=len(found)), sheets_of(_told(found), cut)


def parts(file: SentFile) -> Iterator[str]:
    """Yield the solutions, each as a JSON object of its terms in N-Triples, in the order of the variables' names.

    Labels of blank nodes hold within one answer alone: all blank nodes count as one. Raise ``SyntaxError`` for an
    answer that is broken or broken off.
    """
    for solution in _solutions(file):
        terms = {name: "_:" if isinstance(term, BlankNode) else str(term) for name, term in solution}
        yield json.dumps(terms, ensure_ascii=False, sort_keys=True)


def columns(file: SentFile) -> Mapping[str, Sequence[str]]:
    """Return the variables of the solutions, in the order in which the answer names them."""
    known = QueryResultsFormat.from_media_type(file.media_type)
    found = None if known is None else parse_query_results(file.body, format=known)
    return {} if found is None or isinstance(found, QueryBoolean) else {"": [each.value for each in found.variables]}


def _solutions(file: SentFile) -> Iterator[Solution]:
    known = QueryResultsFormat.from_media_type(file.media_type)
    if known is None:
        message = f"no format of results: {file.media_type}"
        raise SyntaxError(message)
    found = parse_query_results(file.body, format=known)
    if isinstance(found, QueryBoolean):
        yield [("", Literal(bool(found)))]
        return
    names = [(variable.value, variable) for variable in found.variables]
    for solution in found:
        yield [(name, term) for name, variable in names if (term := solution[variable]) is not None]


def _told(solutions: Iterable[Solution]) -> Iterator[tuple[str, list[TranscriptLink]]]:
    """Yield the literals of each row as a line, and links to the resources in it."""
    for solution in solutions:
        literals = " \N{MIDDLE DOT} ".join(term.value for _, term in solution if isinstance(term, Literal))
        line = folded(literals)[:MAX_TEXT]
        yield line, [TranscriptLink(each, line[:MAX_ANCHOR], line[:MAX_CONTEXT]) for each in _resources(solution)]


def _resources(solution: Solution) -> Iterator[str]:
    for _, term in solution:
        if isinstance(term, NamedNode) and term.value.startswith(("http://", "https://")):
            yield term.value
