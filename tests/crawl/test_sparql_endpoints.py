"""A crawl asks SPARQL endpoints page by page, follows the resources that they name, and tells what they refuse."""

from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pyoxigraph as ox
import pytest

from aahcrawler.revisits.change_log import ChangeState, visits
from tests.crawl.articles import article
from tests.crawl.site import Answer, Reply, Site, html, serving
from tests.crawl.verifying import assert_whole
from tests.crawl.world import crawl, network

HOST = "http://data.test"
LABEL = "http://www.w3.org/2000/01/rdf-schema#label"
QUERY = f"SELECT ?work ?title {{ ?work <{LABEL}> ?title }} ORDER BY ?work"
WORKS = 7


class Endpoint:
    """The SPARQL 1.1 protocol over a store, by GET. ``most`` rows are sent of any result, without a word."""

    def __init__(self, most: int = 1_000) -> None:
        self.store = ox.Store()
        self.most = most
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
        if urlsplit(path).path != "/sparql":
            return article(int(path.rpartition("/")[2])) if path.startswith("/thing/") else Reply(b"", 404)
        try:
            found = self.store.query(parse_qs(urlsplit(path).query)["query"][0])
        except SyntaxError as error:
            return Reply(f"Parse error: {error}".encode(), 400, {"Content-Type": "text/plain"})
        if isinstance(found, ox.QueryTriples):
            body, media_type = found.serialize(format=ox.RdfFormat.N_TRIPLES), "application/n-triples"
        else:
            assert isinstance(found, ox.QuerySolutions)
            body, media_type = self._cut(found), "text/csv"
        return Reply(body or b"", headers={"Content-Type": media_type, **self.headers})

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


def test_what_an_endpoint_refuses_is_told_in_its_words(tmp_path: Path, endpoint: Endpoint) -> None:
    sources = _query(query="SELECT ?s { ?s a other:Thing } ORDER BY ?s")
    with serving(_site(endpoint)) as site:
        found = crawl(tmp_path, [f"{HOST}/"], sources=sources, network=network(site, "data.test"))
        assert len(_offsets(site)) == 1
    assert found.summary["sparql"] == {"pages": 1, "refused": 1}
    assert "400 Parse error" in (found.folder / "crawl.log").read_text()
