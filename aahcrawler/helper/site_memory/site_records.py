"""Remember what the records of each site's pages look like, for pages that show only one of them."""

import re
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field

from aahcrawler.helper.site_memory.lessons import Lessons, Memory
from aahcrawler.page.record_shape import RecordShape

LEAST_PAGES = 2
"""The pages that show records of a shape before others are read by it."""
MOST_TITLES = 10_000
MOST_PAGES = 32
"""The pages of each sort that count for a shape; where more are lists than show posts, it is no shape of posts."""
MOST_SHAPES = 8
"""The most shapes that are remembered of one part of a site."""
_SCRIPT = re.compile(r"[\w-]+\.[a-z]{2,5}", re.IGNORECASE)


@dataclass(slots=True)
class _Known:
    """A shape, the pages that showed posts of it, and those on which records of it were entries of a list."""

    shape: RecordShape
    pages: set[str] = field(default_factory=set)
    lists: set[str] = field(default_factory=set)


class SiteRecords:
    """The shapes of records by the part of a site that their pages are in, the least recently seen forgotten first."""

    def __init__(self, most: int, lessons: Lessons | None = None) -> None:
        self._most = most
        self._lessons = lessons or Lessons()
        self._parts: OrderedDict[str, list[_Known]] = OrderedDict()
        self._titles: OrderedDict[str, str] = OrderedDict()

    def of(self, url: str) -> tuple[RecordShape, ...]:
        """Return the shapes that several pages with addresses like a URL have shown, those of most pages first."""
        known = [
            each
            for each in self._parts.get(part_of_site(url), ())
            if len(each.pages) >= LEAST_PAGES and len(each.pages) > len(each.lists)
        ]
        return tuple(each.shape for each in sorted(known, key=lambda each: -len(each.pages)))

    def titled(self, iri: str, title: str) -> str:
        """Note the title that a page gives an object; return the one it has on this or another page, "" if on none.

        A message alone on its page often lacks the title that it has in its thread.
        """
        if title:
            self._lessons.hear(Memory.RECORDS, SiteRecords.titled, iri, title)
            self._titles[iri] = title
            if len(self._titles) > MOST_TITLES:
                self._titles.popitem(last=False)
        return title or self._titles.get(iri, "")

    def learn(self, url: str, shapes: Sequence[RecordShape], listed: Sequence[RecordShape] = ()) -> None:
        """Note the shapes of the posts of a page, and those of its entries that are ``listed`` and stand elsewhere."""
        if not shapes and not listed:
            return
        self._lessons.hear(Memory.RECORDS, SiteRecords.learn, url, tuple(shapes), tuple(listed))
        known = self._parts.setdefault(part_of_site(url), [])
        self._parts.move_to_end(part_of_site(url))
        for shape in shapes:
            _add(known, shape, url, are_posts=True)
        for shape in listed:
            _add(known, shape, url, are_posts=False)
        if len(self._parts) > self._most:
            self._parts.popitem(last=False)


def _add(known: list[_Known], shape: RecordShape, url: str, *, are_posts: bool) -> None:
    for each in known:
        common = each.shape.common(shape)
        if common is not None and common.is_telling:
            each.shape = common if are_posts else each.shape
            shown = each.pages if are_posts else each.lists
            if len(shown) < MOST_PAGES:
                shown.add(url)
            return
    if len(known) < MOST_SHAPES:
        known.append(_Known(shape, {url}, set()) if are_posts else _Known(shape, set(), {url}))


def part_of_site(url: str) -> str:
    """Return the host of a canonical URL with its first directory, or the script that it asks.

    >>> part_of_site("http://a.test/topic/7/knots/?page=2"), part_of_site("http://a.test/viewtopic.php?t=7")
    ('a.test/topic', 'a.test/viewtopic.php')
    >>> part_of_site("http://a.test/knots-and-ropes-7/")
    'a.test/*'
    """
    host, _, rest = url.partition("://")[2].partition("/")
    path = rest.partition("?")[0]
    first, slash, more = path.partition("/")
    is_directory = (slash and more) or _SCRIPT.fullmatch(first)
    return f"{host}/{re.sub(r'[0-9]+', '#', first)}" if is_directory else f"{host}/*"
