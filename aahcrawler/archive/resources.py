"""What a browser made of a page, as ``resource`` records of the archive: the rendered document and screenshots.

Each record has a URN that contains the page's URL, never that URL itself, so that replay does not take it for what the
server sent. ``urn:view:`` and ``urn:thumbnail:`` are the names that browsertrix-crawler gives to screenshots.
"""

from dataclasses import dataclass
from typing import Final, Self
from uuid import uuid4

DOM: Final = "urn:dom:"
"""What the target of a document as rendered begins with; the page's URL follows."""
VIEW: Final = "urn:view:"
"""What the target of a picture of the window begins with."""
THUMBNAIL: Final = "urn:thumbnail:"
"""What the target of a small picture of the window begins with."""
NAMES: Final = (DOM, VIEW, THUMBNAIL)
HTML: Final = "text/html;charset=utf-8"
DOCUMENT_URL: Final = "AAH-Document-URL"
"""The field that names the URL which a document had when it was taken, where scripts had changed it."""
MADE_OF: Final = "AAH-Made-Of"
"""The field that names the data which a document was made of, where no browser made it: URLs, blanks between them."""
MAX_DOM_LENGTH: Final = 1 << 26
"""Bytes of a document as rendered beyond which it is passed over by those who read it."""


@dataclass(frozen=True, slots=True)
class Resource:
    """A ``resource`` record beside the response of a page. ``record_id`` is a URN, without angle brackets.

    ``document_url`` is the URL of the document when it was taken, empty where it is the page's own. ``made_of`` are the
    URLs of the data that the document was made from, empty where a browser made it.
    """

    record_id: str
    target: str
    media_type: str
    block: bytes
    document_url: str = ""
    made_of: tuple[str, ...] = ()

    @classmethod
    def rendered_dom(cls, url: str, dom: bytes, document_url: str = "", *, record_id: str = "") -> Self:
        """Return the record of the document that a browser rendered: HTML in UTF-8."""
        at = "" if document_url == url else document_url
        return cls(record_id or uuid4().urn, f"{DOM}{url}", HTML, dom, at)

    @classmethod
    def data_dom(cls, url: str, dom: bytes, made_of: tuple[str, ...]) -> Self:
        """Return the record of a document in HTML (UTF-8) that was made from data, without a browser."""
        return cls(uuid4().urn, f"{DOM}{url}", HTML, dom, made_of=made_of)

    @classmethod
    def screenshot(cls, url: str, png: bytes, *, record_id: str = "") -> Self:
        """Return the record of a screenshot of the window that showed a page."""
        return cls(record_id or uuid4().urn, f"{VIEW}{url}", "image/png", png)

    @classmethod
    def thumbnail(cls, url: str, jpeg: bytes, *, record_id: str = "") -> Self:
        """Return the record of a thumbnail of the window that showed a page."""
        return cls(record_id or uuid4().urn, f"{THUMBNAIL}{url}", "image/jpeg", jpeg)


@dataclass(frozen=True, slots=True)
class KeptResource:
    """A resource record in the archive: its id, its target, and where its gzip member begins in its page's file."""

    record_id: str
    target: str
    offset: int


def page_of_resource(target: str) -> str:
    """Return the URL of the page that a resource belongs to, empty where the target names none.

    >>> page_of_resource("urn:dom:http://a.test/"), page_of_resource("urn:uuid:1")
    ('http://a.test/', '')
    """
    return next((target.removeprefix(name) for name in NAMES if target.startswith(name)), "")
