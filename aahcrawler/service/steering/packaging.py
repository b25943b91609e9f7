"""Propose pages to keep, and write WACZ and WARC files, each in a process beside the service."""

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from pydantic import BaseModel

from aahcrawler.archive.index import SORTED
from aahcrawler.crawl_collections import Collection, CollectionFile
from aahcrawler.layout import DECISIONS, EXPORTS, REMOVING, TOMBSTONES
from aahcrawler.service.catalog.crawl_catalog import Crawl
from aahcrawler.service.catalog.crawl_registry import KnowledgeFolders
from aahcrawler.service.steering.crawl_process import ReportingProcess
from aahcrawler.service.steering.long_jobs import Jobs, JobView, Progress, Task
from aahcrawler.service.views.downloads import ArchiveFile
from aahcrawler.service.views.proposed_pages import proposals_file
from aahcrawler.service.web.problems import CONFLICT, ProblemError, Shown

MAX_SECONDS: Final = 6 * 3600.0
"""Seconds after which the making of a package is given up."""
EXTENSION: Final = ".wacz"
KeptFile = Literal["warc.gz", "wacz"]
"""What people decided to keep is written as."""


class Packaged(Shown):
    """A package that was made: its pages, captures and bytes, and what was left out since a session had shown it."""

    pages: int
    captures: int
    bytes: int
    left_out: int
    missing: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Packing:
    """What to pack: the key of its jobs, the arguments of ``aah``, the folders of its crawls, and the file.

    The name of the file is appended to ``arguments``; ``kind`` is that of its jobs.
    """

    key: str
    arguments: Sequence[str]
    folders: Sequence[Path]
    file: Path
    kind: str = "package"

    @classmethod
    def of_crawl(cls, crawl: Crawl) -> "Packing | None":
        """Return the packing of a crawl, None where this machine has none of it."""
        folder = crawl.folder
        if folder is None:
            return None
        return cls(crawl.id, _exported(folder), (folder,), folder / EXPORTS / f"{crawl.id}{EXTENSION}")

    @classmethod
    def of_kept(cls, crawl: Crawl, ending: KeptFile) -> "Packing | None":
        """Return the packing of what people decided to keep of a crawl, None where this machine has none of it."""
        folder = crawl.folder
        if folder is None:
            return None
        review = ("--review", str(folder.absolute() / DECISIONS))
        asked = (*_exported(folder)[:-1], *review, "--wacz")
        if ending == "warc.gz":
            asked = ("select", "--json", str(folder.absolute()), *review, "--to")
        return cls(crawl.id, asked, (folder,), folder / EXPORTS / f"{crawl.id}-kept.{ending}", f"package:{ending}")

    @classmethod
    def of_members(cls, crawl: Crawl, ending: KeptFile) -> "Packing | None":
        """Return the packing of the members of a collection about an event, None where this machine has none of it."""
        folder = crawl.folder
        if folder is None or crawl.icd.relevant_at is None:
            return None
        asked = (*_exported(folder)[:-1], "--members", "--wacz")
        if ending == "warc.gz":
            asked = ("select", "--json", str(folder.absolute()), "--members", "--to")
        file = folder / EXPORTS / f"{crawl.id}-members.{ending}"
        return cls(crawl.id, asked, (folder,), file, f"members:{ending}")

    @classmethod
    def of_collection(cls, file: CollectionFile, collection: Collection) -> "Packing":
        """Return the packing of a collection."""
        folders = tuple(file.folder(name) for name in collection.crawls)
        # No id of a crawl has a colon.
        return cls(
            f"collection:{file.name}", _exported(file.path), folders, file.place / EXPORTS / f"{file.name}{EXTENSION}"
        )

    def offered(self) -> ArchiveFile | None:
        """Return the latest package; None if there is none, or something was taken down since."""
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


def _exported(path: Path) -> tuple[str, ...]:
    return ("export", "--json", str(path.absolute()), "--wacz")


