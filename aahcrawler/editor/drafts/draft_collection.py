"""All works of an own folder, each begun from a draft, from an own entry, or from a copy of a shipped one."""

import logging
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Final

from aahcrawler.editor.drafting.annotated_xml import Doubt
from aahcrawler.editor.drafts.draft_folder import DraftFolder
from aahcrawler.editor.drafts.draft_state import (
    DraftEditError,
    DraftState,
    KeptDoubt,
    Origin,
    PageState,
    kept_doubts,
    parsed_text,
)
from aahcrawler.editor.drafts.entry_examination import SECONDS, Examined, WantedExamination, examined
from aahcrawler.editor.drafts.opened_draft import MAX_PAGE_SIZE, MAX_PAGES, OpenedDraft
from aahcrawler.editor.entries.entry_files import Entry, PageParts, digest, is_name
from aahcrawler.editor.entries.own_folder import OwnFolder, OwnFolderError
from aahcrawler.editor.pages.saved_pages import Expectation, SavedPageError, expectation_of, pages_folder
from aahcrawler.editor.text.entry_text import EditError
from aahcrawler.editor.text.printable_text import plain_line
from aahcrawler.page import Page

MAX_WORKS: Final = 200
MAX_EXAMINED: Final = 2
"""Works that are examined at once."""
UNKNOWN_DOUBT: Final = 0.5
"""What counts as the doubt of a guess of which the file does not say how doubtful it is."""


@dataclass(frozen=True, slots=True)
class Begun:
    """A work that exists: its name, when it was begun, by whom and from what.

    Where that cannot be read, ``when`` is None and ``fault`` says why.
    """

    name: str
    when: datetime | None
    who: str = ""
    source: str = ""
    fault: str = ""


