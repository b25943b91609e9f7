"""A specification comes in by JSON, a collection comes out of archives; what is excluded stays out."""

import csv
import gzip
import io
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from typer.testing import CliRunner
from warcio.archiveiterator import ArchiveIterator

from aahcrawler.cli import app
from aahcrawler.service.api.app import ServiceSettings
from aahcrawler.service.catalog.crawl_catalog import Catalog
from aahcrawler.service.steering import packaging
from aahcrawler.service.web.entrance import UNLIMITED
from aahcrawler.service.web.roles import read_tokens
from aahcrawler.service_client import ServiceClient, ServiceError
from tests.crawl.crawling import until
from tests.service.asking import JSON, Reply, Service, serving
from tests.service.forked_crawls import crawls_forked
from tests.sources.dated import Dated, page, write_archive

HOME = "http://dikes.test/"
BOTH, READER, BLIND = "token-of-an-operator", "token-of-a-reader--", "token-of-a-blind-one"
EXCLUDED = "host:withheld.test\n*/private/*\n"
CAPTURES: Mapping[str, str] = {
    HOME: page("Flood", "/levels", "/cakes", "/private/1", "http://withheld.test/", "/gone"),
    f"{HOME}levels": page("Levels of the river"),
    f"{HOME}cakes": page("Cakes", text="Butter and sugar make a cake that is sweet. " * 9),
    f"{HOME}private/1": page("A private diary of the flood"),
    "http://withheld.test/": page("Withheld"),
}
DEFINITION: Mapping[str, Any] = {
    "title": "The flood",
    "contact": "a@example.org",
    "seeds": [HOME],
    "topic": {"documents": ["report.txt"], "keywords": ["dike"]},
    "event": {"start": "2013-06-01", "end": "2013-06-30", "cool_down": "4 weeks"},
    "scope": {"sites": "anywhere"},
    "captures": {"sources": [{"archive": "news"}]},
    "scoring": {"relevant": 0.3, "relevance": {"combination": "gated"}},
    "traps": {"soft_404": "ignore"},
}
TEXTS = {"report.txt": "The storm surge of the river has flooded the harbour, and the dike breaks."}


@dataclass(frozen=True, slots=True)
class World:
    """A service with an imported archive."""

    place: Path
    service: Service

    def ask(self, method: str, path: str, said: object = None, token: str = BOTH) -> Reply:
        body = None if said is None else json.dumps(said).encode()
        headers = {"Content_Type": JSON, "Authorization": f"Bearer {token}"}
        return self.service.ask(method, f"/v1/specifications{path}", body, **headers)

    def mistakes(self, reply: Reply) -> dict[str, str]:
        assert reply.status == 422, reply.body
        return {each["field"]: each["problem"] for each in reply.json["mistakes"]}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    root = tmp_path_factory.mktemp("specified")
    place = root / "crawls"
    place.mkdir()
    (place / "exclusions.txt").write_text(EXCLUDED)
    archive = write_archive(
        root / "old.warc.gz", [Dated(url, "2013-06-05T10:00:00Z", body) for url, body in CAPTURES.items()]
    )
    assert CliRunner().invoke(app, ["import", str(archive), str(place / "news")]).exit_code == 0
    tokens = root / "tokens"
    tokens.write_text(f"both read,operate {BOTH}\nreader read {READER}\nblind operate {BLIND}\n")
    tokens.chmod(0o600)
    settings = ServiceSettings(Catalog([place]), tokens=read_tokens("", tokens), rates=UNLIMITED)
    with crawls_forked(), serving(settings) as service:
        yield World(place, service)


def spec(**changes: object) -> dict[str, Any]:
    return {"definition": {**DEFINITION, **changes}, "texts": TEXTS}


def test_mistakes_are_told_by_their_fields(world: World) -> None:
    wrong = spec(
        event={"start": "2013-06-30", "end": "2013-06-01"},
        topic={"documents": ["nowhere.txt"], "keywords": ["dike"]},
        scoring={"relevant": 2, "relevence": {}},
    )
    found = world.mistakes(world.ask("POST", "/flood/check", wrong))
    assert set(found) == {"event.end", "topic.documents[0]", "scoring.relevant", "scoring.relevence"}
    assert world.ask("PUT", "/flood", wrong).status == 422
    assert world.ask("POST", "/flood/check", {**spec(), "text": {}}).status == 400
    assert world.ask("POST", "/flood/check", {**spec(), "texts": {"../x.txt": "a"}}).status == 400
    assert world.ask("POST", "/..%2Fx/check", spec()).status in (400, 404)
    assert [each.name for each in world.place.iterdir() if each.is_dir()] == ["news"]


