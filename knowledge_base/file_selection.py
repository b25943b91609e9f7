"""Chooses the files of a knowledge base that is divided among several folders."""

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from knowledge_base.xml_reader import Problem

SHIPPED = Path(__file__).parent
SHIPPED_WORD = "shipped"
"""Stands for the folder that ships wherever folders are named."""
VARIABLE = "AAH_KNOWLEDGE_BASE"
"""The variable, and the setting of a crawl, that names folders."""
OWN_NAME = "knowledge-base"
"""The folder beside crawls that holds entries of their own."""
UNKNOWN_PAGES = "unknown-pages.xml"
"""The file of a folder that says what is done on pages of which nothing is known."""

_NAME = re.compile(rb"""<(?:application|kind)\b(?:[^<>"']|"[^"<]*"|'[^'<]*')*?\sname\s*=\s*(?:"([^"<]*)"|'([^'<]*)')""")
_COMMENT = re.compile(rb"<!--.*?-->", re.DOTALL)
_START = 64 * 1024


@dataclass(frozen=True, slots=True)
class Files:
    """The chosen files, in the order in which they are read, and faults such as two files for one name."""

    kinds: tuple[Path, ...]
    applications: tuple[Path, ...]
    problems: tuple[Problem, ...] = ()
    unknown_pages: Path = SHIPPED / UNKNOWN_PAGES


def named_folders(text: str) -> tuple[Path, ...]:
    """Return the folders that a setting names, separated by ``os.pathsep``; ``shipped`` is the folder that ships.

    An empty setting means the folder that ships.
    """
    names = [name.strip() for name in text.split(os.pathsep) if name.strip()]
    return tuple(SHIPPED if name == SHIPPED_WORD else Path(name).expanduser() for name in names) or (SHIPPED,)


def folders_for(crawl: Path, named: Sequence[Path] | None = None) -> tuple[Path, ...]:
    """Return the knowledge base folders for the pages of a crawl, those with the lowest precedence first.

    These are the ``named`` ones, else those that the environment names. The user's own entries beside the crawl's
    folder, if any, come right after the folder that ships, or first where that is not named.
    """
    given = named_folders(os.environ.get(VARIABLE, "")) if named is None else tuple(named)
    own = crawl.absolute().parent / OWN_NAME
    if own in {folder.absolute() for folder in given}:
        return given
    place = given.index(SHIPPED) + 1 if SHIPPED in given else 0
    return (*given[:place], *filled((own,)), *given[place:])


def chosen_files(folders: Sequence[Path]) -> Files:
    """Choose among the files of several folders: of those with the same name, the one in the last folder is used.

    Folders hold ``kinds/*.xml`` and ``applications/*.xml``, and may hold ``unknown-pages.xml``. Where none holds a
    kind, the kinds that ship are used, and likewise for ``unknown-pages.xml``. All files without a readable name are
    kept, so that their reader reports the fault.
    """
    problems = [
        Problem(str(folder), 0, "there is no folder kinds or applications here; name a folder that holds one")
        for folder in folders
        if not (folder / "kinds").is_dir() and not (folder / "applications").is_dir()
    ]
    kinds = _latest(folders, "kinds", problems) or _latest((SHIPPED,), "kinds", problems)
    unknown = [folder / UNKNOWN_PAGES for folder in (SHIPPED, *folders) if (folder / UNKNOWN_PAGES).is_file()]
    return Files(kinds, _latest(folders, "applications", problems), tuple(problems), unknown[-1])


def filled(folders: Sequence[Path]) -> tuple[Path, ...]:
    """Return those of some folders that hold anything.

    The folder of own entries may not exist before its first entry.
    """
    return tuple(folder for folder in folders if (folder / "kinds").is_dir() or (folder / "applications").is_dir())


def files_of(folders: Sequence[Path]) -> Iterator[Path]:
    """Yield every file that could be used, those of a folder in the order of their names."""
    for folder in folders:
        for sort in ("kinds", "applications"):
            yield from sorted(folder.glob(f"{sort}/*.xml"))
        yield from folder.glob(UNKNOWN_PAGES)


def _latest(folders: Sequence[Path], sort: str, problems: list[Problem]) -> tuple[Path, ...]:
    chosen: dict[str, Path] = {}
    spellings: dict[str, tuple[str, Path]] = {}
    for folder in folders:
        own: dict[str, Path] = {}
        for file in sorted(folder.glob(f"{sort}/*.xml")):
            name = _name(file) or str(file)
            earlier, other = spellings.setdefault(name.lower(), (name, file))
            if earlier != name and other.parent != file.parent:
                message = f"{other} writes this name as {earlier}; write it so to replace that file, or choose another"
                problems.append(Problem(str(file), 1, message))
            own[name if name not in own else str(file)] = file
        chosen |= own
    return tuple(chosen.values())


def _name(file: Path) -> str:
    """Return the name that a file gives, empty where a quick look finds none."""
    try:
        with file.open("rb") as opened:
            start = _COMMENT.sub(b"", opened.read(_START))
    except OSError:
        return ""
    found = _NAME.search(start)
    return (found[1] or found[2] or b"").decode("utf-8", "replace").strip() if found else ""
