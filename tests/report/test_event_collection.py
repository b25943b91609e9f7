"""What a crawl collected for its subject; every number is computed once more from the files of the folder."""

import gzip
import json
import re
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pyoxigraph as ox
import pytest
from warcio.archiveiterator import ArchiveIterator

from aahcrawler.annotations.judgements import MemberAnswer, decide_membership
from aahcrawler.definitions import read_definition
from aahcrawler.objects.capture_statements import PageRow
from aahcrawler.overview.overview_report import report_archives
from aahcrawler.refusals import failures
from aahcrawler.report import write_report
from aahcrawler.report.event_collection import LIVE, EventCollection, compare, event_collection, sections
from aahcrawler.report.report_page import read_collection
from aahcrawler.service.catalog.crawl_catalog import Admission, Crawl
from aahcrawler.service.views.collected_view import collected, graphml
from tests.crawl.world import crawl
from tests.report.test_report_page import page
from tests.sources.dated import Dated, write_archive
from tests.sources.dated import page as body


def taken(second: int, archive: str, **changes: object) -> PageRow:
    return page(second, archive=archive, memento=f"urn:uuid:{second}", **changes)


def made() -> list[PageRow]:
    """Return a seed, two pages of it and one of those, of two archives, and one page of its site."""
    return [
        taken(1, "One", depth=0, score=0.9, obtained_at="2026-02-01T00:00:04+00:00"),
        taken(2, "Two", depth=1, score=0.7, via="http://a.test/1", obtained_at="2026-02-01T00:00:01+00:00"),
        taken(
            3, "One", depth=1, score=0.2, relevant=False, via="http://a.test/1", obtained_at="2026-02-01T00:00:02+00:00"
        ),
        page(4, depth=2, score=0.6, via="http://a.test/2", obtained_at=None, fetched_at="2026-02-01T00:00:03+00:00"),
        taken(5, "One", status=404, depth=1, score=None, relevant=None, obtained_at="2026-02-01T00:00:05+00:00"),
    ]


def test_relevance_depths_and_shares() -> None:
    found = event_collection(made(), ["http://a.test/m0", "http://a.test/m1"], 12)
    assert [row.url[-1] for row in found.pages] == ["2", "3", "4", "1"], "in the order in which they were got"
    assert found.accumulated == pytest.approx(2.4)
    assert [(each.depth, each.pages, each.relevant) for each in found.depths] == [(0, 1, 1), (1, 2, 1), (2, 1, 1)]
    assert {each.archive: (each.pages, each.relevant) for each in found.contributions} == {
        "One": (2, 1),
        "Two": (1, 1),
        LIVE: (1, 1),
    }
    assert sum(each.share for each in found.contributions) == pytest.approx(1)
    assert found.retrieval_rate == pytest.approx(3 / 5)
    assert found.requests_per_relevant == 4
    assert [row.url[-1] for row in found.chain] == ["1", "2", "4"]


def test_a_crawl_of_nothing_has_no_rates() -> None:
    found = event_collection((), (), 0)
    assert (found.retrieval_rate, found.requests_per_relevant, found.chain, found.contributions) == (None, None, (), ())
    assert not list(sections(found))


def test_a_chain_that_turns_back_ends() -> None:
    rows = [page(1, depth=1, via="http://a.test/2"), page(2, depth=2, via="http://a.test/1")]
    assert len(event_collection(rows, (), 0).chain) == 2


def test_a_collection_beside_a_list_of_seeds() -> None:
    found = event_collection(made(), (), 0)
    beside = compare(found, ["HTTP://a.test:80/1", "https://www.a.test/3", "http://b.test/", "http://b.test/"])
    assert (beside.curated, beside.common, beside.relevant) == (3, 2, 1)
    assert beside.slope == pytest.approx(0.6)
    assert beside.common_slope == pytest.approx(0.55)
    assert compare(found, ["http://b.test/"]).common_slope is None


def test_what_pages_say_is_escaped() -> None:
    rows = [taken(n, "<script>", title="<script>", depth=n, via=f"http://a.test/{n - 1}") for n in (1, 2)]
    shown = "".join(html for _, html in sections(event_collection(rows, (), 0)))
    assert "<script>" not in shown
    assert "&lt;script&gt;" in shown