def test_archives_are_those_of_the_service_and_nothing_else_of_the_machine(world: World) -> None:
    for named in (str(world.place / "news"), "../news", "nobody", 7, None):
        reply = world.ask("POST", "/flood/check", spec(captures={"sources": [{"archive": [named]}]}))
        assert list(world.mistakes(reply)) == ["captures.sources[0].archive[0]"], named
    reply = world.ask("POST", "/flood/check", spec(captures={}))
    assert world.mistakes(reply) == {"captures.sources": "names no archive"}
    reply = world.ask("POST", "/flood/check", spec(topic={"documents": ["/etc/hostname"]}))
    assert "topic.documents[0]" in world.mistakes(reply)
    assert "output" in world.mistakes(world.ask("POST", "/flood/check", spec(output="elsewhere")))
    assert world.ask("POST", "/flood/check", spec(), token=BLIND).status == 403, "who may not read has no captures"
    assert world.ask("POST", "/flood/check", spec(), token=READER).status == 403


def test_a_definition_from_the_network_names_no_archive_by_its_path(world: World) -> None:
    named = {**DEFINITION, "id": "sly", "topic": {"keywords": ["dike"]}}
    named["captures"] = {"sources": [{"archive": str(world.place / "news")}]}
    headers = {"Content_Type": JSON, "Authorization": f"Bearer {BOTH}"}
    reply = world.service.ask("POST", "/v1/crawls", json.dumps({"definition": named}).encode(), **headers)
    assert [each["field"] for each in reply.json["mistakes"]] == ["captures.sources[0].archive"]


def test_what_the_institution_excludes_is_no_seed_no_reference_and_no_archive(world: World) -> None:
    wrong = spec(
        seeds=[HOME, "http://www.withheld.test/x"],
        topic={"documents": [f"{HOME}private/1"]},
        captures={"sources": [{"memento": {"timegate": "http://withheld.test/gate/"}}]},
    )
    found = world.mistakes(world.ask("POST", "/flood/check", wrong))
    assert found == dict.fromkeys(
        ["seeds[1]", "topic.documents[0]", "captures.sources[0].memento.timegate"], "is excluded by the institution"
    )


def test_a_sample_tells_of_the_collection_and_keeps_nothing(world: World) -> None:
    begun = world.ask("POST", "/flood/sample?captures=20", spec())
    assert (begun.status, begun.json["kind"]) == (202, "sample")
    job = f"/flood/jobs/{begun.json['id']}"
    until(lambda: world.ask("GET", job).json["state"] not in ("waiting", "running"))
    found = world.ask("GET", job).json
    assert found["state"] == "done", found
    sample = found["result"]
    assert [(each["url"], each["captures"]) for each in sample["seeds"]] == [(HOME, 1)]
    assert {each["title"] for each in sample["best"]} == {"Flood", "Levels of the river", "Cakes"}
    assert sample["best"][0]["time"] == 1
    assert sample["missing_urls"] == [f"{HOME}gone"]
    assert next(each["captures"] for each in sample["members"] if each["threshold"] == sample["relevant"]) == 2
    assert [each.name for each in world.place.iterdir() if each.is_dir()] == ["news"]


class Held:
    """A process that writes no package, and ends when it may."""

    problem, exit_code = "held", 1

    def __init__(self, done: Event) -> None:
        self.done = done

    def kill(self) -> None:
        self.done.set()

    def told(self) -> Iterator[Mapping[str, object]]:
        self.done.wait()
        yield from ()


