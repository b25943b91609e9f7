"""Stores the reading of a world for the next simulation, until it would be read differently."""

import hashlib
import pickle
from collections.abc import Iterable, Sequence
from pathlib import Path

import aahcrawler
import online_analysis
from aahcrawler.layout import WARC
from aahcrawler.segments import extent
from knowledge_base.file_selection import SHIPPED, files_of
from offline.simulation.judge import Relevance
from offline.simulation.label_judge import LABELS
from offline.simulation.sample import Sample, WorldError

_CRAWLER, _ANALYSIS, _HERE = (
    Path(file or "").parent for file in (aahcrawler.__file__, online_analysis.__file__, __file__)
)
_READ_BY = (
    *(_CRAWLER / name for name in ("helper", "induction", "page", "sessions.py", "traps", "urls.py", "webobject.py")),
    *(_ANALYSIS / name for name in ("document.py", "terms.py")),
    *(_HERE / name for name in ("page_reader.py", "page_data.py", "world.py")),
    SHIPPED,
)
"""The software that the reading of a page depends on."""


class WorldCache:
    """A folder with the reading of a world, and a judge's judgements of it.

    A stamp tells this world, this software and this knowledge base from others; judgements depend on the
    world and its labels alone.
    """

    def __init__(self, folder: Path, world: Path, knowledge_base: Sequence[Path]) -> None:
        self.folder = folder
        self._world = extent(world, WARC)
        labels = world / LABELS
        self._labels = _content(labels) if labels.is_file() else ""
        self._stamp = _digest(
            (
                self._world,
                *(_content(file) for source in _READ_BY for file in _sources(source)),
                *(_content(file) for file in files_of(knowledge_base)),
            )
        )
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise WorldError(f"{folder}: cannot be used to store the reading ({error})") from error

    @property
    def is_read(self) -> bool:
        """Return whether the folder holds this reading."""
        return _says(self.folder / "stamp", self._stamp)

    def begin(self) -> None:
        """Invalidate the stored reading: it is going to be overwritten."""
        (self.folder / "stamp").unlink(missing_ok=True)

    def end(self) -> None:
        """Note that the folder holds this reading now."""
        (self.folder / "stamp").write_text(self._stamp, "utf-8")

    def relevance(self, judge: Path, samples: Sequence[Sample]) -> Relevance | None:
        """Return the judge's stored judgements; None where none are stored for this judge and these samples."""
        if not _says(_judged(self.folder, judge, ".stamp"), self._judged_stamp(judge, samples)):
            return None
        relevance: Relevance = pickle.loads(_judged(self.folder, judge).read_bytes())  # noqa: S301 - written by us
        return relevance

    def keep(self, relevance: Relevance, judge: Path, samples: Sequence[Sample]) -> None:
        """Store a judge's judgements."""
        stamp = _judged(self.folder, judge, ".stamp")
        stamp.unlink(missing_ok=True)
        _judged(self.folder, judge).write_bytes(pickle.dumps(relevance))
        stamp.write_text(self._judged_stamp(judge, samples), "utf-8")

    def _judged_stamp(self, judge: Path, samples: Sequence[Sample]) -> str:
        seeds = (f"{sample.name}: {seed}" for sample in samples for seed in sample.seeds)
        return _digest((self._world, self._labels, _content(judge), *seeds))


def _judged(folder: Path, judge: Path, suffix: str = "") -> Path:
    """Return the file of a judge's judgements: several judges may be asked in turn."""
    return folder / f"judged-{judge.stem}{suffix}"


def _sources(path: Path) -> Sequence[Path]:
    return sorted(path.rglob("*.py")) if path.is_dir() else [path]


def _content(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def _digest(parts: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(parts).encode("utf-8", "replace")).hexdigest()


def _says(file: Path, text: str) -> bool:
    return file.exists() and file.read_text("utf-8") == text
