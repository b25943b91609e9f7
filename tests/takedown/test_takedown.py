"""Takedowns: what is removed is in no file, all else is as before, and a kill in between changes nothing."""

import fcntl
import gzip
import json
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

import pytest

from aahcrawler.annotations.judgements import (
    FramePage,
    Grade,
    MemberAnswer,
    Said,
    Seen,
    Wanted,
    decide_membership,
    draw,
    judge,
    judgements_of,
    keep,
    membership_of,
    samples_of,
)
from aahcrawler.layout import CHANGE_LOG, CHANGES, JUDGEMENTS, MEMBERSHIP, SAMPLES, STORE
from aahcrawler.revisits.change_log import ChangeLog, visits
from aahcrawler.revisits.visit_record import VisitRecord
from aahcrawler.segments import lines, segments
from aahcrawler.tombstones import read_tombstones
from tests.crawl.crawling import aah, rows, running, summary
from tests.crawl.site import Site, html, links, serving
from tests.crawl.verifying import archived, assert_whole
from tests.crawl.world import define
from tests.enrichment.archives import LONG, write_posts
from tests.takedown.floods import WORD, contents, holds, indexed, removed, url

STEPS = 21
"""How often the takedown of the tests replaces or deletes a file."""
KILLING = """
import os
from pathlib import Path

from aahcrawler import cli

left, replace, unlink = {after}, Path.replace, Path.unlink


def dying(change):
    def changed(*arguments, **named):
        global left
        if not left:
            os._exit(9)
        left -= 1
        return change(*arguments, **named)

    return changed


Path.replace, Path.unlink = dying(replace), dying(unlink)
cli.main()
"""
"""Runs ``aah`` and ends it, as a kill does, right before it replaces or deletes a file for the n-th time."""


def test_a_page_is_in_no_file_any_more_and_all_else_is_as_before(folder: Path) -> None:
    before = archived(folder)
    assert holds(folder, WORD)
    at = datetime(2026, 1, 1, tzinfo=UTC)
    with ChangeLog(folder / CHANGES, "another", 1, lambda: at) as log:
        log.visited(VisitRecord(url=url("/moved"), at=0, status=301, to=url("/2")))
        log.listed(url("/sitemap.xml"), at, {url("/2"): at, url("/1"): at})
        log.listed(url("/feed.xml"), at, {url("/1"): at})
        log.listed(url("/all.xml"), at, {}, {url("/2"): "daily"})
    visited = {visit.url for visit in visits(folder)}
    ended = removed(folder, "--url", url("/2"))
    assert ended.code == 0, ended.err
    assert not holds(folder, WORD)
    assert {visit.url for visit in visits(folder)} == visited - {url("/2"), url("/moved")}
    left = b"".join(line for path in segments(folder / CHANGES, CHANGE_LOG) for line in lines(path))
    assert url("/2").encode() + b'"' not in left
    assert url("/feed.xml").encode() in left
    del before[url("/2")]
    assert archived(folder) == before
    assert url("/2") not in indexed(folder)
    assert {url("/1"), url("/only.gif")} <= indexed(folder)
    assert url("/2") not in {row["url"] for row in rows(folder)}
    assert_whole(folder)
    assert aah("archive", "check", folder).code == 0
    assert f"(--requisites): {url('/only.gif')}" in ended.out
    assert url("/both.gif") not in ended.out


def test_who_and_why_is_kept_and_listed(folder: Path) -> None:
    removed(folder, "--url", url("/2"), "--prefix", url("/old/"))
    (stone,) = read_tombstones(folder)
    assert (stone.by, stone.reason, stone.captures) == ("Ida", "the author asked for it", 3)
    listed = aah("remove", folder, "--list").out
    for part in (stone.id, stone.at, "Ida", "the author asked for it", url("/old/"), url("/2")):
        assert part in listed


def test_a_dry_run_names_what_would_go_and_changes_nothing(folder: Path) -> None:
    before = list(contents(folder))
    ended = aah("remove", folder, "--prefix", url("/old/"), "--dry-run")
    assert ended.out.splitlines()[:2] == [url("/old/3"), url("/old/4")]
    assert "2 captures would be removed" in ended.out
    assert list(contents(folder)) == before


