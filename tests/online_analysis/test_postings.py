from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from online_analysis.icd import Icd, Post, changes
from online_analysis.icd.reference_files import read_posts
from tests.online_analysis.definitions import SMALLEST, mistakes_in

DEFINITION = SMALLEST.replace("keywords: [solar power]", "keywords: [solar power], posts: posts.jsonl")


def definition(folder: Path, *lines: str | bytes) -> Icd:
    """Return the smallest definition with a file of posts beside it."""
    content = b"\n".join(line if isinstance(line, bytes) else line.encode() for line in lines)
    (folder / "posts.jsonl").write_bytes(content)
    (folder / "solar.yaml").write_text(DEFINITION)
    return Icd.load(folder / "solar.yaml")


def test_posts_are_read_with_the_definition(tmp_path: Path) -> None:
    icd = definition(
        tmp_path,
        b"\xef\xbb\xbf" + b'{"author": " Ann  Lee ", "text": "see http://a.test/", "followers": 12, "id": 3}\r',
        "",
        '{"author": "βασίλης", "text": "", "date": "2024-05-01T20:00:00+02:00", "followers": null}',
        '{"author": "c", "text": "x", "date": "2024-05-01"}',
    )
    assert icd.topic.posts == "posts.jsonl"
    assert icd.posts == (
        Post("Ann Lee", "see http://a.test/", None, 12),
        Post("βασίλης", "", datetime(2024, 5, 1, 18, tzinfo=UTC), 0),
        Post("c", "x", datetime(2024, 5, 1, tzinfo=UTC), 0),
    )


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("{", "is no JSON"),
        ("[]", "is no JSON object"),
        ("3", "is no JSON object"),
        ('{"text": "x"}', "`author` is missing"),
        ('{"author": "a"}', "`text` is missing"),
        ('{"author": " ", "text": "x"}', "`author` is empty"),
        ('{"author": 3, "text": "x"}', "`author` is wrong"),
        ('{"author": "a", "text": null}', "`text` is wrong"),
        ('{"author": "a", "text": "x", "followers": -1}', "`followers` is wrong"),
        ('{"author": "a", "text": "x", "followers": "many"}', "`followers` is wrong"),
        ('{"author": "a", "text": "x", "date": "soon"}', "`date` is no date"),
        ('{"author": "a", "text": "x", "date": 1714521600}', "`date` is no date in quotes"),
        (b'{"author": "a", "text": "\xff"}', "is no JSON"),
    ],
)
def test_a_bad_line_is_a_mistake_with_its_number(tmp_path: Path, line: str | bytes, problem: str) -> None:
    good = b'{"author": "a", "text": "x"}'
    content = good + b"\n\n" + (line if isinstance(line, bytes) else line.encode()) + b"\n" + good
    (tmp_path / "posts.jsonl").write_bytes(content)
    (mistake,) = mistakes_in(DEFINITION, tmp_path)
    assert (mistake.file, mistake.line) == (str(tmp_path / "posts.jsonl"), 3)
    assert mistake.problem.startswith(problem)
    assert "one post a line" in mistake.advice


def test_of_many_bad_lines_the_first_are_reported_after_what_is_wrong_with_the_definition(tmp_path: Path) -> None:
    (tmp_path / "posts.jsonl").write_text("x\n" * 50)
    wrong = DEFINITION.replace("posts:", "reference_crawl: many, posts:") + "limits: {pages: x}"
    mistakes = mistakes_in(wrong, tmp_path)
    assert [mistake.line for mistake in mistakes] == [4, 5, *range(1, 22)]
    assert mistakes[-1].problem == "30 more lines are no posts"


@pytest.mark.parametrize(
    ("content", "field", "problem"),
    [(None, "topic.posts", "does not exist"), (b"", "", "holds no posts"), (b"\n \n", "", "holds no posts")],
)
def test_a_file_of_posts_must_hold_some(tmp_path: Path, content: bytes | None, field: str, problem: str) -> None:
    if content is not None:
        (tmp_path / "posts.jsonl").write_bytes(content)
    (mistake,) = mistakes_in(DEFINITION, tmp_path)
    assert mistake.field == field
    assert problem in mistake.problem


def test_posts_belong_to_the_meaning_their_order_does_not(tmp_path: Path) -> None:
    ann, bob = '{"author": "ann", "text": "x"}', '{"author": "bob", "text": "y"}'
    before = definition(tmp_path, ann, bob)
    assert changes(before, definition(tmp_path, bob, "", ann)) == ()
    assert changes(before, definition(tmp_path, bob)) == ("file.posts.jsonl",)


@given(st.binary(max_size=100))
def test_no_bytes_raise(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "any.jsonl"
    path.write_bytes(content)
    read = read_posts(path)
    assert bool(read.posts) != bool(read.mistakes)
