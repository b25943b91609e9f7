"""An entry as one ZIP file, with its XML, saved pages, expectations and licence, and a manifest.

It is packed only if its own tests pass, and its licence and the authorship of its pages are stated.
"""

import re
import stat
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from importlib.resources import files
from io import BytesIO
from pathlib import Path
from typing import Annotated, Literal
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

from lxml import etree
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from aahcrawler import __version__
from aahcrawler.editor.entries.entry_files import Contents, Entry, digest, file_part, is_name, licence_part
from aahcrawler.editor.entries.own_folder import OwnFolder, own_folder
from aahcrawler.editor.pages.saved_pages import pages_folder
from aahcrawler.editor.pages.trial import Trial, all_pages
from aahcrawler.editor.text.printable_text import plain_line
from knowledge_base.loader import MAX_FILE_SIZE
from knowledge_base.model import KnowledgeBase

ENDING = ".aah-entry.zip"
MAX_PACK = 64 << 20
"""Bytes of a file that is read at all."""
MAX_FILES = 1_000
MAX_UNPACKED = 128 << 20
MAX_PART = 16 << 20
MAX_RATIO = 200
"""How many times its packed size a file larger than ``_SMALL`` may be unpacked: text is packed 3 to 50 times."""

_SMALL = 1 << 20
_MANIFEST = "manifest.json"
_MAX_MANIFEST = 1 << 20
_EPOCH = (1980, 1, 1, 0, 0, 0)
"""The time of all files in a pack, so that an entry is always packed into the same bytes."""
_METHODS = {ZIP_STORED, ZIP_DEFLATED}
_ENCRYPTED = 0x1
_HEADER = b"PK\x01\x02"
LICENCE = r"[A-Za-z0-9][A-Za-z0-9.+-]*(?: (?:AND|OR|WITH) [A-Za-z0-9][A-Za-z0-9.+-]*)*"
"""How SPDX identifiers and expressions look."""
NO_LICENCE = "write an SPDX identifier, such as CC0-1.0 or Apache-2.0"
_Short = Annotated[str, Field(max_length=300)]
KNOWN_LICENCE = "CC0-1.0"
"""The licence whose text is at hand."""
_TAG = "SPDX-License-Identifier:"
_MAX_LICENCE = 1 << 20


class PackError(Exception):
    """The file is no usable entry; the message says what is wrong with it."""


class Manifest(BaseModel):
    """The manifest of a pack. ``files`` are the digests of its files, by name.

    ``made`` is when the entry was last changed, ``by`` who packed it, ``program`` the software that did, ``licence`` an
    SPDX identifier or expression.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: Literal[1] = 1
    name: _Short
    application: _Short
    kind: _Short
    made: datetime
    by: _Short
    program: _Short
    licence: Annotated[str, Field(max_length=200, pattern=f"^{LICENCE}$")]
    pages: Contents
    files: Annotated[dict[_Short, Annotated[str, Field(pattern="^[0-9a-f]{64}$|^$")]], Field(max_length=MAX_FILES)]


@dataclass(frozen=True, slots=True)
class Pack:
    """An entry with the manifest of its pack."""

    manifest: Manifest
    entry: Entry


@dataclass(frozen=True, slots=True)
class Label:
    """What the packer states: time of the last change, packer and software, licence, authorship of the pages.

    ``licence`` is an SPDX identifier or expression; the entry has its text.
    """

    made: datetime
    by: str
    program: str
    licence: str
    pages: Contents


def packed(entry: Entry, label: Label) -> bytes:
    """Return an entry as one file; the same entry and label give the same bytes. Raises `PackError`."""
    application, kind = named_in(entry.xml)
    files = {f"applications/{part}": data for part, data in entry.parts().items()}
    try:
        manifest = Manifest(
            name=entry.name,
            application=application,
            kind=kind,
            made=label.made,
            by=label.by,
            program=label.program,
            licence=label.licence,
            pages=label.pages,
            files={name: digest(data) for name, data in sorted(files.items())},
        )
    except ValidationError as error:
        raise PackError(_told(error)) from error
    return _zipped({_MANIFEST: manifest.model_dump_json(indent=2).encode() + b"\n", **files})


def read_pack(file: Path) -> Pack:
    """Read a pack from a file. Raises `PackError` and ``OSError``."""
    with file.open("rb") as opened:
        return unpacked(opened.read(MAX_PACK + 1))


def unpacked(data: bytes) -> Pack:
    """Parse a pack, which must consist of an entry within the size limits. Raise `PackError`."""
    files = _unzipped(data)
    if _MANIFEST not in files:
        raise PackError(f"this is no entry: it holds no {_MANIFEST}; ask for a file that aah kb pack made")
    try:
        manifest = Manifest.model_validate_json(files.pop(_MANIFEST)[:_MAX_MANIFEST])
    except ValidationError as error:
        raise PackError(f"its {_MANIFEST} cannot be used: {_told(error)}") from error
    if not is_name(manifest.name):
        raise PackError(f"its {_MANIFEST} names the entry {manifest.name!r}; a name has letters, digits and hyphens")
    for name in files.keys() | manifest.files.keys():
        _check_file(name, manifest, files)
    entry = Entry.of(manifest.name, {name.removeprefix("applications/"): data for name, data in files.items()})
    _check_entry(entry, manifest, files)
    return Pack(manifest, entry)


def named_in(xml: bytes) -> tuple[str, str]:
    """Return the application's name and kind as the root element of its file gives them. Raises `PackError`."""
    root = root_attributes(xml)
    return root.get("name", "").strip(), root.get("kind", "")


