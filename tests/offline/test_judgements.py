"""Judgements on the command line: drawn, filled in elsewhere, taken in, written, and measured."""

import csv
import io
import json
from pathlib import Path

import pyoxigraph as ox
import pytest
from typer.testing import CliRunner, Result

from aahcrawler.annotations.judgements import Grade, MemberAnswer, decide_membership, judgements_of, samples_of
from aahcrawler.cli import app
from tests.offline.test_selection import SITE, World


@pytest.fixture
def crawl(tmp_path: Path) -> Path:
    """Return a crawl of forty pages, the scores of which rise, and of which a quarter is relevant."""
    world = World(tmp_path)
    for number in range(40):
        world.page(f"/{number}", b"<p>Flood.</p>", score=number / 40, relevant=number >= 30)
    world.close()
    return tmp_path


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(each) for each in arguments])


def told(*arguments: object) -> str:
    ended = run(*arguments)
    assert ended.exit_code == 0, ended.output
    return ended.stdout


def table(text: str, delimiter: str = "\t") -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text), delimiter=delimiter))


def filled(crawl: Path, file: Path) -> None:
    """Draw all pages, and judge them: those from 28 on are relevant."""
    rows = table(told("judgements", crawl, "--draw", "100", "--seed", "3", "--by", "anna"))
    assert (len(rows), {row["sample"] for row in rows}, {row["grade"] for row in rows}) == (40, {"1"}, {""})
    with file.open("w", encoding="utf-8", newline="") as out:
        writer = csv.DictWriter(out, ["sample", "url", "grade", "comment"], delimiter="\t")
        writer.writeheader()
        for row in rows:
            number = int(row["url"].rpartition("/")[2])
            grade = (
                ""
                if number == 0
                else "Highly relevant"
                if number > 35
                else "relevant"
                if number > 27
                else "not relevant"
            )
            writer.writerow(
                {"sample": 1, "url": row["url"], "grade": grade, "comment": "=1+1\tx" if number == 1 else ""}
            )


def test_a_table_is_drawn_filled_in_and_measured(crawl: Path, tmp_path: Path) -> None:
    file = tmp_path / "labels.tsv"
    filled(crawl, file)
    assert "39 judgements added, 0 known already, 1 row without a grade" in told(
        "judgements", crawl, "--import", file, "--by", "anna"
    )
    assert "0 judgements added, 39 known already" in told("judgements", crawl, "--import", file, "--by", "anna")
    found = json.loads(told("evaluate", crawl, "--judgements", "--json"))
    assert (found["judged"], found["pages"], found["order"], found["sample"]) == (39, 40, "lot", 1)
    assert found["precision"]["value"] == 1
    assert found["recall"]["value"] == pytest.approx(10 / 12)
    assert found["break_even"]["value"] == 1
    assert found["grades"] == {"highly-relevant": 4, "relevant": 8, "not-relevant": 27}
    strict = json.loads(told("evaluate", crawl, "--judgements", "--grade", "highly-relevant", "--json"))
    assert (strict["precision"]["value"], strict["recall"]["value"]) == (pytest.approx(0.4), 1)
    assert "39 judged of 40; drawn by lot from bands of relevance" in told("evaluate", crawl, "--judgements")
    assert "there is no sample 2" in run("evaluate", crawl, "--judgements", "--sample", 2).output


def test_what_was_written_can_be_read_again(crawl: Path, tmp_path: Path) -> None:
    file = tmp_path / "labels.tsv"
    filled(crawl, file)
    told("judgements", crawl, "--import", file, "--by", "anna")
    before = judgements_of(crawl)
    for output_format, delimiter in (("tsv", "\t"), ("csv", ",")):
        text = told("judgements", crawl, "--format", output_format)
        assert len(table(text, delimiter)) == 39
        again = tmp_path / f"again.{output_format}"
        again.write_text(text, "utf-8", newline="")
        assert "0 judgements added, 39 known already" in told("judgements", crawl, "--import", again)
    assert judgements_of(crawl) == before
    lines = told("judgements", crawl, "--format", "jsonl").splitlines()
    assert {json.loads(line)["comment"] for line in lines} == {"", "=1+1\tx"}


def test_judgements_are_statements_of_the_web_annotation_vocabulary(crawl: Path, tmp_path: Path) -> None:
    file = tmp_path / "labels.tsv"
    filled(crawl, file)
    told("judgements", crawl, "--import", file, "--by", "anna")
    store = ox.Store()
    store.load(told("judgements", crawl, "--format", "nq").encode(), format=ox.RdfFormat.N_QUADS)
    rows = store.query(
        """PREFIX oa: <http://www.w3.org/ns/oa#> SELECT ?url ?scope WHERE { GRAPH ?said {
          ?said a oa:Annotation ; oa:hasBody ?body ; oa:hasTarget ?target .
          ?body oa:hasPurpose oa:assessing ; <http://www.w3.org/1999/02/22-rdf-syntax-ns#value> "highly-relevant" .
          ?target oa:hasSource ?url ; oa:hasScope ?scope } }"""
    )
    assert isinstance(rows, ox.QuerySolutions)
    found = {(row["url"].value, row["scope"].value) for row in rows}
    (sample,) = samples_of(crawl)
    assert found == {(f"{SITE}/{number}", sample.id) for number in range(36, 40)}
    assert not any(isinstance(quad.subject, ox.BlankNode) for quad in store)


