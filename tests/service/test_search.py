"""The search over HTTP: what the JSON interface answers, what the client returns, and what the cockpit's page shows."""

import csv
import io
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from html import unescape
from pathlib import Path
from urllib.parse import urlencode

import pyarrow.parquet as pq
import pytest
from warcio.archiveiterator import ArchiveIterator

from aahcrawler.crawl_collections import Collection, CollectionFile
from aahcrawler.service.api.app import ServiceSettings
from aahcrawler.service.catalog.crawl_catalog import Catalog, Crawl
from aahcrawler.service.cockpit.site import COOKIE
from aahcrawler.service.views.search_results import SearchableCrawls, SearchIndexes
from aahcrawler.service.web.entrance import UNLIMITED
from aahcrawler.service_client import ServiceClient, ServiceError
from benchmarks.cockpit_crawl import CRAWL, write_crawl
from benchmarks.cockpit_pages import Shape
from tests.cockpit.cockpit_browser import READER, Cockpit
from tests.cockpit.cockpit_browser import serving as serving_cockpit
from tests.crawl.crawling import until
from tests.search.archives import post, running
from tests.service.asking import Service, serving


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("crawls")
    write_crawl(place / "crawl", Shape(30, 30))
    return place


@pytest.fixture(scope="module")
def service(place: Path) -> Iterator[Service]:
    with serving(ServiceSettings(Catalog([place]), rates=UNLIMITED)) as found:
        until(lambda: not found.get("/v1/search").json["notes"])
        yield found


@pytest.fixture(scope="module")
def cockpit(place: Path) -> Iterator[tuple[Cockpit, str]]:
    with serving_cockpit(place) as found:
        cookie = f"{COOKIE}={found.entered(READER)}"
        until(lambda: b"not indexed yet" not in found.ask("GET", "/search", Cookie=cookie).body)
        until(lambda: b"is being indexed" not in found.ask("GET", "/search", Cookie=cookie).body)
        yield found, cookie


def page(cockpit: tuple[Cockpit, str], path: str = "", **asked: object) -> str:
    """Return the search page, or a table."""
    answer = cockpit[0].ask("GET", f"/search{path}?{urlencode(asked, doseq=True)}", Cookie=cockpit[1])
    assert answer.status == 200, answer.body
    return answer.body.decode()


def test_results_come_with_counts_and_can_be_narrowed_and_gone_through(service: Service) -> None:
    client = ServiceClient(f"http://127.0.0.1:{service.port}")
    whole = client.search("mayor", kind="object")
    assert whole["total"] >= len(whole["results"]) > 0
    first = whole["results"][0]
    assert first["crawl"] == CRAWL
    marked = [piece["text"].lower() for each in whole["results"] for piece in each["snippet"] if piece["marked"]]
    assert set(marked) == {"mayor"}
    kinds = {each["value"]: each["count"] for each in whole["facets"]["type"]}
    assert sum(kinds.values()) == whole["total"]
    for kind, count in kinds.items():
        assert client.search("mayor", kind="object", type=kind, facets=False)["total"] == count
    gone_through = [
        each["url"]
        for offset in range(0, whole["total"], 7)
        for each in client.search("mayor", kind="object", limit=7, offset=offset, folded=False)["results"]
    ]
    assert len(gone_through) == len(set(gone_through)) == whole["total"]


def test_what_cannot_be_asked_is_told(service: Service) -> None:
    client = ServiceClient(f"http://127.0.0.1:{service.port}")
    with pytest.raises(ServiceError, match="character 7") as raised:
        client.search('mayor "torn')
    assert raised.value.kind == "invalid-search"
    with pytest.raises(ServiceError, match="no date"):
        client.search(since="yesterday")
    with pytest.raises(ServiceError) as raised:
        client.search(crawl="none")
    assert raised.value.status == 404


def test_what_a_crawl_adds_is_found_while_the_service_runs(place: Path, service: Service) -> None:
    with running(place / "crawl") as crawl:
        crawl.page("new", "An unheard-of word: xylotymbou.", [post("new", "Xylotymbou, too.")])
        until(lambda: service.get("/v1/search?q=xylotymbou").json["total"] == 2)


def test_the_page_shows_results_that_lead_to_their_captures(cockpit: tuple[Cockpit, str]) -> None:
    shown = page(cockpit, q="mayor", kind="object")
    leads = unescape(re.findall(r'<h3><a href="([^"]+)"', shown)[0])
    assert "<mark>mayor</mark>" in shown.lower()
    assert f"/crawls/{CRAWL}/captures/" in leads
    until(lambda: cockpit[0].ask("GET", leads, Cookie=cockpit[1]).status == 200)
    capture = cockpit[0].ask("GET", leads, Cookie=cockpit[1]).body.decode()
    assert "Found on it" in capture
    assert "<mark>mayor</mark>" in capture.lower()
    assert 'aria-current="true">Words marked</a>' in capture


def test_the_archived_page_of_a_result_is_shown_beside_the_results(cockpit: tuple[Cockpit, str]) -> None:
    shown = page(cockpit, q="mayor", kind="object")
    leads = unescape(re.findall(r'<a href="([^"]+)">Page beside', shown)[1])
    assert "beside=2#beside" in leads

    def beside() -> str:
        return cockpit[0].ask("GET", leads.partition("#")[0], Cookie=cockpit[1]).body.decode()

    until(lambda: "cannot be shown beside" not in beside())
    shown = beside()
    assert shown.count("Page beside") == len(re.findall("<li><article>", shown)) - 1
    assert '<iframe class="replay"' in shown
    capture = unescape(re.findall(r'<a class="button small" href="([^"]+)">All about it', shown)[0])
    assert f"{capture.partition('?')[0]}/text.txt" in unescape(shown)
    assert "mailto:?subject=" in shown
    closed = unescape(re.findall(r'<a class="button small" href="([^"]+)">Close', shown)[0])
    assert "beside=" not in closed
    assert "kind=object" in closed


