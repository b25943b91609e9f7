"""Archived pages that are read again: with a better knowledge base, without asking the site for anything."""

import os
import re
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from signal import SIGKILL
from typing import Any

import pytest
from filelock import FileLock

from aahcrawler.layout import READINGS
from aahcrawler.page_index import PageIndex
from tests.adaptation.redesigned import new, thread
from tests.crawl.board import FIELDS, a_month_later, board, know
from tests.crawl.crawling import EndedRun, rows, running, summary, write_icd
from tests.crawl.site import Reply, Site, serving
from tests.crawl.test_learned import FORUM
from tests.offline.shapes import crawl_violations

CARELESS = '<field name="body"><select css="b"/></field>'
"""Takes the author's name for what was said."""

KILLING = """
import os, signal
from functools import partial
from aahcrawler import jobs
from aahcrawler.jobs import Job
from aahcrawler.objects.writer import ObjectWriter
from aahcrawler.cli import main
from offline import rereading

done = 0

def killing(act):
    def acted(*arguments):
        global done
        done += 1
        if done == {after}:
            os.kill(os.getpid(), signal.SIGKILL)
        return act(*arguments)
    return acted

if __name__ == "__main__":
    rereading.Job = partial(Job, at_once=2)
    jobs.Journal.note = killing(jobs.Journal.note)
    ObjectWriter.append_reading = killing(ObjectWriter.append_reading)
    main()
"""
"""Ends by SIGKILL before one of the moments at which a reading, or that some are written, is written down."""


@dataclass(frozen=True)
class Folder:
    """The folder of a crawl, beside its definition and its knowledge base."""

    root: Path
    site: Site

    @property
    def crawl(self) -> Path:
        return self.root / "crawl"

    @property
    def environment(self) -> Mapping[str, str]:
        return {**os.environ, "AAH_KNOWLEDGE_BASE": str(self.root / "known")}

    def aah(self, *arguments: str | Path) -> EndedRun:
        with running(*arguments, environment=self.environment) as process:
            ended = process.ended()
        assert ended.code == 0, ended.err
        return ended

    def reread(self, *options: str) -> list[int]:
        """Return the numbers that the command says: read, changed, same, not to be had."""
        said = self.aah("reread", self.crawl, *options).out.strip().partition(": ")[2]
        return [int(number) for number in re.findall(r"\d+", said)]

    def objects(self) -> dict[str, dict[str, Any]]:
        found = rows(self.crawl, "objects")
        assert len(found) == len({row["iri"] for row in found})
        return {row["iri"].rpartition("#")[2]: row for row in found}

    def asked(self, sparql: str) -> list[str]:
        return self.aah("query", self.crawl, sparql, "--format", "csv").out.split()[1:]

    def edits(self) -> list[str]:
        return [
            said.rpartition("#")[2]
            for said in self.asked("SELECT ?post { GRAPH ?capture { ?capture aah:edited ?post } }")
        ]


@pytest.fixture(scope="module")
def crawled_twice(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Folder]:
    """Crawl a forum with a careless knowledge base, and again a month later."""
    root = tmp_path_factory.mktemp("crawled")
    with serving(board()) as site:
        write_icd(root, site.url)
        know(root / "known", CARELESS)
        crawled = Folder(root, site)
        crawled.aah("crawl", root / "icd.yaml")
        a_month_later(site)
        crawled.aah("crawl", root / "icd.yaml")
        yield crawled


@pytest.fixture
def folder(crawled_twice: Folder, tmp_path: Path) -> Folder:
    """Return a copy of that, for one test to change."""
    shutil.copytree(crawled_twice.root, tmp_path, dirs_exist_ok=True)
    return Folder(tmp_path, crawled_twice.site)


