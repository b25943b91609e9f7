"""The text and the links of a file that somebody hands over: text, HTML, PDF, DOCX, ODT or EPUB."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from lxml import etree

from aahcrawler import urls
from aahcrawler.documents.reader import DocumentReader, is_document
from aahcrawler.page import Headers, Page, sniff
from online_analysis.icd import plain_text

LARGEST: Final = 50_000_000
_MOST_LINKS: Final = 5_000


@dataclass(frozen=True, slots=True)
class GivenText:
    """The text of a file and the web addresses that it links to; ``problem`` says why there is less than there may be.

    It is empty where all was read.
    """

    text: str
    links: tuple[str, ...] = ()
    problem: str = ""


def given_text(body: bytes, media_type: str, reader: DocumentReader) -> GivenText:
    """Return the text of a file; ``media_type`` is what its sender says of it, and may be empty or wrong.

    Never raises, whatever the file holds. Documents are read by the reader's process, in bounded time.
    """
    if len(body) > LARGEST:
        return GivenText("", (), f"the file is larger than {LARGEST:,} bytes")
    headers = Headers((("Content-Type", media_type),) if media_type else ())
    page = Page("http://file.invalid/", 200, headers, body, datetime.now(UTC))
    if is_document(page):
        return _of_document(body, reader)
    if page.is_html or sniff(body, media_type) == "text/html":
        return GivenText(plain_text(body, html=True), _links(page))
    if b"\0" in body[:100_000] and not body.startswith((b"\xff\xfe", b"\xfe\xff")):
        return GivenText("", (), "the file is neither text nor HTML, PDF, DOCX, ODT or EPUB")
    return GivenText(plain_text(body, html=False))


def _of_document(body: bytes, reader: DocumentReader) -> GivenText:
    found = reader.read(body)
    text = "\n\n".join(filter(None, (found.title, *(sheet.text for sheet in found.sheets))))
    links = dict.fromkeys(link.address for sheet in found.sheets for link in sheet.links)
    problem = ""
    if found.encrypted:
        problem = "the document is encrypted"
    elif not text.strip():
        problem = "the document holds no text"
    elif not found.complete:
        problem = "the document was not read to its end"
    return GivenText(text, tuple(links)[:_MOST_LINKS], problem)


def _links(page: Page) -> tuple[str, ...]:
    """Return where an HTML file links to on the web; what it links to beside itself is none of that."""
    try:
        found = page.tree.xpath("//a/@href")
    except (etree.XPathError, ValueError):
        return ()
    addresses = (urls.canonicalize(str(each).strip()) for each in found[: 2 * _MOST_LINKS])
    return tuple(dict.fromkeys(each for each in addresses if each))[:_MOST_LINKS]
