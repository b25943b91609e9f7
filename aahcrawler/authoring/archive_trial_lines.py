"""Say in lines what a knowledge base would change on archived pages, the summary and the most important first."""

import heapq
from collections.abc import Iterable, Iterator

from aahcrawler.authoring.archive_trial import Summary
from aahcrawler.authoring.page_readings import FieldChanged, ObjectChanged, PageChanged, Recognised
from aahcrawler.authoring.printable_text import printable

MOST_PAGES = 20
MOST_OBJECTS = 3
MOST_URLS = 3
_LONGEST = 90


class HeaviestPages:
    """Keeps the pages on which most would change, and forgets the others."""

    def __init__(self, most: int = MOST_PAGES) -> None:
        self._most = most
        self._heap: list[tuple[float, int, PageChanged]] = []
        self._number = 0

    def add(self, page: PageChanged) -> None:
        """Take in a page."""
        self._number += 1
        heapq.heappush(self._heap, (page.weight, -self._number, page))
        if len(self._heap) > self._most:
            heapq.heappop(self._heap)

    def pages(self) -> tuple[PageChanged, ...]:
        """Return those that are kept, that with most changes first."""
        return tuple(page for *_, page in sorted(self._heap, reverse=True))


def summary_lines(summary: Summary) -> Iterator[str]:
    """Yield lines on what would change in all."""
    of = f" of {summary.archived:,}" if summary.pages < summary.archived else ""
    yield f"{summary.pages:,}{of} archived pages, compared with {summary.against}"
    if not summary.differing and not summary.unreadable:
        yield "nothing would change"
    else:
        yield f"pages: {summary.differing:,} would change, {_same(summary):,} would not"
        yield f"objects: {summary.lost:,} lost, {summary.gained:,} gained, {summary.changed:,} read differently"
        if summary.fields:
            named = (f"{number:,} {name}" for name, number in summary.fields.items())
            yield f"fields read differently: {', '.join(named)}"
        yield f"links: {summary.links_left:,} not followed any more, {summary.links_followed:,} followed newly"
        yield from (
            f"{move.pages:,} pages: {_or_none(move.before)} -> {_or_none(move.after)}" for move in summary.moves
        )
    if summary.unreadable:
        yield f"{summary.unreadable:,} pages cannot be read"
    if summary.skipped:
        yield f"{summary.skipped:,} pages are not compared: no HTML or JSON, or nothing was recorded of them"


def page_lines(pages: Iterable[PageChanged]) -> Iterator[str]:
    """Yield lines on pages that would change, some of each; what terminals obey is left out."""
    return (printable(line) for line in _page_lines(pages))


def _page_lines(pages: Iterable[PageChanged]) -> Iterator[str]:
    for page in pages:
        yield page.url
        if page.problem:
            yield f"  cannot be read: {page.problem}"
        if _place(page.before) != _place(page.after):
            yield f"  {_or_none(_place(page.before))} -> {_or_none(_place(page.after))}"
        for each in page.objects[:MOST_OBJECTS]:
            yield from _object_lines(each)
        more = page.lost + page.gained + page.changed - len(page.objects[:MOST_OBJECTS])
        if more:
            yield f"  and {more:,} more objects"
        reasons = {each.url: each.reason for each in page.refused}
        left = (f"{url} ({reasons[url]})" if url in reasons else url for url in page.left)
        yield from _urls("not followed any more", left, page.links_left)
        yield from _urls("followed newly", page.followed, page.links_followed)


def _object_lines(changed: ObjectChanged) -> Iterator[str]:
    title = f": {_short(changed.title)}" if changed.title else ""
    yield f"  {changed.change} {changed.type} {changed.iri}{title}"
    yield from (f"    {_field(each)}" for each in changed.fields)


def _field(each: FieldChanged) -> str:
    return f"{each.name}: {_quoted(each.before)} -> {_quoted(each.after)}"


def _urls(what: str, urls: Iterable[str], number: int) -> Iterator[str]:
    if number:
        shown = [url for url, _ in zip(urls, range(MOST_URLS), strict=False)]
        more = f" and {number - len(shown):,} more" if number > len(shown) else ""
        yield f"  {what}: {', '.join(shown)}{more}"


def _same(summary: Summary) -> int:
    return summary.pages - summary.differing - summary.unreadable - summary.skipped


def _place(recognised: Recognised) -> str:
    return "/".join(filter(None, (recognised.application, recognised.level)))


def _or_none(place: str) -> str:
    return place or "no known application"


def _quoted(value: str | None) -> str:
    return "nothing" if value is None else f'"{_short(value)}"'


def _short(text: str) -> str:
    line = printable(text)
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}..."
