"""Percent-encode text for URLs in the encoding of a document (WHATWG URL, "percent-encode after encoding").

Encodings are named by the Python codecs that decode their documents (``aahcrawler.page.markup``); text that such a
codec has decoded is encoded back to the original bytes. Python's encoders for Japanese and Chinese differ from the
Encoding standard and are corrected here.
"""

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Final

GBK: Final = "gb18030"
"""The codec of documents in GBK, which are decoded as GB 18030."""
GB18030: Final = "gb18030-2000"
"""The same codec under another name, for documents in GB 18030, which encodes more characters than GBK."""

EUC_JP: Final = "euc_jis_2004"
ISO_2022_JP: Final = "iso2022_jp_ext"
"""Codecs that decode more characters than Python's of the plain names, as browsers do."""

_BEYOND_ASCII: Final = re.compile(r"[^\x00-\x7f]")
_LINE_SIGNS: Final = str.maketrans("", "", "\t\n\r")
_CONTROLS: Final = "".join(map(chr, range(0x21)))
_QUERY_KEEPS: Final = frozenset(range(0x21, 0x7F)) - frozenset(b"\"#<>'")
_FORM_KEEPS: Final = frozenset(b"*-._0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")
_IN_QUERY: Final = tuple(chr(byte) if byte in _QUERY_KEEPS else f"%{byte:02X}" for byte in range(256))
_IN_FORM: Final = tuple(
    "+" if byte == 0x20 else chr(byte) if byte in _FORM_KEEPS else f"%{byte:02X}" for byte in range(256)
)

_ROW: Final = 94
_EUDC: Final = range(8_836, 10_716)
"""Pointers of the index JIS X 0208 for private use; nothing is encoded to them."""
_NEC_COPIES: Final = range(8_272, 8_836)
"""Pointers to which Shift_JIS does not encode, since their characters have others."""
_JIS_TWINS: Final = dict(zip("\u2212\u301c\u2016\xa2\xa3\xac", "\uff0d\uff5e\u2225\uffe0\uffe1\uffe2", strict=True))
"""Characters as Python decodes them from EUC-JP and ISO-2022-JP, and as the standard does."""
_ONE_BYTE_JIS: Final = {"\xa5": b"\x5c", "\u203e": b"\x7e"}
_FIRST_KATAKANA, _LAST_KATAKANA = 0xFF61, 0xFF9F
_SOUND_MARKS: Final = {"\uff9e": "\u309b", "\uff9f": "\u309c"}
_TO_ASCII, _TO_ROMAN, _TO_JIS = b"\x1b(B", b"\x1b(J", b"\x1b$B"
_SHIFTS: Final = "\x0e\x0f\x1b"

_LACKING: Final[Mapping[str, Mapping[str, bytes]]] = {
    "koi8-u": {"\u045e": b"\xae", "\u040e": b"\xbe"},
    "windows-1255": {"\u05ba": b"\xca"},
}
"""Characters of the standard's single-byte encodings that Python's codecs lack."""


def in_encoding(reference: str, codec: str) -> str:
    """Percent-encode the non-ASCII characters in the query of a reference, in a document's encoding.

    A character that the encoding lacks becomes a numeric character reference. Nothing else is changed, since all other
    parts of a URL are in UTF-8.

    >>> in_encoding("/ключ?q=маяк#маяк", "windows-1251")
    '/ключ?q=%EC%E0%FF%EA#маяк'
    >>> in_encoding("?q=海", "windows-1251")
    '?q=%26%2328023%3B'
    """
    whole, sign, fragment = reference.partition("#")
    path, mark, query = whole.partition("?")
    if query.isascii() or codec.startswith("utf-"):
        return reference
    query = query.translate(_LINE_SIGNS)
    written = _percent_encoded(query if sign else query.rstrip(_CONTROLS), codec, in_form=False)
    return f"{path}{mark}{written}{sign}{fragment}"


def in_utf8(reference: str) -> str:
    """Percent-encode all non-ASCII characters of a reference in UTF-8, as browsers do for references in style sheets.

    >>> in_utf8("/é.png?é")
    '/%C3%A9.png?%C3%A9'
    """
    return reference if reference.isascii() else _percent_encoded(reference, "utf-8", in_form=False)


def in_form(text: str, codec: str) -> str:
    """Encode a name or value of a form for sending as ``application/x-www-form-urlencoded``.

    >>> in_form("a b~é", "windows-1252"), in_form("é", "utf-8")
    ('a+b%7E%E9', '%C3%A9')
    """
    return _percent_encoded(text, "utf-8" if codec.startswith("utf-16") else codec, in_form=True)


def _percent_encoded(text: str, codec: str, *, in_form: bool) -> str:
    if codec == ISO_2022_JP:
        return "".join(_written(piece, in_form=in_form) for piece in _iso_2022_jp(text))
    if in_form:
        return "".join(_letter(each, codec, in_form=True) for each in text)
    return _BEYOND_ASCII.sub(lambda match: _letter(match[0], codec, in_form=False), text)


@lru_cache(maxsize=16_384)
def _letter(letter: str, codec: str, *, in_form: bool) -> str:
    encoded = _ENCODERS[codec](letter) if codec in _ENCODERS else _single(letter, codec)
    return _written(letter if encoded is None else encoded, in_form=in_form)


