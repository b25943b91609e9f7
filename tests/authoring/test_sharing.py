"""Entries travel as one file, and are taken in only when every test, theirs and those of all others, passes."""

import json
import stat
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from zipfile import ZIP_BZIP2, ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo

import pytest
from typer.testing import CliRunner

from aahcrawler.cli import app
from aahcrawler.editor.entries import entry_pack
from aahcrawler.editor.entries.entry_files import Contents, Entry, PageParts, digest
from aahcrawler.editor.entries.entry_import import ImportRefusedError, Proposal, Task, failures, propose, take
from aahcrawler.editor.entries.entry_pack import Pack, PackError, Said, pack_entry, read_pack, unpacked
from aahcrawler.editor.entries.own_folder import ChangedMeanwhileError, OwnFolder
from aahcrawler.editor.pages.page_capture import Wish, capture
from knowledge_base.file_selection import SHIPPED
from knowledge_base.loader import load
from tests.authoring.tinyforum import BOARD, FORM, TOPIC

TINY = """<?xml version="1.0" encoding="UTF-8"?>
<application name="TinyForum" kind="web-forum">
  <detect><pattern strength="proof" generator="TinyForum" cite="header.tpl"/></detect>
  <level name="forum" role="intermediate">
    <when css="ul.topics a.topic-link" cite="board.tpl"/>
    <address path="**/board.php" parameters="id"/>
    <navigate name="topics" to="thread"><select css="a.topic-link" cite="board.tpl"/></navigate>
  </level>
  <level name="thread" role="terminal">
    <when css="div.entry div.text" cite="topic.tpl"/>
    <address path="**/topic.php" parameters="id" optional="page"/>
    <extract name="posts" type="reply" first-type="post" many="yes" always="yes">
      <item css="div.entry" cite="topic.tpl"/>
      <identity trim="entry-" prefix="entry-"><select xpath="@id" cite="topic.tpl"/></identity>
      <field name="author" kind="person"><select css=".who a" cite="topic.tpl"/></field>
      <field name="body"><select css=".text" cite="topic.tpl"/></field>
    </extract>
  </level>
</application>
"""


@pytest.fixture
def others(tmp_path: Path) -> Path:
    """Return a small knowledge base in the place of the one that ships: its pages are tried with each import."""
    folder = tmp_path / "others"
    (folder / "applications").mkdir(parents=True)
    for name in ("phpbb.xml", "fluxbb.xml"):
        (folder / "applications" / name).write_bytes((SHIPPED / "applications" / name).read_bytes())
    for page in ("phpbb/board-prosilver", "fluxbb/login-form", "phpbb/login-form"):
        for ending in (".html", ".json"):
            target = folder / "applications" / "pages" / f"{page}{ending}"
            target.parent.mkdir(parents=True, exist_ok=True)
            source = SHIPPED / "applications" / "pages" / f"{page}{ending}"
            if source.exists():
                target.write_bytes(source.read_bytes())
    return folder


def saved(folder: Path, others: Path, xml: str = TINY) -> OwnFolder:
    """Write an entry with three saved pages into a folder of one's own."""
    own = OwnFolder(folder)
    own.save("tinyforum", xml.encode(), [], "Ada", "written")
    knowledge_base = load(others, folder)
    for page, name in ((TOPIC, "topic"), (BOARD, "board"), (FORM, "login")):
        wish = Wish("tinyforum", name, negative=page is FORM)
        capture(page, knowledge_base, (others, folder), wish)
    own.note("tinyforum", "Ada", "pages")
    return own


def packed(own: OwnFolder, others: Path, **said: object) -> bytes:
    folders = (others, own.path)
    given = {"licence": "CC0-1.0", "pages": Contents.MADE_UP, **said}
    return pack_entry("tinyforum", folders, load(*folders), Said("Ada", **given))  # type: ignore[arg-type]


def proposed(data: bytes, others: Path, mine: Path) -> Proposal:
    return propose(unpacked(data), (others, mine))


