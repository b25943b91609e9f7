"""The groups of similar URLs of a host, from which levels are chosen: what their pages hold, and where they lead."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Final

from aahcrawler.editor.drafting.address_groups import Shape
from aahcrawler.editor.rules.page_sample import CapturedPage, PageSample, SampledPage, SampleGroup, page_links
from aahcrawler.page.titles import head_title

EXAMPLES: Final = 3
"""The number of pages of a group whose titles and links are examined."""
MAX_GROUPS: Final = 60
"""The most groups whose pages are examined, the largest ones."""
MIN_ENTRIES: Final = 3
"""The fewest links to content pages that make a page a list of them, not counting links that most pages of the site
have.
"""
MIN_LISTS: Final = 2
"""The same for links to lists."""
_TITLE: Final = 120
MIN_FRAMED: Final = 3
"""The fewest groups from which the site's frame, the links that most pages have, is derived."""


class Suggested(StrEnum):
    """The probable purpose of a group of pages."""

    CONTENT = "content"
    LIST = "list"
    NEITHER = "neither"


@dataclass(frozen=True, slots=True)
class ExamplePage:
    """A page of a group; ``title`` is empty if it has none. ``found`` says what was read on it: ``3 posts``."""

    record: str
    url: str
    title: str
    found: str


@dataclass(frozen=True, slots=True)
class SiteGroup:
    """A group of similar URLs. ``number`` is its number in the sample.

    ``captured`` is the number of its pages. ``found`` counts the objects on its pages in the sample by type, ``read``
    the pages that were read for it. ``reason`` says in words why the role is suggested.
    """

    number: int
    shape: Shape
    captured: int
    examples: tuple[ExamplePage, ...]
    found: tuple[tuple[str, int], ...]
    read: int
    role: Suggested
    reason: str


def site_groups(sample: PageSample) -> tuple[SiteGroup, ...]:
    """Return the groups of a sample, in its order; pages are only examined in the 60 largest groups."""
    groups = [_Group(number, group, sample) for number, group in enumerate(sample.groups)]
    for group in groups[:MAX_GROUPS]:
        group.look()
    shared = _shared(groups)
    content = frozenset(group.number for group in groups if group.holds_content)
    places = _Places(groups)
    lists = frozenset(
        group.number for group in groups if group.number not in content and _leads(group, content, shared, places)
    )
    return tuple(_shown(group, content, lists, shared, places) for group in groups)


