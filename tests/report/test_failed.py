"""Which URLs the report and ``aah report --failed`` say have failed."""

from datetime import UTC, datetime
from pathlib import Path

from aahcrawler.frontier.protocol import Offer
from aahcrawler.refusals import Failed, RefusalLog, read_refusals
from aahcrawler.report.report_sections import MAX_OF_A_REASON, failed_lines, failed_table, read_failed

FRONT = "http://a.test/"


def keep(crawl: Path, *entries: tuple[str, str], number: int = 1) -> None:
    with RefusalLog(crawl / "refused", "test", number, lambda: datetime(2026, 1, 1, tzinfo=UTC)) as log:
        for url, reason in entries:
            log.failed(url, reason, "page", FRONT)


def test_each_url_is_told_once_with_its_last_reason(tmp_path: Path) -> None:
    keep(tmp_path, ("http://a.test/1", "timeout"), ("http://b.test/", "resolve"), ("http://a.test/1", "status 404"))
    assert [*failed_lines(read_failed(tmp_path, 1, ()))] == [
        "url\treason\tkind\tlinked from",
        f"http://a.test/1\tnot found (404)\tpage\t{FRONT}",
        f"http://b.test/\tname not resolved\tpage\t{FRONT}",
    ]


def test_what_was_fetched_after_all_and_what_other_crawls_missed_is_left_out(tmp_path: Path) -> None:
    keep(tmp_path, ("http://a.test/old", "timeout"))
    keep(tmp_path, ("http://a.test/1", "timeout"), ("http://a.test/2", "timeout"), number=2)
    assert [entry.failed for entry in read_failed(tmp_path, 2, {"http://a.test/1"})] == ["http://a.test/2"]


def test_a_folder_without_a_log_has_none(tmp_path: Path) -> None:
    assert read_failed(tmp_path, 1, ()) == ()
    assert "No URL failed" in failed_table(())


def test_links_that_were_refused_are_read_beside_them(tmp_path: Path) -> None:
    refused = Offer("http://c.test/", "c.test", 0.5, via=FRONT)
    with RefusalLog(tmp_path / "refused", "test", 1, lambda: datetime(2026, 1, 1, tzinfo=UTC)) as log:
        log.failed("http://a.test/1", "tls", "page", "")
        log.refused(FRONT, None, {"other_site": [refused]})
    assert [each.offer for each in read_refusals(tmp_path / "refused", 1)] == [refused]
    assert [entry.failed for entry in read_failed(tmp_path, 1, ())] == ["http://a.test/1"]


def test_a_common_reason_hides_no_other_and_pages_come_first() -> None:
    many = [Failed(failed=f"http://a.test/{n}", reason="status 404") for n in range(MAX_OF_A_REASON + 7)]
    image = Failed(failed="http://a.test/i.png", reason="status 403", kind="requisite")
    table = failed_table([image, *many, Failed(failed="http://z.test/?<b>", reason="tls")])
    assert table.count("<tr><td>") == MAX_OF_A_REASON + 2
    assert table.index("not found (404)") < table.index("forbidden (403)")
    assert "http://z.test/?&lt;b&gt;</td><td>certificate not accepted" in table
    assert "7 others" in table
