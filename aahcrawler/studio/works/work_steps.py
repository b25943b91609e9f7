"""The steps of a work: who did what when, and what takes it back."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from enum import StrEnum

from pydantic import BaseModel, ConfigDict, Field

from aahcrawler.authoring.editing.edits import Edit
from aahcrawler.authoring.editing.entry_text import EntryText, Splice
from aahcrawler.authoring.saved_pages import Expectation


class StepKind(StrEnum):
    """The sorts of steps."""

    CHANGE = "change"
    UNDO = "undo"
    REDO = "redo"
    SAVE = "save"


class Patch(BaseModel):
    """Bytes at an offset that were replaced by others, each byte written as the character of its number."""

    model_config = ConfigDict(frozen=True)

    begin: int
    before: str
    after: str

    @property
    def end(self) -> int:
        """The offset behind the bytes that are replaced."""
        return self.begin + len(self.before)

    @property
    def reverse(self) -> "Patch":
        """The patch that takes this one back."""
        return Patch(begin=self.begin, before=self.after, after=self.before)

    def applied(self, text: EntryText) -> EntryText:
        """Return a text with the bytes replaced. Raises `EditError`, and ValueError for a text that it is not of."""
        return EntryText(self.replaced(text.data), Splice(self.begin, self.end, len(self.after)))

    def replaced(self, data: bytes) -> bytes:
        """Return the bytes of a text with those replaced. Raises ValueError for a text that it is not of."""
        if data[self.begin : self.end] != self.before.encode("latin-1"):
            raise ValueError("the patch is of another text")
        return data[: self.begin] + self.after.encode("latin-1") + data[self.end :]

    def shifted(self, other: "Patch") -> "Patch":
        """Return the patch for a text in which another one was applied before it."""
        return self.model_copy(update={"begin": self.begin + len(other.after) - len(other.before)})


class PageState(BaseModel):
    """A page of a work: the digest of its body, and what is expected of it."""

    model_config = ConfigDict(frozen=True)

    body: str
    expected: Expectation


class PageChange(BaseModel):
    """A page before and after a step; None where it was not or is no longer there."""

    model_config = ConfigDict(frozen=True)

    before: PageState | None
    after: PageState | None


class Step(BaseModel):
    """A step: when (UTC), by whom, what in plain words, and the changes as made on the text before.

    ``patches`` are the bytes that were replaced, one after the other; ``text`` is the digest of the text afterwards.
    ``of`` is the number of the step that this one takes back or makes again, 0 for others. ``doubts`` says which of the
    doubts, by their numbers, were settled (True), or are open again.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    number: int
    when: datetime
    who: str
    said: str
    text: str
    kind: StepKind = StepKind.CHANGE
    of: int = 0
    edits: tuple[Edit, ...] = ()
    patches: tuple[Patch, ...] = ()
    pages: Mapping[str, PageChange] = Field(default_factory=dict)
    doubts: Mapping[int, bool] = Field(default_factory=dict)


class StepsOverlapError(Exception):
    """A step cannot be taken back by itself: ``step`` changed the same bytes after it."""

    def __init__(self, step: Step) -> None:
        self.step = step
        super().__init__(step.said)


def patches_of(text: EntryText, edits: Sequence[Edit]) -> tuple[EntryText, tuple[Patch, ...]]:
    """Return a text with edits, and what each replaced. Raises `EditError`."""
    patches = []
    for edit in edits:
        after = edit.apply(text)
        if after is not text and after.splice is not None:
            patches.append(_patch(text, after, after.splice))
        text = after
    return text, tuple(patches)


def patch_between(before: bytes, after: bytes) -> Patch | None:
    """Return what makes one text of another: all from the first byte that differs to the last; None if none does."""
    if before == after:
        return None
    begin = _shared(before, after)
    most = min(len(before), len(after)) - begin
    same = min(most, _shared(before[::-1], after[::-1]))
    old, new = before[begin : len(before) - same], after[begin : len(after) - same]
    return Patch(begin=begin, before=old.decode("latin-1"), after=new.decode("latin-1"))


def _shared(one: bytes, other: bytes) -> int:
    """Return how many bytes two texts begin with alike."""
    differing = (at for at, (mine, yours) in enumerate(zip(one, other, strict=False)) if mine != yours)
    return next(differing, min(len(one), len(other)))