def test_a_better_knowledge_base_reads_the_archive_again(folder: Folder) -> None:
    before, asked, pages = folder.objects(), len(folder.site.asked), rows(folder.crawl)
    assert {row["body"] for row in before.values()} == set(before)
    assert folder.edits() == []
    know(folder.root / "known", f'{FIELDS}<field name="title"><select css="b"/></field>')
    read, changed, same, missing = folder.reread()
    assert (read, missing) == (read, 0)
    assert read == changed + same
    assert changed >= 9
    after = folder.objects()
    assert len(folder.site.asked) == asked
    assert set(after) == set(before)
    assert {name: row["title"] for name, row in after.items()} == {name: name for name in after}
    assert after["p7"]["body"].endswith("Edited.")
    assert {name for name, row in after.items() if row["deleted"]} == {
        name for name, row in before.items() if row["deleted"]
    }
    assert folder.edits() == ["p7"], "what the reader got wrong is no edit, what it missed is one"
    again = rows(folder.crawl)
    assert [(row["url"], row["status"], row["score"]) for row in again] == [
        (row["url"], row["status"], row["score"]) for row in pages
    ]
    assert Counter(row["method"] for row in again)["reread"] == changed
    said = folder.asked("SELECT ?text { GRAPH ?capture { ?post schema:text ?text } }")
    assert not {text for text in said if text in before}, "no former reading is left in the store"
    assert crawl_violations(folder.crawl) == []


def test_reading_again_twice_adds_nothing(folder: Folder) -> None:
    know(folder.root / "known")
    folder.reread()
    after, said = folder.objects(), folder.aah("objects", folder.crawl, "--format", "nq").out
    assert folder.reread("--all")[1] == 0
    assert folder.reread()[1] == 0
    assert folder.objects() == after
    assert folder.aah("objects", folder.crawl, "--format", "nq").out == said
    assert sum(READINGS in path.name for path in (folder.crawl / "objects").iterdir()) == 1


@pytest.fixture(scope="module")
def never_killed(crawled_twice: Folder, tmp_path_factory: pytest.TempPathFactory) -> Folder:
    """Return a copy that was read again with a better knowledge base."""
    copy = Folder(tmp_path_factory.mktemp("whole"), crawled_twice.site)
    shutil.copytree(crawled_twice.crawl, copy.crawl)
    know(copy.root / "known", f'{FIELDS}<field name="title"><select css="b"/></field>')
    copy.reread()
    return copy


@pytest.mark.parametrize("after", [4, 14, *(pytest.param(each, marks=pytest.mark.soak) for each in (1, 9))])
def test_a_kill_in_between_is_made_good_by_the_next_one(folder: Folder, after: int, never_killed: Folder) -> None:
    """The one after it has the result of one that was never killed, whatever the knowledge base was meanwhile."""
    know(folder.root / "known", f'{FIELDS}<field name="title"><select css="b"/></field>')
    before = folder.objects()
    with running("reread", folder.crawl, environment=folder.environment, code=KILLING.format(after=after)) as process:
        assert process.ended().code == -SIGKILL
    between = folder.objects()
    assert set(between) == set(before)
    whole = never_killed.objects()
    assert all(row in (before[name], whole[name]) for name, row in between.items()), "no half of a reading"
    folder.reread("--processes", "2")
    assert folder.objects() == whole
    assert folder.reread()[1] == 0
    assert folder.aah("archive", "check", folder.crawl).code == 0
    assert Counter(row["method"] for row in rows(folder.crawl)) == Counter(
        row["method"] for row in rows(never_killed.crawl)
    )


def test_readings_follow_one_another(folder: Folder) -> None:
    know(folder.root / "known")
    folder.reread()
    know(folder.root / "known", CARELESS)
    folder.reread()
    know(folder.root / "known", f'{FIELDS}<field name="title"><select css="b"/></field>')
    folder.aah("load", folder.crawl)
    folder.reread("--prefix", f"{folder.site.url}t/e")
    found = folder.objects()
    assert found["p6"]["title"] == "p6"
    assert found["p5"]["body"] == "p5"
    told = folder.asked("SELECT ?text { GRAPH ?capture { ?post schema:text ?text ; dcterms:title ?title } }")
    assert told
    assert folder.reread("--url", f"{folder.site.url}t/same", "--crawl", "1")[0] == 1


