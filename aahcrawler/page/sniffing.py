"""Find the media type of bytes by the WHATWG's MIME Sniffing standard: as browsers read them, and as they are.

A browser trusts the declared type where that is safe (`read_as`). An archive records the true type (`sniff`): bytes
with a signature are of the type of the signature; for text, the declared type is believed if it is a textual format
that cannot be recognised from the bytes (CSS, scripts, CSV) and the text does not contradict it.
"""

import json
import re
from collections.abc import Sequence
from typing import Final

from aahcrawler.page import markup

OCTETS: Final = "application/octet-stream"
TEXT: Final = "text/plain"
HTML: Final = "text/html"
XHTML: Final = "application/xhtml+xml"
JSON: Final = "application/json"

_LOOKED_AT = 1445
"""The bytes that decide, as in browsers; of archives, more are examined."""
_MAX_PROLOG_LENGTH = 8192
"""The bytes within which the root of XML is looked for: feeds may begin with long comments."""
_MAX_JSON_LENGTH = 1 << 20
_MAX_NAMES = 200

_SIGNATURES: tuple[tuple[int, bytes, str], ...] = (
    (0, b"%PDF-", "application/pdf"),
    (0, b"%!PS-Adobe-", "application/postscript"),
    (0, b"{\\rtf", "application/rtf"),
    (0, b"\x89PNG\r\n\x1a\n", "image/png"),
    (0, b"GIF87a", "image/gif"),
    (0, b"GIF89a", "image/gif"),
    (0, b"\xff\xd8\xff", "image/jpeg"),
    (0, b"\x00\x00\x01\x00", "image/x-icon"),
    (0, b"\x00\x00\x02\x00", "image/x-icon"),
    (0, b"II*\x00", "image/tiff"),
    (0, b"MM\x00*", "image/tiff"),
    (0, b"8BPS", "image/vnd.adobe.photoshop"),
    (0, b"\x00\x00\x00\x0cJXL \r\n\x87\n", "image/jxl"),
    (0, b"\x00\x00\x00\x0cjP  \r\n\x87\n", "image/jp2"),
    (0, b"AT&TFORM", "image/vnd.djvu"),
    (0, b"fLaC", "audio/flac"),
    (0, b"MThd\x00\x00\x00\x06", "audio/midi"),
    (0, b"OggS\x00", "application/ogg"),
    (0, b"FLV\x01", "video/x-flv"),
    (0, b"\x00\x00\x01\xba", "video/mpeg"),
    (0, b"\x1a\x45\xdf\xa3", "video/webm"),
    (0, b"wOFF", "font/woff"),
    (0, b"wOF2", "font/woff2"),
    (0, b"OTTO\x00", "font/otf"),
    (0, b"\x00\x01\x00\x00", "font/ttf"),
    (0, b"true\x00", "font/ttf"),
    (0, b"ttcf\x00", "font/collection"),
    (34, b"LP", "application/vnd.ms-fontobject"),
    (0, b"\x1f\x8b\x08", "application/gzip"),
    (0, b"PK\x03\x04", "application/zip"),
    (0, b"PK\x05\x06", "application/zip"),
    (0, b"Rar!\x1a\x07", "application/vnd.rar"),
    (0, b"7z\xbc\xaf\x27\x1c", "application/x-7z-compressed"),
    (0, b"\xfd7zXZ\x00", "application/x-xz"),
    (0, b"\x28\xb5\x2f\xfd", "application/zstd"),
    (257, b"ustar", "application/x-tar"),
    (0, b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "application/x-ole-storage"),
    (0, b"\x00asm", "application/wasm"),
    (0, b"SQLite format 3\x00", "application/vnd.sqlite3"),
)
_PATTERNS: tuple[tuple[re.Pattern[bytes], str], ...] = tuple(
    (re.compile(pattern, re.DOTALL), media_type)
    for pattern, media_type in (
        (rb"BM.{4}\x00{4}.{4}[\x0c\x28\x34\x38\x40\x6c\x7c]\x00\x00\x00", "image/bmp"),
        (rb"RIFF.{4}WEBPVP", "image/webp"),
        (rb"RIFF.{4}WAVE", "audio/wav"),
        (rb"RIFF.{4}AVI ", "video/x-msvideo"),
        (rb"FORM.{4}AIF[FC]", "audio/aiff"),
        (rb"\x00.{3}ftyp(?:avif|avis)", "image/avif"),
        (rb"\x00.{3}ftyp(?:hei[cxs]|hev[cx]|mif1|msf1)", "image/heic"),
        (rb"\x00.{3}ftypqt  ", "video/quicktime"),
        (rb"\x00.{3}ftypM4[AB] ", "audio/mp4"),
        (rb"\x00.{3}ftyp3g", "video/3gpp"),
        (rb"\x00.{3}ftyp", "video/mp4"),
        (rb"ID3[\x02-\x04]", "audio/mpeg"),
        (rb"\xff[\xfa\xfb\xf2\xf3][\x10-\xef]", "audio/mpeg"),
        (rb"\xff[\xf0\xf1\xf8\xf9][\x00-\x9f]", "audio/aac"),
        (rb"[FCZ]WS[\x01-\x30].{3}[\x00-\x0f]", "application/x-shockwave-flash"),
        (rb"BZh[1-9]1AY&SY", "application/x-bzip2"),
    )
)
_CLOSER: dict[str, frozenset[str]] = {
    "application/ogg": frozenset({"audio/ogg", "video/ogg", "audio/opus"}),
    "video/mp4": frozenset({"audio/mp4", "audio/x-m4a", "video/x-m4v", "application/mp4"}),
    "video/webm": frozenset({"audio/webm", "video/x-matroska", "audio/x-matroska"}),
    "application/x-ole-storage": frozenset(
        {
            "application/msword",
            "application/vnd.ms-excel",
            "application/vnd.ms-powerpoint",
            "application/vnd.ms-outlook",
            "application/vnd.visio",
        }
    ),
    "application/zip": frozenset(
        {"application/java-archive", "application/vnd.android.package-archive", "application/vnd.google-earth.kmz"}
    ),
    "application/gzip": frozenset({"image/svg+xml-compressed"}),
}
"""Declared types that are more precise than a signature and compatible with it."""