@pytest.mark.starts
@pytest.mark.slow
def test_an_entry_is_packed_and_taken_in_elsewhere(tmp_path: Path, others: Path) -> None:
    own = saved(tmp_path / "ada", others)
    data = packed(own, others)
    assert packed(own, others, licence="") == data
    assert own.history("tinyforum")[-1].what == "licence: CC0-1.0"
    proposal = proposed(data, others, tmp_path / "bo")
    assert proposal.wrong == ()
    assert any("3 saved pages" in line for line in proposal.said)
    change = take(proposal, tmp_path / "bo", "Bo")
    assert "packed by Ada" in change.what
    assert OwnFolder(tmp_path / "bo").entry("tinyforum") == own.entry("tinyforum")
    with pytest.raises(ChangedMeanwhileError):
        take(proposal, tmp_path / "bo", "Bo")


@pytest.mark.starts
@pytest.mark.slow
def test_one_that_is_there_is_replaced_only_when_asked_for_and_shown(tmp_path: Path, others: Path) -> None:
    data = packed(saved(tmp_path / "ada", others), others)
    mine = saved(tmp_path / "bo", others, TINY.replace(".who a", ".who"))
    proposal = proposed(data, others, mine.path)
    assert [line for line in proposal.difference if "who" in line] == [
        '-      <field name="author" kind="person"><select css=".who" cite="topic.tpl"/></field>',
        '+      <field name="author" kind="person"><select css=".who a" cite="topic.tpl"/></field>',
    ]
    assert "! saved page topic differs" in proposal.difference
    with pytest.raises(ImportRefusedError, match="--replace"):
        take(proposal, mine.path, "Bo")
    take(proposal, mine.path, "Bo", replace=True)
    entry = mine.entry("tinyforum")
    assert entry is not None
    assert entry.xml == TINY.encode()


@pytest.mark.starts
@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda xml: xml.replace(".who a", ".whom a"), "its saved page tinyforum/topic: object"),
        (lambda xml: xml.replace('generator="TinyForum"', "css=\"a[href*='phpbb.com']\""), "is on phpbb/"),
        (lambda xml: xml.replace('<when css="div.entry div.text"', '<when css="div"'), "would be read differently"),
        (lambda xml: xml.replace("<level", "<leval", 1), "tinyforum.xml:"),
        (lambda xml: xml.replace("<application", "<!DOCTYPE x [<!ENTITY a 'b'>]><application"), "DOCTYPE"),
        (lambda xml: xml.replace("</detect>", "</detect>" + "<about>" * 5_000 + "</about>" * 5_000), "tinyforum.xml:"),
        (lambda xml: xml.replace("div.entry div.text", ":not(" * 3_000 + "a" + ")" * 3_000), "tinyforum.xml:"),
    ],
)
def test_what_fails_is_told_and_nothing_is_written(
    tmp_path: Path, others: Path, change: Callable[[str], str], told: str
) -> None:
    good = unpacked(packed(saved(tmp_path / "ada", others), others))
    xml = change(good.entry.xml.decode()).encode()
    entry = Entry(good.entry.name, xml, good.entry.pages, good.entry.licence)
    proposal = propose(Pack(good.manifest, entry), (others, tmp_path / "bo"))
    assert any(told in line for line in proposal.wrong), proposal.wrong
    with pytest.raises(ImportRefusedError, match="nothing was written"):
        take(proposal, tmp_path / "bo", "Bo", replace=True)
    assert not (tmp_path / "bo").exists()


@pytest.mark.starts
def test_a_proof_that_does_not_end_is_ended(tmp_path: Path, others: Path) -> None:
    entry = Entry("tinyforum", TINY.encode())
    (told,) = failures(Task(entry, (others, tmp_path)), 0.01)
    assert "did not end" in told


