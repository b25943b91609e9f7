"""Terminal, ``crawl.json``, report, cockpit, service and metrics say the same of a crawl, whatever becomes of it."""

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from aahcrawler.objects.reader import page_rows
from aahcrawler.refusals import failures, read_refusals
from aahcrawler.service.api.app import ServiceSettings
from aahcrawler.service.catalog.crawl_catalog import Catalog
from aahcrawler.service.catalog.crawl_registry import CrawlRegistry
from aahcrawler.service.cockpit.site import Pages
from aahcrawler.service.views.crawl_state import CrawlStates
from aahcrawler.service.web.entrance import UNLIMITED
from aahcrawler.tallies import NOT_COUNTED, CrawlCounts, counts_in_summary
from tests.crawl.crawling import Running, aah, running, summary, until, write_icd
from tests.crawl.gate import Gate
from tests.crawl.site import Reply, Site, serving
from tests.crawl.test_counts import THREADS, forum, requests_of
from tests.crawl.test_learned import FORUM
from tests.service.asking import Service
from tests.service.asking import serving as serving_scores

Numbers = Mapping[str, int | str]


@dataclass
class Crawl:
    """A crawl by two workers of a site that holds back what it is asked for after some pages."""

    root: Path
    site: Site
    gate: Gate
    service: Service

    @property
    def folder(self) -> Path:
        return self.root / "crawl"

    @contextmanager
    def run(self) -> Iterator[Running]:
        environment = {**os.environ, "AAH_KNOWLEDGE_BASE": str(self.root / "known")}
        with running("crawl", self.root / "icd.yaml", "--workers", "2", environment=environment) as process:
            yield process

    def status(self) -> Mapping[str, object]:
        found: Mapping[str, object] = self.service.get("/v1/crawls/test").json
        return found

    def is_settled(self) -> bool:
        """Whether what runs has written all that it counted."""
        told = counts_in_summary(summary(self.folder)) if (self.folder / "crawl.json").exists() else {}
        status = self.status()
        return status["fetched"] == told.get("pages") and status["requests"] == told.get("requests")


@pytest.fixture
def crawl(tmp_path: Path) -> Iterator[Crawl]:
    known = tmp_path / "known" / "applications" / "harbour.xml"
    known.parent.mkdir(parents=True)
    known.write_text(FORUM.replace('parameters="t"/>', 'parameters="t"/><paging parameter="page"/>'), "utf-8")
    site, gate = forum(), Gate()
    away = b'<a href="http://elsewhere.test/">away</a><img src="/missing.png">'
    first = site.pages["/thread?t=1"]
    assert isinstance(first, Reply)
    site.pages["/thread?t=1"] = Reply(first.body.replace(b"</body>", away + b"</body>"), headers=first.headers)
    for number in (3, 4):
        held = site.pages[f"/thread?t={number}"]
        assert isinstance(held, Reply)
        site.pages[f"/thread?t={number}"] = gate.holding(held)
    paths = [f"thread?t={number}{page}" for number in THREADS for page in ("", "&page=2")]
    with serving(site), serving_scores(ServiceSettings(Catalog([tmp_path]), rates=UNLIMITED)) as service:
        write_icd(tmp_path, *(site.url + path for path in ("broken", "gone", "no/1", *paths)))
        yield Crawl(tmp_path, site, gate, service)
        gate.open()


def numbers(told: CrawlCounts) -> dict[str, int | str]:
    return {
        "pages": told.pages,
        "requests": told.requests,
        "objects": NOT_COUNTED if told.objects is None else told.objects,
        "failures": sum(told.failures.values()),
        "refusals": sum(told.refusals.values()),
    }


def of_words(words: Mapping[str, str], names: Mapping[str, str]) -> Numbers:
    """Return the numbers that a place tells in words, by its names for them."""
    found: dict[str, int | str] = {}
    for name, shown in names.items():
        text = words[shown].replace(",", "")
        begin = re.match(r"\d+", text)
        found[name] = NOT_COUNTED if text.startswith(NOT_COUNTED) else int(begin[0]) if begin else 0
    return found


def of_cockpit(crawl: Crawl) -> Numbers:
    catalog = Catalog([crawl.root])
    (found,) = catalog.crawls()
    status = CrawlStates(CrawlRegistry.of(catalog, None)).status(found)
    html = Pages({"address": "", "replay_origin": "", "secret": ""}).text(
        "live_now.html", {"crawl": found, "status": status, "problem": ""}
    )
    figures = re.findall(r"<dt>([^<]*)</dt>\s*<dd[^>]*>([^<]*)<", html)
    return of_words(dict(figures), {"pages": "Pages", "objects": "Web objects", "failures": "Failed"})


