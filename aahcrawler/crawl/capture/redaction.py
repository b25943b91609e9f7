"""What the archive keeps of exchanges with sites that the crawl has credentials for.

Each is marked with how the site knew the crawl, and with ``archive.redact`` what would let others in is masked: the
digests of a record are those of what stands in it, and the record says what was masked.
"""

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from io import BytesIO
from shutil import copyfileobj
from tempfile import TemporaryFile
from typing import BinaryIO, Final, cast
from urllib.parse import urlsplit

from aahcrawler.archive.payload import HttpPayload
from aahcrawler.archive.resources import Resource
from aahcrawler.credentials.given import NONE, Credentials, is_among
from aahcrawler.credentials.masking import LEAST_OF_A_TOKEN, REDACTED, Masks
from aahcrawler.exchange import Exchange
from aahcrawler.page.decoding import decode_content
from aahcrawler.urls import queue_of

LARGEST: Final = 16_000_000
"""Bytes of a response up to which secrets are looked for in its body, and of what it is after decoding."""

_HEAD: Final = 65_536
"""Bytes of an answer in which the cookies that it sets are looked for."""
_COOKIE: Final = re.compile(rb"([^=;\s]+)=([^;]*)")
_LINE: Final = re.compile(rb"([^:\r\n]+):[ \t]*([^\r\n]*)")
_AUTHORIZATION: Final = frozenset({b"authorization", b"proxy-authorization"})
_FRAMING: Final = frozenset({b"content-encoding", b"transfer-encoding", b"content-length"})


class Redaction:
    """Marks exchanges, and masks what is secret in them where ``masks`` says so; those of other sites stay."""

    def __init__(self, given: Credentials, *, masks: bool) -> None:
        self._given, self._masks = given, masks
        self._sites = given.sites
        self._headers = {
            host: frozenset(header.name.lower().encode("ascii") for header in headers if header.is_secret)
            for host, headers in given.headers.items()
        }

    def of(self, exchange: Exchange) -> Exchange:
        """Return an exchange as it is to be archived; its response is read from the start and left there."""
        if not is_among(self._sites, exchange.url):
            return self._elsewhere(exchange)
        marked = replace(exchange, session=", ".join(self._kinds(exchange, queue_of(exchange.url))))
        return self._masked(marked) if self._masks else marked

    def resources(self, exchange: Exchange, resources: Sequence[Resource]) -> tuple[Resource, ...]:
        """Return what a browser made of a page as it is to be archived, given the exchange as it passed.

        Where secrets are masked, they are in documents; pictures, in which none can be found, are left out.
        """
        if not self._masks or not is_among(self._sites, exchange.url):
            return tuple(resources)
        exchange.response.seek(0)
        masks = Masks({*self._given.secrets, *_tokens(exchange.request, exchange.response.read(_HEAD))}, tokens=True)
        exchange.response.seek(0)
        return tuple(
            replace(
                each,
                target=masks.masked_text(each.target),
                block=masks.masked(each.block),
                document_url=masks.masked_text(each.document_url),
            )
            for each in resources
            if each.media_type.startswith("text/")
        )

    def are_alike(self, url: str, other: str) -> bool:
        """Return whether the crawl has credentials for the sites of both URLs, or of none.

        What a site showed to the crawl alone is not what a capture of another one refers to.
        """
        return is_among(self._sites, url) == is_among(self._sites, other)

    def _elsewhere(self, exchange: Exchange) -> Exchange:
        """Return an exchange with another site: it may be shown on a page where the crawl has credentials."""
        if not self._masks or not exchange.shown_on or not is_among(self._sites, exchange.shown_on):
            return exchange
        return replace(exchange, shown_on=Masks(self._given.secrets, tokens=True).masked_text(exchange.shown_on))

    def _kinds(self, exchange: Exchange, site: str) -> Iterator[str]:
        """Yield how a site knows the crawl in an exchange."""
        names = dict(_fields(exchange.request.partition(b"\r\n\r\n")[0]))
        if site in self._given.logins and (b"cookie" in names or exchange.method == "POST"):
            yield "login"
        if b"cookie" in names and self._given.cookies_of(site):
            yield "cookies"
        if b"authorization" in names:
            yield names[b"authorization"].partition(b" ")[0].decode("latin-1").lower()
        if self._headers.get(urlsplit(exchange.url).hostname or "", frozenset()) & names.keys():
            yield "header"

    def _masked(self, exchange: Exchange) -> Exchange:
        exchange.response.seek(0)
        answer = exchange.response.read(LARGEST + 1)
        exchange.response.seek(0)
        masks = Masks({*self._given.secrets, *_tokens(exchange.request, answer)}, tokens=True)
        done: set[str] = set()
        request, url = self._request(exchange, masks, done), masks.masked_text(exchange.url)
        answered = _response if len(answer) <= LARGEST else _large
        shown_on = masks.masked_text(exchange.shown_on)
        changed = answered(replace(exchange, url=url, request=request, shown_on=shown_on), answer, masks, done)
        if url != exchange.url:
            done.add("url")
        return replace(changed, redacted=", ".join(sorted(done)))

    def _request(self, exchange: Exchange, masks: Masks, done: set[str]) -> bytes:
        head, mark, body = exchange.request.partition(b"\r\n\r\n")
        secret = self._headers.get(urlsplit(exchange.url).hostname or "", frozenset())
        if body:
            done.add("body of the request")
            body = REDACTED.encode()
        return _head(head, masks, done, secret, len(body) if body else None) + mark + body


