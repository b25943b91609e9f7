"""Scrapy's users find what they know: pipelines, feeds, signals, middlewares, settings, statistics, log."""

import csv
import json
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from itemadapter import ItemAdapter
from scrapy.settings import Settings, default_settings

from aahcrawler.crawl.scrapy.crawl_settings import (
    FIXED,
    OWN_MIDDLEWARES,
    ROBOTS_MIDDLEWARE,
    SUPPORT,
    Effect,
    apply,
    without_effect,
)
from aahcrawler.crawl.scrapy.items import WebObjectItem
from aahcrawler.crawl.scrapy.spider import AahSpider
from tests.crawl.articles import article_site, path
from tests.crawl.crawling import PROJECT, SCRAPY, EndedRun, rows, running, scrapy, summary, write_icd
from tests.crawl.gate import Gate
from tests.crawl.site import Reply, Site, serving

PARTS = "tests.crawl.pipelines"
PAGE = (Path(__file__).parents[2] / "docs" / "scrapy.md").read_text("utf-8")


@pytest.fixture
def site() -> Iterator[Site]:
    with serving(article_site(9)) as served:
        yield served


def crawled(folder: Path, site: Site, *options: str, **settings: object) -> EndedRun:
    """Crawl a site with settings."""
    return scrapy("crawl", "aah", "-a", f"icd={write_icd(folder, site.url)}", *options, *given(settings))


def given(settings: Mapping[str, object]) -> Iterator[str]:
    for name, value in settings.items():
        yield from ("-s", f"{name}={json.dumps(value) if isinstance(value, dict) else value}")


def test_a_feed_has_the_web_objects_that_the_crawl_keeps(tmp_path: Path, site: Site) -> None:
    ended = crawled(tmp_path, site, "-O", f"{tmp_path}/objects.jsonl", "-O", f"{tmp_path}/objects.csv")
    assert ended.code == 0, ended.err
    items = [json.loads(line) for line in (tmp_path / "objects.jsonl").read_text("utf-8").splitlines()]
    kept = rows(tmp_path / "crawl", "objects")
    shared = ("iri", "type", "url", "title", "author", "body", "part_of")
    assert sorted(tuple(item[name] for name in shared) for item in items) == sorted(
        tuple(row[name] for name in shared) for row in kept
    )
    assert len(items) == 9
    captures = {row["url"]: row["capture"] for row in rows(tmp_path / "crawl")}
    assert all(item["capture"] == captures[item["page"]] for item in items)
    assert all(item["properties"]["author"][0]["name"] == item["author"] for item in items)
    assert all(item["date"].startswith("2019-11-") and not item["read_again"] for item in items)
    with (tmp_path / "objects.csv").open(encoding="utf-8", newline="") as file:
        assert {row["iri"] for row in csv.DictReader(file)} == {item["iri"] for item in items}
    assert summary(tmp_path / "crawl")["items"] == 9


def test_without_pipelines_feeds_and_listeners_no_item_is_made(tmp_path: Path, site: Site) -> None:
    ended = crawled(tmp_path, site)
    assert ended.code == 0, ended.err
    found = summary(tmp_path / "crawl")
    assert (found["items"], found["objects"]) == (0, 9)


def test_what_a_pipeline_drops_or_fails_on_is_kept_counted_and_told(tmp_path: Path, site: Site) -> None:
    ended = crawled(tmp_path, site, ITEM_PIPELINES={f"{PARTS}.Choosy": 1}, LOG_FILE=tmp_path / "log")
    assert ended.code == 0, ended.err
    assert "item pipelines failed on 3 web objects and dropped 3; the archive has them all" in ended.err
    found = summary(tmp_path / "crawl")
    assert [found[name] for name in ("items", "items_dropped", "items_failed", "objects")] == [3, 3, 3, 9]
    assert len(rows(tmp_path / "crawl", "objects")) == 9
    assert "this pipeline is broken" in (tmp_path / "log").read_text("utf-8")