def of_metrics(crawl: Crawl) -> Numbers:
    found: dict[str, float] = {}
    for line in crawl.service.get("/metrics").body.decode().splitlines():
        if not line.startswith("#"):
            name, _, value = line.rpartition(" ")
            found[name.partition("{")[0]] = found.get(name.partition("{")[0], 0.0) + float(value)
    return {
        "pages": int(found["aah_crawl_fetched_pages_total"]),
        "requests": int(found["aah_crawl_requests_total"]),
        "objects": int(found["aah_crawl_objects"]) if "aah_crawl_objects" in found else NOT_COUNTED,
        "failures": int(found.get("aah_crawl_failures_total", 0)),
        "refusals": int(found.get("aah_crawl_refused_links_total", 0)),
    }


def of_service(crawl: Crawl) -> Numbers:
    status = crawl.status()
    names = {"pages": "fetched", "requests": "requests", "failures": "failures", "refusals": "refusals"}
    objects = status["objects"]
    told = {name: int(str(status[shown])) for name, shown in names.items()}
    return {**told, "objects": NOT_COUNTED if objects is None else int(str(objects))}


def of_report(crawl: Crawl) -> Numbers:
    assert aah("report", crawl.folder).code == 0
    figures = dict(re.findall(r"<dt>([^<]*)</dt><dd>([^<]*)</dd>", (crawl.folder / "report.html").read_text("utf-8")))
    names = {"pages": "pages", "requests": "requests", "objects": "web objects", "failures": "failures"}
    return of_words(figures, {**names, "refusals": "links refused"})


def of_terminal(err: str) -> list[Numbers]:
    """Return what each line of the display has told."""
    lines = [dict(re.findall(r"(?:^|; )([a-z ,]+): (.*?)(?=; [a-z ,]+: |$)", line)) for line in err.splitlines()]
    names = {"pages": "pages", "objects": "web objects", "failures": "failures"}
    return [of_words(line, names) for line in lines if set(names.values()) <= line.keys()]


def agreed(crawl: Crawl) -> Numbers:
    """Compare all places but the terminal, and return what they say."""
    told = numbers(CrawlCounts.of(counts_in_summary(summary(crawl.folder))))
    assert of_service(crawl) == told
    assert of_metrics(crawl) == told
    assert of_report(crawl) == told
    cockpit = of_cockpit(crawl)
    assert cockpit == {name: told[name] for name in cockpit}
    return told


def assert_as_kept(crawl: Crawl, told: Numbers) -> None:
    """Compare a crawl that has ended with what it has kept."""
    assert told["pages"] == len({row.url for row in page_rows(crawl.folder, 1) if row.is_page})
    assert told["requests"] == requests_of(crawl.folder)[1]
    assert told["objects"] == len(aah("objects", crawl.folder).out.splitlines())
    assert told["failures"] == len({each.failed for each in failures(crawl.folder / "refused", 1)})
    assert told["refusals"] == len(
        {(each.offer.url, each.reason) for each in read_refusals(crawl.folder / "refused", 1)}
    )


def test_a_crawl_that_runs_pauses_and_finishes(crawl: Crawl) -> None:
    with crawl.run() as process:
        process.until(lambda: crawl.gate.held > 0)
        process.until(crawl.is_settled)
        while_running = agreed(crawl)
        assert while_running["objects"] == NOT_COUNTED
        assert (crawl.status()["state"], while_running["failures"]) == ("running", 4)
        told = {name: while_running[name] for name in ("pages", "objects", "failures")}
        assert any(told in of_terminal(line) for line in process.process.stderr), "the display tells it"
        assert crawl.service.ask("POST", "/v1/crawls/test/pause", b"{}", Content_Type="application/json").status == 200
        crawl.gate.let_pass()
        process.until(lambda: crawl.status()["pages"]["leased"] == 0 and crawl.is_settled())  # type: ignore[index]
        assert crawl.status()["state"] == "paused"
        while_paused = agreed(crawl)
        assert int(while_paused["pages"]) > int(while_running["pages"])
        crawl.gate.open()
        assert crawl.service.ask("POST", "/v1/crawls/test/resume", b"{}", Content_Type="application/json").status == 200
        ended = process.ended()
    finished = agreed(crawl)
    assert (crawl.status()["state"], finished["pages"], finished["objects"]) == ("finished", 8, 16)
    assert_as_kept(crawl, finished)
    assert f": {finished['pages']} pages, {finished['objects']} web objects; " in ended.err.splitlines()[-1]


def test_a_crawl_that_is_killed_and_goes_on(crawl: Crawl) -> None:
    with crawl.run() as process:
        process.until(lambda: crawl.gate.held > 0)
        process.until(crawl.is_settled)
        before = agreed(crawl)
        os.killpg(process.process.pid, 9)
    until(lambda: crawl.status()["state"] == "stopped")
    killed = agreed(crawl)
    assert killed == before
    assert "not yet counted" in str(crawl.status()["reason"])
    crawl.gate.open()
    with crawl.run() as process:
        process.ended()
    finished = agreed(crawl)
    assert (finished["pages"], finished["objects"]) == (8, 16)
    assert_as_kept(crawl, finished)
