"""Measuring crawls by one definition: what is counted, and how it is told."""

import io
import json
import statistics
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree
from typer.testing import CliRunner, Result

from aahcrawler.archive.records import CrawlInfo, Original
from aahcrawler.archive.writer import WarcWriter
from aahcrawler.cli import app
from aahcrawler.exchange import Exchange
from aahcrawler.objects.reader import page_rows
from aahcrawler.objects.vocabulary import crawl as crawl_iri
from aahcrawler.objects.writer import CaptureDescription, ObjectWriter
from offline.evaluation.measurement import MAX_POINTS, Course, Similarity
from offline.evaluation.relevance_metrics import telling_words
from online_analysis.document import Document, DocumentPart
from online_analysis.icd import Icd
from online_analysis.terms import Lexicon
from tests.archive.exchanges import read_back

BEGUN = datetime(2026, 1, 2, 3, 4, tzinfo=UTC)
SITE = "http://site.test"
ICD = f"""\
id: test
contact: test@example.org
seeds: ["{SITE}/0"]
topic: {{keywords: [storm surge, dike, glacier], documents: [about.txt]}}
"""
FILLER = "Yesterday the municipal orchestra rehearsed an evening programme for its loyal friends in the old theatre. "
FLOOD = "The storm surges broke the dike above the harbour and the water flooded the lower town. " * 6
MIXED = FILLER * 3 + "A surge of applause followed the storm. "


@dataclass(frozen=True, slots=True)
class Answer:
    """A page of a crawl that is written by hand; one that is no page was fetched for another's sake."""

    text: str
    status: int = 200
    is_page: bool = True


def write(folder: Path, answers: Sequence[Answer], *, described: bool = True) -> Path:
    """Write a crawl; without descriptions it is what another crawler leaves."""
    archive = folder / "archive" if described else folder
    objects = ObjectWriter(folder / "objects", "test", lambda: BEGUN) if described else None
    with WarcWriter(archive, CrawlInfo("test", "a test")) as warc:
        for number, answer in enumerate(answers):
            url, date = f"{SITE}/{number}", BEGUN + timedelta(seconds=number)
            body = f"<html lang=en><title>Page</title><main><p>{answer.text}</p></main>".encode()
            head = f"HTTP/1.1 {answer.status} X\r\nContent-Type: text/html\r\nContent-Length: {len(body)}\r\n\r\n"
            response = head.encode() + body
            stream = io.BytesIO(response)
            with closing(
                Exchange(url, "GET", b"GET /\r\n\r\n", stream, len(response), b"\1" * 20, "", date)
            ) as exchange:
                capture = warc.write(exchange).record_id
            if objects is not None and answer.is_page:
                objects.write(CaptureDescription(capture, url, answer.status, date, "text/html"))
    if objects is not None:
        objects.close()
        icd = Icd.parse(ICD.replace(", documents: [about.txt]", "").encode())
        (folder / "icd.json").write_text(json.dumps(icd.meaning()), "utf-8")
    return folder


@pytest.fixture(scope="module")
def crawl(tmp_path_factory: pytest.TempPathFactory) -> Path:
    answers = [
        Answer(FLOOD),
        Answer(FILLER * 4),
        Answer(MIXED),
        Answer(FLOOD, status=404),
        Answer(FLOOD, is_page=False),
    ]
    return write(tmp_path_factory.mktemp("evaluation") / "focused", answers)


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Path:
    answers = [Answer(FILLER * 4), Answer(FILLER * 5), Answer(FILLER * 3), Answer(FLOOD)]
    return write(tmp_path_factory.mktemp("evaluation") / "standard", answers, described=False)


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in ("evaluate", *arguments)])


def measured(*arguments: str | Path) -> list[dict[str, Any]]:
    result = run(*arguments, "--json")
    assert result.exit_code == 0, result.output
    found: list[dict[str, Any]] = json.loads(result.stdout)["crawls"]
    return found


