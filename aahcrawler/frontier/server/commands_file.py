"""Read a file of commands, as servers append them, up to the last command that is whole."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import BinaryIO

Arities = Mapping[str, int]
"""The commands that a server knows, in small letters, with the number of their words; at least, where negative."""
_NUMBER = re.compile(rb"[*$](0|[1-9]\d{0,9})\r\n")
_LONGEST_NUMBER = 16
_LONGEST_NOTE = 1024


def sound_length(path: Path, arities: Arities, size: int) -> int:
    """Return how many of the first bytes of a file are whole commands that a server knows.

    Transactions count as a whole. The file is read once, whatever is in it.
    """
    end, is_open = 0, False
    with path.open("rb") as file:
        while (name := _command(file, size, arities)) is not None and file.tell() <= size:
            if (name == "multi") == is_open and name in ("multi", "exec"):
                break
            is_open = name == "multi" or (is_open and name != "exec")
            if not is_open:
                end = file.tell()
    return end


def _command(file: BinaryIO, size: int, arities: Arities) -> str | None:
    """Return the name of the next command, empty for a note between commands, None where none is whole."""
    start = file.read(1)
    if start == b"#":
        return "" if file.readline(_LONGEST_NOTE).endswith(b"\r\n") else None
    words = _number(start + file.readline(_LONGEST_NUMBER), b"*")
    if not words or (said := _word(file, size)) is None:
        return None
    name = said.decode("latin-1").lower()
    arity = arities.get(name)
    if arity is None or words < abs(arity) or words > arity > 0:
        return None
    return name if all(_word(file, size) is not None for _ in range(words - 1)) else None


def _word(file: BinaryIO, size: int) -> bytes | None:
    length = _number(file.readline(_LONGEST_NUMBER), b"$")
    if length is None or file.tell() + length + 2 > size:
        return None
    word = file.read(length)
    return word if file.read(2) == b"\r\n" else None


def _number(line: bytes, kind: bytes) -> int | None:
    found = _NUMBER.fullmatch(line) if line.startswith(kind) else None
    return int(found[1]) if found else None
