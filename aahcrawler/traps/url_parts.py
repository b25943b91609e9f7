"""Take a URL apart: its parameters by their names, its path by the places of its segments."""

import re
from collections.abc import Sequence

_SEPARATOR = re.compile("([/?&;])")
_SHAPE = re.compile(r"(?:[0-9A-Za-z_.,!~*-]|%[0-9A-Fa-f]{2}){16,256}")
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


def is_id(text: str) -> bool:
    """Return whether a part has the length and the alphabet of a session's id, which those of content may have too.

    >>> is_id("q1v8m2k0c7d5s9t3b6n4x1z0a2"), is_id("20010320"), is_id("the-storm-of-2001-in-pictures")
    (True, False, False)
    """
    if not _SHAPE.fullmatch(text):
        return False
    pieces = [piece for piece in _MARKS.split(text) if piece]
    core = sum(map(len, pieces))
    if core < _SHORTEST:
        return False
    if len(pieces) == 1:
        return not pieces[0].isalpha() or core >= _LONGEST_WORD
    return not all(piece.isalpha() or piece.isdigit() for piece in pieces)


def may_hold_id(text: str) -> bool:
    """Return whether a URL, or a reference as a page has it, may hold an id: a quick look, which is right where not.

    >>> may_hold_id("/a?b=1"), may_hold_id("/a?b=0123456789abcdef")
    (False, True)
    """
    return any(map(is_id, _SHAPE.findall(text)))
