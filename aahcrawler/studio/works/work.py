"""A work: an entry under change, of which every step is kept and can be taken back."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from threading import Semaphore
from typing import Final

from aahcrawler.authoring.drafting.doubts import Alternative, Doubt
from aahcrawler.authoring.editing.edit_error import EditError
from aahcrawler.authoring.editing.edits import Confirm, Edit, SetAttribute
from aahcrawler.authoring.own_entries.entry_files import Entry, PageParts, digest, is_name
from aahcrawler.authoring.printable_text import plain_line
from aahcrawler.authoring.saved_pages import Expectation, SavedPage, as_json, page_of
from aahcrawler.page import Page
from aahcrawler.studio.works.entry_examination import never
from aahcrawler.studio.works.independence import DependentError, moved
from aahcrawler.studio.works.joined_edits import joined
from aahcrawler.studio.works.saving import prove, write
from aahcrawler.studio.works.work_errors import StaleError, WorkError
from aahcrawler.studio.works.work_folder import WorkFolder
from aahcrawler.studio.works.work_state import WorkState, parsed_text
from aahcrawler.studio.works.work_steps import (
    PageChange,
    PageState,
    Step,
    StepKind,
    StepsOverlapError,
    last_to_redo,
    last_to_undo,
    patch_between,
    patches_of,
    reversed_patches,
)

MOST_EDITS: Final = 500
"""Edits of one step."""
MOST_MERGED: Final = 200
"""Steps of others that a change is moved past; whoever missed more has to look first."""
MOST_PAGES: Final = 60
LARGEST_PAGE: Final = 10 << 20
"""Bytes of a page's body."""
MOST_BYTES: Final = 256 << 20
"""Bytes of all pages of a work, those that steps still need included."""


@dataclass(frozen=True, slots=True)
class WorkPage:
    """A page of a work, with its expectation."""

    name: str
    saved: SavedPage


