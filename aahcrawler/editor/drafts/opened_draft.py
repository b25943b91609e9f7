"""A work: an entry that is being edited; every step is stored and can be undone."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from threading import Semaphore
from typing import Final

from lxml import etree

from aahcrawler.editor.drafting.annotated_xml import Doubt
from aahcrawler.editor.drafts.draft_folder import DraftFolder
from aahcrawler.editor.drafts.draft_state import (
    DraftEditError,
    DraftState,
    DraftStep,
    NotSavedError,
    PageChange,
    PageState,
    StaleError,
    StepKind,
    last_to_redo,
    last_to_undo,
    parsed_text,
    patch_between,
    patches_of,
)
from aahcrawler.editor.drafts.entry_examination import SECONDS, Examined, WantedExamination, examined, never
from aahcrawler.editor.drafts.made_edits import added
from aahcrawler.editor.entries.entry_files import Entry, PageParts, digest, is_name
from aahcrawler.editor.entries.own_folder import ChangedMeanwhileError, OwnFolder, OwnFolderError
from aahcrawler.editor.pages.saved_pages import Expectation, SavedPage, as_json, page_of
from aahcrawler.editor.text.edits import Add, Confirm, Edit, Remove, SetAttribute
from aahcrawler.editor.text.entry_text import EditError, EntryText
from aahcrawler.editor.text.printable_text import plain_line
from aahcrawler.page import Page

_ONCE = ("detect", "canonical", "avoid")
"""Parts of an application that it has once, with what they hold."""
MAX_SAID: Final = 900
"""Characters of what is told of the steps in the history of the entry."""
MAX_EDITS: Final = 500
"""Edits of one step."""
MAX_PAGES: Final = 60
MAX_PAGE_SIZE: Final = 10 << 20
"""Bytes of a page's body."""
MAX_BYTES: Final = 256 << 20
"""Bytes of all pages of a work, those that steps still need included."""


def joined(text: EntryText, edits: Sequence[Edit]) -> tuple[Edit, ...]:
    """Adapt edits made for an earlier text to the present one.

    Parts that an application has only once are extended if they exist by now, created if not, and removed when empty.
    Raise `EditError` for edits that cannot be made.
    """
    made: list[Edit] = []
    for edit in edits:
        for each in _fitting(text, edit):
            made.append(each)
            text = each.apply(text)
    left = ((place, element) for place in map("{}[1]".format, _ONCE) if (element := text.element(place)) is not None)
    made += (Remove(place=place) for place, element in left if not len(element))
    return tuple(made)


def _fitting(text: EntryText, edit: Edit) -> Iterator[Edit]:
    part = edit.place.partition("[")[0]
    if not isinstance(edit, Add) or (edit.place and part not in _ONCE):
        yield edit
    elif edit.place:
        is_there = text.place(edit.place) is not None
        yield edit if is_there else added(text, "", f"<{part}>{edit.xml}</{part}>")
    else:
        new = etree.fromstring(edit.xml)
        place = text.place(f"{new.tag}[1]") if new.tag in _ONCE else None
        if place is None:
            yield edit
        else:
            yield from (Add(place=place, xml=etree.tostring(child, encoding="unicode")) for child in new)


def prove(
    state: DraftState, entry: Entry, folders: Sequence[Path], *, force: bool, is_given_up: Callable[[], bool]
) -> None:
    """Examine a work's entry. Raise `NotSavedError` with the reasons against saving it, and `DraftEditError`.

    With ``force``, warnings are ignored.
    """
    found = examined(WantedExamination(state.revision, entry, tuple(folders)), SECONDS, is_given_up)
    if found is None:
        raise DraftEditError("the entry was not examined to the end; save again")
    errors = tuple(_errors(found))
    if errors:
        raise NotSavedError(errors, can_force=False)
    warnings = tuple(_warnings(found, len(state.doubts)))
    if warnings and not force:
        raise NotSavedError(warnings, can_force=True)