@pytest.mark.starts
def test_expressions_that_take_too_long_in_all_are_measured_no_further(tmp_path: Path, others: Path) -> None:
    pack = unpacked(packed(saved(tmp_path / "ada", others), others))
    (told,) = propose(pack, (others, tmp_path / "bo"), 0.01).wrong
    assert "measuring its expressions did not end" in told


@pytest.mark.starts
@pytest.mark.slow
def test_the_place_of_another_application_is_not_taken_in_silence(tmp_path: Path, others: Path) -> None:
    own = saved(tmp_path / "ada", others)
    data = packed(own, others)
    (others / "applications" / "tiny.xml").write_text(TINY, "utf-8")
    proposal = proposed(data, others, tmp_path / "bo")
    assert proposal.covers == others / "applications" / "tiny.xml"
    with pytest.raises(ImportRefusedError, match=r"tiny\.xml"):
        take(proposal, tmp_path / "bo", "Bo")


def test_packing_asks_for_what_only_the_packer_knows(tmp_path: Path, others: Path) -> None:
    own = saved(tmp_path / "ada", others)
    with pytest.raises(PackError, match="--licence CC0"):
        packed(own, others, licence="")
    with pytest.raises(PackError, match="--licence-text"):
        packed(own, others, licence="Apache-2.0")
    with pytest.raises(PackError, match="SPDX"):
        packed(own, others, licence="free for all!", licence_text=SHIPPED / "__init__.py")
    kept = own.entry("tinyforum")
    assert kept is not None
    assert not kept.licence
    with pytest.raises(PackError, match="--without-pages"):
        packed(own, others, pages=None)
    bare = unpacked(packed(own, others, pages=None, without_pages=True))
    assert (bare.entry.pages, bare.manifest.pages) == ((), Contents.LEFT_OUT)
    page = own.path / "applications" / "pages" / "tinyforum" / "topic.json"
    page.write_text(page.read_text("utf-8").replace("Ada", "Eve"), "utf-8")
    with pytest.raises(PackError, match="aah kb test tinyforum/topic"):
        packed(own, others)


def small(**files: bytes) -> dict[str, bytes]:
    """Return the files of a small pack without its manifest."""
    entry = Entry("small", TINY.encode(), (PageParts("page", b"<html></html>", b"{}"),), b"CC0-1.0")
    return {f"applications/{part}": data for part, data in entry.parts().items()} | files


def manifest(files: dict[str, bytes], /, **given: object) -> bytes:
    told = {
        "format": 1,
        "name": "small",
        "application": "TinyForum",
        "kind": "web-forum",
        "made": "2026-11-26T06:00:00Z",
        "by": "Ada",
        "program": "x",
        "licence": "CC0-1.0",
        "pages": "mine",
        "files": {name: digest(data) for name, data in files.items()},
    }
    return json.dumps(told | given).encode()


def zipped(files: dict[str, bytes], /, method: int = ZIP_DEFLATED, mode: int = 0, **given: object) -> bytes:
    written = BytesIO()
    with ZipFile(written, "w", method) as archive:
        for name, data in {"manifest.json": manifest(files, **given), **files}.items():
            info = ZipInfo(name)
            info.external_attr = mode << 16
            info.compress_type = method
            archive.writestr(info, data)
    return written.getvalue()


def with_twice() -> bytes:
    written = BytesIO(zipped(small()))
    with ZipFile(written, "a") as archive:
        archive.writestr("applications/SMALL.xml", b"other")
    return written.getvalue()


def encrypted() -> bytes:
    data = bytearray(zipped(small()))
    at = data.find(b"PK\x01\x02")
    data[at + 8] |= 1
    return bytes(data)


