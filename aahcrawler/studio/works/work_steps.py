"""The steps of a work: who did what when, and what takes it back."""

from collections.abc import Mapping, Sequence
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
    """A step: when (UTC), by whom, and what in plain words.

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
    patches: tuple[Patch, ...] = ()
    pages: Mapping[str, PageChange] = Field(default_factory=dict)
    doubts: Mapping[int, bool] = Field(default_factory=dict)


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


def last_to_undo(steps: Sequence[Step], who: str) -> Step | None:
    """Return the last step of a person that can be taken back: nobody else has changed the work since."""
    done, _ = _stacks(steps, who)
    return done[-1] if done else None


def last_to_redo(steps: Sequence[Step], who: str) -> Step | None:
    """Return the step that took back what a person may make again: nobody has changed the work since."""
    _, undone = _stacks(steps, who)
    return undone[-1] if undone else None


def _stacks(steps: Sequence[Step], who: str) -> tuple[list[Step], list[Step]]:
    """Return the changes of a person since the last one of somebody else, and those that took others of them back."""
    done: list[Step] = []
    undone: list[Step] = []
    for step in steps:
        if step.kind is StepKind.SAVE:
            continue
        if step.who != who:
            done, undone = [], []
        elif step.kind is StepKind.CHANGE:
            done.append(step)
            undone = []
        elif step.kind is StepKind.UNDO:
            # The change itself may be one of those that are forgotten.
            del done[-1:]
            undone.append(step)
        else:
            del undone[-1:]
            done.append(step)
    return done, undone
