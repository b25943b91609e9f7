import json
from pathlib import Path

import pytest

from benchmarks.forum import Forum
from benchmarks.forum_server import boards, serving
from benchmarks.process_memory import Finished
from benchmarks.throughput import WANTED, Cost, Crawled, System, crawl, peer_work, rows, sizes


def crawled(pages: int, seconds: float, cpu: float) -> Crawled:
    return Crawled(Finished(0, seconds, "", cpu, [10.0, 300.0, 20.0]), pages, pages + 32, {})


def test_starting_up_is_no_part_of_what_a_page_costs() -> None:
    cost = Cost.between(crawled(500, 4.0, 3.0), crawled(2500, 12.0, 9.0))
    assert cost.cpu_ms == pytest.approx(3.0)
    assert cost.seconds == pytest.approx(0.004)


def test_rows_compare_each_system_with_plain_scrapy_in_the_same_round() -> None:
    few = crawled(500, 1.0, 1.0)
    ours = [Cost.between(few, crawled(1500, 6.0, cpu)) for cpu in (4.0, 40.0, 5.0)]
    plain = [Cost.between(few, crawled(1500, 6.0, cpu)) for cpu in (3.0, 27.0, 3.0)]
    first, second = rows({System("aahcrawler"): ours, System("scrapy"): plain})
    assert (first["system"], first["workers"], first["peak_mib"], first["pages"]) == ("aahcrawler", 1, 300.0, 1500)
    assert first["cpu_ms_per_page"] == pytest.approx(4.0)
    assert first["ratio"] == pytest.approx(1.5)
    assert second["ratio"] == 1.0


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
        listed = boards(3, 2)
        done = crawl(System("aahcrawler"), served, listed)
        assert done.finished.cpu_seconds > 0
        assert done.finished.peak_mib > 50
        assert (done.pages, done.requests) == (10, 12)  # robots.txt of each host
        work = peer_work(served, tmp_path)
    asked = json.loads(work.read_text())
    assert asked["allow"] == WANTED
    assert asked["seeds"] == [f"{url}index.php" for url in served.urls]


def test_bytes_on_disk_are_counted_by_folder(tmp_path: Path) -> None:
    (tmp_path / "archive" / "deep").mkdir(parents=True)
    (tmp_path / "archive" / "deep" / "a").write_bytes(b"123")
    (tmp_path / "archive" / "b").write_bytes(b"4")
    (tmp_path / "crawl.json").write_bytes(b"56")
    assert sizes(tmp_path) == {"archive": 4, "files": 2}
