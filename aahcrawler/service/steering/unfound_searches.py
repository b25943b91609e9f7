"""Count searches without results, so that operators can have the missing pages crawled; readers stay anonymous.

Stored are the query, the number of readers, and the first and last day, once several sign-ins have made the search.
Before that there are only digests in memory, keyed with a secret that is never stored.
"""

import logging
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, date, datetime
from hashlib import blake2b
from pathlib import Path
from secrets import token_bytes
from threading import Lock
from typing import Final

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from aahcrawler.page.text import fold
from aahcrawler.tombstones import replace_durably
from aahcrawler.urls import canonicalize

UNFOUND: Final = "unfound-searches.json"
"""The file in the folder of crawls."""
MIN_ASKERS: Final = 3
"""Sign-ins that have to ask for something before it is kept."""
MAX_LENGTH: Final = 200
"""Letters of a query that is counted; longer ones are not."""
MAX_KEPT: Final = 1_000
_MAX_ASKED: Final = 50_000
"""Digests that are remembered."""
_logger = logging.getLogger(__name__)


class UnfoundSearch(BaseModel):
    """A query, or the URL of a page, that nothing was found for; days are in UTC."""

    model_config = ConfigDict(frozen=True)

    query: str
    is_url: bool
    count: int
    first: date
    last: date


_LIST: Final = TypeAdapter(tuple[UnfoundSearch, ...])


def today() -> date:
    """Return the day it is, in UTC."""
    return datetime.now(UTC).date()


class UnfoundSearches:
    """The searches that nothing was found for, in a file. Several threads may use it at once.

    A sign-in counts once a day for a query. Of more than ``MAX_KEPT`` queries those are forgotten that were asked least
    lately. Where the file cannot be written, nothing is counted, and the log says so.
    """

    def __init__(self, path: Path, today: Callable[[], date] = today) -> None:
        self.path, self._today = path, today
        self._secret = token_bytes(32)
        self._asked: OrderedDict[bytes, set[bytes]] = OrderedDict()
        self._counted: tuple[date, set[bytes]] = today(), set()
        self._lock = Lock()

    def note(self, query: str, asker: str, *, is_url: bool) -> None:
        """Count a query, or a URL, of the sign-in ``asker``, whose name is not stored."""
        wanted = (canonicalize(query) or "") if is_url else fold(query).casefold()
        if not wanted or len(wanted) > MAX_LENGTH:
            return
        day, who = self._today(), self._digest(wanted, asker)
        with self._lock:
            if self._counted[0] != day or len(self._counted[1]) >= _MAX_ASKED:
                self._counted = day, set()
            if who in self._counted[1]:
                return
            self._counted[1].add(who)
            kept = {each.query: each for each in self.listed()}
            known = kept.get(wanted)
            count = known.count + 1 if known is not None else self._askers(self._digest(wanted), who)
            if known is None and count < MIN_ASKERS:
                return
            first = day if known is None else known.first
            kept[wanted] = UnfoundSearch(query=wanted, is_url=is_url, count=count, first=first, last=day)
            self._write(sorted(kept.values(), key=lambda each: (each.last, each.count))[-MAX_KEPT:])

    def listed(self) -> Sequence[UnfoundSearch]:
        """Return what was not found, what was asked for most first."""
        try:
            found = _LIST.validate_json(self.path.read_bytes())
        except FileNotFoundError:
            return ()
        except (OSError, ValidationError) as error:
            _logger.warning("%s: cannot be read (%s); it is begun anew", self.path, type(error).__name__)
            return ()
        return sorted(found, key=lambda each: (-each.count, each.query))

    def forget(self, queries: Iterable[str]) -> None:
        """Forget queries."""
        gone = frozenset(queries)
        with self._lock:
            self._write([each for each in self.listed() if each.query not in gone])

    def _askers(self, query: bytes, who: bytes) -> int:
        """Count a sign-in for a query; return how many there are. Once they are enough, their digests are deleted."""
        askers = self._asked.setdefault(query, set())
        self._asked.move_to_end(query)
        askers.add(who)
        if len(askers) >= MIN_ASKERS:
            del self._asked[query]
        while len(self._asked) > _MAX_ASKED:
            self._asked.popitem(last=False)
        return len(askers)

    def _digest(self, *texts: str) -> bytes:
        return blake2b("\0".join(texts).encode("utf-8", "replace"), key=self._secret, digest_size=16).digest()

    def _write(self, found: Sequence[UnfoundSearch]) -> None:
        try:
            replace_durably(self.path, _LIST.dump_json(tuple(found), indent=1) + b"\n")
        except OSError as error:
            _logger.warning("%s: cannot be written (%s); searches are not counted", self.path, error)
