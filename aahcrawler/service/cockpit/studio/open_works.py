"""The works of the studio as its pages see them: the text, its application, its checks, how often its parts match."""

import tempfile
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from threading import BoundedSemaphore, Lock
from typing import Final

from aahcrawler.editor.drafts.draft_collection import MAX_EXAMINED, Begun, DraftCollection, Progress
from aahcrawler.editor.drafts.draft_state import DraftEditError, DraftState
from aahcrawler.editor.drafts.opened_draft import OpenedDraft
from aahcrawler.editor.entries.entry_files import digest
from aahcrawler.editor.rules.link_fates import EntryParts
from aahcrawler.editor.rules.page_sample import PageSample, SampledPage
from aahcrawler.editor.rules.part_matches import matched_places
from aahcrawler.service.catalog.crawl_registry import KnowledgeFolders
from aahcrawler.service.web.problems import CONFLICT, NO_WORK, ProblemError
from knowledge_base.file_selection import chosen_files, files_of, filled
from knowledge_base.loader import LoadError, load, load_files
from knowledge_base.model import Application, KnowledgeBase

Seen = tuple[tuple[Path, int, int, int], ...]
"""Files, with their inodes, sizes and the times of their last change."""
_KEPT: Final = 40
NO_PLACE: Final = (
    "there is no folder for entries of your own, so that none can be saved: start the cockpit on the folder that "
    "holds the crawls, or with AAH_KNOWLEDGE_BASE=shipped:FOLDER"
)
MAX_CHECKED: Final = 20
"""Works of which the newest check is kept."""
MAX_COUNTED: Final = 24
"""Pages on which parts are counted."""
_SECONDS: Final = 12.0
"""Seconds after which no further page is counted on."""
_KEPT_COUNTS: Final = 30