def root_attributes(xml: bytes) -> Mapping[str, str]:
    """Return the attributes of the root element of an application's file, reading no further. Raises `PackError`."""
    if len(xml) > MAX_FILE_SIZE:
        raise PackError(f"its XML file is larger than {MAX_FILE_SIZE:,} bytes")
    try:
        reader = etree.iterparse(
            BytesIO(xml), events=("start",), resolve_entities=False, load_dtd=False, no_network=True
        )
        root = next(reader)[1]
    except (etree.XMLSyntaxError, StopIteration) as error:
        raise PackError(f"its XML file cannot be read: {error}") from error
    if root.tag != "application":
        raise PackError("its XML file does not describe an application")
    return {str(name): str(value) for name, value in root.attrib.items()}


def _zipped(files: Mapping[str, bytes]) -> bytes:
    written = BytesIO()
    with ZipFile(written, "w", ZIP_DEFLATED, compresslevel=9) as archive:
        for name, data in sorted(files.items(), key=lambda item: (item[0] != _MANIFEST, item[0])):
            info = ZipInfo(name, _EPOCH)
            info.compress_type = ZIP_DEFLATED
            info.create_system = 3
            info.external_attr = (stat.S_IFREG | 0o644) << 16
            archive.writestr(info, data, compresslevel=9)
    return written.getvalue()


def _unzipped(data: bytes) -> dict[str, bytes]:
    """Return the files of a ZIP file within bounds. Raises `PackError`."""
    if len(data) > MAX_PACK:
        raise PackError(f"it is larger than {MAX_PACK >> 20} MB; no entry is")
    # The list of files is read as a whole, before anything can be counted otherwise.
    if data.count(_HEADER) > MAX_FILES:
        raise PackError(f"it holds more than {MAX_FILES:,} files; no entry does")
    try:
        with ZipFile(BytesIO(data)) as archive:
            members = archive.infolist()
            _check_members(members)
            return {member.filename: _read(archive, member) for member in members}
    except (BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, OSError, ValueError) as error:
        raise PackError(f"it is no ZIP file, or a damaged one: {error}; fetch it again") from error


