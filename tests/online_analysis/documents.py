"""Documents for the tests of analysers."""

from collections.abc import Sequence
from datetime import datetime

from online_analysis.document import Document, DocumentPart, Outlink

ADDRESS = "https://forum.example.org/t/1"


def page(
    *texts: str,
    links: Sequence[Outlink] = (),
    url: str = ADDRESS,
    language: str | None = "en",
    title: str = "",
    published: datetime | None = None,
) -> Document:
    """Return a document with a content part for each text."""
    parts = tuple(DocumentPart("content", text) for text in texts)
    return Document(url, language, title, parts, tuple(links), published)


def posts(*written: tuple[str, Sequence[str]], url: str = ADDRESS) -> Document:
    """Return a page of posts: of each the author and the addresses that it links to."""
    parts = tuple(DocumentPart("content", f"a post of {author}", author) for author, _ in written)
    links = (
        Outlink(address, "see there", part=number)
        for number, (_, addresses) in enumerate(written)
        for address in addresses
    )
    return Document(url, "en", "", parts, tuple({link.url: link for link in links}.values()))
