"""The comparison with pywb's indexers, as far as it needs no pywb: what counts as a difference, and what does not."""

from dataclasses import replace
from pathlib import Path

import pytest
from benchmarks.pywb_index import Line, compared, void_places

from aahcrawler.archive.index import IndexWriter, index_lines
from aahcrawler.archive.writer import WarcWriter
from tests.archive.exchanges import INFO, exchange_of, page_exchange

THEIRS = (
    b'test,forum)/a 20260102030405 {"url": "http://forum.test/a", "mime": "warc/revisit", "status": "-", '
    b'"digest": "VL2MMHO4YXUKFWV63YHTWSBM3GXKSQ2N", "length": "376", "offset": "4079", "filename": "a.warc.gz"}\n'
)
OURS = THEIRS.replace(b'"-"', b'"200"').replace(b'"VL', b'"sha1:VL')


def written(tmp_path: Path) -> tuple[list[Line], list[Path]]:
    index = IndexWriter(tmp_path / "archive", tmp_path / "indexes")
    with WarcWriter(tmp_path / "archive", INFO, index=index) as writer:
        writer.write(page_exchange(), metadata=b"{}")
        writer.write(exchange_of(b"HTTP/1.1 304 Not Modified\r\n\r\n"))
        writer.write(exchange_of(b"", request=b""))
        writer.write(page_exchange(b"more"))
    index.close()
    lines = [Line.parse(line) for line in index_lines(tmp_path / "indexes" / "index.cdxj")]
    return lines, list((tmp_path / "archive").iterdir())


def test_notations_are_no_differences() -> None:
    assert Line.parse(THEIRS) == Line.parse(OURS)
    assert Line.parse(THEIRS.replace(b"4079", b"4080")) != Line.parse(OURS)


def test_what_is_left_out_on_purpose_is_told_from_what_is_missing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines, files = written(tmp_path)
    void = void_places(files)
    assert (len(lines), len(void)) == (2, 3)
    others = [replace(lines[0], offset=offset) for _, offset in void]
    assert compared(lines, [*lines, *others], void) == {
        "lines": 2,
        "theirs": 5,
        "same": 2,
        "left_out": 3,
        "missing": 0,
        "extra": 0,
    }
    changed = replace(lines[1], length=lines[1].length + 1)
    found = compared(lines, [lines[0], changed], void)
    assert (found["same"], found["missing"], found["extra"]) == (1, 1, 1)
    assert [line.split(":")[0] for line in capsys.readouterr().out.splitlines()] == ["missing", "extra"]
