"""Crawls as WACZ packages: what is in them, what stays out, and what becomes of an export that does not end."""

import errno
import fcntl
import gzip
import hashlib
import io
import json
import os
import struct
from base64 import b64decode
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Any
from zipfile import ZIP_STORED, ZipFile, ZipInfo

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_der_public_key,
)
from typer.testing import CliRunner, Result
from warcio.archiveiterator import ArchiveIterator

from aahcrawler.cli import app
from aahcrawler.crawl_collections import Collection, CollectionFile
from aahcrawler.imports.wacz_package import WaczPackage
from aahcrawler.layout import ARCHIVE, EXPORTS, OBJECTS, REMOVING, TOMBSTONES
from aahcrawler.takedown import answers
from aahcrawler.takedown.removal import WantedRemoval as TakenOut
from offline.export import wacz_export
from offline.export.wacz_export import WantedPages, export
from offline.export.wacz_file import INDEX_LINES, ExportError, WaczFile, packed_index
from tests.imports.archives import arc, imported, members, pages, record
from tests.offline.test_selection import BEGUN, CSS, HTML, SITE, THREAD, World

Lines = Sequence[Mapping[str, Any]]


@pytest.fixture(scope="module")
def crawl(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("export") / "world"
    with closing(World(folder)) as world:
        world.answer("/robots.txt", b"User-agent: *\n", "text/plain")
        world.page(
            "/", b"<title>All boards</title><p>Welcome to the boards of the dike.", score=0.1, application="phpBB"
        )
        world.page("/old", b"", status=301, more="Location: /thread\r\n")
        world.page("/thread", b"<title>The d\xc3\xa9luge</title>" + THREAD, score=0.8, application="phpBB")
        world.answer("/s.css", b"p { color: red }", CSS)
        world.answer("/photo.jpg", b"\xff\xd8\xff", "image/jpeg")
        world.answer("/other.png", b"\x89PNG2", "image/png")
        world.page("/gone", b"Gone", status=404)
    return folder


def run(*arguments: str | Path, given: str = "") -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in ("export", *arguments)], input=given)


def exported(file: Path, *arguments: str | Path, given: str = "") -> ZipFile:
    """Export, and return the package, which is as the specification wants it."""
    result = run(*arguments, "--wacz", file, given=given)
    assert result.exit_code == 0, result.output
    assert not list(file.parent.glob("*.part"))
    return valid(file)


def valid(file: Path) -> ZipFile:
    """Return a package that keeps the rules of WACZ 1.1.1 and of what it refers to (data packages, CDXJ in gzip)."""
    package = ZipFile(file)
    assert package.testzip() is None
    names = package.namelist()
    assert len(names) == len(set(names))
    for info in package.infolist():
        is_packed = info.filename.endswith(".gz")
        assert not is_packed or info.compress_type == ZIP_STORED, info.filename
        assert info.extra or not local_extra(file, info), info.filename
        assert info.filename.split("/")[0] in {"archive", "indexes", "pages"} or "/" not in info.filename
    said = json.loads(package.read("datapackage.json"))
    assert (said["profile"], said["wacz_version"]) == ("data-package", "1.1.1")
    datetime.fromisoformat(said["created"])
    listed = {each["path"]: each for each in said["resources"]}
    assert listed.keys() == set(names) - {"datapackage.json", "datapackage-digest.json"}
    assert len({each["name"] for each in listed.values()}) == len(listed)
    for path, each in listed.items():
        content = package.read(path)
        assert each["hash"] == f"sha256:{hashlib.sha256(content).hexdigest()}"
        assert each["bytes"] == len(content)
    digest = json.loads(package.read("datapackage-digest.json"))
    assert digest["path"] == "datapackage.json"
    assert digest["hash"] == f"sha256:{hashlib.sha256(package.read('datapackage.json')).hexdigest()}"
    assert any(name.startswith("archive/") and name.endswith(".warc.gz") for name in names)
    check_index(package)
    for name in (each for each in names if each.startswith("pages/")):
        head, *lines = json_lines(package, name)
        assert head["format"] == "json-pages-1.0"
        for line in lines:
            assert line["url"].startswith("http")
            assert datetime.fromisoformat(line["ts"]).tzinfo is not None
    return package


