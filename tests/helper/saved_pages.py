"""Pages written by hand after the templates of each application, with what is expected of them."""

from functools import cache

from aahcrawler.editor.pages import saved_pages as saved
from aahcrawler.editor.pages.saved_pages import CONTENT_TYPE, NOW, SavedPage, pages_folder, plain
from aahcrawler.page import Headers, Page
from knowledge_base.loader import FOLDER as KNOWLEDGE_BASE

__all__ = ["FOLDER", "NOW", "SavedPage", "html_page", "plain", "saved_pages"]

FOLDER = pages_folder(KNOWLEDGE_BASE)


def html_page(url: str, markup: str | bytes, status: int = 200, *more: tuple[str, str]) -> Page:
    body = markup if isinstance(markup, bytes) else markup.encode()
    return Page(url, status, Headers((CONTENT_TYPE, *more)), body, NOW)


@cache
def saved_pages() -> tuple[SavedPage, ...]:
    """Return all of them, each parsed once a process at most."""
    return saved.saved_pages(FOLDER)
