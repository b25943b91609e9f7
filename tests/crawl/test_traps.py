"""Traps in a crawl: hosts that answer 200 for anything, pages without an end, and what is kept of them."""

import asyncio
import logging
import random
import re
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest

from aahcrawler.crawl.response.trap_detection import TrapsFile
from aahcrawler.layout import TRAPS
from aahcrawler.traps.patterns import Trap
from aahcrawler.traps.soft_errors import PROBE
from aahcrawler.traps.traps import Seen, Traps
from online_analysis.icd.sections import Traps as Section
from tests.crawl.site import Reply, Site, html, links, serving
from tests.crawl.verifying import archived, assert_whole
from tests.crawl.world import Crawled, crawl, network

LOST = 30
SORRY = "Sorry, there is no such page here. " + " ".join(
    random.Random(3).choices(["dike", "boat", "tide", "pier"], k=60)
)
POST = " ".join(f"{a}{b}" for a in ("storm", "flood", "dike", "harbour") for b in range(20))
CLOSED = Reply(f"User-agent: *\nDisallow: /*{PROBE}".encode(), headers={"Content-Type": "text/plain"})


def sorry(path: str) -> Reply:
    """Answer anything with 200 and links to more that there is not; weeks lead to the next week."""
    found = re.fullmatch(r"/agenda/(\d+)", path)
    if found:
        number = int(found[1])
        return html(f"Agenda {number}", f"<p>Nothing on in this week</p>{links(f'/agenda/{number + 1}')}")
    first = int(path.rpartition("/")[2]) if path.rpartition("/")[2].isdigit() else 0
    return html("Sorry", f"<p>{SORRY}</p>{links(*(f'/lost/{(first * 3 + n) % LOST}' for n in range(3)))}")


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Crawled, Site]]:
    front = html("Front", f"<p>{POST}</p>" + links("/lost/1", "/lost/2", "/lost/3"))
    pages = {f"//{name}.test/": front for name in ("open", "closed")}
    pages["//agenda.test/"] = html("Agenda", links("/agenda/1"))
    with serving(Site({**pages, "//closed.test/robots.txt": CLOSED, "/robots.txt": Reply(status=404)}, sorry)) as site:
        yield (
            crawl(
                tmp_path_factory.mktemp("crawl"),
                ["http://open.test/", "http://closed.test/", "http://agenda.test/"],
                network=network(site, "open.test", "closed.test", "agenda.test"),
                traps={"pages": 10, "duplicates": "follow"},
                limits={"pages": 200},
            ),
            site,
        )


def test_a_suspicious_host_is_asked_once_as_politely_as_ever(crawled: tuple[Crawled, Site]) -> None:
    found, site = crawled
    assert found.ended.code == 0, found.ended.err
    probes = [asked.host for asked in site.asked if PROBE in asked.path]
    assert sorted(probes) == ["agenda.test", "open.test"], "the robots.txt of closed.test forbids it"
    assert [PROBE in asked.path for asked in site.of("open.test")].index(True) > 5
    assert (found.summary["probes"], found.summary["blocked"]["robots"]) == (2, 1)
    assert sum(PROBE in url for url in archived(found.folder)) == 2
    assert_whole(found.folder)


def test_soft_errors_are_archived_and_are_no_pages(crawled: tuple[Crawled, Site]) -> None:
    found, site = crawled
    summary = found.summary
    assert summary["trap"]["soft_404"] >= 1
    assert summary["refused"]["soft_404"] >= 1
    fetched = sum(asked.path != "/robots.txt" for asked in site.asked)
    assert summary["pages"] == fetched - summary["trap"]["soft_404"] - summary["probes"]


def test_what_never_ends_comes_to_an_end(crawled: tuple[Crawled, Site]) -> None:
    found, site = crawled
    assert (found.summary["state"], found.summary["reason"]) == ("finished", "finished")
    assert found.summary["blocked"][Trap.NOVELTY] >= 1
    assert 10 <= sum(PROBE not in asked.path for asked in site.of("agenda.test")) <= 40


