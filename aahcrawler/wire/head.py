"""The head of a response: status line and header lines, read as leniently as browsers read them."""

import re
from dataclasses import dataclass

from aahcrawler.wire.errors import ProtocolError

HEAD_END = re.compile(rb"\n\r?\n")
BLANK = b"\r\n \t"
_BLANKS = " \t\r"
_STATUS_LINE = re.compile(rb"(?:HTTP/(\d{1,3})(?:\.(\d{1,3}))?|ICY)[ \t]+(\d{3})(?!\d)[ \t]*(.*)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class StatusLine:
    """``reason`` is empty where the server sends none."""

    version: tuple[int, int]
    status: int
    reason: str


@dataclass(frozen=True, slots=True)
class Head:
    """``headers`` keeps order and case; a folded value is joined by single spaces; text is ISO 8859-1."""

    line: StatusLine
    headers: tuple[tuple[str, str], ...]

    def elements(self, name: str) -> tuple[str, ...]:
        """Return the comma-separated elements of every field of that name, in lower case, empty ones left out."""
        values = (value for key, value in self.headers if key.lower() == name)
        elements = (element.strip(" \t").lower() for value in values for element in value.split(","))
        return tuple(element for element in elements if element)

    @property
    def keeps_alive(self) -> bool:
        """Return whether the server means to keep the connection open after this response."""
        options = self.elements("connection")
        if "close" in options:
            return False
        return self.line.version >= (1, 1) or "keep-alive" in options


def parse_status_line(line: bytes) -> StatusLine | None:
    """Read a status line without its line end; None if it is not one.

    Any case of ``HTTP``, several blanks, a missing minor version and a missing reason are accepted, and ``ICY``
    (streaming servers) as HTTP/1.0.

    >>> parse_status_line(b"HTTP/1.1 404")
    StatusLine(version=(1, 1), status=404, reason='')
    """
    match = _STATUS_LINE.fullmatch(line)
    if match is None:
        return None
    major, minor, status, reason = match.groups()
    version = (int(major), int(minor or 0)) if major else (1, 0)
    return StatusLine(version, int(status), reason.decode("latin-1").rstrip(_BLANKS))


def parse_head(raw: bytes) -> Head:
    """Read a head that ends with an empty line; lines may end in LF alone.

    Lines without a colon are passed over, as are blanks before a colon. Raise ``ProtocolError`` for an invalid status
    line.
    """
    first, *lines = raw.decode("latin-1").replace("\r\n", "\n").rstrip("\r\n").split("\n")
    line = parse_status_line(first.encode("latin-1"))
    if line is None:
        raise ProtocolError(f"not a status line: {first[:80]!r}")
    headers: list[tuple[str, str]] = []
    folded = False
    for text in lines:
        if text[:1] in {" ", "\t"}:
            if folded:
                name, value = headers[-1]
                headers[-1] = (name, f"{value} {text.strip(_BLANKS)}".strip(_BLANKS))
            continue
        name, colon, value = text.partition(":")
        folded = bool(colon)
        if colon:
            headers.append((name.rstrip(_BLANKS), value.strip(_BLANKS)))
    return Head(line, tuple(headers))