def lying() -> bytes:
    """Return a pack with a file that is longer than the list of files says."""
    files = small(**{"applications/pages/small/page.html": b"0" * 5_000})
    data = bytearray(zipped(files))
    at = data.find(b"PK\x01\x02", data.find(b"PK\x01\x02") + 4)
    while b"page.html" not in data[at : at + 100]:
        at = data.find(b"PK\x01\x02", at + 4)
    data[at + 24 : at + 28] = (10).to_bytes(4, "little")
    return bytes(data)


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"", "no ZIP file"),
        (b"PK\x03\x04" + b"x" * 100, "no ZIP file"),
        (zipped({}), "no applications/small.xml"),
        (zipped(small(**{"../../x.xml": b"x"})), "no part of the entry"),
        (zipped(small(**{"applications/pages/small/../../../x.html": b"x"})), "no part of the entry"),
        (zipped(small(**{"/etc/x": b"x"})), "no part of the entry"),
        (zipped(small(**{"applications/pages/small/a\\b.html": b"x"})), "no part of the entry"),
        (zipped(small(**{"applications/pages/small/": b""})), "no part of the entry"),
        (zipped(small(**{"applications/history/small.jsonl": b"{}"})), "no part of the entry"),
        (zipped(small(), name="../small"), "names the entry"),
        (zipped(small(), format=2), "format"),
        (zipped(small(), application="Other"), "another application"),
        (zipped(small(), pages="none"), "says of its saved pages"),
        (zipped(small(), licence="!"), "SPDX"),
        (zipped(small(), more="x"), "more"),
        (zipped(small(), files={}), "not the file that was packed"),
        (zipped(small(**{"applications/pages/small/lone.html": b"x"})), "no expectation"),
        (zipped(small(), mode=stat.S_IFLNK | 0o777), "a link"),
        (zipped(small(), method=ZIP_BZIP2), "not allowed"),
        (zipped(small(**{"applications/pages/small/page.html": b"0" * (12 << 20)})), "far too large"),
        (zipped(small(**{"applications/pages/small/page.html": b"0" * (17 << 20)}), method=ZIP_STORED), "too large"),
        (with_twice(), "twice"),
        (encrypted(), "encrypted"),
        (lying(), "damaged|as long as"),
    ],
)
def test_hostile_files_are_refused_with_words(data: bytes, told: str) -> None:
    with pytest.raises(PackError, match=told):
        unpacked(data)


def test_a_small_pack_is_read_and_too_many_files_are_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "small.zip"
    file.write_bytes(zipped(small()))
    assert read_pack(file).entry.pages[0].stem == "page"
    monkeypatch.setattr(entry_pack, "MAX_FILES", 3)
    with pytest.raises(PackError, match="more than 3 files"):
        read_pack(file)
    monkeypatch.setattr(entry_pack, "MAX_PACK", 100)
    with pytest.raises(PackError, match="larger than"):
        read_pack(file)


@pytest.mark.starts
@pytest.mark.slow
def test_commands_pack_and_add(tmp_path: Path, others: Path) -> None:
    own = saved(tmp_path / "ada", others)
    runner, file = CliRunner(), tmp_path / "tinyforum.aah-entry.zip"
    done = ["kb", "pack", "tinyforum", "--to", str(file), "--kb", f"{others}:{own.path}", "--licence", "CC0-1.0"]
    assert runner.invoke(app, done).exit_code == 2
    said = runner.invoke(app, [*done, "--pages", "others", "--as-person", "Ada\x1b[2J"])
    assert said.exit_code == 0, said.output
    add = ["kb", "add", str(file), "--kb", f"{others}:{tmp_path / 'bo'}"]
    shown = runner.invoke(app, [*add, "--show"])
    assert shown.exit_code == 0, shown.output
    assert "hold what other people wrote" in shown.output
    assert "\x1b" not in shown.output
    assert not (tmp_path / "bo").exists()
    added = runner.invoke(app, [*add, "--as-person", "Bo"])
    assert added.exit_code == 0, added.output
    assert OwnFolder(tmp_path / "bo").history("tinyforum")[-1].who == "Bo"
    assert runner.invoke(app, add).exit_code == 2
    ships = runner.invoke(app, ["kb", "add", str(file), "--kb", "shipped"])
    assert (ships.exit_code, "folder of your own" in ships.output) == (2, True)
