"""Takedowns from damaged files: what is damaged goes by its place, and what may have been left is named."""

import contextlib
import gzip
import json
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from aahcrawler.archive.scanning import Scanned, members, scan
from aahcrawler.exits import NOT_WHOLE
from aahcrawler.layout import REMOVING
from aahcrawler.takedown.removal import WantedRemoval, finish, remove
from aahcrawler.tombstones import read_tombstones
from tests.crawl.crawling import aah, rows
from tests.takedown.floods import WORD, removed, url

Flip = Callable[[Scanned], int]
HEADER: Flip = lambda record: record.offset + 1  # noqa: E731
CODES: Flip = lambda record: record.offset + 12  # noqa: E731
MIDDLE: Flip = lambda record: record.offset + record.size // 2  # noqa: E731
CHECKSUM: Flip = lambda record: record.offset + record.size - 6  # noqa: E731


def warc(folder: Path) -> Path:
    (path,) = (folder / "archive").glob("*.warc.gz")
    return path


def records(folder: Path, page: str) -> Iterator[Scanned]:
    """Yield the records of the capture of a page."""
    with warc(folder).open("rb") as file:
        found = list(scan(file))
    ids = {each.header.record_id for each in found if each.header.get("WARC-Target-URI") == page}
    yield from (each for each in found if ids & {each.header.record_id, *each.header.concurrent_to})


def flip(path: Path, *places: int) -> None:
    content = bytearray(path.read_bytes())
    for place in places:
        content[place] ^= 0x5A
    path.write_bytes(content)


def readable(folder: Path) -> bytes:
    """Return all that can be unpacked of what a folder holds, by whoever disregards checksums."""
    found = b""
    for path in sorted(folder.rglob("*")):
        if path.is_file() and "frontier" not in path.parts:
            content = path.read_bytes()
            places = [at for at in range(len(content)) if content.startswith(b"\x1f\x8b\x08", at)]
            found += content + b"".join(unpacked(content[at:]) for at in places)
    return found


def unpacked(content: bytes) -> bytes:
    with contextlib.suppress(zlib.error):
        return zlib.decompressobj(wbits=31).decompress(content)
    inflate, found = zlib.decompressobj(wbits=31), b""
    for at in range(len(content)):
        try:
            found += inflate.decompress(content[at : at + 1])
        except zlib.error:
            break
    return found


def without_indexes(folder: Path) -> None:
    for path in (folder / "indexes").iterdir():
        path.unlink()


@pytest.mark.parametrize("where", [HEADER, CODES, MIDDLE, CHECKSUM], ids=["header", "codes", "middle", "checksum"])
@pytest.mark.parametrize(
    "kinds",
    [{"response"}, {"request"}, {"metadata"}, {"response", "request", "metadata"}],
    ids=lambda kinds: "-".join(sorted(kinds)),
)
def test_a_damaged_record_goes_with_all_that_is_known_of_it(folder: Path, where: Flip, kinds: set[str]) -> None:
    before = {row["url"] for row in rows(folder)}
    broken = [each for each in records(folder, url("/2")) if each.kind in kinds]
    flip(warc(folder), *map(where, broken))
    _, selected = remove(folder, WantedRemoval(urls=(url("/2"),)), "Ida", "asked for")
    assert (list(selected.captures.values()), selected.left) == ([url("/2")], ())
    # Where the beginning of a record is gone, it is a place with the one before.
    assert 1 <= len(selected.places) <= len(kinds)
    assert WORD.encode() not in readable(folder)
    assert not list(records(folder, url("/2")))
    assert {row["url"] for row in rows(folder)} == before - {url("/2")}
    assert aah("archive", "check", folder).code == 0


@pytest.mark.parametrize("where", [HEADER, CODES, MIDDLE, CHECKSUM], ids=["header", "codes", "middle", "checksum"])
@pytest.mark.parametrize("kind", ["response", "request"])
def test_neighbours_name_a_record_where_no_index_does(folder: Path, where: Flip, kind: str) -> None:
    without_indexes(folder)
    flip(warc(folder), *(where(each) for each in records(folder, url("/2")) if each.kind == kind))
    _, selected = remove(folder, WantedRemoval(urls=(url("/2"),)), "Ida", "asked for")
    assert (list(selected.captures.values()), len(selected.places), selected.left) == ([url("/2")], 1, ())
    assert WORD.encode() not in readable(folder)
    assert not list(records(folder, url("/2")))


