"""Whether statements keep to ``aahcrawler/objects/shapes.ttl``, as pyshacl sees it."""

import gzip
from collections.abc import Iterator
from functools import cache
from itertools import groupby
from operator import attrgetter
from pathlib import Path

import pyoxigraph as ox
import rdflib

import aahcrawler.objects
from aahcrawler.layout import NQUADS
from aahcrawler.segments import open_segment, segments

SHAPES = Path(aahcrawler.objects.__file__).with_name("shapes.ttl")


@cache
def shapes() -> rdflib.Graph:
    """Return the shapes, which nothing changes."""
    return rdflib.Graph().parse(SHAPES)


def violations(text: bytes) -> list[str]:
    """Return what pyshacl says of each graph of some N-Quads that breaks a shape."""
    wanted = shapes()
    return [said for graph in _graphs(text) for said in _violations(graph, wanted)]


def crawl_violations(crawl: Path) -> list[str]:
    """Return what breaks a shape in a crawl's segments."""
    found = []
    for path in segments(crawl / "objects", NQUADS):
        with open_segment(path) as file, gzip.GzipFile(fileobj=file) as text:
            found += violations(text.read())
    return found


def _violations(graph: rdflib.Graph, wanted: rdflib.Graph) -> Iterator[str]:
    from pyshacl import validate  # What it imports takes long.

    conforms, _, said = validate(graph, shacl_graph=wanted)
    if not conforms:
        yield str(said)


def _graphs(text: bytes) -> Iterator[rdflib.Graph]:
    quads = sorted(ox.parse(text, ox.RdfFormat.N_QUADS), key=lambda quad: str(quad.graph_name))
    for _, group in groupby(quads, attrgetter("graph_name")):
        triples = ox.serialize((quad.triple for quad in group), format=ox.RdfFormat.N_TRIPLES) or b""
        yield rdflib.Graph().parse(data=triples.decode(), format="nt")