def write(state: DraftState, entry: Entry, folders: Sequence[Path], who: str) -> None:
    """Write an entry to the last of the folders.

    Pages that an earlier folder has are left out. Raises `DraftEditError`, and `StaleError` if somebody else saved the
    entry since the work began.
    """
    inherited = _inherited(entry, folders[:-1])
    kept = [page for page in entry.pages if page.stem not in inherited]
    own = OwnFolder(folders[-1])
    try:
        present = own.entry(entry.name)
        # A crash may have come between the entry and the note of it in the work.
        expected = entry.digest if present is not None and present.xml == entry.xml else state.base
        own.save(entry.name, entry.xml, kept, who, _said(state), expected=expected)
    except ChangedMeanwhileError as error:
        if error.change is not None:
            raise StaleError(error.change.who, error.change.when, error.change.what) from error
        raise DraftEditError(str(error)) from error
    except OwnFolderError as error:
        raise DraftEditError(str(error)) from error


def _errors(found: Examined) -> Iterator[str]:
    """Yield in words what forbids saving."""
    if found.unfinished:
        yield f"it was not examined to the end: {found.unfinished}"
    for each in found.errors:
        yield f"line {each.line}: {each.message}" if each.line else each.message


def _warnings(found: Examined, guesses: int) -> Iterator[str]:
    """Yield what a person may overrule, in words."""
    if guesses:
        left = "1 guess is" if guesses == 1 else f"{guesses} guesses are"
        yield f"{left} left; until nothing is left to confirm, crawls read each page without the entry as well"
    for each in (each for each in found.warnings if not each.is_guess):
        yield f"line {each.line}: {each.message}" if each.line else each.message
    for page in found.failed:
        more = f", and {len(page.differences) - 1} more" if len(page.differences) > 1 else ""
        yield f"the page {page.page} is read differently than expected: {page.differences[0]}{more}"


def _said(state: DraftState) -> str:
    """Return what the steps since the last saving did, in words."""
    said: list[str] = []
    for step in reversed(state.steps):
        if step.kind is StepKind.SAVE:
            break
        said.append(step.said)
    if not said:
        return state.origin.source
    told = "; ".join(dict.fromkeys(reversed(said)))
    return told if len(told) <= MAX_SAID else f"{told[:MAX_SAID]}..."


def _inherited(entry: Entry, folders: Sequence[Path]) -> set[str]:
    """Return the pages that an earlier folder has unchanged, so that they need not be saved again."""
    return {
        page.stem
        for page in entry.pages
        for folder in folders
        if _holds(folder / "applications" / "pages" / entry.name, page)
    }


def _holds(folder: Path, page: PageParts) -> bool:
    try:
        body, expected = (folder / f"{page.stem}{ending}" for ending in (".html", ".json"))
        return body.read_bytes() == page.html and expected.read_bytes() == page.expectation
    except OSError:
        return False


