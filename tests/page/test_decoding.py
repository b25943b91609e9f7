import gzip
import random
import tracemalloc
import zlib
from collections.abc import Callable

import brotli
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from aahcrawler.page.decoding import Decoded, decode_content


def raw_deflate(data: bytes) -> bytes:
    return zlib.compress(data)[2:-4]


def quick_brotli(data: bytes) -> bytes:
    return bytes(brotli.compress(data, quality=4))


CODERS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "x-gzip": gzip.compress,
    "deflate": zlib.compress,
    "Deflate": raw_deflate,
    "br": quick_brotli,
    "zstd": zstandard.compress,
}
TEXT = b"".join(b"<p>Line %d of a page</p>\n" % number for number in range(9000))
coders = pytest.mark.parametrize("name", CODERS)


@coders
def test_whole_bodies(name: str) -> None:
    assert decode_content(CODERS[name](TEXT), name, len(TEXT)) == Decoded(TEXT, complete=True)
    assert decode_content(CODERS[name](b""), name, 10) == Decoded(b"", complete=True)
    assert decode_content(b"", name, 10) == Decoded(b"", complete=True)


@coders
def test_output_stops_at_the_limit(name: str) -> None:
    assert decode_content(CODERS[name](TEXT), name, len(TEXT) - 1) == Decoded(TEXT[:-1], complete=False)
    assert decode_content(CODERS[name](TEXT), name, 100) == Decoded(TEXT[:100], complete=False)


@coders
def test_truncated_bodies_give_what_there_is(name: str) -> None:
    noise = random.Random(7).randbytes(400_000)
    coded = CODERS[name](noise)
    decoded = decode_content(coded[: len(coded) // 2], name, 1_000_000)
    assert not decoded.complete
    assert noise.startswith(decoded.body)
    assert len(decoded.body) > 50_000


@pytest.mark.slow
@coders
def test_bombs_take_little_memory(name: str) -> None:
    coded = CODERS[name](bytes(60_000_000))
    tracemalloc.start()
    decoded = decode_content(coded, name, 1_000_000)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert decoded == Decoded(bytes(1_000_000), complete=False)
    assert peak < 16_000_000 + 2 * len(coded)


def test_codings_one_over_the_other() -> None:
    coded = gzip.compress(brotli.compress(TEXT))
    assert decode_content(coded, "br, gzip", len(TEXT)) == Decoded(TEXT, complete=True)
    assert decode_content(TEXT, "gzip, gzip, gzip, gzip, gzip", 50) == Decoded(TEXT[:50], complete=False)


@pytest.mark.parametrize("name", ["", "identity", "utf-8", "none", ",", "sdch"])
def test_what_is_no_coding_is_passed_over(name: str) -> None:
    assert decode_content(TEXT, name, len(TEXT)) == Decoded(TEXT, complete=True)
    assert decode_content(TEXT, name, 5) == Decoded(TEXT[:5], complete=False)


@coders
def test_plain_text_with_a_wrong_claim(name: str) -> None:
    assert decode_content(b"<html>plain</html>", name, 100) == Decoded(b"<html>plain</html>", complete=False)


def test_members_and_what_follows_them() -> None:
    members = gzip.compress(b"one,") + gzip.compress(b"two")
    assert decode_content(members, "gzip", 100) == Decoded(b"one,two", complete=True)
    assert decode_content(members + b"\0\0junk", "gzip", 100) == Decoded(b"one,two", complete=True)
    frames = zstandard.compress(b"one,") + zstandard.compress(b"two")
    assert decode_content(frames, "zstd", 100) == Decoded(b"one,two", complete=True)


def test_many_empty_members_take_linear_time() -> None:
    assert decode_content(gzip.compress(b"") * 50_000, "gzip", 100) == Decoded(b"", complete=True)


def test_corruption_keeps_what_came_before() -> None:
    coded = bytearray(gzip.compress(random.Random(1).randbytes(200_000)))
    coded[150_000] ^= 0xFF
    decoded = decode_content(bytes(coded), "gzip", 1_000_000)
    assert not decoded.complete
    assert random.Random(1).randbytes(200_000).startswith(decoded.body[:100_000])


@given(st.binary(max_size=2000), st.sampled_from(sorted(CODERS)), st.integers(0, 3000))
def test_nonsense_never_fails(body: bytes, name: str, limit: int) -> None:
    assert len(decode_content(body, name, limit).body) <= limit


@given(st.binary(max_size=5000), st.sampled_from(sorted(CODERS)))
def test_round_trip(body: bytes, name: str) -> None:
    assert decode_content(CODERS[name](body), name, 5000) == Decoded(body, complete=True)
