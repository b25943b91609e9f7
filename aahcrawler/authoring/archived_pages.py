"""Pages from anywhere: the network, files, and the archive of a crawl."""

from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from aahcrawler import urls
from aahcrawler.archive.history import History
from aahcrawler.authoring.fetching import PAGE_BYTES, fetch_page
from aahcrawler.authoring.page_source import Source, SourceError
from aahcrawler.captures import ArchivedCaptures
from aahcrawler.layout import ARCHIVE, INDEXES, WARC
from aahcrawler.page import Page
from aahcrawler.segments import OPEN
from aahcrawler.wire.replay import replayed

ENDINGS = (f".{WARC}", f".{WARC}{OPEN}", ".warc")


def named_page(
    named: str, url: str, contact: str, *, allow_private: bool, redirected: Callable[[str, str], None]
) -> Page:
    """Return the page at a URL, of a file, or of a WARC file, the latter two found under ``url``.

    Raises `SourceError`, `FetchError`, `SavedPageError` and `SegmentError`.
    """
    if named.endswith(ENDINGS) and Path(named).is_file():
        return archived_page(Path(named), url)
    fetch = partial(fetch_page, contact=contact, allow_private=allow_private, redirected=redirected)
    return Source(fetch, datetime.now(UTC)).page(named, url)


def archived_page(file: Path, url: str) -> Page:
    """Return the last capture of a URL in a WARC file of a crawl. Raises `SourceError`, `SegmentError`."""
    wanted = urls.canonicalize(url)
    if wanted is None:
        raise SourceError(f"say which page of {file}: --url http://...")
    name = file.name.removesuffix(OPEN)
    with ArchivedCaptures(file.parent) as source:
        captures = [each for each in source.of_url(wanted) if each.shows_target and each.place.file == name]
        if not captures:
            raise SourceError(f"{file} holds no capture of {wanted}")
        if captures[-1].page is None:
            raise SourceError(f"the capture of {wanted} has no readable head")
        return captures[-1].page


def kept_page(crawl: Path, url: str) -> Page | None:
    """Return the newest capture of a URL in the archive of a crawl, None if there is no readable one."""
    with History(crawl / ARCHIVE, crawl / INDEXES) as history:
        former = history.former(url)
        exchange = history.exchange(former) if former is not None else None
    if exchange is None:
        return None
    with closing(exchange):
        page = replayed(exchange, PAGE_BYTES)
    if page is None:
        raise SourceError(f"the capture of {exchange.url} has no readable head")
    return page
