"""The folder of a crawl: what lies where, who uses it, and whether it belongs to the same definition."""

import json
import logging
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from uuid import getnode

from pydantic import ValidationError

from aahcrawler.crawl.directory import crawl_runs
from aahcrawler.crawl.directory.crawl_runs import FIRST_RUN, CrawlRun, FolderLock, write_whole
from aahcrawler.crawls import Started, is_import
from aahcrawler.exclusions import Exclusions
from aahcrawler.frontier.server.server_process import lender_of
from aahcrawler.layout import (
    ARCHIVE,
    CHANGES,
    DEFINITION,
    FRONTIER,
    INDEXES,
    LOG,
    OBJECTS,
    REFUSED,
    SCORES,
    SPOOL,
    STARTED,
    SUMMARY,
    TOPIC,
)
from aahcrawler.lending import take_back
from aahcrawler.segments import DamageError, private
from aahcrawler.tombstones import TakenDown, being_removed
from online_analysis.icd import Icd, changes

logger = logging.getLogger(__name__)
_PRIVATE = 0o700


class CrawlRefusedError(Exception):
    """The crawl cannot start or go on; the message says why and what to do."""


class FolderBusyError(CrawlRefusedError):
    """Another process is alone in the folder, at least for as long as it opens the crawl."""


@dataclass(frozen=True, slots=True)
class CrawlFolder:
    """Paths in the folder of a definition, while its crawl ``run`` is under way.

    With ``is_first``, no other process had it open when this one opened it: what a killed one left behind may be
    mended.
    """

    root: Path
    lock: FolderLock
    run: CrawlRun = FIRST_RUN
    is_first: bool = True

    @classmethod
    def open(cls, icd: Icd, *, accept_changes: bool = False) -> "CrawlFolder":
        """Create the folder or take it over, for this process alone; a crawl that is over makes room for the next.

        Raise ``CrawlRefusedError`` when another crawl is using it, when it belongs to another definition (unless
        ``accept_changes``, or unless it finished without a page), when nobody can say what must not be fetched, or when
        it cannot be written. A crawl that is over stays as it is then.
        """
        folder = cls._entered(icd, FRONTIER)
        if not (folder.is_first and folder.lock.keeps):
            folder.close()
            raise FolderBusyError(_busy(icd.output))
        with _left_on_error(folder):
            if not accept_changes and not crawl_runs.has_fetched_nothing(folder.root):
                _refuse_another(folder, icd)
            _refuse_unreadable(folder.root)
            return replace(folder, run=crawl_runs.current_run(folder.root, icd))

    @classmethod
    def join(cls, icd: Icd, number: int, begun_at: datetime) -> "CrawlFolder":
        """Enter the folder of a crawl that other processes may work on as well, here and on other machines.

        Crawls before ``number`` are put away. The first one inside is alone until it calls ``share``. Raise
        ``CrawlRefusedError`` when a process alone uses it, when it holds a later crawl, or when it cannot be written.
        """
        folder = cls._entered(icd)
        with _left_on_error(folder):
            _refuse_unreadable(folder.root)
            run = crawl_runs.joined_run(folder.root, number, may_change=folder.is_first)
            if run is None:
                raise CrawlRefusedError(
                    f"{folder.root}: holds a later crawl than number {number} of this definition; "
                    "start the worker with another folder"
                )
            return replace(folder, run=replace(run, begun_at=begun_at))

    @classmethod
    def _entered(cls, icd: Icd, *names: str) -> "CrawlFolder":
        root = icd.output
        if is_import(root):
            raise CrawlRefusedError(
                f"{root}: holds imported archives, and no crawl runs in it; write another output in the ICD, "
                "or add archives with aah import"
            )
        lock = FolderLock(root)
        try:
            root.parent.mkdir(parents=True, exist_ok=True)
            root.mkdir(_PRIVATE, exist_ok=True)
            for name in (ARCHIVE, OBJECTS, *names):
                (root / name).mkdir(exist_ok=True)
            if not icd.archive.redact:
                (root / ARCHIVE).chmod(_PRIVATE)
            is_first = take_back(root / FRONTIER, lock.take_exclusive)
            if not is_first and not lock.take_shared():
                raise FolderBusyError(_busy(root))
            lock.become_keeper()
        except OSError as error:
            lock.release()
            raise CrawlRefusedError(
                f"{error.filename or root}: {error.strerror}; write another output in the ICD"
            ) from error
        return cls(root, lock, is_first=is_first)

    def share(self) -> None:
        """Let other processes work on the crawl as well."""
        self.lock.take_shared()

    def keep_definition(self, icd: Icd) -> None:
        """Note which definition the crawl goes by; an opening that failed before this may be tried with another."""
        write_whole(self.definition, json.dumps(icd.meaning(), indent=1, ensure_ascii=False), private)

    def note_start(self, file: Path, workers: int = 1) -> None:
        """Note which file the crawl is started from, and by which process. Where it cannot, that is logged."""
        started = Started(
            file=file.absolute(),
            working_folder=Path.cwd(),
            host=socket.gethostname(),
            pid=os.getpid(),
            workers=workers,
        )
        try:
            write_whole(self.root / STARTED, started.model_dump_json(indent=1) + "\n")
        except OSError as error:
            logger.warning("%s cannot be written: %s", self.root / STARTED, error.strerror)

    @property
    def label(self) -> str:
        """A suffix of file names that no other folder has, so that files of several can be brought together."""
        where = f"{socket.gethostname()} {getnode():x} {self.root.resolve()}"
        return sha256(where.encode("utf-8", "surrogateescape")).hexdigest()[:6]

    @property
    def definition(self) -> Path:
        """The file with the meaning of the definition that the crawl was begun with."""
        return self.root / DEFINITION

    @property
    def topic(self) -> Path:
        """The texts of reference documents on the web, as they were when they were fetched."""
        return self.root / TOPIC

    @property
    def known_topic(self) -> Path | None:
        """The texts that this crawl, or else the one before it, goes by; None where none were fetched yet."""
        return crawl_runs.newest(self.root, TOPIC)

    @property
    def archive(self) -> Path:
        """The folder of the WARC files."""
        return self.root / ARCHIVE

    @property
    def indexes(self) -> Path:
        """The folder of the index of the WARC files."""
        return self.root / INDEXES

    @property
    def objects(self) -> Path:
        """The folder of the N-Quads segments."""
        return self.root / OBJECTS

    @property
    def scores(self) -> Path:
        """The folder of the score log."""
        return self.root / SCORES

    @property
    def changes(self) -> Path:
        """The folder of the log of changes."""
        return self.root / CHANGES

    @property
    def refused(self) -> Path:
        """The folder of the log of refused links."""
        return self.root / REFUSED

    @property
    def frontier(self) -> Path:
        """The folder of the embedded server's append-only file."""
        return self.root / FRONTIER

    @property
    def spool(self) -> Path:
        """The folder of large bodies while they arrive."""
        return self.root / SPOOL

    @property
    def log(self) -> Path:
        """The events of the crawl, a line each."""
        return self.root / LOG

    def write_summary(self, summary: object) -> None:
        """Write ``crawl.json``, whole or not at all."""
        write_whole(self.root / SUMMARY, json.dumps(summary, indent=2, ensure_ascii=False) + "\n")

    def close(self) -> None:
        """Let others use the folder."""
        self.lock.release()


