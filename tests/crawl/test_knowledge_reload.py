"""A crawl reads its knowledge base from the folders it is told, refuses a broken one, and follows changes."""

import asyncio
import gc
import os
import shutil
from pathlib import Path

import pytest

from aahcrawler.crawl.reload import knowledge_reload
from aahcrawler.crawl.reload.knowledge_reload import LiveKnowledgeBase, ValidatedFiles
from aahcrawler.helper.site_memory import Sites
from knowledge_base.loader import LoadError, load
from knowledge_base.model import KnowledgeBase
from tests.crawl.crawling import PATIENCE, EndedRun, rows, running, scrapy, summary, write_icd
from tests.crawl.site import Reply, Site, html, serving

TINY = """<?xml version="1.0"?>
<application name="Tiny Notes" kind="blog">
  <detect><pattern strength="proof" css="#tiny-notes" cite="unproven: made up"/></detect>
  <level name="note" role="terminal">
    <when css="#note"/>
    <navigate name="next" to="note"><select css="a.next"/></navigate>
    <extract name="note" type="post">
      <item css="#note"/>
      <field name="body"><select css=".said"/></field>
    </extract>
  </level>
</application>
"""
BROKEN = TINY.replace('css="#note"/>\n    <nav', 'css="#note["/>\n    <nav')
PAUSE = 0.2


def note(path: str) -> Reply:
    """Return a note that no generic rule takes for an object, with a link to the next one."""
    number = int(path.strip("/") or 0)
    body = f'<div id="tiny-notes"><div id="note"><p class="said">Note {number}</p></div></div>'
    page = html(f"Note {number}", body + f'<a class="next" href="/{number + 1}">next</a>')
    return Reply(page.body, pause=PAUSE)


def site_of_notes() -> Site:
    return Site({"/robots.txt": Reply(status=404)}, other=note)


def crawl(icd: Path, setting: str) -> EndedRun:
    with running("crawl", icd, environment={**os.environ, "AAH_KNOWLEDGE_BASE": setting}) as crawler:
        return crawler.ended()


def write(folder: Path, text: str, name: str = "tiny.xml") -> Path:
    """Put a file where the crawl looks, in one step, as editors do that know their trade."""
    file = folder / "applications" / name
    file.parent.mkdir(parents=True, exist_ok=True)
    beside = folder / "beside"
    beside.write_text(text, "utf-8")
    return beside.rename(file)


def test_the_folders_come_from_environment_or_setting(tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    write(mine, TINY)
    more = "limits: {pages: 1}\n"
    with serving(site_of_notes()) as site:
        for number, (setting, objects) in enumerate([(f"shipped{os.pathsep}{mine}", 1), ("", 0)]):
            folder = tmp_path / str(number)
            folder.mkdir()
            ended = crawl(write_icd(folder, site.url, more=more), setting)
            assert ended.code == 0, ended.err
            assert summary(folder / "crawl")["objects"] == objects
        folder = tmp_path / "scrapy"
        folder.mkdir()
        icd = write_icd(folder, site.url, more=more)
        ended = scrapy("crawl", "aah", "-a", f"icd={icd}", "-s", f"AAH_KNOWLEDGE_BASE={mine}")
        assert ended.code == 0, ended.err
        assert summary(folder / "crawl")["objects"] == 1


@pytest.mark.parametrize("setting", ["shipped{sep}{mine}", "{nowhere}"])
def test_nothing_is_begun_with_a_broken_knowledge_base(setting: str, tmp_path: Path) -> None:
    mine, nowhere = tmp_path / "mine", tmp_path / "nowhere"
    file = write(mine, BROKEN)
    with serving(site_of_notes()) as site:
        icd = write_icd(tmp_path, site.url)
        ended = crawl(icd, setting.format(mine=mine, nowhere=nowhere, sep=os.pathsep))
        assert (ended.code, ended.out) == (2, ""), ended
        (line,) = ended.err.splitlines()
        assert line.startswith(f"{nowhere}:0: there is no" if "nowhere" in setting else f"{file}:5: this is no CSS")
        assert not site.asked
    assert not (tmp_path / "crawl").exists()


def test_a_running_crawl_takes_a_changed_knowledge_base_and_leaves_a_broken_one(tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    other = write(mine, TINY.replace("tiny-notes", "other-notes").replace("Tiny", "Other"), "other.xml")
    with serving(site_of_notes()) as site:
        icd, log = write_icd(tmp_path, site.url, more="limits: {pages: 400}\n"), tmp_path / "crawl" / "crawl.log"
        setting = f"shipped{os.pathsep}{mine}"
        with running("crawl", icd, environment={**os.environ, "AAH_KNOWLEDGE_BASE": setting}) as crawler:
            crawler.until(lambda: len(site.paths()) > 2)
            file = write(mine, BROKEN)
            crawler.until(lambda: "stays in use" in log.read_text("utf-8"))
            before = len(site.paths())
            write(mine, TINY)
            crawler.until(lambda: "knowledge base replaced" in log.read_text("utf-8"))
            after = len(site.paths())
            crawler.until(lambda: len(site.paths()) > after + 3)
            write(mine, TINY.replace(".said", "@nothing"))
            crawler.until(lambda: log.read_text("utf-8").count("stays in use") == 2)
            last = len(site.paths())
            crawler.until(lambda: len(site.paths()) > last + 3)
            crawler.interrupt()
            assert crawler.ended().code == 0
    said = log.read_text("utf-8")
    assert f"ERROR crawl.reload.knowledge_reload {file}:5: this is no CSS selector" in said
    assert "(new: tiny.xml) is not used" in said
    assert "INFO crawl.reload.knowledge_reload knowledge base replaced (changed: tiny.xml): " in said
    known = [row["application"] for row in sorted(rows(tmp_path / "crawl"), key=lambda row: row["fetched_at"])]
    first = known.index("Tiny Notes")
    assert before - 1 <= first <= after, "from the page on that comes after the change"
    assert set(known[:first]) == {None}
    assert set(known[first:]) == {"Tiny Notes"}
    assert summary(tmp_path / "crawl")["objects"] == len(known) - first
    assert other.exists()


def test_what_is_known_of_sites_is_told_in_the_words_of_a_changed_knowledge_base(tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    write(mine, TINY)
    before, sites = load(mine).application("Tiny Notes"), Sites()
    sites.remember("http://a.test/1", before, before.patterns)
    write(mine, TINY.replace(".said", ".told"))
    again = load(mine)
    replayed_ranker = sites.under(again).recall("http://a.test/2")
    assert replayed_ranker == (again.application("Tiny Notes"), again.application("Tiny Notes").patterns)
    assert sites.recall("http://a.test/2") == (before, before.patterns)
    write(mine, TINY.replace('css="#tiny-notes"', 'css="#other-notes"'))
    assert sites.under(load(mine)).recall("http://a.test/2") is None
    write(mine, TINY.replace("Tiny Notes", "Small Notes"))
    assert sites.under(load(mine)).recall("http://a.test/2") is None


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "caches"))
    return tmp_path / "caches"


def loaded(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Path, ...]]:
    """Return a list to which the folders go that are loaded from now on."""
    calls: list[tuple[Path, ...]] = []

    def counting(*folders: Path) -> KnowledgeBase:
        calls.append(folders)
        return load(*folders)

    monkeypatch.setattr(knowledge_reload, "load", counting)
    return calls


