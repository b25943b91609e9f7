"""Snapshots of a crawl's frontier: what comes back, and what is refused."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from redis import Redis

from aahcrawler.frontier.control import Post, Revisit, Rule, RuleKind, SnapshotError, Wish
from aahcrawler.frontier.protocol import FrontierSettings, Lease, Offer, State
from aahcrawler.frontier.redis import snapshots, url_records
from aahcrawler.frontier.redis.control import RedisControl
from aahcrawler.frontier.redis.redis_client import connect
from aahcrawler.frontier.server.embedded import EmbeddedServer
from tests.frontier.conftest import Clock

SETTINGS = FrontierSettings(balance=4, connections=9)


def offer(i: int, score: float = 0.0) -> Offer:
    queue = f"{i % 9}.test"
    return Offer(f"http://{queue}/{i}", queue, score or i / 10_000, i % 7, via=f"http://{queue}/", path="LNL"[: i % 3])


@pytest.fixture
def client(server: EmbeddedServer) -> Iterator[Redis]:
    with connect(server.url) as connected:
        connected.flushall()
        yield connected


@pytest.fixture
def control(client: Redis, clock: Clock) -> RedisControl:
    return RedisControl(client, "one", SETTINGS, clock)


@pytest.fixture
def copy(client: Redis, clock: Clock) -> RedisControl:
    return RedisControl(client, "another", SETTINGS, clock)


def fill(control: RedisControl, number: int = 1200) -> tuple[Lease, ...]:
    """Bring URLs into all states; return leases that are out."""
    control.offer([offer(i) for i in range(number)])
    leases = control.lease("worker", 40)
    for lease, state in zip(leases, [State.DONE, State.FAILED, State.BLOCKED, State.DONE] * 8, strict=False):
        control.finish(lease, state)
    control.again([Revisit(Offer(leases[0].url, leases[0].queue, 0.9), 60.0)])
    control.block([Rule(RuleKind.PATTERN, "*/11?")])
    control.block_urls([offer(i).url for i in range(20, 40)], "scope")
    control.post([Post(offer(7), b"k" * 12, b"same", Wish.FRONT)])
    control.count({"seconds": 1.5})
    return leases[32:]


def test_a_crawl_goes_on_from_a_snapshot_where_it_was(
    control: RedisControl, copy: RedisControl, tmp_path: Path, clock: Clock
) -> None:
    out = fill(control)
    assert control.snapshot(tmp_path / "one") == copy.restore(tmp_path / "one") == 1200
    control.release(out)
    assert copy.counts() == control.counts()
    assert copy.queue_counts() == control.queue_counts()
    assert copy.stats() == control.stats()
    assert copy.rules() == control.rules()
    assert copy.iterate(2000) == control.iterate(2000)
    states = {State.QUEUED, State.DUE, State.BLOCKED}
    assert sorted(copy.scan(states), key=str) == sorted(control.scan(states), key=str)
    assert copy.post([Post(offer(7), b"k" * 12, b"same", Wish.FRONT)])[0].repeated
    clock.now += 60.0
    assert [lease.url for lease in copy.lease("worker", 50)] == [lease.url for lease in control.lease("worker", 50)]
    assert [path.name for path in tmp_path.iterdir()] == ["one"]


def test_a_snapshot_that_is_taken_while_a_crawl_grows_is_whole(
    control: RedisControl, copy: RedisControl, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(control)
    partition = control._partitions[0]
    pieces = partition._pieces

    def growing() -> Iterator[dict[bytes, bytes]]:
        for number, piece in enumerate(pieces()):
            yield piece
            new = [Offer(f"http://new{number}.test/{i}", f"new{number}.test", 0.5) for i in range(60)]
            control.offer(new if number < 5 else [])
            for lease in control.lease("worker", 5):
                control.finish(lease, State.DONE)

    monkeypatch.setattr(partition, "_pieces", growing)
    assert control.snapshot(tmp_path / "one") >= 1200
    copy.restore(tmp_path / "one")
    assert "" not in copy.queue_counts()
    counts = copy.counts()
    assert counts.pages[State.QUEUED] == len(copy.iterate(5000))
    assert len(copy.lease("worker", 100)) == 100


def test_a_torn_or_damaged_snapshot_is_refused_and_changes_nothing(
    control: RedisControl, copy: RedisControl, tmp_path: Path
) -> None:
    fill(control, 300)
    path = tmp_path / "one"
    control.snapshot(path)
    whole = path.read_bytes()
    broken = [whole[:cut] for cut in (0, 10, 70, len(whole) // 2, len(whole) - 1)]
    broken += [whole + b"x", whole[:-40] + b"?" + whole[-39:], whole[:200] + b"?" + whole[201:], b"{}\n" + whole]
    for content in broken:
        path.write_bytes(content)
        with pytest.raises(SnapshotError, match=str(path)):
            copy.restore(path)
        assert not copy.queue_counts()
        assert not copy.stats()
    path.write_bytes(whole)
    assert copy.restore(path) == 300


def test_a_snapshot_of_another_format_is_refused(copy: RedisControl, tmp_path: Path) -> None:
    path = tmp_path / "one"
    snapshots.write(path, snapshots.Head("one", url_records.FORMAT - 1), ())
    with pytest.raises(SnapshotError, match="restore it with the version that wrote it"):
        copy.restore(path)


def test_nothing_is_restored_into_a_frontier_that_is_not_empty(control: RedisControl, tmp_path: Path) -> None:
    fill(control, 20)
    control.snapshot(tmp_path / "one")
    before = control.counts()
    with pytest.raises(SnapshotError, match="not empty"):
        control.restore(tmp_path / "one")
    assert control.counts() == before


def test_a_snapshot_that_cannot_be_written_leaves_the_one_before(control: RedisControl, tmp_path: Path) -> None:
    fill(control, 20)
    control.snapshot(tmp_path / "one")
    before = (tmp_path / "one").read_bytes()
    control.close()
    (tmp_path / ".one.part").mkdir()
    with pytest.raises(OSError, match=r"one\.part"):
        control.snapshot(tmp_path / "one")
    assert (tmp_path / "one").read_bytes() == before


@pytest.mark.parametrize("partitions", ["1", "3"])
def test_a_snapshot_is_of_so_many_partitions(
    client: Redis, clock: Clock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, partitions: str
) -> None:
    monkeypatch.setenv("AAH_PARTITIONS", partitions)
    control, copy = (RedisControl(client, name, SETTINGS, clock) for name in ("one", "another"))
    control.release(fill(control, 300))
    assert control.snapshot(tmp_path / "one") == copy.restore(tmp_path / "one") == 300
    assert (copy.counts(), copy.queue_counts()) == (control.counts(), control.queue_counts())
    client.flushall()
    monkeypatch.setenv("AAH_PARTITIONS", "2")
    with pytest.raises(SnapshotError, match=f"was taken of {partitions} partitions; .* so many, not 2"):
        RedisControl(client, "one", SETTINGS, clock).restore(tmp_path / "one")