_HTML_START = re.compile(
    rb"\s*<(?:!doctype html|html|head|script|iframe|h1|div|font|table|a|style|title|b|body|br|p|meta|link|main)"
    rb"(?=[\s>/])|\s*<!--",
    re.IGNORECASE,
)
_CERTAIN_HTML = re.compile(rb"\s*<(?:!doctype html|html|head|body)(?=[\s>/])", re.IGNORECASE)
_ROOT = re.compile(rb"<(?:[A-Za-z_][\w.-]*:)?([A-Za-z_][\w.-]*)(?=[\s/>])")
_ROOTS = {
    b"html": XHTML,
    b"rss": "application/rss+xml",
    b"feed": "application/atom+xml",
    b"RDF": "application/rdf+xml",
    b"svg": "image/svg+xml",
}
_BINARY = re.compile(rb"[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f]")
_LIKE_JSON = re.compile(rb'\s*[\[{"\d\-tfn]')
_XML = frozenset({"text/xml", "application/xml"})
_FEED_ROOTS = {b"rss": "application/rss+xml", b"feed": "application/atom+xml"}
_RSS_NAMESPACES = (b"purl.org/rss/1.0/", b"netscape.com/rdf/simple/0.9/")
_XHTML_ROOT = re.compile(
    rb"""<(?:([A-Za-z_][\w.-]*+):)?+html(?=\s)(?=[^<>]*?\sxmlns(?(1):\1)\s*=\s*["']http://www\.w3\.org/1999/xhtml["'])"""
)
"""The root of XHTML, whose prefix, if it has one, is bound to the namespace of XHTML."""
_JSON_FEED = re.compile(rb"""[\s\xef\xbb\xbf]*\{.*?"version"\s*:\s*"https?:(?://|\\/\\/)jsonfeed\.org""", re.DOTALL)
_FEED_NAMES = frozenset({HTML, TEXT, JSON, OCTETS, "text/json", "application/gzip", "application/x-gzip"})
"""Types under which servers send feeds that they know nothing of; XML of any type may be a feed."""
_AMBIGUOUS_TEXT = re.compile(r"text/plain(?:; charset=(?:ISO-8859-1|iso-8859-1|UTF-8))?")
"""What old servers say of files that they know nothing of."""
_UNSAID = frozenset({"", "unknown/unknown", "application/unknown", "*/*", OCTETS})
_TEXTUAL = frozenset(
    {
        "application/ecmascript",
        "application/javascript",
        "application/pgp-signature",
        "application/sql",
        "application/toml",
        "application/vnd.apple.mpegurl",
        "application/x-javascript",
        "application/x-mpegurl",
        "application/x-ndjson",
        "application/x-sh",
        "application/x-subrip",
        "application/x-tex",
        "application/yaml",
        "audio/mpegurl",
        "audio/x-mpegurl",
    }
)


