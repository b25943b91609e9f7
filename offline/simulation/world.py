"""A world of archived pages, read once: addresses, links and documents by the number of the page."""

import pickle
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import BinaryIO

import zstandard

from aahcrawler import urls
from offline.simulation.understood import Understood

_RECENT = 256


def key(url: str) -> str:
    """Return what two addresses of one page have in common: scheme, fragment and last slash do not count.

    >>> key("http://a.test/b/#c") == key("https://a.test/b")
    True
    """
    return url.partition("#")[0].partition("://")[2].rstrip("/")


@dataclass(slots=True)
class Catalogue:
    """The pages of a world in the order of their records. ``numbers`` holds them, and what redirects to them.

    ``recorded`` are their addresses as they stand in the records, by which others know them; ``urls`` are canonical.
    """

    recorded: list[str] = field(default_factory=list)
    urls: list[str] = field(default_factory=list)
    queues: list[str] = field(default_factory=list)
    numbers: dict[str, int] = field(default_factory=dict)

    def add(self, url: str) -> int | None:
        """Give a page the next number and return it; None for one whose address is known."""
        canonical = urls.canonicalize(url)
        if canonical is None or key(canonical) in self.numbers:
            return None
        number = self.numbers[key(canonical)] = len(self.urls)
        self.recorded.append(url)
        self.urls.append(canonical)
        self.queues.append(urls.queue_of(canonical))
        return number

    def redirect(self, redirects: Mapping[str, str]) -> None:
        """Let addresses that redirect to a page, by way of others perhaps, stand for it."""
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
    """Writes what was understood of the pages of a world into a folder, the first page first."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._file = (folder / "pages").open("wb")
        self._offsets = array("q", [0])

    def add(self, packed: bytes) -> None:
        """Write the next page."""
        self._file.write(packed)
        self._offsets.append(self._offsets[-1] + len(packed))

    def close(self, catalogue: Catalogue) -> None:
        """End the world; only now it can be opened."""
        self._file.close()
        (self._folder / "catalogue").write_bytes(pickle.dumps((catalogue, self._offsets)))


def pack(understood: Understood) -> bytes:
    """Return what was understood of a page as bytes to be written."""
    return zstandard.compress(pickle.dumps(understood, pickle.HIGHEST_PROTOCOL), 1)


class World:
    """A world that was written by ``WorldWriter``. Not for several threads.

    ``urls``, canonical, ``recorded``, as the records have them, and ``queues`` are by number.
    """

    def __init__(self, folder: Path) -> None:
        catalogue, self._offsets = pickle.loads((folder / "catalogue").read_bytes())  # noqa: S301 - written by us
        self.urls: Sequence[str] = catalogue.urls
        self.recorded: Sequence[str] = catalogue.recorded
        self.queues: Sequence[str] = catalogue.queues
        self._numbers: Mapping[str, int] = catalogue.numbers
        self._file: BinaryIO = (folder / "pages").open("rb")
        self.understood = lru_cache(_RECENT)(self._read)

    def __len__(self) -> int:
        return len(self.urls)

    def close(self) -> None:
        """Let go of the files."""
        self._file.close()

    def number(self, url: str) -> int | None:
        """Return the number of the page at an address, None where the world has none."""
        return self._numbers.get(key(url))

    def seeds(self, addresses: Sequence[str]) -> tuple[int, ...]:
        """Return the numbers of seeds, each once. Raise KeyError for one that is not in the world."""
        numbers: dict[int, None] = {}
        for address in addresses:
            numbers[self._numbers[key(urls.canonicalize(address) or address)]] = None
        return tuple(numbers)

    def _read(self, number: int) -> Understood:
        begin, end = self._offsets[number], self._offsets[number + 1]
        self._file.seek(begin)
        packed = zstandard.decompress(self._file.read(end - begin))
        understood: Understood = pickle.loads(packed)  # noqa: S301 - written by us
        return understood
