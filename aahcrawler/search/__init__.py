"""Search: a full-text index of pages and web objects for each folder, and queries over any number of them."""

from aahcrawler.search.query_language import QueryError, moment
from aahcrawler.search.saved_searches import (
    SavedSearch,
    SavedSearchError,
    looked_at,
    news,
    read_saved,
    saved_path,
    write_saved,
)
from aahcrawler.search.search_index import SearchIndex
from aahcrawler.search.searching import (
    Found,
    Hit,
    NotIndexedError,
    OpenFolder,
    Question,
    SearchedFolder,
    folders_in,
    search,
)

__all__ = [
    "Found",
    "Hit",
    "NotIndexedError",
    "OpenFolder",
    "QueryError",
    "Question",
    "SavedSearch",
    "SavedSearchError",
    "SearchIndex",
    "SearchedFolder",
    "folders_in",
    "looked_at",
    "moment",
    "news",
    "read_saved",
    "saved_path",
    "search",
    "write_saved",
]