def read_as(body: bytes, declared: Sequence[str], field: str, *, no_sniff: bool) -> str:
    """Return the media type that a body is read as: that which browsers compute, but feeds are feeds everywhere.

    ``declared`` are the types of its Content-Type fields in lower case and in their order, ``field`` is the last of the
    fields as it was sent. With ``no_sniff`` nothing is taken for HTML that is not declared so. Of several declared
    types the last holds, unless one of them is HTML and the body looks like it. What is declared as nothing is JSON
    only as a feed.
    """
    named = declared[-1] if declared else ""
    if (feed := _of_feed(body)) and (not named or named in _FEED_NAMES or is_xml(named)):
        return named if is_xml(named) and named != XHTML else feed
    html = {HTML, XHTML}.intersection(declared)
    if html and named not in html and sniff(body) == HTML:
        return min(html)
    if not named:
        return _undeclared(body, no_sniff=no_sniff)
    if is_xml(named):
        return XHTML if xhtml_prefix(_text_of(body[:_MAX_PROLOG_LENGTH])) is not None else named
    if named == TEXT and not no_sniff and _AMBIGUOUS_TEXT.fullmatch(field):
        return OCTETS if _BINARY.search(_text_of(body[:_LOOKED_AT])) else TEXT
    return _of_medium(body, named) if not no_sniff else named


def xhtml_prefix(utf_8: bytes) -> bytes | None:
    """Return the prefix of the root of XHTML, empty where it has none; None where the root is another one."""
    root = _XHTML_ROOT.match(_past_prolog(utf_8[:_MAX_PROLOG_LENGTH]))
    return None if root is None else root[1] or b""


def is_xml(media_type: str) -> bool:
    """Return whether a media type is one of XML."""
    return media_type in _XML or media_type.endswith("+xml")


def _of_feed(body: bytes) -> str:
    """Return the type of a feed, empty for anything else."""
    text = _text_of(body[:_MAX_PROLOG_LENGTH])
    if _JSON_FEED.match(text):
        return "application/feed+json"
    rest = _past_prolog(text)
    root = _ROOT.match(rest)
    if root is None:
        return ""
    if root[1] == b"RDF":
        return "application/rss+xml" if any(name in rest for name in _RSS_NAMESPACES) else ""
    return _FEED_ROOTS.get(root[1], "")


def _undeclared(body: bytes, *, no_sniff: bool) -> str:
    found = sniff(body)
    return TEXT if found in {"", JSON} or (no_sniff and found in {HTML, XHTML}) else found


def _of_medium(body: bytes, declared: str) -> str:
    """Return the type of pictures, sound and films by their bytes where these are of the kind that was declared."""
    kind = declared.partition("/")[0]
    if kind not in {"image", "audio", "video"}:
        return declared
    found = _of_signature(body[:_LOOKED_AT])
    exact = "" if found is None else _nearer(found, body, declared)
    return exact if exact.startswith(f"{kind}/") else declared


def sniff(body: bytes, declared: str = "") -> str:
    """Return the media type of a body whose content codings have been undone; empty for an empty body.

    ``declared`` is type and subtype in lower case as the server named them, empty if it did not. Bytes that fit nothing
    known are ``application/octet-stream``, text ``text/plain``. Takes a few milliseconds at most.

    >>> sniff(b"<!doctype html><p>", "text/plain"), sniff(b"p { color: red }", "text/css")
    ('text/html', 'text/css')
    """
    if not body:
        return ""
    head = body[:_LOOKED_AT]
    if (found := _of_signature(head)) is not None:
        return _nearer(found, body, declared)
    text = _text_of(head)
    return OCTETS if _BINARY.search(text) else _of_text(text, body, declared)


def _of_signature(head: bytes) -> str | None:
    for offset, signature, media_type in _SIGNATURES:
        if head.startswith(signature, offset) and (offset == 0 or _BINARY.search(head)):
            return media_type
    return next((media_type for pattern, media_type in _PATTERNS if pattern.match(head)), None)


