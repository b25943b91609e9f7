"""Requests to a site of the benchmark, and what it answers, down to how the bytes are framed."""

import gzip
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from http import HTTPStatus
from typing import Final

import brotli

HTML: Final = "text/html; charset=utf-8"
JSON: Final = "application/json"
SCRIPT: Final = "text/javascript; charset=utf-8"
STYLE: Final = "text/css"
_RANGE: Final = re.compile(r"bytes=(\d*)-(\d*)$")
Fields = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Request:
    """A request as it came: ``raw`` are its bytes, ``body`` is without transfer coding."""

    method: str
    target: str
    fields: Fields
    body: bytes
    raw: bytes

    @property
    def path(self) -> str:
        """The target without its query."""
        return self.target.partition("?")[0]

    @property
    def query(self) -> Mapping[str, str]:
        """The parameters of the query, undecoded."""
        pairs = (part.partition("=") for part in self.target.partition("?")[2].split("&") if part)
        return {name: value for name, _, value in pairs}

    def field(self, name: str) -> str:
        """Return the first value of a header field, empty where there is none."""
        return next((value for each, value in self.fields if each.lower() == name.lower()), "")


class Framing(StrEnum):
    """How an answer tells where it ends."""

    LENGTH = "by its length"
    CHUNKED = "by chunks"
    CLOSE = "by the end of the connection"


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer. Its body goes out piece by piece, with a pause in seconds before each piece but the first."""

    pieces: tuple[bytes, ...] = ()
    status: int = 200
    fields: Fields = ()
    framing: Framing = Framing.LENGTH
    pause: float = 0.0
    upgraded: bool = False
    """Whether the connection speaks another protocol afterwards: the pieces are its first bytes."""

    @property
    def body(self) -> bytes:
        """The whole body."""
        return b"".join(self.pieces)

    def head(self) -> bytes:
        """Return the status line and the header fields, with the empty line behind them."""
        fields = list(self.fields)
        match self.framing:
            case _ if self.upgraded:
                pass
            case Framing.LENGTH:
                fields.append(("content-length", str(len(self.body))))
            case Framing.CHUNKED:
                fields.append(("Transfer-Encoding", "chunked"))
            case Framing.CLOSE:
                fields.append(("Connection", "close"))
        lines = [f"HTTP/1.1 {self.status} {HTTPStatus(self.status).phrase}", *(f"{n}: {v}" for n, v in fields)]
        return "\r\n".join((*lines, "", "")).encode("latin-1")

    def framed(self) -> Iterable[bytes]:
        """Yield the body as it passes the connection."""
        if self.framing is not Framing.CHUNKED:
            yield from self.pieces
            return
        for piece in filter(None, self.pieces):
            yield b"%x\r\n%s\r\n" % (len(piece), piece)
        yield b"0\r\n\r\n"


def reply(body: str | bytes, media_type: str, *fields: tuple[str, str], status: int = 200) -> Reply:
    """Return an answer with a length."""
    content = body.encode() if isinstance(body, str) else body
    return Reply((content,), status, (("Content-Type", media_type), *fields))


def page(body: str, *, status: int = 200) -> Reply:
    """Return a page as servers send those that they make: in chunks, with their own spelling of fields."""
    content = body.encode()
    middle = len(content) // 2
    fields = (("Server", "made-up/1.0"), ("content-type", HTML), ("X-Frame-Options", "SAMEORIGIN"))
    return Reply((content[:middle], content[middle:]), status, fields, Framing.CHUNKED)


def data(content: object, *, status: int = 200) -> Reply:
    """Return JSON, without compression."""
    return reply(json.dumps(content), JSON, ("Cache-Control", "no-store"), status=status)


def compressed(answer: Reply, request: Request) -> Reply:
    """Return an answer in the best coding that the request accepts: Brotli, gzip, or as it is."""
    accepted = request.field("Accept-Encoding")
    if "br" in re.split(r"[,; ]+", accepted):
        return _coded(answer, "br", brotli.compress(answer.body, quality=4))
    if "gzip" in accepted:
        return _coded(answer, "gzip", gzip.compress(answer.body, 5, mtime=0))
    return answer


def _coded(answer: Reply, coding: str, body: bytes) -> Reply:
    fields = (*answer.fields, ("Content-Encoding", coding), ("Vary", "Accept-Encoding"))
    return replace(answer, pieces=(body,), fields=fields)


def ranged(answer: Reply, request: Request) -> Reply:
    """Return the part of an answer that a request asks for (RFC 9110, section 14), all of it where it asks for none."""
    whole = replace(answer, fields=(*answer.fields, ("Accept-Ranges", "bytes")))
    asked = _RANGE.match(request.field("Range"))
    if asked is None or not any(asked.groups()):
        return whole
    body, size = answer.body, len(answer.body)
    first = int(asked[1]) if asked[1] else max(0, size - int(asked[2]))
    last = min(int(asked[2]), size - 1) if asked[1] and asked[2] else size - 1
    if first >= size or last < first:
        return replace(whole, pieces=(), status=416, fields=(*answer.fields, ("Content-Range", f"bytes */{size}")))
    fields = (*whole.fields, ("Content-Range", f"bytes {first}-{last}/{size}"))
    return replace(whole, pieces=(body[first : last + 1],), status=206, fields=fields)


def not_found() -> Reply:
    """Return the answer for what is not there."""
    return page("<!doctype html><title>Not found</title><h1>Not found</h1><p>There is nothing here.</p>", status=404)


def attached(request: Request) -> Reply | None:
    """Return a file that somebody attached to what was written, None where none is asked for."""
    if not request.path.startswith("/files/"):
        return None
    return reply(f"The content of {request.path}.\n", "text/plain; charset=utf-8")
