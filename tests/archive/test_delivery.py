"""Copies of closed files: what goes where, outages, kills, and a crawl that knows nothing of all that."""

import hashlib
import json
import logging
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import pytest
from fsspec import filesystem, register_implementation
from fsspec.implementations.memory import MemoryFileSystem

from aahcrawler.archive.delivery import Delivery, DeliveryError, Progress, Rhythm, deliver
from aahcrawler.archive.folders import ArchiveError
from aahcrawler.archive.target import DamagedCopyError, Target, TargetError, check_address, first_line, target_mistakes
from aahcrawler.layout import DELIVERED
from online_analysis.icd import Icd
from tests.crawl.articles import article_site
from tests.crawl.crawling import aah, running, summary, until, write_icd
from tests.crawl.gate import Gate
from tests.crawl.site import serving
from tests.forking import forked

QUICK = Rhythm(look=0.02, shortest=0.02, longest=0.05, end=5.0)
FIRST = "archive/c-20260102030405-00000.warc.gz"
SECOND = "archive/c-20260102030405-00001.warc.gz"
TRIPLES = "objects/c-20260102030405-00000.nq.gz"
RECORDS = {"icd.json", "crawl.json", "topic.json", "indexes/index.cdxj", "former/1/crawl.json"}


def made(folder: Path, names: dict[str, bytes]) -> None:
    for name, content in names.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)


@pytest.fixture
def crawl(tmp_path: Path) -> Path:
    """Make a crawl's folder with a closed and an open WARC file, and one of triples."""
    folder = tmp_path / "crawl"
    made(folder, {FIRST: b"w" * 3_000_000, SECOND + ".open": b"growing", TRIPLES: b"q" * 100})
    made(folder, dict.fromkeys(RECORDS, b"{}"))
    (folder / "icd.json").write_text(json.dumps({"id": json.dumps("harbour")}))
    made(folder, {"crawl.log": b"log", ".spool/x": b"x", "frontier/frontier.aof": b"x"})
    return folder


