"""Read the manifest of a stream, whatever its format."""

from aahcrawler.page import Page
from aahcrawler.streams.dash_manifest import read_manifest
from aahcrawler.streams.hls_playlist import read_playlist
from aahcrawler.streams.quality import MOST_LINES
from aahcrawler.streams.stream_manifest import LARGEST, StreamManifest, UnreadableManifestError, is_dash, is_hls


def is_manifest(page: Page) -> bool:
    """Return whether an answer begins as the manifest of a stream does."""
    return is_hls(page.body) or is_dash(page.body)


def manifest_of(page: Page, most_lines: int = MOST_LINES) -> StreamManifest | None:
    """Return what the manifest of a stream asks for, None where an answer is none.

    Raise ``UnreadableManifestError`` for one that breaks its format, did not come whole, or is larger than ``LARGEST``.
    """
    if not is_manifest(page):
        return None
    if len(page.body) > LARGEST or not page.complete:
        raise UnreadableManifestError("the manifest is too large, or did not come whole")
    if is_hls(page.body):
        return read_playlist(page.body.decode("utf-8-sig", "replace"), page.url, most_lines)
    return read_manifest(page.body, page.url, most_lines)
