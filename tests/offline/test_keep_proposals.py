"""What is proposed to be kept, why, and how an archivist decides."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from aahcrawler.annotations import Annotation, CaptureAnnotations, Kind
from aahcrawler.annotations.judgements import MemberAnswer, decide_membership
from aahcrawler.annotations.keep_decisions import KeepAnswer, KeepDecision, decide, decisions_of
from aahcrawler.cli import app
from aahcrawler.layout import ANNOTATIONS, DECISIONS, NQUADS
from aahcrawler.segments import SegmentWriter, Series
from offline.selection.criteria import CriteriaError
from offline.selection.keep_proposals import KeepProposal, as_lines, keep_proposals, kept_urls, review_file
from tests.imports.archives import imported, members, record
from tests.offline.crawls import BEGUN, THREAD, capture, graph, post, writer

PAGES = (
    # author, relevance, topic, near duplicates
    ("ann", 0.9, "dike", ""),
    ("ann", 0.88, "dike", ""),
    ("bob", 0.7, "mill", "copies"),
    ("bob", 0.69, "mill", "copies"),
    ("cy", 0.1, "", ""),
)


def said(number: int, kind: Kind, label: str) -> Annotation:
    return Annotation(THREAD.format(number), graph(number), kind, label, "topics", "1", 0.5, f"urn:x:{label}")


@pytest.fixture
def crawl(tmp_path: Path) -> Path:
    root, file = tmp_path / "crawl", tmp_path / "others.warc.gz"
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<p>%d"
    file.write_bytes(members([record(n, head % n, url=THREAD.format(n)) for n in range(1, len(PAGES) + 2)]))
    imported(root, file)
    with writer(root) as objects:
        for number, (author, score, _, _) in enumerate(PAGES, 1):
            objects.write(replace(capture(number), score=score), [post(number, 1, author, f"Text {number}")])
        objects.write(replace(capture(6), score=1.0, relevant=False), [post(6, 1, "dee", "Something else")])
    annotations = SegmentWriter(Series(root / ANNOTATIONS, "demo", NQUADS), lambda: BEGUN)
    for number, (_, _, topic, copies) in enumerate(PAGES, 1):
        told = [said(number, kind, label) for kind, label in ((Kind.TOPIC, topic), (Kind.CLUSTER, copies)) if label]
        annotations.append((bytes(CaptureAnnotations(graph(number), "topics", "1", "", "", annotations=tuple(told))),))
    annotations.close()
    return root


def urls(numbers: Sequence[int]) -> list[str]:
    return [THREAD.format(number) for number in numbers]


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [*map(str, arguments)])


def test_what_is_new_comes_before_more_of_the_same(crawl: Path) -> None:
    found = keep_proposals(crawl, 10)
    # The second page on dikes has nothing new but its relevance, the second on mills nearly repeats the first.
    assert [each.url for each in found] == urls([1, 3, 2, 5, 4])
    assert [each.url for each in keep_proposals(crawl, 2)] == urls([1, 3])
    assert [each.group for each in found][:3] == ["topic: dike", "topic: mill", "topic: dike"]
    assert found[3].group.startswith("site: ")
    assert found[0].reasons == ("relevance 0.90", "the first on dike", "a voice not heard yet", "the first of 2020-05")
    assert found[2].reasons == ("relevance 0.88", "number 2 on dike")
    assert "says nearly the same as another one that is proposed" in found[4].reasons


def test_pages_that_nobody_scored_have_no_relevance(tmp_path: Path) -> None:
    with writer(tmp_path) as objects:
        for number in (1, 2):
            objects.write(replace(capture(number), score=None), [post(number, 1, "ann", f"Text {number}")])
    found = keep_proposals(tmp_path, 10)
    assert [each.relevance for each in found] == [None, None]
    assert [each.reasons for each in found] == [
        ("a voice not heard yet", "the first of 2020-05"),
        ("nothing new beside those before it",),
    ]
    assert '"relevance": null' in as_lines(found)
    rejected = KeepDecision(KeepAnswer.REJECT, "ann", "2026-01-01T00:00:00Z")
    assert keep_proposals(tmp_path, 10, {THREAD.format(2): rejected})[0].reasons == ()


def test_labels_of_pages_break_no_review(tmp_path: Path) -> None:
    found = [KeepProposal("http://a.test/", "topic: a\n\x85 b: #c", ("the first on a\n- x\u2028",))]
    (tmp_path / "keep.yaml").write_text(review_file(found, tmp_path, tmp_path), "utf-8")
    assert kept_urls(tmp_path / "keep.yaml") == frozenset(["http://a.test/"])


def test_groups_are_accepted_rejected_and_taken_back_in_the_file(crawl: Path, tmp_path: Path) -> None:
    review, warc = tmp_path / "keep.yaml", tmp_path / "kept.warc.gz"
    told = run("select", crawl, "--propose", review)
    assert told.exit_code == 0, told.output
    assert "5 pages to review" in told.stdout
    assert kept_urls(review) == frozenset(urls([1, 2, 3, 4, 5]))
    whole = review.read_text("utf-8")
    assert "the first on mill" in whole
    review.write_text(
        whole.replace("keep: yes", "keep: no", 1).replace(f'      - "{THREAD.format(4)}"', "      #"), "utf-8"
    )
    assert kept_urls(review) == frozenset(urls([3, 5]))
    listed = run("select", crawl, "--review", review, "--dry-run")
    assert [line.split("\t")[2] for line in listed.stdout.splitlines()] == urls([3, 5])
    done = run("select", crawl, "--review", review, "--to", warc)
    assert done.exit_code == 0, done.output
    assert "2 pages" in done.stdout
    package = run("export", crawl, "--review", review, "--wacz", tmp_path / "kept.wacz")
    assert package.exit_code == 0, package.output
    assert "2 pages" in package.stdout
    beside = run("select", crawl, "--propose", crawl / "other.yaml", "--review", review)
    assert (beside.exit_code, (crawl / "other.yaml").exists()) == (2, False)
    again = run("select", crawl, "--propose", review)
    assert again.exit_code == 2
    assert "may have been reviewed" in again.stderr


def test_what_people_decided_outlasts_another_proposal(crawl: Path, tmp_path: Path) -> None:
    one, two, three, four, five = urls([1, 2, 3, 4, 5])
    decide(crawl, [two], KeepAnswer.KEEP, "anna")
    decide(crawl, [three], KeepAnswer.REJECT, "anna")
    found = keep_proposals(crawl, 2, decisions_of(crawl))
    # The page that is kept counts as the first on dikes, the one that is rejected as none on mills.
    assert [each.url for each in found] == [two, three, four, one]
    assert "the first on dike" in found[0].reasons
    assert found[1].reasons == ("relevance 0.70",)
    assert "the first on mill" in found[2].reasons
    review, lines = tmp_path / "keep.yaml", tmp_path / "keep.jsonl"
    assert run("select", crawl, "--propose", review).exit_code == 0
    assert kept_urls(review) == {one, two, four, five}
    ended = run("select", crawl, "--propose", lines, "--propose-pages", 1)
    assert ended.exit_code == 0
    assert "--review" not in ended.output
    told = [json.loads(line) for line in lines.read_text("utf-8").splitlines()]
    assert [(each["url"], each["month"]) for each in told] == [(url, "2020-05") for url in (two, three, four)]


def test_pages_that_people_decided_to_keep_are_written(crawl: Path, tmp_path: Path) -> None:
    decide(crawl, urls([2, 3, 6]), KeepAnswer.KEEP, "anna")
    decide(crawl, urls([6]), KeepAnswer.UNDECIDED, "ben")
    decided = crawl / DECISIONS
    done = run("select", crawl, "--review", decided, "--to", tmp_path / "kept.warc.gz", "--json")
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout.splitlines()[-1])
    assert (told["pages"], told["bytes"]) == (2, (tmp_path / "kept.warc.gz").stat().st_size)
    package = run("export", crawl, "--review", decided, "--wacz", tmp_path / "kept.wacz")
    assert "2 pages" in package.stdout
    decided.write_text("{}\n")
    refused = run("select", crawl, "--review", decided, "--dry-run")
    assert (refused.exit_code, f"{DECISIONS}:1" in refused.stderr) == (2, True)


@pytest.mark.parametrize("how", [("--dry-run",), ("--to", "kept.warc.gz")])
def test_that_nobody_has_kept_a_page_is_told(crawl: Path, tmp_path: Path, how: tuple[str, ...]) -> None:
    decide(crawl, urls([2]), KeepAnswer.KEEP, "anna")
    decide(crawl, urls([2]), KeepAnswer.UNDECIDED, "anna")
    (tmp_path / "keep.yaml").write_text(f"groups:\n  - keep: no\n    pages: [{urls([2])[0]}]\n", "utf-8")
    for file, way in ((crawl / DECISIONS, "What to keep"), (tmp_path / "keep.yaml", "keep: yes")):
        refused = run("select", crawl, "--review", file, *how)
        assert refused.exit_code == 2
        told = " ".join(refused.stderr.split())
        assert "nobody has kept a page" in told
        assert way in told


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("groups: [", "is no YAML"),
        ("pages: []", "holds no groups"),
        ("groups:\n  - pages: []\n", "group 1 says neither"),
        ("groups:\n  - keep: yes\n    pages: http://a.test/\n", "are no list"),
        ("groups:\n  - keep: no\n    pages: [ftp://a.test/]\n", "is no http"),
    ],
)
def test_mistakes_in_a_review_are_told(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "keep.yaml").write_text(text, "utf-8")
    with pytest.raises(CriteriaError, match=message):
        kept_urls(tmp_path / "keep.yaml")


def test_people_decide_which_pages_are_members_and_so_can_be_proposed(crawl: Path) -> None:
    one, unwanted = urls([1, 6])
    assert unwanted not in [each.url for each in keep_proposals(crawl, 10)]
    decide_membership(crawl, [unwanted], MemberAnswer.MEMBER, "anna")
    decide_membership(crawl, [one], MemberAnswer.NOT_MEMBER, "anna")
    found = [each.url for each in keep_proposals(crawl, 10)]
    assert unwanted in found
    assert one not in found
