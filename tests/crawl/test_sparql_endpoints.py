"""A crawl asks SPARQL endpoints page by page, follows the resources that they name, and tells what they refuse."""

import json
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pyoxigraph as ox
import pytest

from aahcrawler.revisits.change_log import ChangeState, visits
from tests.crawl.articles import article
from tests.crawl.crawling import aah, running
from tests.crawl.site import Answer, Reply, Site, html, serving
from tests.crawl.verifying import assert_whole
from tests.crawl.world import Crawled, crawl, define, network

HOST = "http://data.test"
LABEL = "http://www.w3.org/2000/01/rdf-schema#label"
QUERY = f"SELECT ?work ?title {{ ?work <{LABEL}> ?title }} ORDER BY ?work ?title"
WORKS = 7


class Endpoint:
    """The SPARQL 1.1 protocol over a store, by GET. ``most`` rows are sent of any result, without a word.

    From an OFFSET of ``least_refused`` on it refuses.
    """

    def __init__(self, most: int = 1_000, media_type: str = "text/csv") -> None:
        self.store = ox.Store()
        self.most = most
        self.media_type = media_type
        self.least_refused = 10**9
        self.most_statements = 1_000
        self.headers: dict[str, str] = {}
        for number in range(WORKS):
            self.label(number, f"Storm surge and dike {number}")

    def label(self, number: int, text: str) -> None:
        """Give a work its only title."""
        work, label = ox.NamedNode(f"{HOST}/thing/{number}"), ox.NamedNode(LABEL)
        for quad in list(self.store.quads_for_pattern(work, label, None)):
            self.store.remove(quad)
        self.store.add(ox.Quad(work, label, ox.Literal(text)))

    def answer(self, path: str) -> Reply:
        """Answer a query in the media type that endpoints prefer for its form, and anything else with an article."""
        place = urlsplit(path).path
        if place != "/sparql":
            return article(int(place.rpartition("/")[2])) if place.startswith("/thing/") else Reply(b"", 404)
        query = parse_qs(urlsplit(path).query)["query"][0]
        if int(query.rpartition("OFFSET ")[2].split()[0]) >= self.least_refused:
            return Reply(b"22023 Error SR353: sorted TOP clause", 500, {"Content-Type": "text/plain"})
        try:
            found = self.store.query(query)
        except SyntaxError as error:
            return Reply(f"Parse error: {error}".encode(), 400, {"Content-Type": "text/plain"})
        if isinstance(found, ox.QueryTriples):
            sent = (found.serialize(format=ox.RdfFormat.N_TRIPLES) or b"").splitlines(keepends=True)
            body, media_type = b"".join(sent[: self.most_statements]), "application/n-triples"
        else:
            assert isinstance(found, ox.QuerySolutions)
            body, media_type = self._sent(found), self.media_type
        return Reply(body or b"", headers={"Content-Type": media_type, **self.headers})

    def _sent(self, found: ox.QuerySolutions) -> bytes:
        if self.media_type == "text/csv":
            return self._cut(found)
        return found.serialize(format=ox.QueryResultsFormat.JSON) or b""

    def _cut(self, found: ox.QuerySolutions) -> bytes:
        rows = (found.serialize(format=ox.QueryResultsFormat.CSV) or b"").splitlines(keepends=True)
        return b"".join(rows[: self.most + 1])


def _site(endpoint: Endpoint) -> Site:
    pages: dict[str, Answer] = {"/": html("Works on floods"), "/robots.txt": Reply(b"", 404)}
    return Site(pages, other=endpoint.answer)


def _offsets(site: Site) -> list[int]:
    queries = (parse_qs(urlsplit(path).query)["query"][0] for path in site.paths() if path.startswith("/sparql"))
    return [int(query.rpartition(" ")[2]) for query in queries]


@pytest.fixture
def endpoint() -> Endpoint:
    return Endpoint()


def _query(**fields: object) -> dict[str, object]:
    return {"sparql": [{"endpoint": f"{HOST}/sparql", "query": QUERY, "rows": 3, **fields}]}


