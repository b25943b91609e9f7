"""Measures what imports keep of other programs' archives, intact and damaged, and how fast imports and look-ups are.

    python -m benchmarks.importing [--archives FOLDER] [--records N] [--captures N] --json FILE

Records are only copied and indexed here, not read by the knowledge base.

- ``records``, ``kept``, ``lost`` and ``told`` are as ``aah import`` counts them. ``beyond`` counts records of made-up
  archives that no damage touches but that were not kept: there must be none, except behind damage in one gzip member.
  ``again`` counts records that a second import of the same file adds: there must be none.
- ``seconds`` is the time of one import; ``cpu_seconds`` the processor time of the busier of its two processes: what it
  would take with a core for each.
- For look-ups, ``records`` captures are in the index, and ``p50_ms`` and ``p95_ms`` are the processor time of one.
"""

import argparse
import gzip
import random
import resource
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from io import BytesIO
from pathlib import Path
from statistics import quantiles
from typing import Final

from warcio.archiveiterator import ArchiveIterator
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

from aahcrawler.imports.archive_import import ArchiveImport, ImportFault
from aahcrawler.imports.import_writer import ImportCounts
from aahcrawler.layout import ARCHIVE, INDEX, INDEXES, WARC
from aahcrawler.replay.capture_lookup import CaptureLookup
from benchmarks.results import Cell, Row, report

_DAMAGED: Final = 24
"""The number of records of a damaged archive; each kind of damage is done at twice as many places."""
_KINDS: Final = ("bytes changed", "bytes cut out", "bytes put in", "cut off")
_WORDS: Final = ("the", "river", "has", "risen", "by", "two", "metres", "since", "Monday", "dike", "holds", "storm")
_LOOKS: Final = 2_000
_SITE: Final = 50
"""The number of pages of each site in the index of look-ups."""


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--archives", type=Path, help="a folder of archives, each of which is imported")
    parser.add_argument("--records", type=int, default=20_000, help="records of the archive whose import is timed")
    parser.add_argument("--captures", type=int, default=1_000_000, help="captures of the index that is looked up in")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="aah-importing-") as name:
        place = Path(name)
        rows = [*of_others(given.archives, place), *of_programs(place), *damaged(place)]
        rows += [*timed(given.records, place), looked_up(given.captures, place)]
    report(rows, given.json)


def row(case: str, **cells: Cell) -> Row:
    """Return a row in which missing cells are None."""
    names = ("records", "kept", "lost", "told", "beyond", "again", "seconds", "cpu_seconds", "p50_ms", "p95_ms")
    return {"case": case, **{name: cells.get(name) for name in names}}


def imported(path: Path, root: Path, processes: int = 1) -> tuple[ImportCounts, list[ImportFault]]:
    """Import a file; return the counts of its records, and the reported faults."""
    told: list[ImportFault] = []
    root.mkdir(exist_ok=True)
    return ArchiveImport(root, "trial", told.append, processes=processes).run((path,)), told


def counted(case: str, path: Path, place: Path) -> Row:
    """Import a file twice; return the row."""
    root = place / "trial"
    began = time.perf_counter()
    counts, told = imported(path, root)
    seconds = time.perf_counter() - began
    again, _ = imported(path, root)
    shutil.rmtree(root)
    cells = {"records": counts.records, "kept": counts.kept, "lost": counts.lost, "told": len(told)}
    return row(case, **cells, again=again.kept, seconds=seconds)


def of_others(folder: Path | None, place: Path) -> Iterator[Row]:
    """Yield a row for each archive in a folder."""
    for path in sorted(folder.iterdir()) if folder is not None else ():
        if path.is_file() and path.suffix in (".gz", ".warc", ".arc", ".wacz"):
            yield counted(path.name, path, place)


