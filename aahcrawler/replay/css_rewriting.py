"""Replaces the URLs in style sheets, tokenising them as browsers do (CSS Syntax, level 3)."""

import re
from collections.abc import Callable
from typing import Final

from aahcrawler.replay.addresses import Modifier

MAX_READ: Final = 4_000_000
"""Characters of a style sheet that are read; what follows is left out."""

Rewrite = Callable[[str, Modifier], str | None]
"""Returns the replacement of a URL as the style sheet writes it; None where it is to be removed."""

# Possessive, and none fails once begun, so that a scan is linear. What has no meaning here is one token, however long:
# names that no parenthesis follows, blanks, signs.
_ESC = r"\\(?:[0-9a-fA-F]{1,6}\s?+|[^\n0-9a-fA-F])"
_NAME = rf"(?:[\w\-\x80-\U0010ffff]++|{_ESC})++"
_TOKEN: Final = re.compile(
    rf"""
    (?P<plain>(?:[^"'/\\@()<{{}};\w\-\x80-\U0010ffff]++|[\w\-\x80-\U0010ffff]++(?![(\\]))++)
    |(?P<comment>/\*(?:[^*]++|\*(?!/))*+(?:\*/)?+)
    |(?P<string>"(?:[^"\\\n]++|\\[\s\S])*+(?:["\\]|(?=\n)|$)|'(?:[^'\\\n]++|\\[\s\S])*+(?:['\\]|(?=\n)|$))
    |@(?P<at>{_NAME})
    |(?P<function>{_NAME})\(
    |(?P<name>{_NAME})
    |(?P<sign>[\s\S])
    """,
    re.VERBOSE,
)
_URL_END: Final = re.compile(rf"\s*+((?:[^\s\"'()\\]++|{_ESC})*+)\s*+(\)|$)")
_BAD_URL: Final = re.compile(rf"(?:[^)\\]++|{_ESC}|\\)*+\)?+")
_BLANKS: Final = re.compile(r"\s*+")
_ESCAPE: Final = re.compile(r"\\(?:([0-9a-fA-F]{1,6})\s?|(\n)|([\s\S])|$)")
_UNSAFE: Final = re.compile(r"[^!#-%'*-;=?-\[\]-~]")
_LINE_ENDS: Final = re.compile(r"\r\n?|\f")
_SETS: Final = frozenset({"image-set", "-webkit-image-set", "image"})
"""Functions whose string arguments are URLs."""
_SOURCES: Final = frozenset({"url", "src", "url-prefix"})


def rewrite_css(css: str, rewrite: Rewrite) -> str:
    r"""Return a style sheet, or a style attribute's value, with each URL replaced by what ``rewrite`` returns.

    The result has no ``<`` before a name, so that it is safe in a ``style`` element, and no comments.

    >>> rewrite_css("a { b: u\\72l( x.png ) } /* y */", lambda url, _: f"/{url}")
    'a { b: url("/x.png") } '
    """
    return _Sheet(css, rewrite).rewritten()


