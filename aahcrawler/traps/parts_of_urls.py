"""Take a URL apart: its parameters by their names, its path by the places of its segments."""

import re
from collections.abc import Sequence

_SEPARATOR = re.compile("([/?&;])")
_RUN = re.compile(r"[0-9A-Za-z_.,!~*%-]{16,}")
_LONGEST = 256
_MIXED = re.compile(r"[0-9][A-Za-z]|[A-Za-z][0-9]")
_MARKS = re.compile(r"[_.,!~*-]|%[0-9A-Fa-f]{2}")
_HOST = 4
"""The place of the host."""
_SHORTEST = 16
"""Letters and digits of an id: PHP writes 22 at least, servlets 32."""
_LONGEST_WORD = 20
"""Letters of a word, beyond which it is an id that happens to have no digit."""


def parts(url: str) -> Sequence[tuple[str, str]]:
    """Return the parts of a URL with a name each, which make it up again one behind the other.

    Parameters are called ``?name``, those within the path ``;name``, and segments of the path by their place. The host,
    and what stands between the parts, have no name.

    >>> [each for each in parts("http://a.test/x;v=1?q=2") if each[0]][-3:]
    [('6', 'x'), (';v', '1'), ('?q', '2')]
    """
    named: list[tuple[str, str]] = []
    is_query, before = False, ""
    for place, text in enumerate(_SEPARATOR.split(url)):
        name, mark, value = text.partition("=") if is_query or before == ";" else ("", "", "")
        if mark:
            named += (("", name + mark), (f"{'?' if is_query else ';'}{name}", value))
        else:
            named.append((f"{place}" if place > _HOST and place % 2 == 0 else "", text))
        is_query, before = is_query or text == "?", text
    return named


def is_long(text: str) -> bool:
    """Return whether a part has the length of an id, and none but its letters."""
    return _SHORTEST <= len(text) <= _LONGEST and _RUN.fullmatch(text) is not None


def is_id(text: str) -> bool:
    """Return whether a part has the length and the alphabet of a session's id, which those of content may have too.

    >>> is_id("q1v8m2k0c7d5s9t3b6n4x1z0a2"), is_id("20010320"), is_id("the-storm-of-2001-in-pictures")
    (True, False, False)
    """
    if not is_long(text):
        return False
    if _MIXED.search(text) is None:
        return text.isdigit() or (text.isalpha() and len(text) >= _LONGEST_WORD)
    pieces = _MARKS.split(text)
    mixed = sum(len(piece) for piece in pieces if not (piece.isalpha() or piece.isdigit()))
    return sum(map(len, pieces)) >= _SHORTEST and 2 * mixed >= sum(map(len, pieces))


def may_hold_id(text: str) -> bool:
    """Return whether a URL, or a reference as a page has it, may hold an id: a quick look, which is right where not.

    >>> may_hold_id("/a?b=1"), may_hold_id("/a?b=0123456789abcdef")
    (False, True)
    """
    return _RUN.search(text) is not None and any(map(is_id, _RUN.findall(text)))