class Work:
    """An entry under change in a folder of its own. Several people may change it at once, from several processes.

    ``who`` is the name of the person that acts; ``said`` is what they did, in plain words. ``revision`` is the number
    of the last step that they saw: what others did since is kept, and where that is about the same place `StaleError`
    is raised, and nothing is changed. ``examining`` is held while the entry is examined.
    """

    def __init__(self, folder: WorkFolder, folders: Sequence[Path], examining: Semaphore) -> None:
        self._folder = folder
        self.folders = tuple(folders)
        """The folders of the knowledge base, that of one's own entries last."""
        self._examining = examining

    @property
    def name(self) -> str:
        """The name of the entry."""
        return self._folder.path.name

    def now(self) -> WorkState:
        """Return the work as it is. Raises `WorkError`."""
        with self._folder.locked():
            return self._present()

    def change(self, edits: Sequence[Edit], who: str, said: str, revision: int) -> WorkState:
        """Make edits of the text that a revision had, and return the work after them.

        Raises `StaleError`, `WorkError`, and `EditError` for edits that cannot be made.
        """
        with self._folder.locked():
            state = self._present()
            return self._edited(state, self._onto(state, edits, revision), who, said)

    def rewrite(self, data: bytes, who: str, revision: int) -> WorkState:
        """Put a text that somebody wrote in the place of the one that a revision had, and return the work after it.

        Raises `StaleError` where the text was changed since, and `EditError` for what is no file of an application.
        """
        with self._folder.locked():
            state = self._present()
            step = next((each for each in reversed(state.steps) if each.number > revision and each.patches), None)
            if step is not None:
                raise _stale(step)
            parsed_text(data, "the text")
            patch = patch_between(state.text.data, data)
            if patch is None:
                return state
            said = f"wrote the text from line {state.text.data.count(10, 0, patch.begin) + 1} on"
            return self._stepped(state, who, said, patches=(patch,), text=digest(data))

    def confirm(self, doubt: Doubt, who: str) -> WorkState:
        """Settle a doubt: the guess is right. Raises `WorkError` where that was settled already."""
        with self._folder.locked():
            state = self._present()
            number, found = _current(state, doubt)
            edits = _unmarking(state, number, found)
            return self._edited(state, edits, who, f"confirmed: {found.said}", {number: True})

    def confirm_all(self, who: str) -> WorkState:
        """Settle all doubts that are left in one step: the guesses are right. Raises `WorkError` if there are none."""
        with self._folder.locked():
            state = self._present()
            left = [number for number, kept in enumerate(state.kept_doubts) if kept.open and not kept.settled]
            edits = tuple(Confirm(place=place) for place in state.text.guesses())
            if not left and not edits:
                raise WorkError("somebody has settled all guesses already; look at the work again")
            said = "confirmed all guesses that were left"
            return self._edited(state, edits, who, said, dict.fromkeys(left, True))

    def choose(self, doubt: Doubt, alternative: Alternative, who: str) -> WorkState:
        """Settle a doubt with something else that could be right. Raises `WorkError` and `EditError`."""
        with self._folder.locked():
            state = self._present()
            number, found = _current(state, doubt)
            chosen = next((each for each in found.alternatives if each.said == alternative.said), None)
            if chosen is None:
                raise WorkError("this is not among what else could be right; look at the work again")
            edits = joined(state.text, (*_unmarking(state, number, found), *chosen.edits))
            said = f"chose: {chosen.said}, instead of: {found.said}"
            return self._edited(state, edits, who, said, {number: True})

    def undo(self, who: str) -> WorkState:
        """Take back the last change of a person, without those that others made since. Raises `WorkError`.

        `StaleError` says who changed the same place since.
        """
        with self._folder.locked():
            state = self._present()
            step = last_to_undo(state.steps, plain_line(who))
            if step is None:
                raise WorkError("there is nothing of yours to take back")
            return self._taken_back(state, step, who, StepKind.UNDO)

    def redo(self, who: str) -> WorkState:
        """Make again what a person took back last. Raises `WorkError` and `StaleError`."""
        with self._folder.locked():
            state = self._present()
            step = last_to_redo(state.steps, plain_line(who))
            if step is None:
                raise WorkError("there is nothing of yours to make again")
            return self._taken_back(state, step, who, StepKind.REDO)

    def add_page(self, page: Page, expected: Expectation, who: str, name: str = "") -> str:
        """Add a page with what is expected of it, such as what is read on it now; return its name. Raises `WorkError`.

        Without a ``name`` it is called after its level.
        """
        with self._folder.locked():
            state = self._present()
            called = _page_name(state, name, expected)
            if len(page.body) > LARGEST_PAGE:
                raise WorkError(f"the page has more than {LARGEST_PAGE >> 20} MiB; take a smaller one")
            if len(state.pages) >= MOST_PAGES or self._folder.kept_bytes() + len(page.body) > MOST_BYTES:
                raise WorkError(f"a work may have {MOST_PAGES} pages and {MOST_BYTES >> 20} MiB of them; remove some")
            kept = PageState(body=self._folder.keep_body(page.body), expected=expected)
            self._with_page(state, called, kept, who, f"added the page {called} ({expected.url})")
            return called

    def remove_page(self, name: str, who: str) -> WorkState:
        """Remove a page. Raises `WorkError`."""
        with self._folder.locked():
            state = self._present()
            _known(state, name)
            return self._with_page(state, name, None, who, f"removed the page {name}")

    def set_expectation(self, name: str, expected: Expectation, who: str, revision: int | None = None) -> WorkState:
        """Say what is expected of a page, such as all that is read on it now. Raises `WorkError` and `StaleError`."""
        with self._folder.locked():
            state = self._present()
            known = _known(state, name, revision)
            if expected.url != known.expected.url:
                raise WorkError(f"{name} is the page {known.expected.url}; add the other one as a page of its own")
            headers = {"headers": expected.headers or known.expected.headers, "fetched": known.expected.fetched}
            kept = PageState(body=known.body, expected=expected.model_copy(update=headers))
            return self._with_page(state, name, kept, who, f"said that the page {name} is read rightly now")

    def page(self, name: str) -> WorkPage:
        """Return a page. Raises `WorkError`."""
        with self._folder.locked():
            return self.pages_of(self._present(), (name,))[0]

    def pages_of(self, state: WorkState, names: Sequence[str] | None = None) -> tuple[WorkPage, ...]:
        """Return pages of a state, all of them without ``names``. Raises `WorkError`."""
        found = []
        for name in sorted(state.pages) if names is None else names:
            kept = _known(state, name)
            try:
                body = self._folder.body(kept.body)
            except OSError as error:
                raise WorkError(f"the page {name} cannot be read: {error.strerror}; remove it from the work") from error
            file = Path(self.name) / f"{name}.html"
            saved = SavedPage(f"{self.name}/{name}", file, page_of(body, kept.expected), kept.expected)
            found.append(WorkPage(name, saved))
        return tuple(found)

    def entry(self, state: WorkState) -> Entry:
        """Return the entry as a state has it, with all its pages. Raises `WorkError`."""
        pages = (
            PageParts(page.name, page.saved.page.body, as_json(page.saved.expected).encode())
            for page in self.pages_of(state)
        )
        return Entry(self.name, state.text.data, tuple(pages))

    def save(self, who: str, *, force: bool = False, is_given_up: Callable[[], bool] = never) -> WorkState:
        """Save the entry to the own folder, once it is valid and read as expected; the work stays.

        Raises `NotSavedError` with the reasons against it, of which warnings do not count with ``force``; `StaleError`
        where somebody changed the work or saved the entry meanwhile; `WorkError`, also once it ``is_given_up`` before
        the entry is proved.
        """
        state = self.now()
        entry = self.entry(state)
        with self._examining:
            prove(state, entry, self.folders, force=force, is_given_up=is_given_up)
        with self._folder.locked():
            present = self._present()
            if present.revision != state.revision:
                raise _stale(present.steps[-1])
            write(state, entry, self.folders, who)
            return self._stepped(present, who, "saved the entry", kind=StepKind.SAVE)

    def discard(self) -> None:
        """Remove the work with all its steps; what was saved of it stays."""
        with self._folder.locked():
            self._folder.remove()

    def _present(self) -> WorkState:
        if not self._folder.is_there:
            raise WorkError(f"there is no work {self.name} any more; somebody has discarded it")
        return self._folder.read()

    def _onto(self, state: WorkState, edits: Sequence[Edit], revision: int) -> Sequence[Edit]:
        """Return edits of a former text as edits of the present one."""
        if len(edits) > MOST_EDITS:
            raise EditError(f"more than {MOST_EDITS} changes at once; make them in several steps")
        later = [step for step in state.steps if step.number > revision]
        if not later:
            return edits
        then = state.text_at(revision) if len(later) <= MOST_MERGED else None
        if then is None:
            raise _stale(later[-1])
        try:
            return moved(edits, then, later)
        except DependentError as error:
            raise _stale(error.step) from error

    def _edited(
        self, state: WorkState, edits: Sequence[Edit], who: str, said: str, doubts: Mapping[int, bool] | None = None
    ) -> WorkState:
        """Make edits of the present text, and settle doubts."""
        settled = doubts or {}
        step = _edit_step(state, edits, who, said, settled)
        if not step.patches and not settled:
            return state
        if _is_confirmed(state, state.after(step)):
            # The last guess was settled: nothing of the file is a draft any more.
            edits = (*edits, SetAttribute(place="", attribute="draft", value=None))
            step = _edit_step(state, edits, who, said, settled)
        return self._folder.append(state, step)

    def _taken_back(self, state: WorkState, step: Step, who: str, kind: StepKind) -> WorkState:
        later = [each for each in state.steps if each.number > step.number]
        try:
            patches = reversed_patches(step, state.steps)
        except StepsOverlapError as error:
            raise _stale(error.step) from error
        pages = {name: PageChange(before=each.after, after=each.before) for name, each in step.pages.items()}
        for name, change in pages.items():
            if state.pages.get(name) != change.before:
                raise _stale(next(each for each in reversed(later) if name in each.pages))
        text = state.text
        try:
            for patch in patches:
                text = patch.applied(text)
        except (EditError, ValueError) as error:
            raise _stale((later or (step,))[-1]) from error
        doubts = {number: not settled for number, settled in step.doubts.items()}
        words = step.said.removeprefix("took back: ").removeprefix("made again: ")
        said = f"{'took back' if kind is StepKind.UNDO else 'made again'}: {words}"
        return self._stepped(
            state,
            who,
            said,
            kind=kind,
            of=step.number,
            patches=patches,
            pages=pages,
            doubts=doubts,
            text=digest(text.data),
        )

    def _with_page(self, state: WorkState, name: str, page: PageState | None, who: str, said: str) -> WorkState:
        change = PageChange(before=state.pages.get(name), after=page)
        return self._stepped(state, who, said, pages={name: change})

    def _stepped(self, state: WorkState, who: str, said: str, **given: object) -> WorkState:
        return self._folder.append(state, _step(state, who, said, **given))


