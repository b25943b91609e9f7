"""Read a world: its pages are gathered from WARC files once, and understood when a crawl first meets them."""

import hashlib
import pickle
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from time import process_time

import aahcrawler
import online_analysis
from aahcrawler.captures import ArchivedCaptures, shown_pages
from aahcrawler.helper import ApplicationAwareHelper
from aahcrawler.helper.site_memory import Sites
from aahcrawler.layout import WARC
from aahcrawler.page import Page
from aahcrawler.page.onward import location
from aahcrawler.pipeline import trap_evidence
from aahcrawler.segments import SegmentError, extent, segments
from aahcrawler.urls import canonicalize
from knowledge_base.file_selection import SHIPPED, files_of
from knowledge_base.loader import load
from knowledge_base.model import KnowledgeBase
from offline.simulation.judge import Relevance
from offline.simulation.label_judge import LABELS
from offline.simulation.page_data import Understood, understand
from offline.simulation.sample import Sample, WorldError
from offline.simulation.world import Catalogue, WorldWriter, key
from online_analysis.terms import Lexicon

RECENT = 64
"""How many of the last pages are compared with later ones."""


@lru_cache(1)
def knowledge(folders: tuple[Path, ...]) -> KnowledgeBase:
    """Return the knowledge base of folders, loaded once per process. Raises ``LoadError``."""
    return load(*folders)


def reader(folders: tuple[Path, ...]) -> Callable[[Page], Understood]:
    """Return a reader of pages with a knowledge base; it reads a page the same, whichever page came before."""
    sites, lexicon = Sites(), Lexicon()
    helper = ApplicationAwareHelper(knowledge(folders), sites).comparing_drafts()

    def read(page: Page) -> Understood:
        sites.forget()
        return understand(page, helper, lexicon)

    return read


@dataclass(slots=True)
class Gathering:
    """Gathers the pages of a world into a folder. ``gathered`` is called for each."""

    folder: Path
    target: Path
    gathered: Callable[[int], object] = lambda _: None
    _catalogue: Catalogue = field(default_factory=Catalogue)
    _redirects: dict[str, str] = field(default_factory=dict)
    _recent: OrderedDict[str, Page] = field(default_factory=OrderedDict)

    def run(self, samples: Sequence[Sample]) -> float:
        """Gather all pages; return the processor time in seconds. Raises ``WorldError``."""
        if not segments(self.folder, WARC):
            raise WorldError(f"{self.folder}: holds no WARC files (*.{WARC})")
        began = process_time()
        writer = WorldWriter(self.target)
        for page in self._pages():
            writer.add(page)
            self.gathered(1)
        self._catalogue.redirect(self._redirects)
        writer.close(self._catalogue)
        self._check(samples)
        return process_time() - began

    def _check(self, samples: Sequence[Sample]) -> None:
        for sample in samples:
            missing = [seed for seed in sample.seeds if key(canonicalize(seed) or seed) not in self._catalogue.numbers]
            if missing:
                raise WorldError(f"{self.folder}: the seed {missing[0]} of {sample.name} is no page of its WARC files")

    def _pages(self) -> Iterator[Page]:
        """Yield the HTML pages with a successful status, each URL once."""
        try:
            with ArchivedCaptures(self.folder) as source:
                yield from self._read(source)
        except SegmentError as error:
            raise WorldError(str(error)) from error

    def _read(self, source: ArchivedCaptures) -> Iterator[Page]:
        for page in shown_pages(source):
            if target := location(page.url, page.status, page.headers):
                self._redirects[canonicalize(page.url) or page.url] = target
            elif 200 <= page.status < 300 and page.is_html:
                number = self._catalogue.add(page.url)
                if number is None:
                    self._compare(page)
                    continue
                url = self._catalogue.urls[number]
                known = page if page.url == url else replace(page, url=url)
                self._recent[known.url] = known
                if len(self._recent) > RECENT:
                    self._recent.popitem(last=False)
                yield known

    def _compare(self, again: Page) -> None:
        """Learn about session ids from a page that was recorded twice in a row, as a crawl does to detect them."""
        page = self._recent.pop(canonicalize(again.url) or again.url, None)
        if page is None:
            return
        sessions, again = self._catalogue.sessions, replace(again, url=page.url)
        found = trap_evidence.suspects(page, sessions)
        if found:
            sessions.asked(page.url)
            sessions.decide(page.url, found, trap_evidence.links_of(again, page))


_CRAWLER, _ANALYSIS, _HERE = (
    Path(file or "").parent for file in (aahcrawler.__file__, online_analysis.__file__, __file__)
)
_READ_BY = (
    *(_CRAWLER / name for name in ("helper", "induction", "page", "traps", "urls.py", "webobject.py")),
    *(_ANALYSIS / name for name in ("document.py", "terms.py")),
    *(_HERE / name for name in ("page_reader.py", "page_data.py", "world.py")),
    SHIPPED,
)
"""The software on which the reading of a page depends."""


class WorldCache:
    """A folder with the reading of a world, and a judge's judgements of it.

    A stamp identifies the world, the software and the knowledge base; judgements depend only on the world and its
    labels.
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
        """Return whether the folder has this reading."""
        return _says(self.folder / "stamp", self._stamp)

    def begin(self) -> None:
        """Invalidate the stored reading, because it is going to be overwritten."""
        (self.folder / "stamp").unlink(missing_ok=True)

    def end(self) -> None:
        """Mark the stored reading as this one."""
        (self.folder / "stamp").write_text(self._stamp, "utf-8")

    def relevance(self, judge: Path, samples: Sequence[Sample]) -> Relevance | None:
        """Return the judge's stored judgements; None if none are stored for this judge and these samples."""
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
    """Return the file of a judge's judgements, because there may be several judges."""
    return folder / f"judged-{judge.stem}{suffix}"


def _sources(path: Path) -> Sequence[Path]:
    return sorted(path.rglob("*.py")) if path.is_dir() else [path]


def _content(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def _digest(parts: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(parts).encode("utf-8", "replace")).hexdigest()


def _says(file: Path, text: str) -> bool:
    return file.exists() and file.read_text("utf-8") == text
