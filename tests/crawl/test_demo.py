"""The demo as its user runs it, and what becomes of it when the definition changes and the code does not."""

import os
import re
import resource
import subprocess
import sys
from collections import Counter
from operator import itemgetter
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import yaml

from examples import demo
from examples.serve import WORLD, serve
from tests.crawl.crawling import aah, rows, summary
from tests.crawl.verifying import archived, assert_whole
from tests.pace import allowed

PROJECT = Path(__file__).parents[2]
FORUM, COOKING, FOOTBALL = "harbourforum.example", "oven-and-ladle.example", "kickoff-weekly.example"
CHRONICLE = "varhaven-chronicle.example"
TOPICS = {
    FORUM: ["flood", "storm surge", "sea wall", "evacuation"],
    COOKING: ["baking", "dough", "oven", "recipe", "soup"],
    FOOTBALL: ["football", "goal", "match", "penalty", "league"],
}


def test_the_demo_collects_the_flood_and_avoids_what_it_should(tmp_path: Path) -> None:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [sys.executable, "-m", "examples.demo"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(PROJECT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    assert used < allowed(20)
    said = done.stdout.splitlines()
    begin = next(number for number, line in enumerate(said) if line.startswith("Collected"))
    lines, searched = said[begin : begin + 5], said[begin + 5 :]
    assert searched[0].startswith("Search")
    assert [line[:3] for line in searched if re.match(r"\d\. ", line)] == ["1. ", "2. ", "3. "]
    assert "flood" in searched[1].lower() + searched[3].lower()
    assert [line.split()[0] for line in lines] == ["Collected", "Extracted", "Avoided", "Strayed", "Open"]
    crawl = tmp_path / "crawls" / "demo"
    assert lines[4].split()[1] == "crawls/demo/report.html"
    assert (tmp_path / lines[4].split()[1]).is_file()
    known = demo.Known.read(WORLD)
    captured = archived(crawl)
    assert len(known.on_topic & set(captured)) >= 0.9 * len(known.on_topic)
    assert re.search(rf"{len(known.on_topic & set(captured))} of the {len(known.on_topic)} pages", lines[0])
    hosts = Counter(urlsplit(url).netloc for url in captured)
    assert sum(hosts[host] for host in known.off_topic_hosts) <= 0.1 * captured.total()
    assert hosts["best-offers.test"] == 0, "the ICD lists it as spam"
    # A slow machine gives the town hall's Crawl-delay time for a few links of little worth; the calendar has no end.
    assert sum("/calendar/?" in url for url in captured) <= 0.05 * captured.total()
    assert not [url for url in captured if "coastcourier.example/subscribers" in url], "robots.txt forbids it"
    assert not [url for url in captured if re.search(r"mode=(login|register|reply)|sid=|wp-login|action=login", url)]
    counted = summary(crawl)
    assert counted["seconds"] < 30 + 10 * used, "it waits for little else than the processor"
    assert counted["refused"]["spam"] > 0
    assert counted["blocked"]["robots"] > 0
    assert {"phpBB", "WordPress", "MyBB"} < set(counted["application"])
    assert counted["object"].keys() >= {"post", "reply", "comment", "article"}
    assert_whole(crawl)


def crawled(folder: Path, topic: list[str], seeds: list[str], pages: int, sites: str = "anywhere") -> Path:
    """Crawl the demo's world by the demo's definition with another topic, other seeds and a smaller budget."""
    with serve() as server:
        definition = demo.at_port(demo.DEFINITION, server.port, folder / "icd.yaml")
        content = yaml.safe_load(definition.read_text("utf-8"))
        content["topic"] = {"keywords": topic}
        content["seeds"] = [f"http://{host}/" for host in seeds]
        content["limits"] |= {"pages": pages, "requisite_bytes": 0}
        content["scope"]["sites"] = sites
        content["output"] = str(folder / "crawl")
        definition.write_text(yaml.safe_dump(content), "utf-8")
        ended = aah("crawl", definition)
    assert ended.code == 0, ended.err
    return folder / "crawl"


def hosts_of(crawl: Path) -> Counter[str]:
    return Counter(urlsplit(row["url"]).netloc for row in rows(crawl))


@pytest.mark.parametrize("about", [COOKING, FOOTBALL])
def test_another_topic_makes_another_crawl(about: str, tmp_path: Path) -> None:
    crawl = crawled(tmp_path, TOPICS[about], list(TOPICS), pages=14)
    hosts = hosts_of(crawl)
    assert set(hosts) == set(TOPICS), "each seed was fetched"
    assert hosts[about] > 0.6 * hosts.total()
    scores = {urlsplit(row["url"]).netloc: row["score"] for row in sorted(rows(crawl), key=itemgetter("score"))}
    assert max(scores, key=lambda host: scores[host]) == about


def test_other_seeds_make_another_crawl(tmp_path: Path) -> None:
    crawl = crawled(tmp_path, TOPICS[FORUM], [CHRONICLE], pages=12, sites="seeds")
    assert hosts_of(crawl) == {CHRONICLE: 12}
