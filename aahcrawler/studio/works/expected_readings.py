"""What is read on a page, as what is expected of it."""

from aahcrawler.authoring.own_entries.entry_files import Entry
from aahcrawler.authoring.own_entries.staging import staged
from aahcrawler.authoring.page_capture import kept_headers
from aahcrawler.authoring.saved_pages import Expectation, header_lines, understood
from aahcrawler.helper import ApplicationAwareHelper
from aahcrawler.page import Page
from aahcrawler.studio.works.work import Work
from aahcrawler.studio.works.work_errors import WorkError
from knowledge_base.loader import LoadError
from knowledge_base.model import KnowledgeBase


def reading(page: Page, knowledge_base: KnowledgeBase) -> Expectation:
    """Return what a knowledge base reads on a page, with the header fields that it needs, as what is expected of it.

    Drafts are read as if they were confirmed: what they miss is to be seen.
    """
    found = understood(page, ApplicationAwareHelper(knowledge_base.confirmed).assist(page))
    fetched = page.fetched_at.replace(microsecond=0)
    return found.model_copy(update={"headers": header_lines(kept_headers(page, knowledge_base)), "fetched": fetched})


def read_now(work: Work, page: Page) -> Expectation:
    """Return what the entry of a work, as it is now, reads on a page. Raises `WorkError` where it is not valid."""
    state = work.now()
    try:
        with staged(Entry(work.name, state.text.data), work.folders) as stage:
            return reading(page, stage.knowledge_base)
    except LoadError as error:
        raise WorkError(f"the entry is not valid yet, so nothing is read: {error.problems[0]}") from error