class DraftCollection:
    """The works below ``own``, the folder of one's own entries; ``folders`` are those of the knowledge base below it.

    A folder among ``folders`` that is the own one does not count twice.
    """

    def __init__(self, own: Path, folders: Sequence[Path], examining: threading.BoundedSemaphore | None = None) -> None:
        """Take in the folders. ``examining`` is shared by all collections whose works are examined within one bound."""
        self._own = own
        self.folders = (*(folder for folder in folders if folder.resolve() != own.resolve()), own)
        """The folders of the knowledge base, the own one last."""
        self.examining = examining or threading.BoundedSemaphore(MAX_EXAMINED)
        """Held while a work is examined."""

    def names(self) -> tuple[str, ...]:
        """Return the names of all works."""
        folders = (self._own / "works").glob("*")
        return tuple(sorted(each.name for each in folders if is_name(each.name) and DraftFolder(each).is_there))

    def begun(self) -> tuple[Begun, ...]:
        """Return who began which work when, and why that cannot be read where it cannot."""
        found = []
        for name in self.names():
            try:
                origin = self._folder(name).origin()
            except DraftEditError as error:
                found.append(Begun(name, None, fault=str(error)))
                continue
            found.append(Begun(name, origin.begun, origin.who, origin.source))
        return tuple(found)

    def existing(self, name: str, mark: str = "") -> OpenedDraft:
        """Return a work that was begun. Raises `DraftEditError` where there is none.

        With the ``mark`` of its origin it is that work alone, and no other that is begun under its name later.
        """
        folder = self._folder(name)
        if not folder.is_there:
            raise DraftEditError(f"there is no work {name} any more; somebody has discarded it")
        return OpenedDraft(folder, self.folders, self.examining, mark)

    def open(self, name: str, who: str = "") -> OpenedDraft:
        """Return the draft of an entry; if there is none yet, begin one from the entry. Raises `DraftEditError`.

        The own folder's entry of this name is taken, else a copy of the one in the last other folder that has it.
        """
        folder = self._folder(name)
        if not folder.is_there:
            self._begin_from_entry(folder, name, who)
        return OpenedDraft(folder, self.folders, self.examining)

    def begin_from(
        self, draft: bytes, doubts: Iterable[Doubt], name: str, who: str, pages: Iterable[tuple[Page, Expectation]] = ()
    ) -> OpenedDraft:
        """Begin a work from a draft, with pages and what is expected of them.

        Raises `DraftEditError`, also if there is an entry of this name, and `EditError`.
        """
        folder = self._folder(name)
        if self._entry(name) is not None:
            raise DraftEditError(f"there is an entry {name} already; open that, or choose another name")
        text = parsed_text(draft, "the draft")
        known = kept_doubts(doubts, text)
        bodies: dict[str, bytes] = {}
        kept: dict[str, PageState] = {}
        for page, expected in pages:
            _take(page.body, expected, expected.level or "other", bodies, kept)
        origin = Origin(name=name, begun=datetime.now(UTC), who=plain_line(who), source="a draft")
        self._begin(folder, DraftState(origin, text, known, kept), bodies)
        return OpenedDraft(folder, self.folders, self.examining)

    def _folder(self, name: str) -> DraftFolder:
        if not is_name(name):
            raise DraftEditError(
                f"{plain_line(name)[:80]!r} is no name for an entry; write letters, digits and hyphens"
            )
        return DraftFolder(self._own / "works" / name)

    def _entry(self, name: str) -> Entry | None:
        try:
            return OwnFolder(self._own).entry(name)
        except OwnFolderError as error:
            raise DraftEditError(str(error)) from error

    def _begin_from_entry(self, folder: DraftFolder, name: str, who: str) -> None:
        entry, base, source = self._entry(name), "", f"the entry {name}"
        if entry is not None:
            base = digest(entry.xml)
        else:
            entry = next(filter(None, (_entry_in(each, name) for each in reversed(self.folders[:-1]))), None)
            source = f"a copy of the entry {name} that ships"
        if entry is None:
            raise DraftEditError(f"there is neither a work nor an entry {name}; begin one from a draft")
        text = parsed_text(entry.xml, f"{name}.xml")
        bodies: dict[str, bytes] = {}
        kept: dict[str, PageState] = {}
        for page in entry.pages:
            _take(page.html, _expectation(page), page.stem, bodies, kept)
        origin = Origin(name=name, begun=datetime.now(UTC), who=plain_line(who), source=source, base=base)
        guesses = (
            KeptDoubt(doubt=Doubt(place=place, said=words, doubt=UNKNOWN_DOUBT), words=words)
            for place, words in text.guesses().items()
        )
        self._begin(folder, DraftState(origin, text, tuple(guesses), kept), bodies, exist_ok=True)

    def _begin(
        self, folder: DraftFolder, state: DraftState, bodies: dict[str, bytes], *, exist_ok: bool = False
    ) -> None:
        if len(self.names()) >= MAX_WORKS:
            raise DraftEditError(f"there are {MAX_WORKS} works already; discard some that are done with")
        with folder.locked():
            if folder.is_there:
                if exist_ok:
                    return
                raise DraftEditError(
                    f"somebody has begun a work {state.origin.name}; open that, or choose another name"
                )
            folder.begin(state, bodies)


def _take(body: bytes, expected: Expectation, stem: str, bodies: dict[str, bytes], kept: dict[str, PageState]) -> None:
    if len(kept) >= MAX_PAGES:
        raise DraftEditError(f"a work may have {MAX_PAGES} pages; begin it with fewer")
    if len(body) > MAX_PAGE_SIZE:
        raise DraftEditError(f"{expected.url} has more than {MAX_PAGE_SIZE >> 20} MiB; begin without it")
    numbers = (stem if number == 1 else f"{stem}-{number}" for number in range(1, MAX_PAGES + 2))
    name = next(each for each in numbers if each not in kept)
    kept[name] = PageState(body=digest(body) or "empty", expected=expected)
    bodies[name] = body