def _check_members(members: list[ZipInfo]) -> None:
    names: set[str] = set()
    for member in members:
        shown = repr(member.filename[:100])
        if member.filename.lower() in names:
            raise PackError(f"it holds {shown} twice")
        names.add(member.filename.lower())
        sort = stat.S_IFMT(member.external_attr >> 16)
        if sort not in (0, stat.S_IFREG):
            raise PackError(f"it holds {shown}, which is a link or something else that is no file")
        if member.flag_bits & _ENCRYPTED:
            raise PackError(f"{shown} in it is encrypted; ask for one without a password")
        if member.compress_type not in _METHODS:
            raise PackError(f"{shown} in it is packed in a way that is not allowed; ask for a file of aah kb pack")
        if member.file_size > min(MAX_PART, max(_SMALL, MAX_RATIO * member.compress_size)):
            raise PackError(f"{shown} in it is far too large when unpacked ({member.file_size:,} bytes)")
    if sum(member.file_size for member in members) > MAX_UNPACKED:
        raise PackError(f"it takes more than {MAX_UNPACKED >> 20} MB when unpacked; no entry does")


def _read(archive: ZipFile, member: ZipInfo) -> bytes:
    """Return a file; one longer than declared is an error."""
    with archive.open(member) as opened:
        found = opened.read(member.file_size + 1)
    if len(found) != member.file_size:
        raise PackError(f"{member.filename!r} in it is not as long as it says")
    return found


def _check_file(name: str, manifest: Manifest, files: Mapping[str, bytes]) -> None:
    shown = repr(name[:100])
    if not _is_part(name, manifest.name):
        raise PackError(f"it holds {shown}, which is no part of the entry {manifest.name}; nothing else may be in it")
    if name not in files:
        raise PackError(f"{shown} is missing in it; fetch it again")
    if manifest.files.get(name) != digest(files[name]):
        raise PackError(f"{shown} in it is not the file that was packed; fetch it again")


def _is_part(name: str, entry: str) -> bool:
    """Return whether a file in a pack is one of those that an entry consists of."""
    if name in (f"applications/{file_part(entry)}", f"applications/{licence_part(entry)}"):
        return True
    stem, ending = name.removeprefix(f"applications/pages/{entry}/").rpartition(".")[::2]
    return name.startswith(f"applications/pages/{entry}/") and ending in ("html", "json") and is_name(stem)


def _check_entry(entry: Entry, manifest: Manifest, files: Mapping[str, bytes]) -> None:
    if not entry.xml:
        raise PackError(f"it holds no applications/{file_part(entry.name)}")
    if not entry.licence:
        raise PackError(f"it holds no licence (applications/{licence_part(entry.name)})")
    if len(entry.parts()) != len(files):
        raise PackError("a saved page in it has no expectation, or an expectation no page; ask for a whole one")
    if named_in(entry.xml) != (manifest.application, manifest.kind):
        raise PackError(f"its {_MANIFEST} speaks of another application than its XML file")
    if bool(entry.pages) == (manifest.pages in (Contents.LEFT_OUT, Contents.NONE)):
        raise PackError(f"its {_MANIFEST} says of its saved pages: {manifest.pages}; that is not so")


def _told(error: ValidationError) -> str:
    return "; ".join(_mistakes(error))


def _mistakes(error: ValidationError) -> Iterator[str]:
    for mistake in error.errors():
        place = ".".join(map(str, mistake["loc"])) or "the whole"
        if place == "licence" and mistake["type"] == "string_pattern_mismatch":
            yield f"licence: {NO_LICENCE}"
        else:
            yield f"{plain_line(place)[:100]}: {mistake['msg']}"


@dataclass(frozen=True, slots=True)
class Said:
    """What the packer states: the licence by SPDX identifier, a file with its text, and the authorship of the pages.

    A missing licence or text is that of the entry. ``without_pages`` leaves the pages out.
    """

    by: str
    licence: str = ""
    licence_text: Path | None = None
    pages: Contents | None = None
    without_pages: bool = False


