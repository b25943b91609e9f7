"""Find what is similar to a page or an object: by text vectors if an enrichment has made them, else by terms."""

import json
import logging
import re
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import log
from pathlib import Path
from typing import ClassVar, Final, Literal, NamedTuple, Protocol, TypeVar

import numpy as np
import tantivy
from numpy.typing import NDArray

from aahcrawler.derived_index import IndexFile
from aahcrawler.layout import INDEXES, VECTORS
from aahcrawler.search.query_language import QueryError
from aahcrawler.search.query_terms import Searched
from aahcrawler.search.search_entry import OBJECT, PAGE, SearchEntry, number_of, object_thing, page_thing
from aahcrawler.search.text_index import address_number, entry_at, pairs_of, schema, unspaced, words_of

Vectors = NDArray[np.float32]
"""Vectors of length 1, one per row."""
_AT_ONCE: Final = 4_096
"""How many vectors are read at once: 12 MiB if each has 512 dimensions."""


class KeptVector(NamedTuple):
    """The vector of an object's text, in half precision.

    ``thing`` is the number of the object in the search index, ``text`` a digest of the text and of the model that made
    the vector.
    """

    thing: int
    text: bytes
    vector: bytes


class Near(NamedTuple):
    """An object about the same subject: its number, and the cosine of both vectors."""

    thing: int
    likeness: float


class TextVectors(IndexFile):
    """The vectors of the objects in a crawl's folder, made by the enrichment step ``related-texts``.

    They can be rebuilt at any time, so a takedown deletes the file with the other indexes. Vectors of one file have the
    same number of dimensions. Without a folder they are kept as long as this is open. Methods raise ``sqlite3.Error``.
    """

    schema: ClassVar = ("CREATE TABLE vector (thing INTEGER PRIMARY KEY, text BLOB NOT NULL, vector BLOB NOT NULL)",)
    version: ClassVar = 1

    def __init__(self, crawl: Path | None) -> None:
        super().__init__(None if crawl is None else crawl / INDEXES / VECTORS)

    def texts(self) -> dict[int, bytes]:
        """Return the digests of the texts whose vectors are stored, by the numbers of their objects."""
        return dict(map(tuple, self.base.execute("SELECT thing, text FROM vector")))

    def keep(self, vectors: Iterable[KeptVector]) -> None:
        """Store vectors, replacing those of the same objects."""
        self.base.executemany("INSERT OR REPLACE INTO vector VALUES (?, ?, ?)", vectors)

    def forget(self, things: Iterable[int]) -> None:
        """Delete the vectors of objects."""
        self.base.executemany("DELETE FROM vector WHERE thing = ?", ((thing,) for thing in things))


def vectors_of(base: sqlite3.Connection, things: Sequence[int]) -> dict[int, Vectors]:
    """Return the vectors of objects by their numbers, for objects that have one."""
    wanted = "SELECT thing, vector FROM vector WHERE thing IN (SELECT value FROM json_each(?))"
    rows = map(tuple, base.execute(wanted, (json.dumps(list(things)),)))
    return {thing: np.frombuffer(vector, np.float16).astype(np.float32) for thing, vector in rows}


def nearest(base: sqlite3.Connection, vector: Vectors, most: int, least: float) -> list[Near]:
    """Return the objects whose vectors have the greatest cosine with ``vector``, from ``least``; equal ones by number.

    All are compared: 100,000 of 512 dimensions take half a second of processor time.
    """
    best: list[Near] = []
    for numbers, vectors in _batches(base):
        likenesses = vectors @ vector
        places = np.flatnonzero(likenesses >= least)
        best += [Near(numbers[place], float(likenesses[place])) for place in places]
        best = sorted(best, key=lambda each: (-each.likeness, each.thing))[:most]
    return best


