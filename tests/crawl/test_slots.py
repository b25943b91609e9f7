"""How crawls of one process share what it may fetch at once."""

from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from aahcrawler.crawl.lease.lease_source import Slots


@dataclass
class Crawl:
    ready: int
    """How much it could fetch."""
    taken: int = 0
    is_hungry: bool = True
    woken: int = 0

    def wake(self) -> None:
        self.woken += 1

    def ask(self, slots: Slots) -> None:
        available = slots.available(self, 100)
        got = min(available, self.ready - self.taken)
        self.taken += got
        self.is_hungry = got == available


def test_what_one_cannot_use_is_there_for_the_other() -> None:
    slots, busy, idle = Slots(64), Crawl(1000), Crawl(2)
    for each in (busy, idle):
        slots.join(each)
    for each in (busy, idle, busy):
        each.ask(slots)
    assert (busy.taken, idle.taken) == (62, 2)


def test_who_comes_later_has_its_share_as_slots_come_free() -> None:
    slots, first, second = Slots(64), Crawl(1000), Crawl(1000)
    slots.join(first)
    first.ask(slots)
    assert first.taken == 64
    slots.join(second)
    second.ask(slots)
    assert second.taken == 0
    for _ in range(40):
        first.taken -= 1
        slots.freed()
        first.ask(slots)
        second.ask(slots)
    assert (first.taken, second.taken) == (32, 32)
    assert second.woken == 40


def test_who_leaves_leaves_its_share() -> None:
    slots, first, second = Slots(10), Crawl(1000), Crawl(1000)
    for each in (first, second):
        slots.join(each)
        each.ask(slots)
    second.taken = 0
    slots.leave(second)
    assert first.woken == 1
    first.ask(slots)
    assert first.taken == 10


@given(st.integers(1, 70), st.lists(st.integers(0, 100), min_size=1, max_size=8), st.randoms(use_true_random=False))
def test_the_bound_holds_and_nobody_starves(most: int, ready: list[int], chance) -> None:  # type: ignore[no-untyped-def]
    slots, crawls = Slots(most), [Crawl(each) for each in ready]
    for crawl in crawls:
        slots.join(crawl)
    for _ in range(200):
        crawl = chance.choice(crawls)
        crawl.ask(slots)
        assert sum(each.taken for each in crawls) <= most
        ended = chance.choice(crawls)
        ended.taken -= min(ended.taken, chance.randint(0, 3))
    for _ in range(3):
        for crawl in crawls:
            crawl.ask(slots)
    assert sum(each.taken for each in crawls) == min(most, sum(ready))