def test_an_endpoint_that_cuts_its_answers_is_asked_for_all_rows_once(tmp_path: Path) -> None:
    endpoint = Endpoint(most=2)
    with serving(_site(endpoint)) as site:
        hosts = network(site, "data.test")
        first = crawl(tmp_path, [f"{HOST}/"], sources=_query(), network=hosts)
        assert sorted(_offsets(site)) == [0, 2, 4, 6, 7]
        assert {path for path in site.paths() if path.startswith("/thing/")} == {f"/thing/{each}" for each in range(7)}
        asked = next(each for each in site.asked if each.path.startswith("/sparql"))
        assert dict(asked.headers)["Accept"].startswith("application/sparql-results+json")
        assert first.summary["sparql"] == {"pages": 5, "short": 2}
        endpoint.label(5, "Dike and storm surge 5")
        again = crawl(tmp_path, [f"{HOST}/"], sources=_query(), network=hosts)
    assert sorted(_offsets(site)) == sorted([0, 2, 4, 6, 7] * 2)
    changed = [each for each in visits(again.folder) if each.state is ChangeState.CHANGED]
    assert [(each.url.rpartition("%20")[2], each.statements) for each in changed] == [("4", (0, 0, 1))]
    assert_whole(again.folder)


def test_a_graph_is_had_in_pages_and_bounded(tmp_path: Path, endpoint: Endpoint) -> None:
    sources = {"sparql": [{"endpoint": f"{HOST}/sparql", "rows": 2, "pages": 3}]}
    endpoint.headers = {"X-SQL-State": "S1TAT", "X-SQL-Message": "Anytime query"}
    with serving(_site(endpoint)) as site:
        found = crawl(tmp_path, [f"{HOST}/"], sources=sources, network=network(site, "data.test"))
        assert sorted(_offsets(site)) == [0, 2, 4]
    assert found.summary["sparql"] == {"pages": 3, "partial": 3, "bounded": 1}
    assert "S1TAT Anytime query" in (found.folder / "crawl.log").read_text()


def test_a_graph_that_is_cut_is_told(tmp_path: Path, endpoint: Endpoint) -> None:
    endpoint.most_statements = 2
    sources = {"sparql": [{"endpoint": f"{HOST}/sparql", "rows": 3}]}
    with serving(_site(endpoint)) as site:
        found = crawl(tmp_path, [f"{HOST}/"], sources=sources, network=network(site, "data.test"))
    assert found.summary["sparql"] == {"pages": 4, "cut": 2}
    log = (found.folder / "crawl.log").read_text()
    assert "gave 2 statements for the 3 solutions behind 0, and has more behind these" in log
    endpoint.most_statements, endpoint.headers = 1_000, {"X-SPARQL-MaxRows": "2"}
    with serving(_site(endpoint)) as site:
        (tmp_path / "bounded").mkdir()
        found = crawl(tmp_path / "bounded", [f"{HOST}/"], sources=sources, network=network(site, "data.test"))
    assert found.summary["sparql"] == {"pages": 4, "cut": 4}
    assert "write `rows: 2`" in (found.folder / "crawl.log").read_text()


def test_what_an_endpoint_refuses_is_told_in_its_words(tmp_path: Path, endpoint: Endpoint) -> None:
    sources = _query(query="SELECT ?s { ?s a other:Thing } ORDER BY ?s")
    with serving(_site(endpoint)) as site:
        found = crawl(tmp_path, [f"{HOST}/"], sources=sources, network=network(site, "data.test"))
        assert len(_offsets(site)) == 1
    assert found.summary["sparql"] == {"pages": 1, "refused": 1}
    told = found.summary["seeds"][1]
    assert (told["url"], told["verdict"]) == (f"{HOST}/sparql#query-1", "query refused")
    assert told["advice"].startswith("correct sources.sparql.query")
    assert "400 Parse error" in (found.folder / "crawl.log").read_text()


