"""Files as pages, and PDF files written by hand, right and wrong."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from aahcrawler.page import Headers, Page


@dataclass(frozen=True, slots=True)
class Line:
    """A line of text at a height, and where a link that lies on it leads."""

    y: int
    text: str
    uri: str = ""


def file_page(body: bytes, media_type: str = "", url: str = "http://a.test/file") -> Page:
    """Return a file as a page of that URL."""
    headers = Headers((("Content-Type", media_type),) if media_type else ())
    return Page(url, 200, headers, body, datetime(2026, 5, 1, tzinfo=UTC))


def pdf(*pages: Sequence[Line], title: str = "", created: str = "") -> bytes:
    """Return a PDF file with these pages."""
    objects: list[bytes] = []
    kids, font = [], 3
    said = f"/Title ({title})" if title else ""
    said += f"/CreationDate ({created})" if created else ""
    number = 5
    for lines in pages:
        kids.append(number)
        contents, links = number + 1, number + 2
        text = "".join(f"BT /F1 12 Tf 72 {line.y} Td ({line.text}) Tj ET\n" for line in lines).encode("latin-1")
        notes = "".join(
            f"<</Type/Annot/Subtype/Link/Rect[70 {line.y - 3} 300 {line.y + 10}]/A<</S/URI/URI({line.uri})>>>>"
            for line in lines
            if line.uri
        )
        objects += [
            f"<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents {contents} 0 R/Annots {links} 0 R"
            f"/Resources<</Font<</F1 {font} 0 R>>>>>>".encode(),
            b"<</Length %d>>stream\n%s\nendstream" % (len(text), text),
            f"[{notes}]".encode("latin-1"),
        ]
        number += 3
    head = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        f"<</Type/Pages/Count {len(kids)}/Kids[{' '.join(f'{kid} 0 R' for kid in kids)}]>>".encode(),
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>",
        f"<<{said}>>".encode(),
    ]
    return written([*head, *objects])


def written(objects: Sequence[bytes]) -> bytes:
    """Return a file of these objects; the first is the catalogue, the fourth says what the file is."""
    body, places = b"%PDF-1.4\n", []
    for number, content in enumerate(objects, 1):
        places.append(len(body))
        body += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    trailer = b"<</Size %d/Root 1 0 R/Info 4 0 R>>" % (len(objects) + 1)
    start = len(body)
    head = b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    return body + head + table + b"trailer\n" + trailer + b"\nstartxref\n%d\n%%%%EOF\n" % start
