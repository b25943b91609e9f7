"""Visits as N-Quads, each in a graph of its own, in terms of PROV-O and OWL-Time; see ``docs/vocabulary.md``."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from uuid import NAMESPACE_URL, uuid5

from aahcrawler.objects import vocabulary as v
from aahcrawler.objects.nquads import boolean, integer, iri, moment, quads, text, typed
from aahcrawler.revisits.visit_record import Dating, Visit


def visit_iri(url: str, at: datetime) -> str:
    """Return the IRI of the visit of a URL at a moment, by which it is also known in feeds.

    >>> visit_iri("http://a.test/", datetime.fromisoformat("2026-01-02T03:04:05+00:00"))
    'urn:uuid:f31931d7-f7eb-5d05-a09e-5f2c9eebb6a7'
    """
    return uuid5(NAMESPACE_URL, f"{url} {at.isoformat(timespec='milliseconds')}").urn


def visit_statements(visit: Visit, graph: str = "") -> bytes:
    """Return the N-Quads of a visit, in UTF-8; what is not known is left out. The graph is the visit unless given."""
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
    """Yield when the change happened: an interval, whose beginning is left out where it is not known."""
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
