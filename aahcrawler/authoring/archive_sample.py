"""Choose archived pages evenly over the hosts of a crawl and the groups of alike URLs on each."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Final

from aahcrawler.helper.site_memory.sites import site_of
from knowledge_base.url_rules import ParsedUrl

MOST_LISTED: Final = 500_000
"""URLs of an archive among which pages are chosen; more are left out."""


def chosen(urls: Iterable[str], most: int) -> frozenset[str]:
    """Return at most so many of the URLs, all of them for 0: from each host alike, and from each sort of its URLs.

    >>> sorted(chosen(["http://a.test/t/1", "http://a.test/t/2", "http://a.test/b/1", "http://b.test/"], 3))
    ['http://a.test/b/1', 'http://a.test/t/1', 'http://b.test/']
    """
    if not most:
        return frozenset(urls)
    hosts: dict[str, dict[tuple[str, ...], list[str]]] = defaultdict(lambda: defaultdict(list))
    for url in urls:
        hosts[site_of(url)][_sort(url)].append(url)
    evenly = (_in_turn(_spread(each) for each in sorts.values()) for sorts in hosts.values())
    return frozenset(islice(_in_turn(evenly), most))


def _sort(url: str) -> tuple[str, ...]:
    """Return what URLs of one sort share: the number of segments, the first of them, and the parameters' names."""
    address = ParsedUrl.parse(url)
    first = address.segments[0] if len(address.segments) > 1 else ""
    plain = "#" if any(map(str.isdigit, first)) else first
    ending = address.segments[-1].rpartition(".")[2][:8] if "." in address.segments[-1] else ""
    return (str(len(address.segments)), plain, ending, *sorted(address.parameters))


def _spread(urls: Sequence[str]) -> list[str]:
    """Return URLs in an order of which every beginning is spread over the whole: first, middle, quarters."""
    ordered, found, step = sorted(urls), dict[str, None](), max(1, len(urls))
    while step >= 1:
        found.update(dict.fromkeys(ordered[::step]))
        step //= 2
    return list(found)


def _in_turn(lists: Iterable[Iterable[str]]) -> Iterator[str]:
    """Yield the first of each list, then the second of each, and so on."""
    left = [iter(each) for each in lists]
    while left:
        taken = [(each, url) for each in left for url in islice(each, 1)]
        yield from (url for _, url in taken)
        left = [each for each, _ in taken]
