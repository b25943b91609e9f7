"""The columns of CDX and CDXJ lines, from servers and in files."""

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

_SEVEN: Final = ("urlkey", "timestamp", "url", "mime", "status", "digest", "length")
_NINE: Final = (*_SEVEN[:6], "redirect", "offset", "filename")
_TEN: Final = (*_SEVEN[:6], "redirect", "robotflags", "offset", "filename")
_ELEVEN: Final = (*_SEVEN[:6], "redirect", "robotflags", "length", "offset", "filename")
_ORIGINAL: Final = ("orig.length", "orig.offset", "orig.filename")
"""What servers that resolve revisits write behind a line."""
_COLUMNS: Final = {len(each): each for plain in (_NINE, _TEN, _ELEVEN) for each in (plain, (*plain, *_ORIGINAL))} | {
    len(_SEVEN): _SEVEN
}
"""The columns of plain listings by their number, as pywb tells them apart.

Seven are those of the Wayback Machine, the others the formats ``N b a m s k r V g``, with ``M`` and with ``M S``.
"""
_LETTERS: Final = {
    "N": "urlkey", "b": "timestamp", "a": "url", "m": "mime", "s": "status", "k": "digest", "r": "redirect",
    "M": "robotflags", "S": "length", "V": "offset", "g": "filename",
}  # fmt: skip
"""What the letters of the first line of a CDX file stand for (https://archive.org/web/researcher/cdx_legend.php)."""
_LEGEND: Final = re.compile(r"\s?CDX((?: [A-Za-z])+)\s*")


def legend(line: str) -> Sequence[str] | None:
    """Return the column names given by the first line of a CDX file; None for any other line.

    >>> legend(" CDX N b a m s k r M S V g")[:3]
    ['urlkey', 'timestamp', 'url']
    """
    found = _LEGEND.fullmatch(line.rstrip("\r\n"))
    return None if found is None else [_LETTERS.get(letter, letter) for letter in found[1].split()]


def fields_of(line: str, named: Sequence[str]) -> Mapping[str, Any]:
    """Return the fields of a line by name: a JSON object, CDXJ, or columns, named by ``named`` if that is not empty."""
    written = re.fullmatch(r"(?:(\S+) (\d{1,14}) )?(\{.*\})\s*", line)
    if written is not None:
        with suppress(ValueError, RecursionError):
            said = json.loads(written[3])
            return {"timestamp": written[2], **said} if written[2] and isinstance(said, dict) else said
        return {}
    columns = line.split()
    names = named if len(named) == len(columns) else _COLUMNS.get(len(columns), ())
    return dict(zip(names, columns, strict=False))
