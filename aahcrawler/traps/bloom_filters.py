"""Remember the hashes that a crawl has seen, in bounded memory: the oldest are forgotten first.

Budgets start anew with each crawl of a definition, because a site may have grown. Without a memory of refusals each
crawl would follow an endless part of a site some pages further, although nothing is new there.
"""

import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from io import BytesIO
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from aahcrawler.traps.patterns import Trap
from aahcrawler.traps.sketch import Hashes

Arrays = Mapping[str, NDArray[np.generic]]
"""A state to be stored: arrays by name."""

MIN_BITS = 1 << 17
MAX_BITS = 1 << 26
"""The bits of the largest filter, 8 MiB; all filters together take at most three times that."""
BITS_A_HASH = 12
"""Bits for each hash: one in 150 hashes that were never added is reported as known."""

_NUMBERS = np.arange(4, dtype=np.uint64)[:, None]
_MASKS = np.left_shift(1, np.arange(8)).astype(np.uint8)


@dataclass(slots=True)
class _Filter:
    bits: NDArray[np.uint8]
    count: int = 0

    @property
    def is_full(self) -> bool:
        return self.count * BITS_A_HASH >= len(self.bits) * 8

    def has(self, probes: Hashes) -> NDArray[np.bool_]:
        at, masks = self._places(probes)
        found: NDArray[np.bool_] = ((self.bits.take(at) & masks) != 0).all(axis=0)
        return found

    def add(self, probes: Hashes) -> None:
        at, masks = self._places(probes)
        np.bitwise_or.at(self.bits, at, masks)
        self.count += probes.shape[1]

    def _places(self, probes: Hashes) -> tuple[NDArray[np.intp], NDArray[np.uint8]]:
        """Return the bytes and masks of the bits of each hash, one row for each probe."""
        at = probes & np.uint64(len(self.bits) * 8 - 1)
        return (at >> np.uint64(3)).view(np.intp), _MASKS.take((at & np.uint64(7)).view(np.intp))


def _probes(hashes: Hashes) -> Hashes:
    """Return numbers from which each hash's bits follow in filters of any size (Kirsch and Mitzenmacher, 2008)."""
    return hashes + _NUMBERS * ((hashes >> np.uint64(32)) | np.uint64(1))


