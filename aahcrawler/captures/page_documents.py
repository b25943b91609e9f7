"""Reads pages of captures as analysers see them, with the knowledge base of today."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path

from aahcrawler.documents import DocumentReader, is_document
from aahcrawler.helper import ApplicationAwareHelper
from aahcrawler.helper.site_memory.sites import Sites
from aahcrawler.page import Page
from knowledge_base.loader import load
from online_analysis.document import Document


class PageDocuments:
    """Makes documents of pages with the knowledge base in some folders, which is loaded for the first of them.

    Each page is read by itself, as if it were the first of its site: it does not matter which were read before. What
    a crawl has learned of sites is not known.
    """

    def __init__(self, folders: Sequence[Path]) -> None:
        self._folders = folders
        self._sites = Sites()
        self._files = DocumentReader()

    def document(self, page: Page) -> Document:
        """Return a page, or a PDF file and the like, as a document. Raises ``LoadError``."""
        self._sites.forget()
        if is_document(page):
            page = replace(page, transcript=self._files.read(page.body))
        return self._helper.assist(page).document

    @cached_property
    def _helper(self) -> ApplicationAwareHelper:
        return ApplicationAwareHelper(load(*self._folders), self._sites).comparing_drafts()

    def close(self) -> None:
        """End the process that reads files."""
        self._files.close()
