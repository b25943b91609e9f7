"""Texts are compared by line and word, and never for long."""

from aahcrawler.service.views.object_list import text_difference, word_difference
from tests.pace import at_most


def test_words_that_were_added_and_removed_are_told_in_their_place() -> None:
    pieces = word_difference("The dike  broke at noon.", "The old dike broke\nat midnight.")
    assert [(piece.kind, piece.text) for piece in pieces] == [
        ("same", "The"),
        ("added", "old"),
        ("same", "dike broke at"),
        ("removed", "noon."),
        ("added", "midnight."),
    ]
    assert word_difference("a  b", "a\tb")[0].kind == "same"
    assert word_difference("", "") == ()


def test_lines_stand_side_by_side_and_those_without_a_difference_are_left_out() -> None:
    before = [f"line {number}" for number in range(50)]
    after = [*before[:20], "line twenty", *before[21:40], "new", *before[40:]]
    found = text_difference(before, after)
    changed = [(line.before, line.after) for line in found.lines if line.before != line.after]
    assert changed == [("line 20", "line twenty"), (None, "new")]
    assert len(found.lines) + found.left_out == 51
    assert not found.cut
    assert text_difference(before, before).lines == ()


def test_long_and_repetitive_texts_take_no_long_time() -> None:
    one, other = (
        ["ab"[number % 2] * 3 for number in range(5_000)],
        ["ba"[number % 3 % 2] * 3 for number in range(5_000)],
    )
    various = [f"{number * 7919 % 100}" for number in range(3_000)]
    with at_most(5):
        assert text_difference(one, other).cut
        word_difference(" ".join(one), " ".join(other))
        text_difference(various, various[::-1])
