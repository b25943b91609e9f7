"""What bytes are, whatever they are called."""

import io
import zipfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aahcrawler.page.sniffing import sniff
from tests.pace import at_most


def zipped(*names: str, mimetype: str = "") -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        if mimetype:
            archive.writestr("mimetype", mimetype)
        for name in names:
            archive.writestr(name, "x" * 99)
    return file.getvalue()


OFFICE = "application/vnd.openxmlformats-officedocument."
RSS = b'<?xml version="1.0"?>\n<!-- made by hand --><rss version="2.0">'


@pytest.mark.parametrize(
    ("body", "declared", "expected"),
    [
        # HTML under other names, and what only begins like it
        (b"<!DOCTYPE html><p>Hello", "text/plain", "text/html"),
        (b"  <html lang=en>", "application/octet-stream", "text/html"),
        (b"<p>The picture has gone.", "image/png", "text/html"),
        (b"<!doctype html><title>404", "text/css", "text/html"),
        (b"<!doctype html><title>404", "application/json", "text/html"),
        (b"<!-- hide from old browsers\nvar a = 1;", "text/javascript", "text/javascript"),
        (b"Just words with a <b>tag</b>", "text/html", "text/html"),
        (b"Just words with a <b>tag</b>", "text/plain", "text/plain"),
        ("<html><p>x".encode("utf-16-le"), "text/html", "text/html"),
        ("\ufeff<!doctype html>".encode("utf-16"), "", "text/html"),
        # XML by its root
        (
            b"<!DOCTYPE html><html xmlns='http://www.w3.org/1999/xhtml'>",
            "application/xhtml+xml",
            "application/xhtml+xml",
        ),
        (b"<?xml version='1.0'?><html xmlns='http://www.w3.org/1999/xhtml'>", "text/html", "text/html"),
        (b"<?xml version='1.0'?><html xmlns='http://www.w3.org/1999/xhtml'>", "text/xml", "application/xhtml+xml"),
        (b"<!doctype html><title>Gone", "application/rss+xml", "text/html"),
        (RSS, "text/html", "application/rss+xml"),
        (RSS, "application/xml", "application/rss+xml"),
        (b"<feed xmlns='http://www.w3.org/2005/Atom'>", "text/plain", "application/atom+xml"),
        (b"<r:RDF xmlns:r='x'>", "text/xml", "application/rdf+xml"),
        (b"<svg xmlns='http://www.w3.org/2000/svg'>", "image/png", "image/svg+xml"),
        (b"<?xml version='1.0'?><urlset>", "application/xml", "application/xml"),
        (b"<?xml version='1.0'?><urlset>", "application/rss+xml", "text/xml"),
        (b"<MPD type='static'>", "application/dash+xml", "application/dash+xml"),
        (b"no markup at all", "text/xml", "text/plain"),
        # JSON
        (b'{"a": 1}', "application/ld+json", "application/ld+json"),
        (b'{"a": 1}', "text/html", "application/json"),
        (b' [1, {"b": []}]', "", "application/json"),
        (b"{ color: red }", "text/plain", "text/plain"),
        (b"oops", "application/json", "text/plain"),
        (b"[" * 100_000, "text/plain", "text/plain"),
        # Text that shows nothing
        (b"p { color: red }", "text/css", "text/css"),
        (b"a,b\n1,2\n", "text/csv", "text/csv"),
        (b"var a;", "application/x-javascript", "application/x-javascript"),
        (b"Sorry, no such file.", "image/jpeg", "text/plain"),
        (b"Sorry, no such file.", "application/zip", "text/plain"),
        (b"BMW is a brand, OTTO another, ID3 a format", "text/plain", "text/plain"),
        (b"ID3 is a format", "", "text/plain"),
        # Images, documents, archives, fonts, sound and pictures that move
        (b"\xff\xd8\xff\xe0\x00\x10JFIF", "image/png", "image/jpeg"),
        (b"GIF89a\x01\x00", "text/html", "image/gif"),
        (b"RIFF\x24\x00\x00\x00WEBPVP8L", "image/jpeg", "image/webp"),
        (b"\x00\x00\x00\x1cftypavif\x00\x00", "application/octet-stream", "image/avif"),
        (b"BM\x46\x00\x00\x00\x00\x00\x00\x00\x36\x00\x00\x00\x28\x00\x00\x00\x02", "", "image/bmp"),
        (b"%PDF-1.7\n%\xe2\xe3", "text/html", "application/pdf"),
        (zipped("a.txt"), "application/x-zip-compressed", "application/zip"),
        (zipped("[Content_Types].xml", "_rels/.rels", "word/document.xml"), "", OFFICE + "wordprocessingml.document"),
        (zipped("[Content_Types].xml", "xl/workbook.xml"), "application/zip", OFFICE + "spreadsheetml.sheet"),
        (zipped("META-INF/x", mimetype="application/epub+zip"), "application/zip", "application/epub+zip"),
        (
            zipped(mimetype="application/vnd.oasis.opendocument.text"),
            "",
            "application/vnd.oasis.opendocument.text",
        ),
        (zipped("a.class"), "application/java-archive", "application/java-archive"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(99), "application/msword", "application/msword"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(99), "text/html", "application/x-ole-storage"),
        (b"\x1f\x8b\x08\x00", "text/html", "application/gzip"),
        (bytes(257) + b"ustar\x0000", "", "application/x-tar"),
        (b"wOF2\x00\x01\x00\x00", "text/plain", "font/woff2"),
        (b"\x00\x01\x00\x00\x00\x12\x01\x00", "application/octet-stream", "font/ttf"),
        (b"OggS\x00\x02", "audio/ogg", "audio/ogg"),
        (b"OggS\x00\x02", "video/mp4", "application/ogg"),
        (b"ID3\x03\x00\x00", "application/octet-stream", "audio/mpeg"),
        (b"\xff\xfb\x90\x64\x00", "audio/mp3", "audio/mpeg"),
        (b"\x00\x00\x00\x18ftypmp42", "audio/mp4", "audio/mp4"),
        (b"\x1a\x45\xdf\xa3\x93\x42\x82\x88matroska", "", "video/x-matroska"),
        # Bytes that nobody knows
        (b"\x00\x01\x02\x03", "image/png", "application/octet-stream"),
        (b"\x00\x01\x02\x03", "text/html", "application/octet-stream"),
        (b"", "text/html", ""),
    ],
)
def test_bytes_say_what_they_are(body: bytes, declared: str, expected: str) -> None:
    assert sniff(body, declared) == expected


@given(st.binary(max_size=200), st.sampled_from(["", "text/html", "application/zip", "text/xml", "image/png", "x/y"]))
def test_any_bytes_are_something(body: bytes, declared: str) -> None:
    found = sniff(body, declared)
    assert found.count("/") == (1 if body else 0)
    for beginning in (b"PK\x03\x04", b"<?xml", b"<!--", b"\x1a\x45\xdf\xa3", b"{"):
        assert "/" in sniff(beginning + body, declared)


@pytest.mark.parametrize(
    "hostile",
    [
        b"<?x?>" + b"<!---->" * 400,
        b"<!" + b"<!-- -->" * 400,
        b"<?xml" * 1000,
        b" " * 100_000 + b"<",
        b"PK\x03\x04" * 500_000,
        b"[" * 1_000_000,
        b'{"a":' * 200_000,
    ],
)
def test_hostile_bytes_take_no_time(hostile: bytes) -> None:
    with at_most(0.5):
        assert sniff(hostile, "text/plain")
