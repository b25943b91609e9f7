"""Pages that a person names: a URL, a file of the browser, a saved page."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from aahcrawler import urls
from aahcrawler.authoring.fetching import fetch_page
from aahcrawler.authoring.saved_pages import read_page
from aahcrawler.page import Headers, Page

_ADDRESS = re.compile(r"https?://", re.IGNORECASE)
_SAVED_FROM = re.compile(r"saved from url=\(\d+\)(\S+)", re.IGNORECASE)
_FILE_START = 4_096


class SourceError(Exception):
    """No page is available under the given name; the message says what to name instead."""


@dataclass(frozen=True, slots=True)
class Source:
    """The source of pages: ``fetch`` uses the network, ``now`` is the fetch time of files."""

    fetch: Callable[[str], Page]
    now: datetime

    def page(self, named: str, url: str = "") -> Page:
        """Return the page at a URL, or of a file that was found under ``url``.

        A file with an expectation beside it needs no URL. Raises `SourceError`, and the exceptions of ``fetch``.
        """
        if _ADDRESS.match(named):
            if url:
                raise SourceError(f"--url is for files; {named} is a URL already")
            return self.fetch(named)
        file = Path(named)
        if not file.is_file():
            raise SourceError(f"{named} is neither a file nor a URL that starts with http:// or https://")
        if not url and file.suffix == ".html" and file.with_suffix(".json").is_file():
            return read_page(file).page
        return _page(file, url, self.now)

    def pages(self, named: Sequence[str], of_files: Sequence[str]) -> tuple[Page, ...]:
        """Return several pages; ``of_files`` are the URLs of those that are files, in their order."""
        left = list(of_files)
        found = []
        for name in named:
            is_file = not _ADDRESS.match(name)
            found.append(self.page(name, left.pop(0) if left and is_file else ""))
        if left:
            raise SourceError(f"--url {left[0]} belongs to no file; write one --url for each file, in their order")
        return tuple(found)


def source(contact: str, *, allow_private: bool) -> Source:
    """Return pages from the network and from files, those fetched now."""
    return Source(partial(fetch_page, contact=contact, allow_private=allow_private), datetime.now(UTC))


def as_typed(named: str, url: str) -> str:
    """Return a page as commands take it: its URL, or its file and the URL of that.

    >>> as_typed("topic.html", "http://a.test/topic.php?id=7")
    'topic.html --url "http://a.test/topic.php?id=7"'
    """
    return named if _ADDRESS.match(named) else f'{named} --url "{url}"'


def _page(file: Path, url: str, now: datetime) -> Page:
    body = file.read_bytes()
    if not url:
        guess = _own_address(body, now)
        advice = f"; by its own words it is --url {guess}" if guess else ": --url http://..."
        raise SourceError(f"give the URL at which {file} was found{advice}")
    address = urls.canonicalize(url)
    if address is None:
        raise SourceError(f"--url {url} is no URL; write one that starts with http:// or https://")
    return Page(address, 200, Headers((("Content-Type", "text/html"),)), body, now)


def _own_address(body: bytes, now: datetime) -> str | None:
    """Return the URL that a browser or the template wrote into a file."""
    marked = _SAVED_FROM.search(body[:_FILE_START].decode("utf-8", "replace"))
    if marked:
        return urls.canonicalize(marked[1])
    tree = Page("http://localhost/", 200, Headers((("Content-Type", "text/html"),)), body, now).tree
    links = (link.get("href") or "" for link in tree.iter("link") if (link.get("rel") or "").lower() == "canonical")
    return next((url for link in links if (url := urls.canonicalize(link))), None)
