"""Append-only files that were damaged at random places: the frontier opens at the last whole command."""

import json
import shutil
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from redis import Redis

from aahcrawler.frontier.protocol import FrontierSettings, FrontierUnreadableError, Offer, State
from aahcrawler.frontier.redis.frontier import RedisFrontier
from aahcrawler.frontier.server.embedded import EmbeddedServer
from aahcrawler.frontier.server.file_mending import FileSums, damages, intact, keep, sound_length
from tests.crawl.crawling import until

PAGES = 60
COMMANDS = "appendonlydir/frontier.aof.1.incr.aof"
BASE = "appendonlydir/frontier.aof.1.base.rdb"
MANIFEST = "appendonlydir/frontier.aof.manifest"
SUMS = "frontier.sums"
ARITIES = {"set": -3, "multi": 1, "exec": 1, "del": -2}


def url(number: int) -> str:
    return f"http://a.test/{number}"


def frontier_of(server: EmbeddedServer) -> RedisFrontier:
    return RedisFrontier(server.url, "crawl", FrontierSettings())


def known(folder: Path) -> int:
    """Open a frontier; return how many pages it knows, which are the first ones."""
    with EmbeddedServer(folder) as server, closing(frontier_of(server)) as frontier:
        states = [frontier.state(url(number)) for number in range(PAGES)]
        queued = frontier.counts().pages[State.QUEUED]
    assert states == [State.QUEUED] * queued + [None] * (PAGES - queued)
    return queued


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a frontier that pages were offered to, one after the other."""
    folder = tmp_path_factory.mktemp("whole") / "frontier"
    with EmbeddedServer(folder) as server, closing(frontier_of(server)) as frontier:
        for number in range(PAGES):
            frontier.offer([Offer(url(number), "a.test", 0.5)])
    return folder


@pytest.fixture
def filled(whole: Path, folder: Path) -> Path:
    shutil.copytree(whole, folder)
    return folder


def truncated(data: bytes, at: int, _: bytes) -> bytes:
    return data[:at]


def appended(data: bytes, _: int, garbage: bytes) -> bytes:
    return data + garbage


def inserted(data: bytes, at: int, garbage: bytes) -> bytes:
    return data[:at] + garbage + data[at:]


def taken_out(data: bytes, at: int, garbage: bytes) -> bytes:
    return data[:at] + data[at + len(garbage) :]


def flipped(data: bytes, at: int, garbage: bytes) -> bytes:
    at = min(at, len(data) - 1)
    return data[:at] + bytes([data[at] ^ (garbage[0] or 1)]) + data[at + 1 :]


def zeroed(data: bytes, at: int, garbage: bytes) -> bytes:
    return data[:at] + bytes(len(garbage)) + data[at + len(garbage) :]


HARM = [truncated, appended, inserted, taken_out, flipped, zeroed]


def harmed(whole: Path, folder: Path, harm: Callable[[bytes, int, bytes], bytes], place: float, garbage: bytes) -> int:
    """Put a damaged copy into a folder; return up to which byte its commands are what they were."""
    shutil.copytree(whole, folder)
    data = (folder / COMMANDS).read_bytes()
    damaged = harm(data, int(place * len(data)), garbage)
    (folder / COMMANDS).write_bytes(damaged)
    same = next((place for place, (one, two) in enumerate(zip(data, damaged, strict=False)) if one != two), None)
    return min(len(data), len(damaged)) if same is None else same


@settings(max_examples=settings().max_examples // 2)
@given(
    harm=st.sampled_from(HARM),
    place=st.floats(0, 1),
    garbage=st.binary(min_size=1, max_size=200),
    has_sums=st.booleans(),
)
def test_whatever_the_damage_the_frontier_opens_at_the_last_whole_command(
    whole: Path,
    tmp_path_factory: pytest.TempPathFactory,
    harm: Callable[[bytes, int, bytes], bytes],
    place: float,
    garbage: bytes,
    *,
    has_sums: bool,
) -> None:
    folder = tmp_path_factory.mktemp("harmed") / "frontier"
    same = harmed(whole, folder, harm, place, garbage)
    before, size = (folder / COMMANDS).read_bytes(), (whole / COMMANDS).stat().st_size
    if not has_sums:
        (folder / SUMS).unlink()
        with EmbeddedServer(folder):  # Bytes of words that were changed cannot be noticed then.
            pass
    else:
        left = known(folder)
        assert left >= same // (size // PAGES + 4096) - 1
        assert left == PAGES or damages(folder)
        assert (same < size) <= bool(damages(folder))
    for damage in damages(folder):
        cut = (folder / damage.kept).read_bytes()
        assert (len(cut), before[damage.offset :]) == (damage.bytes, cut)
        assert damage.offset <= same
    assert len(damages(folder)) <= 1
    left = 0 if not has_sums else left
    with EmbeddedServer(folder):
        assert len(damages(folder)) <= 1


def test_what_was_lost_is_said_and_kept(filled: Path, caplog: pytest.LogCaptureFixture) -> None:
    data = (filled / COMMANDS).read_bytes()
    (filled / COMMANDS).write_bytes(data[:-7])
    assert known(filled) == PAGES - 1
    (damage,) = damages(filled)
    assert (damage.file, damage.missing) == ("frontier.aof.1.incr.aof", 7)
    assert (filled / damage.kept).read_bytes() == data[damage.offset : -7]
    assert (
        f"the frontier's frontier.aof.1.incr.aof was damaged from byte {damage.offset} on: {damage.bytes} bytes were "
        f"cut off and are kept in {damage.kept}, 7 are missing; what they said is forgotten, so pages that were "
        "finished there are fetched again"
    ) in caplog.text
    caplog.clear()
    assert known(filled) == PAGES - 1
    assert not caplog.text


def test_files_after_a_damaged_one_are_set_aside(filled: Path) -> None:
    with (
        EmbeddedServer(filled) as server,
        closing(frontier_of(server)) as frontier,
        closing(Redis.from_url(server.url)) as client,
    ):
        client.config_set("auto-aof-rewrite-percentage", 0)
        client.bgrewriteaof()
        until(lambda: not client.info("persistence")["aof_rewrite_in_progress"])
        frontier.offer([Offer("http://a.test/later", "a.test", 0.5)])
    second = filled / COMMANDS.replace(".1.", ".2.")
    assert not (filled / COMMANDS).exists()
    third = second.with_name(second.name.replace(".2.", ".3."))
    shutil.copy(second, third)
    manifest = filled / MANIFEST
    manifest.write_text(manifest.read_text(encoding="ascii") + f"file {third.name} seq 3 type i\n", encoding="ascii")
    second.write_bytes(b"*" + second.read_bytes())
    assert known(filled) == PAGES
    assert [(each.file, each.offset) for each in damages(filled)] == [(second.name, 0), (third.name, 0)]


@pytest.mark.parametrize("content", [None, b"", b"nonsense", b"file frontier.aof.1.base.rdb seq 1 type b\n"])
def test_a_manifest_that_is_missing_or_damaged_is_written_anew(content: bytes | None, filled: Path) -> None:
    """A server that finds none would begin with an empty frontier, and write over what is there."""
    if content is None:
        (filled / MANIFEST).unlink()
    else:
        (filled / MANIFEST).write_bytes(content)
    assert known(filled) == PAGES
    assert [(each.file, each.bytes) for each in damages(filled)] == (
        [("frontier.aof.manifest", len(content))] if content is not None else []
    )


@settings(max_examples=settings().max_examples // 2)
@given(place=st.floats(0, 1), garbage=st.binary(min_size=1, max_size=1), harm=st.sampled_from(HARM))
def test_no_damage_to_the_manifest_loses_anything(
    whole: Path,
    tmp_path_factory: pytest.TempPathFactory,
    harm: Callable[[bytes, int, bytes], bytes],
    place: float,
    garbage: bytes,
) -> None:
    folder = tmp_path_factory.mktemp("harmed") / "frontier"
    shutil.copytree(whole, folder)
    data = (folder / MANIFEST).read_bytes()
    (folder / MANIFEST).write_bytes(harm(data, int(place * len(data)), garbage))
    assert known(folder) == PAGES


def test_files_that_nobody_can_tell_how_they_belong_together_are_left_alone(filled: Path) -> None:
    (filled / MANIFEST).unlink()
    shutil.copy(filled / BASE, filled / BASE.replace(".1.", ".2."))
    there = {path: path.read_bytes() for path in (filled / "appendonlydir").iterdir()}
    with pytest.raises(FrontierUnreadableError, match=r"several snapshots .*bring appendonlydir/ back from a copy"):
        known(filled)
    assert {path: path.read_bytes() for path in (filled / "appendonlydir").iterdir()} == there


@pytest.mark.parametrize("content", [None, b"", b"nonsense", b"REDIS0009\xff"])
def test_a_damaged_snapshot_that_held_nothing_is_set_aside(content: bytes | None, filled: Path) -> None:
    if content is None:
        (filled / BASE).unlink()
    else:
        (filled / BASE).write_bytes(content)
    assert known(filled) == PAGES


def test_a_damaged_snapshot_that_held_something_is_left_alone(filled: Path) -> None:
    with EmbeddedServer(filled) as server, closing(Redis.from_url(server.url)) as client:
        client.bgrewriteaof()
        until(lambda: not client.info("persistence")["aof_rewrite_in_progress"])
    base = filled / BASE.replace(".1.", ".2.")
    data = bytearray(base.read_bytes())
    data[len(data) // 2] ^= 1
    base.write_bytes(data)
    with pytest.raises(
        FrontierUnreadableError, match=r"frontier.aof.2.base.rdb is damaged where it cannot be cut.*back from a copy"
    ):
        known(filled)
    assert base.read_bytes() == data
    assert not damages(filled)


# The parts


def resp(*words: bytes) -> bytes:
    return b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%b\r\n" % (len(word), word) for word in words)


SET = resp(b"SET", b"key", b"value")


@pytest.mark.parametrize(
    ("data", "sound"),
    [
        (b"", 0),
        (SET, len(SET)),
        (SET + b"#TS:1234\r\n" + SET, 2 * len(SET) + 10),
        (SET + SET[:-1], len(SET)),
        (SET + b"x", len(SET)),
        (SET + bytes(9), len(SET)),
        (SET + resp(b"SFT", b"key", b"value"), len(SET)),
        (SET + resp(b"SET", b"key"), len(SET)),
        (SET + resp(b"EXEC", b"now"), len(SET)),
        (SET + SET.replace(b"$3", b"$4", 1), len(SET)),
        (SET + SET.replace(b"$5", b"$99999999999999999999", 1), len(SET)),
        (SET + SET.replace(b"*3", b"*-3", 1), len(SET)),
        (SET + SET.replace(b"*3", b"*0", 1), len(SET)),
        (SET + SET.replace(b"*3", b"*9999999999", 1), len(SET)),
        (SET + resp(b"MULTI") + SET, len(SET)),
        (SET + resp(b"EXEC") + SET, len(SET)),
        (SET + resp(b"MULTI") + resp(b"MULTI") + resp(b"EXEC"), len(SET)),
        (resp(b"multi") + SET + resp(b"exec"), len(resp(b"multi") + SET + resp(b"exec"))),
    ],
)
def test_whole_commands_are_told_from_others(data: bytes, sound: int, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(data)
    assert sound_length(tmp_path / "file", ARITIES, len(data)) == sound


def test_a_file_is_compared_with_what_was_noted_of_it(tmp_path: Path) -> None:
    path = tmp_path / "a.aof"
    path.write_bytes(bytes(10_000))
    sums = FileSums(tmp_path)
    sums.note(path, 9_000)
    sums.note(path, 9_000)
    assert (tmp_path / SUMS).read_bytes().count(b"\n") == 3
    FileSums(tmp_path).note(path, 10_000)
    assert intact(tmp_path, path).size == intact(tmp_path, path).noted == 10_000
    path.write_bytes(bytes(20_000))
    assert (intact(tmp_path, path).size, intact(tmp_path, path).noted) == (20_000, 10_000)
    path.write_bytes(bytes(9_500) + b"x" + bytes(499))
    assert intact(tmp_path, path).size == 9_000
    path.write_bytes(bytes(4_000) + b"x" + bytes(5_999))
    assert intact(tmp_path, path).size == 0
    path.write_bytes(bytes(5_000))
    assert (intact(tmp_path, path).size, intact(tmp_path, path).noted) == (5_000, 10_000)
    keep(tmp_path, {"a.aof": 5_000})
    assert (intact(tmp_path, path).size, intact(tmp_path, path).noted) == (5_000, 4_096)
    keep(tmp_path, {"b.aof": 1})
    assert intact(tmp_path, path).noted == 0


def test_damage_to_the_notes_is_none_to_the_file(filled: Path) -> None:
    data = bytearray((filled / SUMS).read_bytes())
    for at in range(0, len(data), 7):
        data[at] ^= 1
    (filled / SUMS).write_bytes(data)
    assert known(filled) == PAGES
    assert not damages(filled)


def test_a_torn_line_of_what_was_damaged_is_passed_over(filled: Path) -> None:
    (filled / "damaged.jsonl").write_text('{"at": "2026', encoding="utf-8")
    assert damages(filled) == []
    (filled / COMMANDS).write_bytes((filled / COMMANDS).read_bytes()[:-1])
    known(filled)
    assert len(damages(filled)) == 1
    assert json.loads((filled / "damaged.jsonl").read_text(encoding="utf-8").splitlines()[1])["missing"] == 1
