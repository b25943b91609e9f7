"""Crawls of sites whose pages scripts make: what is looked at in a browser, what is kept, what is done without."""

import json
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from aahcrawler.captures import ArchivedCaptures
from tests.browsing import sandboxed_chromium
from tests.crawl.client_side import SHELL, api, article, forum
from tests.crawl.crawling import EndedRun, rows, running, summary, until, write_icd
from tests.crawl.site import Reply, Site, serving

pytestmark = pytest.mark.slow
THREADS, POSTS = 2, 3
WITHOUT = {**os.environ, "AAH_CHROMIUM": "/no/such/chromium"}


def crawl(icd: Path, environment: Mapping[str, str] = os.environ) -> EndedRun:
    with running("crawl", icd, environment=environment) as process:
        return process.ended()


def bodies(folder: Path) -> set[str]:
    return {str(row["body"]).split("\n")[0] for row in rows(folder / "crawl", "objects") if row.get("body")}


def expected() -> set[str]:
    found: Any = api(THREADS, POSTS)
    return {each["text"] for page in found.values() for each in page.get("posts", ())}


def shown_in(folder: Path) -> set[str]:
    """Return the URLs of pages that a browser made something of."""
    with ArchivedCaptures(folder / "crawl") as source:
        return {each.target_uri for each in source.captures() if each.shows_target and each.has_document}


def site_of(shell: bytes = SHELL) -> Site:
    return Site({**forum(THREADS, POSTS, shell), **{f"/plain/{number}": article(number) for number in range(1, 13)}})


def test_pages_that_scripts_make_are_read_as_a_browser_shows_them_and_no_others(tmp_path: Path) -> None:
    sandboxed_chromium()
    with serving(site_of()) as site:
        origin = f"http://127.0.0.1:{site.port}"
        icd = write_icd(tmp_path, f"{origin}/", f"{origin}/plain/1")
        done = crawl(icd)
        assert done.code == 0, done.err
        first = summary(tmp_path / "crawl")
        assert expected() <= bodies(tmp_path), "recall is 1"
        shown = shown_in(tmp_path)
        assert shown == {f"{origin}{path}" for path in api(THREADS, POSTS)}
        assert first["browser"]["pages"] == first["browser"]["gained"] == len(shown)
        assert first["http"]["pages"] == len(shown) + 12
        assert list(first["browser_isolation"]) in (["network namespace"], ["proxy and resolver rules"])
        assert not first["trap"]
        with ArchivedCaptures(tmp_path / "crawl") as source:
            read = [each.reading for each in source.captures() if each.reading is not None]
        stated = {each.row.url: each.description for each in read if not each.is_requisite}
        assert all(bool(each.rendered) == (url in shown) for url, each in stated.items())
        assert "Pages in a browser" in (tmp_path / "crawl" / "report.html").read_text("utf-8")

        pages: Any = api(THREADS, POSTS)
        pages["/t/1"]["posts"].append({"author": "olav", "date": "2024-05-20T12:00:00Z", "text": "The water has gone."})
        answer = json.dumps(pages["/t/1"]).encode()
        site.pages["/api/t/1"] = Reply(answer, headers={"Content-Type": "application/json"})
        assert crawl(icd).code == 0
        again = summary(tmp_path / "crawl")
        assert again["status"]["304"] >= len(shown), "the shells have not changed"
        assert again["browser"]["pages"] == len(shown), "they are looked at all the same"
        assert (again["changed"], again["new"]) == (1, 0)
        assert "The water has gone." in bodies(tmp_path)


@pytest.mark.parametrize("is_killed", [True, False])
def test_a_crawl_that_ends_while_the_browser_looks_goes_on_and_leaves_nothing_running(
    tmp_path: Path, is_killed: bool
) -> None:
    sandboxed_chromium()
    pages = dict(forum(THREADS, POSTS))
    answer, pages["/api/"] = pages["/api/"], replace(pages["/api/"], pause=20.0)
    with serving(Site({**pages})) as site:
        icd = write_icd(tmp_path, f"http://127.0.0.1:{site.port}/")
        with running("crawl", icd) as process:
            process.until(lambda: any(each.path == "/api/" for each in site.asked))
            site.pages["/api/"] = answer
            if is_killed:
                process.kill()
            else:
                process.interrupt()
                assert process.ended().code == 0
                assert summary(tmp_path / "crawl")["pages"] == 0, "the page is fetched again when the crawl goes on"
        until(lambda: not processes_in(tmp_path))
        assert crawl(icd).code == 0
        assert expected() <= bodies(tmp_path)
        assert not processes_in(tmp_path)


def processes_in(folder: Path) -> list[str]:
    """Return the command lines that name a folder of a browser's profile below ``folder``."""
    found = []
    for each in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = each.read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
        except OSError:
            continue
        if "user-data-dir" in line and str(folder) in line:
            found.append(line)
    return found


def test_pages_beyond_the_limit_are_kept_as_they_came(tmp_path: Path) -> None:
    sandboxed_chromium()
    with serving(Site(dict(forum(THREADS, POSTS)))) as site:
        seeds = [f"http://127.0.0.1:{site.port}/t/{number}" for number in (1, 2)]
        icd = write_icd(tmp_path, *seeds, more="limits: {browser_pages: 1}\n")
        crawl(icd)
        found = summary(tmp_path / "crawl")
        assert (found["browser"]["pages"], found["browser"]["limit"]) == (1, 1)
        assert len(bodies(tmp_path)) == POSTS


def test_without_a_browser_the_crawl_goes_on_and_says_what_to_do(tmp_path: Path) -> None:
    with serving(Site(dict(forum(THREADS, POSTS)))) as site:
        done = crawl(write_icd(tmp_path, f"http://127.0.0.1:{site.port}/"), WITHOUT)
        found = summary(tmp_path / "crawl")
        assert done.code == 3
        assert (found["pages"], found["browser"]) == (1, {"unavailable": 1})
        assert "/no/such/chromium" in next(iter(found["browser_missing"]))
        assert "kept as they came for want of a browser: 1 page. /no/such/chromium" in done.err
        assert [seed["verdict"] for seed in found["seeds"]] == ["script-only page"]
        assert "Chromium" in found["seeds"][0]["advice"]


def test_a_definition_that_wants_a_browser_where_there_is_none_is_told_at_once(tmp_path: Path) -> None:
    with serving(Site({"/plain/1": article(1)})) as site:
        icd = write_icd(tmp_path, f"http://127.0.0.1:{site.port}/plain/1", more="browser: {pages: [/plain/]}\n")
        done = crawl(icd, WITHOUT)
        begun, _, ended = done.err.partition("kept as they came for want of a browser: 1 page")
        assert "although the definition wants a browser" in begun
        assert ended
        assert done.code == 3
        assert summary(tmp_path / "crawl")["pages"] == 1
