"""A world of archived pages by number: their URLs, and their data, read on first use."""

import pickle
import sqlite3
from array import array
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from time import process_time
from typing import Any, BinaryIO

import zstandard

from aahcrawler import urls
from aahcrawler.helper.assistance import RaisedTally
from aahcrawler.page import Page
from aahcrawler.traps.session_ids import SessionIds
from offline.simulation.page_data import Understood

_RECENT = 256
_UNDERSTOOD = "understood.sqlite"
_PATIENCE = 300.0
"""How many seconds to wait for another process that is writing the data of a page."""


def key(url: str) -> str:
    """Return the key that two URLs of one page share: scheme, fragment and last slash are ignored.

    >>> key("http://a.test/b/#c") == key("https://a.test/b")
    True
    """
    return url.partition("#")[0].partition("://")[2].rstrip("/")


@dataclass(slots=True)
class Catalogue:
    """The pages of a world in the order of their records. ``numbers`` has their URLs and those that redirect to them.

    ``recorded`` are their URLs as in the records, by which other programs know them; ``urls`` are canonical.
    ``sessions`` is what was learned about session ids in links from pages that were recorded twice.
    """

    recorded: list[str] = field(default_factory=list)
    urls: list[str] = field(default_factory=list)
    queues: list[str] = field(default_factory=list)
    numbers: dict[str, int] = field(default_factory=dict)
    sessions: SessionIds = field(default_factory=SessionIds)

    def add(self, url: str) -> int | None:
        """Give a page the next number and return it; None if its URL is known."""
        canonical = urls.canonicalize(url)
        if canonical is None or key(canonical) in self.numbers:
            return None
        number = self.numbers[key(canonical)] = len(self.urls)
        self.recorded.append(url)
        self.urls.append(canonical)
        self.queues.append(urls.queue_of(canonical))
        return number

    def redirect(self, redirects: Mapping[str, str]) -> None:
        """Register URLs that redirect to a page, directly or through others, as that page's."""
        targets = {key(url): key(target) for url, target in redirects.items()}
        for start, step in targets.items():
            seen = {start}
            end = step
            while end in targets and end not in seen:
                seen.add(end)
                end = targets[end]
            if start not in self.numbers and end in self.numbers:
                self.numbers[start] = self.numbers[end]


class WorldWriter:
    """Writes the pages of a world to a folder, the first one first."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        for suffix in ("", "-wal", "-shm"):
            (folder / f"{_UNDERSTOOD}{suffix}").unlink(missing_ok=True)
        self._file = (folder / "pages").open("wb")
        self._offsets = array("q", [0])

    def add(self, page: Page) -> None:
        """Write the next page."""
        packed = _packed(page)
        self._file.write(packed)
        self._offsets.append(self._offsets[-1] + len(packed))

    def close(self, catalogue: Catalogue) -> None:
        """Finish the world, so that it can be opened."""
        self._file.close()
        with closing(sqlite3.connect(self._folder / _UNDERSTOOD, isolation_level=None)) as understood:
            understood.execute("PRAGMA journal_mode = WAL")
            understood.execute("CREATE TABLE pages (number INTEGER PRIMARY KEY, packed BLOB NOT NULL)")
            understood.execute("CREATE TABLE raised (number INTEGER PRIMARY KEY, packed BLOB NOT NULL)")
        (self._folder / "catalogue").write_bytes(pickle.dumps((catalogue, self._offsets)))


def recorded(folder: Path) -> Sequence[str]:
    """Return the URLs of the pages of a finished world, as in the records."""
    return _catalogue(folder)[0].recorded


def raised(folder: Path) -> RaisedTally:
    """Return on which pages of a world, as far as it was read, a stage of reading failed."""
    tally, addresses = RaisedTally(), recorded(folder)
    with closing(sqlite3.connect(folder / _UNDERSTOOD, timeout=_PATIENCE)) as understood:
        for number, packed in understood.execute("SELECT number, packed FROM raised ORDER BY number"):
            tally.add(addresses[number], _unpacked(packed))
    return tally


def _catalogue(folder: Path) -> tuple[Catalogue, "array[int]"]:
    """Return a catalogue, and the offsets at which each page begins and the last one ends."""
    found: tuple[Catalogue, array[int]] = pickle.loads((folder / "catalogue").read_bytes())  # noqa: S301 - ours
    return found


class World:
    """A world written by ``WorldWriter``. Not thread-safe; other processes may open it as well.

    ``urls`` (canonical), ``recorded`` (as in the records) and ``queues`` are by number. Each page is read by ``read``
    on first use, and its data are stored in the folder: ``pages_read`` counts those that were read by this object,
    ``seconds`` the processor time that took.
    """

    def __init__(self, folder: Path, read: Callable[[Page], Understood]) -> None:
        catalogue, self._offsets = _catalogue(folder)
        self.urls: Sequence[str] = catalogue.urls
        self.recorded: Sequence[str] = catalogue.recorded
        self.queues: Sequence[str] = catalogue.queues
        self.pages_read, self.seconds = 0, 0.0
        self._numbers: Mapping[str, int] = catalogue.numbers
        self._sessions = catalogue.sessions
        self._read = read
        self._file: BinaryIO = (folder / "pages").open("rb")
        self._known = sqlite3.connect(folder / _UNDERSTOOD, timeout=_PATIENCE, isolation_level=None)
        self._known.execute("PRAGMA synchronous = OFF")
        self.understood = lru_cache(_RECENT)(self._understood)

    def __len__(self) -> int:
        return len(self.urls)

    def close(self) -> None:
        """Close the files."""
        self._known.close()
        self._file.close()

    def number(self, url: str) -> int | None:
        """Return the number of the page at a URL; None if the world has none.

        Session ids are ignored, as by the crawl that met the pages.
        """
        return self._numbers.get(key(self._sessions.without(url)), self._numbers.get(key(url)))

    def seeds(self, addresses: Sequence[str]) -> tuple[int, ...]:
        """Return the numbers of seeds, each once. Raises ``KeyError`` for one that is not in the world."""
        numbers: dict[int, None] = {}
        for address in addresses:
            numbers[self._numbers[key(urls.canonicalize(address) or address)]] = None
        return tuple(numbers)

    def page(self, number: int) -> Page:
        """Return a page as it was recorded."""
        begin, end = self._offsets[number], self._offsets[number + 1]
        self._file.seek(begin)
        page: Page = _unpacked(self._file.read(end - begin))
        return page

    def _understood(self, number: int) -> Understood:
        known = self._known.execute("SELECT packed FROM pages WHERE number = ?", (number,)).fetchone()
        if known is not None:
            understood: Understood = _unpacked(known[0])
            return understood
        began = process_time()
        understood = self._read(self.page(number))
        self._known.execute("INSERT OR IGNORE INTO pages VALUES (?, ?)", (number, _packed(understood)))
        if understood.raised:
            self._known.execute("INSERT OR IGNORE INTO raised VALUES (?, ?)", (number, _packed(understood.raised)))
        self.pages_read += 1
        self.seconds += process_time() - began
        return understood


_compressor = zstandard.ZstdCompressor(level=1)


def _packed(thing: object) -> bytes:
    return _compressor.compress(pickle.dumps(thing, pickle.HIGHEST_PROTOCOL))


def _unpacked(packed: bytes) -> Any:
    return pickle.loads(zstandard.decompress(packed))  # noqa: S301 - written by us
