"""Shows the manifests of streams so that they can be played from the archive."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from aahcrawler.replay.addresses import Address, Modifier
from aahcrawler.replay.dash_rewriting import rewrite_manifest
from aahcrawler.replay.playlist_rewriting import ShownManifest, rewrite_playlist
from aahcrawler.replay.recorded_answers import RecordedAnswer, RecordedAnswers
from aahcrawler.streams.stream_manifest import LARGEST, UnreadableManifestError, is_dash, is_hls
from aahcrawler.urls import resolve

_ERRORS: Final = 400


class StreamFormat(StrEnum):
    """The formats of manifests, by their media types."""

    HLS = "application/vnd.apple.mpegurl"
    DASH = "application/dash+xml"


def format_of(beginning: bytes) -> StreamFormat | None:
    """Return of which format a manifest is that begins so, None for what is none."""
    if is_hls(beginning):
        return StreamFormat.HLS
    return StreamFormat.DASH if is_dash(beginning) else None


@dataclass(frozen=True, slots=True)
class ArchivedStream:
    """A manifest in the archive, as it is shown at an address."""

    answers: RecordedAnswers
    answer: RecordedAnswer
    address: Address

    def shown(self, found: StreamFormat) -> ShownManifest:
        """Return the manifest with all that it names in the archive, and without the qualities that are not there.

        Raise ``UnreadableManifestError`` where a player could not read it either, and ``OSError``.
        """
        body, whole = self.answers.decoded(self.answer, LARGEST)
        if found is StreamFormat.HLS:
            text = body.decode("utf-8-sig", "replace")
            # Of a playlist that broke off, the last line may lack its end.
            return rewrite_playlist(text if whole else text[: text.rfind("\n") + 1], self._link, self._has)
        if not whole:
            raise UnreadableManifestError("the manifest is too large, or did not come whole")
        try:
            return rewrite_manifest(body, self.answer.url, self._link, self._has)
        except ValueError as error:
            raise UnreadableManifestError(f"the manifest names something that is no URL: {error}") from error

    def _link(self, uri: str) -> str | None:
        url = resolve(self.answer.url, uri)
        return Address(self.address.crawl, self.address.moment, Modifier.MEDIA, url).path if url else None

    def _has(self, uri: str) -> bool:
        url = resolve(self.answer.url, uri)
        captures = self.answers.lookup.nearest(url, self.address.moment) if url else ()
        return bool(captures) and captures[0].status < _ERRORS
