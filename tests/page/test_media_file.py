"""Files of objects are described by what their bytes are."""

import struct
from datetime import UTC, datetime

import pytest

from aahcrawler.page import Headers, Page
from aahcrawler.page.requisites import media_file

PNG = b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sII", 13, b"IHDR", 640, 480) + b"\x08\x02\0\0\0" + b"\0" * 99
GIF = b"GIF89a" + struct.pack("<HH", 20, 10) + b"\0" * 20
JPEG = b"\xff\xd8\xff\xe0\0\4ab\xff\xc0\0\x11\x08" + struct.pack(">HH", 30, 50) + b"\3" + b"\0" * 40
FILM = b"\0\0\0\x1cftypisom" + b"\0" * 100


def page(body: bytes, declared: str, *, complete: bool = True) -> Page:
    head = Headers((("Content-Type", declared),))
    return Page("http://a.test/x", 200, head, body, datetime(2026, 1, 1, tzinfo=UTC), complete=complete)


@pytest.mark.parametrize(
    ("body", "declared", "expected"),
    [
        (PNG, "image/png", ("image", "image/png", len(PNG), 640, 480)),
        (GIF, "text/plain", ("image", "image/gif", len(GIF), 20, 10)),
        (JPEG, "image/jpeg", ("image", "image/jpeg", len(JPEG), 50, 30)),
        (PNG[:20], "image/png", ("image", "image/png", 20, None, None)),
        (FILM, "video/mp4", ("video", "video/mp4", len(FILM), None, None)),
        (b"ID3\x04" + b"\0" * 50, "application/octet-stream", ("audio", "audio/mpeg", 54, None, None)),
    ],
    ids=range(6),
)
def test_a_file_is_an_object_with_what_is_certain_of_it(
    body: bytes, declared: str, expected: tuple[object, ...]
) -> None:
    found = media_file(page(body, declared))
    assert found is not None
    assert (found.type, *map(found.first, ("format", "size", "width", "height"))) == expected


def test_what_is_no_media_is_no_object_and_what_was_cut_has_no_size() -> None:
    assert media_file(page(b"<!doctype html><p>Gone", "video/mp4")) is None
    assert media_file(page(b"", "image/png")) is None
    cut = media_file(page(FILM, "video/mp4", complete=False))
    assert cut is not None
    assert cut.first("size") is None
