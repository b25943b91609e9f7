"""The folder of a crawl: what lies where, who uses it, and whether it belongs to the same definition."""

import json
from dataclasses import dataclass, replace
from pathlib import Path

from filelock import FileLock, Timeout
from pydantic import ValidationError

from aahcrawler.archive.folders import INDEXES
from aahcrawler.crawl import succession
from aahcrawler.crawl.succession import FIRST, Standing
from aahcrawler.crawl.writing import write_whole
from aahcrawler.crawls import DEFINITION, SUMMARY, TOPIC
from online_analysis.icd import Icd, changes


class CrawlRefusedError(Exception):
    """The crawl cannot start or go on; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class CrawlFolder:
    """Paths in the folder of a definition. ``lock`` is held while the crawl ``standing`` tells of runs."""

    root: Path
    lock: FileLock
    standing: Standing = FIRST

    @classmethod
    def open(cls, icd: Icd, *, accept_changes: bool = False) -> "CrawlFolder":
        """Create the folder or take it over, for this process alone; a crawl that is over makes room for the next.

        Raise ``CrawlRefusedError`` when another crawl is using it, when it belongs to another definition (unless
        ``accept_changes``), or when it cannot be written.
        """
        root = icd.output
        try:
            for name in ("archive", "objects", "frontier"):
                (root / name).mkdir(parents=True, exist_ok=True)
            lock = FileLock(root / ".lock", timeout=0)
            lock.acquire()
        except Timeout:
            raise CrawlRefusedError(
                f"{root}: another crawl is using this folder; wait for it, stop it, or write another output in the ICD"
            ) from None
        except OSError as error:
            raise CrawlRefusedError(f"{root}: {error.strerror}; write another output in the ICD") from error
        folder = cls(root, lock)
        try:
            if not accept_changes:
                folder._refuse_another(icd)
            return replace(folder, standing=succession.stand(root, icd))
        except OSError as error:
            lock.release()
            raise CrawlRefusedError(
                f"{root}: the next crawl cannot begin ({error.strerror}); make room or correct the permissions"
            ) from error
        except BaseException:
            lock.release()
            raise

    def _refuse_another(self, icd: Icd) -> None:
        try:
            meant = succession.definition(self.root)
        except ValidationError:
            raise CrawlRefusedError(f"{self.definition}: is damaged; write another output in the ICD") from None
        differing = changes(meant, icd) if meant else ()
        if differing:
            raise CrawlRefusedError(
                f"{self.root}: this crawl was begun with another definition (changed: {', '.join(differing)}); "
                "undo the change, write another id or output, or accept it with --accept-changes "
                "(-a accept_changes=1)"
            )

    def keep_definition(self, icd: Icd) -> None:
        """Note which definition the crawl goes by; an opening that failed before this may be tried with another."""
        write_whole(self.definition, json.dumps(icd.meaning(), indent=1, ensure_ascii=False))

    @property
    def definition(self) -> Path:
        """What the definition means that the crawl was begun with."""
        return self.root / DEFINITION

    @property
    def topic(self) -> Path:
        """The texts of reference documents on the web, as they were when they were fetched."""
        return self.root / TOPIC

    @property
    def known_topic(self) -> Path | None:
        """The texts that this crawl, or else the one before it, goes by; None where none were fetched yet."""
        return succession.newest(self.root, TOPIC)

    @property
    def archive(self) -> Path:
        """Where the WARC files are."""
        return self.root / "archive"

    @property
    def indexes(self) -> Path:
        """Where the index of the WARC files is."""
        return self.root / INDEXES

    @property
    def objects(self) -> Path:
        """Where the N-Quads segments are."""
        return self.root / "objects"

    @property
    def frontier(self) -> Path:
        """Where the embedded server keeps its append-only file."""
        return self.root / "frontier"

    @property
    def spool(self) -> Path:
        """Where large bodies lie while they arrive."""
        return self.root / ".spool"

    @property
    def log(self) -> Path:
        """The events of the crawl, a line each."""
        return self.root / "crawl.log"

    def write_summary(self, summary: object) -> None:
        """Write ``crawl.json``, whole or not at all."""
        write_whole(self.root / SUMMARY, json.dumps(summary, indent=2, ensure_ascii=False) + "\n")

    def close(self) -> None:
        """Let others use the folder."""
        self.lock.release()
