"""Find the encoding of a body: as declared, read as the WHATWG standards do, or guessed."""

import re
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE, getincrementaldecoder

from resiliparse.parse.encoding import detect_encoding, map_encoding_to_html5

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
_DETECTED_BYTES = 131_072

_SUPERSETS = {
    "big5": "big5hkscs",
    "euc_kr": "cp949",
    "gb18030": query_encoding.GB18030,
    "gbk": query_encoding.GBK,
    "iso8859-11": "cp874",
    "shift_jis": "cp932",
}
"""Python's names of the encodings that the standard means by these names."""

_OTHER_LABELS = {"x-mac-cyrillic": "mac-cyrillic", "x-mac-ukrainian": "mac-cyrillic", "x-user-defined": "windows-1252"}


_NAMES = {
    "big5hkscs": "Big5",
    "cp866": "IBM866",
    "cp874": "windows-874",
    "cp932": "Shift_JIS",
    "cp949": "EUC-KR",
    "euc_jp": "EUC-JP",
    "iso2022_jp": "ISO-2022-JP",
    "mac-cyrillic": "x-mac-cyrillic",
    "mac-roman": "macintosh",
    query_encoding.GB18030: "gb18030",
    query_encoding.GBK: "GBK",
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


def guessed(body: bytes) -> str:
    """Return UTF-8 if the bytes are that, cut off or not; else the codec of their statistics, else windows-1252."""
    if body[:1] == b"<" and body[1:2] == b"\0":
        return "utf-16-le"
    if body[:2] == b"\0<":
        return "utf-16-be"
    try:
        getincrementaldecoder("utf-8")().decode(body)
    except UnicodeDecodeError:
        return codec_of(detect_encoding(body, max_len=_DETECTED_BYTES) or "") or "windows-1252"
    return "utf-8"


def _meta_labels(head: bytes) -> list[bytes]:
    labels: list[bytes] = []
    for attributes in _META.findall(_COMMENT.sub(b"", head)):
        pragma = b"http-equiv" in attributes.lower()
        own = attributes if pragma else _META_CONTENT.sub(b"", attributes)
        labels.extend(_CHARSET.findall(own))
    return labels