def test_pages_that_were_answered_well_are_measured(crawl: Path) -> None:
    (found,) = measured(crawl)
    assert found["documents"] == 3, "no error answers, and nothing that was fetched for another page"
    assert found["keywords"] == pytest.approx({"dike": 1 / 3, "glacier": 0, "storm surge": 1 / 3})
    similar = found["similarity"]["ICD"]
    assert (similar["matching"], similar["relevant"]) == (2, 1), "the mixed page has the words, hardly the topic"
    assert 0.4 < similar["maximum"] <= 1
    assert similar["maximum"] / 2 <= similar["average"] < similar["maximum"]
    assert similar["deviation"] == pytest.approx(similar["maximum"] - similar["average"]), "of two values"
    assert found["course"] == [[0, 0], [1, 1], [2, 1], [3, 1]]


@pytest.mark.slow
@pytest.mark.starts
def test_two_processes_measure_what_one_does(crawl: Path, other: Path) -> None:
    assert measured(crawl, "--against", other, "--processes", "2") == measured(crawl, "--against", other)
    assert not (crawl / "indexes" / "evaluate.sqlite").exists()
    assert not (other / "indexes").exists(), "nothing is written beside files of others"


def test_seed_pages_make_yardsticks_too(crawl: Path) -> None:
    similar = measured(crawl)[0]["similarity"]
    assert list(similar) == ["ICD", "Seeds, 10 terms", "Seeds, 50 terms", "Seeds, 100 terms"]
    assert similar["Seeds, 10 terms"]["maximum"] > 0.5, "the seed is like itself"


@pytest.mark.slow
def test_another_crawler_s_files_are_measured_by_the_same_yardstick(crawl: Path, other: Path) -> None:
    focused, standard = measured(crawl, "--against", other)
    assert focused == measured(crawl)[0]
    assert standard["documents"] == 4
    assert standard["course"] == [[0, 0], [1, 0], [2, 0], [3, 0], [4, 1]]
    assert standard["similarity"].keys() == focused["similarity"].keys()
    assert standard["similarity"]["ICD"]["maximum"] == pytest.approx(focused["similarity"]["ICD"]["maximum"])


@pytest.mark.slow
def test_one_crawl_of_several_is_measured_with_what_it_found_unchanged(tmp_path: Path, other: Path) -> None:
    folder = write(tmp_path / "twice", [Answer(FLOOD), Answer(FILLER * 4), Answer(MIXED)])
    first = next(page_rows(folder))
    again = CaptureDescription("urn:uuid:again", first.url, 304, BEGUN, crawl=crawl_iri("test", 2))
    with ObjectWriter(folder / "objects", "test", lambda: BEGUN) as objects:
        objects.write(replace(again, unchanged=first.capture))
    second, before = measured(folder, "--crawl", "2", "--against", folder, "--against-crawl", "1")
    assert (second["documents"], before["documents"], measured(folder)[0]["documents"]) == (1, 3, 3)
    assert second["keywords"] == {"dike": 1, "glacier": 0, "storm surge": 1}
    assert [each["crawl"] for each in (second, before)] == [f"{folder}, crawl 2", f"{folder}, crawl 1"]
    for arguments, said in (
        (("--crawl", "3"), "has no pages of crawl 3. Its newest crawl is number 2"),
        (("--against", other, "--against-crawl", "2"), "nobody can tell which pages are of crawl 2"),
    ):
        result = run(folder, *arguments)
        assert (result.exit_code, result.stdout) == (2, "")
        assert said in result.stderr


def test_a_page_that_is_again_what_it_once_was_is_measured(tmp_path: Path) -> None:
    folder = write(tmp_path / "back", [Answer(FLOOD), Answer(FILLER * 4)])
    first = next(page_rows(folder))
    (_, exchange), *others = read_back(folder / "archive")
    for _, other in others:
        other.close()
    original = Original(first.capture, first.url, "2026-01-02T03:04:00Z", exchange.payload_digest)
    later = replace(exchange, started_at=BEGUN + timedelta(days=60))
    with closing(exchange), WarcWriter(folder / "archive", CrawlInfo("third", "a test", crawl_number=3)) as warc:
        capture = warc.write(later, original=original)
    assert capture.revisit
    third = CaptureDescription(capture.record_id, first.url, 200, later.started_at, "text/html")
    with ObjectWriter(folder / "objects", "third", lambda: BEGUN) as objects:
        objects.write(replace(third, crawl=crawl_iri("test", 3)))
    (found,) = measured(folder, "--crawl", "3")
    assert (found["documents"], found["keywords"]) == (1, {"dike": 1, "glacier": 0, "storm surge": 1})


