"""Pages that were blocked for what pages like them had brought are queued again once that has changed."""

import asyncio
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from aahcrawler.crawl.reload.config_reload import ScopeUpdate
from aahcrawler.frontier.protocol import Offer, State
from aahcrawler.traps.patterns import Trap


class Blocked:
    """A frontier's blocked URLs by their reasons, and those that were put back."""

    def __init__(self, reasons: dict[str, str]) -> None:
        self.reasons = reasons
        self.back: list[str] = []

    def scan(self, states: Collection[State]) -> Iterator[SimpleNamespace]:
        assert set(states) == {State.BLOCKED}
        for url, reason in self.reasons.items():
            yield SimpleNamespace(offer=Offer(url, "a.test", 0.5), reason=reason)

    def unblock_urls(self, urls: Sequence[str]) -> tuple[bool, ...]:
        self.back += urls
        return tuple(True for _ in urls)


class Writer:
    """Calls what it is given."""

    def __init__(self, folder: Path) -> None:
        self.stores = SimpleNamespace(folder=SimpleNamespace(refused=folder, run=SimpleNamespace(number=1)))

    async def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        return function(*arguments)


def test_pages_blocked_when_they_were_leased_are_queued_again(tmp_path: Path) -> None:
    control = Blocked(
        {
            "http://a.test/doc/1": Trap.BARREN,
            "http://a.test/doc/2": Trap.NOVELTY,
            "http://a.test/log/3": Trap.REPEATED,
            "http://a.test/doc/4": "domain budget",
        }
    )
    traps = SimpleNamespace(reopened=True)
    rules = SimpleNamespace(trap=lambda offer: Trap.REPEATED if "/log/" in offer.url else None)
    context = SimpleNamespace(now=SimpleNamespace(traps=traps, link_rules=rules))
    update = ScopeUpdate(*cast("tuple[Any, ...]", (context, Writer(tmp_path), None, control)))
    assert asyncio.run(update.readmit())
    assert control.back == ["http://a.test/doc/1", "http://a.test/doc/2"]
    assert not asyncio.run(update.readmit())