def files_below(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


@dataclass
class Shelf:
    """A target in memory whose moods are set by a test."""

    files: dict[str, bytes] = field(default_factory=dict)
    puts: list[str] = field(default_factory=list)
    connected: int = 0
    trouble: Exception | None = None
    refused: str = ""
    closed: threading.Event | None = None

    def connect(self, _: str) -> "Shelf":
        self.connected += 1
        if self.trouble:
            raise self.trouble
        return self

    def size(self, name: str) -> int | None:
        if self.trouble:
            raise self.trouble
        return len(self.files[name]) if name in self.files else None

    def put(self, source: BinaryIO, name: str) -> None:
        if self.closed:
            self.closed.wait()
        if self.trouble or name.endswith(self.refused or "-"):
            raise self.trouble or PermissionError("not this one")
        self.puts.append(name)
        self.files[name] = source.read()

    def digest(self, name: str) -> bytes | None:
        return hashlib.sha256(self.files[name]).digest() if name in self.files else None


def delivering(crawl: Path, shelf: Shelf, rhythm: Rhythm = QUICK) -> Delivery:
    return Delivery(crawl, "c", "shelf://x", rhythm, shelf.connect)


def test_closed_files_go_while_the_crawl_runs_and_the_others_at_its_end(crawl: Path, tmp_path: Path) -> None:
    target = tmp_path / "target"
    with Delivery(crawl, "c", str(target), QUICK) as delivery:
        until(lambda: delivery.progress.files == 2)
        assert files_below(target) == {f"c/{FIRST}", f"c/{TRIPLES}"}
        (crawl / (SECOND + ".open")).rename(crawl / SECOND)
        until(lambda: delivery.progress.files == 3)
        (crawl / "crawl.json").write_text('{"state": "finished"}')
    assert files_below(target) == {f"c/{name}" for name in RECORDS | {FIRST, SECOND, TRIPLES}}
    for name in files_below(target):
        assert (target / name).read_bytes() == (crawl / name.removeprefix("c/")).read_bytes()
    assert delivery.progress.waiting == 0
    found = json.loads((target / "c" / "crawl.json").read_text())
    assert found["delivery"] == {
        "target": str(target),
        "files": 4,
        "bytes": 3_000_000 + 7 + 100 + 2,
        "waiting": 0,
        "waiting_bytes": 0,
    }


def test_what_was_delivered_is_remembered_and_what_changed_goes_again(crawl: Path) -> None:
    shelf = Shelf()
    with delivering(crawl, shelf):
        pass
    assert len(shelf.puts) == 7
    shelf.puts.clear()
    with delivering(crawl, shelf):
        pass
    assert set(shelf.puts) <= {"c/crawl.json"}
    shelf.puts.clear()
    made(crawl, {FIRST: b"mended", "indexes/index.cdxj": b"more"})
    with delivering(crawl, shelf):
        pass
    assert set(shelf.puts) - {"c/crawl.json"} == {f"c/{FIRST}", "c/indexes/index.cdxj"}
    assert shelf.files[f"c/{FIRST}"] == b"mended"


@pytest.mark.parametrize("damage", [b"", b"\xff{]\n", b'{"name": "a', b"[1]\n{}\n" + b"[" * 5000 + b"\n"])
def test_without_its_notes_sizes_are_compared(crawl: Path, damage: bytes) -> None:
    shelf = Shelf()
    with delivering(crawl, shelf):
        pass
    shelf.puts.clear()
    (crawl / DELIVERED).write_bytes(damage)
    shelf.files[f"c/{TRIPLES}"] = b"cut"
    with delivering(crawl, shelf):
        pass
    assert {name for name in shelf.puts if name.endswith(".gz")} == {f"c/{TRIPLES}"}
    with delivering(crawl, shelf) as delivery:
        assert (delivery.progress.files, delivery.progress.waiting) == (2, 0)


def test_an_outage_is_told_once_and_so_is_its_end(crawl: Path, caplog: pytest.LogCaptureFixture) -> None:
    shelf = Shelf(trouble=ConnectionError("no route\nto host"))
    with caplog.at_level(logging.INFO), delivering(crawl, shelf) as delivery:
        until(lambda: shelf.connected > 4)
        assert delivery.progress == Progress("shelf://x", 0, 0, 2, 3_000_100)
        shelf.trouble = None
        until(lambda: delivery.progress.files == 2)
        shelf.trouble = OSError("again")
        (crawl / (SECOND + ".open")).rename(crawl / SECOND)
        until(lambda: len(caplog.records) == 3)
        shelf.trouble = None
    assert len(shelf.files) == 8
    assert [record.getMessage() for record in caplog.records] == [
        "delivery to shelf://x is put off, the crawl goes on: ConnectionError: no route",
        "delivery to shelf://x works again",
        "delivery to shelf://x is put off, the crawl goes on: OSError: again",
        "delivery to shelf://x works again",
    ]


def test_one_file_that_is_refused_keeps_no_other_back(crawl: Path) -> None:
    shelf = Shelf(refused=FIRST)
    made(crawl, {f"archive/c-20260102030405-{n:05}.warc.gz": b"x" * n for n in range(2, 6)})
    with delivering(crawl, shelf) as delivery:
        until(lambda: delivery.progress.waiting == 1)
    assert f"c/{FIRST}" not in shelf.files
    assert set(shelf.files) == {f"c/{name}" for name in files_below(crawl) if name.endswith((".gz", ".cdxj"))} - {
        f"c/{FIRST}"
    }
    assert delivery.progress.waiting == len(RECORDS)
    assert json.loads((crawl / "crawl.json").read_text())["delivery"]["waiting"] == 1


@pytest.mark.parametrize("hangs", [False, True])
def test_the_end_of_a_crawl_is_not_held_up(crawl: Path, hangs: bool) -> None:
    opened = threading.Event()
    shelf = Shelf(closed=opened) if hangs else Shelf(trouble=OSError("away"))
    with delivering(crawl, shelf, Rhythm(look=0.02, shortest=0.02, longest=3600.0, end=0.5)) as delivery:
        until(lambda: shelf.connected > 0)
    assert delivery.progress.waiting == 2 + len(RECORDS)
    assert json.loads((crawl / "crawl.json").read_text())["delivery"]["waiting"] == 3
    opened.set()
    delivery.close()


def test_a_folder_that_cannot_be_written_stops_no_delivery(crawl: Path, caplog: pytest.LogCaptureFixture) -> None:
    (crawl / DELIVERED).mkdir()
    shelf = Shelf()
    with delivering(crawl, shelf) as delivery:
        until(lambda: delivery.progress.files == 2)
    assert len(shelf.files) == 7
    assert [record.getMessage() for record in caplog.records if "compared by size" in record.getMessage()]


def test_no_crawl_that_cannot_be_read_hurts(tmp_path: Path) -> None:
    with delivering(tmp_path / "nowhere", Shelf()) as delivery:
        pass
    assert delivery.progress == Progress("shelf://x")


# Targets


class Moody(MemoryFileSystem):  # type: ignore[misc]  # fsspec has no types
    """An object store that loses the ends of files, or tells wrong checksums."""

    protocol = "moody"
    cuts = False
    says: str | None = None

    def info(self, path: str, **kwargs: Any) -> dict[str, Any]:
        found: dict[str, Any] = super().info(path, **kwargs)
        if self.cuts and found["type"] == "file":
            found["size"] -= 1
        return found | ({"md5Hash": self.says} if self.says else {})


class Refusing(MemoryFileSystem):  # type: ignore[misc]
    """A machine that nobody can connect to."""

    protocol = "refusing"

    def __init__(self, **_: object) -> None:
        raise ConnectionRefusedError


@pytest.fixture(scope="module", autouse=True)
def moody() -> None:
    register_implementation("moody", Moody, clobber=True)
    register_implementation("refusing", Refusing, clobber=True)


@pytest.mark.parametrize("address", ["memory://{}/x", "file://{}/y", "{}/z", "{}/z/", "dir::file://{}/w"])
def test_every_address_takes_files_whole(address: str, tmp_path: Path, crawl: Path) -> None:
    target = Target(address.format(tmp_path))
    assert target.size("c/" + FIRST) is None
    for content in (b"old", b"w" * 3_000_000, b""):
        made(crawl, {FIRST: content})
        with (crawl / FIRST).open("rb") as source:
            target.put(source, "c/" + FIRST)
        assert target.size("c/" + FIRST) == len(content)
    assert target.size("c") is None
    assert not [name for name in files_below(tmp_path) if name.endswith(".delivering")]


def test_a_copy_that_arrives_otherwise_is_none(crawl: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = Target("moody://a/b")
    with (crawl / TRIPLES).open("rb") as source:
        monkeypatch.setattr(Moody, "cuts", True)
        with pytest.raises(DamagedCopyError, match="99 of 100 bytes"):
            target.put(source, TRIPLES)
        monkeypatch.setattr(Moody, "cuts", False)
        for checksum in ("AAAAAAAAAAAAAAAAAAAAAA==", "u1nVxwxKi+XDvbMGKY1ddA=="):
            source.seek(0)
            monkeypatch.setattr(Moody, "says", checksum)
            with pytest.raises(DamagedCopyError):
                target.put(source, TRIPLES)
        for checksum in ("no checksum", "c2hvcnQ="):
            source.seek(0)
            monkeypatch.setattr(Moody, "says", checksum)
            target.put(source, TRIPLES)


@pytest.mark.parametrize(
    ("address", "problem", "advice"),
    [
        ("s3://bucket/a", "of the kind s3, which needs a package", "pip install s3fs"),
        ("sftp://host/a", "of the kind sftp, which needs a package", "pip install paramiko"),
        ("simplecache::gs://b/a", "of the kind gs, which needs a package", "pip install gcsfs"),
        ("https://example.org/a", "of the kind https, which cannot be written to", "s3://"),
        ("nonsense://a", "of the kind nonsense, which fsspec does not know", "sftp://"),
        ("s3://key:secret@bucket/a", "holds a password", "fsspec's configuration"),
        ("az://a/b?sig=secret", "question mark", "fsspec's configuration"),
    ],
)
def test_an_address_of_no_use_is_told_beforehand(address: str, problem: str, advice: str) -> None:
    with pytest.raises(TargetError) as caught:
        check_address(address)
    assert problem in caught.value.problem
    assert advice in caught.value.advice
    assert "secret" not in str(caught.value).replace("secrets", "")
    with pytest.raises(DeliveryError, match="the target "):
        list(deliver(Path(), address))


def test_what_a_file_system_says_is_told_without_passwords() -> None:
    said = first_line(OSError("no way to sftp://me:pass/word@host/a\nor elsewhere"))
    assert said == "OSError: no way to sftp://***@host/a"
    assert first_line(TimeoutError()) == "TimeoutError"


def test_nothing_is_connected_to_before_the_crawl_begins(tmp_path: Path) -> None:
    """A target that is away at that time must not keep a crawl from starting."""
    assert target_mistakes(icd_with("refusing://host/a", tmp_path)) == ()
    with pytest.raises(ConnectionRefusedError):
        Target("refusing://host/a")


def icd_with(target: str, output: Path) -> Icd:
    return Icd.parse(
        f"id: harbour\ncontact: a@b.org\nseeds: [http://a.test/]\ntopic: {{keywords: [flood]}}\n"
        f"archive: {{target: {json.dumps(target)}}}\noutput: {json.dumps(str(output))}\n".encode()
    )


def test_mistakes_of_a_definition_name_the_line(tmp_path: Path) -> None:
    assert target_mistakes(icd_with("", tmp_path)) == ()
    assert target_mistakes(icd_with(str(tmp_path / "copies"), tmp_path / "harbour")) == ()
    (mistake,) = target_mistakes(icd_with("s3://b/c", tmp_path))
    assert (mistake.line, mistake.field) == (5, "archive.target")
    (mistake,) = target_mistakes(icd_with(f"file://{tmp_path}", tmp_path / "harbour"))
    assert "where the crawl itself is written" in str(mistake)


# The command


def test_the_command_brings_what_is_missing_and_damaged(crawl: Path, tmp_path: Path) -> None:
    target = tmp_path / "target"
    lines = list(deliver(crawl, str(target)))
    assert lines[0] == f"{FIRST}: 3,000,000 bytes"
    assert lines[-1] == f"7 files copied to {target}, 0 were there"
    assert list(deliver(crawl)) == [f"0 files copied to {target}, 7 were there"]
    (target / "harbour" / FIRST).write_bytes(b"cut")
    (target / "harbour" / "icd.json").unlink()
    assert list(deliver(crawl))[-1] == f"2 files copied to {target}, 5 were there"
    assert (target / "harbour" / FIRST).stat().st_size == 3_000_000
    assert list(deliver(crawl, "memory://elsewhere"))[-1] == "7 files copied to memory://elsewhere, 0 were there"
    assert filesystem("memory").exists(f"/elsewhere/harbour/{TRIPLES}")


def test_a_relative_folder_is_the_same_one_from_elsewhere(
    crawl: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert list(deliver(crawl, "copies"))[-1].startswith("7 files copied")
    monkeypatch.chdir("/")
    assert list(deliver(crawl)) == [f"0 files copied to {tmp_path}/copies, 7 were there"]


def test_the_command_says_what_it_cannot_do(crawl: Path, tmp_path: Path) -> None:
    with pytest.raises(DeliveryError, match="name one with --target"):
        list(deliver(crawl))
    (tmp_path / "blocked").write_text("no folder")
    with pytest.raises(DeliveryError, match=r"00000.warc.gz could not be delivered .* the same command goes on"):
        list(deliver(crawl, str(tmp_path / "blocked" / "target")))
    made(tmp_path / "plain", {"a.warc.gz": b"x"})
    with pytest.raises(ArchiveError, match="is no folder of a crawl"):
        list(deliver(tmp_path / "plain", "memory://a"))


SLOW = """
import sys, time
from pathlib import Path
from aahcrawler.archive.delivery import Delivery, Rhythm
from aahcrawler.archive.target import Target

class Slow:
    def __init__(self, file): self.file, self.delays = file, iter([0, 600])
    def read(self, size):
        time.sleep(next(self.delays))
        return self.file.read(size)

class SlowTarget(Target):
    def put(self, source, name): super().put(Slow(source), name)

with Delivery(Path(sys.argv[1]), "harbour", sys.argv[2], Rhythm(look=0.05), SlowTarget):
    time.sleep(600)
"""


def test_a_kill_in_the_middle_of_a_copy_leaves_no_half_of_it(crawl: Path, tmp_path: Path) -> None:
    target = tmp_path / "target"
    whole, part = target / "harbour" / FIRST, target / "harbour" / (FIRST + ".delivering")
    with forked(SLOW, crawl, target) as process:
        until(lambda: part.exists() and part.stat().st_size > 0)
        process.kill()
    assert not whole.exists()
    with Delivery(crawl, "harbour", str(target), QUICK):
        pass
    assert whole.read_bytes() == (crawl / FIRST).read_bytes()
    assert not part.exists()


# Whole crawls


def test_a_crawl_delivers_while_it_runs(tmp_path: Path) -> None:
    crawl, target = tmp_path / "crawl", tmp_path / "target"
    more = f"archive: {{target: {target}, size: 5 kB}}\n"
    gate = Gate(free=30)
    with serving(article_site(40, gate=gate)) as site:
        icd = write_icd(tmp_path, site.url, more=more)
        with running("crawl", icd) as crawler:
            crawler.until(lambda: bool(list(target.glob("test/archive/*.warc.gz"))))
            gate.open()
            ended = crawler.ended()
    assert ended.code == 0, ended.err
    assert "still to be delivered" not in ended.err
    delivered = files_below(target / "test")
    assert delivered == {
        name for name in files_below(crawl) if name.startswith(("archive/", "objects/", "indexes/index"))
    } | {"crawl.json", "icd.json"}
    for name in delivered:
        assert (target / "test" / name).read_bytes() == (crawl / name).read_bytes()
    assert summary(crawl)["delivery"]["waiting"] == 0
    assert str(target) not in (crawl / "icd.json").read_text()
    assert aah("archive", "deliver", crawl).out.endswith(f"{len(delivered)} were there\n")


def test_a_target_that_is_away_stops_nothing(tmp_path: Path) -> None:
    crawl, blocked = tmp_path / "crawl", tmp_path / "blocked"
    blocked.write_text("no folder yet")
    with serving(article_site(5)) as site:
        icd = write_icd(tmp_path, site.url, more=f"archive: {{target: {blocked}/target}}\n")
        ended = aah("crawl", icd)
    assert ended.code == 0, ended.err
    said = f"files still to be delivered to {blocked}/target: 5; aah archive deliver {crawl}"
    assert said in ended.err.splitlines()
    assert summary(crawl)["state"] == "finished"
    assert summary(crawl)["delivery"]["waiting"] == 3
    assert "<dt>files delivered</dt><dd>0 of 3</dd>" in (crawl / "report.html").read_text()
    log = (crawl / "crawl.log").read_text()
    assert log.count(f"delivery to {blocked}/target is put off, the crawl goes on: NotADirectoryError") == 1
    refused = aah("archive", "deliver", crawl)
    assert (refused.code, refused.err.count("\n")) == (2, 1)
    blocked.unlink()
    assert aah("archive", "deliver", crawl).out.splitlines()[-1] == f"5 files copied to {blocked}/target, 0 were there"


def test_a_target_of_no_use_is_told_before_the_crawl(tmp_path: Path) -> None:
    icd = write_icd(tmp_path, "http://a.test/", more="archive: {target: s3://bucket/crawls}\n")
    for command in (("icd", "check", icd, "--offline"), ("crawl", icd)):
        ended = aah(*command)
        assert ended.code == 2
        assert "archive.target: is of the kind s3, which needs a package" in ended.err
        assert "pip install s3fs" in ended.err


@pytest.mark.parametrize("address", ["{folder}", "memory://compared"])
def test_digests_find_what_sizes_do_not(crawl: Path, tmp_path: Path, address: str) -> None:
    target = address.format(folder=tmp_path / "target")
    list(deliver(crawl, target))
    changed = filesystem("memory") if "memory" in target else filesystem("file")
    place = f"{target.removeprefix('memory:/')}/harbour/{FIRST}"
    changed.pipe_file(place, b"x" + changed.cat_file(place)[1:])
    assert list(deliver(crawl))[-1].startswith("0 files copied")
    assert list(deliver(crawl, compare_digests=True)) == [
        f"{FIRST}: 3,000,000 bytes",
        f"1 files copied to {target}, 6 were there",
    ]
    assert changed.cat_file(place) == (crawl / FIRST).read_bytes()
    assert list(deliver(crawl, compare_digests=True))[-1].startswith("0 files copied")