def test_files_that_were_valid_are_loaded_when_they_are_needed(
    tmp_path: Path, own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, TINY)
    calls = loaded(monkeypatch)
    LiveKnowledgeBase((tmp_path,))
    assert len(calls) == 1
    second = LiveKnowledgeBase((tmp_path,))
    assert len(calls) == 1
    assert second.helper.application("Tiny Notes") is not None
    assert second.helper is second.helper
    assert len(calls) == 2
    write(tmp_path, TINY + "<!-- edited -->")
    LiveKnowledgeBase((tmp_path,))
    assert len(calls) == 3
    shutil.rmtree(own_cache)
    LiveKnowledgeBase((tmp_path,))
    assert len(calls) == 4


def test_an_edited_file_with_a_mistake_is_found_before_anything_is_begun(tmp_path: Path, own_cache: Path) -> None:
    write(tmp_path, TINY)
    LiveKnowledgeBase((tmp_path,))
    write(tmp_path, BROKEN)
    for _ in range(2):
        with pytest.raises(LoadError):
            LiveKnowledgeBase((tmp_path,))
    assert len(list(own_cache.glob("*/valid-knowledge-base.*"))) == 1
    assert ValidatedFiles((tmp_path, tmp_path)).are_valid is False


@pytest.mark.usefixtures("own_cache")
def test_a_crawl_fails_where_valid_files_were_broken_while_it_was_opened(tmp_path: Path) -> None:
    write(tmp_path, TINY)
    LiveKnowledgeBase((tmp_path,))
    opened = LiveKnowledgeBase((tmp_path,))
    write(tmp_path, BROKEN)
    failures: list[Exception] = []
    asyncio.run(opened.watch(lambda _: None, failures.append))
    (failure,) = failures
    assert isinstance(failure, LoadError)


@pytest.mark.slow
@pytest.mark.usefixtures("own_cache")
def test_what_was_loaded_while_a_crawl_runs_is_not_looked_through_for_garbage(tmp_path: Path) -> None:
    write(tmp_path, TINY)
    LiveKnowledgeBase((tmp_path,))
    opened, frozen = LiveKnowledgeBase((tmp_path,)), gc.get_freeze_count()
    failures: list[Exception] = []

    async def watching() -> None:
        watch = asyncio.create_task(opened.watch(lambda _: None, failures.append))
        while gc.get_freeze_count() == frozen:
            await asyncio.sleep(0.01)
        watch.cancel()

    try:
        asyncio.run(asyncio.wait_for(watching(), PATIENCE))
        assert gc.isenabled()
        assert failures == []
        knowledge_base = opened.helper.knowledge_base
        assert not any(each is knowledge_base for each in gc.get_objects())
    finally:
        gc.unfreeze()
