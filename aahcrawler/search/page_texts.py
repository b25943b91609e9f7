"""Reads the text of captured pages and documents for the search, from the records of a WARC file."""

import re
from collections.abc import Iterator
from contextlib import closing
from html import escape, unescape
from pathlib import Path, PurePosixPath
from typing import Final
from urllib.parse import unquote, urlsplit

from resiliparse.extract.html2text import extract_plain_text
from resiliparse.parse.html import HTMLTree

from aahcrawler.archive.record_access import exchange_in, metadata_in, read_at, rendered_in
from aahcrawler.captures.record_scan import ResponseRecord
from aahcrawler.documents import DocumentReader, is_document
from aahcrawler.metadata import Metadata
from aahcrawler.page import Page, feeds
from aahcrawler.page.generic import language
from aahcrawler.page.text import fold
from aahcrawler.search.search_entry import MAX_LINE, MAX_TEXT, MEDIA, PAGE, Facts, SearchEntry, page_thing
from aahcrawler.urls import posted_by
from aahcrawler.wire.replay import replayed

_READ_BYTES: Final = 5_000_000
"""Bytes of a page that are read."""
_MEDIA: Final = ("image/", "audio/", "video/")
_PLAIN: Final = frozenset({"text/plain", "text/markdown"})
_XML: Final = frozenset({"application/xml", "text/xml", "application/rss+xml", "application/atom+xml"})
_CDATA: Final = re.compile(r"<!\[CDATA\[(.*?)(?:\]\]>|\Z)", re.DOTALL)
_TAG: Final = re.compile(r"<[^<>]*>")
_PICTURES_OF_PAGES: Final = frozenset({"image/x-icon", "image/vnd.microsoft.icon", "image/svg+xml"})
"""Media types of signs that pages are decorated with."""


def shows_page(answer: ResponseRecord) -> bool:
    """Return whether an answer shows by itself what there was at its URL, with a status that may come with a text."""
    got = answer.method == "GET" or posted_by(answer.url) is not None
    return got and (200 <= answer.status < 300 or answer.status >= 400)


class PageTexts:
    """Makes entries of captures in the WARC files of a folder."""

    def __init__(self, archive: Path) -> None:
        self._archive = archive
        self._documents = DocumentReader()

    def close(self) -> None:
        """End the process that reads documents."""
        self._documents.close()

    def metadata(self, name: str, answer: ResponseRecord) -> Metadata | None:
        """Return what was understood of an answer when it came, None where that was not kept."""
        if answer.metadata is None:
            return None
        return read_at(self._archive, name, answer.metadata, metadata_in)

    def entry(self, name: str, answer: ResponseRecord, facts: Facts) -> SearchEntry | None:
        """Return the page, document or medium that an answer in a file has; None for what nobody would look for.

        Style sheets, scripts and the like are so, and what cannot be read.
        """
        page = self._page(name, answer)
        if page is None or (page.status >= 400 and not page.is_html):
            return None
        media_type = page.media_type
        is_medium = media_type.startswith(_MEDIA) and media_type not in _PICTURES_OF_PAGES
        title, text, author, declared = ("", "", "", "") if is_medium else self._read(page)
        if not is_medium and not text and not title:
            return None
        if is_medium:
            title = " ".join(_file_name(answer.url))
        told = language(text, declared)
        return SearchEntry(
            thing=page_thing(answer.url),
            kind=MEDIA if is_medium else PAGE,
            type=media_type.partition("/")[0] if is_medium else "document" if page.transcript else "page",
            url=answer.url,
            record=answer.id,
            captured=answer.at,
            title=title[:MAX_LINE],
            author=author[:MAX_LINE],
            text=text[:MAX_TEXT],
            language=told or declared or "",
            media_type=media_type,
            status=page.status,
            crawl=answer.crawl,
        ).with_facts(facts)

    def _read(self, page: Page) -> tuple[str, str, str, str]:
        """Return title, text, author and declared language of what is no medium, empty where there are none."""
        if page.is_html:
            tree = HTMLTree.parse(page.text)
            text = extract_plain_text(tree, preserve_formatting=True, main_content=False, alt_texts=True, links=False)
            root = tree.document.query_selector("html") if tree.document else None
            return fold(tree.title or ""), text, "", _code(root.getattr("lang") or "" if root else "")
        if is_document(page):
            script = self._documents.read(page)
            page.__dict__["transcript"] = script
            return fold(script.title), "\n".join(sheet.text for sheet in script.sheets), fold(script.author), ""
        if page.media_type in _XML:
            feed = feeds.read_feed(page)
            return (feed.title if feed else "") or " ".join(_file_name(page.url)), _text_of_xml(page.text), "", ""
        if page.media_type in _PLAIN or page.is_json:
            return " ".join(_file_name(page.url)), page.text, "", ""
        return "", "", "", ""

    def _page(self, name: str, answer: ResponseRecord) -> Page | None:
        exchange = read_at(self._archive, name, answer.begin, exchange_in)
        if exchange is None:
            return None
        with closing(exchange):
            page = replayed(exchange, _READ_BYTES)
        if answer.document is None or page is None:
            return page
        rendered = read_at(self._archive, name, answer.document, rendered_in)
        return page if rendered is None else page.as_rendered(rendered.dom, rendered.document_url, _READ_BYTES)


def _text_of_xml(text: str) -> str:
    r"""Return what stands between the tags of XML, each on a line, and of HTML that is kept in it as a text.

    >>> _text_of_xml("<item><title>One</title><description>&lt;p&gt;Two &amp;amp; more&lt;/p&gt;</description></item>")
    'One\nTwo & more'
    """
    marked_up = _TAG.sub("\n", _CDATA.sub(lambda found: escape(found[1], quote=False), text))
    lines = (fold(line) for line in unescape(_TAG.sub("\n", unescape(marked_up))).splitlines())
    return "\n".join(filter(None, lines))


def _code(tag: str) -> str:
    code = tag.strip().lower()[:2]
    return code if len(code) == 2 and code.isalpha() else ""


def _file_name(url: str) -> Iterator[str]:
    """Yield what a URL calls its file, and the words of that name."""
    try:
        name = unquote(PurePosixPath(urlsplit(url).path).name)
    except ValueError:
        return
    yield name
    words = "".join(letter if letter.isalnum() else " " for letter in name.rpartition(".")[0])
    if fold(words) and fold(words) != name:
        yield fold(words)
