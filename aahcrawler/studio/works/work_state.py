"""A work at one moment: its text, the doubts that are left, its pages, and the steps that led there."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from types import MappingProxyType

from pydantic import BaseModel, ConfigDict

from aahcrawler.authoring.drafting.doubts import Alternative, Doubt
from aahcrawler.authoring.editing.edit_error import EditError
from aahcrawler.authoring.editing.edits import Edit
from aahcrawler.authoring.editing.entry_text import EntryText
from aahcrawler.authoring.own_entries.entry_files import digest
from aahcrawler.studio.works.work_steps import PageState, Step, StepKind


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
        """What tells this work from others that were begun under its name."""
        return digest("\n".join((self.begun.isoformat(), self.who, self.source)).encode())[:12]


class KeptDoubt(BaseModel):
    """A doubt, with the words of the comment before its element, empty if there is none.

    ``settled`` says that a person decided it. ``open`` is False while that comment is gone, or the element, whose text
    is kept in ``gone`` so that it is known when it comes back.
    """

    model_config = ConfigDict(frozen=True)

    doubt: Doubt
    words: str = ""
    settled: bool = False
    open: bool = True
    gone: str = ""


@dataclass(frozen=True)
class WorkState:
    """A work after the last of ``steps``; ``first`` is the number of the oldest of them that is kept."""

    origin: Origin
    text: EntryText
    kept_doubts: tuple[KeptDoubt, ...] = ()
    pages: Mapping[str, PageState] = field(default_factory=lambda: MappingProxyType({}))
    steps: tuple[Step, ...] = ()

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

    def after(self, step: Step) -> "WorkState":
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
    """Return doubts at their places after a change; those whose comment or element is gone are open again with it.

    ``settled`` are the numbers of doubts that the change was about: a comment that goes with one of them closes no
    other doubt about the same element.
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
