"""The data of a page that are computed once for all simulated crawls."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from aahcrawler.helper import ApplicationAwareHelper
from aahcrawler.helper.assistance import FailedAction, raised
from aahcrawler.page import Page
from online_analysis.document import Document
from online_analysis.terms import Lexicon

Terms = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Understood:
    """A page as the helper understood it, independent of any topic.

    ``terms`` counts the stems of all of the document's text. ``anchors`` and ``contexts`` are parallel to the
    document's outlinks: the stems of the link's anchor and of the text around it. ``raised`` are the stages of reading
    that failed on it.
    """

    document: Document
    terms: Mapping[str, int]
    anchors: tuple[Terms, ...]
    contexts: tuple[Terms, ...]
    raised: tuple[FailedAction, ...] = ()


def understand(page: Page, helper: ApplicationAwareHelper, lexicon: Lexicon) -> Understood:
    """Read a page as every crawl does, and keep what strategies use."""
    found = helper.assist(page)
    document = found.document
    language = lexicon.language(document.language)
    terms = Counter(language.terms(document.title))
    for text in (*(part.text for part in document.parts), document.rest):
        terms.update(language.terms(text))
    return Understood(
        document=document,
        terms=dict(terms),
        anchors=tuple(tuple(language.terms(link.anchor)) for link in document.outlinks),
        contexts=tuple(tuple(language.terms(link.context)) for link in document.outlinks),
        raised=raised(found),
    )


def summed(vectors: Sequence[Mapping[str, int]]) -> Counter[str]:
    """Return the sum of term vectors."""
    total: Counter[str] = Counter()
    for vector in vectors:
        total.update(vector)
    return total
