"""``aah archive check``: every kind of damage is found, where it is, and nothing else is."""

import fcntl
import gzip
import hashlib
import io
import subprocess
import sys
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from aahcrawler.archive.checking import Finding, Tally, check
from aahcrawler.archive.commands import archive_app
from aahcrawler.archive.folders import ArchiveError
from aahcrawler.archive.index import IndexWriter
from aahcrawler.archive.payload import HttpPayload
from aahcrawler.archive.records import labelled_digest
from aahcrawler.archive.scanning import Problem
from aahcrawler.archive.writer import WarcWriter
from aahcrawler.exchange import Truncation
from aahcrawler.tallies import plural
from tests.archive.exchanges import INFO, chunked, exchange_of, page_exchange
from tests.archive.test_segments import ROOT


def crawl_of(root: Path, *, size: int = 1 << 30) -> Path:
    """Write an archive with all that happens to answers; return the folder of its crawl."""
    index = IndexWriter(root / "archive", root / "indexes")
    with WarcWriter(root / "archive", INFO, size=size, index=index) as writer:
        for chunk in (False, True):
            for coded in (False, True):
                writer.write(page_exchange(b"<p>Hello</p>" * 9, chunk=chunk, coded=coded))
        head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding:\r\n gzip, Chunked\r\n\r\n"
        body = chunked(b"abcdefghijklmnopq")
        writer.write(exchange_of(head + body[:20], b"abcdefghijkl", truncated=Truncation.DISCONNECT))
        writer.write(exchange_of(head + b"3 ;x=y\nabc\nnonsense\r\n", b"abc", truncated=Truncation.UNSPECIFIED))
        writer.write(exchange_of(b"HTTP/1.0 200 OK\n\nplain", b"plain"))
        writer.write(exchange_of(b"HTTP/1.1 200 O", b""))
        writer.write(exchange_of(b"", b""))
    index.close()
    return root


def members_of(path: Path) -> list[bytes]:
    """Return the records of a WARC file, uncompressed."""
    text = gzip.decompress(path.read_bytes())
    return [b"WARC/1.1\r\n" + part for part in text.split(b"WARC/1.1\r\n")[1:]]


def write_members(path: Path, members: list[bytes]) -> None:
    path.write_bytes(b"".join(gzip.compress(member, mtime=0) for member in members))


def found(path: Path) -> list[tuple[Problem, int | None]]:
    return [(finding.problem, finding.offset) for finding in check(path, Tally())]


def only_file(crawl: Path) -> Path:
    (path,) = (crawl / "archive").iterdir()
    return path


@pytest.mark.parametrize("size", [1 << 30, 1])
def test_what_we_write_is_right(tmp_path: Path, size: int) -> None:
    crawl, tally = crawl_of(tmp_path, size=size), Tally()
    assert list(check(crawl, tally)) == []
    assert str(tally) == f"{18 + tally.files} records in {plural(tally.files, 'file')}: all is well"
    assert found(crawl / "archive") == [(Problem.NO_INDEX, None)]
    (crawl / "icd.json").touch()
    assert found(crawl / "archive") == []
    for path in (crawl / "archive").iterdir():
        assert found(path) == []


@pytest.mark.slow
def test_every_cut_is_found(tmp_path: Path) -> None:
    path = only_file(crawl_of(tmp_path))
    content = path.read_bytes()
    members = [len(gzip.compress(member)) for member in members_of(path)]
    assert len(members) == 19
    ends = {0, len(content)} | {finding.offset for finding in check(path, Tally()) if finding.offset}
    for size in range(len(content) - 400, len(content)):
        path.write_bytes(content[:size])
        problems = [finding for finding in check(path, Tally()) if not finding.is_note]
        if problems:
            (torn,) = problems
            assert torn.problem is Problem.TORN
            assert torn.offset is not None
            assert gzip.decompress(content[: torn.offset])
        else:
            ends.add(size)
            assert gzip.decompress(content[:size])
    assert len(ends) in {3, 4}