def _nearer(found: str, body: bytes, declared: str) -> str:
    """Return a more precise type than that of the signature: from the bytes, else from the declared type."""
    if found == "application/zip" and (packed := _of_zip(body)):
        return packed
    if found == "video/webm" and b"matroska" in body[:64]:
        return "video/x-matroska"
    return declared if declared in _CLOSER.get(found, ()) else found


def _of_zip(body: bytes) -> str:
    """Return the format that the first entries of a ZIP file show, empty if they show none."""
    at = 0
    for _ in range(_MAX_NAMES):
        name = body[at + 30 : at + 30 + int.from_bytes(body[at + 26 : at + 28], "little")]
        extra = int.from_bytes(body[at + 28 : at + 30], "little")
        if name == b"mimetype":
            kept = re.match(rb"[a-z0-9.+-]+/[a-z0-9.+-]+", body[at + 38 + extra : at + 138 + extra])
            return kept[0].decode("ascii") if kept else ""
        for beginning, format_name in _IN_ZIP.items():
            if name.startswith(beginning):
                return format_name
        at = body.find(b"PK\x03\x04", at + 30)
        if at < 0:
            break
    return ""


_OFFICE = "application/vnd.openxmlformats-officedocument."
_IN_ZIP = {
    b"word/": f"{_OFFICE}wordprocessingml.document",
    b"xl/": f"{_OFFICE}spreadsheetml.sheet",
    b"ppt/": f"{_OFFICE}presentationml.presentation",
    b"AndroidManifest.xml": "application/vnd.android.package-archive",
}


def _text_of(head: bytes) -> bytes:
    encoding = markup.of_bom(head)
    if not encoding and (at := head[:4].find(b"\x00")) in {0, 1} and head[at : at + 3 : 2] == b"\x00\x00":
        encoding = "utf-16-le" if at else "utf-16-be"
    return head.decode(encoding, "replace").lstrip("\ufeff").encode("utf-8", "replace") if encoding else head


def _of_text(text: bytes, body: bytes, declared: str) -> str:
    of_xml = is_xml(declared)
    is_certain = _CERTAIN_HTML.match(text) is not None
    if is_certain and of_xml:
        return XHTML if declared in {XHTML, *_XML} else HTML
    is_likely = _HTML_START.match(text) and not of_xml and (declared in {HTML, TEXT} or not _is_textual(declared))
    if is_certain or is_likely:
        return HTML
    if found := _of_markup(text, declared, of_xml=of_xml):
        return found
    if declared == JSON or declared.endswith("+json"):
        return declared if _LIKE_JSON.match(text) else TEXT
    if (declared in _UNSAID or declared in {TEXT, HTML}) and _is_json(text, body):
        return JSON
    return declared if _is_textual(declared) and declared not in _XML else TEXT


def _of_markup(text: bytes, declared: str, *, of_xml: bool) -> str:
    """Return the type of XML by its root element if that is known; "" if the text is not XML."""
    if not text.lstrip().startswith(b"<"):
        return ""
    rest = _past_prolog(text)
    root = _ROOT.match(rest)
    if root and (found := _ROOTS.get(root[1])):
        return HTML if found == XHTML and declared == HTML else found
    has_prolog = text.lstrip().startswith(b"<?xml")
    if of_xml and (root or has_prolog):
        return "text/xml" if root and declared in _ROOTS.values() else declared
    return "text/xml" if has_prolog and declared != HTML else ""


def _past_prolog(text: bytes) -> bytes:
    """Return markup from its root element on, without the prolog."""
    at, before = 0, text
    while True:
        at += len(before) - len(before.lstrip())
        before = text[at:]
        for opening, closing in ((b"<?", b"?>"), (b"<!--", b"-->"), (b"<!", b">")):
            if before.startswith(opening):
                end = before.find(closing, len(opening))
                if end < 0:
                    return b""
                at += end + len(closing)
                break
        else:
            return before if at else text
        before = text[at:]


def _is_json(text: bytes, body: bytes) -> bool:
    """Return whether a text without a declared type of JSON is JSON; all of it is parsed."""
    if text.lstrip()[:1] not in {b"{", b"["} or len(body) > _MAX_JSON_LENGTH:
        return False
    try:
        json.loads(body)
    except (ValueError, RecursionError):
        return False
    return True


def _is_textual(declared: str) -> bool:
    return declared in _TEXTUAL or declared.startswith(("text/", "message/", "multipart/"))


__all__ = ["HTML", "JSON", "OCTETS", "TEXT", "XHTML", "is_xml", "read_as", "sniff"]