class Packages:
    """Makes packages one at a time, each by a process of ``aah``."""

    def __init__(self, knowledge: Callable[[], KnowledgeFolders]) -> None:
        self._knowledge = knowledge
        self._making = threading.Lock()

    def make(self, jobs: Jobs, packing: Packing, by: str, pages: int) -> JobView:
        """Begin to make a package of about so many pages, in the place of the one before.

        Raise ``ProblemError`` where too much is under way; the job fails where another package is being made.
        """
        return jobs.begin(Task(packing.kind, packing.key, by), lambda progress: self._made(packing, pages, progress))

    def _made(self, packing: Packing, pages: int, progress: Progress) -> BaseModel:
        if not self._making.acquire(blocking=False):
            raise ProblemError(CONFLICT, "another package is being made; make this one when that is done")
        try:
            progress.total = pages
            packing.file.parent.mkdir(mode=0o700, exist_ok=True)
            new = packing.file.with_name(f"new-{packing.file.name}")
            index = new.with_name(new.name + SORTED)
            new.unlink(missing_ok=True)
            index.unlink(missing_ok=True)
            told = self._told(packing, new, progress)
            index.unlink(missing_ok=True)
            new.replace(packing.file)
        except OSError as error:
            raise ProblemError(CONFLICT, f"the package cannot be written: {error.strerror or error}") from error
        finally:
            self._making.release()
        return Packaged.model_validate(told)

    def _told(self, packing: Packing, new: Path, progress: Progress) -> Mapping[str, Any]:
        """Return the report on the package that was written. Raise ``ProblemError`` if none was."""
        folder = packing.file.parent
        process = ReportingProcess(
            [*packing.arguments, str(new.absolute())], folder, self._knowledge().environment, MAX_SECONDS
        )
        progress.waits_for(process.kill)
        for told in process.told():
            if "bytes" in told:
                return {name: told[name] for name in Packaged.model_fields if name in told}
            progress.done = int(told.get("pages read", told.get("pages chosen", 0)))
            progress.advance(0)
        progress.advance(0)
        raise ProblemError(CONFLICT, process.problem or f"it ended early, with the exit code {process.exit_code}")


MAX_WEIGHING_SECONDS: Final = 3600.0
"""Seconds after which the weighing of a crawl's pages is given up."""


class Proposed(Shown):
    """Pages were proposed: ``bytes`` is the size of their file."""

    bytes: int


def propose(
    jobs: Jobs, crawl: str, folder: Path, most: int, by: str, knowledge: Callable[[], KnowledgeFolders]
) -> JobView:
    """Begin to propose up to ``most`` pages of a crawl, beside those decided on, in the place of earlier proposals.

    Raise ``ProblemError`` where too much is under way.
    """

    def work(progress: Progress) -> BaseModel:
        return _proposed(folder, most, knowledge(), progress)

    return jobs.begin(Task("propose", crawl, by), work)


def _proposed(folder: Path, most: int, knowledge: KnowledgeFolders, progress: Progress) -> BaseModel:
    file = proposals_file(folder)
    new = file.with_name(f"new-{file.name}")
    try:
        (folder / EXPORTS).mkdir(mode=0o700, exist_ok=True)
        new.unlink(missing_ok=True)
        asked = ["select", str(folder.absolute()), "--propose", str(new.absolute()), "--propose-pages", str(most)]
        process = ReportingProcess(asked, folder / EXPORTS, knowledge.environment, MAX_WEIGHING_SECONDS)
        progress.waits_for(process.kill)
        list(process.told())
        progress.advance(0)
        if process.exit_code:
            raise ProblemError(CONFLICT, process.problem or f"it ended early, with the exit code {process.exit_code}")
        size = new.stat().st_size
        new.replace(file)
    except OSError as error:
        raise ProblemError(CONFLICT, f"the proposals cannot be written: {error.strerror or error}") from error
    return Proposed(bytes=size)
