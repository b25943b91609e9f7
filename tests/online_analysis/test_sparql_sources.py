"""Queries to SPARQL endpoints are checked before a crawl, and divided into pages."""

import pytest
from pydantic import ValidationError

from online_analysis.icd import SparqlSource

ENDPOINT = "https://data.test/sparql?default-graph-uri=http%3A%2F%2Fg.test%2F"
QUERY = "# Works\nPREFIX dct: <http://purl.org/dc/terms/>\nSELECT ?s { ?s dct:title ?t } ORDER BY ?s # by IRI"


def test_pages_of_a_query_are_known_by_their_urls() -> None:
    source = SparqlSource(endpoint=ENDPOINT, query=QUERY, rows=20)
    assert source.url(40).startswith(f"{ENDPOINT}&query=%23%20Works%0APREFIX")
    assert source.url(40).endswith("%0ALIMIT%2020%20OFFSET%2040")
    assert [source.offset(source.url(each)) for each in (0, 20, 123)] == [0, 20, 123]
    other = SparqlSource(endpoint="https://other.test/sparql", query=QUERY, rows=20)
    assert source.offset(other.url()) is None
    assert source.offset(SparqlSource(endpoint=ENDPOINT, rows=20).url()) is None
    assert source.offset("https://data.test/sparql?query=SELECT") is None


@pytest.mark.parametrize(
    ("query", "problem"),
    [
        ("SELECT ?s { ?s ?p ?o } ORDER BY ?s LIMIT 5", "divided into pages"),
        ("SELECT ?s { ?s ?p ?o }", "no order"),
        ("ASK { ?s ?p ?o }", "no rows"),
        ("DESCRIBE <http://a.test/>", "no rows"),
        ("INSERT DATA { <http://a.test/> <http://a.test/> 1 }", "no query"),
        ("SELECT ?s { ?s ?p ", "no query"),
        (f"SELECT ?s {{ ?s ?p '{'x' * 5_000}' }} ORDER BY ?s", "characters"),
    ],
)
def test_queries_without_pages_are_refused(query: str, problem: str) -> None:
    with pytest.raises(ValidationError, match=problem):
        SparqlSource(endpoint="https://data.test/sparql", query=query)


def test_a_query_may_use_prefixes_that_its_endpoint_declares() -> None:
    text = (
        "SELECT ?x (COUNT(?y) AS ?n) { ?x wdt:P31 wd:Q5 . SERVICE wikibase:label { ?x ?y ?z } } GROUP BY ?x ORDER BY ?x"
    )
    assert SparqlSource(endpoint="https://data.test/sparql", query=text).query == text
