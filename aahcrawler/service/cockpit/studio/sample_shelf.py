"""The samples of captured pages that pages of the studio share, so that each page is parsed once for all of them."""

import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
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


@dataclass
class _Shelved:
    until: float
    sample: PageSample

    @cached_property
    def groups(self) -> tuple[SiteGroup, ...]:
        return site_groups(self.sample)


class SampleShelf:
    """Keeps the samples of the hosts that were looked at last. It may be used by several threads at once."""

    def __init__(self, indexes: PageIndexes, clock: Callable[[], float] = time.monotonic) -> None:
        self._indexes, self._clock, self._lock = indexes, clock, Lock()
        self._kept: OrderedDict[tuple[str, int, str], _Shelved] = OrderedDict()

    def sample(self, crawl: Crawl, host: str) -> PageSample:
        """Return the sample of a host. Raise ``ProblemError`` where the crawl has no page of it."""
        return self._shelved(crawl, host).sample

    def sample_around(self, crawl: Crawl, host: str) -> PageSample:
        """Return the sample of a host, one without pages where the crawl has none of it."""
        try:
            return self.sample(crawl, host)
        except ProblemError:
            return self._shelved(crawl, host, may_be_empty=True).sample

    def groups(self, crawl: Crawl, host: str) -> tuple[SiteGroup, ...]:
        """Return the groups of alike addresses of a host. Raise ``ProblemError`` where the crawl has no page of it."""
        return self._shelved(crawl, host).groups

    def forget(self, crawl: Crawl, host: str) -> None:
        """Have the sample of a host drawn anew the next time."""
        with self._lock:
            self._kept.pop((crawl.id, crawl.number, host), None)

    def _shelved(self, crawl: Crawl, host: str, *, may_be_empty: bool = False) -> _Shelved:
        key = crawl.id, crawl.number, host
        with self._lock:
            found = self._kept.get(key)
            if found is not None and self._clock() < found.until:
                self._kept.move_to_end(key)
                return found
        with self._indexes.asked(crawl) as index:
            drawn, is_whole = page_sample(index.folder, index.base, host), index.progress.complete
        if not (drawn.pages or may_be_empty or is_whole):
            raise ProblemError(NOT_READY, "the crawl's pages are still being read into their index; try again soon")
        if not (drawn.pages or may_be_empty):
            raise ProblemError(NO_SITE, f"the crawl has no page of {host[:200]!r} that can be looked at")
        drawn.most_bytes = MOST_BYTES
        shelved = _Shelved(self._clock() + (FRESH_SECONDS if is_whole else _SOON), drawn)
        with self._lock:
            self._kept[key] = shelved
            while len(self._kept) > MOST_SAMPLES:
                _, oldest = self._kept.popitem(last=False)
                oldest.sample.close()
        return shelved
