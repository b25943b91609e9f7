"""The saved pages that show what a level of a file is to find."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from lxml import etree

from aahcrawler.authoring.file_lines import ApplicationFile, FileLines
from aahcrawler.authoring.saved_pages import SavedPage
from knowledge_base.model import Application, KnowledgeBase

READ_OFF = "unproven: read off"
"""The beginning of the citations of what a program read off a page."""


@dataclass(frozen=True)
class LevelPages:
    """Saved pages by the levels that they are expected to be of; inherited levels are those of the file they are in."""

    knowledge_base: KnowledgeBase
    places: FileLines
    pages: tuple[SavedPage, ...]

    @cached_property
    def applications(self) -> dict[str, Application]:
        """The applications by their names."""
        return {application.name: application for application in self.knowledge_base.applications}

    def of_level(self, file: ApplicationFile, level: str) -> tuple[SavedPage, ...]:
        """Return the saved pages of a level that a file writes, those of applications that inherit it included."""
        return self._by_level.get((file.name, level), ())

    def of_application(self, name: str) -> Iterator[SavedPage]:
        """Yield the saved pages of an application, those of no level included."""
        return (page for page in self.pages if page.expected.application == name)

    @cached_property
    def _by_level(self) -> dict[tuple[str, str], tuple[SavedPage, ...]]:
        found: dict[tuple[str, str], tuple[SavedPage, ...]] = {}
        for page in self.pages:
            application, level = page.expected.application, page.expected.level
            written = self.places.level_element(application, level) if application and level else None
            if written is not None and level is not None:
                key = (written[0].name, level)
                found[key] = (*found.get(key, ()), page)
        return found


def is_read_off(cite: str) -> bool:
    """Return whether a program read something off a page, of which one should show it therefore."""
    return cite.strip().lower().startswith(READ_OFF)


def cite_of(element: etree._Element) -> str:
    """Return the citation of an element."""
    return element.get("cite") or ""