class _Sheet:
    """One pass over a style sheet."""

    def __init__(self, css: str, rewrite: Rewrite) -> None:
        self._css = _LINE_ENDS.sub("\n", css[:MAX_READ]).replace("\0", "\ufffd")
        self._rewrite = rewrite
        self._at = 0
        self._out: list[str] = []
        self._open: list[str] = []
        self._rule = ""

    def rewritten(self) -> str:
        """Return the whole rewritten style sheet."""
        while (match := _TOKEN.match(self._css, self._at)) is not None:
            self._at = match.end()
            self._take(match.lastgroup or "", match[match.lastgroup or 0])
        return "".join(self._out)

    def _take(self, kind: str, text: str) -> None:
        match kind:
            case "string":
                self._string(text)
            case "function":
                self._function(text)
            case "at":
                self._rule = _unescaped(text).lower()
                self._out.append(f"@{_harmless(text)}")
            case "sign":
                self._sign(text)
            case "comment":
                # Names on both sides of a comment are separate tokens.
                self._out.append("/**/" if self._out and self._out[-1][-1:].strip() else "")
            case _:
                self._out.append(_harmless(text))

    def _string(self, token: str) -> None:
        text = unquoted(token)
        if self._rule == "import" and not self._open:
            self._url(text, Modifier.STYLE)
        elif self._open and self._open[-1] in _SETS:
            self._url(text, Modifier.IMAGE, function="")
        else:
            self._out.append(_quoted(text))

    def _function(self, written: str) -> None:
        name = _unescaped(written).lower()
        if name not in _SOURCES:
            self._open.append(name)
            self._out.append(f"{_harmless(written)}(")
            return
        modifier = Modifier.STYLE if self._rule == "import" and not self._open else Modifier.IMAGE
        begin = _blanks(self._css, self._at)
        if self._css[begin : begin + 1] not in ('"', "'"):
            self._unquoted_url(modifier)
            return
        string = _TOKEN.match(self._css, begin)
        if string is not None and string["string"]:
            # What may follow are modifiers of the request, which nobody needs.
            end = _BAD_URL.match(self._css, string.end())
            self._at = end.end() if end else string.end()
            self._url(unquoted(string["string"]), modifier)

    def _unquoted_url(self, modifier: Modifier) -> None:
        match = _URL_END.match(self._css, self._at)
        if match is None:
            bad = _BAD_URL.match(self._css, self._at)
            self._at = bad.end() if bad else self._at
            self._out.append('url("")')
            return
        self._at = match.end()
        self._url(_unescaped(match[1]), modifier)

    def _url(self, url: str, modifier: Modifier, function: str = "url") -> None:
        if self._rule == "namespace":
            self._out.append(f'{function}("")')
            return
        # A reference to a part of the page itself, as in SVG, makes no request.
        replaced = url if url.startswith("#") else self._rewrite(url, modifier)
        quoted = _quoted(replaced or "")
        self._out.append(f"{function}({quoted})" if function else quoted)

    def _sign(self, sign: str) -> None:
        if sign == "(":
            self._open.append("")
        elif sign == ")":
            del self._open[-1:]
        elif sign in "{};":
            # Whatever is open ends with the block it stands in; that of an import's conditions is none.
            self._rule = ""
            if sign != ";":
                self._open.clear()
        self._out.append("< " if sign == "<" and not self._css.startswith("=", self._at) else sign)


def unquoted(token: str) -> str:
    """Return the text of a string token, whose end may be missing."""
    inner = token[1:]
    if inner.endswith(token[0]) and not _ends_escaped(inner):
        inner = inner[:-1]
    return _unescaped(inner)


def _harmless(name: str) -> str:
    """Return a name in which no escape can begin a tag."""
    return name.replace("\\<", "\\3c ")


def _ends_escaped(inner: str) -> bool:
    before = inner[:-1]
    return (len(before) - len(before.rstrip("\\"))) % 2 == 1


def _unescaped(text: str) -> str:
    return _ESCAPE.sub(_meant, text) if "\\" in text else text


def _meant(match: re.Match[str]) -> str:
    if match[1]:
        code = int(match[1], 16)
        return chr(code) if 0 < code < 0x110000 and not 0xD800 <= code < 0xE000 else "\ufffd"
    return match[3] or ""


def _quoted(text: str) -> str:
    """Return a string token that escapes everything except letters and plain ASCII, so that it is safe anywhere."""
    return '"' + _UNSAFE.sub(_escaped, text) + '"'


def _escaped(match: re.Match[str]) -> str:
    sign = match[0]
    return sign if sign == " " or (sign >= "\xa0" and sign.isprintable()) else f"\\{ord(sign):x} "


def _blanks(text: str, at: int) -> int:
    match = _BLANKS.match(text, at)
    return match.end() if match else at
