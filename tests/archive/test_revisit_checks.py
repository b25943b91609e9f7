"""What a check finds of revisit and metadata records that do not fit what they refer to."""

import gzip
from pathlib import Path

import pytest

from aahcrawler.archive.checking import Finding, Tally, check
from aahcrawler.archive.index import rebuild
from aahcrawler.archive.scanning import Problem
from aahcrawler.archive.writer import WarcWriter
from tests.archive.exchanges import INFO, page_exchange
from tests.archive.test_revisits import BODY, crawl_of, later, members_of, only_file, original_of


def findings(path: Path) -> list[Finding]:
    return list(check(path, Tally()))


def changed(crawl: Path, number: int, old: bytes, new: bytes) -> Path:
    path = only_file(crawl / "archive")
    members = members_of(path)
    assert old in members[number]
    members[number] = members[number].replace(old, new, 1)
    path.write_bytes(b"".join(gzip.compress(member, mtime=0) for member in members))
    rebuild(crawl / "archive", crawl / "indexes")
    return path


REVISIT, METADATA = 8, 10
"""Where in the file of ``crawl_of`` the revisit of an identical payload is, and what was understood of it."""

FAULTS: list[tuple[int, bytes, bytes, Problem, bool, str]] = [
    (REVISIT, b"WARC-Refers-To: <urn:uuid:", b"WARC-Refers-To: <urn:uuid:x", Problem.ORIGINAL_AWAY, True, ""),
    (REVISIT, b"revisit/identical", b"revisit/similar", Problem.PROFILE, True, "similar-payload-digest"),
    (REVISIT, b"WARC-Payload-Digest: sha1:", b"WARC-Payload-Digest: md5:", Problem.ORIGINAL_DIFFERS, False, ""),
    (REVISIT, b"To-Date: 2026", b"To-Date: 2025", Problem.ORIGINAL_DIFFERS, False, "name another one"),
    (REVISIT, b"To-Target-URI: http://", b"To-Target-URI: https://", Problem.ORIGINAL_DIFFERS, False, "another one"),
    (REVISIT, b"WARC-Profile: ", b"X-Profile: ", Problem.HEADER, False, "WARC-Profile is missing"),
    (REVISIT, b"WARC-Payload-Digest: ", b"X-Digest: ", Problem.HEADER, False, "WARC-Payload-Digest is missing"),
    (REVISIT, b"WARC-Target-URI: ", b"X-URI: ", Problem.HEADER, False, "WARC-Target-URI is missing"),
    (METADATA, b"WARC-Concurrent-To: <urn:uuid:", b"WARC-Concurrent-To: <urn:uuid:x", Problem.UNLINKED, False, ""),
]


def test_revisits_and_metadata_that_agree_are_all_right(tmp_path: Path) -> None:
    crawl_of(tmp_path)
    assert findings(tmp_path) == findings(only_file(tmp_path / "archive")) == []


@pytest.mark.parametrize("number", range(len(FAULTS)))
def test_what_is_wrong_with_them_is_found(tmp_path: Path, number: int) -> None:
    place, old, new, problem, is_note, detail = FAULTS[number]
    crawl_of(tmp_path)
    if problem is Problem.ORIGINAL_DIFFERS and b"Digest" in old:
        old = members_of(only_file(tmp_path / "archive"))[place].split(b"WARC-Payload-Digest: ")[1].split(b"\r\n")[0]
        new = b"sha1:" + b"A" * 32
    path = changed(tmp_path, place, old, new)
    found = [finding for finding in findings(tmp_path) if finding.problem is not Problem.ALONE]
    assert [(finding.problem, finding.file, finding.is_note) for finding in found] == [(problem, path, is_note)]
    assert detail in found[0].detail
    assert found[0].offset is not None
    with path.open("rb") as file:
        file.seek(found[0].offset)
        assert file.read(2) == b"\x1f\x8b"


def test_what_says_nothing_of_others_is_noted(tmp_path: Path) -> None:
    crawl_of(tmp_path)
    path = only_file(tmp_path / "archive")
    members = members_of(path)
    for name in (b"WARC-Refers-To: ", b"WARC-Refers-To-Date: "):
        members[REVISIT] = members[REVISIT].replace(name, b"X: ", 1).replace(b"X: ", b"X-%d: " % len(name), 1)
    members[METADATA] = members[METADATA].replace(b"WARC-Refers-To: ", b"X: ").replace(b"WARC-Concurrent-To: ", b"Y: ")
    path.write_bytes(b"".join(gzip.compress(member, mtime=0) for member in members))
    found = {finding.problem: finding.is_note for finding in findings(path)}
    assert found == {Problem.ORIGINAL_UNSAID: True, Problem.DETACHED: True}


def test_originals_are_found_by_address_and_date_and_in_other_files(tmp_path: Path) -> None:
    """As writers make them that give no WARC-Refers-To."""
    with WarcWriter(tmp_path / "archive", INFO, size=1) as writer:
        first = page_exchange(BODY)
        original = original_of(writer.write(first), first)
        writer.write(later(page_exchange(BODY)), original=original)
    _, path = sorted((tmp_path / "archive").iterdir())
    members = members_of(path)
    members[1] = members[1].replace(b"WARC-Refers-To: ", b"X: ")
    path.write_bytes(b"".join(gzip.compress(member, mtime=0) for member in members))
    rebuild(tmp_path / "archive", tmp_path / "indexes")
    assert findings(tmp_path) == []
    assert findings(path) == [], "what it refers to may be in another file"
    min((tmp_path / "archive").iterdir()).unlink()
    rebuild(tmp_path / "archive", tmp_path / "indexes")
    assert [finding.problem for finding in findings(tmp_path)] == [Problem.ORIGINAL_AWAY]
