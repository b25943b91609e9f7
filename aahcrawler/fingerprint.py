"""Identify by one short text everything besides the page itself that the analysis of a page depends on."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from aahcrawler import __version__
from knowledge_base.file_selection import SHIPPED, SHIPPED_WORD, files_of
from online_analysis.icd import Icd
from online_analysis.plugins import versions

MEANT = (
    "topic",
    "event",
    "scoring",
    "file",
    "scope.languages",
    "scope.canonical",
    "sources.documents",
    "sources.feeds",
)
"""The parts of a definition that scores depend on; which links are followed is decided anew in every crawl."""


@dataclass(frozen=True, slots=True)
class KnowledgeUsed:
    """The knowledge base of a crawl: its folders, in ascending order of precedence, and a digest of their files."""

    folders: tuple[str, ...]
    digest: str

    @classmethod
    def of(cls, folders: Sequence[Path]) -> "KnowledgeUsed":
        """Return the folders with a digest of their files as they are now."""
        named = (SHIPPED_WORD if folder == SHIPPED else str(folder) for folder in folders)
        return cls(tuple(named), files_digest(folders)[:16])


def files_digest(folders: Sequence[Path], learned: Path | None = None) -> str:
    """Return a digest of the files of a knowledge base, independent of where they lie, and of the folder ``learned``.

    A file that vanishes while it is being read is left out.
    """
    digest = hashlib.sha256()
    for file in (*files_of(folders), *(sorted(learned.glob("*.xml")) if learned else ())):
        try:
            content = file.read_bytes()
        except OSError:
            continue
        digest.update(f"{file.parent.name}/{file.name} {len(content)}\n".encode("utf-8", "surrogateescape"))
        digest.update(content)
    return digest.hexdigest()


def fingerprint(icd: Icd, topic: Mapping[str, object], knowledge: str, meaning: Mapping[str, str] | None = None) -> str:
    """Return the ``understood_by`` of a metadata record; pages with equal texts were analysed in the same way.

    The text covers the versions of this software, and of plug-ins and models that score; the knowledge base
    (``files_digest``); the parts of the definition that influence scores; and the ``topic``, which holds the reference
    documents from the web and what the crawl has learned (``TopicState.meaning``). Pass ``meaning``, the definition as
    a crawl's folder keeps it, if ``icd`` was read back from there without the texts of its files.
    """
    meant = {path: value for path, value in (meaning or icd.meaning()).items() if _is_meant(path)}
    everything = (__version__, dict(versions(icd)), knowledge, meant, dict(topic))
    return hashlib.sha256(json.dumps(everything, sort_keys=True).encode()).hexdigest()[:32]


def _is_meant(path: str) -> bool:
    return any(path == part or path.startswith(f"{part}.") for part in MEANT)
