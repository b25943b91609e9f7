"""Definitions that travel: what a worker on another machine needs of a file and of the files that it names."""

from pathlib import Path
from tempfile import TemporaryDirectory

from aahcrawler.frontier.registry import Definition
from online_analysis.icd import Icd, IcdError, Mistake

TEXT = "definition.yaml"


def packed(path: Path) -> tuple[Icd, Definition]:
    """Return what a file defines, and what of it travels.

    Raise ``IcdError`` for mistakes, among them what only this machine has, such as the folder of a model.
    """
    icd = Icd.load(path)
    definition = sent(path, icd)
    try:
        unpacked(definition, icd.output)
    except IcdError as error:
        raise IcdError([_of(path, mistake) for mistake in error.mistakes]) from None
    return icd, definition


def sent(path: Path, icd: Icd) -> Definition:
    """Return what travels of the file that an ICD was loaded from. Raise ``IcdError`` where that is too large."""
    files = {name: (path.parent / name).read_bytes() for name in icd.file_names}
    try:
        return Definition(path.read_bytes(), files)
    except ValueError as error:
        raise IcdError([Mistake(str(path), 1, "", str(error), "or crawl on this machine: aah crawl")]) from None


def unpacked(definition: Definition, output: Path) -> Icd:
    """Return a definition that has travelled; its crawl writes to ``output``.

    Nothing but what has travelled is read. Raise ``IcdError`` for what this version, or this machine, cannot do.
    """
    with TemporaryDirectory(prefix="aah-") as name:
        folder, places = Path(name), {}
        for position, (called, content) in enumerate(sorted(definition.files.items())):
            # How it ends says what it is; the rest of its name may lead anywhere.
            places[called] = folder / f"{position}{_extension(called)}"
            places[called].write_bytes(content)
        icd = Icd.parse(definition.text, folder / TEXT, place=lambda called: places.get(called, folder / "missing"))
    return icd.model_copy(update={"output": output})


def _extension(name: str) -> str:
    extension = Path(name).suffix
    return extension if extension.isascii() and extension[1:].isalnum() and len(extension) < 10 else ""


def _of(path: Path, mistake: Mistake) -> Mistake:
    return Mistake(str(path), mistake.line, mistake.field, f"{mistake.problem} on other machines", mistake.advice)