def test_requisites_of_a_page_alone_go_where_that_is_asked_for(folder: Path) -> None:
    ended = removed(folder, "--url", url("/2"), "--requisites")
    assert ended.code == 0, ended.err
    assert url("/only.gif") not in indexed(folder)
    assert url("/both.gif") in indexed(folder)
    assert not holds(folder, "GIF89aonly")


@pytest.mark.parametrize(("gone", "stays"), [("/twin", "/twin2"), ("/twin2", "/twin")])
def test_what_shows_the_same_under_another_url_stays(folder: Path, gone: str, stays: str) -> None:
    ended = removed(folder, "--url", url(gone))
    assert ended.code == 0, ended.err
    assert url(gone) not in archived(folder)
    kept = archived(folder)
    assert kept[url(stays)] == 1
    assert holds(folder, "Both of these say so.")
    assert aah("archive", "check", folder).code == 0
    assert_whole(folder)


def test_an_object_goes_with_all_pages_that_hold_it(folder: Path) -> None:
    objects = [json.loads(line) for line in aah("objects", folder).out.splitlines()]
    found = next(each["iri"] for each in objects if WORD in json.dumps(each))
    ended = removed(folder, "--object", found)
    assert ended.code == 0, ended.err
    assert not holds(folder, WORD)
    assert read_tombstones(folder)[0].urls == (url("/2"),)
    assert found not in aah("objects", folder).out


def test_mistakes_change_nothing(folder: Path) -> None:
    before = list(contents(folder))
    for options, said in {
        ("--url", url("/2")): "--reason",
        ("--reason", "x"): "name what to remove",
        ("--prefix", "old", "--reason", "x"): "http://",
        ("--object", "http://nothing.test/", "--reason", "x"): "no archived page",
        ("--lift", "nothing", "--reason", "x"): "no takedown of nothing stands",
    }.items():
        ended = aah("remove", folder, *options)
        assert ended.code == 2
        assert said in ended.err
    assert list(contents(folder)) == before


def test_the_crawls_own_store_goes_and_is_made_anew(folder: Path, tmp_path: Path) -> None:
    asked = ("query", folder, f'SELECT ?s {{ GRAPH ?g {{ ?s ?p ?o FILTER(CONTAINS(STR(?o), "{WORD}")) }} }}')
    assert url("/2") in aah(*asked).out
    assert (folder / STORE).is_dir()
    assert removed(folder, "--url", url("/2")).code == 0
    assert not (folder / STORE).exists()
    assert url("/2") not in aah(*asked).out
    assert (folder / STORE).is_dir()
    # A link leads to a store of somebody's own, which may hold other crawls.
    (folder / STORE).rename(tmp_path / "elsewhere")
    (folder / STORE).symlink_to(tmp_path / "elsewhere")
    assert removed(folder, "--url", url("/1")).code == 0
    assert not (folder / STORE).is_symlink()
    assert (tmp_path / "elsewhere").is_dir()


@pytest.mark.parametrize(
    "after", [pytest.param(each, marks=[pytest.mark.soak] if each % 3 else []) for each in range(STEPS + 1)]
)
def test_a_kill_at_any_step_is_finished_by_the_next_command(folder: Path, after: int) -> None:
    """Of the twins the one that holds the payload is removed, so that the other one has to be given it first."""
    options = ("remove", folder, "--url", url("/2"), "--url", url("/twin"), "--reason", "asked for", "--by", "Ida")
    before = archived(folder)
    with running(*options, code=KILLING.format(after=after)) as process:
        killed = process.ended()
    assert killed.code == (9 if after < STEPS else 0), killed.err
    begun = (folder / "removing.json").exists()
    if not begun and killed.code == 9:  # It died before it had begun, or right before it was over.
        assert archived(folder) in (before, before - Counter([url("/2"), url("/twin")]))
    ended = aah("pages", folder)
    assert ended.code == 0, ended.err
    assert not (folder / "removing.json").exists()
    if not begun and holds(folder, WORD):
        assert aah(*options).code == 0
    assert not holds(folder, WORD)
    assert holds(folder, "Both of these say so.")
    assert len(read_tombstones(folder)) == 1
    del before[url("/2")], before[url("/twin")]
    assert archived(folder) == before
    assert not list(folder.rglob("*.removing"))
    assert aah("archive", "check", folder).code == 0
    assert aah("objects", folder).code == 0


