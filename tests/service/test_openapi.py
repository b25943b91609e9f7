"""The OpenAPI document: valid, and true of a service that shows and steers a crawl that runs and one at rest.

schemathesis asks what the document promises. What it makes up is found nowhere, so it asks twice: with real values, all
of which must be taken, and, in the soak, with anything, which must be answered as the document says, and never by a
defect. Real values are a few for each operation, and each one, at the bounds of numbers too, in the soak, which also
stops and starts crawls so; that both are answered, the client shows.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from aahcrawler.crawls import running_process
from aahcrawler.service.api.app import ServiceSettings
from aahcrawler.service.catalog.crawl_catalog import Catalog
from aahcrawler.service.catalog.crawl_registry import CrawlRegistry
from aahcrawler.service.instruments import Instruments
from aahcrawler.service.web.entrance import UNLIMITED
from aahcrawler.service.web.roles import Tokens
from aahcrawler.service_client import ServiceClient
from benchmarks import cockpit_crawl
from benchmarks.cockpit_pages import Shape
from tests.crawl.crawling import PROJECT, until
from tests.crawl.crawling import running as command
from tests.crawl.site import Reply, Site, html, links
from tests.crawl.site import serving as site_serving
from tests.crawl.world import define
from tests.service.asking import CRAWLS, JSON, Service, serving
from tests.service.forked_crawls import crawls_forked

TOKEN = "a-token-that-nobody-guesses"  # noqa: S105
RUNS, RESTS = "test", cockpit_crawl.CRAWL
PAGES = 60
KEPT = "HYPOTHESIS_STORAGE_DIRECTORY"
"""Where Hypothesis keeps what it knows of characters, which takes it ten seconds to find out."""
LISTS = ("pages", "objects", "refused", "failures", "changes", "log")
RULES = [
    {"kind": "pattern", "text": "/ads/"},
    {"kind": "host", "text": "ads.example.org"},
    {"kind": "prefix", "text": "http://thread0.varhaven0.example/archive/"},
    {"kind": "url", "text": "http://thread0.varhaven0.example/archive/1"},
]
SPECIFIED = {
    "definition": {
        "title": "Told",
        "contact": "a@b.example",
        "seeds": ["http://b.example/"],
        "topic": {"documents": ["told.txt"], "keywords": ["flood"]},
        "captures": {"sources": [{"archive": RESTS}]},
    },
    "texts": {"told.txt": "The flood reached the town, and the dike broke."},
}
BODIES: Mapping[str, Sequence[Any]] = {
    "RuleAsked": RULES,
    "LimitsAsked": [{"pages": 5000}, {"pages": None, "time": "3 hours"}, {"bytes": "20 GB", "pages_per_domain": 4000}],
    "WeightsAsked": [{"text": 1}, {"url": 0.5, "text": None}],
    "ScopeAsked": [{"deny": ["/never/"]}, {"deny": None}, {"sites": "anywhere", "depth": 90, "languages": ["en"]}],
    "CopyAsked": [{"title": "Once more"}],
    "DescriptionAsked": [{"title": "Told", "subject": ["floods"], "language": ["de"]}, {"title": "Told"}],
    "CollectionAsked": [{"title": "Told", "language": ["de"], "date": "2024-05", "crawls": []}, {"title": "Told"}],
    "Specification": [SPECIFIED],
    "HandedIn": [{**SPECIFIED, "start": False}],
    "Start": [{"workers": 1}, {"accept_changes": True}, {}],
    "DefinitionAsked": [
        {"definition": "id: made\ncontact: a@b.example\nseeds: [http://b.example/]\ntopic: {keywords: [flood]}\n"},
        {
            "definition": {
                "id": "made",
                "contact": "a@b.example",
                "seeds": ["http://b.example/"],
                "topic": {"keywords": ["flood"]},
            }
        },
    ],
}
"""Bodies that are taken, by schema."""
CONFIGURATION = f"""
hooks = "tests.service.openapi_bodies"
continue-on-failure = true
max-stream-events = 1
request-timeout = 20.0
cache.enabled = false
auth.openapi.HTTPBearer.bearer = "{TOKEN}"
generation = {{ deterministic = true, database = "none", no-shrink = true }}
phases.stateful.enabled = false