def local_extra(file: Path, info: ZipInfo) -> bytes:
    """Return the extra fields before a member: ReplayWeb.page takes them to be none where the directory names none."""
    with file.open("rb") as opened:
        opened.seek(info.header_offset + 26)
        name, extra = struct.unpack("<HH", opened.read(4))
        return opened.read(name + extra)[name:]


def check_index(package: ZipFile) -> None:
    """Check that each line leads to the record that it tells of, and each block to the lines that it begins."""
    packed = package.read("indexes/index.cdx.gz")
    head, *blocks = package.read("indexes/index.idx").decode().splitlines()
    assert json.loads(head.removeprefix("!meta 0 ")) == {"format": "cdxj-gzip-1.0", "filename": "index.cdx.gz"}
    found = []
    for block in blocks:
        key, moment, text = block.split(" ", 2)
        place = json.loads(text)
        piece = packed[place["offset"] : place["offset"] + place["length"]]
        assert place["digest"] == f"sha256:{hashlib.sha256(piece).hexdigest()}"
        lines = gzip.decompress(piece).decode().splitlines()
        assert lines[0].startswith(f"{key} {moment} ")
        found += lines
    assert found == gzip.decompress(packed).decode().splitlines() == sorted(found)
    for line in found:
        _, moment, text = line.split(" ", 2)
        said = json.loads(text)
        content = package.read(f"archive/{said['filename']}")[int(said["offset"]) :][: int(said["length"])]
        (led_to,) = ArchiveIterator(io.BytesIO(content), no_record_parse=True)
        assert led_to.rec_headers["WARC-Target-URI"] == said["url"]
        assert led_to.rec_headers["WARC-Date"].translate(str.maketrans("", "", "-T:Z")).partition(".")[0] == moment


def json_lines(package: ZipFile, name: str) -> Lines:
    return [json.loads(line) for line in package.read(name).decode().splitlines()]


def records(packed: bytes) -> dict[str, tuple[str, bytes]]:
    """Return the header and block of each record by its id."""
    found = {}
    for each in ArchiveIterator(io.BytesIO(packed), no_record_parse=True):
        found[each.rec_headers["WARC-Record-ID"]] = (str(each.rec_headers), each.content_stream().read())
    return found


def held(folder: Path) -> dict[str, tuple[str, bytes]]:
    return {name: each for path in (folder / ARCHIVE).iterdir() for name, each in records(path.read_bytes()).items()}


def packed(package: ZipFile) -> dict[str, tuple[str, bytes]]:
    names = (name for name in package.namelist() if name.startswith("archive/"))
    return {name: each for path in names for name, each in records(package.read(path)).items()}


def urls(package: ZipFile) -> list[str]:
    lines = gzip.decompress(package.read("indexes/index.cdx.gz")).decode().splitlines()
    return [json.loads(line.split(" ", 2)[2])["url"].removeprefix(SITE) for line in lines]


def test_all_of_a_crawl_is_packed_as_it_lies_there(crawl: Path, tmp_path: Path) -> None:
    package = exported(tmp_path / "all.wacz", crawl)
    for path in (crawl / ARCHIVE).iterdir():
        assert package.read(f"archive/{path.name}") == path.read_bytes()
    head, *listed = json_lines(package, "pages/pages.jsonl")
    assert head["hasText"] is True
    assert [(each["url"], each.get("title")) for each in listed] == [
        (f"{SITE}/", "All boards"),
        (f"{SITE}/thread", "The déluge"),
    ]
    assert "Welcome to the boards of the dike." in listed[0]["text"]
    assert listed[1]["text"] == "A thread."
    assert (listed[0]["ts"], listed[0]["id"]) == ("2026-01-02T03:02:00Z", "00000000-0000-4000-8000-000000000003")


