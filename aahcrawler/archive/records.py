"""Build WARC 1.1 record headers from plain values (ISO 28500:2017), including those of resources made by a browser.

The target of a resource is a URN that contains the page's URL, and not the URL itself, so that replay does not show it
as the server's response. ``urn:view:`` and ``urn:thumbnail:`` are the names that browsertrix-crawler gives to
screenshots.
"""

import base64
import binascii
import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Final, Self
from urllib.parse import quote
from uuid import uuid4

from aahcrawler import metadata
from aahcrawler.exchange import Exchange, Memento, Truncation

DOM: Final = "urn:dom:"
"""The prefix of a rendered document's target; the page's URL follows."""
VIEW: Final = "urn:view:"
"""The prefix of a screenshot's target."""
THUMBNAIL: Final = "urn:thumbnail:"
"""The prefix of a small screenshot's target."""
NAMES: Final = (DOM, VIEW, THUMBNAIL)
HTML: Final = "text/html;charset=utf-8"
DOCUMENT_URL: Final = "AAH-Document-URL"
"""The field with the URL that a document had when it was taken, if scripts had changed it."""
MADE_OF: Final = "AAH-Made-Of"
"""The field with the URLs of the data from which a document was made without a browser, separated by blanks."""
MAX_DOM_LENGTH: Final = 1 << 26
"""The most bytes of a rendered document that is read."""


@dataclass(frozen=True, slots=True)
class Resource:
    """A ``resource`` record beside the response of a page. ``record_id`` is a URN, without angle brackets.

    ``document_url`` is the URL of the document when it was taken, empty if it is the page's own. ``made_of`` are the
    URLs of the data from which the document was made, empty if a browser made it.
    """

    record_id: str
    target: str
    media_type: str
    block: bytes
    document_url: str = ""
    made_of: tuple[str, ...] = ()

    @classmethod
    def rendered_dom(cls, url: str, dom: bytes, document_url: str = "", *, record_id: str = "") -> Self:
        """Return the record of the document that a browser rendered: HTML in UTF-8."""
        at = "" if document_url == url else document_url
        return cls(record_id or uuid4().urn, f"{DOM}{url}", HTML, dom, at)

    @classmethod
    def data_dom(cls, url: str, dom: bytes, made_of: tuple[str, ...]) -> Self:
        """Return the record of a document in HTML (UTF-8) that was made from data, without a browser."""
        return cls(uuid4().urn, f"{DOM}{url}", HTML, dom, made_of=made_of)

    @classmethod
    def screenshot(cls, url: str, png: bytes, *, record_id: str = "") -> Self:
        """Return the record of a screenshot of the window that showed a page."""
        return cls(record_id or uuid4().urn, f"{VIEW}{url}", "image/png", png)

    @classmethod
    def thumbnail(cls, url: str, jpeg: bytes, *, record_id: str = "") -> Self:
        """Return the record of a thumbnail of the window that showed a page."""
        return cls(record_id or uuid4().urn, f"{THUMBNAIL}{url}", "image/jpeg", jpeg)


@dataclass(frozen=True, slots=True)
class KeptResource:
    """A resource record in the archive: its id, its target, and the offset of its gzip member in its page's file."""

    record_id: str
    target: str
    offset: int


def page_of_resource(target: str) -> str:
    """Return the URL of the page that a resource belongs to; empty if the target contains none.

    >>> page_of_resource("urn:dom:http://a.test/"), page_of_resource("urn:uuid:1")
    ('http://a.test/', '')
    """
    return next((target.removeprefix(name) for name in NAMES if target.startswith(name)), "")


Fields = tuple[tuple[str, str], ...]