def test_listeners_hear_of_answers_items_and_the_reason_of_the_end(tmp_path: Path, site: Site) -> None:
    heard = tmp_path / "heard"
    more = {"EXTENSIONS": {f"{PARTS}.Hearing": 1}, "NOTED": heard}
    ended = crawled(tmp_path, site, **more, CLOSESPIDER_PAGECOUNT=4)
    assert ended.code == 0, ended.err
    assert "stopped, closespider_pagecount" in ended.err
    first = heard.read_text("utf-8").splitlines()
    assert first[-1] == "closed closespider_pagecount"
    assert crawled(tmp_path, site, **more).code == 0
    words = [line.split() for line in heard.read_text("utf-8").splitlines()]
    assert words[-1] == ["closed", "finished"]
    items = [line[1:] for line in words if line[0] == "item"]
    assert all(page == answered for page, answered in items)
    assert sorted(page for page, _ in items) == sorted(site.url.rstrip("/") + path(each) for each in range(1, 10))
    assert {line[1] for line in words if line[0] == "response"} >= {page for page, _ in items}


def test_items_are_handed_on_at_least_once_though_the_crawl_is_killed(tmp_path: Path) -> None:
    noted, gate = tmp_path / "noted", Gate(free=8)
    settings = {"ITEM_PIPELINES": {f"{PARTS}.Noting": 1}, "NOTED": noted}
    with serving(article_site(12, gate=gate)) as site:
        icd = write_icd(tmp_path, site.url)
        command = ("crawl", "aah", "-a", f"icd={icd}", "-o", f"{tmp_path}/objects.jsonl", *given(settings))
        with running(*command, cwd=PROJECT, code=SCRAPY) as crawler:
            crawler.until(lambda: gate.held > 0 and noted.exists() and noted.read_text("utf-8").count("\n") >= 3)
            crawler.kill()
        gate.open()
        ended = scrapy(*command)
    assert ended.code == 0, ended.err
    kept = {row["iri"] for row in rows(tmp_path / "crawl", "objects")}
    assert len(kept) == 12
    assert set(noted.read_text("utf-8").split()) == kept
    written = (tmp_path / "objects.jsonl").read_text("utf-8").splitlines()
    assert {json.loads(line)["iri"] for line in written} == kept


def test_pipelines_are_closed_after_the_last_item(tmp_path: Path, site: Site) -> None:
    noted = tmp_path / "noted"
    settings = {"ITEM_PIPELINES": {f"{PARTS}.Noting": 1}, "NOTED": noted, "PAUSE": 2}
    icd = write_icd(tmp_path, site.url)
    with running("crawl", "aah", "-a", f"icd={icd}", *given(settings), cwd=PROJECT, code=SCRAPY) as crawler:
        crawler.until(lambda: noted.exists() and "begun" in noted.read_text("utf-8"))
        crawler.process.terminate()
        ended = crawler.ended()
    assert ended.code == 0, ended.err
    said = noted.read_text("utf-8")
    assert said.count("begun") == said.count("\n") > 0
    assert "after the end" not in said


def test_middlewares_see_every_request_and_cannot_lose_robots_txt(tmp_path: Path, site: Site) -> None:
    site.pages["/robots.txt"] = Reply(b"User-agent: *\nDisallow: /flood/9", headers={"Content-Type": "text/plain"})
    parts = {f"{PARTS}.Meddling": 500, ROBOTS_MIDDLEWARE: None}
    ended = crawled(tmp_path, site, DOWNLOADER_MIDDLEWARES=parts)
    assert ended.code == 0, ended.err
    found = summary(tmp_path / "crawl")
    assert (found["blocked"], found["error"]) == ({"ignored": 1, "robots": 1}, {"uncaptured": 2})
    titles = {row["url"].removeprefix(site.url): row["title"] for row in rows(tmp_path / "crawl", "objects")}
    assert titles == {f"flood/{each}.html": f"{'Storm' if each == 4 else 'Flood'} {each}" for each in range(1, 6)}
    assert {asked.path for asked in site.asked}.isdisjoint({path(7), path(8), path(9)})


