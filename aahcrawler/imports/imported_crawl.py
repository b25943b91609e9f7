"""The folder of imported archives, which looks like that of an ended crawl, with a definition that describes it."""

import json
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from aahcrawler import __version__
from aahcrawler.archive.folders import ArchiveFolder
from aahcrawler.archive.index import index_lines
from aahcrawler.crawls import is_import
from aahcrawler.definitions import DefinitionError, read_definition
from aahcrawler.imports.archive_import import ImportRefusedError
from aahcrawler.layout import ARCHIVE, CREATED, DEFINITION, FRONTIER, IMPORTS, INDEX, INDEXES, OBJECTS, SUMMARY, WARC
from aahcrawler.objects.capture_statements import PageRow
from aahcrawler.objects.counts import object_counts
from aahcrawler.objects.reader import page_rows
from aahcrawler.segments import append_line, private, segments
from aahcrawler.tombstones import replace_durably
from online_analysis.icd import Icd
from online_analysis.icd.new_definition import suggested_id

_PAGES: Final = """CREATE TABLE page (
  url TEXT PRIMARY KEY, at TEXT, capture TEXT, relevant, unchanged, application TEXT, level TEXT, type TEXT
) WITHOUT ROWID"""
_LATEST: Final = """INSERT INTO page VALUES (?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT DO UPDATE SET (at, capture, relevant, unchanged, application, level, type) = (
  excluded.at, excluded.capture, excluded.relevant, excluded.unchanged, excluded.application, excluded.level,
  excluded.type
) WHERE (excluded.at, excluded.capture) > (at, capture)"""
CRAWL_NUMBER: Final = 1
"""The number of the crawl to which imported captures belong in their folder."""
NOBODY: Final = "http://nobody.invalid/"
"""A placeholder if a definition needs a URL and nothing was ever requested: no host is in ``.invalid``."""
_PRIVATE: Final = 0o700


@contextmanager
def imported_folder(root: Path, icd: Icd | None) -> Iterator[Icd]:
    """Create or open the folder of an import, locked against others; yield its definition.

    That is ``icd`` with the folder's name as its id, else the definition of an earlier import into it, else an empty
    one. Raises ``ImportRefusedError``, ``ArchiveError`` while somebody works there, and ``OSError``.
    """
    is_known = is_import(root)
    if root.is_file():
        raise ImportRefusedError(f"{root}: is a file; behind the files, name the folder that they are imported into")
    if not is_known and any((root / name).exists() for name in (DEFINITION, CREATED, SUMMARY)):
        raise ImportRefusedError(
            f"{root}: is the folder of a crawl, and archives are imported into folders of their own; name one that is "
            "not there yet, beside the crawl: cockpit and archive report show both together"
        )
    if not is_known and root.exists() and any(root.iterdir()):
        raise ImportRefusedError(
            f"{root}: is no folder of imported archives, and not empty; name one that is not there yet"
        )
    root.mkdir(_PRIVATE, parents=True, exist_ok=True)
    for name in (ARCHIVE, OBJECTS, INDEXES):
        (root / name).mkdir(exist_ok=True)
    # Of a folder that has one, service and cockpit show queue and sites as empty, and do not say that it is gone.
    (root / FRONTIER).mkdir(_PRIVATE, exist_ok=True)
    with ArchiveFolder(root / ARCHIVE, root / INDEXES, root).alone():
        if not is_known:
            append_line(root / IMPORTS, json.dumps({"entry": "folder", "at": _now()}))
        yield _defined(root, icd)


def _defined(root: Path, icd: Icd | None) -> Icd:
    path = root / DEFINITION
    if not path.exists():
        placeholder = _asking_for_nothing(root)
        # A crawl beside it can have the id of the definition, and services show one folder of an id.
        defined = (icd or placeholder).model_copy(update={"id": placeholder.id, "output": root})
        _write_private(path, json.dumps(defined.meaning(), indent=1, ensure_ascii=False))
        return defined
    try:
        known = read_definition(path)
    except DefinitionError as error:
        raise ImportRefusedError(str(error)) from error
    if icd is None:
        return known
    defined = icd.model_copy(update={"id": known.id, "output": root})
    if defined.meaning() != json.loads(path.read_bytes()):
        raise ImportRefusedError(
            f"{root}: was imported with another definition; leave out --icd, or import into another folder"
        )
    return defined