def test_nothing_is_fetched_again_until_it_is_lifted(tmp_path: Path) -> None:
    pages = {f"/{n}": html(f"Flood {n}", f"<p>The dike broke in the flood of year {n}.</p>") for n in range(4)}
    site = Site({"/": html("Floods", links(*pages) + "<p>All floods of the harbour.</p>"), **pages})
    with serving(site):
        definition = define(tmp_path, [site.url])
        folder = tmp_path / "crawl"
        assert aah("crawl", definition).code == 0
        assert removed(folder, "--url", f"{site.url}2").code == 0
        site.asked.clear()
        assert aah("crawl", definition).code == 0
        assert "/1" in site.paths()
        assert "/2" not in site.paths()
        assert summary(folder)["refused"]["taken_down"] >= 1
        assert aah("remove", folder, "--lift", f"{site.url}2", "--reason", "settled").code == 0
        site.asked.clear()
        assert aah("crawl", definition).code == 0
        assert "/2" in site.paths()
    assert archived(folder)[f"{site.url}2"] == 1
    assert "lifted" in aah("remove", folder, "--list").out


def test_a_queued_page_of_a_stopped_crawl_is_not_fetched(tmp_path: Path) -> None:
    pages = {f"/{n}": html(f"Flood {n}", f"<p>The dike broke in the flood of year {n}.</p>") for n in range(6)}
    site = Site({"/": html("Floods", links(*pages) + "<p>All floods of the harbour.</p>"), **pages})
    with serving(site):
        folder = tmp_path / "crawl"
        assert aah("crawl", define(tmp_path, [site.url], limits={"pages": 2})).code == 0
        left = sorted(set(pages) - set(site.paths()))
        assert left
        assert removed(folder, "--url", f"{site.url}{left[0][1:]}").code == 0
        assert aah("crawl", define(tmp_path, [site.url], limits={"pages": 100}), "--accept-changes").code == 0
        assert set(pages) - set(site.paths()) == {left[0]}


def test_a_folder_in_which_a_crawl_runs_is_left_alone(folder: Path) -> None:
    before = list(contents(folder))
    with (folder / ".lock").open("r+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        ended = removed(folder, "--url", url("/2"))
    assert ended.code == 2
    assert "a crawl is running" in ended.err
    assert list(contents(folder)) == before


def test_what_was_found_in_its_words_goes_at_once(folder: Path) -> None:
    write_posts(folder, [[("ann", LONG)]])
    done = aah("enrich", folder)
    assert done.code == 0, done.err
    names = b"<urn:aahcrawler:term:kind>"
    before = [gzip.decompress(path.read_bytes()).count(names) for path in (folder / "annotations").glob("*.nq.gz")]
    assert holds(folder / "annotations", WORD)
    ended = removed(folder, "--url", url("/2"))
    assert ended.code == 0
    assert f"aah enrich {folder} tells anew what is left" in ended.out
    assert not holds(folder, WORD)
    after = [gzip.decompress(path.read_bytes()).count(names) for path in (folder / "annotations").glob("*.nq.gz")]
    assert 0 < sum(after) < sum(before)
    assert aah("enrich", folder).code == 0
    assert not holds(folder, WORD)


def test_judgements_and_samples_of_a_page_go_with_it(folder: Path) -> None:
    seen = [Seen(url(path)) for path in ("/1", "/2")]
    judge(folder, "anna", *(Said(page, Grade.RELEVANT, f"like {url('/2')}") for page in seen))
    decide_membership(folder, [page.url for page in seen], MemberAnswer.MEMBER, "anna", "by hand")
    frame = [FramePage(page.url, "urn:uuid:1", "", 0.5, True) for page in seen]
    keep(folder, draw(frame, Wanted(), 1, "anna"))
    ended = removed(folder, "--url", url("/2"))
    assert ended.code == 0, ended.err
    (left,) = judgements_of(folder)
    assert (left.page.url, left.comment) == (url("/1"), "like (taken down)")
    assert membership_of(folder).keys() == {url("/1")}
    (sample,) = samples_of(folder)
    assert ([each.url for each in sample.drawn], sample.pages) == ([url("/1")], 2)
    for name in (JUDGEMENTS, MEMBERSHIP, SAMPLES):
        assert url("/2") not in (folder / name).read_text("utf-8")
        assert (folder / name).stat().st_mode & 0o077 == 0
