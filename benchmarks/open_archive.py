"""Measures the full-text search of an archive beside SQLite FTS5: the time to index, what queries take and find.

    python -m benchmarks.open_archive [--objects N] [--warc FILE] [--quick] --json FILE

Without FILE, posts are made up: words of a vocabulary by Zipf's law, ten posts a page, written as the statements of a
crawl; ``--quick`` makes 5,000, else there are 100,000. Of a WARC file, which is read where it lies, the pages are
indexed. Both systems are given the same documents; FTS5 has folded words, bm25 and columns for the facets.

Known items: of each of 200 documents a query is made, and it is looked for among the first ten results. ``exact`` has
three words of its text, rare ones rather than frequent ones; ``misspelt`` has one more, and one letter of one word is
another; ``phrase`` has four words in a row; ``field`` has a word and the author (of pages, the site); ``facet`` has two
words, and the values of what was found are counted. ``p50_ms`` and ``p95_ms`` are by the clock, ``cpu_p95_ms`` by
processor time; ``index_seconds`` and ``index_cpu_seconds`` likewise. ``text_bytes`` is the text in UTF-8.
"""

import argparse
import re
import resource
import sqlite3
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import accumulate
from pathlib import Path
from random import Random
from typing import Final

import tantivy

from aahcrawler.layout import ARCHIVE, OBJECTS, WARC
from aahcrawler.objects.writer import CaptureDescription, ObjectWriter
from aahcrawler.search import Question, SearchedFolder, SearchIndex, search
from aahcrawler.search.search_entry import SearchEntry
from aahcrawler.search.text_index import entry_at
from aahcrawler.webobject import Person, Value, WebObject
from benchmarks.results import Row, report

QUICK, WHOLE = 5_000, 100_000
ITEMS: Final = 200
KINDS: Final = ("exact", "misspelt", "phrase", "field", "facet")
_A_PAGE: Final = 10
_BEGUN: Final = datetime(2026, 1, 1, tzinfo=UTC)
_WORD: Final = re.compile(r"[^\W\d_]{4,}")
_FOUND: Final = 10


def vocabulary(random: Random, size: int) -> list[str]:
    """Return so many distinct made-up words of two to five syllables."""
    syllables = [a + b + c for a in "bdfgklmnprstv" for b in "aeiou" for c in ("", "n", "r", "s", "l")]
    words: dict[str, None] = {}
    while len(words) < size:
        words["".join(random.choices(syllables, k=random.randint(2, 5)))] = None
    return list(words)


