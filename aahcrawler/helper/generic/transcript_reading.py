"""Read documents such as PDF, one part for each of their pages, their links, and what they declare of themselves."""

from aahcrawler.helper.assistance import Assistance
from aahcrawler.helper.links.link_collection import LinkCollector
from aahcrawler.helper.links.navigation import Links
from aahcrawler.page import Page, generic
from aahcrawler.page.text import fold
from aahcrawler.page.transcript import Transcript
from aahcrawler.urls import resolve
from aahcrawler.webobject import Person, Reference, Value, WebObject
from online_analysis.document import Document, DocumentPart, Outlink

MOST_LINKS = 2_000
_SAMPLE = 600


def read(page: Page, transcript: Transcript, links: Links) -> Assistance:
    """Return a document as an object, its text and its links; junk is refused, as on pages."""
    parts: list[DocumentPart] = []
    listing = LinkCollector(links.sites)
    for sheet in transcript.sheets:
        text = fold(sheet.text)
        at = len(parts) if text else None
        if text:
            parts.append(DocumentPart("content", text))
        for link in sheet.links:
            url = resolve(page.url, link.address)
            if url is not None and len(listing.outlinks) < MOST_LINKS:
                listing.add(Outlink(url, link.anchor, link.context, at))
    listing.outlinks.pop(page.url, None)
    sample = "\n".join(part.text for part in parts)[:_SAMPLE]
    document = Document(
        page.url,
        generic.language(sample) if sample else None,
        transcript.title or (parts[0].text[:100] if parts else ""),
        tuple(parts),
        tuple(listing.outlinks.values()),
        transcript.created,
        source="document",
    )
    return Assistance(None, document, _objects(page, transcript, document), refused=tuple(listing.refused.values()))


def _objects(page: Page, transcript: Transcript, document: Document) -> tuple[WebObject, ...]:
    """Return a document as an object with what it declares of itself; none where it has neither title nor text."""
    body = "\n".join(part.text for part in document.parts)
    if not (body or transcript.title):
        return ()
    properties: dict[str, Value | None] = {
        "title": transcript.title or None,
        "author": Person(transcript.author) if transcript.author else None,
        "date": transcript.created,
        "body": body or None,
        "url": Reference(page.url),
    }
    known: dict[str, tuple[Value, ...]] = {name: (value,) for name, value in properties.items() if value is not None}
    return (WebObject(page.url, "document", page.url, known),)