def _step(state: WorkState, who: str, said: str, **given: object) -> Step:
    about = {"number": state.revision + 1, "when": datetime.now(UTC), "who": plain_line(who), "said": plain_line(said)}
    return Step.model_validate({**about, "text": digest(state.text.data), **given})


def _edit_step(state: WorkState, edits: Sequence[Edit], who: str, said: str, doubts: Mapping[int, bool]) -> Step:
    text, patches = patches_of(state.text, edits)
    return _step(state, who, said, edits=tuple(edits), patches=patches, doubts=doubts, text=digest(text.data))


def _stale(step: Step) -> StaleError:
    return StaleError(step.who, step.when, step.said)


def _is_confirmed(before: WorkState, after: WorkState) -> bool:
    root = after.text.element("")
    is_draft = root is not None and root.get("draft") == "yes"
    was_open = bool(before.doubts or before.text.guesses())
    return is_draft and was_open and not after.doubts and not after.text.guesses()


def _current(state: WorkState, doubt: Doubt) -> tuple[int, Doubt]:
    """Return a doubt as it is now, and its number: that at the same place, or the only one that says the same."""
    open_ones = (
        (number, kept.doubt) for number, kept in enumerate(state.kept_doubts) if kept.open and not kept.settled
    )
    alike = [each for each in open_ones if each[1].said == doubt.said]
    there = [each for each in alike if each[1].place == doubt.place] or alike
    if len(there) != 1:
        raise WorkError("somebody has settled this doubt already; look at the work again")
    return there[0]


