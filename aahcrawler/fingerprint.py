"""Identify all that the analysis of a page depends on beside the page, by one short text."""

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
    """The knowledge base that a crawl goes by: its folders, the weakest first, and a digest of what their files say."""

    folders: tuple[str, ...]
    digest: str

    @classmethod
    def of(cls, folders: Sequence[Path]) -> "KnowledgeUsed":
        """Describe the knowledge base of some folders as their files are now."""
        named = (SHIPPED_WORD if folder == SHIPPED else str(folder) for folder in folders)
        return cls(tuple(named), files_digest(folders)[:16])


def files_digest(folders: Sequence[Path], learned: Path | None = None) -> str:
    """Return a digest of what the files of a knowledge base say, wherever they lie, and what was ``learned``.

    Files that vanish meanwhile are left out.
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
    """Return what a metadata record is ``understood_by``: equal texts mean that a page is understood the same way.

    It covers the versions of this software, of plug-ins and models that score, the knowledge base (``files_digest``),
    what the definition means to scores, and what the crawl keeps of its ``topic``: the reference documents from the
    web, and what it has learned (``TopicState.meaning``). ``meaning`` is the definition's as a crawl's folder keeps it,
    where the definition was read back from there without the texts of its files.
    """
    meant = {path: value for path, value in (meaning or icd.meaning()).items() if _is_meant(path)}
    everything = (__version__, dict(versions(icd)), knowledge, meant, dict(topic))
    return hashlib.sha256(json.dumps(everything, sort_keys=True).encode()).hexdigest()[:32]


def _is_meant(path: str) -> bool:
    return any(path == part or path.startswith(f"{part}.") for part in MEANT)