def test_nobody_is_said_to_have_written_a_word_while_not_all_is_indexed(
    cockpit: tuple[Cockpit, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "Nobody wrote xyzzyplugh; words" in page(cockpit, q="xyzzyplugh")
    whole = SearchIndexes.opened

    def opened(indexes: SearchIndexes, crawls: Iterable[Crawl]) -> SearchableCrawls:
        return replace(whole(indexes, crawls), notes=("crawl is being indexed; 5 % is found so far.",))

    monkeypatch.setattr(SearchIndexes, "opened", opened)
    shown = page(cockpit, q="xyzzyplugh")
    assert "Nobody wrote" not in shown
    assert "Not all is indexed yet, and nothing so far has xyzzyplugh; words" in shown


def test_each_result_leads_to_more_like_it(cockpit: tuple[Cockpit, str], service: Service) -> None:
    shown = page(cockpit, q="mayor", kind="object")
    leads = unescape(re.findall(r'<a href="([^"]+)">More like this', shown)[0])
    answer = cockpit[0].ask("GET", leads, Cookie=cockpit[1]).body.decode()
    assert "compared by the terms of their texts" in answer
    assert re.search(r">[\d,]+ found<", answer)
    iri = service.get("/v1/search?q=mayor&kind=object").json["results"][0]["iri"]
    told = service.get(f"/v1/search?{urlencode({'like': iri})}").json
    assert told["like_by"] == "terms"
    assert iri not in [each["iri"] for each in told["results"]]
    assert service.get("/v1/search?like=http://nobody.test/").status == 404
    assert "othing that is archived has the URL" in page(cockpit, like="http://nobody.test/")


def test_each_facet_and_bar_of_the_page_leads_to_as_many_results_as_it_says(cockpit: tuple[Cockpit, str]) -> None:
    shown = page(cockpit, q="mayor")
    facets = re.findall(r'<li><a href="([^"]+)"[^>]*><bdi>[^<]*</bdi></a> <span class="why">([\d,]+)', shown)
    bars = re.findall(r'<a href="([^"]+)" aria-label="[^"]*: ([\d,]+)"', shown)
    assert len(facets) > 5
    assert len(bars) > 1
    for leads, count in (*facets[:6], *(bar for bar in bars if bar[1] != "0")):
        answer = cockpit[0].ask("GET", unescape(leads), Cookie=cockpit[1]).body.decode()
        assert f">{count} found<" in answer, leads


def test_an_address_is_asked_for_in_the_archive(cockpit: tuple[Cockpit, str]) -> None:
    url = json.loads(page(cockpit, "/results.jsonl", q="mayor", kind="page").splitlines()[0])["url"]
    assert "Yes, 1 capture" in page(cockpit, q=url)
    assert "No crawl here has a capture" in page(cockpit, q=f"{url}/none")


def test_a_collection_leads_to_the_search_of_its_crawls(cockpit: tuple[Cockpit, str], place: Path) -> None:
    CollectionFile(place / "floods").create(Collection(title="Floods", crawls=("crawl",)))
    shown = cockpit[0].ask("GET", "/collections/floods", Cookie=cockpit[1]).body.decode()
    (leads,) = re.findall(r'href="(/search[^"]+)">Search in it', shown)
    assert "Narrowed to" in cockpit[0].ask("GET", unescape(leads), Cookie=cockpit[1]).body.decode()


def test_what_was_found_can_be_had_as_records_and_as_parquet(cockpit: tuple[Cockpit, str]) -> None:
    told = [json.loads(line) for line in page(cockpit, "/results.jsonl", q="mayor", type="post").splitlines()]
    asked = f"?{urlencode({'q': 'mayor', 'type': 'post'})}"
    taken = cockpit[0].ask("GET", f"/search/results.warc.gz{asked}", Cookie=cockpit[1])
    assert taken.headers["content-type"] == "application/warc"
    records = [each.rec_headers.get_header("WARC-Record-ID") for each in ArchiveIterator(io.BytesIO(taken.body))]
    assert {f"<{row['record']}>" for row in told} <= {*records}
    rows = cockpit[0].ask("GET", f"/search/results.parquet{asked}", Cookie=cockpit[1]).body
    assert pq.read_table(io.BytesIO(rows)).to_pylist() == told


def test_what_was_found_can_be_had_as_a_table(cockpit: tuple[Cockpit, str]) -> None:
    rows = [*csv.DictReader(io.StringIO(page(cockpit, "/results.csv", q="mayor", type="post"), newline=""))]
    assert rows
    assert {row["type"] for row in rows} == {"post"}
    assert len(page(cockpit, "/results.jsonl", q="mayor", type="post").splitlines()) == len(rows)


def test_a_query_that_cannot_be_read_stays_in_the_box_with_its_mistake(cockpit: tuple[Cockpit, str]) -> None:
    shown = page(cockpit, q='mayor "<script>')
    assert "quotation mark is not closed" in shown
    assert "&lt;script&gt;" in shown
    assert "<script>" not in shown.partition("<main")[2]
