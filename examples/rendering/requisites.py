"""Images and style sheets of the world, made of bytes that are the same on every machine."""

import struct
import zlib

from examples.rendering.prose import digest
from examples.rendering.recording import Recording

CSS = "text/css"
PNG = "image/png"
SVG = "image/svg+xml"


def png(name: str, width: int = 24, height: int = 16) -> bytes:
    """Return a small picture of a horizon; its colours depend on the name.

    The pixels are stored, not compressed: the bytes of a compressor depend on its version.
    """
    sky, sea = digest(name, "sky"), digest(name, "sea")
    level = 4 + digest(name, "level") % (height - 6)
    rows = b"".join(
        b"\x00" + bytes((sky if line < level else sea) >> shift & 0xFF for shift in (0, 8, 16)) * width
        for line in range(height)
    )
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", header) + _chunk(b"IDAT", _stored(rows)) + _chunk(b"IEND", b"")


def _stored(data: bytes) -> bytes:
    block = struct.pack("<BHH", 1, len(data), len(data) ^ 0xFFFF) + data
    return b"\x78\x01" + block + struct.pack(">I", zlib.adler32(data))


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def svg(letter: str) -> bytes:
    """Return a logo: a wave under a letter."""
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 60 40" width="60" height="40">'
        f'<text x="22" y="24" font-size="20">{letter}</text>'
        '<path d="M2 32q7-8 14 0t14 0 14 0 14 0" fill="none" stroke="#136" stroke-width="2"/></svg>\n'
    ).encode()


def add_style(site: Recording, folder: str, name: str = "style.css", query: str = "") -> None:
    """Record a style sheet that imports another one and shows an image, as real ones do.

    ``query`` is the version with which pages name the first one.
    """
    hue = digest(site.host) % 360
    sheet = """@import "colours.css";
body { margin: 0 auto; max-width: 60rem; font: 1rem/1.5 Georgia, serif; }
h1, h2, h3 { line-height: 1.2; }
img { max-width: 100%; }
#logo, .logo { background: url("logo.svg") no-repeat; min-height: 40px; padding-left: 70px; }
"""
    colours = f"body {{ color: #222; background: hsl({hue} 30% 96%); }}\na {{ color: hsl({hue} 60% 32%); }}\n"
    site.file(f"{folder}/{name}{query}", sheet.encode(), CSS)
    site.file(f"{folder}/colours.css", colours.encode(), CSS)
    site.file(f"{folder}/logo.svg", svg(site.host[0].upper()), SVG)
