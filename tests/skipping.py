"""An event loop whose time is made up: where all that runs in it waits, it is later at once."""

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class _Selector(selectors.DefaultSelector):
    passed = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is not None and timeout > 0:
            self.passed += timeout
            timeout = 0
        return super().select(timeout)


class _Loop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._clock = _Selector()
        super().__init__(self._clock)

    def time(self) -> float:
        return self._clock.passed


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run what waits for nothing but time, as ``asyncio.run`` does; no machine is too slow for its deadlines."""
    with asyncio.Runner(loop_factory=_Loop) as runner:
        return runner.run(work)