def test_the_columns_of_the_first_article_are_understood(crawl: Path, tmp_path: Path) -> None:
    file = tmp_path / "flood.csv"
    file.write_text(
        "campaign,url,timestamp,contentRelevance,timeRelevance,vote,comment\n"
        f'"flood","{SITE.replace("test", "test:80")}/1",2004-06-04T18:40:58,0.04,1.0,NotRelevant,""\n'
        f'"flood","{SITE}/2",2004-06-04T18:40,0.2,1.0,HighlyRelevant,"a, b"\n'
        f'"flood","{SITE}/3",2004-06-04T18:40:58,0.2,1.0,Junk,""\n'
        f'"flood","{SITE}/4",2004-06-04T18:40:58,0.2,1.0,Unknown,"page is not displayed"\n',
        "utf-8",
    )
    told("judgements", crawl, "--import", file, "--by", "students")
    found = judgements_of(crawl)
    assert [each.grade for each in found] == [Grade.NOT_RELEVANT, Grade.HIGHLY_RELEVANT, Grade.SPAM, Grade.UNKNOWN]
    assert (found[1].page.url, found[1].page.captured, found[1].comment) == (
        *(f"{SITE}/2", "2004-06-04T18:40:00+00:00", "a, b"),
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("url\tgrade\nhttp://a.test/\tperhaps\n", "labels.tsv:2: 'perhaps' is no grade; write one of highly-relevant"),
        ("url\tgrade\nnowhere\trelevant\n", "labels.tsv:2: 'nowhere' is no http(s) URL"),
        ("url\tsample\tgrade\nhttp://a.test/\t1\trelevant\n", "labels.tsv:2: there is no sample 1; 0 were drawn"),
        (
            "url\tgrade\tjudge\nhttp://a.test/\trelevant\tA\x1b[31m\n",
            "labels.tsv:2: 'A\\x1b[31m' is no name of a judge",
        ),
        ("url\tgrade\tat\nhttp://a.test/\trelevant\tlately\n", "labels.tsv:2: 'lately' is no time"),
        ("url\tgrade\tat\nhttp://a.test/\trelevant\t9000-01-01\n", "labels.tsv:2: '9000-01-01' is in the future"),
        (
            "url\tgrade\nhttp://a.test/\trelevant\nhttp://A.test\trelevant\nhttp://a.test/#x\tspam\n",
            "labels.tsv:4: anna gives http://a.test/ another grade than at ",
        ),
        (
            "url\tgrade\n" + "nowhere\trelevant\n" * 30,
            "labels.tsv:21: 'nowhere' is no http(s) URL\nand 10 more mistakes",
        ),
        ("page\tgrade\n", "has no columns url and grade; its first line names page, grade"),
        ("", "has no columns url and grade; its first line names none"),
    ],
)
def test_a_wrong_table_changes_nothing(crawl: Path, tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "labels.tsv"
    file.write_text(text, "utf-8")
    ended = run("judgements", crawl, "--import", file, "--by", "anna")
    assert ended.exit_code != 0
    assert said in ended.output
    assert judgements_of(crawl) == []


def test_rows_of_pages_that_the_crawl_does_not_have_are_counted(crawl: Path, tmp_path: Path) -> None:
    file = tmp_path / "labels.tsv"
    file.write_text(f"url\tgrade\n{SITE}/1\trelevant\nhttp://elsewhere.test/\tspam\n", "utf-8")
    said = told("judgements", crawl, "--import", file, "--by", "anna")
    assert "2 judgements added, 0 known already, 1 row of pages that this crawl does not have" in said


def test_the_same_draw_gives_the_sample_that_is_there(crawl: Path) -> None:
    def drawn(*more: object) -> Result:
        return run("judgements", crawl, "--draw", 10, *more)

    first, again = drawn("--by", "anna"), drawn("--by", "ben")
    assert (again.stdout, again.stderr) == (first.stdout, "these pages are drawn already: they are sample 1\n")
    assert first.stderr == ""
    assert {row["sample"] for row in table(drawn("--by", "anna", "--seed", 1).stdout)} == {"2"}
    decide_membership(crawl, [row["url"] for row in table(first.stdout)], MemberAnswer.NOT_MEMBER, "anna")
    assert {row["sample"] for row in table(drawn("--by", "anna").stdout)} == {"3"}
    assert [each.by for each in samples_of(crawl)] == ["anna"] * 3


def test_who_judged_has_to_be_said(crawl: Path, tmp_path: Path) -> None:
    file = tmp_path / "labels.tsv"
    file.write_text(f"url\tgrade\n{SITE}/1\trelevant\n", "utf-8")
    assert "--by NAME" in run("judgements", crawl, "--import", file).output
    assert "--by NAME" in run("judgements", crawl, "--draw", 5).output
    assert "nothing is judged so far" in run("evaluate", crawl, "--judgements").output
    assert "holds no crawl" in run("judgements", crawl / "archive").output


def test_membership_by_hand_counts_in_selections(crawl: Path) -> None:
    def selected() -> set[str]:
        return {line.rpartition("/")[2] for line in told("select", crawl, "--members", "--dry-run").splitlines()}

    assert selected() == {str(number) for number in range(30, 40)}
    decide_membership(crawl, [f"{SITE}/30"], MemberAnswer.NOT_MEMBER, "anna", "another flood")
    decide_membership(crawl, [f"{SITE}/2"], MemberAnswer.MEMBER, "anna")
    assert selected() == {"2", *(str(number) for number in range(31, 40))}
    assert "10 pages" in told("export", crawl, "--members", "--wacz", crawl / "members.wacz", "--no-text")
