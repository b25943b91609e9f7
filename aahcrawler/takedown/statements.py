"""Reads which captures the statements of a crawl are about; what is damaged is passed over."""

import re
from collections.abc import Iterator
from pathlib import Path

from aahcrawler.archive.gzip_members import MemberError, members
from aahcrawler.layout import NQUADS, OBJECTS
from aahcrawler.segments import segments

STATEMENTS = b"<"
"""What the text of each member of statements begins with."""
_CAPTURED = re.compile(
    rb'^<(?P<capture>[^<>\s]+)> <https://schema\.org/url> "(?P<url>[^"\\\n]+)"[^\n]* <(?P=capture)> \.$', re.MULTILINE
)


def statements(crawl: Path) -> Iterator[bytes]:
    """Yield the statements of each capture, of those that can be read. Raise ``OSError``."""
    for path in segments(crawl / OBJECTS, NQUADS):
        with path.open("rb") as file:
            for member in members(file, 0, STATEMENTS):
                try:
                    text = b"".join(iter(member.read, b""))
                except MemberError:
                    continue
                yield text


def captures_told(crawl: Path) -> Iterator[tuple[str, str]]:
    """Yield id and URL of each capture that statements are about."""
    for text in statements(crawl):
        yield from captures_in(text)


def captures_in(text: bytes) -> Iterator[tuple[str, str]]:
    """Yield id and URL of the captures that a text of statements tells of, which may be cut off anywhere."""
    for found in _CAPTURED.finditer(text):
        yield found["capture"].decode("utf-8", "replace"), found["url"].decode("utf-8", "replace")


def graph(line: bytes) -> str:
    """Return the id of the capture that a statement is of, empty where it says none."""
    return line.rpartition(b"<")[2].partition(b">")[0].decode("utf-8", "replace")