@pytest.mark.starts
def test_the_same_folder_gives_the_same_bytes(crawl: Path, tmp_path: Path) -> None:
    one, two = tmp_path / "one.wacz", tmp_path / "two.wacz"
    exported(one, crawl)
    exported(two, crawl, "--processes", "2")
    assert one.read_bytes() == two.read_bytes()
    assert {info.date_time for info in ZipFile(one).infolist()} == {(2026, 1, 2, 3, 8, 0)}


def test_pages_are_chosen_with_what_they_need(crawl: Path, tmp_path: Path) -> None:
    package = exported(tmp_path / "some.wacz", crawl, "--score", ">=0.5", "--no-text")
    assert urls(package) == ["/old", "/photo.jpg", "/robots.txt", "/s.css", "/thread"]
    assert packed(package).items() <= held(crawl).items()
    said = json.loads(package.read("datapackage.json"))
    assert said["description"] == "Selection: score >=0.5"
    assert [each["url"] for each in json_lines(package, "pages/pages.jsonl")[1:]] == [f"{SITE}/thread"]


def test_pages_are_chosen_by_the_ids_of_their_records(crawl: Path, tmp_path: Path) -> None:
    names = "<urn:uuid:00000000-0000-4000-8000-000000000003>\nurn:uuid:of-another-crawl\n"
    package = exported(tmp_path / "some.wacz", crawl, "--records", "-", "--no-requisites", "--no-text", given=names)
    assert urls(package) == ["/", "/robots.txt"]
    result = run(crawl, "--records", "-", "--wacz", tmp_path / "none.wacz", given="urn:uuid:of-another-crawl\n")
    assert (result.exit_code, (tmp_path / "none.wacz").exists()) == (2, False)
    assert "no page fulfils this (a list of 1 records)" in result.output


def test_pages_are_chosen_by_their_site(crawl: Path, tmp_path: Path) -> None:
    assert run(crawl, "--site", "other.test", "--wacz", tmp_path / "none.wacz").exit_code == 2
    assert "/thread" in urls(exported(tmp_path / "some.wacz", crawl, "--site", "Site.test", "--no-text"))
    result = run(crawl, "--site", "http://site.test/", "--wacz", tmp_path / "no.wacz")
    assert "write the name of a host" in result.output


def test_texts_are_left_out_and_titles_stay(tmp_path: Path) -> None:
    root = tmp_path / "crawl"
    with closing(World(root)) as world:
        world.page("/", b"<title>All boards</title><p>Welcome.", title="All boards")
    head, listed = json_lines(exported(tmp_path / "all.wacz", root, "--no-text"), "pages/pages.jsonl")
    assert (head["hasText"], listed["title"], "text" in listed) == (False, "All boards", False)