def test_damage_of_others_stays_and_is_none_of_the_takedown(folder: Path) -> None:
    others = list(records(folder, url("/1")))
    flip(warc(folder), *map(CHECKSUM, others))
    ended = removed(folder, "--url", url("/2"))
    assert ended.code == 0, ended.err
    assert "1 capture removed" in ended.out
    assert b"GET /1 HTTP" in readable(folder)


def test_what_may_be_left_is_named_and_goes_where_that_is_asked_for(folder: Path) -> None:
    without_indexes(folder)
    (metadata,) = (each for each in records(folder, url("/2")) if each.kind == "metadata")
    flip(warc(folder), CODES(metadata))
    said = f"{warc(folder).relative_to(folder)}, bytes {metadata.offset} to {metadata.offset + metadata.size}"
    for dry in (("--dry-run",), ()):
        ended = removed(folder, "--url", url("/2"), *dry)
        assert ended.code == NOT_WHOLE
        assert said in ended.out
    (stone,) = read_tombstones(folder)
    assert stone.left == (said,)
    assert said in aah("remove", folder, "--list").out
    ended = removed(folder, "--url", url("/2"), "--damaged")
    assert ended.code == 0, ended.err
    assert aah("archive", "check", folder).code == 0


def test_a_revisit_of_what_was_damaged_is_told(folder: Path) -> None:
    (original,) = (each for each in records(folder, url("/twin")) if each.kind == "response")
    flip(warc(folder), MIDDLE(original))
    ended = removed(folder, "--url", url("/twin"))
    assert ended.code == 0, ended.err
    assert f"under another URL: {url('/twin2')}" in ended.out
    assert b"Both of these say so." not in readable(folder / "archive")


@pytest.mark.parametrize("name", ["objects", "scores"])
def test_damaged_logs_are_cut_and_the_rest_of_them_stays(folder: Path, name: str) -> None:
    (log,) = (folder / name).glob("*.gz")
    before = gzip.decompress(log.read_bytes())
    with log.open("rb") as file:
        begins = [member.offset for member in members(file, 0, before[:1])]
        texts = [gzip.decompress(log.read_bytes()[a:b]) for a, b in zip(begins, [*begins[1:], None], strict=True)]
    mine = next(at for at, text in enumerate(texts) if b'"http://flood.test/2"' in text and b"offered" not in text)
    if name == "scores":
        mine = next(at for at, text in enumerate(texts) if json.loads(text).get("url") == url("/2"))
    flip(log, begins[mine + 1] - 6)
    ended = removed(folder, "--url", url("/2"))
    assert ended.code == 0, ended.err
    assert gzip.decompress(log.read_bytes()) == b"".join(text for at, text in enumerate(texts) if at != mine)
    assert WORD.encode() not in readable(folder)


def test_a_torn_end_that_a_repair_moved_aside_is_looked_into(folder: Path) -> None:
    torn = warc(folder).with_name(warc(folder).name + ".torn")
    (response,) = (each for each in records(folder, url("/2")) if each.kind == "response")
    torn.write_bytes(warc(folder).read_bytes()[response.offset : response.offset + response.size - 20])
    ended = removed(folder, "--url", url("/2"))
    assert ended.code == 0, ended.err
    assert WORD.encode() not in readable(folder)
    assert torn.read_bytes() == b""


def test_places_are_cut_once_however_often_a_takedown_is_finished(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (response,) = (each for each in records(folder, url("/2")) if each.kind == "response")
    flip(warc(folder), MIDDLE(response))
    unlink = Path.unlink
    monkeypatch.setattr(Path, "unlink", lambda path, **named: path.name == REMOVING or unlink(path, **named))
    remove(folder, WantedRemoval(urls=(url("/2"),)), "Ida", "asked for")
    whole = warc(folder).read_bytes()
    monkeypatch.undo()
    assert finish(folder)
    assert warc(folder).read_bytes() == whole