NO_REDACTION: Final = Redaction(NONE, masks=False)
"""Leaves all exchanges as they are."""


def _response(exchange: Exchange, answer: bytes, masks: Masks, done: set[str]) -> Exchange:
    """Return an exchange whose response, of which ``answer`` is all, is masked."""
    reading = HttpPayload()
    payload = reading.feed(answer)
    if reading.head is None:
        return exchange
    head = reading.head.rstrip(b"\r\n")
    names = dict(_fields(head))
    body = decode_content(payload, names.get(b"content-encoding", b"").decode("latin-1"), LARGEST).body
    masked = masks.masked(body)
    if masked == body:
        kept = _head(head, masks, done) + b"\r\n\r\n"
        raw = kept + answer[len(reading.head) :]
        return replace(exchange, response=BytesIO(raw), response_size=len(raw), head_size=len(kept))
    done.add("body of the response")
    kept = _head(head, masks, done, length=len(masked)) + b"\r\n\r\n"
    digest = hashlib.sha1(masked, usedforsecurity=False).digest()
    raw = kept + masked
    return replace(exchange, response=BytesIO(raw), response_size=len(raw), head_size=len(kept), payload_digest=digest)


def _large(exchange: Exchange, answer: bytes, masks: Masks, done: set[str]) -> Exchange:
    """Return an exchange whose response is too large to be searched: its head is masked, and its body as it came."""
    kept = _head(answer[: exchange.head_size].rstrip(b"\r\n"), masks, done) + b"\r\n\r\n"
    whole = cast("BinaryIO", TemporaryFile())  # noqa: SIM115 - whoever consumes the exchange closes it
    whole.write(kept)
    exchange.response.seek(exchange.head_size)
    copyfileobj(exchange.response, whole)
    exchange.response.seek(0)
    size = whole.tell()
    whole.seek(0)
    return replace(exchange, response=whole, response_size=size, head_size=len(kept))


def _head(
    head: bytes, masks: Masks, done: set[str], secret: frozenset[bytes] = frozenset(), length: int | None = None
) -> bytes:
    """Return the head of a message, masked; with a ``length`` for a body that is no longer what it was."""
    lines = []
    for line in head.split(b"\r\n"):
        found = _LINE.fullmatch(line)
        name = found[1].strip().lower() if found else b""
        if found is None or not (name in _AUTHORIZATION or name in secret or name in (b"cookie", b"set-cookie")):
            if name in _FRAMING and length is not None:
                continue
            masked = masks.masked(line)
            if masked != line:
                done.add("url" if found is None or name in (b"location", b"referer") else name.decode("latin-1"))
            lines.append(masked)
            continue
        done.add(name.decode("latin-1"))
        lines.append(found[1] + b": " + _value(name, found[2]))
    if length is not None:
        lines.append(b"Content-Length: %d" % length)
    return b"\r\n".join(lines)


def _value(name: bytes, value: bytes) -> bytes:
    """Return the value of a field that lets in, with what it is made of and nothing of what it says."""
    word = REDACTED.encode()
    if name == b"cookie":
        return _COOKIE.sub(rb"\1=" + word, value)
    if name == b"set-cookie":
        return _COOKIE.sub(rb"\1=" + word, value, count=1)
    scheme, blank, _ = value.partition(b" ")
    return scheme + b" " + word if name in _AUTHORIZATION and blank else word


def _tokens(request: bytes, answer: bytes) -> Iterator[str]:
    """Yield the long values of the cookies that an exchange carries."""
    for name, value in (*_fields(request.partition(b"\r\n\r\n")[0]), *_fields(answer[:_HEAD])):
        pairs: Sequence[tuple[bytes, bytes]] = _COOKIE.findall(value) if name == b"cookie" else ()
        if name == b"set-cookie":
            pairs = _COOKIE.findall(value)[:1]
        for _, each in pairs:
            if len(each) >= LEAST_OF_A_TOKEN:
                yield each.decode("latin-1")


def _fields(head: bytes) -> Iterator[tuple[bytes, bytes]]:
    for line in head.split(b"\r\n\r\n", 1)[0].split(b"\r\n")[1:]:
        name, colon, value = line.partition(b":")
        if colon:
            yield name.strip().lower(), value.strip()
