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

from aahcrawler.page.decoding import Decoded, Fault, decode_content, ungzipped


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
    assert decoded.fault is Fault.TRUNCATED
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


@pytest.mark.slow
def test_codings_one_over_the_other() -> None:
    coded = gzip.compress(brotli.compress(TEXT))
    assert decode_content(coded, "br, gzip", len(TEXT)) == Decoded(TEXT, complete=True)
    assert decode_content(TEXT, "gzip, gzip, gzip, gzip, gzip", 50) == Decoded(
        TEXT[:50], complete=False, fault=Fault.TOO_MANY
    )


@pytest.mark.parametrize("name", ["", "identity", "utf-8", "none", ",", "sdch"])
def test_what_is_no_coding_is_passed_over(name: str) -> None:
    assert decode_content(TEXT, name, len(TEXT)) == Decoded(TEXT, complete=True)
    assert decode_content(TEXT, name, 5) == Decoded(TEXT[:5], complete=False)


@coders
def test_plain_text_with_a_wrong_claim(name: str) -> None:
    decoded = decode_content(b"<html>plain</html>", name, 100)
    assert decoded == Decoded(b"<html>plain</html>", complete=False, fault=Fault.UNCODED)


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
    assert random.Random(1).randbytes(200_000).startswith(decoded.body[:149_000])


def damaged(coded: bytes, at: int) -> bytes:
    """Return bytes of which one is another; ``at`` may count from the end."""
    changed = bytearray(coded)
    changed[at] ^= 0xFF
    return bytes(changed)


def checked_zstd(data: bytes) -> bytes:
    return zstandard.ZstdCompressor(write_checksum=True).compress(data)


@pytest.mark.parametrize(
    "text", [b"<p>short", TEXT, random.Random(3).randbytes(70_000)], ids=["short", "long", "noise"]
)
@pytest.mark.parametrize(
    ("name", "coder", "at"),
    [
        ("gzip", gzip.compress, -8),
        ("gzip", gzip.compress, -1),
        ("deflate", zlib.compress, -1),
        ("zstd", checked_zstd, -1),
    ],
)
def test_a_wrong_checksum_or_length_costs_no_content(
    name: str, coder: Callable[[bytes], bytes], at: int, text: bytes
) -> None:
    decoded = decode_content(damaged(coder(text), at), name, 1_000_000)
    assert decoded == Decoded(text, complete=False, fault=Fault.CHECKSUM)


def test_members_behind_one_with_a_wrong_checksum_are_read() -> None:
    for at in (-8, -1):
        members = damaged(gzip.compress(b"one,"), at) + gzip.compress(b"two")
        assert decode_content(members, "gzip", 100) == Decoded(b"one,two", complete=False, fault=Fault.CHECKSUM)


@pytest.mark.parametrize("name", ["gzip", "deflate", "br", "zstd"])
def test_what_follows_coded_data_is_ignored(name: str) -> None:
    for more in (b"\0", b"junk " * 9):
        assert decode_content(CODERS[name](TEXT) + more, name, len(TEXT)) == Decoded(TEXT, complete=True)


@pytest.mark.parametrize("name", ["gzip", "deflate", "br"])
def test_a_short_page_is_read_up_to_its_damage(name: str) -> None:
    coded = CODERS[name](b"".join(b"%d " % (number * 7919 % 1000) for number in range(900)))
    decoded = decode_content(coded[: len(coded) * 3 // 4] + b"\xff" * 60, name, 10_000)
    assert not decoded.complete
    assert decoded.body.startswith(b"0 919 838 ")


def test_many_members_with_wrong_checksums_take_linear_time() -> None:
    member = damaged(gzip.compress(b"x" * 99), -8)
    assert decode_content(member * 5_000, "gzip", 10_000_000).body == b"x" * 99 * 5_000


def test_gzip_files_are_read_up_to_their_damage() -> None:
    assert b"".join(ungzipped(gzip.compress(TEXT))) == TEXT
    assert b"".join(ungzipped(damaged(gzip.compress(TEXT), -8))) == TEXT
    assert TEXT.startswith(b"".join(ungzipped(gzip.compress(TEXT)[:-30])))


@given(st.binary(max_size=2000), st.sampled_from(sorted(CODERS)), st.integers(0, 3000))
def test_nonsense_never_fails(body: bytes, name: str, limit: int) -> None:
    assert len(decode_content(body, name, limit).body) <= limit


@given(st.binary(max_size=5000), st.sampled_from(sorted(CODERS)))
def test_round_trip(body: bytes, name: str) -> None:
    assert decode_content(CODERS[name](body), name, 5000) == Decoded(body, complete=True)