def _batches(base: sqlite3.Connection) -> Iterator[tuple[list[int], Vectors]]:
    rows = base.execute("SELECT thing, vector FROM vector ORDER BY thing")
    while batch := rows.fetchmany(_AT_ONCE):
        written = np.frombuffer(b"".join(row[1] for row in batch), np.float16)
        yield [row[0] for row in batch], written.reshape(len(batch), -1).astype(np.float32)


MAX_NEAR: Final = 200
"""How many objects of a folder are found by their vectors: the nearest ones."""
MIN_COSINE: Final = 0.4
"""Two vectors with a smaller cosine belong to texts that have hardly anything in common."""
MAX_TERMS: Final = 25
"""By how many terms others are found: the most distinctive ones."""
_SHARE: Final = 4
"""A result must have at least one in so many of the terms."""
_MAX_GIVEN: Final = 50
"""How many versions to compare with: the objects of a page."""
_MAX_CHARACTERS: Final = 20_000
"""How many characters of each version are searched for terms."""
_WORD: Final = re.compile(r"[^\W\d_]{3,80}")
_logger = logging.getLogger(__name__)
T = TypeVar("T")
_MUST, _SHOULD, _NEVER = tantivy.Occur.Must, tantivy.Occur.Should, tantivy.Occur.MustNot


class LikenessError(QueryError):
    """Raised if the object or page with which to compare is unknown; the message gives the cause and the remedy."""

    def __init__(self, reason: str) -> None:
        ValueError.__init__(self, reason)
        self.reason, self.place = reason, 0


class AskedFolder(Protocol):
    """The index of a folder for a query, and what must not be shown of it."""

    @property
    def crawl(self) -> Path:
        """The folder."""

    @property
    def searcher(self) -> tantivy.Searcher:
        """The searcher of its index."""

    def hides(self, entry: SearchEntry) -> bool:
        """Return whether an entry was taken down."""


@dataclass(frozen=True, slots=True)
class LikeThis:
    """Queries, one for each folder, for what is similar to something, scored by similarity, and the method used."""

    by: Literal["meaning", "terms"]
    queries: tuple[tantivy.Query, ...]


def like_this(folders: Sequence[AskedFolder], searched: Searched, url: str) -> LikeThis:
    """Return queries for what is similar to the object with an IRI, or to the objects or the page with a URL.

    They are compared by text vectors (``TextVectors``) if any of them has one; objects are found then, in folders with
    vectors. Otherwise results share the most distinctive terms of the text. Raises ``LikenessError`` if no folder has
    anything with this URL.
    """
    given = _given(folders, url)
    if not given:
        raise LikenessError(f"nothing that is archived has the URL {url}; copy that of a result")
    numbers = [*dict.fromkeys(number_of(each.thing) for each in given)]
    pages = {page_thing(each.page or each.url) for each in given}
    others = [(_NEVER, _of_number("thing", number)) for number in {*numbers, *map(number_of, pages)}]
    found = _by_meaning(folders, numbers)
    queries = _by_terms(folders, searched, given) if found is None else map(_near, found)
    return LikeThis(
        "terms" if found is None else "meaning",
        tuple(tantivy.Query.boolean_query([(_MUST, query), *others]) for query in queries),
    )


def _given(folders: Sequence[AskedFolder], url: str) -> list[SearchEntry]:
    """Return the last version of the object with an IRI, else of what has this URL: objects rather than pages.

    For a page, the objects that it shows are returned.
    """
    for asked in (
        _of_number("thing", number_of(object_thing(url))),
        tantivy.Query.term_query(schema(), "address", address_number(url)),
    ):
        found = [entry for folder in folders for entry in _entries(folder, asked)]
        if objects := [each for each in found if each.kind == OBJECT]:
            return objects[:_MAX_GIVEN]
    records = {each.record for each in found if each.kind == PAGE}
    shown = [_of_number("seen", number_of(record)) for record in records]
    on_page = tantivy.Query.boolean_query([(_SHOULD, each) for each in shown])
    objects = [each for folder in folders for each in _entries(folder, on_page) if each.kind == OBJECT] if shown else []
    return (objects or found)[:_MAX_GIVEN]