def _unmarking(state: WorkState, number: int, doubt: Doubt) -> tuple[Edit, ...]:
    """Return what takes off the mark of a guess, unless another doubt about its element is left."""
    others = (
        kept for other, kept in enumerate(state.kept_doubts) if other != number and kept.open and not kept.settled
    )
    if any(kept.doubt.place == doubt.place for kept in others):
        return ()
    return (Confirm(place=doubt.place),)


def _known(state: WorkState, name: str, revision: int | None = None) -> PageState:
    """Return a page, unless it was changed after a revision. Raises `WorkError` and `StaleError`."""
    if revision is not None:
        later = (step for step in reversed(state.steps) if step.number > revision and name in step.pages)
        step = next(later, None)
        if step is not None:
            raise _stale(step)
    if name not in state.pages:
        raise WorkError(
            f"the work has no page {plain_line(name)[:80]}, only {', '.join(sorted(state.pages)) or 'none'}"
        )
    return state.pages[name]


def _page_name(state: WorkState, name: str, expected: Expectation) -> str:
    if name:
        if not is_name(name):
            raise WorkError("write a name for the page of letters, digits and hyphens, such as thread-2")
        if name in state.pages:
            raise WorkError(f"there is a page {name} already; choose another name")
        return name
    stem = expected.level or "other"
    return next(free for number in range(1, MOST_PAGES + 2) if (free := _numbered(stem, number)) not in state.pages)


def _numbered(stem: str, number: int) -> str:
    return stem if number == 1 else f"{stem}-{number}"