HTTP_REQUEST: Final = "application/http;msgtype=request"
HTTP_RESPONSE: Final = "application/http;msgtype=response"
LONG_HTTP_RESPONSE: Final = "message/http;msgtype=response"
"""The media type of a response whose head has more than ``MAX_HEAD_LENGTH`` bytes.

FastWARC stops reading a file in which ``application/http`` has a longer one; warcio reads it under either type.
"""
MAX_HEAD_LENGTH: Final = 32_000
TLS_PROBLEM: Final = "AAH-TLS-Problem"
"""The field that says what is wrong with a certificate that the definition tells the crawl to accept."""

SESSION: Final = "AAH-Session"
"""The field of records made while a site recognised the crawl; it says how it did, separated by commas."""
REDACTED: Final = "AAH-Redacted"
"""The field of records in which something is masked; it says what, separated by commas."""

RESOURCE_TYPE: Final = "WARC-Resource-Type"
"""As what a browser requested the response, in lower case: a field of browsertrix-crawler, which replay reads."""

SHOWN_ON: Final = "AAH-Shown-On"
"""The field with the URL of the page on which a browser made the request."""

SOURCE_URI: Final = "WARC-Source-URI"
"""The field with the URI-M, or the record, from which a response was taken if an archive had it.

pywb uses it and ``CREATION_DATE`` for what it records from other archives; WARC-Date is when that archive captured it.
"""
CREATION_DATE: Final = "WARC-Creation-Date"
"""The field that says when such a response was taken from the archive."""
SOURCE_ARCHIVE: Final = "AAH-Source-Archive"
"""The field that names this archive."""
SOURCE: Final = "AAH-Source"
"""The field that names the source in the definition by which the response was found."""
REWRITTEN: Final = "AAH-Rewritten"
"""The field with the value ``true`` if the archive gave only a rewritten page, whose links were restored."""

_BREAKING = re.compile(r"[\x00-\x1f\x7f]+")
_NO_URI = re.compile(r"[^\x21-\x3b\x3d\x3f-\x7e]")


@dataclass(frozen=True, slots=True)
class CrawlInfo:
    """The description of the crawl in the ``warcinfo`` record of each file; empty values are left out.

    ``crawl`` is the ICD's id and ``definition`` the ICD as one line of JSON; ``crawl_number`` is the number of the
    crawl of that ICD, counted from 1. ``robots`` is the policy towards robots.txt (``obey`` or ``ignore``),
    ``software`` name and version. ``described`` holds further Dublin Core terms, by their names in ``dcterms``.
    """

    crawl: str
    software: str
    operator: str = ""
    contact: str = ""
    robots: str = ""
    user_agent: str = ""
    description: str = ""
    definition: str = ""
    crawl_number: int = 0
    described: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Identified:
    """The properties of a payload as detected, not as its header claims; None if not detected.

    ``media_type`` is detected from the bytes (``aahcrawler.page.sniff``); ``language`` is an ISO 639 or BCP 47 code.
    """

    media_type: str | None = None
    language: str | None = None


UNIDENTIFIED: Final = Identified()


@dataclass(frozen=True, slots=True)
class Original:
    """The response with the payload of a revisit.

    ``record_id`` is without angle brackets, ``date`` is spelled as its WARC-Date, ``digest`` is the SHA-1 of its
    payload. ``chunked`` says whether the payload is stored there in the chunked coding; None if unknown.
    """

    record_id: str
    url: str
    date: str
    digest: bytes
    chunked: bool | None = None


class Profile(StrEnum):
    """Why a response counts as a revisit (WARC 1.1, sections 6.7.2 and 6.7.3)."""

    IDENTICAL_PAYLOAD = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
    NOT_MODIFIED = "http://netpreserve.org/warc/1.1/revisit/server-not-modified"


def warcinfo_block(info: CrawlInfo) -> bytes:
    """Return the ``application/warc-fields`` block of a ``warcinfo`` record."""
    return _lines(
        (
            ("software", info.software),
            ("operator", info.operator),
            ("contact", info.contact),
            ("isPartOf", info.crawl),
            ("crawl-number", str(info.crawl_number or "")),
            ("description", info.description),
            *info.described,
            ("robots", info.robots),
            ("http-header-user-agent", info.user_agent),
            ("icd", info.definition),
            ("format", "WARC File Format 1.1"),
            ("conformsTo", "http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/"),
        )
    )


