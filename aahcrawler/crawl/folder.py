"""The folder of a crawl: what lies where, who uses it, and whether it belongs to the same definition."""

import json
import os
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock, Timeout
from pydantic import TypeAdapter, ValidationError

from aahcrawler.archive.folders import INDEXES
from online_analysis.icd import Icd, changes

_Meaning = TypeAdapter(dict[str, str])


class CrawlRefusedError(Exception):
    """The crawl cannot start or go on; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class CrawlFolder:
    """Paths in one crawl's folder. ``lock`` is held while the crawl runs."""

    root: Path
    lock: FileLock

    @classmethod
    def open(cls, icd: Icd, *, accept_changes: bool = False) -> "CrawlFolder":
        """Create the folder or take it over, for this process alone.

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
        except BaseException:
            lock.release()
            raise
        return folder

    def _refuse_another(self, icd: Icd) -> None:
        if not self.definition.exists():
            return
        try:
            differing = changes(_Meaning.validate_json(self.definition.read_bytes()), icd)
        except ValidationError:
            raise CrawlRefusedError(f"{self.definition}: is damaged; write another output in the ICD") from None
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
        return self.root / "icd.json"

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
        write_whole(self.root / "crawl.json", json.dumps(summary, indent=2, ensure_ascii=False) + "\n")

    def close(self) -> None:
        """Let others use the folder."""
        self.lock.release()


def write_whole(path: Path, text: str) -> None:
    """Replace a file so that a reader, or a restart after a crash, sees the old text or the new, never half."""
    part = path.with_name(path.name + ".part")
    with part.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)
