"""A crawl of the registry as a worker sees it: its definition, which may change, and what is known of its topic."""

from dataclasses import dataclass
from pathlib import Path

from aahcrawler.definition_bundle import unpacked
from aahcrawler.frontier.protocol import FrontierUnavailableError
from aahcrawler.frontier.registry import Registry, RegistryError, UnknownCrawlError
from online_analysis.icd import Icd, IcdError, Mistake


class RegisteredDefinition:
    """The definition of a registered crawl, which writes to ``output``. See ``DefinitionSource``."""

    def __init__(self, registry: Registry, crawl: str, output: Path) -> None:
        self._registry = registry
        self._crawl = crawl
        self._output = output
        self._version = 0

    def load(self) -> Icd:
        """Return the newest version."""
        try:
            self._version, definition = self._registry.definition(self._crawl)
        except (UnknownCrawlError, RegistryError) as error:
            advice = "submit it again: aah submit"
            raise IcdError([Mistake(self._crawl, 1, "", str(error).partition(";")[0], advice)]) from error
        return unpacked(definition, self._output)

    def newer(self) -> Icd | None:
        """Return the definition where there is a newer version; None as well while the server cannot be asked."""
        try:
            known = {each.id: each.version for each in self._registry.crawls()}
            return self.load() if known.get(self._crawl, 0) > self._version else None
        except (FrontierUnavailableError, RegistryError):
            return None


@dataclass(frozen=True, slots=True)
class RegisteredTopic:
    """The topic of a crawl in the registry. See ``SharedTopic``."""

    registry: Registry
    crawl: str
    number: int

    def read(self) -> str | None:
        """Return what another worker has shared."""
        return self.registry.topic(self.crawl, self.number)

    def keep(self, text: str) -> None:
        """Share it with the others."""
        self.registry.keep_topic(self.crawl, self.number, text)