def test_every_number_of_a_collection_follows_from_the_files(tmp_path: Path) -> None:
    home = "http://dikes.test/"
    first = [
        Dated(home, "2013-06-05T10:00:00Z", body("Flood", "/levels", "/choir", "/lost", "/gone")),
        Dated(f"{home}gone", "2013-06-06T00:00:00Z", body("Gone"), "404 Not Found"),
        Dated(
            f"{home}choir",
            "2013-06-07T00:00:00Z",
            body("Choir", text="The choir sings in the evening, and a dog barks."),
        ),
    ]
    second = [
        Dated(f"{home}levels", "2013-06-09T00:00:00Z", body("Levels of the river flood", "/rain")),
        Dated(f"{home}rain", "2013-06-10T00:00:00Z", body("Rain and flood of the river")),
    ]
    named = [
        {"name": name, "archive": str(write_archive(tmp_path / f"{name}.warc.gz", captures))}
        for name, captures in (("north", first), ("south", second))
    ]
    topic = {"keywords": ["flood", "river", "harbour", "dike", "storm surge"]}
    crawled = crawl(tmp_path / "c", [home], captures={"sources": named}, topic=topic, scoring={"relevant": 0.2})
    assert crawled.ended.code == 0, crawled.ended.err
    folder = crawled.folder
    found = read_collection(folder)
    rows = of_triples(folder)
    pages = [row for row in rows if int(row["status"]) < 300]
    assert len(found.pages) == len(pages) == 4
    assert found.accumulated == pytest.approx(sum(float(row["score"]) for row in pages))
    relevant = [row for row in pages if row["relevant"] == "true"]
    assert 0 < len(relevant) < len(pages), "some are relevant, some are not"
    depths = Counter(int(row["depth"]) for row in pages)
    members = Counter(int(row["depth"]) for row in relevant)
    assert [(each.depth, each.pages, each.relevant) for each in found.depths] == [
        (depth, depths[depth], members[depth]) for depth in sorted(depths)
    ]
    assert max(depths) == 2
    archives = Counter(row["archive"] for row in relevant)
    assert {each.archive: each.relevant for each in found.contributions if each.relevant} == archives
    assert sum(each.share for each in found.contributions) == pytest.approx(1)
    missing = {each.failed for each in failures(folder / "refused", 1) if each.reason == "no capture"}
    assert set(found.missing) == missing == {f"{home}lost", f"{home}gone"}
    written = responses(folder)
    had = sum(status < 400 for status in written)
    assert found.retrieval_rate == pytest.approx(had / (had + len(missing)))
    chain = [row.url for row in found.chain]
    via = {row["url"]: row["via"] for row in rows}
    assert all(via[later] == earlier for earlier, later in pairwise(chain))
    check_the_cockpit(folder, found, pages, relevant)
    shown = write_report(folder, [f"{home}levels", "http://elsewhere.test/"]).read_text("utf-8")
    assert re.search(r"Share of URLs that archives had</th><td>66.7 %", shown)
    assert "URLs of the list" in shown
    assert "depth 2: 1 of 1 relevant" in shown
    assert json.loads((folder / "crawl.json").read_text("utf-8"))["from_sources"] == len(written)
    decide_membership(folder, [found.relevant[0].url], MemberAnswer.NOT_MEMBER, "anna", "another flood")
    assert read_collection(folder).relevant == found.relevant[1:]
    assert read_collection(folder).accumulated == found.accumulated


def check_the_cockpit(
    folder: Path, found: EventCollection, pages: list[dict[str, str]], relevant: list[dict[str, str]]
) -> None:
    """Check what the page of the collection, its files and the table of events say, by what the triples say."""
    icd = read_definition(folder / "icd.json")
    told = collected(Crawl(folder, icd, Admission(icd), 1), found, lambda row: f"/captures/{row.capture}")
    days = sorted(row["generatedAtTime"][:10] for row in relevant)
    assert (told.line.pages, told.line.relevant, told.line.archives) == (len(pages), len(relevant), 2)
    assert (told.line.first, told.line.last) == (days[0], days[-1])
    assert told.accumulated == pytest.approx(sum(float(row["score"]) for row in pages))
    scores = {row["url"]: float(row["score"]) for row in relevant}
    assert {row.url for row in told.best} == scores.keys()
    assert [scores[row.url] for row in told.best] == sorted(scores.values(), reverse=True)
    assert told.missing == found.missing
    assert dict(told.figures)["Share of URLs that archives had"] == "66.7 %"
    head, *rows = map(list, found.table())
    listed = [dict(zip(map(str, head), row, strict=True)) for row in rows]
    assert {row["url"]: row["score"] for row in listed} == {row["url"]: float(row["score"]) for row in pages}
    import networkx as nx  # It takes long.

    graph = nx.parse_graphml(graphml(found).decode())
    assert set(graph) == {row["url"] for row in pages}
    assert set(graph.edges()) == {(row["via"], row["url"]) for row in pages if row["via"]}
    assert {name for name, said in graph.nodes(data=True) if said["relevant"]} == {row["url"] for row in relevant}
    written = report_archives([folder], folder / "archive.html", None).page.read_text("utf-8")
    assert "Collections about events" in written
    assert "66.7 %" in written


def of_triples(folder: Path) -> list[dict[str, str]]:
    """Return what the triples of the folder say of each capture."""
    store = ox.Store()
    for path in (folder / "objects").glob("*.nq.gz"):
        store.bulk_load(gzip.decompress(path.read_bytes()), format=ox.RdfFormat.N_QUADS)
    names = ("url", "status", "score", "relevant", "depth", "via", "archive", "generatedAtTime")
    found = []
    for graph in store.named_graphs():
        quads = store.quads_for_pattern(graph, None, None, graph)
        said = {re.split("[:/#]", quad.predicate.value)[-1]: str(getattr(quad.object, "value", "")) for quad in quads}
        found.append({name: said.get(name, "") for name in names})
    return found


def responses(folder: Path) -> list[int]:
    """Return the status of each response in the WARC files of the folder."""
    found = []
    for path in (folder / "archive").glob("*.warc.gz"):
        with path.open("rb") as file:
            responses = (each for each in ArchiveIterator(file) if each.rec_type == "response")
            found += [int(each.http_headers.get_statuscode()) for each in responses]
    return found