def test_what_was_learned_is_kept_in_the_folder(crawled: tuple[Crawled, Site]) -> None:
    found, _ = crawled
    again = Traps(Section(pages=10))
    with closing(TrapsFile(found.folder, 1)) as file:
        file.recall(again)
    assert again.admit("http://agenda.test/agenda/99") is Trap.NOVELTY
    assert again.judge(Seen("http://open.test/lost/99", "open.test", SORRY), "x").trap is Trap.SOFT_404
    anew = Traps(Section(pages=10))
    with closing(TrapsFile(found.folder, 2)) as file:
        file.recall(anew)
    assert anew.admit("http://agenda.test/agenda/99") is None, "another crawl of the definition begins without"


def fair(path: str) -> Reply:
    """Answer for a site with threads, copies, deeds that need a login and two endless calendars; each page counts."""
    kind, _, rest = path.strip("/").partition("/")
    number = int(re.sub(r"\D", "", rest.partition("?")[0]) or 0)
    chance = random.Random(f"{kind if kind != 'print' else 'thread'}{number}")
    said = " ".join(chance.choices(sorted(words), k=90))
    visits = f"<footer>{next(counter)} visits</footer>"  # So no page ever is what it was.
    match kind:
        case "thread" | "print" if number < THREADS:
            more = links(f"/thread/{number + 1}?page=1", f"/print/{number}", f"/comment/{number}/history/", "/when/1")
            said = f"<article><h2>Thread {number}</h2><p>{said}</p></article>"
            return html(f"Thread {number}", f"{said}{more}{visits}")
        case "when":
            nothing = f"<p>Nothing on in week {number}</p>{links(f'/when/{number + 1}', f'/when/{number * 2}')}"
            return html(f"Week {number}", nothing + visits)
        case "list":
            return html("Threads", f"<p>{POST}</p>{links(*(f'/thread/{n}' for n in range(THREADS)))}{visits}")
    return Reply(b"<h1>Not found</h1>", 404)


THREADS = 12
words = {f"{a}{b}" for a in ("mast", "hull", "keel", "sail", "rope") for b in range(30)}
counter = iter(range(10**6))


def test_a_site_that_stays_as_it_is_gets_the_same_requests_in_every_crawl(tmp_path: Path) -> None:
    with serving(Site({"/": html("Front", links("/list", "/when/1"))}, fair)) as site:
        asked = []
        for _ in range(3):
            found = crawl(tmp_path, [site.url], traps={"pages": 5, "soft_404": "ignore"})
            assert found.ended.code == 0, found.ended.err
            asked.append(set(site.paths()))
            site.asked.clear()
    assert {f"/thread/{number}" for number in range(THREADS)} < asked[0]
    assert 5 <= sum(path.startswith("/when/") for path in asked[0]) <= 40
    assert any("?page=1" in path for path in asked[0])
    assert asked[0] == asked[1] == asked[2]


def keep(file: TrapsFile, traps: Traps) -> None:
    async def once() -> None:
        task = asyncio.create_task(file.keep(lambda: traps))
        await asyncio.sleep(0)
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task

    asyncio.run(once())


def test_workers_of_one_folder_have_a_file_each(tmp_path: Path) -> None:
    with closing(TrapsFile(tmp_path, 1)) as one, closing(TrapsFile(tmp_path, 1)) as other:
        keep(one, Traps(Section()))
        keep(other, Traps(Section()))
    names = sorted(path.name for path in (tmp_path / TRAPS).glob("*.npz"))
    with closing(TrapsFile(tmp_path, 1)) as again:
        keep(again, Traps(Section()))
    assert sorted(path.name for path in (tmp_path / TRAPS).glob("*.npz")) == names == ["0.npz", "1.npz"]


def test_a_damaged_file_is_reported_and_not_used(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / TRAPS).mkdir()
    (tmp_path / TRAPS / "0.npz").write_bytes(b"PK\3\4 and then nothing of the kind")
    traps = Traps(Section())
    with caplog.at_level(logging.ERROR), closing(TrapsFile(tmp_path, 1)) as file:
        file.recall(traps)
        keep(file, traps)
        file.recall(traps)
    (said,) = caplog.messages
    assert "0.npz" in said
    assert "learned anew" in said
