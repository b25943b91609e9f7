"""Looks a URL up in the sources of a definition, the preferred one first."""

import logging
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field

from aahcrawler.exchange import Exchange
from aahcrawler.sources.source import Source, SourceError

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class Resolution:
    """The looking up of one URL: ``troubles`` counts what went wrong, by ``archive: reason``.

    ``may_pass`` says whether a source that could not be asked may be asked later, and ``seconds`` for how long one asks
    to be left in peace until then, 0 where none does.
    """

    troubles: Counter[str] = field(default_factory=Counter)
    may_pass: bool = False
    seconds: float = 0.0

    def note(self, url: str, error: SourceError) -> None:
        """Note that a source could not say what it has of a URL."""
        logger.warning("%s: not looked up: %s", url, error)
        self.troubles[f"{error.archive}: {error.reason}"] += 1
        self.may_pass = self.may_pass or error.may_pass
        self.seconds = max(self.seconds, error.seconds)


async def captures(url: str, sources: Sequence[Source], most: int, resolution: Resolution) -> AsyncIterator[Exchange]:
    """Yield the captures of a URL from the first source that has any; what goes wrong elsewhere is noted.

    Whoever takes one closes it.
    """
    for source in sources:
        has_any = False
        try:
            async for exchange in source.captures(url, most):
                has_any = True
                yield exchange
        except SourceError as error:
            resolution.note(url, error)
        if has_any:
            return