class OpenedDraft:
    """A work in a folder of its own. Several people may open it at once, in several processes.

    ``who`` is the name of the person who acts; ``said`` is a sentence on the act. ``revision`` is the number of the
    last step that the person saw: if the work has changed since, `StaleError` is raised and nothing is changed.
    ``examining`` is held while the entry is examined. With the ``mark`` of an origin, only the work that began with it
    is meant.
    """

    def __init__(self, folder: DraftFolder, folders: Sequence[Path], examining: Semaphore, mark: str = "") -> None:
        self._folder, self._mark = folder, mark
        self.folders = tuple(folders)
        """The folders of the knowledge base, that of one's own entries last."""
        self._examining = examining

    @property
    def name(self) -> str:
        """The name of the entry."""
        return self._folder.path.name

    def now(self) -> DraftState:
        """Return the present state. Raise `DraftEditError`."""
        with self._folder.locked():
            return self._present()

    def change(self, edits: Sequence[Edit], who: str, said: str, revision: int) -> DraftState:
        """Apply edits to the text; return the state after them.

        Raise `StaleError`, `DraftEditError`, and `EditError` for edits that cannot be made.
        """
        if len(edits) > MAX_EDITS:
            raise EditError(f"more than {MAX_EDITS} changes at once; make them in several steps")
        with self._folder.locked():
            return self._edited(self._seen(revision), edits, who, said)

    def rewrite(self, data: bytes, who: str, revision: int) -> DraftState:
        """Replace the text by one that somebody wrote; return the state after it.

        Raise `StaleError`, `DraftEditError`, and `EditError` for an invalid file.
        """
        with self._folder.locked():
            state = self._seen(revision)
            parsed_text(data, "the text")
            patch = patch_between(state.text.data, data)
            if patch is None:
                return state
            said = f"wrote the text from line {state.text.data.count(10, 0, patch.begin) + 1} on"
            return self._stepped(state, who, said, patches=(patch,), text=digest(data))

    def confirm(self, doubt: Doubt, who: str, revision: int) -> DraftState:
        """Settle a doubt: the guess is right. Raises `StaleError`, and `DraftEditError` if it was settled already."""
        with self._folder.locked():
            state = self._seen(revision)
            number = _number(state, doubt)
            edits = _unmarking(state, number, doubt)
            return self._edited(state, edits, who, f"confirmed: {doubt.said}", {number: True})

    def confirm_all(self, who: str, revision: int) -> DraftState:
        """Settle all doubts that are left in one step: the guesses are right.

        Raises `StaleError`, and `DraftEditError` if there are none.
        """
        with self._folder.locked():
            state = self._seen(revision)
            left = [number for number, kept in enumerate(state.kept_doubts) if kept.open and not kept.settled]
            edits = tuple(Confirm(place=place) for place in state.text.guesses())
            if not left and not edits:
                raise DraftEditError("somebody has settled all guesses already; look at the work again")
            said = "confirmed all guesses that were left"
            return self._edited(state, edits, who, said, dict.fromkeys(left, True))

    def choose(self, doubt: Doubt, said: str, who: str, revision: int) -> DraftState:
        """Settle a doubt by the alternative with the words ``said``.

        Raises `StaleError`, `DraftEditError` and `EditError`.
        """
        with self._folder.locked():
            state = self._seen(revision)
            number = _number(state, doubt)
            chosen = next((each for each in doubt.alternatives if each.said == said), None)
            if chosen is None:
                raise DraftEditError("this is not among what else could be right; look at the work again")
            edits = joined(state.text, (*_unmarking(state, number, doubt), *chosen.edits))
            return self._edited(state, edits, who, f"chose: {said}, instead of: {doubt.said}", {number: True})

    def undo(self, who: str, revision: int) -> DraftState:
        """Undo a person's last change, unless somebody else changed the work since.

        Raise `DraftEditError` if there is none, and `StaleError`.
        """
        with self._folder.locked():
            state = self._seen(revision)
            step = last_to_undo(state.steps, plain_line(who))
            if step is None:
                raise DraftEditError("there is nothing of yours to take back")
            return self._taken_back(state, step, who, StepKind.UNDO)

    def redo(self, who: str, revision: int) -> DraftState:
        """Redo the change that a person undid last, unless anything was changed since. Raise as `undo` does."""
        with self._folder.locked():
            state = self._seen(revision)
            step = last_to_redo(state.steps, plain_line(who))
            if step is None:
                raise DraftEditError("there is nothing of yours to make again")
            return self._taken_back(state, step, who, StepKind.REDO)

    def add_page(self, page: Page, expected: Expectation, who: str, name: str = "", revision: int | None = None) -> str:
        """Add a page with what is expected of it, such as what is read on it now; return its name.

        Without a ``name`` it is called after its level. Without a ``revision`` it is added to the work as it is.
        Raises `DraftEditError` and `StaleError`.
        """
        with self._folder.locked():
            state = self._seen(revision)
            called = _page_name(state, name, expected)
            if len(page.body) > MAX_PAGE_SIZE:
                raise DraftEditError(f"the page has more than {MAX_PAGE_SIZE >> 20} MiB; take a smaller one")
            if len(state.pages) >= MAX_PAGES or self._folder.kept_bytes() + len(page.body) > MAX_BYTES:
                raise DraftEditError(
                    f"a work may have {MAX_PAGES} pages and {MAX_BYTES >> 20} MiB of them; remove some"
                )
            kept = PageState(body=self._folder.keep_body(page.body), expected=expected)
            self._with_page(state, called, kept, who, f"added the page {called} ({expected.url})")
            return called

    def remove_page(self, name: str, who: str, revision: int) -> DraftState:
        """Remove a page. Raises `DraftEditError` and `StaleError`."""
        with self._folder.locked():
            state = self._seen(revision)
            _known(state, name)
            return self._with_page(state, name, None, who, f"removed the page {name}")

    def set_expectation(self, name: str, expected: Expectation, who: str, revision: int) -> DraftState:
        """Set what is expected of a page, such as all that is read on it now.

        Raises `DraftEditError` and `StaleError`.
        """
        with self._folder.locked():
            state = self._seen(revision)
            known = _known(state, name)
            if expected.url != known.expected.url:
                raise DraftEditError(f"{name} is the page {known.expected.url}; add the other one as a page of its own")
            headers = {"headers": expected.headers or known.expected.headers, "fetched": known.expected.fetched}
            kept = PageState(body=known.body, expected=expected.model_copy(update=headers))
            return self._with_page(state, name, kept, who, f"said that the page {name} is read rightly now")

    def page(self, name: str) -> SavedPage:
        """Return a page. Raises `DraftEditError`."""
        with self._folder.locked():
            return self._page(self._present(), name)

    def entry(self, state: DraftState) -> Entry:
        """Return the entry as a state has it, with all its pages. Raises `DraftEditError`."""
        pages = ((name, self._page(state, name)) for name in sorted(state.pages))
        parts = (PageParts(name, each.page.body, as_json(each.expected).encode()) for name, each in pages)
        return Entry(self.name, state.text.data, tuple(parts))

    def _page(self, state: DraftState, name: str) -> SavedPage:
        kept = _known(state, name)
        try:
            body = self._folder.body(kept.body)
        except OSError as error:
            raise DraftEditError(
                f"the page {name} cannot be read: {error.strerror}; remove it from the work"
            ) from error
        file = Path(self.name) / f"{name}.html"
        return SavedPage(f"{self.name}/{name}", file, page_of(body, kept.expected), kept.expected)

    def save(
        self, who: str, revision: int, *, force: bool = False, is_given_up: Callable[[], bool] = never
    ) -> DraftState:
        """Save the entry to the own folder if it is valid and read as expected; the work remains.

        Raise `NotSavedError` with the reasons against it, without warnings if ``force``; `StaleError` if somebody
        changed the work or saved the entry meanwhile; `DraftEditError`, also if ``is_given_up`` returns True before the
        examination ends.
        """
        with self._folder.locked():
            state = self._seen(revision)
        entry = self.entry(state)
        with self._examining:
            prove(state, entry, self.folders, force=force, is_given_up=is_given_up)
        with self._folder.locked():
            state = self._seen(state.revision)
            write(state, entry, self.folders, who)
            return self._stepped(state, who, "saved the entry", kind=StepKind.SAVE)

    def discard(self, revision: int | None = None) -> None:
        """Delete the work with all its steps; what was saved of it stays.

        A work that cannot be read is only deleted without ``revision``. Raise `DraftEditError` and `StaleError`.
        """
        with self._folder.locked():
            if revision is not None:
                self._seen(revision)
            elif self._mark:
                self._see_that_it_is_meant()
            self._folder.remove()

    def _present(self) -> DraftState:
        self._see_that_it_is_meant()
        return self._folder.read()

    def _seen(self, revision: int | None) -> DraftState:
        """Return the present state. Raise `StaleError` if it is not that of ``revision``, unless that is None."""
        state = self._present()
        later = (step for step in reversed(state.steps) if step.number > (revision or 0))
        changed = next((step for step in later if step.kind is not StepKind.SAVE), None)
        if revision is not None and changed is not None:
            raise StaleError(changed.who, changed.when, changed.said)
        return state

    def _see_that_it_is_meant(self) -> None:
        """Raise `DraftEditError` if the work is gone, or another one was begun under its name."""
        if not self._folder.is_there:
            raise DraftEditError(f"there is no work {self.name} any more; somebody has discarded it")
        if self._mark and self._folder.origin().mark != self._mark:
            raise DraftEditError(
                f"somebody has discarded the work {self.name} that this page is of, and begun another one; look at "
                "that, then make your change anew"
            )

    def _edited(
        self, state: DraftState, edits: Sequence[Edit], who: str, said: str, doubts: Mapping[int, bool] | None = None
    ) -> DraftState:
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

    def _taken_back(self, state: DraftState, step: DraftStep, who: str, kind: StepKind) -> DraftState:
        """Undo a step that no later step builds on."""
        patches, data = tuple(patch.reverse for patch in reversed(step.patches)), state.text.data
        for patch in patches:
            data = patch.replaced(data)
        words = step.said.removeprefix("took back: ").removeprefix("made again: ")
        return self._stepped(
            state,
            who,
            f"{'took back' if kind is StepKind.UNDO else 'made again'}: {words}",
            kind=kind,
            of=step.number,
            patches=patches,
            pages={name: PageChange(before=each.after, after=each.before) for name, each in step.pages.items()},
            doubts={number: not settled for number, settled in step.doubts.items()},
            text=digest(data),
        )

    def _with_page(self, state: DraftState, name: str, page: PageState | None, who: str, said: str) -> DraftState:
        change = PageChange(before=state.pages.get(name), after=page)
        return self._stepped(state, who, said, pages={name: change})

    def _stepped(self, state: DraftState, who: str, said: str, **given: object) -> DraftState:
        return self._folder.append(state, _step(state, who, said, **given))


