"""What enrichment finds on relevant pages steers the crawl that runs, within bounds, and can be undone."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from typer.testing import CliRunner

from aahcrawler.cli import app
from aahcrawler.layout import STEERED, STEERING
from aahcrawler.objects.reader import page_rows
from aahcrawler.service.api.app import ServiceSettings
from aahcrawler.service.catalog.crawl_catalog import Catalog
from aahcrawler.service_client import ServiceClient
from aahcrawler.takedown.removal import WantedRemoval, remove
from offline.enrichment import entity_annotator
from offline.enrichment.crawl_steering import RunningCrawl, Steered, SteeringBounds, steer, steering_terms, undo
from offline.enrichment.enriching import enrich
from offline.enrichment.steps import chosen_steps
from tests.crawl.crawling import running
from tests.crawl.gate import Gate
from tests.crawl.site import Answer, Site, html, serving
from tests.crawl.world import define, network
from tests.enrichment.archives import LONG
from tests.enrichment.archives import define as define_posts
from tests.imports.archives import imported, members, pages
from tests.offline.crawls import capture, post, writer
from tests.service.asking import serving as serving_scores

WANTED = "The flood came over the dike of Meresund, and people in Meresund saw the harbour under the storm surge."
OTHER = (
    "The match was won by guests from Tallow, and people in Tallow sang in the streets until the last trains had gone."
)
WORDS = (
    "old river stones bridge evening people letters garden market window summer paper mother wooden silver quiet early "
    "yellow kitchen brother walking morning teacher corner winter simple heavy open narrow distant music table flower "
    "church village doctor captain orange basket ladder copper button feather saddle thunder blanket candle mirror"
)


@pytest.fixture(autouse=True)
def _without_models(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(entity_annotator, "installed_models", dict)


@pytest.fixture
def crawl(tmp_path: Path) -> Iterator[Path]:
    """Crawl articles up to the first one that the list of others leads to."""
    gate, read = Gate(), [f"/{number}" for number in range(8)]
    listed = {
        f"/{place}-{number}": f"Notes on {place}, {number}" for place in ("Meresund", "Tallow") for number in range(6)
    }

    def article(path: str) -> str:
        rng, told = Random(path), WANTED if path[1:].isdecimal() and int(path[1:]) % 2 else OTHER
        others = " ".join(f"There were {' and '.join(rng.choices(WORDS.split(), k=6))}." for _ in range(8))
        return f"<article><h1>Notes {path}</h1><p>{told}</p><p>{others}</p></article>"

    shown: dict[str, Answer] = {path: html(f"Notes {path}", article(path)) for path in (*read, *listed)}
    shown |= {path: gate.holding(shown[path]) for path in listed}
    shown["/list"] = html("List", "".join(f'<p><a href="{path}">{text}</a></p>' for path, text in listed.items()))
    with serving(Site(shown)) as site:
        icd = define(
            tmp_path,
            [f"http://site.test{path}" for path in (*read, "/list")],
            politeness={"delay": "0.01 s", "timeout": "10 min"},
            scoring={"explore": 0},
            network=network(site, "site.test"),
        )
        with running("crawl", icd) as process:
            process.until(lambda: gate.held > 0)
            process.until(lambda: sum(bool(row.relevant) for row in page_rows(tmp_path / "crawl")) == 4)
            yield tmp_path / "crawl"
            gate.open()
            process.interrupt()
            ended = process.ended()
            assert ended.code == 0, ended.err


def test_a_running_crawl_is_steered_within_bounds_and_back(crawl: Path) -> None:
    list(enrich(crawl, chosen_steps(["entities"])))
    assert list(steering_terms(crawl, 5))[:1] == ["meresund"]
    with serving_scores(ServiceSettings(Catalog([crawl]))) as service:
        found = RunningCrawl.of(crawl, ServiceClient(f"http://127.0.0.1:{service.port}"))
        found.client.pause(found.id)
        before = scores(found)
        one = steer(found, SteeringBounds(urls=1, move=0.1))
        assert len(one) == 1
        more = steer(found, SteeringBounds(move=0.1))
        changed = {each.url: each for each in (*one, *more)}
        assert {url for url in changed if "Meresund" not in url} == set()
        assert len(changed) == len(one) + len(more) >= 3
        for url, each in changed.items():
            assert each.terms == ("meresund",)
            assert each.after - each.before == pytest.approx(0.1, abs=1e-4)
            assert scores(found)[url] == pytest.approx(each.after, abs=1e-4)
        assert steer(found, SteeringBounds(move=0.1)) == []
        assert len((crawl / STEERED).read_bytes().splitlines()) == len(changed)
        assert {each.url for each in undo(found)} == set(changed)
        assert scores(found) == pytest.approx(before, abs=1e-4)
        assert undo(found) == []


def scores(crawl: RunningCrawl) -> dict[str, float]:
    return {each["url"]: each["score"] for each in crawl.client.queue(crawl.id)}


def posts(crawl: Path, texts: dict[str, bool | None]) -> None:
    define_posts(crawl, ["Sluice"])
    with writer(crawl) as objects:
        for number, (text, is_relevant) in enumerate(texts.items(), 1):
            page = replace(capture(number), relevant=is_relevant)
            objects.write(page, [post(number, 1, "ann", f"{text} {LONG}")])
    list(enrich(crawl, chosen_steps(["entities"])))


def test_terms_are_what_relevant_objects_have_far_more_often(tmp_path: Path) -> None:
    texts: dict[str, bool | None] = {f"{number}: we saw Meresund and Tallow and Sluice.": True for number in range(4)}
    texts |= {f"{number}: we saw Tallow there.": False for number in range(4)}
    texts |= {f"{number}: we saw Anywhere there.": None for number in range(4)}
    posts(tmp_path / "crawl", texts)
    assert steering_terms(tmp_path / "crawl", 5) == {"meresund": 1.0}


def test_there_are_no_terms_where_nothing_else_was_seen(tmp_path: Path) -> None:
    posts(tmp_path / "crawl", {f"{number}: we saw Meresund there.": True for number in range(4)})
    assert steering_terms(tmp_path / "crawl", 5) == {}


def test_a_crawl_without_its_service_is_told(tmp_path: Path) -> None:
    posts(tmp_path / "crawl", {"We saw Meresund there.": True})
    arguments = ["enrich", str(tmp_path / "crawl"), "--steps", "entities", "--steer", "--service", "http://127.0.0.1:9"]
    ended = CliRunner().invoke(app, arguments)
    assert ended.exit_code == 2
    assert "is not steered" in ended.stderr
    assert "aah serve" in ended.stderr
    assert not (tmp_path / "crawl" / STEERED).exists()


def test_the_terms_and_the_urls_go_with_a_takedown(tmp_path: Path) -> None:
    root, file = tmp_path / "crawl", tmp_path / "others.warc.gz"
    file.write_bytes(members(pages(2)))
    imported(root, file)
    said = Steered(at="2026-01-02T03:04:05Z", crawl=1, url="http://a.test/", before=0.1, after=0.2, terms=("meresund",))
    gone = said.model_copy(update={"url": "http://dikes.test/1"})
    (root / STEERED).write_text(f"{said.model_dump_json()}\n{gone.model_dump_json()}\n[]\ncut off", "utf-8")
    acts = [{"act": "rescore", "arguments": {"urls": ["http://dikes.test/1", "http://dikes.test/12"], "to": 0.5}}]
    acts += [{"act": "pause", "arguments": {}}]
    (root / STEERING).write_text("".join(f"{json.dumps(act)}\n" for act in acts), "utf-8")
    remove(root, WantedRemoval(urls=("http://dikes.test/1",)), "Ida", "asked for")
    (line,) = (root / STEERED).read_text("utf-8").splitlines()
    assert Steered.model_validate_json(line) == said.model_copy(update={"terms": ()})
    rescored, paused = map(json.loads, (root / STEERING).read_text("utf-8").splitlines())
    assert rescored["arguments"] == {"urls": ["(taken down)", "http://dikes.test/12"], "to": 0.5}
    assert paused == acts[1]