def test_scrapys_settings_are_honoured_or_named(tmp_path: Path, site: Site) -> None:
    log = tmp_path / "scrapy.log"
    ended = crawled(tmp_path, site, ROBOTSTXT_OBEY=0, JOBDIR=tmp_path / "job", LOG_FILE=log, LOG_LEVEL="INFO")
    assert ended.code == 0, ended.err
    said = [line for line in ended.err.splitlines() if line.startswith("the setting ")]
    assert [line.split()[2] for line in said] == ["JOBDIR", "ROBOTSTXT_OBEY"]
    assert "set politeness.robots: ignore in the ICD" in said[1]
    assert not (tmp_path / "job").exists()
    logged = log.read_text("utf-8")
    assert all(line in logged and line in (tmp_path / "crawl/crawl.log").read_text("utf-8") for line in said)
    found = summary(tmp_path / "crawl")
    for name, value in {"pages": found["pages"], "objects": 9, "status/200": found["status"]["200"]}.items():
        assert f"'aah/{name}': {value}," in logged
    assert "'aah/reason': 'finished'" in logged
    assert "scrapy.statscollectors" not in (tmp_path / "crawl/crawl.log").read_text("utf-8")


def test_mistakes_on_the_command_line_are_named(tmp_path: Path) -> None:
    for arguments, told in (
        (["aah"], "-a icd=FILE"),
        (["aah", "-a", f"icd={tmp_path}/none.yaml", "-a", "pages=3"], "no argument pages"),
        (["aah", "-a", f"icd={tmp_path}/none.yaml"], "none.yaml"),
    ):
        ended = scrapy("crawl", *arguments)
        assert ended.code == 2
        assert told in ended.err + ended.out
        assert "Traceback" not in ended.err


def test_each_of_scrapys_settings_has_its_row_in_the_documentation() -> None:
    missing = [
        name for name in dir(default_settings) if name.isupper() and not any(row.covers(name) for row in SUPPORT)
    ]
    assert missing == []
    table = [
        [cell.strip() for cell in line.strip("|").split(" | ")]
        for line in PAGE.split("| settings | effect | meaning |\n")[1].splitlines()[1:]
    ]
    assert table == [[", ".join(f"`{name}`" for name in row.names), row.effect, row.said] for row in SUPPORT]


def test_no_setting_has_two_rows_of_which_the_first_does_not_name_it() -> None:
    for name in (name for name in dir(default_settings) if name.isupper()):
        covering = [row for row in SUPPORT if row.covers(name)]
        assert len(covering) == 1 or name in covering[0].names, name


def test_what_is_fixed_is_what_is_said_to_have_no_effect() -> None:
    for name in FIXED:
        assert next(row for row in SUPPORT if row.covers(name)).effect is Effect.NONE


def test_settings_that_nobody_set_are_not_named() -> None:
    assert list(without_effect(Settings())) == []
    settings = Settings({"ROBOTSTXT_OBEY": True, "COOKIES_ENABLED": False, "FEED_EXPORT_ENCODING": "utf-8"})
    assert list(without_effect(settings)) == []
    settings.set("AUTOTHROTTLE_ENABLED", "1", "cmdline")
    (said,) = without_effect(settings)
    assert said.startswith("the setting AUTOTHROTTLE_ENABLED has no effect: set politeness.delay_factor")


def test_a_projects_own_parts_stand_beside_the_crawls() -> None:
    settings = Settings(
        {"SCHEDULER": "other.Scheduler", "DOWNLOADER_MIDDLEWARES": {"a.B": 3}, "CONCURRENT_REQUESTS": 5}
    )
    apply(settings)
    assert settings["SCHEDULER"] == FIXED["SCHEDULER"]
    assert settings.getdict("DOWNLOADER_MIDDLEWARES") == {"a.B": 3, **OWN_MIDDLEWARES}
    assert settings.getint("CONCURRENT_REQUESTS") == 5
    apply(settings)
    assert settings.getdict("DOWNLOADER_MIDDLEWARES") == {"a.B": 3, **OWN_MIDDLEWARES}


def test_an_item_is_what_itemadapter_knows_with_the_fields_of_the_documentation() -> None:
    item = WebObjectItem("urn:a", "post", "http://a.test/", "http://a.test/", "2026-01-01T00:00:00+00:00", "urn:uuid:1")
    documented = [
        line.split("`")[1] for line in PAGE.split("| field | what it is |\n")[1].split("\n\n")[0].splitlines()[1:]
    ]
    assert list(ItemAdapter(item)) == documented
    assert list(AahSpider.parse(None, None, (item,))) == [item]  # type: ignore[arg-type]
