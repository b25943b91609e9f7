"""The formats of documents: which one a page is of, and what a format can do, so that others can be added.

A distribution adds one as an entry point of the group ``aahcrawler.formats`` whose name is the media type,
``application/x-bibtex = module:object``. Its code is loaded by the process that reads documents alone, which is bounded
in time and memory, and told by the declared type alone. It takes the place of none of the formats that are read here.
"""

import re
from collections.abc import Iterator
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Final, Protocol
from urllib.parse import urlsplit

from aahcrawler.documents.content import About, SentFile
from aahcrawler.page import Page, sniff
from aahcrawler.page.transcript import Sheet

GROUP: Final = "aahcrawler.formats"
"""The group of entry points; the name of each is a media type."""
OFFICE: Final = frozenset(
    {
        "application/pdf",
        "application/epub+zip",
        "application/vnd.oasis.opendocument.text",
        "application/vnd.oasis.opendocument.text-template",
        "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    }
)
RDF: Final = frozenset(
    {
        "application/ld+json",
        "application/n-quads",
        "application/n-triples",
        "application/rdf+xml",
        "application/trig",
        "text/n3",
        "text/turtle",
    }
)
CSV: Final = "text/csv"
TSV: Final = "text/tab-separated-values"
TABLES: Final = frozenset({CSV, TSV})
JSON: Final = "application/json"
JSON_LINES: Final = frozenset({"application/jsonl", "application/x-ndjson", "application/json-seq"})
"""JSON Lines (https://jsonlines.org/), and text sequences (RFC 7464)."""
SPREADSHEETS: Final = frozenset(
    {
        "application/vnd.oasis.opendocument.spreadsheet",
        "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    }
)
RESULTS: Final = frozenset({"application/sparql-results+json", "application/sparql-results+xml"})
_OWN: Final = OFFICE | RDF | TABLES | SPREADSHEETS | JSON_LINES | RESULTS
_SUFFIXES: Final = {"csv": CSV, "tsv": TSV, "jsonl": "application/jsonl", "ndjson": "application/jsonl"}
_UNTOLD: Final = frozenset({"", "text/plain", "application/octet-stream", "binary/octet-stream"})
"""Types by which a server says that it does not know: tables have no signature, and their name is all there is."""
_RSS: Final = b"http://purl.org/rss/1.0/"
_HEAD: Final = 4_000
_SUFFIX: Final = re.compile(r"\.([a-z]{3,6})$", re.IGNORECASE)


class DocumentFormat(Protocol):
    """A format of documents. Whatever its methods raise costs the one document, and is told as its message."""

    def contents(self, file: SentFile) -> tuple[About, Iterator[Sheet]]:
        """Return what a file says of itself, and its text and links, sheet by sheet.

        ``EncryptedError`` says that nobody can read it, ``CutError`` after the last sheet that there is more.
        """
        ...

    def parts(self, file: SentFile) -> Iterator[str]:
        """Yield what a file says, part by part, in an order of no meaning; a part that is said again counts again.

        Two files say the same if and only if their parts are the same, however often each. Raise an error, such as
        ``CutError``, where not all of them are known: such a file is compared by its bytes.
        """
        ...


def format_of(page: Page) -> str:
    """Return the media type of the format that a page is read in, empty where there is none.

    It is the declared one; PDF and packages are told by their bytes as well, and tables by their name where the server
    does not say what they are. Feeds are no documents: RSS 1.0 is RDF as well. JSON is read as a tree
    (``aahcrawler.page.jsontree``), and compared here.
    """
    declared = page.media_type
    if declared in RDF:
        return "" if _RSS in page.body[:_HEAD] else declared
    if declared in _OWN or declared in added_formats():
        return declared
    if page.is_json:
        return JSON
    if page.is_html:
        return ""
    sniffed = sniff(page.body, declared)
    if sniffed in OFFICE | SPREADSHEETS:
        return sniffed
    return _named(page) if declared in _UNTOLD and sniffed in {*_UNTOLD, *TABLES, JSON, *JSON_LINES} else ""


def is_document(page: Page) -> bool:
    """Return whether a page is a document that is read."""
    return format_of(page) not in {"", JSON}


def is_rdf(page: Page) -> bool:
    """Return whether a page is declared to be RDF, and is no feed."""
    return format_of(page) in RDF


def is_data(page: Page) -> bool:
    """Return whether a page can be compared by what it says, in whatever order that comes."""
    return format_of(page) not in {"", *OFFICE}


@cache
def added_formats() -> dict[str, EntryPoint]:
    """Return the formats of other distributions by media type; of several of one type, the first by its target."""
    found = sorted(entry_points(group=GROUP), key=lambda each: each.value, reverse=True)
    return {each.name.strip().lower(): each for each in found}


def _named(page: Page) -> str:
    """Return the format that the name of a page says, empty where it says none."""
    try:
        found = _SUFFIX.search(urlsplit(page.url).path)
    except ValueError:
        return ""
    return _SUFFIXES.get(found[1].lower(), "") if found and b"\0" not in page.body[:_HEAD] else ""
