"""Numbers for Prometheus, read by the rules of its text format and of its names."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from aahcrawler.service.api.app import ServiceSettings
from aahcrawler.service.catalog.crawl_catalog import Catalog
from tests.service.asking import Service, serving
from tests.service.views.folders import serving_frontier, write_crawl

NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\[\\"n])*)"(?:,(?=[a-zA-Z_])|$)')
SAMPLE = re.compile(rf"({NAME})(?:\{{(.+)\}})? (-?[0-9]+(?:\.[0-9]+)?(?:e[+-]?[0-9]+)?|NaN|[+-]Inf)")
HELP = re.compile(rf"# HELP ({NAME}) ((?:[^\\]|\\[\\n])+)")
TYPE = re.compile(rf"# TYPE ({NAME}) (gauge|counter)")
UNITS = ("_total", "_bytes", "_seconds", "_ratio")
Series = tuple[str, tuple[tuple[str, str], ...]]


@dataclass(slots=True)
class Scrape:
    """What a scrape says: the kind of each family, and its series with their values."""

    kinds: dict[str, str] = field(default_factory=dict)
    values: dict[Series, float] = field(default_factory=dict)

    @classmethod
    def parse(cls, text: str) -> "Scrape":
        """Read a scrape. Fail where it is not as the format has it."""
        assert text.endswith("\n")
        scrape, family = cls(), ""
        lines = iter(text.split("\n")[:-1])
        for line in lines:
            if line.startswith("#"):
                said, typed = HELP.fullmatch(line), TYPE.fullmatch(next(lines))
                assert said is not None, line
                assert typed is not None
                assert said[1] == typed[1], "HELP and TYPE are of one family"
                family = said[1]
                assert family not in scrape.kinds, f"{family} is told once, with all of its series"
                scrape.kinds[family] = typed[2]
                continue
            found = SAMPLE.fullmatch(line)
            assert found is not None, line
            assert found[1] == family, "a sample stands below its family"
            series = family, tuple(sorted(labels(found[2] or "").items()))
            assert series not in scrape.values, f"{series} is there twice"
            scrape.values[series] = float(found[3])
        return scrape


def labels(text: str) -> Mapping[str, str]:
    found, at = dict[str, str](), 0
    while at < len(text):
        label = LABEL.match(text, at)
        assert label is not None, text
        assert label[1] not in found, text
        found[label[1]] = re.sub(r"\\(.)", lambda sign: {"n": "\n"}.get(sign[1], sign[1]), label[2])
        at = label.end()
    return found


def scraped(service: Service) -> Scrape:
    answer = service.get("/metrics")
    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    return Scrape.parse(answer.body.decode())


def test_scrapes_are_as_the_format_has_them_and_counters_only_grow(tmp_path: Path) -> None:
    odd = 'an "odd"\nreason\\n, {x="y"} \x1b\r\ud7ff ü'
    icd = write_crawl(tmp_path / "crawl")
    write_crawl(tmp_path / "rests")
    with (
        serving_frontier(tmp_path / "crawl", icd) as frontier,
        serving(ServiceSettings(Catalog([tmp_path]))) as service,
    ):
        frontier.count(
            {f"failed_url:{odd}": 3, "pages": 5, "bytes": 1e12, "seconds": 0.1, "requests": 7, "status:200": 7}
        )
        first = scraped(service)
        frontier.count({f"failed_url:{odd}": 2, "failed_url:other": 1, "pages": 1, "seconds": 0.2, "status:404": 1})
        second = scraped(service)
    for name, kind in second.kinds.items():
        assert name.startswith("aah_")
        assert (kind == "counter") == name.endswith("_total"), name
        assert "seconds" not in name or name.removesuffix("_total").endswith(UNITS), name
    grown = {series for series, value in first.values.items() if second.values[series] > value}
    for series, value in first.values.items():
        assert second.kinds[series[0]] == "gauge" or second.values[series] >= value, series
    shown = odd.replace("\r", " ")
    crawl = ("crawl", "test")
    assert ("aah_crawl_failures_total", (crawl, ("reason", shown))) in grown
    assert ("aah_crawl_fetched_pages_total", (crawl,)) in grown
    assert second.values["aah_crawl_received_bytes_total", (crawl,)] >= 1e12
    states = [value for (name, _), value in second.values.items() if name == "aah_crawl_state"]
    assert sum(states) == 1
    assert set(states) == {0.0, 1.0}