class LoadedKnowledge:
    """Caches the knowledge base that was loaded last. Thread-safe; only one thread loads at a time."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._kept: tuple[Seen, KnowledgeBase] | None = None

    def of(self, folders: Sequence[Path]) -> KnowledgeBase:
        """Return the knowledge base in some folders. Raise ``LoadError`` if it has mistakes."""
        with self._lock:
            now = files_state(folders)
            if self._kept is None or self._kept[0] != now:
                self._kept = None
                self._kept = now, load(*filled(folders))
            return self._kept[1]


def files_state(folders: Sequence[Path]) -> Seen:
    """Return a value that changes whenever a file in these folders does."""
    told = ((file, file.stat()) for file in files_of(folders) if file.is_file())
    return tuple((file, found.st_ino, found.st_size, found.st_mtime_ns) for file, found in told)


@dataclass(frozen=True, slots=True)
class Mistake:
    """A mistake in the text of an entry: its line, from 1, or 0 for none, and what to do."""

    line: int
    said: str


@dataclass(frozen=True)
class OpenDraft:
    """A work at one moment, with the application that its text defines; None if there are ``mistakes``."""

    name: str
    state: DraftState
    loaded_with: str
    """What the text was loaded with, and that itself, as one digest."""
    application: Application | None
    mistakes: tuple[Mistake, ...] = ()

    @property
    def seen(self) -> str:
        """The state for which forms are made: the number of the last step, and the mark of the work."""
        return f"{self.state.revision}-{self.state.origin.mark}"

    @cached_property
    def parts(self) -> EntryParts:
        """The parts of the entry."""
        return EntryParts(self.state.text)

    @property
    def title(self) -> str:
        """The name of the application as its makers write it, or that of the entry."""
        root = self.parts.at("")
        return (root.text("name") if root is not None else "") or self.name


class OpenDrafts:
    """Opens works. It may be used by several threads at once."""

    def __init__(self, knowledge: Callable[[], KnowledgeFolders]) -> None:
        """Take ``knowledge``, which returns the folders of the knowledge base.

        Works are stored in the folder of own entries.
        """
        self._knowledge, self._lock = knowledge, Lock()
        self._loaded: OrderedDict[str, Application | tuple[Mistake, ...]] = OrderedDict()
        self._examining = BoundedSemaphore(MAX_EXAMINED)

    @property
    def knowledge(self) -> KnowledgeFolders:
        """The folders of the knowledge base."""
        return self._knowledge()

    @property
    def works(self) -> DraftCollection:
        """All works. Raise ``ProblemError`` where there is no place for one."""
        known = self._knowledge()
        if known.own is None:
            raise ProblemError(CONFLICT, NO_PLACE)
        return DraftCollection(known.own, known.folders, self._examining)

    def begun(self) -> tuple[Begun, ...]:
        """Return who began which work when; none where there is no place for works."""
        return self.works.begun() if self._knowledge().own is not None else ()

    def work(self, name: str, mark: str = "") -> OpenedDraft:
        """Return a work, that of a mark where one is given. Raise ``ProblemError`` where none has the name."""
        try:
            return self.works.existing(name, mark)
        except DraftEditError as error:
            raise ProblemError(NO_WORK, str(error)) from error

    def open(self, name: str) -> OpenDraft:
        """Return a work as it is now. Raise ``ProblemError`` where there is none, or it cannot be read."""
        try:
            return self.opened(self.work(name).now(), name)
        except DraftEditError as error:
            raise ProblemError(CONFLICT, str(error)) from error

    def fault(self, name: str) -> str:
        """Return why a work cannot be read; empty where it can. Raise ``ProblemError`` where there is none."""
        try:
            self.work(name).now()
        except DraftEditError as error:
            return str(error)
        return ""

    def opened(self, state: DraftState, name: str) -> OpenDraft:
        """Return a state of a work with its application."""
        data, folders = state.text.data, self._knowledge().folders
        # An entry may extend others, and is of a kind: it is another one once these change.
        key = digest(repr((name, digest(data), files_state(folders))).encode())
        with self._lock:
            found = self._loaded.get(key)
            if found is not None:
                self._loaded.move_to_end(key)
        if found is None:
            found = _loaded(data, name, folders)
            with self._lock:
                self._loaded[key] = found
                while len(self._loaded) > _KEPT:
                    self._loaded.popitem(last=False)
        if isinstance(found, tuple):
            return OpenDraft(name, state, key, None, found)
        return OpenDraft(name, state, key, found)


def _loaded(data: bytes, name: str, folders: tuple[Path, ...]) -> Application | tuple[Mistake, ...]:
    """Return the application that a text makes, or what is wrong with it."""
    files = chosen_files(filled(folders))
    with tempfile.TemporaryDirectory(prefix="aah-") as folder:
        file = Path(folder) / f"{name}.xml"
        file.write_bytes(data)
        # Only where it extends another application are the files of the others read.
        others = [each for each in files.applications if each.stem != name] if b"extends" in data else []
        try:
            # Guesses are shown as if people had confirmed them: what they miss is to be seen.
            base = load_files(files.kinds, (*others, file)).confirmed
        except LoadError as error:
            own = [problem for problem in error.problems if problem.file == str(file)] or error.problems
            return tuple(Mistake(problem.line, problem.message) for problem in own)
    known = {each.name for each in load_files(files.kinds, others).applications} if others else set()
    return next(each for each in base.applications if each.name not in known)


@dataclass(frozen=True, slots=True)
class Counted:
    """The pages of a host on which parts of an entry match.

    ``of`` is the number of pages looked at, ``pages`` of those that each part matches, by its place, and ``levels`` of
    those of each page level.
    """

    host: str
    of: int
    pages: Mapping[str, int]
    levels: Mapping[str, int]


class DraftChecker:
    """Checks works while they change. It may be used by several threads at once."""

    def __init__(self, works: OpenDrafts) -> None:
        self._works, self._lock, self._counting = works, Lock(), Lock()
        self._checks: OrderedDict[str, Progress] = OrderedDict()
        self._counted: OrderedDict[tuple[str, str], Counted] = OrderedDict()

    def checked(self, name: str) -> Progress:
        """Return the check of a work, started anew if the work has changed. Raise ``DraftEditError``."""
        with self._lock:
            found = self._checks.get(name)
            if found is None:
                found = self._checks[name] = Progress(self._works.works, name)
            self._checks.move_to_end(name)
            old = [self._checks.popitem(last=False)[1] for _ in range(len(self._checks) - MAX_CHECKED)]
        for each in old:
            each.close()
        found.ask()
        return found

    def forget(self, name: str) -> None:
        """Let go of a work that was discarded."""
        with self._lock:
            found = self._checks.pop(name, None)
        if found is not None:
            found.close()

    def close(self) -> None:
        """End all checks that are under way, and let go of what was found."""
        with self._lock:
            checks = list(self._checks.values())
            self._checks.clear()
            self._counted.clear()
        for each in checks:
            each.close()

    def counted(self, work: OpenDraft, sample: PageSample) -> Counted | None:
        """Return on how many pages of a sample each part matches; None where the entry cannot be used as it is."""
        if work.application is None:
            return None
        key = work.loaded_with, sample.host
        with self._lock:
            found = self._counted.get(key)
        if found is not None:
            return found
        with self._counting:  # One at a time: it may take long, and whoever asks for the same waits for it.
            with self._lock:
                found = self._counted.get(key)
            if found is None:
                found = _counted(work, sample)
                with self._lock:
                    self._counted[key] = found
                    if len(self._counted) > _KEPT_COUNTS:
                        self._counted.popitem(last=False)
        return found


def _counted(work: OpenDraft, sample: PageSample) -> Counted:
    assert work.application is not None  # noqa: S101 (its callers have seen to that)
    pages, levels, number = Counter[str](), Counter[str](), 0
    end = time.monotonic() + _SECONDS
    for page in _spread(sample):
        level, places = matched_places(work.application, work.state.text, page.page)
        number += 1
        pages.update(places)
        levels[level] += 1
        if time.monotonic() > end:
            break
    return Counted(sample.host, number, pages, levels)


def _spread(sample: PageSample) -> Iterator[SampledPage]:
    """Yield pages of a sample, taking turns between the groups."""
    rounds = max((len(group.drawn) for group in sample.groups), default=0)
    order = (group.drawn[n] for n in range(rounds) for group in sample.groups if n < len(group.drawn))
    for number, captured in enumerate(order):
        if number >= MAX_COUNTED:
            return
        page = sample.sampled(captured)
        if page is not None:
            yield page