def test_an_edit_of_the_reader_is_no_edit_of_the_page(tmp_path: Path) -> None:
    with serving(board()) as site:
        write_icd(tmp_path, site.url)
        know(tmp_path / "known", CARELESS)
        crawled = Folder(tmp_path, site)
        crawled.aah("crawl", tmp_path / "icd.yaml")
        a_month_later(site)
        know(tmp_path / "known", f'{FIELDS}<field name="title"><select css="b"/></field>')
        crawled.aah("crawl", tmp_path / "icd.yaml")
    found = crawled.objects()
    assert crawled.edits() == ["p7"]
    assert {name for name, row in found.items() if row["deleted"]} == {"p8", "p10", "p11"}
    assert found["p7"]["body"].endswith("Edited.")


SEEING, BLIND = 'css="div.post"', 'css="div.post:not(#p6)"'
"""Of two knowledge bases one misses a post that stays where it is."""


@pytest.mark.slow
@pytest.mark.parametrize("readers", [(SEEING, BLIND, SEEING), (BLIND, SEEING, BLIND)])
def test_what_a_reader_in_between_saw_or_missed_was_not_deleted(tmp_path: Path, readers: tuple[str, ...]) -> None:
    def teach(items: str) -> None:
        file = know(tmp_path / "known") / "applications" / "board.xml"
        file.write_text(file.read_text("utf-8").replace(SEEING, items), "utf-8")

    with serving(board()) as site:
        write_icd(tmp_path, site.url)
        crawled = Folder(tmp_path, site)
        teach(readers[0])
        crawled.aah("crawl", tmp_path / "icd.yaml")
        teach(readers[1])
        crawled.aah("reread", crawled.crawl)
        a_month_later(site)
        teach(readers[2])
        crawled.aah("crawl", tmp_path / "icd.yaml")
        with PageIndex(crawled.crawl) as index:
            index.catch_up()
            gone = index.base.execute("SELECT iri FROM object WHERE deleted IS NOT NULL").fetchall()
    deleted = {name for name, row in crawled.objects().items() if row["deleted"]}
    assert deleted == {iri.rpartition("#")[2] for (iri,) in gone} == {"p8", "p10", "p11"}
    assert crawled.edits() == ["p7"]


LARGE = b"<!--" + b"x" * 2_100_000 + b"-->"
"""What makes a page too large to be repaired, though not to be read."""


def test_a_page_from_before_a_repair_is_read_again_while_the_crawl_runs(tmp_path: Path) -> None:
    known = tmp_path / "known" / "applications" / "harbour.xml"
    known.parent.mkdir(parents=True)
    known.write_text(FORUM, "utf-8")
    site = Site({f"/thread?t={number}": Reply(thread(number, new).body) for number in range(1, 6)})
    site.pages["/thread?t=1"] = Reply(thread(1, new).body + LARGE)
    with serving(site):
        write_icd(tmp_path, *(f"{site.url}thread?t={number}" for number in range(1, 6)))
        crawled = Folder(tmp_path, site)
        crawled.aah("crawl", tmp_path / "icd.yaml")
        assert len(site.asked) == len({asked.path for asked in site.asked}), "nothing is fetched for it"
    told = summary(crawled.crawl)
    assert told["reread"] >= 1
    assert (told["objects"], told["object"]) == (15, {"reply": 10, "post": 5})
    assert len(rows(crawled.crawl, "objects")) == 15
    assert {row["url"][-1]: row["method"] for row in rows(crawled.crawl)} == {
        "1": "repair",
        **{str(number): "first" for number in range(2, 6)},
    }
    log = (crawled.crawl / "crawl.log").read_text("utf-8")
    assert "thread?t=1 read again: 3 objects, 0 before" in log


def test_a_folder_in_use_and_one_of_no_crawl_are_refused(folder: Folder) -> None:
    environment = {**os.environ, "AAH_KNOWLEDGE_BASE": str(folder.root / "known")}
    with FileLock(folder.crawl / ".lock"), running("reread", folder.crawl, environment=environment) as process:
        ended = process.ended()
    assert (ended.code, "a crawl is running in this folder" in ended.err) == (2, True)
    with running("reread", folder.root, environment=environment) as process:
        ended = process.ended()
    assert (ended.code, "name a crawl's folder" in ended.err) == (2, True)
