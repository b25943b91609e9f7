"""WACZ packages of crawls and collections: made beside, one at a time, and offered until something is taken down."""

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel

from aahcrawler.crawl_collections import Collection, CollectionFile
from aahcrawler.layout import EXPORTS, REMOVING, TOMBSTONES
from aahcrawler.service.catalog.crawl_catalog import Crawl
from aahcrawler.service.catalog.crawl_registry import KnowledgeFolders
from aahcrawler.service.steering.long_jobs import Jobs, JobView, Progress, Task
from aahcrawler.service.steering.reporting_process import ReportingProcess
from aahcrawler.service.views.downloads import ArchiveFile
from aahcrawler.service.web.problems import CONFLICT, ProblemError, Shown

MAX_SECONDS: Final = 6 * 3600.0
"""Seconds after which the making of a package is given up."""
EXTENSION: Final = ".wacz"
_NEW: Final = f"new{EXTENSION}"


class Packaged(Shown):
    """A package that was made: its pages, captures and bytes, and what was left out since a session had shown it."""

    pages: int
    captures: int
    bytes: int
    left_out: int
    missing: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Packing:
    """What is packed: by what its jobs are known, the paths that are exported, the folders of its crawls, its file."""

    key: str
    paths: Sequence[Path]
    folders: Sequence[Path]
    file: Path

    @classmethod
    def of_crawl(cls, crawl: Crawl) -> "Packing | None":
        """Return the packing of a crawl, None where this machine has none of it."""
        folder = crawl.folder
        return (
            None if folder is None else cls(crawl.id, (folder,), (folder,), folder / EXPORTS / f"{crawl.id}{EXTENSION}")
        )

    @classmethod
    def of_collection(cls, file: CollectionFile, collection: Collection) -> "Packing":
        """Return the packing of a collection."""
        folders = tuple(file.folder(name) for name in collection.crawls)
        # No id of a crawl has a colon.
        return cls(f"collection:{file.name}", (file.path,), folders, file.place / EXPORTS / f"{file.name}{EXTENSION}")

    def offered(self) -> ArchiveFile | None:
        """Return the package that was made last; None where none was, or something was taken down since."""
        try:
            stat = self.file.stat(follow_symlinks=False)
        except OSError:
            return None
        for folder in self.folders:
            if (folder / REMOVING).exists():
                return None
            with suppress(OSError):
                if (folder / TOMBSTONES).stat().st_mtime_ns >= stat.st_mtime_ns:
                    return None
        return ArchiveFile(self.file, stat.st_size, stat.st_mtime)


class Packages:
    """Makes packages, by a process of ``aah`` for each, one at a time."""

    def __init__(self, knowledge: Callable[[], KnowledgeFolders]) -> None:
        self._knowledge = knowledge
        self._making = threading.Lock()

    def make(self, jobs: Jobs, packing: Packing, by: str, pages: int) -> JobView:
        """Begin to make a package of about so many pages, in the place of the one before.

        Raise ``ProblemError`` where too much is under way; the job fails where another package is being made.
        """
        return jobs.begin(Task("package", packing.key, by), lambda progress: self._made(packing, pages, progress))

    def _made(self, packing: Packing, pages: int, progress: Progress) -> BaseModel:
        if not self._making.acquire(blocking=False):
            raise ProblemError(CONFLICT, "another package is being made; make this one when that is done")
        try:
            progress.total = pages
            packing.file.parent.mkdir(mode=0o700, exist_ok=True)
            new = packing.file.with_name(_NEW)
            new.unlink(missing_ok=True)
            told = self._told(packing, new, progress)
            new.replace(packing.file)
        except OSError as error:
            raise ProblemError(CONFLICT, f"the package cannot be written: {error.strerror or error}") from error
        finally:
            self._making.release()
        return Packaged.model_validate(told)

    def _told(self, packing: Packing, new: Path, progress: Progress) -> Mapping[str, Any]:
        """Return what is told of the package that was written. Raise ``ProblemError`` where none was."""
        arguments = ["export", "--json", "--wacz", str(new.absolute()), "--", *map(str, packing.paths)]
        folder = packing.file.parent
        process = ReportingProcess(arguments, folder, self._knowledge().environment, MAX_SECONDS)
        progress.waits_for(process.kill)
        for told in process.told():
            if "wacz" in told:
                return {name: told.get(name, 0) for name in Packaged.model_fields}
            progress.done = int(told.get("pages read", 0))
            progress.advance(0)
        progress.advance(0)
        raise ProblemError(CONFLICT, process.problem or f"it ended early, with the exit code {process.exit_code}")