class _Group:
    """One group and what was found on its pages."""

    def __init__(self, number: int, group: SampleGroup, sample: PageSample) -> None:
        self.number = number
        self.group = group
        self.pages: list[SampledPage] = []
        self.links: list[Counter[str]] = []
        self.types: Counter[str] = Counter()
        self.with_objects = 0
        self._sample = sample

    def look(self) -> None:
        """Examine some pages of the group."""
        drawn = self.group.drawn
        step = max(1, len(drawn) // EXAMPLES)
        for captured in drawn[::step][:EXAMPLES]:
            page = self._sample.sampled(captured)
            if page is not None:
                self.pages.append(page)
                self.links.append(links_of(page))
        for captured in drawn:
            self._count(captured)

    def _count(self, captured: CapturedPage) -> None:
        reading = self._sample.reading(captured)
        self.with_objects += bool(reading.objects)
        self.types.update(each.type for each in reading.objects)

    @cached_property
    def holds_content(self) -> bool:
        """Whether most of the pages have objects, or the crawl recognised them as content pages."""
        roles = Counter(page.role for page in self.group.drawn if page.role)
        if roles:
            return roles.most_common(1)[0][0] == "terminal"
        return 2 * self.with_objects > len(self.group.drawn) > 0

    @cached_property
    def level(self) -> str:
        """The application and level that the crawl recognised most pages as; empty if it recognised none."""
        named = Counter((page.level, page.application) for page in self.group.drawn if page.level)
        if not named:
            return ""
        level, application = named.most_common(1)[0][0]
        return f"level {level} of {application}"


class _Places:
    """Finds the group of any URL of the site."""

    def __init__(self, groups: Sequence[_Group]) -> None:
        self._known = {url: group.number for group in groups for url in group.group.addresses.urls}

    def counts(self, urls: Iterable[str]) -> Counter[int]:
        """Count the URLs in each group."""
        return Counter(number for url in urls if (number := self._known.get(url)) is not None)


def links_of(page: SampledPage) -> Counter[str]:
    """Return the URLs that a page links to, with the number of links to each."""
    return Counter(url for _, url in page_links(page.page) if url)


def _shared(groups: Sequence[_Group]) -> Counter[str]:
    """Return the URLs that most pages of most groups link to, with the usual numbers of links: the site's frame."""
    looked_at = [group for group in groups if group.links]
    if len(looked_at) < MIN_FRAMED:
        return Counter()
    told = [_usual(group.links) for group in looked_at]
    return _usual(told)


def _usual(counts: Sequence[Counter[str]]) -> Counter[str]:
    """Return for each URL the number of links that more than half of the pages have at least; others are left out."""
    every = {url for count in counts for url in count}
    middle = (len(counts) - 1) // 2
    usual = {url: sorted(count[url] for count in counts)[middle] for url in every}
    return Counter({url: often for url, often in usual.items() if often})


def _leads(
    group: _Group, targets: frozenset[int], shared: Counter[str], places: _Places, least: int = MIN_ENTRIES
) -> Counter[int]:
    """Count the links of a group's pages to ``targets``, by group; of its pages, the one with the most counts.

    Empty if no page has at least ``least``. Links to the group itself and to the site's frame do not count.
    """
    best: Counter[int] = Counter()
    for links in group.links:
        counts = places.counts(links - shared)
        told = Counter({number: count for number, count in counts.items() if number in targets - {group.number}})
        if told.total() > best.total():
            best = told
    return best if best.total() >= least else Counter()


def _shown(
    group: _Group, content: frozenset[int], lists: frozenset[int], shared: Counter[str], places: _Places
) -> SiteGroup:
    role, reason = _judged(group, content, lists, shared, places)
    addresses = group.group.addresses
    return SiteGroup(
        group.number,
        addresses.shape,
        len(group.group.captured),
        tuple(map(_example, group.pages)),
        tuple(group.types.most_common()),
        len(group.group.drawn),
        role,
        reason,
    )


def _judged(
    group: _Group, content: frozenset[int], lists: frozenset[int], shared: Counter[str], places: _Places
) -> tuple[Suggested, str]:
    read = len(group.group.drawn)
    if not read:
        return Suggested.NEITHER, "no page of it was captured"
    known = f"; the crawl took them for {group.level}" if group.level else ""
    if group.holds_content:
        kinds = " and ".join(plural(kind) for kind, _ in group.types.most_common(2)) or "nothing"
        return Suggested.CONTENT, f"{kinds} on {group.with_objects} of {read} pages{known}"
    to_content = _leads(group, content, shared, places)
    if to_content:
        return Suggested.LIST, f"it leads to {to_content.total()} pages that hold something{known}"
    to_lists = _leads(group, lists, shared, places, MIN_LISTS)
    if to_lists:
        return Suggested.LIST, f"it leads to {to_lists.total()} lists{known}"
    if any(page.role == "intermediate" for page in group.group.drawn):
        return Suggested.LIST, f"the crawl took them for {group.level or 'lists'}"
    if group.with_objects:
        return Suggested.NEITHER, f"something was read on {group.with_objects} of {read} pages only"
    return Suggested.NEITHER, "nothing was read on them, and they hardly lead to pages that hold something"


def _example(page: SampledPage) -> ExamplePage:
    found = Counter(each.type for each in page.reading.objects)
    words = ", ".join(f"{count} {kind if count == 1 else plural(kind)}" for kind, count in found.most_common(3))
    return ExamplePage(page.captured.record, page.captured.url, head_title(page.page)[:_TITLE], words)


def plural(kind: str) -> str:
    """Return the name of several objects of a type.

    >>> plural("reply"), plural("post"), plural("essay")
    ('replies', 'posts', 'essays')
    """
    return f"{kind[:-1]}ies" if kind.endswith("y") and kind[-2:-1] not in "aeiou" else f"{kind}s"