def _asking_for_nothing(root: Path) -> Icd:
    try:
        return Icd(id=root.resolve().name, contact=NOBODY, seeds=(NOBODY,))
    except ValidationError:
        return Icd(id=suggested_id(root.resolve().name, ()), title=root.resolve().name, contact=NOBODY, seeds=(NOBODY,))


def asks_for_nothing(icd: Icd) -> bool:
    """Return whether a definition is the placeholder of an import, whose contact and seed are dummies."""
    return icd.seeds == (NOBODY,)


def _counted(rows: Iterable[PageRow]) -> tuple[Mapping[str, int], Mapping[str, Mapping[str, int]]]:
    """Return how many pages there are, and of what kinds; each counts once, by its last capture, as in the indexes."""
    status: Counter[str] = Counter()
    with closing(sqlite3.connect("", isolation_level=None)) as base:
        base.execute(_PAGES)
        for row in rows:
            status[str(row.status)] += 1
            if row.is_page:
                kinds = row.application or "unknown", row.level or "none", row.media_type or "unknown"
                judged = bool(row.relevant), row.unchanged is not None
                base.execute(_LATEST, (row.url, row.fetched_at, row.capture, *judged, *kinds))
        sums = base.execute("SELECT count(*), total(relevant), total(unchanged) FROM page").fetchone()
        counts = dict(zip(("pages", "relevant", "unchanged"), map(int, sums), strict=True))
        groups = {
            name: dict(base.execute(f"SELECT {name}, count(*) FROM page GROUP BY 1"))  # noqa: S608 (fixed names)
            for name in ("application", "level", "type")
        }
    return counts, {**groups, "status": status}


def write_summary(root: Path, icd: Icd) -> None:
    """Write ``crawl.json`` with what the folder contains, like that of an ended crawl. Raises ``ReadError``."""
    counts, groups = _counted(page_rows(root))
    objects = object_counts(root).types
    index = root / INDEXES / INDEX
    responses = sum(1 for _ in index_lines(index)) if index.exists() else 0
    pages, relevant = counts["pages"], counts["relevant"]
    summary: dict[str, object] = {
        "id": icd.id,
        "crawl": CRAWL_NUMBER,
        "title": icd.title,
        "software": f"AAHCrawler/{__version__}",
        "state": "finished",
        "reason": "imported",
        "begun_at": _begun_at(root),
        "started_at": _begun_at(root),
        "updated_at": _now(),
        "relevant_at": icd.relevant_at,
        "seconds": 0.0,
        "pages": pages,
        "relevant": relevant,
        "unchanged": counts["unchanged"],
        "requests": 0,
        "answers": responses,
        "objects": sum(objects.values()),
        "objects_counted": responses,
        "bytes": sum(path.stat().st_size for path in segments(root / ARCHIVE, WARC)),
        "requisites": 0,
        "retries": 0,
        "harvest_ratio": None if icd.relevant_at is None or not pages else relevant / pages,
        **groups,
        "object": dict(objects),
        **{name: {} for name in ("refused", "avoided", "blocked", "error", "frontier")},
        "seeds": [],
    }
    replace_durably(root / SUMMARY, json.dumps(summary, indent=1, ensure_ascii=False).encode() + b"\n")


def _begun_at(root: Path) -> str:
    with (root / IMPORTS).open("rb") as lines:
        try:
            return str(json.loads(lines.readline())["at"])
        except (ValueError, KeyError, TypeError):
            return _now()


def _write_private(path: Path, text: str) -> None:
    part = path.with_name(path.name + ".part")
    with open(part, "wb", opener=private) as file:
        file.write(text.encode())
    part.replace(path)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
