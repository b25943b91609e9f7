"""Header lines of ARC records, versions 1 and 2 (archive.org, "Arc File Format", 1996).

warcio's loader reads the five fields of version 1 alone, and takes those of version 2 for parts of the URL.
"""

import re
from dataclasses import dataclass
from typing import Final

FILE: Final = "filedesc://"
"""How the URL of the record begins that describes an ARC file."""
_URL: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:\S")
_MIDDLE: Final = re.compile(r" ([0-9]{1,3}(?:\.[0-9]{1,3}){3}|[0-9A-Fa-f.]*:[0-9A-Fa-f:.]{2,44}) (\d{8,20}) ")
"""Address and date: URLs and media types may hold blanks, and what follows differs between the versions."""


@dataclass(frozen=True, slots=True)
class ArcHeader:
    """What the header line of an ARC record says, as it is written there."""

    line: str
    url: str
    address: str
    date: str
    media_type: str
    length: str

    @property
    def describes_file(self) -> bool:
        """Whether the record describes the ARC file."""
        return self.url.startswith(FILE)


def arc_header(line: bytes) -> ArcHeader | None:
    """Return what the header line of a record says, None where it is none."""
    text = line.strip(b"\r\n\t ").decode("utf-8", "replace")
    middle = _MIDDLE.search(text)
    if middle is None or not _URL.match(text):
        return None
    media_type, _, rest = text[middle.end() :].partition(" ")
    length = rest.rpartition(" ")[2]
    return ArcHeader(text, text[: middle.start()], middle[1], middle[2], media_type.rstrip(";"), length)
