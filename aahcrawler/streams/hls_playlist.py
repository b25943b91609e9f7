"""Read an HLS playlist (RFC 8216): a master playlist names qualities, a media playlist the segments of one."""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, Final
from urllib.parse import urljoin

from aahcrawler.streams.quality import Quality, chosen
from aahcrawler.streams.stream_manifest import MOST_PARTS, StreamManifest, UnreadableManifestError

MOST_COMPARISONS: Final = 50_000_000
"""Times that two lines of a playlist may be compared: a day of film with a new key for each 20 seconds has a third."""
_OPEN: Final = (None, "", "identity")
"""The key formats that need no licence (RFC 8216, section 4.3.2.4)."""
_BROKEN: Final = (ValueError, TypeError, KeyError, IndexError, AttributeError)
"""What the parser raises where a playlist breaks the rules."""


def read_playlist(text: str, url: str, most_lines: int) -> StreamManifest:
    """Return what a playlist asks for. Raise ``UnreadableManifestError``.

    Of a master playlist that is one quality, its sound in the default language, and all of its subtitles.
    """
    from m3u8 import loads  # noqa: PLC0415 - few crawls meet a stream

    if _comparisons(text) > MOST_COMPARISONS:
        raise UnreadableManifestError("the playlist names too many keys, or too many renditions of its qualities")
    try:
        playlist = loads(text)
        return _of_master(playlist, url, most_lines) if playlist.is_variant else _of_media(playlist, url)
    except _BROKEN as error:
        raise UnreadableManifestError(f"the playlist cannot be read: {error}") from error


def _comparisons(text: str) -> int:
    """Return how often the parser compares two lines of a playlist: a segment with keys, a quality with renditions."""
    keys, renditions = text.count("#EXT-X-KEY"), text.count("#EXT-X-MEDIA:")
    return keys * (keys + text.count("#EXTINF")) + renditions * text.count("#EXT-X-STREAM-INF")


def _of_master(playlist: Any, url: str, most_lines: int) -> StreamManifest:
    variants = [variant for variant in playlist.playlists if variant.uri]
    if not variants:
        raise UnreadableManifestError("the playlist names no quality")
    qualities = [_quality(variant.stream_info) for variant in variants]
    best = variants[chosen(qualities, most_lines)]
    groups = {
        "AUDIO": best.stream_info.audio,
        "VIDEO": best.stream_info.video,
        "SUBTITLES": best.stream_info.subtitles,
    }
    renditions = [media for media in playlist.media if media.uri and groups.get(media.type) == media.group_id]
    taken = [*_defaults(media for media in renditions if media.type != "SUBTITLES")]
    taken += [media for media in renditions if media.type == "SUBTITLES"]
    parts = dict.fromkeys(urljoin(url, uri) for uri in (best.uri, *(media.uri for media in taken)))
    others = {variant.uri for variant in variants} - {best.uri}
    return StreamManifest(tuple(islice(parts, MOST_PARTS)), left_out=len(others) + len(renditions) - len(taken))


def _quality(info: Any) -> Quality:
    return Quality(info.resolution[1] if info.resolution else 0, info.average_bandwidth or info.bandwidth or 0)


def _defaults(renditions: Iterable[Any]) -> Iterator[Any]:
    """Yield one rendition of each group: the default one, else the first."""
    groups: dict[tuple[str, str], Any] = {}
    for media in renditions:
        key = media.type, media.group_id
        if key not in groups or (media.default == "YES" and groups[key].default != "YES"):
            groups[key] = media
    yield from groups.values()


def _of_media(playlist: Any, url: str) -> StreamManifest:
    is_live = not playlist.is_endlist and playlist.playlist_type != "vod"
    if any(key is not None and not _is_open(key) for key in playlist.keys):
        return StreamManifest(is_live=is_live, is_protected=True)
    parts = dict.fromkeys(urljoin(url, part) for part in islice(_parts(playlist), 4 * MOST_PARTS))
    return StreamManifest(tuple(islice(parts, MOST_PARTS)), is_live=is_live, is_cut=len(parts) > MOST_PARTS)


def _is_open(key: Any) -> bool:
    return key.method in ("NONE", "AES-128") and key.keyformat in _OPEN


def _parts(playlist: Any) -> Iterator[str]:
    """Yield the URLs of each segment's key and head before its own."""
    for segment in playlist.segments:
        for beside in (segment.key, segment.init_section):
            if beside is not None and beside.uri:
                yield beside.uri
        if segment.uri:
            yield segment.uri
