"""Remember which lines the articles of a site have in common: no article's own, but notes of the template around it."""

from collections import OrderedDict
from collections.abc import Sequence
from hashlib import blake2b

from aahcrawler.helper.site_memory.lessons import Lessons, Memory

LEAST_PAGES = 3
"""Pages that have shown a line before it counts as repeated on the next ones."""
MOST_SITES = 500
MOST_LINES = 400
"""The lines that are remembered of one site; those that were not shown for longest are forgotten first."""


class SiteLines:
    """The lines of articles by site, as numbers, with the first pages that showed them; a page counts once.

    The least recently seen site is forgotten first. What is remembered depends on the pages alone, in their order.
    """

    def __init__(self, lessons: Lessons | None = None) -> None:
        self._lessons = lessons or Lessons()
        self._sites: OrderedDict[str, OrderedDict[int, tuple[int, ...]]] = OrderedDict()

    def repeated(self, site: str, url: str) -> frozenset[int]:
        """Return the lines that several pages of a site have shown, for the reading of the page at a URL.

        The first pages that showed a line keep it: when they are read again, nothing of them has changed.
        """
        known = self._sites.get(site)
        if known is None:
            return frozenset()
        page = _digest(url)
        return frozenset(line for line, pages in known.items() if len(pages) >= LEAST_PAGES and page not in pages)

    def learn(self, site: str, url: str, lines: Sequence[int]) -> None:
        """Note the lines of the article at a URL of a site."""
        if not lines:
            return
        self._lessons.hear(Memory.LINES, SiteLines.learn, site, url, tuple(lines))
        known = self._sites.setdefault(site, OrderedDict())
        self._sites.move_to_end(site)
        page = _digest(url)
        for line in lines:
            pages = known.get(line, ())
            known[line] = pages if page in pages or len(pages) >= LEAST_PAGES else (*pages, page)
            known.move_to_end(line)
        while len(known) > MOST_LINES:
            known.popitem(last=False)
        if len(self._sites) > MOST_SITES:
            self._sites.popitem(last=False)


def _digest(url: str) -> int:
    return int.from_bytes(blake2b(url.encode("utf-8", "replace"), digest_size=8).digest())
