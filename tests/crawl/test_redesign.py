"""A site that changes its template between two crawls, from the first failure to the promoted knowledge base."""

import gzip
import json
import os
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.adaptation.redesigned import Skin, new, old, said, thread
from tests.crawl.crawling import ICD, EndedRun, running
from tests.crawl.site import Reply, Site, serving
from tests.crawl.test_learned import FORUM

THREADS = range(1, 7)
EMPTY = 9
"""A thread whose posts are gone after the redesign."""


def show(site: Site, skin: Skin) -> None:
    """Put up all threads in a skin."""
    for number in (*THREADS, EMPTY):
        shown = () if number == EMPTY and skin is new else None
        site.pages[f"/thread?t={number}"] = Reply(thread(number, skin, shown).body)


def aah(*arguments: str | Path, knowledge_base: str, adaptation: str = "1") -> EndedRun:
    environment = {**os.environ, "AAH_KNOWLEDGE_BASE": knowledge_base, "AAH_ADAPTATION": adaptation}
    with running(*arguments, environment=environment) as process:
        return process.ended()


@dataclass(frozen=True)
class Redesigned:
    """A site that was crawled before and after its redesign, and once more with what was promoted."""

    folder: Path
    own: Path
    promoted: EndedRun
    listed: EndedRun
    tried: EndedRun
    rejected: EndedRun

    @property
    def crawl(self) -> Path:
        return self.folder / "crawl"

    @property
    def summary(self) -> dict[str, Any]:
        return summary(self.crawl)


def summary(crawl: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((crawl / "crawl.json").read_text("utf-8"))
    return found


def crawled(folder: Path, name: str, site: Site, knowledge_base: str, adaptation: str = "1") -> EndedRun:
    seeds = json.dumps([f"{site.url}thread?t={number}" for number in (*THREADS, EMPTY)])
    definition = folder / f"{name}.yaml"
    definition.write_text(ICD.format(seeds=seeds, output=json.dumps(str(folder / name))), "utf-8")
    ended = aah("crawl", definition, knowledge_base=knowledge_base, adaptation=adaptation)
    assert ended.code == 0, ended
    return ended


@pytest.fixture(scope="module")
def redesigned(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Redesigned]:
    folder = tmp_path_factory.mktemp("redesign")
    mine, own = folder / "mine", folder / "own"
    (mine / "applications").mkdir(parents=True)
    (mine / "applications" / "harbour.xml").write_text(FORUM, "utf-8")
    both = f"{mine}{os.pathsep}{own}"
    with serving(Site()) as site:
        show(site, old)
        crawled(folder, "crawl", site, str(mine))
        show(site, new)
        crawled(folder, "crawl", site, str(mine))
        listed = aah("kb", "learned", folder / "crawl", "--kb", str(mine), knowledge_base="")
        promoted = aah("kb", "promote", folder / "crawl", "learned-posts-1", "--kb", both, knowledge_base="")
        tried = aah("kb", "test", "--kb", both, knowledge_base="")
        crawled(folder, "again", site, both, adaptation="0")
        shutil.copytree(folder / "crawl", folder / "rejected")
        reason = ("--because", "it takes adverts for posts", "--as-person", "Ada")
        rejected = aah(
            "kb", "reject", folder / "rejected", "learned-posts-1", *reason, "--kb", str(mine), knowledge_base=""
        )
        crawled(folder, "rejected", site, str(mine))
        yield Redesigned(folder, own, promoted, listed, tried, rejected)


def bodies(crawl: Path) -> set[str]:
    """Return the texts of all objects that a crawl has stated."""
    files = sorted((crawl / "objects").glob("*.nq.gz"))
    lines = (line for file in files for line in gzip.decompress(file.read_bytes()).decode().splitlines())
    literal = re.compile(r'^\S+ <(?:https?://schema\.org/text|http://rdfs\.org/sioc/ns#content)> "(.*)"(?:\S*) \S+ \.$')
    return {found[1].replace('\\"', '"') for line in lines if (found := literal.match(line))}


def statements(crawl: Path, name: str) -> int:
    files = sorted((crawl / "objects").glob("*.nq.gz"))
    return sum(gzip.decompress(file.read_bytes()).decode().count(f"term:{name}>") for file in files)


def test_the_posts_are_found_again_and_the_failures_are_told(redesigned: Redesigned) -> None:
    found = redesigned.summary
    assert (found["crawl"], found["pages"], found["changed"]) == (2, 7, 7)
    assert found["object"] == {"reply": 12, "post": 6}
    assert found["failed_actions"] == sum(found["failed"].values()) == sum(found["failure"].values())
    assert found["mended"] == {"Harbour Board/thread/posts: stopped-working": found["failure"]["stopped-working"]}
    assert found["failed_actions"] < 4
    assert found["learned"]["learned-posts-1"] >= 4


def test_the_redesign_is_no_change_of_the_posts(redesigned: Redesigned) -> None:
    assert statements(redesigned.crawl, "added") == statements(redesigned.crawl, "edited") == 0
    assert statements(redesigned.crawl, "deleted") == 3


def test_the_log_says_what_failed_where_and_what_was_learned(redesigned: Redesigned) -> None:
    log = (redesigned.crawl / "crawl.log").read_text("utf-8")
    assert re.search(r"WARNING \S+ http://\S+/thread\?t=\d: Harbour Board/thread/posts: stopped-working \(3 of 3", log)
    assert re.search(
        r"INFO \S+ Harbour Board: thread: posts learned on 127\.0\.0\.1:\d+ \(memory, stopped-working", log
    )


def test_the_report_shows_it_with_its_evidence(redesigned: Redesigned) -> None:
    report = (redesigned.crawl / "report.html").read_text("utf-8")
    part = report.partition("Actions that failed")[2].partition("<h2>")[0]
    assert "Harbour Board/thread/posts" in part
    assert "found none of its former results any more" in part
    assert "by the content of pages in a former crawl" in part
    assert "/thread?t=" in part
    first = (redesigned.crawl / "former" / "1" / "report.html").read_text("utf-8")
    assert "No action failed." in first


def test_a_person_can_look_at_it_and_take_it_over(redesigned: Redesigned) -> None:
    assert redesigned.listed.code == 0
    assert "learned-posts-1: Harbour Board, level thread, action posts" in redesigned.listed.out
    assert "- .post\n    + article.entry" in redesigned.listed.out
    assert redesigned.promoted.code == 0, redesigned.promoted
    assert "1 page, none failed" in redesigned.tried.out
    assert 'css="article.entry"' in (redesigned.own / "applications" / "harbour.xml").read_text("utf-8")


def test_with_what_was_promoted_nothing_has_to_be_learned(redesigned: Redesigned) -> None:
    found = summary(redesigned.folder / "again")
    assert found["object"] == {"reply": 12, "post": 6}
    assert found["learned"] == {}
    assert not (redesigned.folder / "again" / "learned").exists()
    assert bodies(redesigned.folder / "again") == {str(body) for number in THREADS for body in said(number)}


def test_what_a_person_rejected_is_not_used_by_the_next_crawl_of_the_folder(redesigned: Redesigned) -> None:
    assert redesigned.rejected.code == 0, redesigned.rejected
    found = summary(redesigned.folder / "rejected")
    assert found["crawl"] == 3
    assert found["learned"] == {}
    log = (redesigned.folder / "rejected" / "crawl.log").read_text("utf-8")
    assert "what could be learned here was rejected" in log
