"""What was captured, over HTTP: pages, objects, their versions, the course of a crawl, and SPARQL."""

import gzip
import json
import shutil
import sqlite3
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import pytest

from aahcrawler.layout import INDEXES, OBJECTS, PAGES
from aahcrawler.objects.capture_statements import PageRow
from aahcrawler.objects.reader import object_rows, page_rows
from aahcrawler.objects.writer import ObjectWriter
from aahcrawler.page_index import PageIndex
from aahcrawler.segments import Members
from aahcrawler.service.api.app import ServiceSettings
from aahcrawler.service.catalog.crawl_catalog import Catalog
from aahcrawler.service.views.page_indexes import PageIndexes
from aahcrawler.service.views.sparql_results import SparqlProcess
from aahcrawler.service.web.entrance import UNLIMITED
from benchmarks.cockpit_crawl import CRAWL, write_crawl
from benchmarks.cockpit_pages import Shape, invented
from tests.crawl.crawling import PATIENCE, aah, until
from tests.page_index.test_page_index import AT, HOSTILE, capture, post
from tests.service.asking import Reply, Service, begun, serving

SHAPE = Shape(240, 200)
ALL = [page for at in range(SHAPE.pages) if (page := invented(SHAPE, at))]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of two crawls of one definition."""
    folder = tmp_path_factory.mktemp("crawls") / "crawl"
    for number in (1, 2):
        write_crawl(folder, replace(SHAPE, crawl=number))
    return folder


@pytest.fixture(scope="module")
def service(made: Path) -> Iterator[Service]:
    """Serve it."""
    with serving(unhurried(made)) as found:
        wait_for_index(found)
        yield found


def wait_for_index(service: Service) -> None:
    """Wait until all that the folder of two crawls has is in its index."""
    until(lambda: bool(asked(service, "pages")["progress"]["complete"]))
    assert asked(service, "pages")["total"] == 2 * SHAPE.pages


def unhurried(*places: Path) -> ServiceSettings:
    """Return settings that allow as many requests as a test makes."""
    return ServiceSettings(Catalog(places), rates=UNLIMITED)


def asked(service: Service, path: str, crawl: str = CRAWL, **query: Any) -> Any:
    """Return what is answered, parsed."""
    reply = service.get(f"/v1/crawls/{crawl}/{path}?{urlencode(query)}")
    assert reply.status == 200, reply.body
    return reply.json


def problem(reply: Reply) -> tuple[int, str]:
    return reply.status, reply.json["type"].rpartition(":")[2]


def all_of(service: Service, path: str, name: str, **query: Any) -> list[Any]:
    """Return all items of a list, one page of it after another."""
    found: list[Any] = []
    answer = asked(service, path, limit=37, **query)
    while True:
        found += answer[name]
        if answer["next"] is None:
            return found
        answer = asked(service, path, limit=37, after=answer["next"], **query)


# Pages


def test_all_pages_are_listed_the_newest_first(service: Service, made: Path) -> None:
    found = all_of(service, "pages", "pages")
    assert sorted(each["record"] for each in found) == sorted(page.capture for page in page_rows(made))
    times = [datetime.fromisoformat(each["fetched_at"]) for each in found]
    assert times == sorted(times, reverse=True)
    answer = asked(service, "pages", limit=1)
    assert (answer["total"], answer["more"], answer["progress"]["note"]) == (2 * SHAPE.pages, False, "")


@pytest.mark.parametrize(
    "query",
    [
        {"application": "phpBB"},
        {"application": ""},
        {"level": "thread", "role": "terminal"},
        {"status": 4},
        {"relevant": "true"},
        {"relevant": "false", "number": 2},
        {"site": "varhaven3.example"},
        {"trap": "any"},
        {"trap": "near_duplicate"},
        {"text": "VIEWTOPIC.php?T=1"},
        {"text": ALL[7].title.upper()},
        {"text": "_"},
        {"text": "%"},
        {"text": "' OR 1=1 --"},
    ],
)
def test_pages_are_chosen(service: Service, made: Path, query: dict[str, Any]) -> None:
    wanted: dict[str, Callable[[PageRow], bool]] = {
        "application": lambda page: (page.application or "") == query["application"],
        "level": lambda page: page.level_name == query["level"],
        "role": lambda page: page.level == query["role"],
        "status": lambda page: page.status // 100 == query["status"],
        "relevant": lambda page: page.relevant is (query["relevant"] == "true"),
        "number": lambda page: page.crawl == query["number"],
        "site": lambda page: page.url.split("/")[2].endswith(query["site"]),
        "trap": lambda page: page.trap is not None and query["trap"] in ("any", page.trap),
        "text": lambda page: query["text"].lower() in f"{page.title or ''}\n{page.url}".lower(),
    }
    expected = {page.capture for page in page_rows(made) if all(wanted[name](page) for name in query)}
    found = all_of(service, "pages", "pages", **query)
    assert {each["record"] for each in found} == expected
    assert asked(service, "pages", **query)["total"] == len(expected)
    assert expected or query.get("text") in ("_", "%", "' OR 1=1 --")


def test_a_page_is_shown_with_all_that_is_kept_of_it(service: Service) -> None:
    page = next(page for page in ALL if page.refused and page.objects and not page.again)
    captures = asked(service, "captures", url=page.url)
    first = captures["captures"][-1]["record"]
    shown = asked(service, f"pages/{first}")
    assert shown["page"]["url"] == page.url
    assert [each["iri"] for each in shown["objects"]] == [each.iri for each in page.objects]
    judgement = shown["judgement"]
    assert {link["url"] for link in judgement["links"]} == set(page.links)
    assert {link["url"]: link["refused"] for link in judgement["links"] if link["refused"]} == {
        page.links[at]: reason for reason, places in page.refused.items() for at in places
    }
    by_url = {link["url"]: link for link in judgement["links"]}
    assert by_url[page.links[0]]["parts"]["text"] == page.scores[0].links[0]
    assert judgement["parts"]["text"] == round(page.score or 0, 4)
    assert judgement["weights"]["spam"] == 100
    assert [record["type"] for record in shown["records"]] == ["response", "request", "metadata"]
    assert shown["records"][0]["http"].startswith("HTTP/1.1 200")
    assert ["WARC-Target-URI", page.url] in shown["records"][0]["fields"]
    assert shown["all_statements"] == len(shown["statements"]) > 10
    assert shown["notes"] == []
    assert asked(service, f"pages/{first.removeprefix('urn:uuid:')}") == shown


def test_a_page_that_had_not_changed_names_the_capture_that_holds_its_objects(service: Service) -> None:
    unchanged = next(each for each in all_of(service, "pages", "pages", number=2) if each["unchanged"])
    shown = asked(service, f"pages/{unchanged['record']}")
    assert shown["holder"] == unchanged["unchanged"]
    assert shown["records"][0]["type"] == "revisit"
    assert shown["objects"] == []
    assert asked(service, f"pages/{shown['holder']}")["page"]["url"] == unchanged["url"]


def test_captures_of_a_url_are_compared(service: Service) -> None:
    url = edited(service)["iri"].partition("#")[0]
    captures = asked(service, "captures", url=url)
    assert captures["all_captures"] == len(captures["captures"]) > 1
    newest, oldest = captures["captures"][0]["record"], captures["captures"][-1]["record"]
    found = asked(service, "captures/difference", before=oldest, after=newest)["difference"]
    added = [piece["text"] for line in found["lines"] for piece in line["pieces"] if piece["kind"] == "added"]
    assert any("Correction:" in text for text in added)
    assert found["left_out"] > 0
    same = asked(service, "captures/difference", before=oldest, after=oldest)["difference"]
    assert same["lines"] == []


def edited(service: Service) -> dict[str, Any]:
    """Return an object that one capture has in other words than another."""
    found: list[dict[str, Any]] = asked(service, "objects", words="correction", limit=500)["objects"]
    return next(each for each in found if each["type"] == "post")


# Objects


def test_objects_are_listed_counted_and_chosen(service: Service, made: Path) -> None:
    stated = list(object_rows(made))
    found = all_of(service, "objects", "objects")
    assert {each["iri"] for each in found} == {each.iri for each in stated}
    assert len(found) == len(stated)
    replies = all_of(service, "objects", "objects", type="reply", lacking="author")
    assert {each["iri"] for each in replies} == {o.iri for o in stated if o.type == "reply" and o.author is None}
    counts = {each["type"]: each for each in asked(service, "objects/counts")["types"]}
    assert counts["reply"]["objects"] - counts["reply"]["author"] == len(replies)
    assert asked(service, "objects", type="reply")["total"] == counts["reply"]["objects"]


def test_objects_are_found_by_their_words(service: Service, made: Path) -> None:
    stated = [
        each for each in object_rows(made) if each.type == "reply" and "storm surge" in (each.body or "")[:400].lower()
    ]
    found = all_of(service, "objects", "objects", type="reply", words='"storm surge"')
    assert {each["iri"] for each in found} >= {each.iri for each in stated}
    assert all("storm surge" in f"{each['title']} {each['excerpt']}".lower() for each in found)
    assert found
    assert asked(service, "objects", words="post")["total"] == 0  # A type is no word of an object.


def test_the_versions_of_an_object_are_told_apart(service: Service) -> None:
    edited = next(
        each for each in asked(service, "objects", limit=500)["objects"] if "Correction" in (each["excerpt"] or "")
    )
    history = asked(service, "objects/versions", iri=edited["iri"])
    assert history["object"] == edited
    newest, *_, oldest = history["versions"]
    assert history["all_versions"] == len(history["versions"])
    (change,) = newest["changes"]
    assert change["field"] == "body"
    assert [piece["kind"] for piece in change["pieces"]] == ["same", "added"]
    assert change["pieces"][1]["text"].startswith("Correction:")
    assert oldest["changes"] == []


# The course of a crawl


def test_the_course_and_the_counts_of_a_crawl_are_told(service: Service, made: Path) -> None:
    pages = {page.url: page for page in page_rows(made, 1) if page.is_page}.values()
    course = asked(service, "series", number=1)["points"]
    assert len(course) <= 400
    assert course[-1]["pages"] == len(pages)
    assert course[-1]["relevant"] == sum(bool(page.relevant) for page in pages)
    assert course[-1]["relevance"] == pytest.approx(sum(page.score or 0 for page in pages), abs=0.01)
    assert course[0]["seconds"] >= 0
    assert asked(service, "series")["crawl"] == 2
    counts = asked(service, "counts", number=1)
    assert counts["pages"] == len(pages)
    assert sum(level["pages"] for level in counts["levels"]) == len(pages)
    assert counts["statuses"]["404"] == sum(page.status == 404 for page in page_rows(made, 1))
    assert asked(service, "counts")["captures"] == 2 * SHAPE.pages


# Faults


@pytest.mark.parametrize(
    ("path", "status", "kind"),
    [
        ("pages?after=1", 400, "invalid-cursor"),
        ("pages?after=" + "9" * 19 + "." + "9" * 19, 400, "invalid-cursor"),
        ("pages?limit=100000", 400, "invalid-request"),
        ("pages?limit=0", 400, "invalid-request"),
        ("pages?status=9", 400, "invalid-request"),
        ("pages?text=" + "x" * 501, 400, "invalid-request"),
        ("pages/none", 404, "unknown-capture"),
        ("pages/..%2f..%2fetc", 404, "not-found"),
        ("pages/%3Cscript%3E", 400, "invalid-request"),
        ("captures/difference?before=x&after=y", 404, "unknown-capture"),
        ("objects?words=-a", 400, "invalid-search"),
        ("objects?words=%00", 400, "invalid-search"),
        ("objects?lacking=iri", 400, "invalid-request"),
        ("objects/versions?iri=urn:none", 404, "unknown-object"),
        ("sparql?query=ASK%7B%7D", 409, "not-loaded"),
    ],
)
def test_what_cannot_be_asked_is_a_problem(service: Service, path: str, status: int, kind: str) -> None:
    assert problem(service.get(f"/v1/crawls/{CRAWL}/{path}")) == (status, kind)


@pytest.mark.parametrize(
    "words", ['"', "AND", "type:post", "{title}: x", "a*b", "NEAR(a b)", "\x00", "(((", "ö " * 200]
)
def test_whatever_is_looked_for_breaks_nothing(service: Service, words: str) -> None:
    assert service.get(f"/v1/crawls/{CRAWL}/objects?words={quote(words)}").status in (200, 400)


def test_a_crawl_that_has_just_begun_has_no_pages(tmp_path: Path) -> None:
    begun(tmp_path)
    with serving(unhurried(tmp_path)) as service:
        assert asked(service, "pages", "test")["pages"] == []
        assert asked(service, "series", "test")["points"] == []
        assert asked(service, "objects/counts", "test")["types"] == []


def test_what_a_running_crawl_writes_is_seen_at_the_next_look(tmp_path: Path) -> None:
    begun(tmp_path)
    with serving(unhurried(tmp_path)) as service, ObjectWriter(tmp_path / OBJECTS, "test", lambda: AT) as writer:
        for number in range(20):
            writer.write(capture(number), [post(number, body=f"Number {number}")])
            until(lambda number=number: asked(service, "pages", "test")["total"] == number + 1)  # type: ignore[misc]
        assert asked(service, "objects", "test", words="number 7")["total"] == 1


def test_hostile_texts_arrive_as_they_are_in_objects_and_without_control_characters_in_records(tmp_path: Path) -> None:
    begun(tmp_path)
    with ObjectWriter(tmp_path / OBJECTS, "test", lambda: AT) as writer:
        writer.write(capture(1), [post(1, title=HOSTILE, body=HOSTILE)])
    with serving(unhurried(tmp_path)) as service:
        (found,) = asked(service, "objects", "test")["objects"]
        assert (found["title"], found["excerpt"]) == (HOSTILE, HOSTILE)
        shown = asked(service, f"pages/{capture(1).iri}", "test")
        assert shown["records"] == []
        assert shown["judgement"] is None
        assert "archive" in shown["notes"][0]
        assert not any(sign in each["object"] for each in shown["statements"] for sign in "\x0b\x1b\x85")


def test_what_a_takedown_removed_is_not_shown_any_more(made: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(made, tmp_path / "crawl")
    with serving(unhurried(folder)) as service:
        wait_for_index(service)
        first = asked(service, "pages", relevant="true", application="phpBB")["pages"][-1]
        words = asked(service, f"pages/{first['record']}")["objects"]
        for path in (folder / OBJECTS).iterdir():
            rewritten(path, first["url"].encode())
        assert problem(service.get(f"/v1/crawls/{CRAWL}/pages/{first['record']}")) == (404, "unknown-capture")
        assert asked(service, "captures", url=first["url"])["all_captures"] == 0
        for each in words:
            assert problem(service.get(f"/v1/crawls/{CRAWL}/objects/versions?iri={quote(each['iri'])}"))[0] == 404


def rewritten(path: Path, gone: bytes) -> None:
    """Take captures out of a segment as a takedown does: into a new file, in the place of the old one."""
    left = []
    with path.open("rb") as file:
        members = Members(file)
        while text := members.member():
            if gone not in text:
                left.append(gzip.compress(text))
    part = path.with_name("part")
    part.write_bytes(b"".join(left))
    part.replace(path)


def test_a_takedown_leaves_no_index_with_what_it_removed(made: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(made, tmp_path / "crawl")
    with serving(unhurried(folder)) as service:
        wait_for_index(service)
        url = asked(service, "pages", relevant="true")["pages"][-1]["url"]
        assert service.ask("POST", f"/v1/crawls/{CRAWL}/sparql/load").status < 300
        until(lambda: asked(service, "sparql/store")["loaded"] and not asked(service, "sparql/store")["loading"])
    assert (folder / INDEXES / PAGES).exists()
    removed = aah("remove", folder, "--url", url, "--reason", "asked for", "--by", "test")
    assert removed.code == 0, removed.err + removed.out
    assert not (folder / INDEXES / PAGES).exists()
    with serving(unhurried(folder)) as service:
        query = quote("SELECT * { GRAPH ?g { ?s ?p ?o } }")
        assert service.get(f"/v1/crawls/{CRAWL}/sparql?query={query}").status == 409, "until it is loaded anew"


def test_an_index_that_is_damaged_meanwhile_is_made_anew(made: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(made, tmp_path / "crawl")
    with serving(unhurried(folder)) as service:
        wait_for_index(service)
        with (folder / INDEXES / PAGES).open("r+b") as file:
            file.write(b"\xff" * 100_000)
        until(lambda: service.get(f"/v1/crawls/{CRAWL}/pages").status == 200)
        wait_for_index(service)


def test_an_index_that_another_version_made_is_made_anew(made: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(made, tmp_path / "crawl")
    (folder / INDEXES / PAGES).unlink(missing_ok=True)
    with sqlite3.connect(folder / INDEXES / PAGES) as base:
        base.executescript("CREATE TABLE segment (id INTEGER); PRAGMA user_version = 1;")
    base.close()
    with serving(unhurried(folder)) as service:
        wait_for_index(service)


def test_many_may_ask_while_the_index_is_made(made: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(made, tmp_path / "crawl")
    statuses: list[int] = []
    with serving(unhurried(folder)) as service:

        def ask() -> None:
            statuses.extend(service.get(f"/v1/crawls/{CRAWL}/pages").status for _ in range(5))

        threads = [threading.Thread(target=ask) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(PATIENCE)
        assert set(statuses) == {200}
        wait_for_index(service)


def test_a_folder_where_nothing_can_be_written_is_shown_too(made: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(made, tmp_path / "crawl")
    shutil.rmtree(folder / INDEXES)
    (folder / INDEXES).write_text("A file where the folder would be.")
    with serving(unhurried(folder)) as service:
        wait_for_index(service)
        record = asked(service, "pages")["pages"][0]["record"]
        assert asked(service, f"pages/{record}")["records"] == []


# SPARQL


def test_a_crawl_is_loaded_and_asked_in_sparql(made: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(made, tmp_path / "crawl")
    with serving(unhurried(folder)) as service:
        assert asked(service, "sparql/store") == {"loaded": False, "loading": False, "said": ""}
        assert service.ask("POST", f"/v1/crawls/{CRAWL}/sparql/load").status == 202
        until(lambda: not asked(service, "sparql/store")["loading"])
        assert asked(service, "sparql/store")["loaded"]
        wait_for_index(service)
        query = "SELECT (COUNT(DISTINCT ?o) AS ?n) { GRAPH ?c { ?o aah:objectType 'comment' } }"
        counts = {each["type"]: each["objects"] for each in asked(service, "objects/counts")["types"]}
        found = asked(service, "sparql", query=query)["results"]["bindings"]
        assert int(found[0]["n"]["value"]) == counts["comment"]
        posted = service.ask(
            "POST", f"/v1/crawls/{CRAWL}/sparql", query.encode(), Content_Type="application/sparql-query"
        )
        assert posted.json["results"]["bindings"] == found
        assert posted.headers["content-type"] == "application/sparql-results+json"
        for refused in (
            "SELECT * { SERVICE <http://127.0.0.1:1/> { ?s ?p ?o } }",
            "SELECT * { service SILENT <http://127.0.0.1:1/> { ?s ?p ?o } }",
            "INSERT DATA { <urn:a> <urn:b> 1 }",
            "CONSTRUCT WHERE { ?s ?p ?o }",
            "SELECT",
        ):
            reply = service.get(f"/v1/crawls/{CRAWL}/sparql?query={quote(refused)}")
            assert problem(reply) == (400, "invalid-sparql"), refused


def test_a_query_that_takes_too_much_is_ended(made: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(made, tmp_path / "crawl")
    assert aah("load", folder).code == 0
    crawl = Catalog([folder]).crawl(CRAWL)
    assert crawl is not None
    answers = SparqlProcess(seconds=3, rows=100)
    try:
        slow = "SELECT (COUNT(*) AS ?n) { GRAPH ?a { ?s ?p ?o } GRAPH ?b { ?t ?q ?r } GRAPH ?c { ?u ?v ?w } }"
        with pytest.raises(Exception, match="ended after 3 s"):
            answers.ask(crawl, slow)
    finally:
        answers.close()
    answers = SparqlProcess(seconds=PATIENCE, rows=100)
    try:
        with pytest.raises(Exception, match="more than 100 rows"):
            answers.ask(crawl, "SELECT * { GRAPH ?a { ?s ?p ?o } }")
        assert json.loads(answers.ask(crawl, "ASK { GRAPH ?a { ?s ?p ?o } }"))["boolean"]
    finally:
        answers.close()


@pytest.mark.slow
def test_what_was_opened_is_let_go(made: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(made, tmp_path / "crawl")
    crawl = Catalog([folder]).crawl(CRAWL)
    assert crawl is not None
    indexes = PageIndexes()
    with indexes.asked(crawl) as found:
        assert found.progress.indexed <= 2 * SHAPE.pages
    indexes.close()
    assert not any(thread.name == "page index" for thread in threading.enumerate())
    PageIndex(folder).remove()
