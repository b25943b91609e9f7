"""Find the encoding of a body: as declared, read as the WHATWG standards do, or guessed as Firefox does."""

import re
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE, getincrementaldecoder
from collections.abc import Iterable

from chardetng_py import EncodingDetector
from resiliparse.parse.encoding import map_encoding_to_html5

from aahcrawler import query_encoding

PRESCANNED_BYTES = 4096
"""The bytes searched for a declaration: browsers search more than the 1,024 bytes that the standard asks for."""

_BOMS = ((BOM_UTF8, "utf-8"), (BOM_UTF16_LE, "utf-16-le"), (BOM_UTF16_BE, "utf-16-be"))
_FIELD = re.compile(r"""charset\s*=\s*["']?\s*([^\s"';,]+)""", re.IGNORECASE)
_LABEL = rb"""charset\s*+=\s*+["']?\s*+([^\s"'/>;]{1,40})"""
_COMMENT = re.compile(rb"<!--.*?-->", re.DOTALL)
_META = re.compile(rb"<meta[\s/]([^>]*+)", re.IGNORECASE)
_META_CONTENT = re.compile(rb"""content\s*+=\s*+("[^"]*+"|'[^']*+'|[^\s>]*+)""", re.IGNORECASE)
_CHARSET = re.compile(_LABEL, re.IGNORECASE)
_XML = re.compile(rb"""\A\s*<\?xml\s[^>]{0,200}?encoding\s*=\s*["']([^"'>]{1,40})["']""")
_CSS = re.compile(rb'\A@charset "([^"]{1,40})";')
_CHECKED_BYTES = 131_072
_DETECTED_BYTES = 32_768
_BEFORE = 64
"""Bytes before the first one that is no ASCII, which the detector is given too."""
_UNUSUAL = re.compile(rb"[\x80-\xff]|\x1b[$(]")
_UTF_16 = (
    (re.compile(rb"(?:[\t\n\f\r ]\x00)*+<\x00"), "utf-16-le"),
    (re.compile(rb"(?:\x00[\t\n\f\r ])*+\x00<"), "utf-16-be"),
)
_THAI = re.compile("[\u0e01-\u0e4e]")
_MIN_THAI = 40
_ORPHAN = re.compile(
    "(?<![\u0e01-\u0e2e\u0e31\u0e34-\u0e3a\u0e47-\u0e4e])[\u0e31\u0e34-\u0e3a\u0e47-\u0e4e]"
    "|[\u0e40-\u0e44](?=[^\u0e01-\u0e2e\u0e40-\u0e44])"
)
"""A sign of Thai that belongs above or below a consonant, or a vowel that belongs before one, elsewhere."""
_MANY_FAULTS = 4
_VALID_FOR_A_FAULT = 10
"""Characters of UTF-8 that stand against one sequence of bytes which is none."""

_SUPERSETS = {
    "big5": "big5hkscs",
    "euc_jp": query_encoding.EUC_JP,
    "euc_kr": "cp949",
    "gb18030": query_encoding.GB18030,
    "gbk": query_encoding.GBK,
    "iso2022_jp": query_encoding.ISO_2022_JP,
    "iso8859-11": "cp874",
    "shift_jis": "cp932",
}
"""Python's names of the encodings that the standard means by these names."""

_OTHER_LABELS = {
    "cp874": "cp874",
    "x-mac-cyrillic": "mac-cyrillic",
    "x-mac-ukrainian": "mac-cyrillic",
    "x-user-defined": "windows-1252",
}


_NAMES = {
    "big5hkscs": "Big5",
    "cp866": "IBM866",
    "cp874": "windows-874",
    "cp932": "Shift_JIS",
    "cp949": "EUC-KR",
    "mac-cyrillic": "x-mac-cyrillic",
    "mac-roman": "macintosh",
    query_encoding.EUC_JP: "EUC-JP",
    query_encoding.GB18030: "gb18030",
    query_encoding.GBK: "GBK",
    query_encoding.ISO_2022_JP: "ISO-2022-JP",
}
"""The standard's names of the encodings that Python calls otherwise."""


def codec_of(label: str) -> str:
    """Return the Python codec for a label as the WHATWG Encoding standard reads it, or "" for an unknown label.

    >>> codec_of("ISO-8859-1"), codec_of("gb2312"), codec_of("x-sjis"), codec_of("nonsense")
    ('windows-1252', 'gb18030', 'cp932', '')
    """
    wanted = label.strip().lower()
    name = _OTHER_LABELS.get(wanted) or map_encoding_to_html5(wanted, fallback_utf8=False) or ""
    name = _SUPERSETS.get(name, name)
    return name.replace("cp125", "windows-125").replace("iso8859", "iso-8859")


def name_of(codec: str) -> str:
    """Return the name by which the standard knows the encoding that documents of a codec are written in.

    >>> name_of("cp932"), name_of("iso-8859-2"), name_of("utf-16-le")
    ('Shift_JIS', 'ISO-8859-2', 'UTF-8')
    """
    if codec.startswith("utf-"):
        return "UTF-8"
    return _NAMES.get(codec) or (codec.upper() if codec.startswith(("iso-", "koi8-")) else codec)