def pack_entry(name: str, folders: Sequence[Path], knowledge_base: KnowledgeBase, said: Said) -> bytes:
    """Return an entry as one file. Raise `PackError` if a statement is missing or a saved page fails.

    A licence stated for an own entry is saved with it, and recorded in its history.
    """
    folder, entry = _found(name, folders)
    _check_pages(name, folders, knowledge_base)
    licence, text = _licence(entry, said)
    whose = _whose(entry, said)
    own = own_folder(folders)
    if own is not None and own.path == folder and entry.licence != text:
        own.save(name, entry.xml, None, said.by, f"licence: {licence}", licence=text, expected=entry.digest)
    pages = () if said.without_pages else entry.pages
    label = Label(_changed(folder, name), said.by, f"AAHCrawler {__version__}", licence, whose)
    return packed(replace(entry, pages=pages, licence=text), label)


def _found(name: str, folders: Sequence[Path]) -> tuple[Path, Entry]:
    """Return the entry in force with a name, its saved pages from all folders, and the folder of its file."""
    owners = [folder for folder in folders if name in OwnFolder(folder).names()]
    if not owners:
        names = sorted({each for folder in folders for each in OwnFolder(folder).names()})
        raise PackError(f"there is no entry {plain_line(name)}; there are: {', '.join(names) or 'none'}")
    parts: dict[str, bytes] = {}
    for folder in folders:
        pages = (pages_folder(folder) / name).glob("*.*")
        parts |= {f"pages/{name}/{file.name}": file.read_bytes() for file in pages}
        entry = OwnFolder(folder).entry(name) if folder in owners else None
        parts |= entry.parts() if entry is not None else {}
    return owners[-1], Entry.of(name, parts)


def _check_pages(name: str, folders: Sequence[Path], knowledge_base: KnowledgeBase) -> None:
    trial = Trial(knowledge_base)
    for page in all_pages(folders):
        if page.file.parent.name == name and trial.outcome(page).differences:
            raise PackError(f"its saved page {page.name} fails, so nobody could take it; see: aah kb test {page.name}")


def _licence(entry: Entry, said: Said) -> tuple[str, bytes]:
    """Return the SPDX identifier of the licence, and its text under a line that names it."""
    former = _licence_of(entry)
    identifier = said.licence or former
    if not identifier:
        raise PackError(
            "say under which licence others may use it, by its SPDX identifier: --licence CC0-1.0 gives up all rights; "
            "for any other add --licence-text FILE"
        )
    if not re.fullmatch(LICENCE, identifier):
        raise PackError(f"{plain_line(identifier)!r} is no licence; {NO_LICENCE}")
    if said.licence_text is not None:
        text = said.licence_text.read_bytes()
        if len(text) > _MAX_LICENCE:
            raise PackError(f"{said.licence_text} is too large for the text of a licence")
    elif identifier == former:
        text = entry.licence.partition(b"\n")[2].lstrip(b"\n")
    elif identifier == KNOWN_LICENCE:
        text = files("aahcrawler.editor.entries").joinpath(f"{KNOWN_LICENCE}.txt").read_bytes()
    else:
        raise PackError(f"the text of {identifier} is not at hand; give it: --licence-text FILE")
    return identifier, f"{_TAG} {identifier}\n\n".encode() + text


def _whose(entry: Entry, said: Said) -> Contents:
    if not entry.pages:
        return Contents.NONE
    if said.without_pages:
        return Contents.LEFT_OUT
    if said.pages not in (Contents.MINE, Contents.MADE_UP, Contents.OTHERS):
        raise PackError(
            f"it has {len(entry.pages)} saved pages; say whose words they hold: --pages mine, --pages made-up or "
            "--pages others, or leave them out with --without-pages (then nothing proves that it works)"
        )
    return said.pages


def _changed(folder: Path, name: str) -> datetime:
    """Return when an entry was changed last, as noted or else as its file says, to the second."""
    changes = OwnFolder(folder).history(name)
    if changes:
        return changes[-1].when.replace(microsecond=0)
    seconds = int((folder / "applications" / f"{name}.xml").stat().st_mtime)
    return datetime.fromtimestamp(seconds, UTC)


def _licence_of(entry: Entry) -> str:
    """Return the SPDX identifier that the licence of an entry begins with, empty if there is none."""
    first = entry.licence.partition(b"\n")[0].decode("utf-8", "replace")
    return first.removeprefix(_TAG).strip() if first.startswith(_TAG) else ""