def of_programs(place: Path) -> Iterator[Row]:
    """Yield rows of archives that warcio writes and, if it is installed, wget."""
    path = place / "warcio.warc.gz"
    path.write_bytes(b"".join(made(200)))
    yield counted("written by warcio", path, place)
    if shutil.which("wget") is None:
        return
    pages = place / "pages"
    pages.mkdir()
    for number in range(20):
        (pages / f"{number}.html").write_text(f'<a href="{(number + 1) % 20}.html">Next</a> {_text(number)}', "utf-8")
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(pages)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}/0.html"
    command = ["wget", "-q", "-r", "-P", str(place / "got"), f"--warc-file={place / 'wget'}", url]
    subprocess.run(command, check=False, timeout=60)
    server.shutdown()
    yield counted("written by wget", place / "wget.warc.gz", place)


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Log nothing."""


def made(count: int, seed: int = 1) -> Iterator[bytes]:
    """Yield records as warcio writes them, each in a gzip member of its own."""
    drawn = random.Random(seed)
    for number in range(count):
        file = BytesIO()
        body = f"<title>Page {number}</title><p>{_text(number)}".encode()
        head = StatusAndHeaders("200 OK", [("Content-Type", "text/html")], protocol="HTTP/1.1")
        writer = WARCWriter(file, gzip=True)
        dated = {"WARC-Date": f"20{drawn.randrange(10, 20)}-0{drawn.randrange(1, 10)}-11T12:13:14Z"}
        url = f"http://site{number % 997}.example/{number}"
        record = writer.create_warc_record(url, "response", BytesIO(body), http_headers=head, warc_headers_dict=dated)
        writer.write_record(record)
        yield file.getvalue()


def _text(seed: int) -> str:
    drawn = random.Random(seed)
    return " ".join(drawn.choices(_WORDS, k=200))


def damaged(place: Path) -> Iterator[Row]:
    """Yield a row for each packing of records and each kind of damage, done at places throughout the file."""
    records = list(made(_DAMAGED, 2))
    texts = [gzip.decompress(each) for each in records]
    packed: tuple[tuple[str, Sequence[bytes], Callable[[bytes], bytes]], ...] = (
        ("a gzip member each", records, bytes),
        ("plain text", texts, bytes),
        ("one gzip member", texts, lambda text: gzip.compress(text, mtime=0)),
    )
    for name, parts, pack in packed:
        ends = [sum(map(len, parts[: at + 1])) for at in range(len(parts))]
        whole = pack(b"".join(parts))
        for kind in _KINDS:
            yield _damaged(f"{name}, {kind}", whole, None if name.startswith("one") else ends, kind, place)


def _damaged(case: str, whole: bytes, ends: Sequence[int] | None, kind: str, place: Path) -> Row:
    drawn = random.Random(case)
    sums, beyond, again, told_of, seconds = ImportCounts(), 0, 0, 0, 0.0
    for at in range(2 * _DAMAGED):
        begin = min(len(whole) * at // (2 * _DAMAGED) + drawn.randrange(40), len(whole) - 1)
        size = drawn.randrange(1, 40)
        text, end = _with_damage(whole, kind, begin, size, drawn)
        path = place / "damaged.warc.gz"
        path.write_bytes(text)
        began = time.perf_counter()
        counts, told = imported(path, place / "damaged")
        seconds += time.perf_counter() - began
        again += imported(path, place / "damaged")[0].kept
        shutil.rmtree(place / "damaged")
        sums.add(counts)
        told_of += len(told)
        if ends is not None:
            starts = [0, *ends[:-1]]
            touched = sum(start <= end and begin <= stop for start, stop in zip(starts, ends, strict=True))
            beyond += max(0, len(ends) - touched - counts.kept)
    cells = {"records": sums.records, "kept": sums.kept, "lost": sums.lost, "told": told_of, "again": again}
    return row(case, **cells, beyond=None if ends is None else beyond, seconds=seconds)


def _with_damage(whole: bytes, kind: str, begin: int, size: int, drawn: random.Random) -> tuple[bytes, int]:
    """Return damaged bytes, and the offset up to which the intact ones are affected."""
    match kind:
        case "bytes changed":
            changed = bytes(each ^ 0x55 for each in whole[begin : begin + size])
            return whole[:begin] + changed + whole[begin + size :], begin + size
        case "bytes cut out":
            return whole[:begin] + whole[begin + size :], begin + size
        case "bytes put in":
            return whole[:begin] + drawn.randbytes(size) + whole[begin:], begin
        case _:
            return whole[:begin], len(whole)


def timed(count: int, place: Path) -> Iterator[Row]:
    """Yield rows of the import of many records by one process and by two."""
    path = place / "many.warc.gz"
    with path.open("wb") as file:
        file.writelines(made(count))
    kept: list[list[str]] = []
    for processes in (1, 2):
        root = place / f"by{processes}"
        before, began = _cpu(), time.perf_counter()
        counts, told = imported(path, root, processes)
        seconds = time.perf_counter() - began
        spent = [after - ago for after, ago in zip(_cpu(), before, strict=True)]
        kept.append(list(_ids(root)))
        again, _ = imported(path, root, processes)
        cells = {"records": counts.records, "kept": counts.kept, "lost": counts.lost, "told": len(told)}
        case = f"{processes} process{'es' * (processes > 1)}"
        yield row(case, **cells, again=again.kept, seconds=seconds, cpu_seconds=max(spent))
    assert kept[0] == kept[1]


def _cpu() -> tuple[float, float]:
    """Return the processor seconds of this process, and those of its ended children."""
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    own, others = (each.ru_utime + each.ru_stime for each in used)
    return own, others


def _ids(root: Path) -> Iterator[str]:
    for path in sorted((root / ARCHIVE).glob(f"*.{WARC}")):
        with path.open("rb") as file:
            for record in ArchiveIterator(file):
                if record.rec_type != "warcinfo":
                    yield record.rec_headers.get_header("WARC-Record-ID")


def looked_up(captures: int, place: Path) -> Row:
    """Return the row of look-ups in a sorted index."""
    (place / "looked" / INDEXES).mkdir(parents=True)
    (place / "looked" / ARCHIVE).mkdir()
    drawn, written = random.Random(3), 0
    with (place / "looked" / INDEXES / INDEX).open("w", encoding="ascii") as file:
        while written < captures:
            page = written // 2
            for second in (10, 20):
                fields = f'"url": "{_url(page)}", "mime": "text/html", "status": "200", "digest": "sha1:{"A" * 32}"'
                at = f'"length": "4123", "offset": "{written}", "filename": "a-20120101000000-00001.warc.gz"'
                key = f"example,site{page // _SITE:08})/archive/page-{page % _SITE:02}.html"
                file.write(f"{key} 201203041213{second} {{{fields}, {at}}}\n")
                written += 1
    lookup, seconds = CaptureLookup(place / "looked"), []
    for _ in range(_LOOKS):
        url = _url(drawn.randrange(written // 2))
        began = time.thread_time()
        found = lookup.nearest(url, "20120304000000")
        seconds.append(time.thread_time() - began)
        assert [each.url for each in found] == [url, url]
    cuts = quantiles(seconds, n=100)
    return row("look-ups", records=written, p50_ms=cuts[49] * 1000, p95_ms=cuts[94] * 1000)


def _url(page: int) -> str:
    return f"http://site{page // _SITE:08}.example/archive/page-{page % _SITE:02}.html"


if __name__ == "__main__":
    main()
