"""Read documents such as PDF, one part for each of their pages, and their links."""

from aahcrawler.helper.assistance import Assistance
from aahcrawler.helper.links.link_collection import LinkCollector
from aahcrawler.helper.links.navigation import Links
from aahcrawler.page import Page, generic
from aahcrawler.page.text import fold
from aahcrawler.page.transcript import Transcript
from aahcrawler.urls import resolve
from online_analysis.document import Document, DocumentPart, Outlink

MOST_LINKS = 2_000
_SAMPLE = 600


def read(page: Page, transcript: Transcript, links: Links) -> Assistance:
    """Return text and links of a document; junk is refused, as on pages."""
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
    return Assistance(None, document, refused=tuple(listing.refused.values()))
