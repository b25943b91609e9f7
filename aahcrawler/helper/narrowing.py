"""Which expressions of the knowledge base need not be tried on a page, because a text they need is not there."""

from aahcrawler.page import Page
from knowledge_base.matching import literals_of
from knowledge_base.selectors import SourceLiterals


def literals_on(page: Page) -> SourceLiterals:
    """Prepare to tell it of one page; JSON can be written in ways that hide its texts, so that nothing is left out."""
    return SourceLiterals(None) if page.is_json else literals_of(page)
