"""Skip expressions of the knowledge base that cannot match a page because a text they need is not on it."""

from aahcrawler.page import Page
from knowledge_base.matching import literals_of
from knowledge_base.selectors import SourceLiterals


def literals_on(page: Page) -> SourceLiterals:
    """Index the texts of one page; JSON can spell its texts in other ways, so that no expression is skipped."""
    return SourceLiterals(None) if page.is_json else literals_of(page)