def of_bom(body: bytes) -> str:
    """Return the codec that a byte order mark names, "" if there is none."""
    return next((codec for mark, codec in _BOMS if body.startswith(mark)), "")


def of_field(content_type: str) -> str:
    """Return the codec that a Content-Type field names, "" if it names none that is known."""
    match = _FIELD.search(content_type)
    return codec_of(match[1]) if match else ""


def declared(body: bytes, media_type: str) -> str:
    """Return the codec that a page, a style sheet or an XML document names in its first bytes, "" for none."""
    head = body[:PRESCANNED_BYTES]
    if media_type == "text/css":
        labels = _CSS.findall(head)
    elif media_type in ("text/html", "application/xhtml+xml"):
        labels = [*_meta_labels(head), *_XML.findall(head)]
    else:
        labels = _XML.findall(head)
    codec = next(filter(None, (codec_of(label.decode("ascii", "replace")) for label in labels)), "")
    # A declaration that could be read as ASCII cannot be in UTF-16.
    return "utf-8" if codec.startswith("utf-16") else codec


def fails(body: bytes, codec: str) -> bool:
    """Return whether most of what is no ASCII in the beginning of a body means nothing in an encoding.

    A body in UTF-16 has NUL bytes. One that was cut within a character is none the worse for it.
    """
    head = body[:_CHECKED_BYTES]
    if codec.startswith("utf-16"):
        return b"\0" not in head
    faults, valid = _counts(head, codec)
    return faults > valid


def believed(body: bytes, codecs: Iterable[str]) -> str:
    """Return the first of the declared encodings that the body does not speak against, "" if there is none.

    If all that it has against the first one is a few bytes, that is returned, as in browsers.
    """
    named = [
        codec for codec in dict.fromkeys(codecs) if codec and not (codec.startswith("utf-16") and fails(body, codec))
    ]
    fit = next((codec for codec in named if not fails(body, codec)), "")
    if fit or not named:
        return fit
    return named[0] if _counts(body[:_CHECKED_BYTES], named[0])[0] < _MANY_FAULTS else ""


def guessed(body: bytes, top_level_domain: str = "") -> str:
    """Return UTF-8 if the bytes are that, cut off or not, or but for a few; else what their statistics say.

    It is windows-1252 where these lead to an encoding in which the body means nothing. ISO-2022-JP is ASCII as well,
    and told by its escape sequences. What is usual under the top-level domain counts for something.
    """
    if (wide := next((codec for pattern, codec in _UTF_16 if pattern.match(body)), "")) or body.isascii():
        return wide or _of_escapes(body)
    if not (counts := _counts(body, "utf-8"))[0] or counts[1] >= _VALID_FOR_A_FAULT * counts[0]:
        return "utf-8"
    found = _detected(body, top_level_domain)
    return "windows-1252" if not found or fails(body, found) else found


def _of_escapes(body: bytes) -> str:
    found = _detected(body, "") if b"\x1b" in body else ""
    return found if found.startswith("iso2022") and not fails(body, found) else "utf-8"


def _detected(body: bytes, top_level_domain: str) -> str:
    first = _UNUSUAL.search(body)
    begin = max(first.start() - _BEFORE, 0) if first else 0
    detector = EncodingDetector()
    # It is not told that the sample has an end, since that may lie within a character.
    detector.feed(body[begin : begin + _DETECTED_BYTES], last=False)
    known = re.fullmatch(r"[a-z0-9-]+", top_level_domain)
    found = codec_of(detector.guess(tld=known[0].encode() if known else None, allow_utf8=False))
    return "cp874" if found.startswith("gb18030") and _is_thai(body[begin : begin + _DETECTED_BYTES]) else found


def _is_thai(sample: bytes) -> bool:
    """Return whether bytes, which may be Chinese as well, are Thai: each of its signs stands where it can."""
    text = sample.decode("cp874", "replace")
    is_long = len(_THAI.findall(text)) >= _MIN_THAI
    return is_long and "\ufffd" not in text and not _ORPHAN.search(text)


def _counts(body: bytes, codec: str) -> tuple[int, int]:
    """Return how many sequences of bytes mean nothing in an encoding, and how many characters are no ASCII."""
    try:
        getincrementaldecoder(codec)().decode(body)
    except UnicodeDecodeError:
        text = getincrementaldecoder(codec)("replace").decode(body)
        faults = text.count("\ufffd")
        return faults, len(text) - faults - len(text.encode("ascii", "ignore"))
    return 0, 0


def _meta_labels(head: bytes) -> list[bytes]:
    labels: list[bytes] = []
    for attributes in _META.findall(_COMMENT.sub(b"", head)):
        pragma = b"http-equiv" in attributes.lower()
        own = attributes if pragma else _META_CONTENT.sub(b"", attributes)
        labels.extend(_CHARSET.findall(own))
    return labels
