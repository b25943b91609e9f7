"""Players whose scripts put a stream together: what they played is found among what their page needs."""

from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Final

from lxml.etree import _Element as Element

from aahcrawler.archive.record_access import RecordError, metadata_in, records_at
from aahcrawler.metadata import LinkType
from aahcrawler.page import Page
from aahcrawler.replay.recorded_answers import RecordedAnswer, RecordedAnswers
from aahcrawler.streams.manifest_reading import manifest_of
from aahcrawler.streams.stream_manifest import UnreadableManifestError, is_hls
from aahcrawler.urls import canonicalize

_MADE: Final = "blob:"
"""The URLs that a script makes of bytes (File API, section 8)."""
_MOST_LOOKED_UP: Final = 500
_MOST_READ: Final = 20
_KIND: Final = "mpegurl"
_NAMES: Final = (".m3u8", ".m3u")


def play_stream(answers: RecordedAnswers, answer: RecordedAnswer, page: Page) -> None:
    """Have the one element of a page that played what scripts made play the one stream of which the page's parts are.

    Of several elements or streams nobody knows which belong together, so the page stays as it is. The page's tree is
    changed. Streams in DASH, which no browser plays by itself, are no such. Raise ``OSError`` and ``NoIndexError``.
    """
    made = [each for each in page.tree.iter("video", "audio") if (each.get("src") or "").startswith(_MADE)]
    if len(made) != 1:
        return
    streams = _streams(answers, answer, list(_needed(answers.archive, answer)))
    if len(streams) == 1:
        _set(made[0], streams[0])


def _set(element: Element, url: str) -> None:
    for child in element.findall("source"):
        element.remove(child)
    element.set("src", url)


def _needed(archive: Path, answer: RecordedAnswer) -> Iterator[str]:
    """Yield what a page needs to be shown, as its metadata tell."""
    records = records_at(archive, (answer.own or answer.holder).place, answer.record_id)
    with suppress(RecordError):
        found = (metadata_in(record) for record in records if record.kind == "metadata")
        metadata = next((each for each in found if each is not None), None)
        for link in metadata.links if metadata is not None else ():
            if link.type is LinkType.REQUISITE:
                yield link.url


def _streams(answers: RecordedAnswers, answer: RecordedAnswer, urls: list[str]) -> list[str]:
    """Return those of the URLs at which playlists were captured that no other playlist among them names."""
    parts: dict[str, frozenset[str]] = {}
    for url in islice(dict.fromkeys(urls), _MOST_LOOKED_UP):
        found = answers.lookup.nearest(url, answer.moment)
        named = url.partition("?")[0].lower().endswith(_NAMES)
        if not found or not (named or _KIND in found[0].media_type):
            continue
        playlist = answers.nearest(url, answer.moment)
        if playlist is not None and (named_in := _parts(answers.page(playlist))) is not None:
            parts[url] = named_in
        if len(parts) > _MOST_READ:
            return []
    inner = frozenset().union(*parts.values())
    return [url for url in parts if url not in inner]


def _parts(page: Page) -> frozenset[str] | None:
    """Return what a playlist names, in canonical form; None for what is none that can be read."""
    try:
        manifest = manifest_of(page) if is_hls(page.body) else None
    except UnreadableManifestError:
        return None
    return None if manifest is None else frozenset(url for each in manifest.parts if (url := canonicalize(each)))
