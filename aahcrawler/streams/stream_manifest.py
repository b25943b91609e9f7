"""Hold what a manifest of a stream asks for, and tell one by its beginning."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

MOST_PARTS: Final = 20_000
"""The most parts of one manifest that are asked for: a day of film in segments of four seconds."""
LARGEST: Final = 8_000_000
"""The most bytes of a manifest that are read."""

_HLS: Final = re.compile(rb"(?:\xef\xbb\xbf)?\s*#EXTM3U")
_BEFORE: Final = rb"(?>(?:<\?xml[^>]*>|<!--.*?-->)\s*)*+"
"""What may stand before the root element; atomic, as many comments could else be told apart in too many ways."""
_DASH: Final = re.compile(rb"(?:\xef\xbb\xbf)?\s*+" + _BEFORE + rb"<(?:[\w.-]+:)?MPD[\s>]", re.DOTALL)
_BEGINNING: Final = 4_096


@dataclass(frozen=True, slots=True)
class StreamManifest:
    """What is needed to play a stream as a manifest describes it: other manifests, or pieces of film and sound.

    ``parts`` are absolute URLs as written, in the order in which a player asks for them, each once. ``left_out`` counts
    the qualities and languages that were not chosen. ``is_live``: the stream goes on, and only what was there at that
    moment is named. ``is_protected``: it is encrypted for players with a licence, and its parts are not named.
    ``is_cut``: more than ``MOST_PARTS`` were named.
    """

    parts: tuple[str, ...] = ()
    left_out: int = 0
    is_live: bool = False
    is_protected: bool = False
    is_cut: bool = False


class StreamNote(StrEnum):
    """What a person is told of a stream."""

    READ = "read"
    LEFT_OUT = "left out"
    """There are other qualities or languages, which were not chosen."""
    LIVE = "live"
    PROTECTED = "protected"
    CUT = "cut"
    UNREADABLE = "unreadable"


def notes_of(manifest: StreamManifest) -> Iterator[StreamNote]:
    """Yield what there is to tell of a manifest that was read."""
    yield StreamNote.READ
    told = {
        StreamNote.LEFT_OUT: manifest.left_out,
        StreamNote.LIVE: manifest.is_live,
        StreamNote.PROTECTED: manifest.is_protected,
        StreamNote.CUT: manifest.is_cut,
    }
    yield from (note for note, holds in told.items() if holds)


class UnreadableManifestError(Exception):
    """A manifest breaks the rules of its format; the message says how."""


def is_hls(body: bytes) -> bool:
    """Return whether bytes begin as an HLS playlist must (RFC 8216, section 4.3.1.1).

    >>> is_hls(b"#EXTM3U"), is_hls(b"a.mp3")
    (True, False)
    """
    return _HLS.match(body) is not None


def is_dash(body: bytes) -> bool:
    """Return whether bytes begin as a DASH manifest (ISO/IEC 23009-1, section 5.2).

    >>> is_dash(b'<?xml version="1.0"?><MPD type="static">'), is_dash(b"<svg/>")
    (True, False)
    """
    return _DASH.match(body[:_BEGINNING]) is not None