def _entry_in(folder: Path, name: str) -> Entry | None:
    """Return the entry of that name in a folder of the knowledge base, None if there is none."""
    file = folder / "applications" / f"{name}.xml"
    if not file.is_file():
        return None
    pages = sorted((pages_folder(folder) / name).glob("*.html"))
    parts = (
        PageParts(page.stem, page.read_bytes(), page.with_suffix(".json").read_bytes())
        for page in pages
        if is_name(page.stem) and page.with_suffix(".json").is_file()
    )
    return Entry(name, file.read_bytes(), tuple(parts))


def _expectation(page: PageParts) -> Expectation:
    try:
        return expectation_of(page.expectation, Path(f"{page.stem}.json"))
    except SavedPageError as error:
        raise DraftEditError(f"a saved page of the entry is wrong: {error}") from error


_logger = logging.getLogger(__name__)
_TURN: Final = 0.2
"""Seconds after which a thread that waits for its turn looks whether it is wanted any more."""


class Progress:
    """Examines the newest revision of a work, one at a time; the examination of an older one is cancelled.

    Thread-safe.
    """

    def __init__(self, works: DraftCollection, name: str, seconds: float = SECONDS) -> None:
        self._works, self._name, self._seconds = works, name, seconds
        self._condition = threading.Condition()
        self._wanted = -1
        self._is_closed = False
        self._thread: threading.Thread | None = None
        self._latest: Examined | None = None
        self._fault = ""

    def ask(self) -> int:
        """Start examining the current revision of a work, unless it was or is examined; return its number.

        Raise `DraftEditError`.
        """
        revision = self._works.existing(self._name).now().revision
        with self._condition:
            if revision > self._wanted:
                self._wanted = revision
                self._fault = ""
                if self._thread is None:
                    self._thread = threading.Thread(target=self._run, name=f"examining {self._name}", daemon=True)
                    self._thread.start()
        return revision

    @property
    def latest(self) -> Examined | None:
        """The last result with its revision; None if there is none yet."""
        with self._condition:
            return self._latest

    @property
    def is_running(self) -> bool:
        """Whether an examination is running."""
        with self._condition:
            return self._thread is not None

    @property
    def fault(self) -> str:
        """Why the revision requested last could not be examined; empty if it could."""
        with self._condition:
            return self._fault

    def wait(self, seconds: float) -> Examined | None:
        """Wait until nothing is running, at most some seconds; return `latest`."""
        with self._condition:
            self._condition.wait_for(lambda: self._thread is None, seconds)
            return self._latest

    def close(self) -> None:
        """End what is running, and wait for its end."""
        with self._condition:
            self._is_closed = True
            thread = self._thread
        if thread is not None:
            thread.join()

    def _run(self) -> None:
        while True:
            revision, found, fault = -1, None, ""
            if self._works.examining.acquire(timeout=_TURN):
                try:
                    revision, found = self._found()
                except (DraftEditError, EditError, OSError) as error:
                    fault = str(error)
                except Exception as error:  # Whatever it is, nobody must wait for ever.
                    _logger.exception("the check of the work %s failed", self._name)
                    fault = f"the check failed ({type(error).__name__}), which is a defect; the log says more"
                finally:
                    self._works.examining.release()
            with self._condition:
                self._latest = found or self._latest
                self._fault = fault
                if fault:
                    self._wanted = -1  # Whoever asks again has it tried again.
                if fault or self._is_closed or self._wanted <= revision:
                    self._thread = None
                    self._condition.notify_all()
                    return

    def _found(self) -> tuple[int, Examined | None]:
        """Examine the newest revision; return it, and what was found out unless that is outdated."""
        work = self._works.existing(self._name)
        state = work.now()
        wanted = WantedExamination(state.revision, work.entry(state), self._works.folders)
        return state.revision, examined(wanted, self._seconds, partial(self._is_outdated, state.revision))

    def _is_outdated(self, revision: int) -> bool:
        with self._condition:
            return self._wanted > revision or self._is_closed
