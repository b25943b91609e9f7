"""One HTTP request and its response, as the bytes that passed over the connection."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import BinaryIO


class Truncation(StrEnum):
    """Why a response is shorter than its server meant it to be (WARC 1.1, section 5.13)."""

    LENGTH = "length"
    TIME = "time"
    DISCONNECT = "disconnect"
    UNSPECIFIED = "unspecified"


@dataclass(frozen=True, slots=True)
class Rendered:
    """The document of a page after its scripts have run: ``dom`` is HTML in UTF-8, with shadow roots as templates.

    A browser produced it, or it was made without one from data whose URLs are ``made_of``. ``document_url`` is the
    document's URL at the end, the base of its relative links; empty if it is the page's own URL. ``record_id`` is the
    id of the WARC record that holds the document, empty if none does.
    """

    dom: bytes
    document_url: str = ""
    record_id: str = ""
    made_of: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Memento:
    """The origin of a response that was taken from an archive instead of being fetched from its site.

    ``uri`` identifies the capture: a URI-M (RFC 7089), or the record id in a local archive. ``archive`` is the archive:
    a host, or the name of a folder or file. ``source`` is the definition's source through which it was found.
    ``obtained_at`` is when it was taken from the archive, in UTC; when the archive captured it is ``started_at`` of the
    exchange. ``is_raw`` is False if the archive delivered its rewritten version only, whose links had to be turned
    back.
    """

    uri: str
    archive: str
    source: str
    obtained_at: datetime
    is_raw: bool = True


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request and its response, byte for byte as they passed, after decryption.

    ``response`` is positioned at its start, may lie on disk, and is closed by whoever consumes the exchange
    (``close``). It holds the status line, header lines in their order and case, and the message body with its transfer
    and content codings; interim (1xx) responses are left out.

    ``ip_address`` is empty if only a proxy knows it. ``payload_digest`` is the SHA-1 of the body after transfer
    decoding and before content decoding, as WARC 1.1 defines a payload. All times are UTC. For a response that was
    taken from an archive, ``started_at`` is when that archive captured it.
    """

    url: str
    method: str
    request: bytes
    response: BinaryIO
    response_size: int
    payload_digest: bytes
    ip_address: str
    started_at: datetime
    truncated: Truncation | None = None
    head_size: int = 0
    """The length of the response's head in bytes; 0 if unknown."""
    session: str = ""
    """How the crawl signed in: by ``login``, ``basic``, ``digest``, ``cookies`` or ``header``; empty if it did not."""
    redacted: str = ""
    """What of the exchange is masked; empty if nothing is."""
    proxy: str = ""
    """The proxy that the exchange went through; empty if there was none."""
    tls_problem: str = ""
    """Why the site's certificate does not verify, although it was accepted; empty if it verifies."""
    resource_type: str = ""
    """The type of resource that a browser requested (``Document``, ``Script``, ``XHR``); empty if no browser did."""
    initiator: str = ""
    """What made a browser request it, named as in the DevTools protocol (``parser``, ``script``); empty if unknown."""
    shown_on: str = ""
    """The URL of the page for which a browser sent the request; empty if no browser did, and for the page itself."""
    rendered: Rendered | None = None
    """The document that the archive holds beside the response; None if it holds none."""

    kept_in: str = ""
    """The id of the record in which the archive already holds the response; empty if it is yet to be archived."""

    memento: Memento | None = None
    """The archive that the response was taken from; None if it came from its site."""

    @property
    def is_fetched(self) -> bool:
        """Whether the response was fetched from its site, neither taken from an archive nor already archived."""
        return not self.kept_in and self.memento is None

    def close(self) -> None:
        """Release the response bytes. Calling it twice does no harm."""
        self.response.close()