def test_a_collection_is_made_once_crawled_and_handed_out(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    client = ServiceClient(f"http://127.0.0.1:{world.service.port}/", BOTH)
    first = client.specify("flood-2013", DEFINITION, TEXTS)
    again = client.specify("flood-2013", dict(reversed(list(DEFINITION.items()))), TEXTS)
    assert (first["digest"], again["started"]) == (again["digest"], None)
    with pytest.raises(ServiceError, match="another specification") as conflict:
        client.specify("flood-2013", {**DEFINITION, "title": "Another"}, TEXTS)
    assert conflict.value.status == 409
    with pytest.raises(ServiceError, match="which no specification has made"):
        client.specify("news", DEFINITION, TEXTS)
    until(lambda: client.specified("flood-2013")["state"] == "finished")
    told = client.specified("flood-2013")
    assert (told["fetched"], told["members"]) == (3, 2)
    assert [each["name"] for each in client.specifications()] == ["flood-2013"]
    members = {each["url"] for each in client.members("flood-2013")}
    assert members == {HOME, f"{HOME}levels"}
    table = world.ask("GET", "/flood-2013/members.csv").body.decode()
    assert len(table.splitlines()) == 3
    assert f"{HOME}levels" in table
    summary = json.loads((world.place / "flood-2013" / "crawl.json").read_text())
    assert summary["refused"]["excluded"] == 2
    assert summary["requests"] == 0, "no site is asked"
    warc = client.packaged("flood-2013", "warc.gz")
    urls = {each.rec_headers.get_header("WARC-Target-URI") for each in ArchiveIterator(io.BytesIO(warc))}
    assert urls - {None} == members
    assert client.packaged("flood-2013", "wacz")[:2] == b"PK"
    decided = {f"{HOME}levels": False, f"{HOME}cakes": True}
    for url, member in decided.items():
        said = json.dumps({"url": url, "member": member}).encode()
        headers = {"Content_Type": JSON, "Authorization": f"Bearer {BOTH}"}
        assert world.service.ask("PUT", "/v1/crawls/flood-2013/membership", said, **headers).status == 204
    kept = {HOME, f"{HOME}cakes"}
    assert client.specified("flood-2013")["members"] == 2
    assert {each["url"] for each in client.members("flood-2013")} == kept
    listed = csv.DictReader(world.ask("GET", "/flood-2013/members.csv").body.decode().splitlines())
    assert {each["url"] for each in listed} == kept
    warc = client.packaged("flood-2013", "warc.gz")
    urls = {each.rec_headers.get_header("WARC-Target-URI") for each in ArchiveIterator(io.BytesIO(warc))}
    assert urls - {None} == kept
    done = Event()
    with monkeypatch.context() as patch:
        patch.setattr(packaging, "ReportingProcess", lambda *_: Held(done))
        begun = world.ask("POST", "/flood-2013/files/wacz")
        refused = world.ask("GET", "/flood-2013/files/wacz")
        done.set()
        job = f"/v1/specifications/flood-2013/jobs/{begun.json['id']}"
        assert (refused.status, refused.headers["location"]) == (409, job)
        assert f"by the job {begun.json['id']}" in refused.json["detail"]
        until(lambda: world.service.ask("GET", job, Authorization=f"Bearer {BOTH}").json["state"] == "failed")
    assert world.ask("GET", "/flood-2013/files/wacz").body[:2] == b"PK"
    assert b"<graphml" in world.ask("GET", "/flood-2013/graph.graphml").body
    by_page = world.ask("GET", "/flood-2013/graph.graphml?by=page").body
    assert b'attr.name="relevant"' in by_page
    quads = gzip.decompress(world.ask("GET", "/flood-2013/graph.nq.gz").body).decode()
    assert all(f'"{title}"' in quads for title in ("Flood", "Levels of the river")), quads
    assert world.ask("GET", "/flood-2013/specification").json == {"definition": {**DEFINITION}, "texts": TEXTS}
    definition = world.place / "flood-2013" / "definition.yaml"
    assert "../news" in definition.read_text()
    changed = client.change_limits("flood-2013", pages=77)
    assert changed["applied"], "a definition that names archives of the service can be changed"


def test_who_only_reads_hands_nothing_in(world: World) -> None:
    assert world.ask("PUT", "/other", spec(), token=READER).status == 403
    assert world.ask("GET", "/other", token=READER).status == 404
    assert world.ask("GET", "/news/members", token=READER).status == 404


def test_a_list_of_exclusions_that_cannot_be_read_hides_no_crawl_and_lets_nothing_be_made(world: World) -> None:
    (world.place / "exclusions.txt").write_text("two words\n")
    try:
        crawls = world.service.ask("GET", "/v1/crawls", Authorization=f"Bearer {READER}").json
        assert "news" in [each["id"] for each in crawls]
        refused = world.ask("PUT", "/another", spec())
        assert (refused.status, "exclusions.txt, line 1" in refused.json["detail"]) == (409, True)
    finally:
        (world.place / "exclusions.txt").write_text(EXCLUDED)
