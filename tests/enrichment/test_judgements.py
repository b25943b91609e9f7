"""What people judge, and whom they make members, are annotations of theirs: the last counts, and none is lost."""

import json
from pathlib import Path
from threading import Thread

import pytest

from aahcrawler.annotations.judgements import (
    Grade,
    MemberAnswer,
    MemberDecision,
    Said,
    Seen,
    decide_membership,
    judge,
    judgements_of,
    membership_of,
)
from aahcrawler.annotations.web_annotations import AnnotationFileError, rewrite
from aahcrawler.layout import JUDGEMENTS, MEMBERSHIP
from tests.forking import forked

ONE, OTHER = Seen("http://a.test/1", "urn:uuid:1", "2013-06-05T10:00:00+00:00"), Seen("http://a.test/2")


def test_each_judge_has_one_judgement_of_a_page_and_may_withdraw_it(tmp_path: Path) -> None:
    assert judgements_of(tmp_path) == []
    judge(tmp_path, "anna", Said(ONE, Grade.RELEVANT, sample="urn:uuid:s"), Said(OTHER, Grade.SPAM))
    judge(tmp_path, "ben", Said(ONE, Grade.NOT_RELEVANT, "about a choir"))
    judge(tmp_path, "anna", Said(ONE, Grade.HIGHLY_RELEVANT))
    found = judgements_of(tmp_path)
    assert [(each.page, each.grade, each.by, each.comment, each.samples) for each in found] == [
        (ONE, Grade.HIGHLY_RELEVANT, "anna", "", {"urn:uuid:s"}),
        (OTHER, Grade.SPAM, "anna", "", frozenset()),
        (ONE, Grade.NOT_RELEVANT, "ben", "about a choir", frozenset()),
    ]
    judge(tmp_path, "anna", Said(ONE, None))
    assert [each.by for each in judgements_of(tmp_path) if each.page == ONE] == ["ben"]
    assert len((tmp_path / JUDGEMENTS).read_bytes().splitlines()) == 5


def test_a_judgement_is_a_web_annotation_of_the_capture_that_was_seen(tmp_path: Path) -> None:
    judge(tmp_path, "anna", Said(ONE, Grade.UNKNOWN, "not shown", "urn:uuid:s"))
    told = json.loads((tmp_path / JUDGEMENTS).read_text("utf-8"))
    assert told["@context"] == "http://www.w3.org/ns/anno.jsonld"
    assert (told["motivation"], told["creator"]) == ("assessing", {"type": "Person", "name": "anna"})
    assert told["body"] == [
        {"type": "TextualBody", "purpose": "assessing", "value": "dont-know"},
        {"type": "TextualBody", "purpose": "commenting", "value": "not shown"},
    ]
    assert told["target"] == {
        "type": "SpecificResource",
        "source": ONE.url,
        "state": {"type": "TimeState", "sourceDate": ONE.captured, "cached": ONE.record},
        "scope": "urn:uuid:s",
    }
    assert (tmp_path / JUDGEMENTS).stat().st_mode & 0o077 == 0


def test_membership_is_decided_with_a_reason_and_taken_back(tmp_path: Path) -> None:
    decide_membership(tmp_path, [ONE.url, OTHER.url], MemberAnswer.NOT_MEMBER, "anna", "another flood")
    decide_membership(tmp_path, [OTHER.url], MemberAnswer.MEMBER, "ben")
    found = membership_of(tmp_path)
    assert found[ONE.url] == MemberDecision(False, "anna", found[ONE.url].at, "another flood")
    assert (found[OTHER.url].is_member, found[OTHER.url].by) == (True, "ben")
    decide_membership(tmp_path, [ONE.url], MemberAnswer.UNDECIDED, "anna")
    assert membership_of(tmp_path).keys() == {OTHER.url}
    assert json.loads((tmp_path / MEMBERSHIP).read_text("utf-8").splitlines()[0])["motivation"] == "classifying"


def test_a_damaged_line_is_told_with_its_place(tmp_path: Path) -> None:
    judge(tmp_path, "anna", Said(ONE, Grade.RELEVANT))
    with (tmp_path / JUDGEMENTS).open("ab") as file:
        file.write(b'{"body": []}\n')
    with pytest.raises(AnnotationFileError, match=rf"{JUDGEMENTS}:2: .*restore"):
        judgements_of(tmp_path)


_JUDGING = """
import sys
from pathlib import Path
from aahcrawler.annotations.judgements import Grade, Said, Seen, judge
for number in range(10_000):
    judge(Path(sys.argv[1]), "anna", Said(Seen(f"http://a.test/{number}"), Grade.RELEVANT))
    print(number, flush=True)
"""


@pytest.mark.starts
def test_a_kill_loses_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    with forked(_JUDGING, tmp_path) as judging:
        seen = [int(judging.stdout.readline()) for _ in range(20)]
        judging.kill()
        seen += map(int, judging.stdout.read().split())
    assert {f"http://a.test/{number}" for number in seen} <= {each.page.url for each in judgements_of(tmp_path)}
    judge(tmp_path, "ben", Said(ONE, Grade.RELEVANT))
    assert judgements_of(tmp_path)[-1].by == "ben"


def test_what_is_noted_while_the_file_is_rewritten_is_not_lost(tmp_path: Path) -> None:
    judge(tmp_path, "anna", *(Said(Seen(f"http://a.test/{number}"), Grade.RELEVANT) for number in range(200)))

    def note() -> None:
        for number in range(40):
            judge(tmp_path, "ben", Said(Seen(f"http://a.test/{number}"), Grade.SPAM))

    noting = Thread(target=note)
    noting.start()
    for number in range(20):
        gone = f"http://a.test/{100 + number}"
        rewrite(tmp_path / JUDGEMENTS, lambda said, gone=gone: None if gone in json.dumps(said) else said)  # type: ignore[misc]
    noting.join()
    found = judgements_of(tmp_path)
    assert sum(each.by == "ben" for each in found) == 40
    assert sum(each.by == "anna" for each in found) == 180
