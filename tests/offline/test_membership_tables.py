"""Membership of a collection taken in from tables and lists, taken back, and near duplicates among members."""

from collections.abc import Iterable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from aahcrawler.annotations.judgements import MemberAnswer, decide_membership, membership_of
from aahcrawler.cli import app
from offline.evaluation.membership_table import read_decisions
from offline.evaluation.relevance_metrics import EvaluationError
from tests.crawl.crawling import aah
from tests.crawl.world import crawl
from tests.sources.dated import Dated, page, write_archive

HOME = "http://dikes.test/"
REPORT = (
    "The storm surge of the river has flooded the harbour of the town, and the old dike behind the mill breaks in two "
    "places; volunteers fill bags with sand all night while the water of the river still rises, {} report."
)
PAGES = {
    HOME: page("Flood", "/first", "http://mirror.test/first", "/other", text="A list of reports on the flood."),
    f"{HOME}first": page("The dike breaks", text=REPORT.format("reporters")),
    "http://mirror.test/first": page("The dike breaks", text=REPORT.format("reporters")),
    f"{HOME}other": page("Help", text="Helpers from all over the country bring boats, food and pumps to the flood."),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a crawl of an archive with a page under two URLs."""
    root = tmp_path_factory.mktemp("members")
    archive = write_archive(
        root / "old.warc.gz", [Dated(url, "2013-06-05T10:00:00Z", body) for url, body in PAGES.items()]
    )
    crawled = crawl(
        root / "c",
        [HOME],
        captures={"sources": [{"archive": str(archive)}]},
        scope={"sites": "anywhere"},
        topic={"keywords": ["flood", "dike"]},
        scoring={"relevant": 0.01},
    )
    assert crawled.summary["pages"] == 4, crawled.ended.err
    return crawled.folder


def said(folder: Path, *options: str) -> Result:
    return CliRunner().invoke(app, ["membership", str(folder), *options])


def write_lines(path: Path, lines: Iterable[str]) -> str:
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return str(path)


def test_a_table_is_taken_in_as_a_whole_and_taken_back(folder: Path, tmp_path: Path) -> None:
    decide_membership(folder, [f"{HOME}other"], MemberAnswer.MEMBER, "Ada")
    table = write_lines(
        tmp_path / "t.csv",
        ["URL;Member;Reason", f"{HOME}other;no;about boats", f"{HOME}first;yes;", "http://nowhere.test/;yes;"],
    )
    taken = said(folder, "--import", table, "--by", "Ben", "--reason", "read")
    assert taken.exit_code == 0, taken.output
    assert "decided on 2 pages; 1 URL left out" in taken.output
    assert {url: (each.is_member, each.by, each.reason) for url, each in membership_of(folder).items()} == {
        f"{HOME}other": (False, "Ben", "about boats"),
        f"{HOME}first": (True, "Ben", "read"),
    }
    shown = said(folder).output.splitlines()
    assert shown[0].split("\t") == ["url", "member", "by", "at", "reason"]
    assert shown[1].split("\t")[:3] == [f"{HOME}first", "member", "Ben"]
    assert "what Ben decided last on 2 pages is taken back" in said(folder, "--undo", "--by", "Cleo").output
    assert {url: each.is_member for url, each in membership_of(folder).items()} == {f"{HOME}other": True}
    assert "what Cleo decided last" in said(folder, "--undo", "--by", "Ben").output, "what was taken back comes back"
    assert len(membership_of(folder)) == 2


def test_a_table_that_was_written_is_taken_in_again(folder: Path, tmp_path: Path) -> None:
    decide_membership(folder, [f"{HOME}other"], MemberAnswer.MEMBER, "Ada", "=boats")
    before = membership_of(folder)
    (tmp_path / "out.tsv").write_text(said(folder).output, "utf-8")
    said(folder, "--undo", "--by", "Ben")
    taken = said(folder, "--import", str(tmp_path / "out.tsv"))
    assert taken.exit_code == 0, taken.output
    assert membership_of(folder) == before
    nothing = said(
        folder, "--import", write_lines(tmp_path / "n.csv", ["url,member", "http://no.test/,yes"]), "--by", "A"
    )
    assert nothing.exit_code == 2
    assert (
        "decided on no page; 1 URL left out of pages that this crawl does not have: http://no.test/" in nothing.output
    )
    future = write_lines(tmp_path / "f.csv", ["url,member,by,at", f"{HOME},yes,A,2999-01-01T00:00:00+00:00"])
    assert "is no moment" in said(folder, "--import", future).output
    refused = said(folder, "--near-duplicates", "--keep-one")
    assert (refused.exit_code, refused.output.strip()) == (2, "say who decides: --by NAME")


def test_a_list_says_the_same_of_all(tmp_path: Path) -> None:
    listed = Path(write_lines(tmp_path / "l.txt", [f"{HOME}first", "", "# known", HOME]))
    found = read_decisions(listed, MemberAnswer.NOT_MEMBER, "mirror")
    assert {url: (each.answer, each.reason) for url, each in found.items()} == {
        HOME: ("not-member", "mirror"),
        f"{HOME}first": ("not-member", "mirror"),
    }


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        (["url,member", "nothing,yes", f"{HOME},perhaps"], r"t\.csv:2.*no http.*t\.csv:3.*'perhaps'"),
        (["url,member", f"{HOME},yes", f"{HOME},no"], r"something else than .*t\.csv:2"),
        ([HOME], "does not say which pages are members"),
        (["url,member"], "holds no URL"),
        (["url,member," + "x" * 200_000], r"t\.csv:1: is no row of a table"),
    ],
)
def test_what_is_wrong_in_a_table_is_told_with_its_line(tmp_path: Path, lines: list[str], told: str) -> None:
    table = Path(write_lines(tmp_path / "t.csv", lines))
    with pytest.raises(EvaluationError, match=f"(?s){told}"):
        read_decisions(table, None, "")


def test_a_page_under_two_urls_is_told_and_one_is_kept(folder: Path) -> None:
    decide_membership(folder, PAGES, MemberAnswer.UNDECIDED, "Ada")
    found = said(folder, "--near-duplicates", "--keep-one", "--by", "Ada")
    assert found.exit_code == 0, found.output
    (row,) = [line.split("\t") for line in found.stdout.splitlines()[1:]]
    assert {row[0], row[1]} == {f"{HOME}first", "http://mirror.test/first"}
    assert "1 of 4 members say what an earlier one says" in found.output
    assert "share of members among pages: 1.000, without them 1.000" in found.output
    after = membership_of(folder)
    assert not after[row[0]].is_member
    assert after[row[0]].reason == f"near duplicate of {row[1]}"
    assert "0 of 3 members" in said(folder, "--near-duplicates").output
    said(folder, "--undo", "--by", "Ada")
    assert membership_of(folder) == {}


def test_options_that_do_not_go_together_are_refused(folder: Path) -> None:
    for options in (["--undo", "--near-duplicates"], ["--keep-one"], ["--undo"]):
        refused = said(folder, *options)
        assert refused.exit_code != 0
        assert "--" in refused.output
    assert aah("membership", folder).code == 0