def test_seeds_come_first_and_what_they_redirect_to(
    crawl: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Defined:
        seeds, title, id = (f"{SITE}/old",), "The dikes", "dikes"

        class metadata:  # noqa: N801
            description = "Boards."

            @staticmethod
            def terms() -> Iterator[tuple[str, str]]:
                yield from (("creator", "The archive"), ("subject", "dikes"))

    monkeypatch.setattr(wacz_export, "_definition", lambda _: Defined)
    export([crawl], WantedPages(text=False), tmp_path / "all.wacz")
    package = valid(tmp_path / "all.wacz")
    assert [each["url"] for each in json_lines(package, "pages/pages.jsonl")[1:]] == [f"{SITE}/thread"]
    assert [each["url"] for each in json_lines(package, "pages/extraPages.jsonl")[1:]] == [f"{SITE}/"]
    said = json.loads(package.read("datapackage.json"))
    assert (said["title"], said["description"], said["mainPageUrl"]) == ("The dikes", "Boards.", f"{SITE}/thread")
    assert said["contributors"] == [{"title": "The archive", "role": "author"}]
    assert said["keywords"] == said["dublinCore"]["subject"] == ["dikes"]


def test_crawls_whose_files_have_one_name_are_packed_together_and_imported_again(crawl: Path, tmp_path: Path) -> None:
    other = tmp_path / "other" / "world"
    with closing(World(other)) as world:
        for _ in range(12):
            world.answer("/", b"Other than the first one", HTML)
    file, root = tmp_path / "both.wacz", tmp_path / "back"
    package = exported(file, crawl, other, crawl, "--no-text")
    assert len([name for name in package.namelist() if "archive/world-world-" in name]) > 0
    told: list[tuple[str, str]] = []
    with file.open("rb") as opened:
        found = WaczPackage(opened, tmp_path, lambda name, what: told.append((name, what)))
        assert {archive.name for archive in found.archives()} == {
            name for name in package.namelist() if name.startswith("archive/")
        }
        assert found.digests()
    assert told == []
    counts, _ = imported(root, file)
    assert counts.lost == 0
    blocks = {block for folder in (crawl, other) for head, block in held(folder).values() if "warcinfo" not in head}
    assert blocks <= {block for _, block in held(root).values()}


def test_what_was_taken_down_in_files_of_others_stays_out(tmp_path: Path) -> None:
    root, path = tmp_path / "crawl", tmp_path / "good.warc.gz"
    asked = [record(30 + n, b"GET / HTTP/1.1\r\n\r\n", "request", url=f"http://dikes.test/{n}") for n in (1, 2, 3)]
    note = record(
        40, b"a: b", "metadata", url="http://dikes.test/elsewhere", WARC_Concurrent_To=f"<{asked[1].record_id}>"
    )
    path.write_bytes(members([*asked, note, *pages(3)]))
    imported(root, path, by_reference=True)
    (root / OBJECTS).mkdir()
    whole = exported(tmp_path / "all.wacz", root)
    assert whole.read(f"archive/{path.name}") == path.read_bytes()
    made = [root / EXPORTS / "crawl.wacz", tmp_path / EXPORTS / "with.wacz", tmp_path / EXPORTS / "without.wacz"]
    for package_file in made:
        package_file.parent.mkdir(exist_ok=True)
        package_file.touch()
    CollectionFile(tmp_path / "with").create(Collection(title="A", crawls=("crawl",)))
    CollectionFile(tmp_path / "without").create(Collection(title="B"))
    list(answers.removed(root, TakenOut(urls=("http://dikes.test/2",)), "somebody", "asked to")[0])
    assert [package_file.exists() for package_file in made] == [False, False, True]
    package = exported(tmp_path / "rest.wacz", root)
    assert urls(package) == ["http://dikes.test/1", "http://dikes.test/3"]
    ids = {each.record_id for each in (asked[1], note, pages(3)[1])}
    assert {name.strip("<>") for name in records(path.read_bytes()).keys() - packed(package).keys()} == ids
    assert b"dikes.test/2" not in b"".join(package.read(name) for name in package.namelist() if ".gz" not in name)


def test_records_that_were_of_arc_are_imported_again_as_they_are(tmp_path: Path) -> None:
    root, back, file = tmp_path / "crawl", tmp_path / "back", tmp_path / "old.wacz"
    path = tmp_path / "old.arc"
    path.write_bytes(arc([(f"http://dikes.test/{n}", pages(1, n)[0].block) for n in range(1, 4)]))
    imported(root, path)
    (root / OBJECTS).mkdir()
    exported(file, root)
    counts, told = imported(back, file)
    assert (counts.lost, told) == (0, [])
    assert held(root).items() <= held(back).items()


def test_while_something_is_taken_down_nothing_is_exported(crawl: Path, tmp_path: Path) -> None:
    begun, stones, file = crawl / REMOVING, crawl / TOMBSTONES, tmp_path / "all.wacz"
    begun.write_text("{}")
    try:
        assert "pages are being taken down" in run(crawl, "--wacz", file).output
    finally:
        begun.unlink()

    def taking(what: str, _more: int) -> None:
        if what == wacz_export.BYTES_WRITTEN:
            stones.touch()
            stones.write_text('{"id": "1", "at": "2026", "by": "a", "reason": "b"}\n')

    try:
        with pytest.raises(ExportError, match="taken down while it was written"):
            export([crawl], WantedPages(text=False), file, seen=taking)
    finally:
        stones.unlink(missing_ok=True)
    assert not list(tmp_path.iterdir())


def test_no_file_is_overwritten_and_a_full_disk_leaves_none(
    crawl: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "all.wacz"
    file.write_text("mine")
    assert "exists, and is not overwritten" in run(crawl, "--wacz", file).output
    assert file.read_text() == "mine"
    assert "ends in .wacz" in run(crawl, "--wacz", tmp_path / "all.zip").output
    assert "there is no folder" in run(crawl, "--wacz", tmp_path / "no" / "all.wacz").output

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(WaczFile, "finish", full)
    result = run(crawl, "--no-text", "--wacz", tmp_path / "other.wacz")
    assert "No space left on device); make room" in result.output
    assert [path.name for path in tmp_path.iterdir()] == ["all.wacz"]


def test_two_exports_do_not_write_one_file_and_what_a_killed_one_left_is_written_over(
    crawl: Path, tmp_path: Path
) -> None:
    file, part = tmp_path / "all.wacz", tmp_path / "all.wacz.part"
    part.write_bytes(b"left by one that was killed" * 10_000)
    with part.open("r+b") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        assert "another process is writing it" in run(crawl, "--no-text", "--wacz", file).output
        assert part.stat().st_size > 100_000
    exported(file, crawl, "--no-text")


def test_the_signature_is_that_of_the_digest(crawl: Path, tmp_path: Path) -> None:
    key = ec.generate_private_key(ec.SECP384R1())
    pem, file = tmp_path / "key.pem", tmp_path / "signed.wacz"
    pem.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    package = exported(file, crawl, "--no-text", "--sign", pem)
    digest = json.loads(package.read("datapackage-digest.json"))
    signed = digest["signedData"]
    assert signed.keys() == {"hash", "created", "software", "version", "signature", "publicKey"}
    assert signed["hash"] == digest["hash"]
    assert signed["created"] == json.loads(package.read("datapackage.json"))["created"]
    public = load_der_public_key(b64decode(signed["publicKey"]))
    assert isinstance(public, ec.EllipticCurvePublicKey)
    raw = b64decode(signed["signature"])
    made = encode_dss_signature(int.from_bytes(raw[:48], "big"), int.from_bytes(raw[48:], "big"))
    public.verify(made, signed["hash"].encode(), ec.ECDSA(hashes.SHA256()))
    with pytest.raises(InvalidSignature):
        public.verify(made, b"sha256:another", ec.ECDSA(hashes.SHA256()))
    pem.write_text("no key")
    result = run(crawl, "--sign", pem, "--wacz", tmp_path / "no.wacz")
    assert (result.exit_code, "is no private key" in result.output) == (2, True)


def test_the_index_is_packed_in_members_that_are_found_by_their_first_lines() -> None:
    lines = [f"test,a)/{n:05} 2026 {{}}\n".encode() for n in range(2 * INDEX_LINES + 1)]
    blocks: list[bytes] = []
    made = b"".join(packed_index(iter(lines), "index.cdx.gz", blocks))
    assert gzip.decompress(made) == b"".join(lines)
    assert [block.split(b" ", 1)[0] for block in blocks[1:]] == [b"test,a)/00000", b"test,a)/01024", b"test,a)/02048"]


@pytest.mark.parametrize("size", [None, 1, 1 << 30, 2_100_000_000])
def test_members_whose_size_may_be_large_are_found_where_the_directory_says(tmp_path: Path, size: int | None) -> None:
    path = tmp_path / "some.wacz"
    with path.open("w+b") as file:
        wacz = WaczFile(file)
        member = wacz.add("archive/a.warc.gz", (b"some", b" bytes"), BEGUN, is_packed=True, size=size)
        with wacz.stored(member) as stored:
            assert stored.read() == b"some bytes"
        wacz.finish({}, BEGUN)
    with ZipFile(path) as package:
        (info, *_) = package.infolist()
        assert info.extra or not local_extra(path, info)
        assert package.read(info) == path.read_bytes()[member.begin :][: member.size] == b"some bytes"


def test_py_wacz_accepts_a_package(crawl: Path, tmp_path: Path) -> None:
    wacz = pytest.importorskip("wacz.main")
    exported(tmp_path / "all.wacz", crawl)
    assert wacz.main(["validate", "-f", str(tmp_path / "all.wacz")]) == 0