def _written(piece: bytes | str, *, in_form: bool) -> str:
    """Percent-encode bytes; a string is a character that the encoding lacks, and becomes a character reference."""
    if isinstance(piece, bytes):
        return "".join(map((_IN_FORM if in_form else _IN_QUERY).__getitem__, piece))
    number = 0xFFFD if "\ud800" <= piece <= "\udfff" else ord(piece)
    return f"%26%23{number}%3B"


# The encoders. Each returns the bytes of one character, None for one that the encoding does not have.


def _single(letter: str, codec: str) -> bytes | None:
    """Encode a character by Python's codec; a control character that the codec lacks is encoded as its own byte."""
    encoded = _encoded(letter, codec) or _LACKING.get(codec, {}).get(letter)
    if encoded is None and codec.startswith(("windows-", "cp874")) and "\x80" <= letter <= "\x9f":
        return letter.encode("latin-1")
    return encoded


def _encoded(letter: str, codec: str) -> bytes | None:
    try:
        return letter.encode(codec)
    except UnicodeEncodeError:
        return None if codec != "utf-8" else "\ufffd".encode()  # For half a surrogate pair.


def _gb18030(letter: str) -> bytes | None:
    if letter == "\ue5e5":
        return None
    return b"\xa8\xbc" if letter == "\u1e3f" else _encoded(letter, GB18030)


def _gbk(letter: str) -> bytes | None:
    encoded = b"\x80" if letter == "\u20ac" else _gb18030(letter)
    return encoded if encoded is not None and len(encoded) <= 2 else None


def _big5(letter: str) -> bytes | None:
    """Encode a character in Big5 without the Hong Kong extensions, which the standard only decodes."""
    found = (_encoded(letter, codec) for codec in ("big5hkscs", "cp950"))
    return next((each for each in found if each is not None and (len(each) == 1 or each[0] >= 0xA1)), None)


def _shift_jis(letter: str) -> bytes | None:
    if letter <= "\x80":
        return letter.encode("latin-1")
    if _FIRST_KATAKANA <= ord(letter) <= _LAST_KATAKANA:
        return bytes((ord(letter) - _FIRST_KATAKANA + 0xA1,))
    place = _jis_places()[1].get("\uff0d" if letter == "\u2212" else letter)
    return _ONE_BYTE_JIS.get(letter) if place is None else _shift_jis_bytes(place)


def _euc_jp(letter: str) -> bytes | None:
    if letter <= "\x7f":
        return letter.encode("latin-1")
    if _FIRST_KATAKANA <= ord(letter) <= _LAST_KATAKANA:
        return bytes((0x8E, ord(letter) - _FIRST_KATAKANA + 0xA1))
    place = _jis_place(letter)
    return _ONE_BYTE_JIS.get(letter) if place is None else bytes((place // _ROW + 0xA1, place % _ROW + 0xA1))


def _iso_2022_jp(text: str) -> Iterator[bytes | str]:
    """Yield the bytes of a text, and as a string each character that the encoding lacks (Encoding, section 12.2.2)."""
    state = _TO_ASCII
    for letter in text:
        wanted, encoded = _iso_2022_jp_letter(letter, state)
        if wanted != state:
            state = wanted
            yield state
        yield encoded
    if state != _TO_ASCII:
        yield _TO_ASCII


def _iso_2022_jp_letter(letter: str, state: bytes) -> tuple[bytes, bytes | str]:
    """Return the encoder's state for a character, and its bytes; the character itself if the encoding lacks it."""
    if letter in _SHIFTS:
        return (_TO_ASCII if state == _TO_JIS else state), "\ufffd"
    if letter <= "\x7f":
        stays = state == _TO_ROMAN and letter not in "\\~"
        return (state if stays else _TO_ASCII), letter.encode("ascii")
    if letter in _ONE_BYTE_JIS:
        return _TO_ROMAN, _ONE_BYTE_JIS[letter]
    if _FIRST_KATAKANA <= ord(letter) <= _LAST_KATAKANA:
        letter = _SOUND_MARKS.get(letter) or unicodedata.normalize("NFKC", letter)
    place = _jis_place(letter)
    if place is None:
        return (_TO_ASCII if state == _TO_JIS else state), letter
    return _TO_JIS, bytes((place // _ROW + 0x21, place % _ROW + 0x21))


def _jis_place(letter: str) -> int | None:
    return _jis_places()[0].get(_JIS_TWINS.get(letter, letter))


@lru_cache(maxsize=1)
def _jis_places() -> tuple[Mapping[str, int], Mapping[str, int]]:
    """Return two maps from characters to pointers of the index JIS X 0208: all of them, and those for Shift_JIS."""
    first: dict[str, int] = {}
    in_shift_jis: dict[str, int] = {}
    for place in range(120 * _ROW):
        letter = "" if place in _EUDC else _shift_jis_bytes(place).decode("cp932", "ignore")
        if len(letter) == 1:
            first.setdefault(letter, place)
            if place not in _NEC_COPIES:
                in_shift_jis.setdefault(letter, place)
    return first, in_shift_jis


def _shift_jis_bytes(place: int) -> bytes:
    lead, trail = divmod(place, 2 * _ROW)
    return bytes((lead + (0x81 if lead < 0x1F else 0xC1), trail + (0x40 if trail < 0x3F else 0x41)))


_ENCODERS: Final[Mapping[str, Callable[[str], bytes | None]]] = {
    "big5hkscs": _big5,
    "cp932": _shift_jis,
    EUC_JP: _euc_jp,
    GB18030: _gb18030,
    GBK: _gbk,
}
