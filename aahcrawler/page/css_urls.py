"""Find the URLs in style sheets, by the grammar of CSS."""

import re
from collections.abc import Iterator
from typing import Final

from aahcrawler.query_encoding import in_utf8

# Tokens of CSS Syntax Level 3; possessive, and none fails once begun, so that a scan is linear.
_STRING = r""""(?:[^"\\\n]++|\\[\s\S])*+["\\]?+|'(?:[^'\\\n]++|\\[\s\S])*+['\\]?+"""
_COMMENT = r"/\*(?:[^*]++|\*(?!/))*+(?:\*/)?+"
_UNQUOTED = r"(?:[^\s\"'()\\]++|\\(?:[0-9a-fA-F]{1,6}\s?+|[\s\S]))*+"
_URL = rf"(?<![\w-])url\(\s*+({_STRING}|{_UNQUOTED})"
_URL_OR_SRC = rf"(?<![\w-])(?:url\(\s*+|src\(\s*+(?=[\"']))({_STRING}|{_UNQUOTED})"


def _grammar(url: str, more: str = "") -> re.Pattern[str]:
    imports = rf"(@import)(?:\s++|{_COMMENT})*+(?:{url}|({_STRING}))"
    return re.compile(rf"{_COMMENT}|@namespace\b[^;]*+|{imports}|{url}{more}|{_STRING}", re.IGNORECASE)


_CSS = _grammar(_URL)
_CSS_WITH_MORE = _grammar(_URL_OR_SRC, r"|(?<![\w-])(?:-webkit-)?(image-set\()")
"""The grammar of style sheets with functions that few have: it takes longer."""
_IMAGE_SET: Final = 5
"""The group of the latter that matches where an ``image-set()`` begins."""
_IN_SET = re.compile(rf"{_COMMENT}|{_URL_OR_SRC}\s*+\)?+|({_STRING})|([()])", re.IGNORECASE)
"""What stands within ``image-set()``, where a string is a URL unless it stands within another function."""
_ESCAPE = re.compile(r"\\(?:([0-9a-fA-F]{1,6})\s?|(\n)|(.)|$)")


def css_urls(css: str) -> Iterator[tuple[bool, str]]:
    """Yield whether a URL of a style sheet is that of an imported one, and the URL as written, in their order.

    Their queries are in UTF-8, whatever the style sheet is written in (CSS Values 4). URLs in comments do not count,
    and strings only where they are URLs: in ``@import``, ``src()`` and ``image-set()``. Time is linear.
    """
    lower, at = css.lower(), 0
    grammar = _CSS_WITH_MORE if "image-set(" in lower or "src(" in lower else _CSS
    while match := grammar.search(css, at):
        at = match.end()
        imports, imported_url, imported, shown = match.group(1, 2, 3, 4)
        if match.lastindex == _IMAGE_SET:
            pictures, at = _read_set(css, at)
            yield from ((False, _of_token(each)) for each in pictures)
        elif imports or shown:
            yield bool(imports), _of_token(imported_url or imported or shown or "")


def _read_set(css: str, at: int) -> tuple[list[str], int]:
    """Return the tokens of all pictures of an ``image-set()``, and where it ends."""
    found: list[str] = []
    depth = 1
    while depth and (match := _IN_SET.search(css, at)):
        at = match.end()
        url, text, sign = match.groups()
        depth += {"(": 1, ")": -1}.get(sign, 0)
        token = url or (text if depth == 1 else None)
        found.extend([token] if token else [])
    return found, at if not depth else len(css)


def _of_token(token: str) -> str:
    if token[:1] in ('"', "'"):
        token = token[1:-1] if len(token) > 1 and token[-1] == token[0] else token[1:]
    return in_utf8(_ESCAPE.sub(_unescaped, token))


def _unescaped(match: re.Match[str]) -> str:
    if match[1]:
        code = int(match[1], 16)
        return chr(code) if 0 < code < 0x110000 and not 0xD800 <= code < 0xE000 else "\ufffd"
    return match[3] or ""
