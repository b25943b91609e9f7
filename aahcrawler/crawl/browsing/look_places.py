"""Places for looks at pages: several at once share a browser, and a look that others may have cost has it alone."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass


@dataclass(slots=True, eq=False)
class Place:
    """The place of one look; ``is_shared``: another look was under way for some of its time."""

    is_shared: bool = False


class LookPlaces:
    """At most ``most`` looks at once, or one that is alone; who waits to be alone goes before others."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._taken: list[Place] = []
        self._lonely = 0
        """Looks that are alone, or wait to be."""
        self._changed = asyncio.Condition()

    @asynccontextmanager
    async def beside_others(self) -> AsyncIterator[Place]:
        """Lend a place beside others."""
        async with self._changed:
            await self._changed.wait_for(lambda: not self._lonely and len(self._taken) < self._most)
            place = Place(bool(self._taken))
            for other in self._taken:
                other.is_shared = True
            self._taken.append(place)
        try:
            yield place
        finally:
            self._taken.remove(place)
            await self._tell()

    @asynccontextmanager
    async def alone(self) -> AsyncIterator[Place]:
        """Lend the only place, once all others have been left."""
        place = Place()
        self._lonely += 1
        try:
            async with self._changed:
                await self._changed.wait_for(lambda: not self._taken)
                self._taken.append(place)
            try:
                yield place
            finally:
                self._taken.remove(place)
        finally:
            self._lonely -= 1
            await self._tell()

    async def _tell(self) -> None:
        async with self._changed:
            self._changed.notify_all()
