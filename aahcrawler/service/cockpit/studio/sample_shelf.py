"""The samples of captured pages that pages of the studio share, so that each page is parsed once for all of them."""

import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from threading import Lock
from typing import Final

from aahcrawler.service.catalog.crawl_catalog import Crawl
from aahcrawler.service.views.page_indexes import NOT_READY, PageIndexes
from aahcrawler.service.web.problems import NO_SITE, ProblemError
from aahcrawler.studio.page_sample import PageSample, page_sample
from aahcrawler.studio.site_groups import SiteGroup, site_groups

MOST_SAMPLES: Final = 4
FRESH_SECONDS: Final = 900.0
"""Seconds after which the sample of a host is drawn anew, for what was captured since."""
_SOON: Final = 4.0
"""The same while the index of the crawl's pages is still being read."""
MOST_BYTES: Final = 96 << 20
"""Bytes that the parsed pages of one sample may take."""


_Key = tuple[str, int, str]
"""The id of a crawl, its number, and a host."""


@dataclass
class _Shelved:
    until: float
    sample: PageSample
    is_whole: bool
    """Whether all captures of the crawl were in its index."""
    _lock: Lock = field(default_factory=Lock)

    @property
    def groups(self) -> tuple[SiteGroup, ...]:
        with self._lock:  # Whoever asks meanwhile waits, and does not read the same pages again.
            return self._groups

    @cached_property
    def _groups(self) -> tuple[SiteGroup, ...]:
        return site_groups(self.sample)


class SampleShelf:
    """Keeps the samples of the hosts that were looked at last. It may be used by several threads at once."""

    def __init__(self, indexes: PageIndexes, clock: Callable[[], float] = time.monotonic) -> None:
        self._indexes, self._clock, self._lock = indexes, clock, Lock()
        self._kept: OrderedDict[_Key, _Shelved] = OrderedDict()
        self._drawing = Lock()

    def sample(self, crawl: Crawl, host: str) -> PageSample:
        """Return the sample of a host. Raise ``ProblemError`` where the crawl has no page of it."""
        return self._shelved(crawl, host).sample

    def sample_around(self, crawl: Crawl, host: str) -> PageSample:
        """Return the sample of a host, one without pages where the crawl has none of it."""
        return self._shelved(crawl, host, may_be_empty=True).sample

    def groups(self, crawl: Crawl, host: str) -> tuple[SiteGroup, ...]:
        """Return the groups of alike addresses of a host. Raise ``ProblemError`` where the crawl has no page of it."""
        return self._shelved(crawl, host).groups

    def forget(self, crawl: Crawl, host: str) -> None:
        """Have the sample of a host drawn anew the next time."""
        with self._lock:
            forgotten = self._kept.pop((crawl.id, crawl.number, host), None)
        if forgotten is not None:
            forgotten.sample.close()

    def close(self) -> None:
        """Let go of all samples."""
        with self._lock:
            kept = list(self._kept.values())
            self._kept.clear()
        for each in kept:
            each.sample.close()

    def _shelved(self, crawl: Crawl, host: str, *, may_be_empty: bool = False) -> _Shelved:
        key = crawl.id, crawl.number, host
        found = self._found(key)
        if found is None:
            with self._drawing:  # One at a time: two would hold all addresses of their hosts at once.
                found = self._found(key) or self._drawn(crawl, key)
        if not (found.sample.pages or may_be_empty or found.is_whole):
            raise ProblemError(NOT_READY, "the crawl's pages are still being read into their index; try again soon")
        if not (found.sample.pages or may_be_empty):
            raise ProblemError(NO_SITE, f"the crawl has no page of {host[:200]!r} that can be looked at")
        return found

    def _found(self, key: _Key) -> _Shelved | None:
        with self._lock:
            found = self._kept.get(key)
            if found is None or self._clock() >= found.until:
                return None
            self._kept.move_to_end(key)
            return found

    def _drawn(self, crawl: Crawl, key: _Key) -> _Shelved:
        """Draw the sample of a host; one without pages is not kept, so that it is drawn anew once there are some."""
        host = key[2]
        with self._indexes.asked(crawl) as index:
            drawn, is_whole = page_sample(index.folder, index.base, host), index.progress.complete
        drawn.most_bytes = MOST_BYTES
        shelved = _Shelved(self._clock() + (FRESH_SECONDS if is_whole else _SOON), drawn, is_whole)
        if not drawn.pages:
            return shelved
        with self._lock:
            left = [self._kept.pop(key)] if key in self._kept else []
            self._kept[key] = shelved
            left += [self._kept.popitem(last=False)[1] for _ in range(len(self._kept) - MOST_SAMPLES)]
        for each in left:
            each.sample.close()
        return shelved