class BloomFilters:
    """A set of hashes in Bloom filters, each twice as large as the one before it, up to ``most_bits``.

    An added hash is known until filters of twice that size have been filled after it. About one in 150 hashes that were
    not added is reported as known.
    """

    def __init__(self, most_bits: int = MAX_BITS) -> None:
        self._most = most_bits
        self._filters = [_Filter(np.zeros(min(MIN_BITS, most_bits) // 8, np.uint8))]

    def new(self, hashes: Hashes) -> NDArray[np.bool_]:
        """Add hashes; return, parallel to them, whether each was unknown."""
        if not len(hashes):
            return np.zeros(0, np.bool_)
        probes = _probes(hashes)
        known = np.zeros(len(hashes), np.bool_)
        for each in self._filters:
            known |= each.has(probes)
        if not known.all():
            self._filters[-1].add(probes[:, ~known])
            if self._filters[-1].is_full:
                self._grow()
        return ~known

    def _grow(self) -> None:
        size = min(self._most // 8, 2 * len(self._filters[-1].bits))
        if len(self._filters) > 1 and len(self._filters[-1].bits) == size == len(self._filters[-2].bits):
            self._filters = self._filters[-1:]
        self._filters.append(_Filter(np.zeros(size, np.uint8)))

    @property
    def size(self) -> int:
        """Bytes that the filters take."""
        return sum(len(each.bits) for each in self._filters)

    def join(self, state: Arrays) -> None:
        """Add the filters of another set, given its ``state``, the last ones first, as far as there is space."""
        for place, count in reversed(list(enumerate(state["heard"]))):
            bits = _checked(state[f"heard{place}"])
            if self.size + len(bits) <= self._bound():
                self._filters.insert(0, _Filter(bits, int(count)))

    def _bound(self) -> int:
        return 4 * self._most // 8

    def state(self) -> Arrays:
        """Return the whole state as arrays, for ``restored``."""
        counts = np.array([each.count for each in self._filters], np.int64)
        return {"heard": counts} | {f"heard{place}": each.bits.copy() for place, each in enumerate(self._filters)}

    @classmethod
    def restored(cls, state: Arrays, most_bits: int = MAX_BITS) -> "BloomFilters":
        """Return the set with this ``state``. Raises ``ValueError`` or ``KeyError`` if it is invalid."""
        heard = cls(most_bits)
        heard._filters = [
            _Filter(_checked(state[f"heard{place}"]), int(count)) for place, count in enumerate(state["heard"])
        ]
        if not heard._filters or heard.size > heard._bound():
            raise ValueError("no filters, or larger ones than there can be")
        return heard


def _checked(bits: NDArray[np.generic]) -> NDArray[np.uint8]:
    size = bits.size
    if bits.dtype != np.uint8 or bits.ndim != 1 or size == 0 or size & (size - 1):
        raise ValueError("a filter is no array of bits")
    return bits.astype(np.uint8)


class RecentSet:
    """A set of the numbers looked up last: at least half of ``most``, and never more than ``most``."""

    def __init__(self, most: int) -> None:
        self._half = max(1, most // 2)
        self._now: set[int] = set()
        self._before: set[int] = set()

    def knows(self, number: int) -> bool:
        """Return whether a number was looked up before, and remember it."""
        if number in self._now:
            return True
        if len(self._now) >= self._half:
            self._before, self._now = self._now, set()
        self._now.add(number)
        return number in self._before

    def __contains__(self, number: int) -> bool:
        return number in self._now or number in self._before

    def __iter__(self) -> Iterator[int]:
        return iter(self._now | self._before)


def digest(url: str) -> int:
    """Return a 64-bit hash of a URL; never 0, which stands for no URL."""
    return int.from_bytes(blake2b(url.encode("utf-8", "replace"), digest_size=8).digest()) or 1


FORMAT = 4
"""The version of the stored bytes; other versions are rejected."""


def packed(crawl: int, state: Arrays) -> bytes:
    """Return the state of a crawl's traps (``Traps.state``) as bytes, compressed."""
    file = BytesIO()
    arrays = {**state, "crawl": np.array([FORMAT, crawl], np.int64)}
    np.savez_compressed(file, **arrays)  # type: ignore[arg-type]  # none is called allow_pickle
    return file.getvalue()


def unpacked(content: bytes) -> tuple[int, Arrays]:
    """Return the number of the crawl and the state stored in bytes. Raises ``ValueError`` if they are invalid."""
    try:
        with np.load(BytesIO(content), allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        version, crawl = map(int, arrays.pop("crawl"))
    except (ValueError, KeyError, TypeError, AttributeError, OSError, EOFError, BadZipFile, zlib.error) as error:
        raise ValueError(f"it cannot be read ({error})") from error
    if version != FORMAT:
        raise ValueError("it was written by another version")
    return crawl, arrays


MAX_URLS = 200_000
"""How many URLs of each kind are remembered: the last ones of a crawl."""

_FETCHED = "fetched"
_TRUSTED = "trusted"
"""URLs refused although navigation of a known application chose them."""
_BY_BUDGET = (Trap.NOVELTY, Trap.BARREN)
"""The reasons that depend on earlier pages; others follow from the URL, or from stored rules."""
_KINDS = (_FETCHED, _TRUSTED, *_BY_BUDGET)

_Digests = NDArray[np.uint64]
_NONE: _Digests = np.zeros(0, np.uint64)


class TrapDecisions:
    """What one crawl fetched and refused, as far as remembered."""

    def __init__(self) -> None:
        self._sets = {kind: RecentSet(MAX_URLS) for kind in _KINDS}

    def fetch(self, url: str) -> None:
        """Record that a URL was fetched."""
        self._sets[_FETCHED].knows(digest(url))

    def refuse(self, url: str, reason: Trap, *, trusted: bool) -> None:
        """Record that a URL was refused for a reason that depends on earlier pages."""
        number = digest(url)
        self._sets[reason].knows(number)
        if trusted:
            self._sets[_TRUSTED].knows(number)

    def forget(self, reason: Trap) -> None:
        """Forget the refusals for a reason, because the settings behind them have changed."""
        self._sets[reason] = RecentSet(MAX_URLS)

    def has_fetched(self, url: str) -> bool:
        """Return whether a URL was fetched."""
        return digest(url) in self._sets[_FETCHED]

    def state(self) -> Arrays:
        """Return the whole state as arrays, for ``restored`` and ``Precedents``."""
        return {f"now_{kind}": np.sort(np.fromiter(numbers, np.uint64)) for kind, numbers in self._sets.items()}

    @classmethod
    def restored(cls, state: Arrays) -> "TrapDecisions":
        """Return the decisions with this ``state``. Raises ``ValueError`` or ``KeyError`` if it is invalid."""
        decisions = cls()
        for kind, numbers in decisions._sets.items():
            for number in _checked_digests(state[f"now_{kind}"]).tolist():
                numbers.knows(number)
        return decisions


class Precedents:
    """The decisions of former crawls, which guide those of this one."""

    def __init__(self) -> None:
        self._of: dict[str, _Digests] = {}
        """Digests by kind, sorted; a kind that has none is left out."""

    def has_fetched(self, url: str) -> bool:
        """Return whether a former crawl fetched a URL."""
        return bool(self._of) and self._has(_FETCHED, url)

    def refusal(self, url: str, *, trusted: bool) -> Trap | None:
        """Return why a former crawl refused a URL.

        For a ``trusted`` URL, only refusals made although it was trusted count.
        """
        if not self._of or (trusted and not self._has(_TRUSTED, url)):
            return None
        return next((reason for reason in _BY_BUDGET if self._has(reason, url)), None)

    def knows(self, url: str) -> bool:
        """Return whether a former crawl fetched or refused a URL."""
        return bool(self._of) and any(self._has(kind, url) for kind in (_FETCHED, *_BY_BUDGET))

    def forget(self, reason: Trap) -> None:
        """Forget the refusals for a reason, since the settings behind them have changed."""
        self._of.pop(reason, None)

    def join(self, decisions: TrapDecisions) -> None:
        """Add the decisions of a later crawl; older decisions are forgotten first."""
        recent = decisions.state()
        self._add({kind: _checked_digests(recent[f"now_{kind}"]) for kind in _KINDS})

    def join_all(self, state: Arrays) -> None:
        """Add the decisions that guide another worker, given its ``state``."""
        self._add({kind: _checked_digests(state[f"former_{kind}"]) for kind in _KINDS})

    def _add(self, recent: Mapping[str, _Digests]) -> None:
        for kind, numbers in recent.items():
            older = np.setdiff1d(self._of.get(kind, _NONE), numbers, assume_unique=True)
            if len(known := np.union1d(numbers, older[: max(0, MAX_URLS - len(numbers))])):
                self._of[kind] = known

    def state(self) -> Arrays:
        """Return the whole state as arrays, for ``restored``."""
        return {f"former_{kind}": self._of.get(kind, _NONE) for kind in _KINDS}

    @classmethod
    def restored(cls, state: Arrays) -> "Precedents":
        """Return the precedents with this ``state``. Raises ``ValueError`` or ``KeyError`` if it is invalid."""
        precedents = cls()
        numbers = {kind: _checked_digests(state[f"former_{kind}"]) for kind in _KINDS}
        precedents._of = {kind: each for kind, each in numbers.items() if len(each)}
        return precedents

    def _has(self, kind: str, url: str) -> bool:
        numbers = self._of.get(kind)
        if numbers is None:
            return False
        wanted = np.uint64(digest(url))
        at = int(np.searchsorted(numbers, wanted))
        return at < len(numbers) and bool(numbers[at] == wanted)


def _checked_digests(numbers: NDArray[np.generic]) -> _Digests:
    if numbers.dtype != np.uint64 or numbers.ndim != 1:
        raise ValueError("decisions are no list of digests")
    return np.unique(numbers.astype(np.uint64))