@pytest.mark.slow
def test_every_flipped_bit_of_data_is_found(tmp_path: Path) -> None:
    path = only_file(crawl_of(tmp_path))
    content = path.read_bytes()
    ends = [0]
    for member in check_members(path):
        ends.append(ends[-1] + member)
    for place in range(ends[1], ends[3], 7):
        if place - max(end for end in ends if end <= place) < 10:
            continue  # The flags, time and system of a gzip header are not covered by its checksum.
        damaged = bytearray(content)
        damaged[place] ^= 0x10
        if unpacked(bytes(damaged)) == unpacked(content):
            continue  # It was one of the bits that fill the last byte of a compressed stream.
        path.write_bytes(damaged)
        problems = [finding for finding in check(path, Tally()) if not finding.is_note]
        assert problems, place
        assert problems[0].offset == max(end for end in ends if end <= place)
        assert {finding.problem for finding in problems} <= {Problem.DAMAGED, Problem.TORN, Problem.UNLINKED}
        assert problems[0].problem is Problem.DAMAGED


def unpacked(content: bytes) -> bytes | None:
    """Return what a file of gzip members holds, None where it cannot be read."""
    try:
        return gzip.decompress(content)
    except (OSError, EOFError, zlib.error):
        return None


def check_members(path: Path) -> list[int]:
    """Return the sizes of a file's gzip members."""
    sizes, content = [], path.read_bytes()
    while content:
        stream = io.BytesIO(content)
        size = next(
            at
            for at in range(18, len(content) + 1)
            if (at == len(content) or content[at : at + 3] == b"\x1f\x8b\x08") and is_member(content[:at])
        )
        stream.seek(size)
        sizes.append(size)
        content = stream.read()
    return sizes


def is_member(content: bytes) -> bool:
    try:
        return bool(gzip.decompress(content))
    except (EOFError, OSError):
        return False


Change = Callable[[list[bytes]], list[bytes]]


def in_member(number: int, old: bytes, new: bytes) -> Change:
    def change(members: list[bytes]) -> list[bytes]:
        assert old in members[number]
        return [member.replace(old, new, 1) if at == number else member for at, member in enumerate(members)]

    return change


CHANGES: list[tuple[Change, Problem, str]] = [
    (in_member(1, b"<p>Hello", b"<p>Hallo"), Problem.BLOCK_DIGEST, "is found"),
    (in_member(1, b"Payload-Digest: sha1:", b"Payload-Digest: sha1:A"), Problem.PAYLOAD_DIGEST, "is found"),
    (in_member(1, b"Block-Digest: sha1:", "Block-Digest: sha1:\u00e9".encode()), Problem.BLOCK_DIGEST, "\u00e9"),
    (in_member(1, b"WARC-Type: response\r\n", b""), Problem.HEADER, "WARC-Type is missing"),
    (in_member(1, b"WARC-Date: 2026", b"WARC-Date: 26"), Problem.HEADER, "no time in UTC"),
    (in_member(1, b"WARC-Record-ID: <", b"WARC-Record-ID: "), Problem.HEADER, "angle brackets"),
    (in_member(1, b"Content-Type: ", b"Content-Type "), Problem.HEADER, "is no field"),
    (in_member(1, b"WARC-Date: ", b"WARC-Date: 2026-01-02T03:04:05Z\r\nwarc-date: "), Problem.HEADER, "repeated"),
    (in_member(1, b"WARC/1.1\r\n", b"WARK/1.1\r\n"), Problem.HEADER, "not with a version"),
    (in_member(1, b"</p>\r\n\r\n", b"</p>\r\n"), Problem.LENGTH, "two line ends"),
    (in_member(1, b"<p>Hello</p>", b""), Problem.LENGTH, "are missing"),
    (in_member(2, b"\r\n\r\n\r\n\r\n", b"\r\n\r\n"), Problem.LENGTH, "two line ends"),
    (in_member(1, b"</p>\r\n\r\n", b"</p>\r\n\r\nmore"), Problem.CROWDED, "member of its own"),
    (in_member(2, b"Concurrent-To: <urn:uuid:", b"Concurrent-To: <urn:uuid:x"), Problem.UNLINKED, "urn:uuid:x"),
    (in_member(1, b"Warcinfo-ID: <urn:uuid:", b"Warcinfo-ID: <urn:uuid:x"), Problem.UNLINKED, "urn:uuid:x"),
    (lambda members: members[1:], Problem.NO_WARCINFO, ""),
    (lambda members: [*members, members[1]], Problem.DUPLICATE, ""),
    (lambda members: [members[0], members[1], *members[3:]], Problem.ALONE, ""),
    (in_member(0, b"Filename: forums", b"Filename: others"), Problem.FILENAME, "others-2026"),
    (lambda members: [members[0] + members[1], *members[2:]], Problem.CROWDED, ""),
]