@pytest.mark.slow
def test_a_definition_and_a_threshold_may_be_named(crawl: Path, tmp_path: Path) -> None:
    (tmp_path / "about.txt").write_text("The municipal orchestra rehearsed its programme in the theatre.", "utf-8")
    icd = tmp_path / "icd.yaml"
    icd.write_text(ICD.replace("[storm surge, dike, glacier]", "[orchestra]"), "utf-8")
    (found,) = measured(crawl, "--icd", icd, "--relevant", "0.01")
    assert found["keywords"] == pytest.approx({"orchestra": 2 / 3})
    assert found["similarity"]["ICD"]["relevant"] == 2


@pytest.mark.slow
def test_documents_that_are_not_kept_are_told(tmp_path: Path) -> None:
    copy = write(tmp_path / "copy", [Answer(FLOOD)])
    meaning = json.loads((copy / "icd.json").read_text("utf-8"))
    meaning["topic.documents"] = json.dumps([json.dumps("about.txt"), json.dumps(f"{SITE}/about")])
    (copy / "icd.json").write_text(json.dumps(meaning), "utf-8")
    (copy / "topic.json").write_text(json.dumps({f"{SITE}/about": FLOOD}), "utf-8")
    result = run(copy)
    assert result.exit_code == 0
    assert [line for line in result.stderr.splitlines() if "about" in line] == [
        "note: the reference document about.txt is not kept with the crawl; --icd FILE brings it in"
    ]


def test_the_report_and_the_chart_show_both_crawls(crawl: Path, other: Path, tmp_path: Path) -> None:
    chart = tmp_path / "chart.svg"
    result = run(crawl, "--against", other, "--plot", chart)
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert [line.split()[-2:] for line in lines if line.strip().startswith("storm surge")] == [["33.33%", "25.00%"]]
    assert f"{other}: 4 documents; relevant from 0.2 on" in lines
    svg = etree.fromstring(chart.read_bytes())
    drawn = [element.get("points") or "" for element in svg.iter("{http://www.w3.org/2000/svg}polyline")]
    assert [len(points.split()) for points in drawn] == [4, 5]
    assert not [points for points in drawn if "nan" in points]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--icd", "/nowhere/icd.yaml"], "cannot be read"),
        (["--against", "/nowhere"], "holds no WARC files"),
        (["--plot", "/nowhere/chart.svg"], "cannot be written"),
    ],
)
def test_mistakes_are_told(crawl: Path, arguments: list[str], said: str) -> None:
    result = run(crawl, *arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert said in result.stderr


def test_a_folder_without_a_definition_is_told(other: Path) -> None:
    result = run(other)
    assert result.exit_code == 2
    assert "--icd FILE" in result.stderr


@given(st.lists(st.floats(0, 1), max_size=50))
def test_similarities_add_up_as_statistics_has_it(values: list[float]) -> None:
    similarity = Similarity()
    for value in values:
        similarity.add(value, 0.5)
    matching = [value for value in values if value > 0]
    assert (similarity.matching, similarity.relevant) == (len(matching), sum(value >= 0.5 for value in values))
    if matching:
        assert similarity.average == pytest.approx(statistics.fmean(matching))
        assert similarity.maximum == max(matching)
        assert similarity.deviation == pytest.approx(statistics.pstdev(matching), abs=1e-7)


@pytest.mark.parametrize("pages", [0, 1, 5, 2 * MAX_POINTS, 2 * MAX_POINTS + 1, 9_999])
def test_the_course_is_bounded_and_ends_with_the_last_page(pages: int) -> None:
    course = Course()
    for number in range(pages):
        course.add(relevant=number % 3 == 0)
    points = course.whole()
    assert (points[0], points[-1]) == ((0, 0), (pages, -(-pages // 3)))
    assert min(pages, MAX_POINTS) <= len(points) <= 2 * MAX_POINTS + 2
    assert all(relevant == -(-fetched // 3) for fetched, relevant in points)


def test_telling_words_are_words_not_stems() -> None:
    document = Document(
        "http://a.test/", "en", "", (DocumentPart("content", "the glaciers, glaciers and the of and"),), ()
    )
    assert telling_words([document], Lexicon(), 5) == ("glaciers",)
