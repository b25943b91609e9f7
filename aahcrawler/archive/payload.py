"""Extract the payload of an HTTP message that arrives in pieces: remove its head and the chunked coding."""

import re
from dataclasses import dataclass
from email.parser import HeaderParser
from typing import Final, Self

from aahcrawler.archive.surt import surt
from aahcrawler.request_queries import MAX_BODY_LENGTH, form_query, lookup_url, query_of
from aahcrawler.urls import posted_by

_HEAD_END = re.compile(rb"\n\r?\n")
_SIZE_LINE = re.compile(rb"[ \t]*([0-9A-Fa-f]{1,15})[ \t]*(?:;.*)?", re.DOTALL)
_CODING = re.compile(rb"\ntransfer-encoding[ \t]*:([^\n]*)", re.IGNORECASE)
_STATUS = re.compile(rb"[A-Z]+(?:/[\d.]+)?[ \t]+(\d{3})(?!\d)", re.IGNORECASE)
_FOLDED = re.compile(rb"\r?\n[ \t]+")
_MAX_LINE_LENGTH = 16_384

HEAD = 1 << 19
"""How many bytes of a block are searched for the end of its head: twice what the wire client accepts."""


def beginning_of(block: bytes) -> bytes:
    """Return the head of an HTTP message, or as much as was received, given the first ``HEAD`` bytes of its block."""
    end = _HEAD_END.search(block, 0, HEAD)
    return block[: end.end()] if end else block[:HEAD]


def is_whole_head(beginning: bytes) -> bool:
    """Return whether the result of ``beginning_of`` is a complete head."""
    return beginning.endswith((b"\n\r\n", b"\n\n"))


def status_of(head: bytes) -> int | None:
    """Return the status code in an HTTP response's head; None if it has none."""
    status = _STATUS.match(head)
    return int(status[1]) if status else None


def is_chunked(head: bytes) -> bool:
    """Return whether the last transfer coding named in a head is ``chunked``."""
    codings = b",".join(match[1] for match in _CODING.finditer(_FOLDED.sub(b" ", head)))
    elements = [coding.strip().lower() for coding in codings.split(b",") if coding.strip()]
    return elements[-1:] == [b"chunked"]


class HttpPayload:
    """Extracts the payload from the block of a ``response`` or ``request`` record, fed in pieces.

    Until the head has ended, ``head`` is None and ``feed`` returns nothing. A block without the end of a head in its
    first ``HEAD`` bytes has no payload. ``rest`` has the bytes that followed the head in the piece that ended it. If
    the chunked coding is cut off or broken, the payload ends there.
    """

    def __init__(self) -> None:
        self.head: bytes | None = None
        self.chunked = False
        self.rest = b""
        self._pending = b""
        self._chunks: _Chunks | None = None
        self._hopeless = False

    @property
    def beginning(self) -> bytes:
        """The head, or what was received of it, at most ``HEAD`` bytes."""
        return self._pending[:HEAD] if self.head is None else self.head

    @property
    def is_whole(self) -> bool:
        """Whether the payload has ended as its coding requires; always True without the chunked coding."""
        return self._chunks is None or self._chunks.is_whole

    def feed(self, piece: bytes) -> bytes:
        """Process bytes of the block, and return the bytes of the payload among them."""
        if self.head is None:
            piece = self._feed_head(piece)
        if self._chunks is not None:
            return self._chunks.feed(piece)
        return piece

    def _feed_head(self, piece: bytes) -> bytes:
        if self._hopeless:
            return b""
        self._pending += piece
        end = _HEAD_END.search(self._pending)
        if end is None or end.end() > HEAD:
            self._hopeless = len(self._pending) >= HEAD
            return b""
        self.head, self.rest = self._pending[: end.end()], self._pending[end.end() :]
        self._pending = b""
        self.chunked = is_chunked(self.head)
        if self.chunked:
            self._chunks = _Chunks()
        return self.rest


class _Chunks:
    """Removes the chunked coding (RFC 9112, section 7.1), as leniently as browsers do."""

    def __init__(self) -> None:
        self._left = 0
        self._line = b""
        self._after_data = False
        self._done = False
        self.is_whole = False

    def feed(self, data: bytes) -> bytes:
        payload = []
        position = 0
        while position < len(data) and not self._done:
            if self._left:
                piece = data[position : position + self._left]
                payload.append(piece)
                position += len(piece)
                self._left -= len(piece)
                self._after_data = not self._left
            else:
                position = self._feed_line(data, position)
        return b"".join(payload)

    def _feed_line(self, data: bytes, position: int) -> int:
        end = data.find(b"\n", position)
        stop = len(data) if end < 0 else end
        line = self._line + data[position:stop]
        self._line = line if end < 0 else b""
        if len(line) > _MAX_LINE_LENGTH:
            self._done = True
        elif end >= 0:
            self._take(line.removesuffix(b"\r"))
        return stop + 1

    def _take(self, line: bytes) -> None:
        if self._after_data:
            self._after_data = False
            self._done = bool(line)
            return
        match = _SIZE_LINE.fullmatch(line)
        self._left = int(match[1], 16) if match else 0
        self._done = not self._left
        self.is_whole = self._done and match is not None


_METHOD = re.compile(rb"([A-Za-z]{1,20})[ \t]")


@dataclass(frozen=True, slots=True)
class AskedRequest:
    """The method of a request, and its body as text that is part of the URL under which its response is looked up."""

    method: str = "GET"
    query: str = ""

    @classmethod
    def of(cls, head: bytes, body: bytes) -> Self:
        """Return the method and body of a request, given its head and body.

        ``body`` may be cut after ``MAX_BODY_LENGTH`` + 1 bytes.
        """
        found = _METHOD.match(head)
        method = found[1].decode("ascii").upper() if found else "GET"
        if method == "GET":
            return cls()
        fields = HeaderParser().parsestr(head.partition(b"\n")[2].decode("latin-1"))
        return cls(method, query_of(method, str(fields.get("Content-Type", "")), body))

    @classmethod
    def read(cls, request: bytes) -> Self:
        """Return the method and body of a request, given the bytes sent."""
        if request.startswith(b"GET "):
            return cls()
        message = HttpPayload()
        body = message.feed(request)
        return cls.of(message.beginning, body[: MAX_BODY_LENGTH + 1])

    def url(self, target: str) -> str:
        """Return the URL under which the response is looked up: for other methods than GET, it includes the body."""
        return target if posted_by(target) is not None else lookup_url(target, self.method, self.query)


GOT: Final = AskedRequest()
"""A GET request."""


def key_of_url(url: str, asked: AskedRequest | None = None) -> str:
    """Return the index key of a URL for a request; without ``asked``, for a GET.

    A URL that already encodes a sent form has the key that the form's request would have.

    >>> key_of_url("http://a.test/s?f=1&__wb_method=POST&q=a+b")
    'test,a)/s?__wb_method=post&f=1&q=a%20b'
    """
    form = posted_by(url)
    if form is not None:
        return surt(lookup_url(form.target, "POST", form_query(form.body)))
    return surt(url if asked is None else asked.url(url))
