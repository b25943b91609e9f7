"""The header of the WARC record that an ARC record becomes."""

from typing import Final

from aahcrawler.archive.records import HTTP_RESPONSE
from aahcrawler.archive.scanning import Header
from aahcrawler.imports.arc_headers import FILE, ArcHeader

ARC_HEADER: Final = "AAH-ARC-Header"
"""The field with the header line of the ARC record, as it stands there."""


def warc_header_of(told: ArcHeader, beginning: bytes) -> Header:
    """Return the fields that an ARC record has as a WARC record, given how its block begins; its id is to be added.

    What has a status line is a response, what describes the file is its ``warcinfo``; anything else, such as answers
    of name servers, is a resource of the media type that the ARC record names.
    """
    kind, media_type = "resource", told.media_type
    if told.describes_file:
        kind = "warcinfo"
    elif beginning.startswith(b"HTTP/"):
        kind, media_type = "response", HTTP_RESPONSE
    target = ("WARC-Filename", told.url.removeprefix(FILE)) if told.describes_file else ("WARC-Target-URI", told.url)
    fields = (
        ("WARC-Type", kind),
        target,
        ("WARC-Date", told.date),
        ("WARC-IP-Address", "" if told.describes_file or told.address == "0.0.0.0" else told.address),  # noqa: S104
        ("Content-Type", "" if media_type == "no-type" else media_type),
        ("Content-Length", told.length),
        (ARC_HEADER, told.line),
    )
    return Header(tuple((name, value) for name, value in fields if value))
