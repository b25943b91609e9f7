"""Reading a world: every page of its WARC files is understood once, by several processes if wished."""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from time import process_time

from aahcrawler.archive.reader import captures
from aahcrawler.helper import ApplicationAwareHelper
from aahcrawler.helper.timing import Stopwatch
from aahcrawler.page import Page
from aahcrawler.segments import SegmentError, segments
from aahcrawler.urls import canonicalize, resolve
from knowledge_base.loader import load
from knowledge_base.model import KnowledgeBase
from offline.archived import page_of
from offline.simulation.sample import Sample, WorldError
from offline.simulation.understood import understand
from offline.simulation.world import Catalogue, WorldWriter, key, pack
from online_analysis.terms import Lexicon

CHUNK = 64
"""Pages that one helper reads, one after another: what it remembers of a site must not depend on who reads what."""
_AHEAD = 3


@dataclass(frozen=True, slots=True)
class Chunk:
    """Pages to be read together."""

    pages: tuple[Page, ...]
    knowledge_base: tuple[Path, ...]


@dataclass(frozen=True, slots=True)
class ReadChunk:
    """The pages of a chunk, packed, in their order; ``seconds`` of processor time were spent on them."""

    pages: Sequence[bytes]
    seconds: float


def read_chunk(chunk: Chunk) -> ReadChunk:
    """Understand the pages of a chunk; the same chunk gives the same pages in any process."""
    started = process_time()
    helper = ApplicationAwareHelper(knowledge(chunk.knowledge_base), stopwatch=Stopwatch(lambda: 0.0))
    lexicon = Lexicon()
    pages = [pack(understand(page, helper, lexicon)) for page in chunk.pages]
    return ReadChunk(pages, process_time() - started)


@lru_cache(1)
def knowledge(folders: tuple[Path, ...]) -> KnowledgeBase:
    """Return the knowledge base of folders, loaded once a process. Raises ``LoadError``."""
    return load(*folders)


@dataclass(slots=True)
class Reading:
    """One reading of a world into a folder. ``read`` is told how many pages have been understood."""

    folder: Path
    target: Path
    knowledge_base: tuple[Path, ...]
    read: Callable[[int], object] = lambda _: None
    _catalogue: Catalogue = field(default_factory=Catalogue)
    _redirects: dict[str, str] = field(default_factory=dict)

    def run(self, samples: Sequence[Sample], executor: Executor | None, processes: int) -> float:
        """Read all pages, here or by ``processes`` of an executor; return the seconds of processor time spent there.

        Raises ``WorldError``.
        """
        if not segments(self.folder, "warc.gz"):
            raise WorldError(f"{self.folder}: holds no WARC files (*.warc.gz)")
        writer = WorldWriter(self.target)
        seconds = 0.0
        for chunk in self._read(executor, processes):
            seconds += chunk.seconds
            for page in chunk.pages:
                writer.add(page)
            self.read(len(chunk.pages))
        self._catalogue.redirect(self._redirects)
        writer.close(self._catalogue)
        self._check(samples)
        return seconds

    def _check(self, samples: Sequence[Sample]) -> None:
        for sample in samples:
            missing = [seed for seed in sample.seeds if _key(seed) not in self._catalogue.numbers]
            if missing:
                raise WorldError(f"{self.folder}: the seed {missing[0]} of {sample.name} is no page of its WARC files")

    def _read(self, executor: Executor | None, processes: int) -> Iterator[ReadChunk]:
        """Yield pages by chunks in their order; few chunks are under way at a time, so that memory is bounded."""
        chunks = self._chunks()
        if executor is None:
            yield from map(read_chunk, chunks)
            return
        under_way: deque[Future[ReadChunk]] = deque()
        for chunk in chunks:
            under_way.append(executor.submit(read_chunk, chunk))
            if len(under_way) >= processes + _AHEAD:
                yield under_way.popleft().result()
        while under_way:
            yield under_way.popleft().result()

    def _chunks(self) -> Iterator[Chunk]:
        pages: list[Page] = []
        for page in self._pages():
            pages.append(page)
            if len(pages) == CHUNK:
                yield Chunk(tuple(pages), self.knowledge_base)
                pages = []
        if pages:
            yield Chunk(tuple(pages), self.knowledge_base)

    def _pages(self) -> Iterator[Page]:
        """Yield the HTML pages that were answered well, each address once."""
        try:
            for _, exchange in captures(self.folder):
                with closing(exchange):
                    page = page_of(exchange)
                if page is None:
                    continue
                location = page.headers.get("Location")
                if 300 <= page.status < 400 and location and (target := resolve(page.url, location)):
                    self._redirects[canonicalize(page.url) or page.url] = target
                elif 200 <= page.status < 300 and page.is_html:
                    number = self._catalogue.add(page.url)
                    if number is not None:
                        yield replace(page, url=self._catalogue.urls[number])
        except SegmentError as error:
            raise WorldError(str(error)) from error


def _key(url: str) -> str:
    return key(canonicalize(url) or url)
