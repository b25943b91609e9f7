"""The graph of links between sites: its strongest part, and all of it as GraphML or GEXF."""

import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

from lxml import etree

from aahcrawler.overview.site_links import day
from aahcrawler.segments import no_link

GRAPHML: Final = "http://graphml.graphdrawing.org/xmlns"
GEXF: Final = "http://gexf.net/1.3"
_SITES: Final = "SELECT name, pages FROM site ORDER BY name"
_EDGES: Final = """
SELECT source.name, target.name, n, first, last FROM edge
JOIN site AS source ON source.id = edge.source JOIN site AS target ON target.id = edge.target
ORDER BY source.name, target.name
"""
_STRONGEST: Final = "SELECT name FROM site WHERE weight > 0 ORDER BY weight DESC, name LIMIT ?"


@dataclass(frozen=True, slots=True)
class Edge:
    """Captures of one site that lead to another, and the days of the first and the last (UTC), empty if unknown."""

    source: str
    target: str
    captures: int
    first: str
    last: str


@dataclass(frozen=True, slots=True)
class StrongestSites:
    """The sites with the most links from and to others, the strongest first, and the links between them.

    ``sites`` counts all that have any.
    """

    names: tuple[str, ...] = ()
    links: tuple[Edge, ...] = ()
    sites: int = 0


def strongest_names(base: sqlite3.Connection, most: int) -> tuple[str, ...]:
    """Return the names of the strongest sites of a graph."""
    return tuple(str(name) for (name,) in map(tuple, base.execute(_STRONGEST, (most,))))


def strongest(base: sqlite3.Connection, most: int) -> StrongestSites:
    """Return the strongest sites of a graph, with the links between them."""
    names = strongest_names(base, most)
    places = {name: place for place, name in enumerate(names)}
    marks = ", ".join("?" * len(names))
    between = _EDGES.replace("ORDER", f"WHERE source.name IN ({marks}) AND target.name IN ({marks}) ORDER")
    edges = [_edge(row) for row in map(tuple, base.execute(between, (*names, *names)))]
    edges.sort(key=lambda edge: (places[edge.source], places[edge.target]))
    sites = base.execute("SELECT count(*) FROM site WHERE weight > 0").fetchone()[0]
    return StrongestSites(names, tuple(edges), sites)


def _edge(row: tuple[str, str, int, int | None, int | None]) -> Edge:
    first, last = ("" if at is None else day(at) for at in row[3:])
    return Edge(row[0], row[1], row[2], first, last)


def write_graph(base: sqlite3.Connection, path: Path) -> tuple[int, int]:
    """Write all of a graph to a file, ``.graphml`` or ``.gexf``; return how many sites and links it has.

    A link has the number of captures as its weight, and the days of the first and the last of them. Nodes are in the
    order of their names. Raise ``ValueError`` for another ending, ``OSError``.
    """
    write = _WRITERS.get(path.suffix.lower())
    if write is None:
        raise ValueError(f"{path}: name a file that ends with .graphml or .gexf")
    with open(path, "wb", opener=no_link) as file:
        counts = write(base, file)
    return counts["node"], counts["edge"]


def _nodes(base: sqlite3.Connection) -> Iterator[tuple[str, int]]:
    return ((str(name), int(pages)) for name, pages in base.execute(_SITES))


@dataclass(frozen=True, slots=True)
class NodeValues:
    """More that GraphML tells of nodes: its name and type there, and its values by the names of nodes."""

    name: str
    type: str
    values: Mapping[str, str]


def write_graphml(base: sqlite3.Connection, file: BinaryIO, more: Sequence[NodeValues] = ()) -> Counter[str]:
    """Write all of a graph as GraphML; return how many nodes (``node``) and links (``edge``) it has."""
    keys = (
        ("label", "node", "string"),
        ("pages", "node", "long"),
        *((each.name, "node", each.type) for each in more),
        ("weight", "edge", "long"),
        ("first", "edge", "string"),
        ("last", "edge", "string"),
    )
    counts: Counter[str] = Counter()
    with etree.xmlfile(file, encoding="utf-8") as out, ExitStack() as stack:
        out.write_declaration()
        stack.enter_context(out.element("graphml", xmlns=GRAPHML))
        for name, of, kind in keys:
            out.write(etree.Element("key", {"id": name, "for": of, "attr.name": name, "attr.type": kind}))
        stack.enter_context(out.element("graph", edgedefault="directed"))
        for name, pages in _nodes(base):
            told = {each.name: each.values[name] for each in more if name in each.values}
            out.write(_with_data("node", {"id": name}, {"label": name, "pages": str(pages), **told}))
            counts["node"] += 1
        for row in map(tuple, base.execute(_EDGES)):
            edge = _edge(row)
            told = {"weight": str(edge.captures), "first": edge.first, "last": edge.last}
            out.write(_with_data("edge", {"source": edge.source, "target": edge.target}, told))
            counts["edge"] += 1
    return counts


def _with_data(tag: str, attributes: dict[str, str], told: dict[str, str]) -> etree._Element:
    element = etree.Element(tag, attributes)
    for key, value in told.items():
        etree.SubElement(element, "data", key=key).text = value
    return element


def _gexf(base: sqlite3.Connection, file: BinaryIO) -> Counter[str]:
    counts: Counter[str] = Counter()
    with etree.xmlfile(file, encoding="utf-8") as out, ExitStack() as stack:
        out.write_declaration()
        stack.enter_context(out.element("gexf", xmlns=GEXF, version="1.3"))
        stack.enter_context(out.element("graph", defaultedgetype="directed"))
        for of, attributes in (("node", (("pages", "integer"),)), ("edge", (("first", "string"), ("last", "string")))):
            declared = etree.Element("attributes", {"class": of})
            for name, kind in attributes:
                etree.SubElement(declared, "attribute", id=name, title=name, type=kind)
            out.write(declared)
        with out.element("nodes"):
            for name, pages in _nodes(base):
                out.write(_with_values("node", {"id": name, "label": name}, {"pages": str(pages)}))
                counts["node"] += 1
        with out.element("edges"):
            for number, row in enumerate(map(tuple, base.execute(_EDGES))):
                edge = _edge(row)
                ends = {"id": str(number), "source": edge.source, "target": edge.target, "weight": str(edge.captures)}
                out.write(_with_values("edge", ends, {"first": edge.first, "last": edge.last}))
                counts["edge"] += 1
    return counts


def _with_values(tag: str, attributes: dict[str, str], told: dict[str, str]) -> etree._Element:
    element = etree.Element(tag, attributes)
    values = etree.SubElement(element, "attvalues")
    for name, value in told.items():
        etree.SubElement(values, "attvalue", {"for": name, "value": value})
    return element


_WRITERS: Final[dict[str, Callable[[sqlite3.Connection, BinaryIO], Counter[str]]]] = {
    ".graphml": write_graphml,
    ".gexf": _gexf,
}