[[operations]]
# 503 is judged by the module of hooks: it is right for crawls at rest alone.
include-path-regex = "/v1/crawls/.*"
checks.not_a_server_error.expected-statuses = ["2xx", "3xx", "4xx", 503]

[[operations]]
# GET is answered below /sites/ by the path of a site, whatever its name; `Allow` tells so.
include-path-regex = "/sites/(pause|resume)$"
checks.allow_header_conformance.enabled = false

[[operations]]
# Which pages a crawl has captured, and which samples were drawn of it, no schema says.
include-path-regex = "/(judgements|membership)(/|$)"
checks.positive_data_acceptance.enabled = false
"""
PROCESSES = "/(start|stop)$"
FEW, EACH_VALUE = ("--phases=examples,fuzzing", "--max-examples=3"), ("--phases=examples,coverage",)
"""What is asked of each operation: a few requests, or one with each value of each parameter at its bounds."""
UNTRAPPED = {"pages": 0, "duplicates": "follow", "soft_404": "ignore"}
"""The pages of the site look alike."""
BY_MEANING = """
[[operations]]
# A faulty item has a result of its own, and any text is one: nothing of a body of lines is rejected.
include-path-regex = "/urls$"
include-method = "POST"
checks.negative_data_rejection.enabled = false

[[operations]]
# URLs, searches, rules, queries and definitions are judged by what they mean, which no schema says.
include-path-regex = "/v1/.*"
checks.positive_data_acceptance.enabled = false
"""
pytestmark = pytest.mark.slow
Real = Mapping[str, Sequence[str]]


def endless(path: str) -> Reply:
    number = int(path[1:]) if path[1:].isdecimal() else 0
    more = links(f"/{number + 1}", f"/ads/{number}")
    return Reply(html(f"Page {number}", f"<p>The flood at the harbour.</p>{more}").body, pause=0.2)


@dataclass(frozen=True, slots=True)
class World:
    """A service, its OpenAPI document, and what there is in its crawls, by parameter."""

    place: Path
    service: Service
    document: Any
    real: Real


@contextmanager
def opened(place: Path) -> Iterator[World]:
    """Serve a crawl that runs and one at rest."""
    cockpit_crawl.make(place / RESTS, Shape(pages=PAGES, queued=300))
    with ExitStack() as stack:
        stack.enter_context(crawls_forked())
        site = stack.enter_context(site_serving(Site({"/robots.txt": Reply(b"", 404)}, other=endless)))
        icd = define(place, [site.url], output=str(place / RUNS), traps=UNTRAPPED)
        process = stack.enter_context(command("crawl", icd))
        process.until(lambda: len(site.paths()) > 3)
        settings = ServiceSettings(Catalog([place]), tokens=Tokens.bare(TOKEN), rates=UNLIMITED)
        schedule = place / "schedule.yaml"
        schedule.write_text("crawls: {floods: {definition: floods.yaml, every: day}}", "utf-8")
        instruments = Instruments.of(CrawlRegistry.of(settings.catalog, None), schedule=schedule)
        served = stack.enter_context(serving(settings, instruments=instruments))
        service = Service(served.port, {"Authorization": f"Bearer {TOKEN}", "Content-Type": JSON})
        yield World(place, service, service.get("/openapi.json").json, found_in(service, site))
        service.ask("POST", f"/v1/crawls/{RUNS}/stop")
        until(lambda: running_process(place / RUNS) is None)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with opened(tmp_path_factory.mktemp("crawls")) as world:
        yield world


def found_in(service: Service, site: Site) -> Real:
    """Return real values of parameters; those of one path alone by the last part of it, too."""

    def ask(path: str, crawl: str = RESTS) -> Any:
        reply = service.get(f"/v1/crawls/{crawl}/{path}")
        assert reply.status == 200, reply.body
        return reply.json

    def job(crawl: str) -> str:
        said = json.dumps({"rules": RULES})
        return str(service.ask("POST", f"/v1/crawls/{crawl}/exclusions/preview", said).json["id"])

    service.ask("POST", f"/v1/crawls/{RESTS}/sparql/load")
    until(lambda: ask("pages")["total"] >= PAGES and ask("sparql/store")["loaded"])
    pages, objects, refused = ask("pages?limit=2")["pages"], ask("objects?limit=1")["objects"], ask("refused?limit=1")
    urls = [each["url"] for each in (*ask("queue?limit=2")["urls"], *refused["urls"], *pages)]
    records = [each["record"] for each in pages]
    return {
        "crawl": [RUNS, RESTS],
        "url": [*urls, f"{site.url}1", f"{site.url}ads/0"],
        "record": records,
        "before": records,
        "difference/after": records,
        "iri": [each["iri"] for each in objects],
        "site": [pages[0]["site"], "127.0.0.1"],
        "job": [job(RUNS), job(RESTS)],
        "query": ["SELECT * { ?s ?p ?o } LIMIT 3", "ASK { ?s ?p ?o }"],
        "reason": [each["name"] for each in refused["reasons"]],
        "words": ["flood", '"storm surge" -mayor', "flood OR dyke"],
        "since": ["2026-03-01T06:00"],
        "until": ["2026-03-02"],
        **{f"{name}/since": ["2026", "2026-03-01"] for name in ("spoken-of", "{kind}", "conversations")},
        "as_of": ["2026-03", "2026-03-02"],
        "q": ["flood", 'author:jo OR "storm surge"', "flo* -mayor published:2013..2014"],
        "text": ["", "archive", "*/archive/*", "host:varhaven0.example"],
        "queue/after": [""],
        "exclusions/kind": ["pattern"],
        "exclusions/text": ["/ads/"],
        **{f"{name}/after": ["", ask(f"{name}?limit=1")["next"]] for name in LISTS},
        **{f"{last}/name": ["floods"] for last in ("{name}", "visits", "now", "pause", "resume")},
        "holdings/after": ["", f"{RESTS} {pages[0]['site']}"],
        "definition": [json.dumps(ask("definition", RUNS))],
    }


def narrowed(document: Any, real: Real) -> Any:
    """Return a document that allows real values alone, where something is looked up by them."""
    document = json.loads(json.dumps(document))
    for path, operations in document["paths"].items():
        for parameter in (each for operation in operations.values() for each in operation.get("parameters", ())):
            name = parameter["name"]
            values = real.get(f"{path.rpartition('/')[2]}/{name}") or real.get(name)
            if values and parameter["schema"].get("type") != "integer":
                parameter["schema"] = {"type": "string", "enum": values}
                parameter.pop("examples", None)
    return document


def with_bodies(document: Any, real: Real) -> Any:
    """Return a document that allows real bodies alone."""
    schemas = document["components"]["schemas"]
    for name in ("Named", "Scored", "Revisited", "Site"):
        for field in schemas[name]["properties"].keys() & real.keys():
            schemas[name]["properties"][field] = {"type": "string", "enum": real[field]}
    schemas |= {name: {"enum": bodies} for name, bodies in BODIES.items()}
    asked = document["paths"]["/v1/crawls/{crawl}/sparql"]["post"]["requestBody"]["content"]
    asked["application/sparql-query"]["schema"] = {"type": "string", "enum": real["query"]}
    schemas["TextAsked"] = {"enum": [json.loads(text) for text in real["definition"]]}
    return document


def ask(folder: Path, world: World, document: Any, configuration: str, *options: str) -> None:
    """Have schemathesis ask. Fail with what it found."""
    until(lambda: all(world.service.get(f"/v1/crawls/{crawl}/queue").status == 200 for crawl in (RUNS, RESTS)))
    (folder / "openapi.json").write_text(json.dumps(document), "utf-8")
    (folder / "schemathesis.toml").write_text(configuration, "utf-8")
    program = [str(Path(sys.executable).with_name("schemathesis")), "--config-file", "schemathesis.toml"]
    url = f"http://127.0.0.1:{world.service.port}"
    ended = subprocess.run(
        [*program, "run", "openapi.json", "--url", url, "--no-color", *options],
        capture_output=True,
        text=True,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(PROJECT), KEPT: str(PROJECT / ".hypothesis"), CRAWLS: str(world.place)},
        check=False,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr


def test_the_document_is_valid(world: World) -> None:
    from schemathesis.specs.openapi.definitions import OPENAPI_31  # What it imports takes a second of each run.

    jsonschema_rs.validator_for(OPENAPI_31).validate(world.document)
    assert not [name for name in world.document["components"]["schemas"] if "__" in name], "modules are no interface"


@pytest.mark.parametrize("phases", [FEW, pytest.param(EACH_VALUE, marks=pytest.mark.soak)], ids=["few", "each"])
def test_what_there_is_is_found_as_the_document_says(world: World, tmp_path: Path, phases: Sequence[str]) -> None:
    real = with_bodies(narrowed(world.document, world.real), world.real)
    left_out = f"--exclude-path-regex={PROCESSES}"
    ask(tmp_path, world, real, CONFIGURATION, "--mode=positive", *phases, left_out)


def test_each_call_of_the_client_is_answered(world: World) -> None:
    client = ServiceClient(f"http://127.0.0.1:{world.service.port}", TOKEN)
    assert {crawl.id for crawl in client.crawls()} >= {RUNS, RESTS}
    assert {page["record"] for page in client.pages(RESTS, limit=7)} >= set(world.real["record"])
    assert next(client.objects(RESTS, words="flood"))["iri"]
    event = next(client.events(RUNS))
    assert (event.name, event.data["id"]) == ("status", RUNS)
    url = f"{world.real['url'][-1]}/posted"
    assert client.post(RUNS, [{"url": url, "score": 0.5}])[0]["outcome"] == "accepted"
    assert client.url_state(RUNS, url)["url"] == url
    assert client.change_limits(RUNS, preview=True, pages=6000)["applied"] is False
    assert client.change_limits(RUNS, pages=6000)["fields"][0]["after"] == "6000"
    assert client.change_weights(RUNS, preview=True, text=2.0)["after"] is not None
    assert client.change_weights(RUNS, text=2.0)["applied"] is True
    assert "blocked" in client.change_scope(RUNS, preview=True, deny=["/nowhere/"])
    assert client.change_scope(RUNS, deny=["/nowhere/"])["applied"] is True
    assert client.create({**BODIES["DefinitionAsked"][1]["definition"], "id": "by-client"})
    assert client.stop(RUNS)["asked"] is True
    until(lambda: running_process(world.place / RUNS) is None)
    assert client.start(RUNS, accept_changes=True)["state"] in ("running", "starting")
    assert {"start", "stop", "scope"} <= {act["act"] for act in client.steering(RUNS)}


@pytest.mark.soak
def test_crawls_are_stopped_and_started_as_the_document_says(world: World, tmp_path: Path) -> None:
    real = with_bodies(narrowed(world.document, world.real), world.real)
    once = ("--mode=positive", "--max-examples=1", "--phases=fuzzing")
    ask(tmp_path, world, real, CONFIGURATION, *once, f"--include-path-regex={PROCESSES}")


@pytest.mark.soak
def test_whatever_is_asked_is_answered_as_the_document_says(world: World, tmp_path: Path) -> None:
    some = narrowed(world.document, {"crawl": world.real["crawl"]})
    # A copy under a made-up title such as "0" has that as its id, which is what an id of another type reads as.
    left_out = f"--exclude-path-regex={PROCESSES}|/copy$"
    phases = "--phases=examples,coverage,fuzzing"
    ask(tmp_path, world, some, CONFIGURATION + BY_MEANING, phases, "--max-examples=20", left_out)
