"""Looks up the web objects of a page by its URL."""

from collections.abc import Mapping
from dataclasses import dataclass

import pyoxigraph as ox

from aahcrawler.objects import vocabulary as v

_URL, _TIME, _UNCHANGED = ox.NamedNode(v.URL), ox.NamedNode(v.GENERATED_AT), ox.NamedNode(v.UNCHANGED_SINCE)
_TYPE = ox.NamedNode(v.OBJECT_TYPE)
# Nearly all the time goes into reading terms from disk: those that say nothing new are left out.
_OBJECTS = f"""SELECT ?object ?property ?value {{{{ GRAPH {{capture}} {{{{
  ?object <{v.OBJECT_TYPE}> ?type ; ?property ?value
  FILTER(?property NOT IN (<{v.RDF_TYPE}>, <{v.DERIVED_FROM}>))
}}}} }}}}"""
_ANY_URI = ox.NamedNode(v.XSD_ANY_URI)


@dataclass(frozen=True, slots=True)
class Known:
    """A web object as one capture has it: its IRI, and the values of each property, by the property's IRI.

    Its classes and the capture it comes from are left out (``aah:objectType`` tells its type). Values are the text of
    literals and the URLs of IRIs. The name of an author is with the author's IRI, in the same graph.
    """

    iri: str
    values: Mapping[str, tuple[str, ...]]


def captures_of(store: ox.Store, url: str) -> tuple[str, ...]:
    """Return the names of a page's captures, the newest first; none where it was never captured."""
    named = store.quads_for_pattern(None, _URL, ox.Literal(url, datatype=_ANY_URI), None)
    captured = {quad.graph_name for quad in named if quad.subject == quad.graph_name}
    graphs = [graph for graph in captured if isinstance(graph, ox.NamedNode)]
    if len(graphs) > 1:
        graphs.sort(key=lambda graph: (_time(store, graph), graph.value), reverse=True)
    return tuple(graph.value for graph in graphs)


def objects_of(store: ox.Store, capture: str) -> tuple[Known, ...]:
    """Return the web objects of a capture, by IRI; those of an unchanged page are those of its original."""
    by_iri: dict[str, dict[str, tuple[str, ...]]] = {}
    found = store.query(_OBJECTS.format(capture=_stating(store, ox.NamedNode(capture))))
    for subject, predicate, value in found if isinstance(found, ox.QuerySolutions) else ():
        # What is asked of a term costs as much as reading it, so each is asked once.
        iri, name = subject.value, predicate.value
        values = by_iri.get(iri)
        if values is None:
            values = by_iri[iri] = {}
        known = values.get(name)
        values[name] = (value.value,) if known is None else (*known, value.value)
    return tuple(Known(iri, by_iri[iri]) for iri in sorted(by_iri))


def page_objects(store: ox.Store, url: str) -> tuple[Known, ...]:
    """Return the web objects of a page as its newest capture has them; none where it was never captured."""
    captures = captures_of(store, url)
    return objects_of(store, captures[0]) if captures else ()


def _stating(store: ox.Store, capture: ox.NamedNode) -> ox.NamedNode:
    """Return the capture that states the objects of a capture, which may be the same one.

    For an unchanged page, that is the last capture at which the page was read anew.
    """
    for _, _, former, _ in store.quads_for_pattern(capture, _UNCHANGED, None, capture):
        alike = {quad.graph_name for quad in store.quads_for_pattern(None, _UNCHANGED, former, None)}
        graphs = [graph for graph in (former, *alike) if isinstance(graph, ox.NamedNode)]
        last = _time(store, capture)
        stating = [graph for graph in graphs if _states(store, graph) and _time(store, graph) <= last]
        return max(stating, key=lambda graph: _time(store, graph), default=capture)
    return capture


def _states(store: ox.Store, graph: ox.NamedNode) -> bool:
    return next(store.quads_for_pattern(None, _TYPE, None, graph), None) is not None


def _time(store: ox.Store, graph: ox.NamedNode) -> str:
    times = store.quads_for_pattern(graph, _TIME, None, graph)
    return max((quad.object.value for quad in times if isinstance(quad.object, ox.Literal)), default="")
