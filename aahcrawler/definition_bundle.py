"""Send a definition to workers on other machines, together with the files that it names."""

from pathlib import Path
from tempfile import TemporaryDirectory

from aahcrawler.frontier.registry import Definition
from online_analysis.icd import Icd, IcdError, Mistake

TEXT = "definition.yaml"


def pack_definition(path: Path) -> tuple[Icd, Definition]:
    """Load a definition file; return the ICD and the bundle to send.

    Raise ``IcdError`` for mistakes in the file, and for anything in it that exists on this machine only, such as the
    folder of a model.
    """
    icd = Icd.load(path)
    definition = bundled(path, icd)
    try:
        unpack_definition(definition, icd.output)
    except IcdError as error:
        mistakes = [
            Mistake(str(path), each.line, each.field, f"{each.problem} on other machines", each.advice)
            for each in error.mistakes
        ]
        raise IcdError(mistakes) from None
    return icd, definition


def bundled(path: Path, icd: Icd) -> Definition:
    """Return the bundle to send for an ICD that was loaded from ``path``. Raise ``IcdError`` if it is too large."""
    files = {name: (path.parent / name).read_bytes() for name in icd.file_names}
    try:
        return Definition(path.read_bytes(), files)
    except ValueError as error:
        raise IcdError([Mistake(str(path), 1, "", str(error), "or crawl on this machine: aah crawl")]) from None


def unpack_definition(definition: Definition, output: Path) -> Icd:
    """Load the ICD from a received bundle; its crawl writes to the folder ``output``.

    Only files in the bundle are read. Raise ``IcdError`` if this version of the software, or this machine, cannot run
    it.
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
