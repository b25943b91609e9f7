"""Write XHTML as HTML means it, for a parser of HTML: it need not be well-formed."""

import re
from collections.abc import Iterator

_EMPTY_ELEMENT = re.compile(
    rb"<(?!(?:area|base|br|col|embed|hr|img|input|link|meta|param|source|track|wbr)[\s/])"
    rb"""([a-zA-Z][\w:.-]*+)((?:\s[^<>]*?["'\s])?)/>"""
)
"""An element that is empty by its syntax and could be otherwise; a slash may be the end of an unquoted URL."""
_SECTION = re.compile(rb"<!\[CDATA\[|<(script|style)[\s>]", re.IGNORECASE)


def as_html(utf_8: bytes, prefix: bytes) -> bytes:
    """Return markup without what HTML has another meaning for: empty elements such as ``<title/>``, CDATA sections.

    CDATA sections in scripts and style sheets are left as they are. ``prefix`` is that of the elements of HTML, empty
    where they have none; it is left out.
    """
    plain = _without_prefix(utf_8, prefix) if prefix else utf_8
    return b"".join(_without_cdata(_EMPTY_ELEMENT.sub(rb"<\1\2></\1>", plain)))


def _without_prefix(utf_8: bytes, prefix: bytes) -> bytes:
    return re.sub(rb"<(/?)" + re.escape(prefix) + rb":(?=[a-zA-Z])", rb"<\1", utf_8)


def _without_cdata(utf_8: bytes) -> Iterator[bytes]:
    at = 0
    while (section := _SECTION.search(utf_8, at)) is not None:
        end = utf_8.find(b"]]>" if section[1] is None else b"</" + section[1], section.end())
        if end < 0:
            break
        if section[1] is None:
            yield utf_8[at : section.start()]
            yield utf_8[section.end() : end].replace(b"&", b"&amp;").replace(b"<", b"&lt;")
            at = end + len(b"]]>")
        else:
            yield utf_8[at:end]
            at = end
    yield utf_8[at:]