def _step(state: DraftState, who: str, said: str, **given: object) -> DraftStep:
    about = {"number": state.revision + 1, "when": datetime.now(UTC), "who": plain_line(who), "said": plain_line(said)}
    return DraftStep.model_validate({**about, "text": digest(state.text.data), **given})


def _edit_step(state: DraftState, edits: Sequence[Edit], who: str, said: str, doubts: Mapping[int, bool]) -> DraftStep:
    text, patches = patches_of(state.text, edits)
    return _step(state, who, said, patches=patches, doubts=doubts, text=digest(text.data))


def _is_confirmed(before: DraftState, after: DraftState) -> bool:
    root = after.text.element("")
    is_draft = root is not None and root.get("draft") == "yes"
    was_open = bool(before.doubts or before.text.guesses())
    return is_draft and was_open and not after.doubts and not after.text.guesses()


def _number(state: DraftState, doubt: Doubt) -> int:
    """Return the number of a doubt that is left. Raises `DraftEditError` where it is not."""
    for number, kept in enumerate(state.kept_doubts):
        if kept.open and not kept.settled and kept.doubt == doubt:
            return number
    raise DraftEditError("this doubt is settled already; look at the work again")


def _unmarking(state: DraftState, number: int, doubt: Doubt) -> tuple[Edit, ...]:
    """Return the edits that remove a guess's comment, unless another doubt about the element is open."""
    others = (
        kept for other, kept in enumerate(state.kept_doubts) if other != number and kept.open and not kept.settled
    )
    if any(kept.doubt.place == doubt.place for kept in others):
        return ()
    return (Confirm(place=doubt.place),)


def _known(state: DraftState, name: str) -> PageState:
    """Return a page of a work. Raises `DraftEditError` where there is none of the name."""
    if name not in state.pages:
        raise DraftEditError(
            f"the work has no page {plain_line(name)[:80]}, only {', '.join(sorted(state.pages)) or 'none'}"
        )
    return state.pages[name]


def _page_name(state: DraftState, name: str, expected: Expectation) -> str:
    if name:
        if not is_name(name):
            raise DraftEditError("write a name for the page of letters, digits and hyphens, such as thread-2")
        if name in state.pages:
            raise DraftEditError(f"there is a page {name} already; choose another name")
        return name
    stem = expected.level or "other"
    return next(
        free
        for number in range(1, MAX_PAGES + 2)
        if (free := (stem if number == 1 else f"{stem}-{number}")) not in state.pages
    )
