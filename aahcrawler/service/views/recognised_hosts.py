"""Shows the hosts of a crawl with the software that their pages were recognised as."""

import time
from collections import OrderedDict, defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Final

from pydantic import BaseModel, ConfigDict

from aahcrawler.service.views.page_indexes import Asked, Progress

MOST: Final = 500
"""Hosts that are shown, those with most pages."""
_ROWS: Final = 5_000
_MOST_FOLDERS: Final = 20
_RESTS: Final = 50
"""How many times as long as a count takes it holds while its crawl goes on."""
_OLDEST: Final = 900.0
_COUNTED: Final = """
SELECT substr(url, instr(url, '://') + 3, instr(substr(url, instr(url, '://') + 3), '/') - 1) AS host,
  coalesce(application, '') AS application, count(DISTINCT url) AS n
FROM capture INDEXED BY capture_at WHERE status = 200 AND NOT is_requisite GROUP BY host, application
ORDER BY n DESC, host, application LIMIT ?
"""


class HostShown(BaseModel):
    """A host, without ``www.``: its pages, those of them that nothing was recognised of, and the others by software."""

    model_config = ConfigDict(frozen=True)

    host: str
    pages: int
    unknown: int
    applications: dict[str, int]


class HostsShown(BaseModel):
    """The hosts of a folder, most pages of unknown software first. ``more`` says that there are others."""

    model_config = ConfigDict(frozen=True)

    hosts: tuple[HostShown, ...]
    more: bool
    progress: Progress


def recognised_hosts(asked: Asked) -> HostsShown:
    """Return the hosts that pages were captured of; their captures are counted anew each time."""
    rows = asked.base.execute(_COUNTED, (_ROWS,)).fetchall()
    counted: defaultdict[str, dict[str, int]] = defaultdict(dict)
    for host, application, number in rows:
        known = counted[str(host).removeprefix("www.")]
        known[application] = known.get(application, 0) + int(number)
    hosts = sorted(
        (_shown(host, known) for host, known in counted.items()),
        key=lambda each: (-each.unknown, -each.pages, each.host),
    )
    return HostsShown(hosts=tuple(hosts[:MOST]), more=len(hosts) > MOST or len(rows) == _ROWS, progress=asked.progress)


@dataclass(frozen=True, slots=True)
class _Count:
    indexed: int
    at: float
    cost: float
    shown: HostsShown


class HostCounts:
    """Keeps the hosts of folders, which are counted anew once their indexes have grown, but not all the time.

    A count takes as long as there are captures. It may be used by several threads at once.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._lock = clock, Lock()
        self._kept: OrderedDict[Path, _Count] = OrderedDict()

    def of(self, asked: Asked) -> HostsShown:
        """Return the hosts of a folder; while its crawl goes on, as they were up to fifty counts' time ago."""
        with self._lock:
            found, now = self._kept.get(asked.folder), self._clock()
        if found is not None and _still_holds(found, asked.progress.indexed, now):
            return found.shown.model_copy(update={"progress": asked.progress})
        shown = recognised_hosts(asked)
        with self._lock:
            self._kept[asked.folder] = _Count(asked.progress.indexed, now, self._clock() - now, shown)
            self._kept.move_to_end(asked.folder)
            if len(self._kept) > _MOST_FOLDERS:
                self._kept.popitem(last=False)
        return shown


def _still_holds(count: _Count, indexed: int, now: float) -> bool:
    return now - count.at < (_OLDEST if indexed == count.indexed else _RESTS * count.cost)


def _shown(host: str, known: dict[str, int]) -> HostShown:
    named = {name: number for name, number in known.items() if name}
    return HostShown(host=host, pages=sum(known.values()), unknown=known.get("", 0), applications=named)
