import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import throughput_peer
from benchmarks.forum import Forum, boards, serving
from benchmarks.page_server import Served
from benchmarks.process_memory import Finished
from benchmarks.recorded import RecordedSite
from benchmarks.throughput import Cost, Crawled, System, crawl, rows, sizes
from benchmarks.throughput_load import FORUM_PAGES, KNOWN, UNKNOWN, Load, Mix, Recording, forum_load, lacking, mix_load
from knowledge_base.loader import load
from tests.benchmarks.tinysite import record


def crawled(pages: int, seconds: float, cpu: float) -> Crawled:
    return Crawled(Finished(0, seconds, "", cpu, [10.0, 300.0, 20.0]), pages, pages + 32)


def test_starting_up_is_no_part_of_what_a_page_costs() -> None:
    cost = Cost.between(crawled(500, 4.0, 3.0), crawled(2500, 12.0, 9.0))
    assert cost.cpu_ms == pytest.approx(3.0)
    assert cost.seconds == pytest.approx(0.004)


def test_rows_compare_each_system_with_plain_scrapy_in_the_same_round() -> None:
    few = crawled(500, 1.0, 1.0)
    ours = [Cost.between(few, crawled(1500, 6.0, cpu)) for cpu in (4.0, 40.0, 5.0)]
    plain = [Cost.between(few, crawled(1500, 6.0, cpu)) for cpu in (3.0, 27.0, 3.0)]
    first, second = rows({("forum", System("aahcrawler")): ours, ("forum", System("scrapy")): plain})
    assert (first["system"], first["workers"], first["peak_mib"], first["pages"]) == ("aahcrawler", 1, 300.0, 1500)
    assert first["cpu_ms_per_page"] == pytest.approx(4.0)
    assert first["ratio"] == pytest.approx(1.5)
    assert second["ratio"] == 1.0


@pytest.mark.slow
def test_hosts_have_boards_with_nothing_in_common_whose_pages_lead_to_each_other() -> None:
    first, second = boards(60, 2).values()
    assert set(first.addresses()) & set(second.addresses()) == {"index.php"}
    assert first.pages == len(list(first.addresses())) == 1 + 3 + 60
    assert first.page("index.php", {}) != second.page("index.php", {})
    assert first.page("viewtopic.php", {"t": "60"}) is None
    thread = second.page("viewtopic.php", {"t": "60"})
    assert thread is not None
    assert 20_000 < len(thread) < 30_000


def test_a_single_board_is_numbered_from_nought() -> None:
    assert boards(2500)["127.0.0.1"] == Forum(2500)
    assert Forum(2500).page("viewforum.php", {"f": "2", "start": "475"}) is not None


def test_a_crawl_fetches_the_listed_pages_and_the_web_server_counts_them(tmp_path: Path) -> None:
    with serving(3, 2) as served:
        boarded = forum_load(served, boards(3, 2))
        done = crawl(System("aahcrawler"), boarded)
        assert done.finished.cpu_seconds > 0
        assert done.finished.peak_mib > 50
        assert (done.pages, done.requests) == (10, 12)  # robots.txt of each host
        assert boarded.after(done.urls) is boarded
        asked = json.loads(boarded.peer_work(tmp_path, Path("valkey")).read_text())
    assert (asked["allow"], asked["pages"]) == (FORUM_PAGES, [])
    assert asked["seeds"] == [f"{url}index.php" for url in served.urls]


def test_the_sites_of_a_mix_are_served_as_they_were_recorded_each_on_a_host_of_its_own(tmp_path: Path) -> None:
    record(tmp_path)
    mixed = Mix({"127.0.0.2": Recording.of(RecordedSite("tinyforum", "plain", tmp_path / "tinyforum" / "plain"))})
    page = mixed.respond("127.0.0.2", "/topic/2", {"host": "127.0.0.2:8000"})
    assert page.startswith(b"HTTP/1.1 200 OK\r\n")
    assert page.endswith((tmp_path / "tinyforum" / "plain" / "pages" / "00002.html").read_bytes())
    assert mixed.respond("127.0.0.2", "/robots.txt", {}).startswith(b"HTTP/1.1 404 Not Found\r\n")
    assert mixed.asked() == ["127.0.0.2/topic/2"]
    assert mixed.counted().pages == 1
    assert mixed.asked() == []


def test_the_knowledge_base_of_a_mix_lacks_the_applications_of_its_unknown_sites(tmp_path: Path) -> None:
    known = {application.name for application in load(lacking(UNKNOWN, tmp_path / "kb")).applications}
    every = {application.name for application in load().applications}
    assert every - known == {"Serendipity", "Pelican", "Backdrop CMS"}
    assert 3 * len(UNKNOWN) == len(UNKNOWN) + len(KNOWN)


def test_other_crawlers_of_a_mix_are_given_the_pages_that_ours_fetched(tmp_path: Path) -> None:
    served = Served("http://127.0.0.2:8000/", ("http://127.0.0.2:8000/",))
    mixed = mix_load(served, tmp_path, 20)
    definition = mixed.described(tmp_path, {}).read_text()
    assert 'limits: {"pages_per_domain": 20}' in definition
    assert mixed.pages is None
    after: Load = mixed.after(["http://127.0.0.2:8000/", "http://127.0.0.2:8000/topic/1"])
    asked = json.loads(after.peer_work(tmp_path, Path("valkey")).read_text())
    assert asked["pages"] == ["http://127.0.0.2:8000/", "http://127.0.0.2:8000/topic/1"]
    assert (asked["seeds"], asked["allow"]) == (["http://127.0.0.2:8000/"], "")


def test_scrapy_follows_links_to_the_given_pages_and_asks_for_those_that_no_link_led_to(tmp_path: Path) -> None:
    with serving(3, 1) as served:
        pages = [f"{served.url}viewtopic.php?t=1", f"{served.url}viewtopic.php?t=2", f"{served.url}viewforum.php?f=0"]
        unlinked = f"{served.url}viewforum.php?f=0&start=0"
        given = Load("mix", served, (f"{served.url}index.php",), {}, (*pages, unlinked))
        work = given.peer_work(tmp_path, Path("valkey"))
        served.counts()
        subprocess.run([sys.executable, "-I", throughput_peer.__file__, "scrapy", str(work)], check=True)
        fetched = served.pages()
    assert fetched[0] == f"{served.url}index.php"
    assert fetched[-1] == unlinked
    assert set(fetched[1:-1]) == set(pages)


def test_bytes_on_disk_are_counted_by_folder(tmp_path: Path) -> None:
    (tmp_path / "archive" / "deep").mkdir(parents=True)
    (tmp_path / "archive" / "deep" / "a").write_bytes(b"123")
    (tmp_path / "archive" / "b").write_bytes(b"4")
    (tmp_path / "crawl.json").write_bytes(b"56")
    assert sizes(tmp_path) == {"archive": 4, "files": 2}
