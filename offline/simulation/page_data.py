"""The stored data of a page that was read once for all simulated crawls."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from aahcrawler.helper import ApplicationAwareHelper, Assistance
from aahcrawler.metadata import Metadata
from aahcrawler.page import Headers, Page
from knowledge_base.model import KnowledgeBase, Match
from online_analysis.document import Document
from online_analysis.terms import Lexicon

Terms = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Understood:
    """A page as the helper understood it, independent of any topic.

    ``application`` and ``level`` are names, empty where there is none. ``terms`` counts the stems of all of the
    document's text. ``anchors`` and ``contexts`` run parallel to the document's outlinks: the stems of the link's
    anchor and of the text around it.
    """

    document: Document
    application: str
    level: str
    terms: Mapping[str, int]
    anchors: tuple[Terms, ...]
    contexts: tuple[Terms, ...]


def understand(page: Page, helper: ApplicationAwareHelper, lexicon: Lexicon) -> Understood:
    """Read a page as every crawl does, and keep the data that strategies of all kinds use."""
    assistance = helper.assist(page)
    document, match = assistance.document, assistance.match
    language = lexicon.language(document.language)
    terms = Counter(language.terms(document.title))
    for part in document.parts:
        terms.update(language.terms(part.text))
    return Understood(
        document=document,
        application=match.application.name if match else "",
        level=match.level.name if match and match.level else "",
        terms=dict(terms),
        anchors=tuple(tuple(language.terms(link.anchor)) for link in document.outlinks),
        contexts=tuple(tuple(language.terms(link.context)) for link in document.outlinks),
    )


class RecallingHelper(ApplicationAwareHelper):
    """A helper that has assisted every page before, so that ``flow.process`` need not read one again."""

    def __init__(self, knowledge_base: KnowledgeBase) -> None:
        super().__init__(knowledge_base)
        self._matches = {
            (application.name, level.name if level else ""): Match(application, level)
            for application in knowledge_base.applications
            for level in (None, *application.levels)
        }
        self._recalled: Assistance | None = None

    def recall(self, understood: Understood) -> Page:
        """Store the result for the next page to assist, and return a stand-in for it with a URL and no content."""
        match = self._matches.get((understood.application, understood.level))
        self._recalled = Assistance(match, understood.document)
        return Page(understood.document.url, 200, Headers(), b"", datetime.fromtimestamp(0, UTC))

    def assist(self, page: Page, former: Metadata | None = None) -> Assistance:
        """Return the stored result for the page that was recalled last. Raise KeyError for others."""
        del former
        if self._recalled is None or self._recalled.document.url != page.url:
            raise KeyError(page.url)
        return self._recalled


def summed(vectors: Sequence[Mapping[str, int]]) -> Counter[str]:
    """Return the sum of term vectors."""
    total: Counter[str] = Counter()
    for vector in vectors:
        total.update(vector)
    return total
