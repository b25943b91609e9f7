"""Makes small films; run by the interpreter of an environment that has PyAV, and needs nothing else.

    python -m benchmarks.browser.film_making FOLDER

Writes ``film.mp4``, whose index is at its end, and ``ts/`` and ``fmp4/`` with a film each as HLS (RFC 8216), in two
qualities, in segments of MPEG-TS and of fragmented MP4.
"""

import random
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import av

_RATE, _SECONDS, _SEGMENT = 12, 8, 2
_QUALITIES = {"low": (160, 90, 60_000), "high": (320, 180, 250_000)}
_MASTER = "#EXTM3U\n#EXT-X-VERSION:7\n{}"
_VARIANT = '#EXT-X-STREAM-INF:BANDWIDTH={},RESOLUTION={}x{},CODECS="avc1.42C015"\n{}/index.m3u8\n'


def write(path: str, form: str, options: dict[str, str], quality: str) -> None:
    """Write a film that is always the same."""
    width, height, rate = _QUALITIES[quality]
    drawn = random.Random(quality)
    with av.open(path, "w", format=form, options=options) as film:
        stream: Any = film.add_stream("libx264", rate=_RATE)
        stream.width, stream.height, stream.pix_fmt, stream.bit_rate = width, height, "yuv420p", rate
        stream.options = {"preset": "ultrafast", "profile": "baseline", "g": str(_RATE * _SEGMENT), "threads": "1"}
        stream.time_base = Fraction(1, _RATE)
        for number in range(_RATE * _SECONDS):
            frame = av.VideoFrame(width, height, "yuv420p")
            for plane in frame.planes:
                plane.update(_drawn(drawn, plane.buffer_size, number))
            frame.pts = number
            film.mux(stream.encode(frame))
        film.mux(stream.encode())


def _drawn(drawn: random.Random, size: int, number: int) -> bytes:
    line = bytes(drawn.randrange(64, 192) for _ in range(64))
    return (line * (size // 64 + 1))[number % 7 : number % 7 + size]


def main(folder: Path) -> None:
    """Write all films below a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    write(str(folder / "film.mp4"), "mp4", {}, "high")
    for kind, options in (("ts", {}), ("fmp4", {"hls_segment_type": "fmp4", "hls_fmp4_init_filename": "init.mp4"})):
        variants = []
        for quality, (width, height, rate) in _QUALITIES.items():
            below = folder / kind / quality
            below.mkdir(parents=True, exist_ok=True)
            suffix = "m4s" if kind == "fmp4" else "ts"
            named = {"hls_segment_filename": str(below / f"part%d.{suffix}")}
            told = {"hls_time": str(_SEGMENT), "hls_playlist_type": "vod", **named, **options}
            write(str(below / "index.m3u8"), "hls", told, quality)
            variants.append(_VARIANT.format(2 * rate, width, height, quality))
        (folder / kind / "master.m3u8").write_text(_MASTER.format("".join(variants)), "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
