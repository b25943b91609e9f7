"""Queries to SPARQL endpoints are checked before a crawl, and divided into pages."""

import pytest
from pydantic import ValidationError

from aahcrawler.definitions import from_meaning
from online_analysis.icd import Icd, IcdError, SparqlSource
from online_analysis.icd.source_fields import KeyedQuery, QueryPage

ENDPOINT = "https://data.test/sparql?default-graph-uri=http%3A%2F%2Fg.test%2F"
QUERY = "# Works\nPREFIX dct: <http://purl.org/dc/terms/>\nSELECT ?s { ?s dct:title ?t } ORDER BY ?s # by IRI"


def test_pages_of_a_query_are_known_by_their_urls() -> None:
    source = SparqlSource(endpoint=ENDPOINT, query=QUERY, rows=20)
    third = source.url(QueryPage(40, 40))
    assert third.startswith(f"{ENDPOINT}&query=%23%20Works%0APREFIX")
    assert third.endswith("%0ALIMIT%2020%20OFFSET%2040")
    pages = [QueryPage(each, each) for each in (0, 20, 123)]
    assert [source.page(source.url(each)) for each in pages] == pages
    other = SparqlSource(endpoint="https://other.test/sparql", query=QUERY, rows=20)
    assert source.page(other.url()) is None
    assert source.page(SparqlSource(endpoint=ENDPOINT, rows=20).url()) is None
    assert source.page("https://data.test/sparql?query=SELECT") is None


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


@pytest.mark.parametrize(
    ("query", "variable"),
    [
        ("SELECT ?s ?t { ?s ?p ?t } ORDER BY ?s ?t", "s"),
        ("SELECT DISTINCT $s WHERE { $s ?p 'a}b' . # } x\n $s a <http://x/#y> } # c\nORDER BY ASC($s) DESC(?t)", "s"),
        ("SELECT * { ?s ?p ?o . OPTIONAL { ?s a ?c } } ORDER BY ?s", "s"),
        ("SELECT ?s { ?s ?p ?o . FILTER EXISTS { ?s a ?c } } ORDER BY ?s ?o", "s"),
        ("SELECT (STR(?a) AS ?s) { ?a ?p ?o } ORDER BY ?s", ""),
        ("SELECT ?s (COUNT(?o) AS ?n) { ?s ?p ?o } GROUP BY ?s ORDER BY ?s", ""),
        ("SELECT ?t { ?s ?p ?t } ORDER BY ?s", ""),
        ("SELECT ?s { ?s ?p ?o } ORDER BY DESC(?s)", ""),
        ("SELECT ?s { ?s ?p ?o } ORDER BY STR(?s)", ""),
        ("SELECT ?s { SELECT ?s { ?s ?p ?o } } ORDER BY ?s", ""),
        ("CONSTRUCT { ?s a ?o } WHERE { ?s ?p ?o } ORDER BY ?s", ""),
        ("CONSTRUCT WHERE { ?s ?p ?o } ORDER BY ?s", ""),
    ],
)
def test_queries_whose_rows_can_be_had_by_keys_are_recognised(query: str, variable: str) -> None:
    found = KeyedQuery.of(query, 20)
    assert (found.variable if found is not None else "") == variable


def test_pages_by_keys_are_known_by_their_urls() -> None:
    source = SparqlSource(endpoint=ENDPOINT, query=QUERY, rows=20)
    page = source.behind_key("http://a.test/\u00fc?x=1&y#z", 12_000, 3)
    assert page is not None
    assert source.page(source.url(page)) == page
    assert source.behind_key('http://a.test/"} DROP ALL', 12_000, 3) is None
    assert source.behind_key("http://a.test/" + "x" * 4_000, 12_000, 3) is None
    assert source.page(source.url(page).replace("behind", "before")) is None


QUERIES = "sources: {sparql: [{endpoint: 'https://data.test/sparql', query: 'SELECT ?s { ?s ?p ?o } ORDER BY ?s'}]}"


@pytest.mark.parametrize("seeds", ["", "seeds: []\n"])
def test_queries_are_enough_to_begin_with(seeds: str) -> None:
    icd = Icd.parse(f"id: works\ncontact: a@b.example\n{seeds}{QUERIES}\n".encode())
    assert icd.seeds == ()
    assert icd.starts == (icd.sources.sparql[0].url(),)
    assert from_meaning(icd.meaning(), icd.output).starts == icd.starts
    with pytest.raises(IcdError, match="seeds"):
        Icd.parse(f"id: works\ncontact: a@b.example\n{seeds}sources: {{sparql: []}}\n".encode())