JSON = "application/sparql-results+json"
BY_KEYS = """
from aahcrawler import cli
from aahcrawler.crawl.response import sparql_paging

sparql_paging.MAX_OFFSET = 4
cli.main()
"""
"""Runs ``aah`` so that OFFSET passes over three rows at most."""


@pytest.mark.parametrize("titles", [1, 3])
def test_rows_that_no_offset_reaches_are_had_by_keys_each_once(tmp_path: Path, titles: int) -> None:
    endpoint = Endpoint(media_type=JSON)
    endpoint.least_refused = 7
    for number in range(WORKS):
        for other in range(1, titles):
            endpoint.store.add(_titled(number, f"Another title {other}"))
    with serving(_site(endpoint)) as site:
        sections = {"sources": _query(rows=2), "network": network(site, "data.test")}
        with running("crawl", define(tmp_path, [f"{HOST}/"], **sections), code=BY_KEYS) as crawling:
            found = Crawled(crawling.ended(), tmp_path / "crawl")
    assert found.ended.code == 0, found.ended.err
    assert {path for path in site.paths() if path.startswith("/thing/")} == {f"/thing/{each}" for each in range(7)}
    assert "refused" not in found.summary["sparql"]
    rows = [row for each in site.asked if each.path.startswith("/sparql") for row in _rows_of(endpoint, each.path)]
    assert len(rows) == len(set(rows)) == WORKS * titles
    assert_whole(found.folder)


def test_a_query_that_cannot_be_had_by_keys_is_told(tmp_path: Path) -> None:
    with serving(_site(Endpoint())) as site:
        sections = {"sources": _query(rows=2), "network": network(site, "data.test")}
        with running("crawl", define(tmp_path, [f"{HOST}/"], **sections), code=BY_KEYS) as crawling:
            found = Crawled(crawling.ended(), tmp_path / "crawl")
    assert found.summary["sparql"]["unkeyed"] >= 1
    assert found.log.count("do not tell IRIs from text") == 1


def _titled(number: int, text: str) -> ox.Quad:
    return ox.Quad(ox.NamedNode(f"{HOST}/thing/{number}"), ox.NamedNode(LABEL), ox.Literal(text))


def _rows_of(endpoint: Endpoint, path: str) -> list[str]:
    found = endpoint.store.query(parse_qs(urlsplit(path).query)["query"][0])
    assert isinstance(found, ox.QuerySolutions)
    return [str(each) for each in found]


@pytest.mark.parametrize(
    ("fields", "verdict", "detail"),
    [
        ({}, "fetched", ""),
        ({"query": "SELECT ?s { ?s a other:Thing } ORDER BY ?s"}, "query refused", "400 Parse error"),
        ({"query": "SELECT ?s { ?s <http://a.test/none> ?o } ORDER BY ?s"}, "query without rows", ""),
        ({"endpoint": f"{HOST}/thing/1"}, "no results of a query", ""),
        ({"endpoint": f"{HOST}/nothing"}, "not found", ""),
        ({"endpoint": "http://silent.test/sparql"}, "connection refused", ""),
    ],
)
def test_a_dry_run_tells_of_a_query_that_is_wrong_and_an_endpoint_that_is_none(
    tmp_path: Path, endpoint: Endpoint, fields: dict[str, str], verdict: str, detail: str
) -> None:
    endpoint.media_type = JSON
    with serving(_site(endpoint)) as site:
        hosts = network(site, "data.test", **{"silent.test": "127.0.0.1:9"})
        icd = define(tmp_path, [f"{HOST}/"], sources=_query(**fields), network=hosts)
        ended = aah("icd", "try", "--json", icd)
    told = list(map(json.loads, ended.out.splitlines()))
    assert told[-1]["seeds"] == 2
    name = f"{fields.get('endpoint', f'{HOST}/sparql')}#query-1"
    query = next(each for each in told if each.get("url") == name)
    assert query["verdict"] == verdict
    assert detail in query.get("detail", "")
    assert bool(query["hints"]) == (verdict != "fetched")
