"""Measures what gzip members of a crawl's folder take: time and bytes, by library and level.

    python -m benchmarks.compression CRAWL [--members N] [--rounds N] --json FILE

CRAWL is the folder of a crawl. The members of its WARC files, triples and score log are compressed again, each as a
member of its own as the crawl writes them: with ISA-L, with zlib, with FastWARC's writer, and with zlib-ng where that
is installed (``pip install zlib-ng``). Libraries take turns after each member, and the best of the rounds counts.

``us`` is processor time a member, ``bytes`` its size, ``share`` that of what went in.
"""

import argparse
import time
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from io import BytesIO
from itertools import islice
from pathlib import Path
from types import ModuleType

from fastwarc.stream_io import GzipWriter

from aahcrawler.layout import NQUADS, SCORE_LOG, WARC
from aahcrawler.segments.reader import segments
from benchmarks.results import Cell, report

LEVELS = {"isal.isal_zlib": (1, 2, 3), "zlib": (6,), "zlib_ng.zlib_ng": (4, 6)}
FASTWARC = (1, 6)
GZIP = 31
KINDS = {"records": ("archive", WARC), "triples": ("objects", NQUADS), "scores": ("scores", SCORE_LOG)}

Compressor = Callable[[bytes], int]
"""Compresses a member and returns its size."""


def compressors() -> Mapping[str, Compressor]:
    """Return the libraries and levels that can be tried here, by their names."""
    found: dict[str, Compressor] = {}
    for name, levels in LEVELS.items():
        try:
            module = import_module(name)
        except ImportError:
            continue
        found |= {f"{name.partition('.')[0]} {level}": _like_zlib(module, level) for level in levels}
    return found | {f"fastwarc {level}": _with_fastwarc(level) for level in FASTWARC}


def _like_zlib(module: ModuleType, level: int) -> Compressor:
    def compress(member: bytes) -> int:
        compressor = module.compressobj(level, zlib.DEFLATED, GZIP)
        return len(compressor.compress(member)) + len(compressor.flush())

    return compress


def _with_fastwarc(level: int) -> Compressor:
    def compress(member: bytes) -> int:
        target = BytesIO()
        writer = GzipWriter(target, level, 1 << 16)
        writer.write(member)
        writer.finish()
        return target.tell()

    return compress


def members(folder: Path, extension: str) -> Iterator[bytes]:
    """Yield what the gzip members of a series of segments hold."""
    for path in segments(folder, extension):
        rest = path.read_bytes()
        while rest:
            decompressor = zlib.decompressobj(GZIP)
            yield decompressor.decompress(rest)
            rest = decompressor.unused_data


def measure(kind: str, given: Sequence[bytes], rounds: int) -> list[dict[str, Cell]]:
    """Compress members with each library; return a row for each."""
    tried = compressors()
    best, sizes = dict.fromkeys(tried, float("inf")), dict.fromkeys(tried, 0)
    for _ in range(rounds):
        spent = dict.fromkeys(tried, 0.0)
        sizes = dict.fromkeys(tried, 0)
        for member in given:
            for name, compress in tried.items():
                begun = time.process_time()
                sizes[name] += compress(member)
                spent[name] += time.process_time() - begun
        best = {name: min(best[name], each) for name, each in spent.items()}
    whole = sum(map(len, given))
    return [
        {
            "members": kind,
            "with": name,
            "us": 1e6 * best[name] / len(given),
            "bytes": sizes[name] / len(given),
            "share": sizes[name] / whole,
        }
        for name in tried
    ]


def main() -> None:
    """Measure and report."""
    parser = argparse.ArgumentParser(description="Measure what gzip members of a crawl's folder take.")
    parser.add_argument("crawl", type=Path, help="the folder of a crawl")
    parser.add_argument("--members", type=int, default=1500, metavar="N", help="of each kind at most")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path, metavar="FILE", help="where the rows go")
    arguments = parser.parse_args()
    rows: list[dict[str, Cell]] = []
    for kind, (folder, extension) in KINDS.items():
        given = list(islice(members(arguments.crawl / folder, extension), arguments.members))
        if not given:
            parser.error(f"{arguments.crawl / folder} holds no file *.{extension}")
        rows += measure(kind, given, arguments.rounds)
    report(rows, arguments.json)


if __name__ == "__main__":
    main()