def _patch(before: EntryText, after: EntryText, splice: Splice) -> Patch:
    old = before.data[splice.begin : splice.end]
    new = after.data[splice.begin : splice.begin + splice.length]
    return Patch(begin=splice.begin, before=old.decode("latin-1"), after=new.decode("latin-1"))


def reversed_patches(step: Step, steps: Sequence[Step]) -> tuple[Patch, ...]:
    """Return the patches that take one of ``steps`` back on the text after all of them. Raises `StepsOverlapError`."""
    left = _in_force(steps, step)
    at = next(number for number, (each, _) in enumerate(left) if each is step)
    back = [patch.reverse for patch in reversed(left[at][1])]
    for each, patches in left[at + 1 :]:
        try:
            back = _moved_past_all(back, patches)
        except _OverlapError:
            raise StepsOverlapError(each) from None
    return tuple(back)


def _in_force(steps: Sequence[Step], but: Step) -> list[tuple[Step, Sequence[Patch]]]:
    """Return steps with their patches, without those that were taken back and the ones that did so.

    The newest pairs go first, so that what was made again counts at its first place. ``but`` is left in any case.
    """
    left: list[tuple[Step, Sequence[Patch]]] = [(step, step.patches) for step in steps]
    pairs = [(step.of, step.number) for step in reversed(steps) if step.of and step is not but]
    is_less = True
    while is_less:
        is_less = False
        for pair in pairs:
            numbers = [each.number for each, _ in left]
            if pair[0] in numbers and pair[1] in numbers:
                with suppress(_OverlapError):
                    left = _without_pair(left, *map(numbers.index, pair))
                    is_less = True
    return left


def _without_pair(
    steps: list[tuple[Step, Sequence[Patch]]], first: int, second: int
) -> list[tuple[Step, Sequence[Patch]]]:
    """Return steps without one and the one that takes it back, as they would be had there been neither."""
    back: list[Patch] = [patch.reverse for patch in reversed(steps[first][1])]
    between: list[tuple[Step, Sequence[Patch]]] = []
    for step, patches in steps[first + 1 : second]:
        between.append((step, _moved_past_all(patches, back)))
        back = _moved_past_all(back, patches)
    if back != list(steps[second][1]):
        raise _OverlapError
    return [*steps[:first], *between, *steps[second + 1 :]]


class _OverlapError(Exception):
    """Two patches have bytes in common."""


def _moved_past_all(patches: Sequence[Patch], others: Sequence[Patch]) -> list[Patch]:
    moved = list(patches)
    for other in others:
        moved = _moved_past(moved, other)
    return moved


def _moved_past(patches: Sequence[Patch], other: Patch) -> list[Patch]:
    """Return patches of a text as they are on it with another patch, if they have no bytes in common."""
    moved = []
    for patch in patches:
        if patch.begin == patch.end == other.begin == other.end:
            # Which of the two goes first cannot be known.
            raise _OverlapError
        if other.end <= patch.begin:
            moved.append(patch.shifted(other))
        elif patch.end <= other.begin:
            moved.append(patch)
            other = other.shifted(patch)
        else:
            raise _OverlapError
    return moved


def last_to_undo(steps: Sequence[Step], who: str) -> Step | None:
    """Return the last step of a person that is in force and can be taken back, None if there is none."""
    done, _ = _stacks(steps, who)
    return done[-1] if done else None


def last_to_redo(steps: Sequence[Step], who: str) -> Step | None:
    """Return the step that took back the change that a person may make again, None if there is none."""
    _, undone = _stacks(steps, who)
    return undone[-1] if undone else None


def _stacks(steps: Sequence[Step], who: str) -> tuple[list[Step], list[Step]]:
    done: list[Step] = []
    undone: list[Step] = []
    for step in _own(steps, who):
        match step.kind:
            case StepKind.CHANGE:
                done.append(step)
                undone.clear()
            case StepKind.UNDO:
                if done:
                    done.pop()
                undone.append(step)
            case StepKind.REDO:
                if undone:
                    undone.pop()
                done.append(step)
            case StepKind.SAVE:
                continue
    return done, undone


def _own(steps: Sequence[Step], who: str) -> Iterator[Step]:
    return (step for step in steps if step.who == who)
