"""The report as a whole, and its parts on what a crawl has kept."""

import re
from pathlib import Path

import pytest

from aahcrawler.crawls import number
from aahcrawler.objects.capture_statements import ObjectRow, PageRow
from aahcrawler.objects.reader import ObjectChanges
from aahcrawler.refusals import Failed
from aahcrawler.report.chart import Axis, Line, Measure, line_chart, over_pages
from aahcrawler.report.report_page import Kept, ReportError, Summary, read_failed, report, write_report
from aahcrawler.report.report_sections import (
    MAX_FILES,
    MAX_TEXT_LENGTH,
    SAMPLED_PAGES,
    SAMPLES_OF_A_TYPE,
    ArchiveFile,
    archive_files,
    completeness,
    read_files,
    sample_objects,
    sampled,
    sampled_captures,
)

HOSTILE = "<script>alert(1)</script>"


def summary(**changes: object) -> Summary:
    counts = dict.fromkeys(("answers", "bytes", "objects", "pages", "requisites", "retries", "seconds"), 0)
    groups = ("application", "blocked", "error", "frontier", "level", "object", "refused", "status")
    words = {"id": "t", "title": "Floods", "state": "finished", "reason": "finished", "software": "s"}
    times = {"started_at": "2026-01-01T00:00:00+00:00", "updated_at": "2026-01-01T01:00:00+00:00"}
    nested: dict[str, dict[str, int]] = {name: {} for name in groups}
    return Summary.model_validate({**counts, **nested, **words, **times, "harvest_ratio": None, **changes})


def page(second: int, **changes: object) -> PageRow:
    values = {
        "url": f"http://a.test/{second}",
        "status": 200,
        "application": "phpBB",
        "level": "terminal",
        "level_name": "thread",
        "score": 0.5,
        "fetched_at": f"2026-01-01T00:00:{second:02}+00:00",
        "relevant": True,
        "media_type": None,
        "priority": None,
        "depth": None,
        "via": None,
        "capture": f"urn:uuid:{second}",
    }
    return PageRow(**(values | changes))  # type: ignore[arg-type]


def thing(number: int, **changes: object) -> ObjectRow:
    values = dict.fromkeys(("title", "author", "date", "body", "part_of"), None)
    own = {"url": f"http://a.test/{number}", "type": "forum_post", "iri": f"http://a.test/#p{number}"}
    return ObjectRow(**{**values, **own, **changes})  # type: ignore[arg-type]


def test_levels_are_named() -> None:
    rows = (page(1), page(2, level_name="forum", level="intermediate"), page(3, level=None, level_name=None))
    html = report(summary(), Kept(rows))
    for words in ("phpBB: thread (has content)", "phpBB: forum (leads to content)", "phpBB: page of no known level"):
        assert words in html


def test_relevance_is_shown_over_pages_and_over_time() -> None:
    html = report(summary(), Kept((page(30), page(1), page(2))))
    assert ">2</text>" in html
    assert ">20 s</text>" in html
    assert "<title>3 pages: scores of all pages so far" in html
    assert "<title>29.0 s: scores of all pages so far" in html


def test_a_point_stands_where_its_time_is() -> None:
    chart = line_chart("c", [Line("c", "#000", [1.0, 2.0, 3.0])], Axis([100.0, 101.0, 110.0], Measure.SECONDS))
    first, second, last = (float(point.split(",")[0]) for point in chart.split('points="')[1].split('"')[0].split(" "))
    assert (second - first) / (last - first) == pytest.approx(0.1, abs=0.001)


def test_a_pause_is_a_gap() -> None:
    times = [*range(20), *range(10_000, 10_020)]
    chart = line_chart("c", [Line("c", "#000", range(1, 41))], Axis(times, Measure.SECONDS))
    assert chart.count("<polyline") == 2
    assert line_chart("c", [Line("c", "#000", range(1, 41))], Axis(times)).count("<polyline") == 1


@pytest.mark.parametrize(
    ("top", "measure", "names"),
    [
        (7, Measure.PAGES, ["0", "2", "4", "6"]),
        (1, Measure.PAGES, ["0", "1"]),
        (0.37, Measure.SHARE, ["0 %", "10 %", "20 %", "30 %", "40 %"]),
        (90_000, Measure.SECONDS, ["0 h", "6 h", "12 h", "18 h", "24 h"]),
        (12_345, Measure.NUMBER, ["0", "5,000", "10,000", "15,000"]),
    ],
)
def test_ticks_are_round_numbers_with_units(top: float, measure: Measure, names: list[str]) -> None:
    chart = line_chart("c", [Line("c", "#000", [0.0, top])], over_pages(2), measure)
    shown = re.findall(r'class="end">([^<]*)</text>', chart)
    assert shown[: len(names)] == names


def test_a_chart_of_one_page_or_none_is_no_trouble() -> None:
    assert "<title>1 page: so far 100.0 %</title>" in report(summary(), Kept((page(1),)))
    assert "no page yet" in report(summary(), Kept())


