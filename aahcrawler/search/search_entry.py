"""What a search finds: a version of a page or of a web object, and how pages are read for it."""

import json
import re
from collections.abc import Iterator
from contextlib import closing
from dataclasses import asdict, dataclass, fields, replace
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from html import escape, unescape
from operator import attrgetter
from pathlib import Path, PurePosixPath
from typing import Final, Self
from urllib.parse import unquote, urlsplit

from resiliparse.extract.html2text import extract_plain_text
from resiliparse.parse.html import HTMLTree

from aahcrawler.archive.record_access import exchange_in, metadata_in, read_at, rendered_in
from aahcrawler.captures.record_scan import ResponseRecord
from aahcrawler.documents import DocumentReader, is_document
from aahcrawler.metadata import Metadata
from aahcrawler.objects.capture_statements import CaptureStatements, ObjectRow
from aahcrawler.page import Page, feeds
from aahcrawler.page.generic import language
from aahcrawler.page.generic import language as language_of
from aahcrawler.page.text import fold
from aahcrawler.urls import canonicalize, posted_by
from aahcrawler.wire.replay import replayed

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
MAX_TEXT: Final = 500_000
"""How many characters of a text are indexed."""
MAX_LINE: Final = 1_000
"""How many characters of a title or a name are indexed."""
PAGE: Final = "page"
OBJECT: Final = "object"
MEDIA: Final = "media"
_MICROSECOND: Final = timedelta(microseconds=1)
_SAMPLE: Final = 400
"""How many characters of a page's objects are used to detect their language."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What the latest reading says about a capture; None and empty if unknown.

    ``read_at`` is when it was read again, ISO 8601; empty for a first reading.
    """

    application: str | None = None
    score: float | None = None
    language: str | None = None
    read_at: str = ""

    def __str__(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the facts in a stored text."""
        return cls(**json.loads(text))


@dataclass(frozen=True, slots=True)
class SearchEntry:
    """A version of a page or of a web object.

    ``thing`` identifies what it is a version of (``page_thing``, ``object_thing``). ``kind`` is ``page``, ``object`` or
    ``media``; ``type`` is that of the object, otherwise the first part of the media type. ``record`` and ``captured``
    (microseconds since 1970) are those of the first consecutive capture with this version. ``date`` is as in the
    object, ``published`` the same in seconds since 1970, None if it is no time. ``language`` is a code of ISO 639-1.
    ``page`` is the URL of the page with an object, if it differs from the object's. ``said`` are the names and topics
    in annotations of an object, each after its kind, and the stems of topics.
    """

    thing: str
    kind: str
    type: str
    url: str
    record: str
    captured: int
    title: str = ""
    author: str = ""
    text: str = ""
    date: str = ""
    published: int | None = None
    language: str = ""
    application: str = ""
    media_type: str = ""
    status: int = 0
    score: float | None = None
    crawl: int = 0
    part_of: str = ""
    page: str = ""
    said: tuple[tuple[str, str], ...] = ()

    @property
    def iri(self) -> str:
        """The IRI of an object; empty for everything else."""
        return self.thing.removeprefix(object_thing("")) if self.kind == OBJECT else ""

    @property
    def digest(self) -> int:
        """A number of 63 bits, never 0, that differs between different versions."""
        return number_of(f"{self.title}\0{self.author}\0{self.date}\0{self.text}") or 1

    def __bytes__(self) -> bytes:
        return json.dumps(_VALUES(self), ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")

    @classmethod
    def read(cls, kept: bytes) -> Self:
        """Return the entry that ``bytes`` has encoded."""
        values = json.loads(kept)
        values[-1] = tuple((kind, label) for kind, label in values[-1])
        return cls(*values)

    def with_facts(self, facts: Facts) -> Self:
        """Return the entry with the facts of a reading of its capture."""
        named = {"application": facts.application or "", "score": facts.score}
        if facts.language:
            named["language"] = facts.language
        return replace(self, **named)  # type: ignore[arg-type]


_VALUES: Final = attrgetter(*(each.name for each in fields(SearchEntry)))


def number_of(text: str) -> int:
    """Return a number of 63 bits that identifies a text."""
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()) >> 1


def page_thing(url: str) -> str:
    """Return what identifies a page, independently of the spelling of its URL."""
    return f"page {canonicalize(url) or url}"


def object_thing(iri: str) -> str:
    """Return what identifies an object, distinct from the page at the same URL, which an article may have."""
    return f"object {iri}"


def microseconds(moment: str) -> int:
    """Return a moment, given as ISO 8601, in microseconds since 1970. Raises ``ValueError`` if it is invalid."""
    read = datetime.fromisoformat(moment)
    return ((read if read.tzinfo else read.replace(tzinfo=UTC)) - EPOCH) // _MICROSECOND


def facts_in(stated: CaptureStatements) -> Facts:
    """Return the facts that a reading gives about its capture."""
    row = stated.row
    return Facts(row.application, row.score, None, stated.read_at)


def object_entries(stated: CaptureStatements) -> Iterator[SearchEntry]:
    """Yield the objects of a capture. Their language is detected from their texts together."""
    row, captured = stated.row, microseconds(stated.row.fetched_at)
    sample = "\n".join(filter(None, (each.body or each.title for each in stated.objects)))[:_SAMPLE]
    language = language_of(sample) if sample else None
    for each in stated.objects:
        yield SearchEntry(
            thing=object_thing(each.iri),
            kind=OBJECT,
            type=each.type,
            url=each.url,
            record=row.capture,
            captured=captured,
            title=(each.title or "")[:MAX_LINE],
            author=(each.author or "")[:MAX_LINE],
            text=(each.body or "")[:MAX_TEXT],
            date=(each.date or "")[:MAX_LINE],
            published=_published(each),
            language=language or "",
            application=row.application or "",
            media_type=row.media_type or "",
            status=row.status,
            score=row.score,
            crawl=row.crawl,
            part_of=each.part_of or "",
            page=row.url if row.url != each.url else "",
        )


def _published(row: ObjectRow) -> int | None:
    try:
        return microseconds(row.date) // 1_000_000 if row.date else None
    except (ValueError, OverflowError):
        return None


_READ_BYTES: Final = 5_000_000
"""How many bytes of a page are read."""
_MEDIA: Final = ("image/", "audio/", "video/")
_PLAIN: Final = frozenset({"text/plain", "text/markdown"})
_XML: Final = frozenset({"application/xml", "text/xml", "application/rss+xml", "application/atom+xml"})
_CDATA: Final = re.compile(r"<!\[CDATA\[(.*?)(?:\]\]>|\Z)", re.DOTALL)
_TAG: Final = re.compile(r"<[^<>]*>")
_PICTURES_OF_PAGES: Final = frozenset({"image/x-icon", "image/vnd.microsoft.icon", "image/svg+xml"})
"""Media types of decorations of pages."""


def shows_page(answer: ResponseRecord) -> bool:
    """Return whether a response itself shows what was at its URL, with a status that may come with a text."""
    got = answer.method == "GET" or posted_by(answer.url) is not None
    return got and (200 <= answer.status < 300 or answer.status >= 400)


class PageTexts:
    """Makes entries from captures in the WARC files of a folder."""

    def __init__(self, archive: Path) -> None:
        self._archive = archive
        self._documents = DocumentReader()

    def close(self) -> None:
        """End the process that reads documents."""
        self._documents.close()

    def metadata(self, name: str, answer: ResponseRecord) -> Metadata | None:
        """Return what the crawl understood of a response; None if that was not kept."""
        if answer.metadata is None:
            return None
        return read_at(self._archive, name, answer.metadata, metadata_in)

    def entry(self, name: str, answer: ResponseRecord, facts: Facts) -> SearchEntry | None:
        """Return the page, document or medium in a response; None for what nobody would search for.

        That includes style sheets and scripts, and what cannot be read.
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
        """Return title, text, author and declared language of anything but a medium; empty for missing ones."""
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
    r"""Return the text between the tags of XML, each on a line, and that of HTML which is contained in it as text.

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
    """Yield the name of a URL's file, and the words of that name."""
    try:
        name = unquote(PurePosixPath(urlsplit(url).path).name)
    except ValueError:
        return
    yield name
    words = "".join(letter if letter.isalnum() else " " for letter in name.rpartition(".")[0])
    if fold(words) and fold(words) != name:
        yield fold(words)