@pytest.mark.parametrize("number", range(len(CHANGES)))
def test_every_kind_of_fault_is_found(tmp_path: Path, number: int) -> None:
    change, problem, detail = CHANGES[number]
    path = only_file(crawl_of(tmp_path))
    members = members_of(path)
    write_members(path, change(members))
    named = [finding for finding in check(path, Tally()) if finding.problem is problem]
    assert named
    assert detail in named[0].detail
    ids = {
        line[17:-1].decode() for member in members for line in member.splitlines() if line.startswith(b"WARC-Record-ID")
    }
    if problem is not Problem.HEADER:
        assert named[0].record_id in ids
    text = str(named[0])
    assert text.startswith(f"{path}:{named[0].offset}: ")
    assert "; " in text


def test_digests_over_chunks_are_told_apart(tmp_path: Path) -> None:
    """Other writers take the digest of a chunked payload with its frames, against WARC 1.1."""
    body = chunked(b"Hello, hello, hello")
    wire = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + body
    with WarcWriter(tmp_path, INFO) as writer:
        writer.write(exchange_of(wire, body))
        writer.write(exchange_of(wire, b"another"))
        writer.write(exchange_of(wire, b"Hello, hello, hello"))
    details = [finding.detail for finding in check(tmp_path / only_name(tmp_path), Tally())]
    assert len(details) == 2
    right = labelled_digest(hashlib.sha1(b"Hello, hello, hello", usedforsecurity=False).digest())
    assert all(f"{right} is found" in detail for detail in details)
    assert [detail.endswith("the chunks' frames as well") for detail in details] == [True, False]


def only_name(folder: Path) -> str:
    (path,) = folder.glob("*.warc.gz")
    return path.name


@pytest.mark.parametrize("size", [1, 2, 3, 7, 64])
def test_payloads_come_in_any_pieces(size: int) -> None:
    wire = b"HTTP/1.1 200 OK\r\nX: y\r\nTransfer-Encoding: chunked\r\n\r\n" + chunked(b"some text of some length", 5)
    message = HttpPayload()
    pieces = [message.feed(wire[at : at + size]) for at in range(0, len(wire), size)]
    assert b"".join(pieces) == b"some text of some length"
    assert message.beginning.endswith(b"chunked\r\n\r\n")


def test_bytes_between_records_are_found_and_what_follows_is_read(tmp_path: Path) -> None:
    crawl = crawl_of(tmp_path)
    path = only_file(crawl)
    content, first = path.read_bytes(), check_members(path)[0]
    path.write_bytes(content[:first] + b"\x1f\x8b\x08 garbage" + content[first:])
    assert found(path) == [(Problem.DAMAGED, first)]
    path.write_bytes(content[:first] + bytes(100_000) + content[first:])
    assert found(path) == [(Problem.FOREIGN, first)]
    path.write_bytes(gzip.decompress(content))
    assert found(path) == [(Problem.FOREIGN, 0), (Problem.NO_WARCINFO, 0)]
    path.write_bytes(b"")
    assert found(path) == []


def test_the_index_is_held_against_the_records(tmp_path: Path) -> None:
    crawl = crawl_of(tmp_path)
    index, path = crawl / "indexes" / "index.cdxj", only_file(crawl)
    lines = index.read_bytes().splitlines(keepends=True)
    assert len(lines) == 8
    index.write_bytes(b"".join(lines[1:]))
    (missing,) = check(crawl, Tally())
    assert (missing.problem, missing.file) == (Problem.MISSING, path)
    assert f'"offset": "{missing.offset}"'.encode() in lines[0]
    index.write_bytes(b"".join((lines[1], lines[0], *lines[2:])))
    assert found(crawl) == [(Problem.UNSORTED, len(lines[1]))]
    index.write_bytes(b"".join((*lines, b"zz)/ 2026 {}\n")))
    assert found(crawl) == [(Problem.INDEX_LINE, len(b"".join(lines)))]
    for hostile in (b"[" * 100_000, b'{"filename": "", "offset": Infinity, "length": 1}', b"\xff", b"1"):
        index.write_bytes(b"".join((*lines, b"zz)/ 2026 " + hostile + b"\n")))
        assert found(crawl) == [(Problem.INDEX_LINE, len(b"".join(lines)))]
    index.write_bytes(b"".join(lines)[:-9])
    assert {problem for problem, _ in found(crawl)} == {Problem.INDEX_LINE, Problem.MISSING}
    index.write_bytes(b"".join(lines).replace(b'"offset": "', b'"offset": "9', 1))
    assert {problem for problem, _ in found(crawl)} == {Problem.STRAY, Problem.MISSING}
    index.write_bytes(b"".join(lines).replace(b'"status"', b'"more": 1, "status"').replace(b": ", b":"))
    assert found(crawl) == [], "other indexers write more, and other blanks"
    index.write_bytes(b"")
    assert found(crawl) == [(Problem.UNINDEXED, None)]
    index.unlink()
    assert found(crawl) == [(Problem.NO_INDEX, None)]


