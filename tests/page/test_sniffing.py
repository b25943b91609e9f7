"""What bytes are, whatever they are called."""

import io
import zipfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aahcrawler.page.sniffing import read_as, sniff
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


XHTML = b"<?xml version='1.0'?>\n<!DOCTYPE html PUBLIC '-//W3C//DTD XHTML 1.0 Strict//EN' 'x.dtd'>\n<html xmlns='http://www.w3.org/1999/xhtml'>"
RDF = b'<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="%s">'
RSS_TYPE, ATOM, JSON_FEED = "application/rss+xml", "application/atom+xml", "application/feed+json"


@pytest.mark.parametrize(
    ("body", "declared", "expected"),
    [
        # Feeds, whatever they are declared as
        *(
            (RSS, each, RSS_TYPE)
            for each in ("", "text/html", "text/plain", "application/octet-stream", "application/json")
        ),
        (b"\xef\xbb\xbf\n" + RSS, "text/html", RSS_TYPE),
        (RSS.decode().encode("utf-16"), "text/html", RSS_TYPE),
        (b"<!-- " + b"long " * 1_000 + b"-->" + RSS[21:], "text/html", RSS_TYPE),
        (b"<feed xmlns='http://www.w3.org/2005/Atom'>", "text/plain", ATOM),
        (RDF % b"http://purl.org/rss/1.0/", "text/html", RSS_TYPE),
        (RDF % b"http://my.netscape.com/rdf/simple/0.9/", "", RSS_TYPE),
        (RDF % b"http://xmlns.com/foaf/0.1/", "text/plain", "text/plain"),
        (b'{"version": "https://jsonfeed.org/version/1.1"}', "text/html", JSON_FEED),
        (b' {"title": "x", "version":"https:\\/\\/jsonfeed.org\\/version\\/1"}', "application/json", JSON_FEED),
        (RSS, "text/xml", "text/xml"),
        (RSS, "application/x-rss+xml", "application/x-rss+xml"),
        (RSS, "application/xhtml+xml", RSS_TYPE),
        (RSS, "image/png", "image/png"),
        # XHTML is a page as any XML, and by its namespace alone
        *(
            (XHTML, each, "application/xhtml+xml")
            for each in ("text/xml", "application/xml", "application/vnd.wap.xhtml+xml")
        ),
        (XHTML, "text/html", "text/html"),
        (b"<html><title>x", "text/xml", "text/xml"),
        (b"<?xml version='1.0'?><html xmlns='http://www.w3.org/TR/REC-html40'>", "text/xml", "text/xml"),
        (b"<?xml version='1.0'?><urlset>", "text/xml", "text/xml"),
        (b"<svg xmlns='http://www.w3.org/2000/svg'>", "image/svg+xml", "image/svg+xml"),
        # Nothing else is HTML that is not declared so
        (b"<!doctype html><p>", "text/plain", "text/plain"),
        (b"<!doctype html><p>", "application/octet-stream", "application/octet-stream"),
        (b"<!doctype html><p>", "image/png", "image/png"),
        (b"<!doctype html><p>", "", "text/html"),
        (b"Just words", "text/html", "text/html"),
        (b'{"a": 1}', "", "text/plain"),
        (b'{"a": 1}', "application/json", "application/json"),
        # Text or not, pictures by their bytes
        (b"\0\1\2\3", "text/plain", "application/octet-stream"),
        ("plain".encode("utf-16"), "text/plain", "text/plain"),
        (b"GIF89a\x01\x00", "image/png", "image/gif"),
        (b"GIF89a\x01\x00", "audio/mpeg", "audio/mpeg"),
        (b"GIF89a\x01\x00", "", "image/gif"),
    ],
)
def test_what_bytes_are_read_as(body: bytes, declared: str, expected: str) -> None:
    assert read_as(body, (declared,) if declared else (), declared, no_sniff=False) == expected


def test_with_no_sniff_only_feeds_are_read_as_something_else() -> None:
    assert read_as(b"<!doctype html>", (), "", no_sniff=True) == "text/plain"
    assert read_as(b"\0\1\2\3", ("text/plain",), "text/plain", no_sniff=True) == "text/plain"
    assert read_as(RSS, ("text/html",), "text/html", no_sniff=True) == RSS_TYPE


def test_only_what_old_servers_say_of_unknown_files_is_doubted() -> None:
    for field in ("text/plain; charset=UTF-8", "text/plain; charset=ISO-8859-1"):
        assert read_as(b"\0\1\2", ("text/plain",), field, no_sniff=False) == "application/octet-stream"
    assert read_as(b"\0\1\2", ("text/plain",), "text/plain; charset=koi8-r", no_sniff=False) == "text/plain"


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
        b"<html " * 10_000,
        b'{"version"' * 10_000,
    ],
)
def test_hostile_bytes_take_no_time(hostile: bytes) -> None:
    with at_most(0.5):
        assert sniff(hostile, "text/plain")
        assert read_as(hostile, ("text/plain",), "text/plain", no_sniff=False)
        assert read_as(hostile, ("text/xml",), "text/xml", no_sniff=False)