def _busy(root: Path) -> str:
    lender = lender_of(root / FRONTIER)
    if lender is not None:
        return f"{root}: process {lender} looks at this crawl and does not let go of it; end that one first"
    return f"{root}: another crawl is using this folder; wait for it, stop it, or write another output in the ICD"


@contextmanager
def _left_on_error(folder: CrawlFolder) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        folder.close()
        raise CrawlRefusedError(
            f"{folder.root}: the next crawl cannot begin ({error.strerror}); make room or correct the permissions"
        ) from error
    except BaseException:
        folder.close()
        raise


def _refuse_another(folder: CrawlFolder, icd: Icd) -> None:
    try:
        meant = crawl_runs.definition(folder.root)
    except ValidationError:
        raise CrawlRefusedError(f"{folder.definition}: is damaged; write another output in the ICD") from None
    differing = changes(meant, icd) if meant else ()
    if differing:
        raise CrawlRefusedError(
            f"{folder.root}: this crawl was begun with another definition (changed: {', '.join(differing)}); "
            "undo the change, write another id or output, or accept it with --accept-changes "
            "(-a accept_changes=1)"
        )


def _refuse_unreadable(root: Path) -> None:
    """Refuse a folder of which nobody can say what must not be fetched."""
    try:
        Exclusions.of(root)
        TakenDown.of(root)
        being_removed(root)
    except DamageError as error:
        raise CrawlRefusedError(str(error)) from error