def test_open_files(tmp_path: Path) -> None:
    crawl = crawl_of(tmp_path)
    path = only_file(crawl)
    left = path.rename(path.with_name(path.name + ".open"))
    (crawl / "indexes" / "index.cdxj").unlink()
    assert found(crawl) == [(Problem.OPEN, None)]
    with left.open("ab") as file:
        file.write(gzip.compress(b"WARC/1.1\r\n")[:15])
        file.flush()
        assert [problem for problem, _ in found(crawl)] == [Problem.OPEN, Problem.TORN]
        fcntl.flock(file, fcntl.LOCK_EX)
        (finding,) = check(crawl, Tally())
        assert (finding.problem, finding.is_note) == (Problem.WRITING, True)


def test_a_crawl_that_writes_can_be_checked(tmp_path: Path) -> None:
    index = IndexWriter(tmp_path / "archive", tmp_path / "indexes")
    with WarcWriter(tmp_path / "archive", INFO, size=1500, index=index) as writer:
        for number in range(9):
            writer.write(page_exchange(b"%d" % number * 99))
            tally = Tally()
            list(check(tmp_path, tally))
            assert (tally.faults, tally.notes) == (0, 1)
    index.close()
    assert found(tmp_path) == []


def test_findings_move_no_cursor(tmp_path: Path) -> None:
    finding = Finding(tmp_path, 1, "urn:x\x1b[2J", Problem.HEADER, "a\r\nb")
    assert str(finding).isprintable()


def test_exit_codes(tmp_path: Path) -> None:
    crawl = crawl_of(tmp_path)
    run = CliRunner().invoke
    fine = run(archive_app, ["check", str(crawl)])
    assert (fine.exit_code, fine.output) == (0, "19 records in 1 file: all is well\n")
    path = only_file(crawl)
    write_members(path, members_of(path)[:-1])
    (crawl / "indexes" / "index.cdxj").unlink()
    assert run(archive_app, ["index", str(crawl)]).output == f"{crawl / 'indexes' / 'index.cdxj'}\n"
    noted = run(archive_app, ["check", str(crawl)])
    assert (noted.exit_code, noted.output.count("note: ")) == (0, 1)
    path.write_bytes(path.read_bytes()[:-1])
    torn = run(archive_app, ["check", str(crawl)])
    assert torn.exit_code == 1
    assert "aah archive repair" in torn.output.splitlines()[0]
    (tmp_path / "empty").mkdir()
    nothing = run(archive_app, ["check", str(tmp_path / "empty")])
    assert (nothing.exit_code, "holds no *.warc.gz files" in nothing.output) == (2, True)
    assert run(archive_app, ["check", str(tmp_path / "absent")]).exit_code == 2
    with pytest.raises(ArchiveError):
        list(check(tmp_path / "empty", Tally()))


MEASURED = """
import gzip, sys
from pathlib import Path
from aahcrawler.archive.checking import Tally, check

path, size = Path(sys.argv[1]), 200 << 20
head = "WARC/1.1\\r\\nWARC-Type: response\\r\\nWARC-Record-ID: <urn:x:y>\\r\\nWARC-Date: 2026-01-02T03:04:05Z\\r\\n"
head += f"WARC-Target-URI: http://a.test/\\r\\nContent-Type: application/http\\r\\nContent-Length: {size}\\r\\n\\r\\n"
with gzip.open(path, "wb", 1) as file:
    file.write(head.encode())
    for _ in range(size >> 20):
        file.write(bytes(1 << 20))
    file.write(b"\\r\\n\\r\\n")
list(check(path, Tally()))
peak = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM:"))
print([finding.problem.name for finding in check(path, Tally())], int(peak.split()[1]) // 1024)
"""


def test_huge_records_take_little_memory(tmp_path: Path) -> None:
    command = [sys.executable, "-c", MEASURED, str(tmp_path / "x.warc.gz")]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    problems, used_mib = done.stdout.rsplit(" ", 1)
    assert problems == "['NO_WARCINFO', 'ALONE']"
    assert int(used_mib) < 150
