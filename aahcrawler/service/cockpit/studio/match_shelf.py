"""What entries match on the pages that were looked at last, so that each click on a page does not find it anew."""

from collections import OrderedDict
from collections.abc import Callable
from threading import Lock
from typing import Final

from aahcrawler.studio.page_sample import SampledPage
from aahcrawler.studio.part_matches import PageMatches

MOST_PAGES: Final = 6
_Key = tuple[tuple[str, str], str]
"""The key of a page, and the digest of the text of an entry."""


class MatchShelf:
    """Keeps the matches of a few pages. Several threads may use it at once; one of them finds matches at a time."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._kept: OrderedDict[_Key, tuple[SampledPage, PageMatches]] = OrderedDict()

    def of(self, page: SampledPage, text: str, found: Callable[[], PageMatches]) -> PageMatches:
        """Return the matches of an entry, whose text has the digest ``text``; ``found`` finds them where needed."""
        key = page.captured.key, text
        with self._lock:
            kept = self._kept.get(key)
            if kept is None or kept[0] is not page:  # Matches are elements of one tree.
                kept = page, found()
                self._kept[key] = kept
            self._kept.move_to_end(key)
            if len(self._kept) > MOST_PAGES:
                self._kept.popitem(last=False)
            return kept[1]

    def clear(self) -> None:
        """Let go of all."""
        with self._lock:
            self._kept.clear()