def warcinfo_fields(record_id: str, date: datetime, file: str) -> Fields:
    """Return the header fields of a ``warcinfo`` record, except block digest and length."""
    return (
        ("WARC-Type", "warcinfo"),
        ("WARC-Record-ID", f"<{record_id}>"),
        ("WARC-Date", warc_date(date)),
        ("WARC-Filename", file),
        ("Content-Type", "application/warc-fields"),
    )


def response_fields(exchange: Exchange, record_id: str, warcinfo_id: str, identified: Identified) -> Fields:
    """Return the header fields of a ``response`` record, except block digest and length."""
    return (
        *_http_fields("response", exchange, record_id, warcinfo_id),
        ("WARC-Payload-Digest", labelled_digest(exchange.payload_digest)),
        ("WARC-Identified-Payload-Type", identified.media_type or ""),
        ("WARC-Identified-Content-Language", identified.language or ""),
        ("WARC-Truncated", exchange.truncated.value if exchange.truncated else ""),
    )


def revisit_fields(response: Fields, original: Original, profile: Profile) -> Fields:
    """Return the header fields of the ``revisit`` record that replaces a ``response`` record.

    The block of such a record is the head of the response for an identical payload, and empty for a 304.
    """
    changed = {
        "WARC-Type": "revisit",
        "WARC-Payload-Digest": labelled_digest(original.digest) if original.digest else "",
    }
    if profile is Profile.IDENTICAL_PAYLOAD:
        changed["WARC-Truncated"] = Truncation.LENGTH.value
    else:
        changed |= {"WARC-Truncated": "", "Content-Type": ""}
    return (
        *((name, changed.get(name, value)) for name, value in response),
        ("WARC-Profile", profile.value),
        ("WARC-Refers-To", f"<{original.record_id}>"),
        ("WARC-Refers-To-Target-URI", _uri(original.url)),
        ("WARC-Refers-To-Date", original.date),
    )


def request_fields(exchange: Exchange, record_id: str, warcinfo_id: str, response_id: str) -> Fields:
    """Return the header fields of the ``request`` record of a response, except block digest and length."""
    return (
        *_http_fields("request", exchange, record_id, warcinfo_id),
        ("WARC-Concurrent-To", f"<{response_id}>"),
    )


def resource_fields(resource: Resource, exchange: Exchange, warcinfo_id: str, response_id: str) -> Fields:
    """Return the header fields of a ``resource`` record, except block digest and length.

    The standard does not allow such a record a WARC-Refers-To (5.11), so WARC-Concurrent-To names the response.
    """
    digest = hashlib.sha1(resource.block, usedforsecurity=False).digest()
    return (
        ("WARC-Type", "resource"),
        ("WARC-Record-ID", f"<{resource.record_id}>"),
        ("WARC-Date", warc_date(exchange.started_at)),
        ("WARC-Target-URI", _uri(resource.target)),
        (DOCUMENT_URL, _uri(resource.document_url)),
        (MADE_OF, " ".join(map(_uri, resource.made_of))),
        ("WARC-Warcinfo-ID", f"<{warcinfo_id}>"),
        (SESSION, exchange.session),
        (REDACTED, exchange.redacted),
        ("Content-Type", resource.media_type),
        ("WARC-Concurrent-To", f"<{response_id}>"),
        ("WARC-Payload-Digest", labelled_digest(digest)),
    )


