"""Reads RDF documents in the reader's child process: text, links, and statements that can be compared.

The formats are those of Linked Data (https://www.w3.org/TR/ld-glossary/#linked-data): Turtle, N-Triples, N-Quads, TriG,
N3, JSON-LD and RDF/XML. Nothing that a document names is loaded, remote contexts of JSON-LD neither.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final

from pyoxigraph import BlankNode, CanonicalizationAlgorithm, Dataset, Literal, NamedNode, Quad, RdfFormat, Triple, parse

from aahcrawler.documents.content import (
    MAX_ANCHOR,
    MAX_CONTEXT,
    MAX_TEXT,
    About,
    CutError,
    SentFile,
    about,
    folded,
    moment_of,
    sheets_of,
    utf_8,
)
from aahcrawler.page.transcript import Sheet, TranscriptLink

MAX_STATEMENTS: Final = 200_000
"""Statements that are read of one document, the first ones."""

_TYPE: Final = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
_TOPIC: Final = "http://xmlns.com/foaf/0.1/primaryTopic"
_TERMS: Final = "http://purl.org/dc/terms/"
_ELEMENTS: Final = "http://purl.org/dc/elements/1.1/"
_NAMES: Final = (
    f"{_TERMS}title",
    f"{_ELEMENTS}title",
    "http://www.w3.org/2004/02/skos/core#prefLabel",
    "http://www.w3.org/2000/01/rdf-schema#label",
    "http://schema.org/name",
    "https://schema.org/name",
    "http://xmlns.com/foaf/0.1/name",
)
"""Properties that name a thing, the best first."""
_AUTHORS: Final = (f"{_TERMS}creator", f"{_ELEMENTS}creator")
_DATES: Final = (
    f"{_TERMS}issued",
    f"{_TERMS}created",
    "http://schema.org/datePublished",
    "https://schema.org/datePublished",
)
_TEXTS: Final = frozenset(
    {
        "http://www.w3.org/2001/XMLSchema#string",
        "http://www.w3.org/1999/02/22-rdf-syntax-ns#langString",
        "http://www.w3.org/1999/02/22-rdf-syntax-ns#HTML",
    }
)


def contents(file: SentFile) -> tuple[About, Iterator[Sheet]]:
    """Return what a document says of itself, and sheets with its texts and the resources that it names.

    Its title is the name of the document, else of its topic, else of what it says most about. Raise ``SyntaxError``
    where nothing can be read; ``CutError`` after the last sheet says that there is more, or that the rest is broken.
    """
    quads, cut = _statements(file)
    about_file = replace(_about(quads, file.url), entries=None if cut else len(quads))
    return about_file, sheets_of(_told(quads), cut, without=file.url)


def parts(file: SentFile) -> Iterator[str]:
    """Yield the statements of a document as canonical N-Quads, part by part.

    A part is a statement without blank nodes, or all statements that are held together by blank nodes. Blank nodes are
    labelled by RDFC-1.0 (https://www.w3.org/TR/rdf-canon/) within their part, so that two documents say the same if
    and only if they have the same parts, in whatever order, format and labels. Raise ``SyntaxError`` for what cannot be
    read, ``CutError`` where there is more than can be compared. Graphs that are symmetric in many ways take a time
    beyond all bounds: the process has to have one.
    """
    quads, cut = _statements(file)
    if cut:
        raise CutError(cut)
    for part in _components(quads):
        dataset = Dataset(part)
        dataset.canonicalize(CanonicalizationAlgorithm.RDFC_1_0)
        yield "".join(sorted(f"{quad} .\n" for quad in dataset))


def _statements(file: SentFile) -> tuple[list[Quad], str]:
    """Return the statements of a document, each once, and why there may be more, empty where these are all."""
    known = RdfFormat.from_media_type(file.media_type)
    if known is None:
        message = f"no format of RDF: {file.media_type}"
        raise SyntaxError(message)
    found: dict[Quad, None] = {}
    try:
        for quad in parse(file.body, format=known, base_iri=file.url):
            if len(found) >= MAX_STATEMENTS:
                return list(found), f"more than {MAX_STATEMENTS:,} statements"
            found[quad] = None
    except (SyntaxError, ValueError) as error:
        if not found:
            raise
        return list(found), str(error)
    return list(found), ""


def _about(quads: Iterable[Quad], url: str) -> About:
    said: dict[str, dict[str, list[Literal]]] = defaultdict(lambda: defaultdict(list))
    counts: Counter[str] = Counter()
    topics: list[str] = []
    for quad in quads:
        if not isinstance(quad.subject, NamedNode):
            continue
        subject = quad.subject.value
        counts[subject] += 1
        if isinstance(quad.object, Literal):
            said[subject][quad.predicate.value].append(quad.object)
        elif quad.predicate.value == _TOPIC and subject == url and isinstance(quad.object, NamedNode):
            topics.append(quad.object.value)
    most = [subject for subject, count in counts.items() if count == max(counts.values())]
    titles = (_first(said[subject], _NAMES) for subject in (url, *topics, *(most if len(most) == 1 else ())))
    own = said[url]
    dates = (moment_of(literal.value) for name in _DATES for literal in own[name])
    created: datetime | None = next((each for each in dates if each is not None), None)
    return about(next(filter(None, titles), ""), _first(own, _AUTHORS), created)


def _first(said: dict[str, list[Literal]], names: Iterable[str]) -> str:
    """Return the first text of the best property; one without a language, or in English, goes before others."""
    for name in names:
        if literals := [each for each in said[name] if each.value.strip()]:
            return min(literals, key=lambda each: not (each.language or "en").startswith("en")).value
    return ""


def _told(quads: Sequence[Quad]) -> Iterator[tuple[str, list[TranscriptLink]]]:
    """Yield the text of each statement, and links to the resources in it, by the names that the document gives."""
    names = {
        quad.subject.value: folded(quad.object.value)[:MAX_ANCHOR]
        for quad in reversed(quads)
        if quad.predicate.value in _NAMES and isinstance(quad.subject, NamedNode) and isinstance(quad.object, Literal)
    }
    for quad in quads:
        context = _words(quad.predicate.value)[:MAX_CONTEXT]
        yield _text(quad), [TranscriptLink(each, names.get(each, ""), context) for each in _resources(quad)]


def _text(quad: Quad) -> str:
    """Return the text of a statement, empty for numbers, dates, codes and resources."""
    if isinstance(quad.object, Literal) and quad.object.datatype.value in _TEXTS:
        return utf_8(quad.object.value.strip())[:MAX_TEXT]
    return ""


def _resources(quad: Quad) -> Iterator[str]:
    """Yield the web addresses that a statement is about; classes and properties are no pages that anybody looks for."""
    for node in (quad.subject, quad.object) if quad.predicate.value != _TYPE else (quad.subject,):
        if isinstance(node, NamedNode) and node.value.startswith(("http://", "https://")):
            yield node.value


def _words(iri: str) -> str:
    """Return the last part of an IRI."""
    return iri.replace("#", "/").rstrip("/").rpartition("/")[2]


def _components(quads: Iterable[Quad]) -> Iterator[list[Quad]]:
    """Yield statements without blank nodes one by one, and together those that share blank nodes, at any distance."""
    above: dict[BlankNode, BlankNode] = {}

    def top(node: BlankNode) -> BlankNode:
        while above[node] is not node:
            above[node] = node = above[above[node]]
        return node

    bound: list[tuple[BlankNode, Quad]] = []
    for quad in quads:
        nodes = list(_blank_nodes(quad))
        if not nodes:
            yield [quad]
            continue
        for node in nodes:
            above.setdefault(node, node)
            above[top(node)] = top(nodes[0])
        bound.append((nodes[0], quad))
    together: dict[BlankNode, list[Quad]] = defaultdict(list)
    for node, quad in bound:
        together[top(node)].append(quad)
    yield from together.values()


def _blank_nodes(quad: Quad | Triple) -> Iterator[BlankNode]:
    for node in (quad.subject, quad.object, quad.graph_name if isinstance(quad, Quad) else None):
        if isinstance(node, BlankNode):
            yield node
        elif isinstance(node, Triple):
            yield from _blank_nodes(node)
