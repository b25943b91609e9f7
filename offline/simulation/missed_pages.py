"""Finds why a strategy missed relevant pages that the oracle fetched for the same sample."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from statistics import median
from typing import Protocol, runtime_checkable

from aahcrawler.urls import resolve
from offline.simulation.visits import Visits
from offline.simulation.world import World

_REMEMBERED = 20_000
_LINKS = 5_000
"""The links of a page that are looked at."""


class Cause(StrEnum):
    """Why a page was missed."""

    UNLINKED = "unlinked"
    """No page that was fetched has a link to it."""
    REFUSED = "refused"
    """Pages that were fetched have links to it, and none of these was followed."""
    UNDERSCORED = "underscored"
    """It was queued, and its document is worth no more to the analysers than half of what was fetched in vain."""
    OUTRANKED = "outranked"
    """It was queued, its document is worth more than that, and others came before it."""


@runtime_checkable
class Ordered(Protocol):
    """A strategy that can say what it would fetch next."""

    def queued(self) -> Sequence[int]:
        """Return the pages that wait, the best first."""
        ...


@dataclass(frozen=True, slots=True)
class Missed:
    """The pages that one strategy missed for a sample, by cause; ``found`` are those of the oracle's that it fetched.

    ``ranks`` are the places, counted from 1, that queued ones of them had at the end, where the strategy tells.
    """

    sample: str
    strategy: str
    found: int
    causes: tuple[tuple[int, Cause], ...]
    ranks: tuple[int, ...]

    def count(self, cause: Cause) -> int:
        """Return the number of pages missed for a cause."""
        return sum(each is cause for _, each in self.causes)


class Missing:
    """Looks for causes in what the pages of a sample's crawls link to. ``is_relevant`` is the judge's word."""

    def __init__(self, world: World, visits: Visits, is_relevant: Callable[[int], bool]) -> None:
        self._visits = visits
        self._is_relevant = is_relevant
        self._marked_up = lru_cache(_REMEMBERED)(lambda number: frozenset(linked_in_markup(world, number)))

    def causes(self, order: Sequence[int], wanted: Iterable[int], queued: Sequence[int]) -> Iterator[tuple[int, Cause]]:
        """Yield each page of ``wanted`` that an order lacks, with the cause."""
        fetched = frozenset(order)
        offered = {target for number in order for target in self._visits.visit(number).targets}.union(queued)
        vain = [self._visits.visit(number).score for number in order if not self._is_relevant(number)]
        bar = median(vain) if vain else 0.0
        missed = [number for number in wanted if number not in fetched]
        there = {n for number in order for n in self._marked_up(number)} if set(missed) - offered else frozenset()
        for number in missed:
            if number in offered:
                yield number, Cause.OUTRANKED if self._visits.visit(number).score > bar else Cause.UNDERSCORED
            else:
                yield number, Cause.REFUSED if number in there else Cause.UNLINKED

    def missed(self, sample: str, strategy: str, order: Sequence[int], oracle: Sequence[int], made: object) -> Missed:
        """Return what a strategy, ``made`` after its crawl, missed of the relevant pages that the oracle fetched."""
        wanted = [number for number in oracle if self._is_relevant(number)]
        queued = made.queued() if isinstance(made, Ordered) else ()
        places = {number: place for place, number in enumerate(queued, 1)}
        causes = tuple(self.causes(order, wanted, queued))
        ranks = tuple(places[number] for number, _ in causes if number in places)
        return Missed(sample, strategy, len(wanted) - len(causes), causes, ranks)


def linked_in_markup(world: World, number: int) -> Iterator[int]:
    """Yield the pages of the world to which a page's markup links, whatever a crawl makes of these links."""
    page = world.page(number)
    base = page.base_url
    for href in page.tree.xpath("//a/@href | //area/@href")[:_LINKS]:
        target = resolve(base, str(href))
        found = None if target is None else world.number(target)
        if found is not None:
            yield found
