"""Run extraction actions on a page, those of files and learned ones alike, and return their outcomes."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from lxml.html import HtmlElement

from aahcrawler.helper.assistance import Failure
from aahcrawler.helper.extraction.extraction import Extracted, Extraction
from aahcrawler.helper.extraction.field_reader import FieldReader
from aahcrawler.helper.extraction.object_building import Sketch, sketched
from aahcrawler.helper.extraction.page_literals import literals_on
from aahcrawler.helper.extraction.page_location import PageLocation, named_address
from aahcrawler.page import Page
from aahcrawler.webobject import Value
from knowledge_base.model import Application, Extract, PageLevel
from knowledge_base.selectors import SourceLiterals
from knowledge_base.url_rules import ParsedUrl

MIN_TEXT = 1_000_000
"""Characters that may be read for the objects of any page."""


@dataclass(frozen=True, slots=True)
class ExtractionOutcome:
    """The objects of an action, in document order with distinct IRIs, and the reason if some are missing.

    ``learned`` names the learned action that found them, and is empty if the action of the file did. Those found after
    a failure are not ``verified`` where a former crawl knew others, which the page still shows. ``spared`` says that
    repair, or learning from what it found, was left out here, having failed on pages before.
    """

    extracted: tuple[Extracted, ...] = ()
    failure: Failure | None = None
    detail: str = ""
    learned: str = ""
    verified: bool = True
    spared: bool = False


@dataclass(frozen=True)
class Runner:
    """Runs extraction actions of one level on one page."""

    location: PageLocation
    reader: FieldReader = field(repr=False)

    @classmethod
    def at(cls, location: PageLocation) -> "Runner":
        """Run actions on a page whose location is known."""
        return cls(location, FieldReader(location, max(MIN_TEXT, 4 * len(location.page.body))))

    @classmethod
    def of(
        cls,
        page: Page,
        application: Application,
        level: PageLevel,
        literals: SourceLiterals | None = None,
    ) -> "Runner":
        """Run actions on a page of a level. Raises `lxml.etree.XPathError` where its own URL cannot be told."""
        own: ParsedUrl | None = named_address(page, application, level) if level.own else None
        return cls.at(PageLocation.of(page, application, level, literals or literals_on(page), own))

    def again(self) -> "Runner":
        """Return one that may read as much text of the page once more."""
        return Runner.at(self.location)

    def run(self, action: Extract) -> ExtractionOutcome:
        """Run an action. Raises `lxml.etree.XPathError` and ``ValueError`` for expressions that fail on this page."""
        extraction = Extraction(action, self.location, self.reader)
        extracted = tuple(extraction.objects())
        return ExtractionOutcome(extracted, extraction.failure, extraction.detail)

    def make(self, action: Extract, sketches: tuple[Sketch, ...]) -> tuple[Extracted, ...]:
        """Return the objects that an action would have made of values found by other means."""
        return sketched(action, self.location, sketches, self._page_fields)

    def _page_fields(self, action: Extract, item: HtmlElement, *, first: bool) -> Mapping[str, tuple[Value, ...]]:
        found: dict[str, tuple[Value, ...]] = {}
        for wanted in action.fields:
            if wanted.page and wanted.name not in found and (first or not wanted.first_only):
                values = self.reader.read(wanted, item, None).values
                if values:
                    found[wanted.name] = values
        return found
