"""What people decided to keep is an annotation of theirs, of which the last counts and none is lost."""

import json
from pathlib import Path

import pytest

from aahcrawler.annotations.keep_decisions import KeepAnswer, decide, decisions_of
from aahcrawler.annotations.web_annotations import AnnotationFileError
from aahcrawler.layout import DECISIONS

ONE, OTHER = "http://a.test/1", "http://a.test/2"


def test_the_last_decision_on_a_page_counts_and_may_be_taken_back(tmp_path: Path) -> None:
    assert decisions_of(tmp_path) == {}
    assert decide(tmp_path, [ONE, OTHER, ONE], KeepAnswer.KEEP, "anna") == 2
    decide(tmp_path, [OTHER], KeepAnswer.REJECT, "ben")
    found = decisions_of(tmp_path)
    assert {url: (each.answer, each.by) for url, each in found.items()} == {
        ONE: (KeepAnswer.KEEP, "anna"),
        OTHER: (KeepAnswer.REJECT, "ben"),
    }
    decide(tmp_path, [ONE], KeepAnswer.UNDECIDED, "anna")
    assert decisions_of(tmp_path).keys() == {OTHER}
    assert decide(tmp_path, [], KeepAnswer.KEEP, "anna") == 0
    assert len((tmp_path / DECISIONS).read_bytes().splitlines()) == 3


def test_each_is_a_web_annotation_by_a_person(tmp_path: Path) -> None:
    decide(tmp_path, [ONE], KeepAnswer.KEEP, "anna")
    told = json.loads((tmp_path / DECISIONS).read_text("utf-8"))
    assert told["@context"] == "http://www.w3.org/ns/anno.jsonld"
    assert (told["type"], told["motivation"], told["target"]) == ("Annotation", "assessing", [ONE])
    assert told["creator"] == {"type": "Person", "name": "anna"}
    assert told["body"] == {"type": "TextualBody", "purpose": "assessing", "value": "keep"}
    assert told["created"].endswith("+00:00")
    assert (tmp_path / DECISIONS).stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("size", [1, 200, 70_000])
def test_what_a_crash_left_of_a_line_is_none_and_spoils_no_later_one(tmp_path: Path, size: int) -> None:
    decide(tmp_path, [ONE], KeepAnswer.KEEP, "anna")
    with (tmp_path / DECISIONS).open("ab") as file:
        file.write(b"{" * size)
    assert decisions_of(tmp_path).keys() == {ONE}
    decide(tmp_path, [OTHER], KeepAnswer.REJECT, "anna")
    assert decisions_of(tmp_path).keys() == {ONE, OTHER}


def test_a_line_that_cannot_be_read_is_told_and_nothing_is_guessed(tmp_path: Path) -> None:
    decide(tmp_path, [ONE], KeepAnswer.KEEP, "anna")
    with (tmp_path / DECISIONS).open("ab") as file:
        file.write(b'{"body": "keep"}\n')
    with pytest.raises(AnnotationFileError, match=rf"{DECISIONS}:2: .*restore"):
        decisions_of(tmp_path)


def test_a_link_to_a_file_elsewhere_is_not_written_to(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").touch()
    (tmp_path / DECISIONS).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(AnnotationFileError, match="cannot be written"):
        decide(tmp_path, [ONE], KeepAnswer.KEEP, "anna")
    assert (tmp_path / "elsewhere").read_bytes() == b""
