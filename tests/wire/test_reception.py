"""However a response is cut into pieces, and whatever it holds, the same is made of it."""

from http.client import HTTPResponse, IncompleteRead
from io import BytesIO
from itertools import pairwise
from pathlib import Path
from typing import cast

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from aahcrawler.exchange import Truncation
from aahcrawler.wire.errors import HeaderLimitError, WireError
from aahcrawler.wire.reception import Bounds, Reception, Spool, parse_head

BOUNDS = Bounds(head_bytes=4096, head_lines=50, body_bytes=100_000, payload_bytes=50_000)


def reception(method: str = "GET", bounds: Bounds = BOUNDS) -> Reception:
    return Reception(method, bounds, Spool(Path("unused"), 1 << 20))


def outcome(pieces: list[bytes], method: str = "GET") -> tuple[object, ...]:
    """Return what a caller sees of a response that comes in these pieces and ends in order."""
    taken = reception(method)
    try:
        for piece in pieces:
            taken.feed(piece)
            if taken.done:
                break
        if not taken.done:
            taken.end()
    except WireError as error:
        taken.salvage()
        return type(error), taken.spool.open().read()
    assert taken.head is not None
    return (
        taken.head,
        taken.payload,
        taken.payload_digest,
        taken.payload_size,
        taken.truncated,
        taken.spool.open().read(),
    )


def cuts(data: bytes, places: list[int]) -> list[bytes]:
    edges = [0, *sorted(place % (len(data) + 1) for place in places), len(data)]
    return [data[start:end] for start, end in pairwise(edges) if start < end]


@st.composite
def responses(draw: st.DrawFn) -> tuple[bytes, bytes]:
    """Draw a response that is as it should be, and its payload."""
    payload = draw(st.binary(max_size=600))
    newline = draw(st.sampled_from([b"\r\n", b"\n"]))
    status = draw(st.sampled_from([b"HTTP/1.1 200 OK", b"HTTP/1.1 404", b"HTTP/1.0 500 Oh dear"]))
    names = draw(st.lists(st.sampled_from([b"X-a: 1", b"x-A:2", b"Server: some thing"]), max_size=4))
    match draw(st.sampled_from(["length", "chunked", "close"])):
        case "length":
            names.append(b"Content-Length: %d" % len(payload))
            body = payload
        case "chunked":
            names.append(b"Transfer-Encoding: chunked")
            pieces = cuts(payload, draw(st.lists(st.integers(0, 600), max_size=5)))
            body = b"".join(b"%x" % len(piece) + newline + piece + newline for piece in pieces)
            body += b"0" + newline + newline
        case _:
            body = payload
    return newline.join([status, *names, b"", b""]) + body, payload


@given(responses(), st.lists(st.integers(0, 2000), max_size=12))
def test_pieces_do_not_matter(response: tuple[bytes, bytes], places: list[int]) -> None:
    raw, payload = response
    whole = outcome([raw])
    assert whole[1] == payload
    assert whole[4:] == (None, raw)
    assert outcome(cuts(raw, places)) == whole
    assert outcome([raw[i : i + 1] for i in range(len(raw))]) == whole


class Replayed:
    def __init__(self, raw: bytes) -> None:
        self.raw = raw

    def makefile(self, _mode: str) -> BytesIO:
        return BytesIO(self.raw)


@given(responses())
def test_kept_bytes_mean_the_same_to_the_standard_library(response: tuple[bytes, bytes]) -> None:
    raw, payload = response
    assume(b"\r\n" in raw[:24])  # it knows no chunks that end in LF alone
    kept = cast("bytes", outcome([raw])[5])
    reader = HTTPResponse(cast("object", Replayed(kept)))  # type: ignore[arg-type]
    reader.begin()
    try:
        assert reader.read() == payload
    except IncompleteRead:
        pytest.fail("the kept response is not whole")


HOSTILE = st.lists(
    st.one_of(
        st.binary(max_size=30),
        st.sampled_from(
            [
                b"HTTP/1.1 200 OK\r\n",
                b"HTTP/1.1 100 Continue\r\n\r\n",
                b"Content-Length: 5\r\n",
                b"Content-Length: 99999999999999999999\r\n",
                b"Transfer-Encoding: chunked\r\n",
                b"Transfer-Encoding: gzip\r\n",
                b"\r\n",
                b"\n",
                b"\r",
                b" folded\r\n",
                b"5\r\nhello\r\n",
                b"ffffffffffffffff\r\n",
                b"0\r\n",
                b"-1\r\n",
                b"0x5\r\n",
            ]
        ),
    ),
    max_size=25,
)


@given(HOSTILE, st.sampled_from(["GET", "HEAD"]))
def test_anything_ends_in_an_answer_or_a_wire_error(pieces: list[bytes], method: str) -> None:
    stream = b"".join(pieces)
    result = outcome([piece for piece in pieces if piece], method)
    assert result == outcome([stream] if stream else [], method) or result[-2] is Truncation.UNSPECIFIED
    assert cast("bytes", result[-1]) in stream


def test_endless_lines_of_the_chunked_coding_are_cut() -> None:
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    for endless in (b"1;" + b"x" * 20_000, b"0\r\n" + b"A: b\r\n" * 5_000):
        taken = reception()
        taken.feed(head)
        for start in range(0, len(endless), 1000):
            if not taken.done:
                taken.feed(endless[start : start + 1000])
        assert taken.truncated is Truncation.UNSPECIFIED
        assert not taken.reusable


def test_bounds_of_the_head_are_exact() -> None:
    raw = b"HTTP/1.1 200 OK\r\nA: b\r\n\r\n"
    for spare in (0, -1):
        taken = reception(bounds=Bounds(len(raw) + spare, 3, 0, 0))
        if spare:
            with pytest.raises(HeaderLimitError):
                taken.feed(raw)
        else:
            taken.feed(raw)
            assert taken.head is not None
    with pytest.raises(HeaderLimitError):
        reception(bounds=Bounds(1000, 2, 0, 0)).feed(raw)


def test_elements_of_repeated_fields() -> None:
    head = parse_head(b"HTTP/1.1 200 OK\r\nConnection: Upgrade,, CLOSE\r\nconnection: x\r\n\r\n")
    assert head.elements("connection") == ("upgrade", "close", "x")
    assert not head.keeps_alive
