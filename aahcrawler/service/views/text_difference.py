"""Compares two texts word by word, in a bounded amount of time."""

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import Final, Literal

from pydantic import BaseModel, ConfigDict

LONGEST: Final = 20_000
"""Characters of a text that are compared."""
_WORDS: Final = 2_000
_LINES: Final = 1_000
_LINE: Final = 2_000


class Piece(BaseModel):
    """A part of a text that both have, or that was added or removed."""

    model_config = ConfigDict(frozen=True)

    kind: Literal["same", "added", "removed"]
    text: str


class LinePair(BaseModel):
    """A line of two texts side by side, None where one has no such line; ``pieces`` where both have it and differ."""

    model_config = ConfigDict(frozen=True)

    before: str | None
    after: str | None
    pieces: tuple[Piece, ...] = ()


class TextDifference(BaseModel):
    """Two texts side by side; lines that both have are left out but for those beside a difference.

    ``left_out`` counts these. ``cut`` says that a text was too long to be compared as a whole.
    """

    model_config = ConfigDict(frozen=True)

    lines: tuple[LinePair, ...]
    left_out: int
    cut: bool


def word_difference(before: str, after: str) -> tuple[Piece, ...]:
    """Return the pieces of two texts in their order, white space as one blank; texts are cut at 2,000 words."""
    first, second = _words(before), _words(after)
    pieces: list[Piece] = []
    for tag, a, b, c, d in SequenceMatcher(None, first, second).get_opcodes():
        if tag == "equal":
            pieces.append(Piece(kind="same", text=" ".join(first[a:b])))
            continue
        if b > a:
            pieces.append(Piece(kind="removed", text=" ".join(first[a:b])))
        if d > c:
            pieces.append(Piece(kind="added", text=" ".join(second[c:d])))
    return tuple(pieces)


def text_difference(before: Sequence[str], after: Sequence[str], context: int = 2) -> TextDifference:
    """Return two texts side by side, by their lines; texts are cut at 1,000 lines."""
    first, second = [line[:_LINE] for line in before[:_LINES]], [line[:_LINE] for line in after[:_LINES]]
    lines: list[LinePair] = []
    groups = list(SequenceMatcher(None, first, second).get_grouped_opcodes(context))
    for group in groups:
        for tag, a, b, c, d in group:
            lines += _pairs(first[a:b], second[c:d], is_same=tag == "equal")
    shown = sum(1 for line in lines if line.before is not None)
    is_cut = max(len(before), len(after)) > _LINES or any(len(line) > _LINE for line in (*before, *after))
    return TextDifference(lines=tuple(lines), left_out=len(first) - shown, cut=is_cut)


def _pairs(before: Sequence[str], after: Sequence[str], *, is_same: bool) -> Iterator[LinePair]:
    for at in range(max(len(before), len(after))):
        old, new = before[at] if at < len(before) else None, after[at] if at < len(after) else None
        is_changed = not is_same and old is not None and new is not None
        pieces = word_difference(old or "", new or "") if is_changed else ()
        yield LinePair(before=old, after=new, pieces=pieces)


def _words(text: str) -> list[str]:
    return text[:LONGEST].split()[:_WORDS]