def write_posts(folder: Path, number: int, seed: int = 1) -> None:
    """Write the statements of a crawl that found so many posts."""
    random = Random(seed)
    words = vocabulary(random, 40_000)
    weights = list(accumulate(1 / (rank + 2) for rank in range(len(words))))
    authors = [f"{word.title()} {other.title()}" for word, other in zip(words[-800:-400], words[-400:], strict=True)]
    (folder / OBJECTS).mkdir(parents=True)
    with ObjectWriter(folder / OBJECTS, "posts", lambda: _BEGUN) as writer:
        for page in range(number // _A_PAGE):
            url, at = f"http://site{page % 97}.test/thread/{page}", _BEGUN + timedelta(seconds=page)
            posts = []
            for place in range(_A_PAGE):
                text = " ".join(random.choices(words, cum_weights=weights, k=random.randint(20, 110)))
                said: dict[str, tuple[Value, ...]] = {
                    "author": (Person(random.choice(authors)),),
                    "date": (at - timedelta(days=random.randrange(3_000)),),
                    "body": (text,),
                }
                posts.append(WebObject(f"{url}#p{place}", "post", url, said))
            record = f"urn:uuid:00000000-0000-4000-8000-{page:012x}"
            writer.write(CaptureDescription(record, url, 200, at, "text/html", "phpBB", score=random.random()), posts)


def _entries(folder: Path) -> list[SearchEntry]:
    searcher = SearchedFolder(folder).opened().searcher
    hits = searcher.search(tantivy.Query.all_query(), max(1, searcher.num_docs), count=False).hits
    return sorted((entry_at(searcher, address) for _, address in hits), key=lambda each: each.thing)


def _misspelt(random: Random, word: str) -> str:
    place = random.randrange(1, len(word))
    return word[:place] + random.choice("abcdefghijklmnopqrstuvwxyz".replace(word[place], "")) + word[place + 1 :]


def known_items(entries: Sequence[SearchEntry], seed: int = 2) -> dict[str, list[tuple[list[str], str, str]]]:
    """Return queries by kind, each with its words, the value of its field, and the document to find."""
    random = Random(seed)
    having: Counter[str] = Counter()
    for entry in entries:
        having.update(set(map(str.lower, _WORD.findall(entry.text))))
    made: dict[str, list[tuple[list[str], str, str]]] = {kind: [] for kind in KINDS}
    fit = [entry for entry in entries if len(_WORD.findall(entry.text)) >= 12 and entry.text.isascii()]
    for entry in random.sample(fit, min(ITEMS, len(fit))):
        words = _WORD.findall(entry.text)
        rare = sorted({word.lower() for word in words}, key=lambda word: (having[word], word))
        some = random.sample(rare[: max(8, len(rare) // 4)], 4)
        long = [*some[:3], max(some[3:], key=len)]
        wrong = random.randrange(4)
        begin = next(n for n in range(len(words)) if " ".join(words[n : n + 4]) in entry.text or n + 4 >= len(words))
        made["exact"].append((some[:3], "", entry.thing))
        made["misspelt"].append(
            ([_misspelt(random, w) if n == wrong else w for n, w in enumerate(long)], "", entry.thing)
        )
        made["phrase"].append((words[begin : begin + 4], "", entry.thing))
        made["field"].append((some[:2], entry.author or entry.url.split("/")[2], entry.thing))
        made["facet"].append((some[:2], "", entry.thing))
    return made


Ask = Callable[[str, Sequence[str], str], list[str]]
"""Runs a query of a kind, with its words and the value of its field; returns the first documents found."""


def _asked(folder: Path) -> Ask:
    searched = SearchedFolder(folder)

    def ask(kind: str, words: Sequence[str], value: str) -> list[str]:
        query = f'"{" ".join(words)}"' if kind == "phrase" else " ".join(words)
        if kind == "field":
            query += f' author:"{value}"' if " " in value or "." not in value else f" site:{value}"
        asked = Question(query, counts_facets=kind == "facet", is_folded=False, limit=_FOUND)
        return [hit.entry.thing for hit in search([searched.opened()], asked).hits]

    return ask


_FTS: Final = """
CREATE VIRTUAL TABLE words USING fts5(title, author, text, tokenize = "unicode61 remove_diacritics 2");
CREATE TABLE thing (id INTEGER PRIMARY KEY, name TEXT, site TEXT, author TEXT, type TEXT, published INTEGER);
"""
_FACETS: Final = ("site", "thing.author", "type", "published / 31557600")


def _fts5(base: sqlite3.Connection, entries: Iterator[SearchEntry]) -> None:
    base.executescript(_FTS)
    with base:
        for number, each in enumerate(entries):
            base.execute(
                "INSERT INTO words (rowid, title, author, text) VALUES (?, ?, ?, ?)",
                (number, each.title, each.author, each.text),
            )
            row = number, each.thing, each.url.split("/")[2], each.author, each.type, each.published
            base.execute("INSERT INTO thing VALUES (?, ?, ?, ?, ?, ?)", row)


def _asked_fts5(base: sqlite3.Connection) -> Ask:
    def ask(kind: str, words: Sequence[str], value: str) -> list[str]:
        quoted = [f'"{word}"' for word in words]
        query = f'"{" ".join(words)}"' if kind == "phrase" else " ".join(quoted)
        beside, values = "", [query]
        if kind == "field" and (" " in value or "." not in value):
            values = [f'{query} author : "{value}"']
        elif kind == "field":
            beside, values = " AND site = ?", [query, value]
        found = base.execute(
            f"SELECT name FROM words JOIN thing ON id = words.rowid WHERE words MATCH ?{beside}"  # noqa: S608
            f" ORDER BY bm25(words) LIMIT {_FOUND}",
            values,
        ).fetchall()
        for facet in _FACETS if kind == "facet" else ():
            base.execute(
                f"SELECT {facet}, count(*) FROM words JOIN thing ON id = words.rowid WHERE words MATCH ? GROUP BY 1",  # noqa: S608
                (query,),
            ).fetchall()
        return [name for (name,) in found]

    return ask


def _rows(
    system: str, about: dict[str, float], items: dict[str, list[tuple[list[str], str, str]]], ask: Ask
) -> Iterator[Row]:
    for kind, queries in items.items():
        took, cpu, right = list[float](), list[float](), 0
        for words, value, thing in queries:
            begun, begun_cpu = time.perf_counter(), time.process_time()
            right += thing in ask(kind, words, value)
            took.append(1000 * (time.perf_counter() - begun))
            cpu.append(1000 * (time.process_time() - begun_cpu))
        yield {
            "system": system,
            "documents": int(about["documents"]),
            "index_seconds": about["seconds"],
            "query": kind,
            "p50_ms": _percentile(took, 0.5),
            "p95_ms": _percentile(took, 0.95),
            "bytes": int(about["bytes"]),
            "recall_at_10": right / max(1, len(queries)),
            "cpu_p95_ms": _percentile(cpu, 0.95),
            "index_cpu_seconds": about["cpu"],
            "text_bytes": int(about["text"]),
            "peak_mib": about["peak"],
        }


def _percentile(values: Sequence[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(share * len(values)))] if values else 0.0


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("search*/**/*") if path.is_file()) + sum(
        path.stat().st_size for path in folder.rglob("search.sqlite*")
    )


def measure(folder: Path) -> list[Row]:
    """Index a folder anew; return its rows."""
    begun, cpu = time.perf_counter(), time.process_time()
    with SearchIndex(folder) as index:
        while not index.catch_up():
            pass
    about = {"seconds": time.perf_counter() - begun, "cpu": time.process_time() - cpu}
    about["peak"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    entries = _entries(folder)
    text = float(sum(len(f"{each.title}{each.author}{each.text}".encode("utf-8", "replace")) for each in entries))
    about |= {"documents": len(entries), "bytes": _size(folder), "text": text}
    items = known_items(entries)
    rows = [*_rows("aahcrawler (tantivy)", about, items, _asked(folder))]
    path = folder / "fts5.sqlite"
    base = sqlite3.connect(path)
    begun, cpu = time.perf_counter(), time.process_time()
    _fts5(base, iter(entries))
    about |= {"seconds": time.perf_counter() - begun, "cpu": time.process_time() - cpu, "peak": 0.0}
    about["bytes"] = path.stat().st_size
    rows += _rows("SQLite FTS5", about, items, _asked_fts5(base))
    base.close()
    return rows


def main() -> None:
    """Generate or read documents, and measure."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--objects", type=int)
    parser.add_argument("--warc", type=Path)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if arguments.warc is None:
            write_posts(folder, arguments.objects or (QUICK if arguments.quick else WHOLE))
        else:
            (folder / ARCHIVE).mkdir()
            (folder / ARCHIVE / f"corpus.{WARC}").symlink_to(arguments.warc.resolve())
        report(measure(folder), arguments.json)


if __name__ == "__main__":
    main()