def _entries(folder: AskedFolder, query: tantivy.Query) -> Iterator[SearchEntry]:
    last = tantivy.Query.term_query(schema(), "last", True)
    hits = folder.searcher.search(tantivy.Query.boolean_query([(_MUST, query), (_MUST, last)]), _MAX_GIVEN).hits
    entries = (entry_at(folder.searcher, address) for _, address in hits)
    return (each for each in entries if not folder.hides(each))


def _of_number(field: str, number: int) -> tantivy.Query:
    return tantivy.Query.range_query(schema(), field, tantivy.FieldType.Unsigned, number, number)


def _by_meaning(folders: Sequence[AskedFolder], numbers: Sequence[int]) -> list[list[Near]] | None:
    """Return the objects of each folder nearest to the mean of the objects' vectors; None if these have no vectors."""
    given: dict[int, Vectors] = {}
    for folder in folders:
        given |= _asked(folder, lambda base: vectors_of(base, numbers), dict[int, Vectors]())
    if not given:
        return None
    whole = np.sum(np.stack([given[number] for number in sorted(given)]), axis=0)
    mean = whole / (np.linalg.norm(whole) or 1.0)
    return [_asked(folder, lambda base: nearest(base, mean, MAX_NEAR, MIN_COSINE), []) for folder in folders]


def _asked(folder: AskedFolder, ask: Callable[[sqlite3.Connection], T], otherwise: T) -> T:
    """Query the vectors of a folder; return ``otherwise`` if there are none, or they cannot be read."""
    vectors = TextVectors(folder.crawl)
    if vectors.path is None or not vectors.path.exists():
        return otherwise
    try:
        with vectors.asked() as base:
            return ask(base)
    except (sqlite3.Error, ValueError) as error:
        _logger.warning("%s: cannot be asked (%s); delete it, and have it made anew", vectors.path, error)
        return otherwise


def _near(found: Iterable[Near]) -> tantivy.Query:
    query = tantivy.Query
    wanted = [(_SHOULD, query.const_score_query(_of_number("thing", each.thing), each.likeness)) for each in found]
    return query.boolean_query(wanted) if wanted else query.empty_query()


def _by_terms(
    folders: Sequence[AskedFolder], searched: Searched, given: Iterable[SearchEntry]
) -> Iterator[tantivy.Query]:
    terms = _distinctive(searched, given)
    for folder in folders:
        wanted: list[tuple[tantivy.Occur, tantivy.Query]] = []
        for name, term, weight in terms:
            weighted = weight * searched.weight(folder.searcher, name, [term])
            wanted.append(
                (_SHOULD, tantivy.Query.boost_query(tantivy.Query.term_query(schema(), name, term), weighted))
            )
        least = -(-len(terms) // _SHARE)
        yield tantivy.Query.boolean_query(wanted, least) if wanted else tantivy.Query.empty_query()


def _distinctive(searched: Searched, given: Iterable[SearchEntry]) -> list[tuple[str, str, float]]:
    """Return the terms that distinguish texts most from all others (tf-idf), with their fields and weights."""
    counts: Counter[tuple[str, str]] = Counter()
    for each in given:
        text = f"{each.title}\n{each.text}"[:_MAX_CHARACTERS]
        counts.update(("pairs", pair) for run in unspaced(text) for pair in pairs_of(run))
        counts.update(("text", word) for word in words_of(text) if _WORD.fullmatch(word) and not unspaced(word))
    total = sum(each.num_docs for each in searched.searchers)
    found: list[tuple[float, str, str, float]] = []
    for (name, term), count in counts.items():
        having = searched.frequency(name, term)
        if 1 < having <= max(2, total / 2):
            weight = 1 + log(count)
            found.append((-weight * log(total / having), name, term, weight))
    return [(name, term, weight) for _, name, term, weight in sorted(found)[:MAX_TERMS]]
