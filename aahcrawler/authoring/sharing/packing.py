"""Pack an entry of a knowledge base: its own tests must pass, and its licence and whose its pages are must be said."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path

from aahcrawler import __version__
from aahcrawler.authoring.own_entries.entry_files import Entry
from aahcrawler.authoring.own_entries.own_folder import OwnFolder, own_folder
from aahcrawler.authoring.printable_text import plain_line
from aahcrawler.authoring.saved_pages import pages_folder
from aahcrawler.authoring.sharing.entry_pack import LICENCE, NO_LICENCE, Label, PackError, packed
from aahcrawler.authoring.sharing.page_contents import Contents
from aahcrawler.authoring.trial import Trial, all_pages
from knowledge_base.model import KnowledgeBase

KNOWN_LICENCE = "CC0-1.0"
"""The licence whose text is at hand."""
_TAG = "SPDX-License-Identifier:"
_LARGEST_LICENCE = 1 << 20


@dataclass(frozen=True, slots=True)
class Said:
    """What the packer says: the licence by its SPDX identifier and a file with its text, and whose the pages are.

    A licence, or text, that is not said is that of the entry as it is. ``without_pages`` leaves the pages out.
    """

    by: str
    licence: str = ""
    licence_text: Path | None = None
    pages: Contents | None = None
    without_pages: bool = False


def pack_entry(name: str, folders: Sequence[Path], knowledge_base: KnowledgeBase, said: Said) -> bytes:
    """Return an entry as one file. Raises `PackError` where something was not said or a saved page fails.

    A licence that is said for an entry of one's own is kept with it, and noted.
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
    """Return the entry of a name as it counts, with the saved pages of all folders, and the folder of its file."""
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
        if len(text) > _LARGEST_LICENCE:
            raise PackError(f"{said.licence_text} is too large for the text of a licence")
    elif identifier == former:
        text = entry.licence.partition(b"\n")[2].lstrip(b"\n")
    elif identifier == KNOWN_LICENCE:
        text = files("aahcrawler.authoring.sharing").joinpath(f"{KNOWN_LICENCE}.txt").read_bytes()
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
