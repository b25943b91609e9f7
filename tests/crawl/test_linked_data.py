"""RDF documents in a crawl: asked for, followed, and compared by what they say."""

from pathlib import Path

from aahcrawler.revisits.change_feed import visit_in_words
from aahcrawler.revisits.change_log import ChangeKind, ChangeState, visits
from tests.crawl.articles import article
from tests.crawl.site import Answer, Reply, Site, serving
from tests.crawl.verifying import assert_whole
from tests.crawl.world import crawl, network

HOST = "http://data.test"
TURTLE = {"Content-Type": "text/turtle"}
DIKE = """@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
</id/dike> rdfs:label "The dike" ; rdfs:comment "The storm surge broke the dike near the harbour." ;
  rdfs:seeAlso </id/levee> , [ rdfs:label "Unnamed" ] , <{last}> .
"""
AGAIN = """</id/dike> <http://www.w3.org/2000/01/rdf-schema#seeAlso> _:thing .
_:thing <http://www.w3.org/2000/01/rdf-schema#label> "Unnamed" .
</id/dike> <http://www.w3.org/2000/01/rdf-schema#seeAlso> </id/levee> , </id/last> .
</id/dike> <http://www.w3.org/2000/01/rdf-schema#comment> "The storm surge broke the dike near the harbour." .
</id/dike> <http://www.w3.org/2000/01/rdf-schema#label> "The dike" .
"""


def _pages(dike: str, levee: str) -> dict[str, Answer]:
    page = '<link rel="alternate" type="text/turtle" href="/data/dike"><h1>Data on the flood</h1>'
    return {
        "/": Reply(page.encode()),
        "/data/dike": Reply(dike.encode(), headers=TURTLE),
        "/id/levee": Reply(status=303, headers={"Location": "/data/levee"}),
        "/data/levee": Reply(levee.encode(), headers=TURTLE),
        "/id/last": article(1),
        "/id/dike": article(2),
        "/robots.txt": Reply(b"", 404),
    }


def test_data_are_asked_for_followed_and_changed_where_they_say_something_else(tmp_path: Path) -> None:
    site = Site(_pages(DIKE.format(last="/id/last"), "</id/levee> <http://v.test/height> 5 ."))
    with serving(site) as served:
        sources, hosts = {"linked_data": "first"}, network(served, "data.test")
        first = crawl(tmp_path, [f"{HOST}/"], sources=sources, network=hosts).summary
        paths = ["/", "/data/dike", "/data/levee", "/id/dike", "/id/last", "/id/levee"]
        assert sorted(served.paths()) == paths
        accepted = {value for asked in served.asked for name, value in asked.headers if name.lower() == "accept"}
        assert all(each.startswith("text/turtle") for each in accepted)
        served.pages.update(_pages(AGAIN, "</id/levee> <http://v.test/height> 6 ."))
        again = crawl(tmp_path, [f"{HOST}/"], sources=sources, network=hosts)
    assert (first["documents"], again.summary["documents"]) == (2, 2)
    assert again.summary["changed"] == 1, "the levee alone: of the dike the same is said in another order"
    assert again.summary["gone"] == 0
    assert_whole(again.folder)


def test_nobody_who_does_not_want_data_is_sent_to_them(tmp_path: Path) -> None:
    with serving(Site(_pages(AGAIN, ""))) as site:
        crawl(tmp_path, [f"{HOST}/"], network=network(site, "data.test"))
        assert site.paths() == ["/"]


def _tables(first: str, second: str) -> dict[str, Answer]:
    page = '<h1>Gauges of the flood</h1><a href="/a.csv">The gauges</a> <a href="/b">More</a>'
    csv = {"Content-Type": "text/csv; charset=utf-8"}
    return {
        "/": Reply(page.encode()),
        "/a.csv": Reply(first.encode(), headers=csv),
        "/b": Reply(second.encode(), headers=csv),
        "/elbe": article(1),
        "/robots.txt": Reply(b"", 404),
    }


def test_tables_are_read_and_changed_where_their_rows_are_others(tmp_path: Path) -> None:
    table = "id,name,level\n1,http://data.test/elbe,5\n2,Oste,7\n"
    with serving(Site(_tables(table, table))) as served:
        hosts = network(served, "data.test")
        first = crawl(tmp_path, [f"{HOST}/"], network=hosts).summary
        assert sorted(served.paths()) == ["/", "/a.csv", "/b", "/elbe"]
        served.pages.update(_tables("level,id,name\n7,2,Oste\n5,1,http://data.test/elbe\n", table.replace(",7", ",8")))
        again = crawl(tmp_path, [f"{HOST}/"], network=hosts)
    assert (first["documents"], again.summary["documents"], again.summary["changed"]) == (2, 2, 1)
    (visit,) = [each for each in visits(again.folder, f"{HOST}/b") if each.state is ChangeState.CHANGED]
    assert (visit.kind, visit.statements) == (ChangeKind.CONTENT, (0, 0, 1))
    assert visit_in_words(visit) == "changed in its content; statements or rows: 1 changed"
    assert_whole(again.folder)