def test_reasons_are_told_in_words() -> None:
    html = report(summary(refused={"other_site": 3}, blocked={"robots": 2, "rule:mine": 1}, error={"tls": 4}), Kept())
    for words in ("on other sites than the seeds (other_site)", "robots.txt forbids it (robots)", "rule:mine"):
        assert f"<th>{words}</th>" in html
    assert "<th>certificate not accepted</th><td>4</td>" in html


def test_changes_of_objects_are_told_of_later_crawls() -> None:
    html = report(summary(crawl=2), Kept(former=summary(), changes=ObjectChanges(1234, 2, 1)))
    assert "<th>web objects added</th><td>1,234</td>" in html
    assert "<th>web objects deleted</th><td>1</td>" in html


def test_it_is_told_how_many_objects_have_what() -> None:
    complete = {("forum_post", "author"): 2, ("forum_post", "date"): 1}
    table = completeness({"forum_post": 2, "article": 1}, complete)
    assert "<th>forum_post</th><td>2</td><td>0</td><td>2</td><td>1</td>" in table
    assert "<th>article</th><td>1</td><td>0</td><td>0</td><td>0</td>" in table


def test_of_too_many_objects_the_changes_are_not_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("aahcrawler.report.report_page._MAX_COMPARED", 10)
    (tmp_path / "objects").mkdir()
    (tmp_path / "crawl.json").write_text(summary(crawl=2, objects=11, object={"article": 11}).model_dump_json())
    former = tmp_path / "former" / "1"
    former.mkdir(parents=True)
    (former / "crawl.json").write_text(summary(objects=10).model_dump_json())
    html = write_report(tmp_path).read_text()
    assert "<th>article</th><td>11</td>" in html
    assert "too many to be compared" in html


def test_objects_of_the_first_pages_of_each_level_are_shown() -> None:
    posts = [page(n, application="forum", level_name="thread", capture=f"post {n}") for n in range(SAMPLED_PAGES + 1)]
    lists = [page(20, application="forum", level_name="board", level="intermediate", capture="list")]
    same = [page(21, application="blog", level_name="article", capture="same", unchanged="article")]
    captures = sampled_captures([*posts, *lists, *same])
    assert captures == {*(f"post {n}" for n in range(SAMPLED_PAGES)), "article"}


def test_a_few_objects_of_each_type_are_shown_shortened() -> None:
    found = sampled([thing(n, body="word " * 1000) for n in range(9)] + [thing(10, type="article", title="A")])
    html = sample_objects(found)
    assert html.count('class="sample"') == SAMPLES_OF_A_TYPE + 1
    assert len(html) < (SAMPLES_OF_A_TYPE + 1) * (MAX_TEXT_LENGTH + 250)


def test_nothing_of_a_page_is_taken_for_html() -> None:
    objects = (thing(1, title=HOSTILE, author=HOSTILE, body=HOSTILE, url=HOSTILE, type=HOSTILE),)
    failed = (Failed(failed=HOSTILE, reason=HOSTILE, via=HOSTILE),)
    kept = Kept((page(1, application=HOSTILE, level_name=HOSTILE),), failed=failed, objects=objects)
    html = report(summary(title=HOSTILE, error={HOSTILE: 1}, object={HOSTILE: 1}), kept)
    assert "<script" not in html
    assert html.count("&lt;script") > 10


def test_the_files_of_the_archive_are_listed_and_linked(tmp_path: Path) -> None:
    archive = tmp_path / "archive"
    archive.mkdir()
    (archive / "t-20260101000000-00000.warc.gz").write_bytes(b"x" * 1_500_000)
    (archive / "t-20260101000001-00001.warc.gz.open").write_bytes(b"x")
    html = archive_files(read_files(tmp_path))
    assert '<a href="archive/t-20260101000000-00000.warc.gz">' in html
    assert "<td>1.5 MB</td>" in html
    assert html.count("still written") == 1
    assert '<a href="archive/">' in html


def test_of_many_files_the_last_are_listed() -> None:
    html = archive_files([ArchiveFile(f"{n:04}.warc.gz", 1) for n in range(MAX_FILES + 3)])
    assert "0002.warc.gz" not in html
    assert "3 older ones" in html


def test_a_folder_without_a_crawl_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ReportError, match=r"no crawl\.json"):
        read_failed(tmp_path)


def test_a_summary_without_a_bottom_is_told(tmp_path: Path) -> None:
    (tmp_path / "crawl.json").write_text('{"crawl": 1, "x": ' + "[" * 100_000 + "]" * 100_000 + "}")
    with pytest.raises(ReportError, match="cannot be read"):
        write_report(tmp_path)
    assert number(tmp_path) == 1


def test_a_crawl_that_ended_at_its_seeds_says_why() -> None:
    seed = {"url": "http://a.test/1", "verdict": "off topic", "advice": "", "pages": 1, "objects": 0}
    told = "<p>The seeds scored 0.500 at most, below scoring.follow: nothing was followed, 7 links left out"
    ended = summary(seeds=[seed], pages=1, refused={"off_topic": 7})
    assert told in report(ended, Kept((page(1),)))
    assert told not in report(summary(seeds=[seed], pages=2, refused={"off_topic": 7}), Kept((page(1), page(2))))
