"""A work at one moment: its text, its open doubts, its pages, and the steps that led there."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from functools import cached_property
from types import MappingProxyType

from pydantic import BaseModel, ConfigDict, Field

from aahcrawler.editor.drafting.annotated_xml import Alternative, Doubt
from aahcrawler.editor.entries.entry_files import digest
from aahcrawler.editor.pages.saved_pages import Expectation
from aahcrawler.editor.text.edits import Edit
from aahcrawler.editor.text.entry_text import EditError, EntryText, Splice


class DraftEditError(Exception):
    """A work cannot be opened, changed or saved as wanted; the message says why and what to do."""


class StaleError(DraftEditError):
    """The work or its entry was changed meanwhile; the message says by whom, when, and what."""

    def __init__(self, who: str, when: datetime, what: str) -> None:
        self.who, self.when, self.what = who, when, what
        super().__init__(
            f"{who or 'somebody'} changed this on {when:%Y-%m-%d at %H:%M} UTC ({what}); look at it, then make your "
            "change anew"
        )


class NotSavedError(DraftEditError):
    """An entry was not saved: ``reasons`` are errors, or warnings that the person may overrule (``can_force``)."""

    def __init__(self, reasons: tuple[str, ...], *, can_force: bool) -> None:
        self.reasons, self.can_force = reasons, can_force
        super().__init__("not saved: " + "; ".join(reasons))


class StepKind(StrEnum):
    """The sorts of steps."""

    CHANGE = "change"
    UNDO = "undo"
    REDO = "redo"
    SAVE = "save"


class Patch(BaseModel):
    """Bytes at an offset that replace others; each byte is stored as the character with its number."""

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


class DraftStep(BaseModel):
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
    """Return the patch from one text to another: everything from the first to the last differing byte.

    None if equal.
    """
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


def last_to_undo(steps: Sequence[DraftStep], who: str) -> DraftStep | None:
    """Return the last step that a person can undo; None if somebody else has changed the work since."""
    done, _ = _stacks(steps, who)
    return done[-1] if done else None


def last_to_redo(steps: Sequence[DraftStep], who: str) -> DraftStep | None:
    """Return the undoing step that a person can revert; None if somebody has changed the work since."""
    _, undone = _stacks(steps, who)
    return undone[-1] if undone else None


def _stacks(steps: Sequence[DraftStep], who: str) -> tuple[list[DraftStep], list[DraftStep]]:
    """Return the changes of a person since the last one of somebody else, and those that took others of them back."""
    done: list[DraftStep] = []
    undone: list[DraftStep] = []
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


class Origin(BaseModel):
    """What a work began with: when, by whom, from what in words.

    ``base`` is the digest of the entry in the own folder that it changes, empty where there was none.
    """

    model_config = ConfigDict(frozen=True)

    name: str
    begun: datetime
    who: str
    source: str
    base: str = ""

    @property
    def mark(self) -> str:
        """A text that distinguishes this work from others begun under the same name."""
        return digest("\n".join((self.begun.isoformat(), self.who, self.source)).encode())[:12]


class KeptDoubt(BaseModel):
    """A doubt with the comment before its element, empty if there is none.

    ``settled`` is True if a person decided it. ``open`` is False while the comment or the element is missing; the
    element's text is then kept in ``gone``, so that it is recognised when it returns.
    """

    model_config = ConfigDict(frozen=True)

    doubt: Doubt
    words: str = ""
    settled: bool = False
    open: bool = True
    gone: str = ""


@dataclass(frozen=True)
class DraftState:
    """A work after the last of ``steps``; ``first`` is the number of the oldest of them that is kept."""

    origin: Origin
    text: EntryText
    kept_doubts: tuple[KeptDoubt, ...] = ()
    pages: Mapping[str, PageState] = field(default_factory=lambda: MappingProxyType({}))
    steps: tuple[DraftStep, ...] = ()

    @property
    def revision(self) -> int:
        """The number of the last step, 0 before the first."""
        return self.steps[-1].number if self.steps else 0

    @cached_property
    def doubts(self) -> tuple[Doubt, ...]:
        """The doubts that nobody has settled, the most doubtful first."""
        left = (kept.doubt for kept in self.kept_doubts if kept.open and not kept.settled)
        return tuple(sorted(left, key=lambda doubt: -doubt.doubt))

    @property
    def base(self) -> str:
        """The digest of the entry in the own folder that the work changes, as saved last or found at the beginning."""
        saved = (step.text for step in reversed(self.steps) if step.kind is StepKind.SAVE)
        return next(saved, self.origin.base)

    @property
    def is_saved(self) -> bool:
        """Whether nothing was changed since the entry was saved."""
        return bool(self.steps) and self.steps[-1].kind is StepKind.SAVE

    def text_at(self, revision: int) -> EntryText | None:
        """Return the text after a step, None where the steps since are not kept any more."""
        data = self.text.data
        known = self.steps[0].number - 1 if self.steps else 0
        if revision < known:
            return None
        for step in reversed(self.steps):
            if step.number <= revision:
                break
            for patch in reversed(step.patches):
                data = patch.reverse.replaced(data)
        return EntryText(data)

    def after(self, step: DraftStep) -> "DraftState":
        """Return the work after one more step. Raises `EditError`, and ValueError for a step of another state."""
        text, doubts = self.text, self.kept_doubts
        for patch in step.patches:
            changed = patch.applied(text)
            doubts = followed_doubts(doubts, text, changed, step.doubts)
            text = changed
        if digest(text.data) != step.text:
            raise ValueError(f"step {step.number} is of another state")
        doubts = tuple(
            kept.model_copy(update={"settled": step.doubts.get(number, kept.settled)})
            for number, kept in enumerate(doubts)
        )
        pages = {name: state for name, state in self.pages.items() if name not in step.pages}
        pages |= {name: change.after for name, change in step.pages.items() if change.after is not None}
        return replace(self, text=text, kept_doubts=doubts, pages=pages, steps=(*self.steps, step))


def kept_doubts(doubts: Iterable[Doubt], text: EntryText) -> tuple[KeptDoubt, ...]:
    """Return the doubts of a draft, without those whose element is not there."""
    guesses = text.guesses()
    placed = ((doubt, text.place(doubt.place)) for doubt in doubts)
    return tuple(
        KeptDoubt(doubt=doubt.model_copy(update={"place": place}), words=guesses.get(place, ""))
        for doubt, place in placed
        if place is not None
    )


def followed_doubts(
    doubts: Sequence[KeptDoubt], before: EntryText, after: EntryText, settled: Collection[int] = ()
) -> tuple[KeptDoubt, ...]:
    """Return doubts at their places after an edit.

    A doubt whose comment or element disappears is closed until it returns. ``settled`` are the numbers of the doubts
    that the edit decides: a comment removed with one of them closes no other doubt about the same element.
    """
    guesses = after.guesses()
    moved = [_moved(kept, before, after) for kept in doubts]
    taken = {kept.doubt.place for kept in moved if kept.words and guesses.get(kept.doubt.place) == kept.words}
    return tuple(
        _marked(kept, guesses, taken, is_other=bool(settled) and number not in settled) if kept.words else kept
        for number, kept in enumerate(moved)
    )


def _marked(kept: KeptDoubt, guesses: Mapping[str, str], taken: Collection[str], *, is_other: bool) -> KeptDoubt:
    """Return a doubt at the place where its comment is, which may be back at another one."""
    places = [kept.doubt.place] if guesses.get(kept.doubt.place) == kept.words else []
    places += [place for place, words in guesses.items() if words == kept.words and place not in taken]
    if places:
        doubt = kept.doubt.model_copy(update={"place": places[0]})
        return kept.model_copy(update={"open": True, "gone": "", "doubt": doubt})
    if is_other and kept.open:
        return kept.model_copy(update={"words": ""})
    return kept.model_copy(update={"open": False})


def _moved(kept: KeptDoubt, before: EntryText, after: EntryText) -> KeptDoubt:
    """Return a doubt at the place of its element, open while that is there."""

    def place(of: str) -> str:
        return (after.followed(of, before) or of) if before.place(of) is not None else of

    def edit(of: Edit) -> Edit:
        names = [name for name in ("place", "before") if getattr(of, name, "")]
        return of.model_copy(update={name: place(getattr(of, name)) for name in names})

    doubt = kept.doubt
    alternatives = tuple(
        Alternative(said=each.said, edits=tuple(edit(one) for one in each.edits)) for each in doubt.alternatives
    )
    moved = doubt.model_copy(update={"place": place(doubt.place), "alternatives": alternatives})
    found = kept.model_copy(update={"doubt": moved})
    if kept.open and before.place(doubt.place) is not None and after.followed(doubt.place, before) is None:
        return found.model_copy(update={"open": False, "gone": before.text(doubt.place)})
    is_back = bool(kept.gone) and after.place(doubt.place) is not None and after.text(doubt.place) == kept.gone
    return found.model_copy(update={"open": True, "gone": ""}) if is_back else found


def parsed_text(data: bytes, what: str) -> EntryText:
    """Return the text of an entry. Raises `EditError`, which names ``what`` it is and what is wrong."""
    try:
        text = EntryText(data)
    except EditError as error:
        raise EditError(f"{what} cannot be changed here: {error}") from error
    root = text.element("")
    if root is None or root.tag != "application":
        raise EditError(f"{what} is no file of an application")
    return text