def metadata_fields(
    exchange: Exchange, record_id: str, warcinfo_id: str, response_id: str, media_type: str = metadata.MEDIA_TYPE
) -> Fields:
    """Return the header fields of a ``metadata`` record about a response, except block digest and length.

    It has no WARC-Target-URI, since indexers that take every record with one for a version of the page would replay it.
    """
    return (
        ("WARC-Type", "metadata"),
        ("WARC-Record-ID", f"<{record_id}>"),
        ("WARC-Date", warc_date(exchange.started_at)),
        ("WARC-Warcinfo-ID", f"<{warcinfo_id}>"),
        ("Content-Type", media_type),
        ("WARC-Concurrent-To", f"<{response_id}>"),
        ("WARC-Refers-To", f"<{response_id}>"),
    )


def is_http(media_type: str) -> bool:
    """Return whether a record's Content-Type declares an HTTP message."""
    return media_type.lower().replace(" ", "").startswith(("application/http", "message/http"))


def header(fields: Fields, block_digest: bytes, length: int) -> bytes:
    """Return a whole record header with its final empty line; fields without a value are left out."""
    closing = (("WARC-Block-Digest", labelled_digest(block_digest)), ("Content-Length", str(length)))
    return b"WARC/1.1\r\n" + _lines((*fields, *closing)) + b"\r\n"


def warc_date(moment: datetime) -> str:
    """Return a time in UTC in the format of WARC-Date, to the microsecond.

    >>> warc_date(datetime(2026, 1, 2, 3, 4, 5, 600, UTC))
    '2026-01-02T03:04:05.000600Z'
    """
    return moment.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


def labelled_digest(digest: bytes) -> str:
    """Return a SHA-1 digest in the notation of archives.

    >>> labelled_digest(bytes(20))
    'sha1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA'
    """
    return "sha1:" + base64.b32encode(digest).decode("ascii")


def unlabelled_digest(label: str) -> bytes:
    """Return the digest in a header field; no bytes if it is not a SHA-1.

    >>> unlabelled_digest(labelled_digest(bytes(20))) == bytes(20), unlabelled_digest("sha1:?")
    (True, b'')
    """
    try:
        return base64.b32decode(label.removeprefix("sha1:"))
    except binascii.Error:
        return b""


def _http_fields(kind: str, exchange: Exchange, record_id: str, warcinfo_id: str) -> Fields:
    return (
        ("WARC-Type", kind),
        ("WARC-Record-ID", f"<{record_id}>"),
        ("WARC-Date", warc_date(exchange.started_at)),
        ("WARC-Target-URI", _uri(exchange.url)),
        ("WARC-IP-Address", exchange.ip_address),
        (TLS_PROBLEM, exchange.tls_problem),
        ("WARC-Warcinfo-ID", f"<{warcinfo_id}>"),
        (SESSION, exchange.session),
        (REDACTED, exchange.redacted),
        (RESOURCE_TYPE, exchange.resource_type.lower()),
        (SHOWN_ON, _uri(exchange.shown_on)),
        *(() if exchange.memento is None else _source_fields(exchange.memento)),
        ("Content-Type", HTTP_REQUEST if kind == "request" else _response_type(exchange)),
    )


def _source_fields(memento: Memento) -> Fields:
    return (
        (SOURCE_URI, _uri(memento.uri)),
        (CREATION_DATE, warc_date(memento.obtained_at)),
        (SOURCE_ARCHIVE, memento.archive),
        (SOURCE, memento.source),
        (REWRITTEN, "" if memento.is_raw else "true"),
    )


def _response_type(exchange: Exchange) -> str:
    return HTTP_RESPONSE if exchange.head_size <= MAX_HEAD_LENGTH else LONG_HTTP_RESPONSE


def _uri(url: str) -> str:
    # A line break or a blank in a URL would let whoever wrote it add fields to the record.
    return _NO_URI.sub(lambda match: quote(match[0], errors="replace"), url)


def _lines(fields: Iterable[tuple[str, str]]) -> bytes:
    text = "".join(f"{name}: {value}\r\n" for name, raw in fields if (value := _BREAKING.sub(" ", raw).strip()))
    return text.encode("utf-8", "replace")
