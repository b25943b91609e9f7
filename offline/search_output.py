"""Bring indexes up to date for a search on a terminal, and write what was found."""

import io
import os
import shlex
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, TextIO

from aahcrawler.derived_index import coverage
from aahcrawler.layout import WARC
from aahcrawler.search import Found, Hit, NotIndexedError, SearchedFolder, SearchIndex, folders_in
from aahcrawler.search.found_records import FoundRecords
from aahcrawler.search.result_rows import ResultRow, atom
from aahcrawler.tallies import plural
from offline.counting import counting
from offline.tables import write_csv, write_jsonl

_WIDTH = 100
_LOOSENED = {
    "spelling": "nothing matches as it is written; words that are spelt like these were looked for",
    "words": "nothing has all of the words; results have half of them at least",
}

_LIKE_BY = {
    "meaning": "compared by the meaning of their texts; pages, and objects that have no vectors, are left out",
    "terms": "compared by their terms; aah enrich FOLDER --steps related-texts has objects compared by their meaning",
}


def up_to_date(places: Sequence[Path]) -> list[SearchedFolder]:
    """Return the folders of crawls in some places, with their indexes brought up to date.

    An index that another process is updating is left to it. Raises ``NotIndexedError`` if there are no folders of
    crawls, ``sqlite3.Error`` and ``OSError``.
    """
    folders = list(dict.fromkeys(folder for place in places for folder in folders_in(place)))
    if not folders:
        where = ", ".join(map(str, places)) or "the collection"
        raise NotIndexedError(f"{where}: holds no crawl and no import; name the folder of one")
    with counting("kB indexed") as count:
        found = []
        for folder in folders:
            index = SearchIndex(folder).open()
            before = coverage(index.base).covered
            while not index.catch_up(0) and (covered := coverage(index.base).covered) > before:
                count("kB indexed", (covered - before) // 1000)
                before = covered
            index.rest()
            found.append(SearchedFolder(folder, index))
    return found


def write(hits: Sequence[Hit], how: Literal["table", "jsonl", "csv"], out: TextIO) -> None:
    """Write results to a stream."""
    rows = map(ResultRow.of, hits)
    match how:
        case "jsonl":
            write_jsonl(rows, out)
        case "csv":
            write_csv(rows, out, ResultRow)
        case _:
            for number, row in enumerate(rows, 1):
                out.writelines(f"{line}\n" for line in _shown(number, row))


class OutputError(Exception):
    """Raised when a file of results cannot be written; the message gives the cause and the remedy."""


@dataclass(frozen=True, slots=True)
class ResultFiles:
    """Where results go besides standard output: files, and the standard input of a program of the operator."""

    feed: Path | None
    parquet: Path | None
    warc: Path | None
    command: str = ""

    def check(self, *, is_new: bool) -> None:
        """Raise ``OutputError`` if results cannot go there; ``is_new`` means that only new results are written."""
        if self.command:
            arguments_of(self.command)
            if not is_new:
                raise OutputError("--run: goes with --new NAME, which says what is new; save the search by --save NAME")
        if self.warc is not None:
            refuse(self.warc)

    def write(self, hits: Sequence[Hit], folders: Sequence[SearchedFolder], name: str) -> Iterator[str]:
        """Write all files, and yield a line about each. Raises ``OutputError``, ``OSError``, ``sqlite3.Error``."""
        if self.feed is not None:
            lines = atom(f"Search: {name}", name, hits, datetime.now(UTC))
            self.feed.write_text("\n".join(lines) + "\n", "utf-8")
        if self.parquet is not None:
            yield write_parquet(hits, self.parquet)
        if self.warc is not None:
            yield from write_warc(hits, folders, name, self.warc)
        if self.command and hits:
            run(arguments_of(self.command), hits)


def refuse(target: Path) -> None:
    """Raise ``OutputError`` if no WARC file can be written."""
    if target.exists():
        raise OutputError(f"{target}: exists, and is not overwritten; name another file with --warc, or remove it")
    if not target.name.endswith(f".{WARC}"):
        raise OutputError(f"--warc {target}: give it a name that ends in .{WARC}")


def arguments_of(command: str) -> list[str]:
    """Split a command of the operator into its arguments. Raises ``OutputError``."""
    try:
        arguments = shlex.split(command)
    except ValueError as error:
        raise OutputError(f"--run {command}: cannot be read ({error}); close what is quoted") from error
    if not arguments:
        raise OutputError("--run: name a program, and behind it what it is to be given")
    return arguments


def run(arguments: Sequence[str], hits: Sequence[Hit]) -> None:
    """Run a program, without a shell, with results as JSON lines on its standard input.

    Raises ``OutputError`` if it cannot be run or ends with another exit code than 0.
    """
    lines = io.StringIO()
    write_jsonl(map(ResultRow.of, hits), lines)
    try:
        done = subprocess.run(arguments, input=lines.getvalue().encode("utf-8", "replace"), check=False)
    except OSError as error:
        raise OutputError(f"--run {arguments[0]}: cannot be run ({error.strerror}); name a program") from error
    if done.returncode:
        advice = "mend it; these results are new at the next look as well"
        raise OutputError(f"--run {arguments[0]}: ended with the exit code {done.returncode}; {advice}")


def write_parquet(hits: Sequence[Hit], target: Path) -> str:
    """Write results as Apache Parquet; return a line about it. Raises ``OutputError`` and ``OSError``."""
    try:
        from aahcrawler.search.parquet_rows import parquet  # noqa: PLC0415 (an extra, which may be absent)
    except ModuleNotFoundError:
        raise OutputError("--parquet needs a package: pip install 'aahcrawler[parquet]'") from None
    target.write_bytes(parquet(map(ResultRow.of, hits)))
    return f"{target}: {plural(len(hits), 'result')}"


def write_warc(hits: Sequence[Hit], folders: Sequence[SearchedFolder], query: str, target: Path) -> Iterator[str]:
    """Write the records of results as a WARC file, as a whole or not at all; yield lines about it.

    Raises ``OutputError``, ``OSError`` and ``sqlite3.Error``.
    """
    refuse(target)
    records = FoundRecords(hits, {each.crawl: each.index for each in folders})
    part = target.with_name(f"{target.name}.part")
    try:
        with part.open("wb") as file:
            file.writelines(records.pieces(target.name, query))
            file.flush()
            os.fsync(file.fileno())
        if records.captures:
            part.rename(target)
    finally:
        part.unlink(missing_ok=True)
    if records.captures:
        yield f"{target}: {plural(records.captures, 'capture')} of {plural(len(hits), 'result')}"
    else:
        yield f"{target}: is not written, as there would be nothing in it"
    if records.left_out:
        yield f"left out: {plural(records.left_out, 'capture')} made under a session, which aah export can take"
    if records.missing:
        yield f"left out: {plural(records.missing, 'capture')} whose records are not indexed; search again"


def tell(found: Found, hits: Sequence[Hit], *, new: int | None, facets: bool) -> Iterator[str]:
    """Yield lines about a search besides its results."""
    if found.unknown:
        yield f"nobody wrote {', '.join(found.unknown)}; words that are spelt like it were looked for"
    if found.loosened:
        yield _LOOSENED[found.loosened]
    if found.like_by:
        yield _LIKE_BY[found.like_by]
    told = "" if new is None else f", {new:,} of them new"
    alike = sum(hit.alike for hit in hits)
    folded = f"; {alike:,} near {'duplicate' if alike == 1 else 'duplicates'} folded" if alike else ""
    rest = "; the rest is new at the next look as well" if new and len(hits) + alike < new else ""
    shown = "" if len(hits) == found.total else f"; {len(hits):,} shown"
    yield f"{found.total:,} found{told}{shown}{folded}{rest}"
    if not facets:
        return
    for name, counts in found.facets.items():
        yield f"{name}: {', '.join(f'{_line(value)} {n:,}' for value, n in counts.items())}"
    dated = [f"{_day(span.begin)} {span.count:,}" for span in found.timeline if span.count]
    yield f"published from: {', '.join([*dated, f'without a date {found.undated:,}'])}"


def _shown(number: int, row: ResultRow) -> Iterator[str]:
    yield f"{number}. {_line(row.title or row.url)}"
    about = (row.type, row.author, row.published[:10] or f"captured {row.captured[:10]}", row.folder)
    gone = " · gone since" if row.gone else ""
    alike = f" · {row.alike} like it" if row.alike else ""
    yield f"   {' · '.join(filter(None, map(_line, about)))}{gone}{alike}"
    if row.snippet:
        yield f"   {_line(row.snippet)}"
    yield f"   {row.url}"


def _line(text: str) -> str:
    """Return a text in one line without characters that a terminal would obey."""
    return "".join(each if each.isprintable() else " " for each in text)


def _day(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d")
