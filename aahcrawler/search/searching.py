"""Query the indexes of any number of folders at once, and rank their results together."""

import json
import sqlite3
from collections import Counter
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from math import isinf
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

import tantivy

from aahcrawler.definitions import read_meaning
from aahcrawler.derived_index import Coverage, coverage
from aahcrawler.layout import ARCHIVE, DEFINITION, DELETED, OBJECTS
from aahcrawler.search.likeness import LikeThis, like_this
from aahcrawler.search.query_language import All, Node, Not, Value, Words, leaves, parse
from aahcrawler.search.query_terms import Compiler, Searched, between, is_unknown
from aahcrawler.search.search_entry import EPOCH, SearchEntry, number_of
from aahcrawler.search.search_index import SearchIndex, languages_in, texts_folder
from aahcrawler.search.snippets import Marker, Piece
from aahcrawler.search.text_index import SAID, STILL, TextIndex, entry_at, schema, words_of
from aahcrawler.tombstones import TakenDown, being_removed
from aahcrawler.traps.sketch import distance
from aahcrawler.urls import canonicalize, queue_of

MAX_HITS: Final = 1_000
"""How many hits can be paged through; there may be more."""
COUNTED: Final = (
    *("kind", "type", "site", "author", "application", "language", "media_type", "status", "crawl"),
    *SAID,
)
"""The facets: fields whose values are counted."""
NAMED: Final = ("keyword", "entity")
"""Facets by words in the definition of a folder."""
_MAX_VALUES: Final = 12
_MAX_NAMED: Final = 40
_ALIKE: Final = 3
"""The most bits in which the fingerprints of near duplicates differ."""
_MAX_SPANS: Final = 130
Scope = Literal["last", "all"]
Order = Literal["relevance", "newest", "oldest", "captured"]
Timed = Literal["published", "captured"]
_MUST, _NEVER = tantivy.Occur.Must, tantivy.Occur.MustNot


class NotIndexedError(Exception):
    """Raised for a folder whose index cannot be queried yet; the message gives the reason."""


@dataclass(frozen=True, slots=True)
class Question:
    """A query, and filters.

    ``filters`` has values by facet; a hit must have one of each. ``since`` and ``until`` limit the date chosen by
    ``timed``, in seconds since 1970, excluding the end. ``as_of``, also in seconds, restricts results to versions that
    existed then, as far as captures show; without it, ``scope`` chooses all versions, or the last one of each thing.
    Things found gone are included. ``is_folded`` groups near duplicates, and the page that shows an object, under one
    hit. ``like`` is the URL of a page or the IRI of an object to which hits must be similar, besides matching the
    query.
    """

    query: str = ""
    filters: Mapping[str, Sequence[str]] = field(default_factory=dict)
    since: int | None = None
    until: int | None = None
    timed: Timed = "published"
    as_of: int | None = None
    scope: Scope = "last"
    order: Order = "relevance"
    limit: int = 10
    offset: int = 0
    is_folded: bool = True
    counts_facets: bool = True
    like: str = ""


@dataclass(frozen=True, slots=True)
class Hit:
    """A version found in a folder. ``alike`` counts the hits that are folded into it.

    ``score`` is the value by which hits are ordered: relevance, or a date in seconds since 1970, 0 for none.

    ``until`` is when another version was captured, or the thing found gone, in microseconds since 1970; None for never.
    """

    folder: Path
    entry: SearchEntry
    score: float
    snippet: tuple[Piece, ...]
    is_gone: bool
    until: int | None
    alike: int = 0

    @property
    def key(self) -> int:
        """The number of the hit among those of ``all_keys``."""
        return number_of(self.entry.thing) ^ number_of(self.entry.record)

    @property
    def site(self) -> str:
        """The pay-level domain of its URL."""
        return queue_of(self.entry.url)


@dataclass(frozen=True, slots=True)
class Span:
    """A part of the time line, in seconds since 1970, excluding its end, and the number of versions in it."""

    begin: int
    end: int
    count: int


@dataclass(frozen=True, slots=True)
class Found:
    """What was found: ``total`` versions, some of them as ``hits``, and counts of values.

    ``unknown`` are words that no text, or no given field (``author:berg``), has; similar ones were searched for.
    ``loosened`` says how the query was loosened because nothing matches it: by ``spelling``, or by ``words``, of which
    half must match then. ``has_more`` says whether there are further hits. ``undated`` counts versions without a date
    on the time line. ``like_by`` says how similarity was determined.
    """

    total: int
    hits: tuple[Hit, ...]
    facets: Mapping[str, Mapping[str, int]]
    timeline: tuple[Span, ...]
    undated: int
    unknown: tuple[str, ...] = ()
    loosened: Literal["", "spelling", "words"] = ""
    has_more: bool = False
    like_by: Literal["", "meaning", "terms"] = ""

    @property
    def folded(self) -> int:
        """How many versions are folded into the hits: near duplicates, other versions, and pages that show objects."""
        return sum(hit.alike for hit in self.hits)


def folders_in(place: Path) -> Iterator[Path]:
    """Yield a folder with an archive or what was read from one, or such folders directly within it, by name."""
    if _is_searchable(place):
        yield place
    elif place.is_dir():
        inner = (each for each in place.iterdir() if each.is_dir() and not each.name.startswith(DELETED))
        yield from filter(_is_searchable, sorted(inner))


def _is_searchable(folder: Path) -> bool:
    return (folder / ARCHIVE).is_dir() or (folder / OBJECTS).is_dir()


class SearchedFolder:
    """The index of one folder, which is opened anew for each question."""

    def __init__(self, crawl: Path, index: SearchIndex | None = None) -> None:
        self.crawl = crawl
        self.index = SearchIndex(crawl) if index is None else index
        self._texts: TextIndex | None = None

    def opened(self) -> "OpenFolder":
        """Return the index as it is now. Raises ``NotIndexedError``, and ``DamageError`` for damaged tombstones."""
        try:
            with self.index.asked() as base:
                folder, languages, reach = texts_folder(self.index.path, base), languages_in(base), coverage(base)
            if self._texts is None or self._texts.folder != folder:
                if not tantivy.Index.exists(str(folder)):
                    raise NotIndexedError(f"{self.crawl}: its index has only just been begun")
                self._texts = TextIndex(folder)
            searcher = self._texts.searcher()
        except (sqlite3.Error, OSError, ValueError) as error:
            self._texts = None
            raise NotIndexedError(f"{self.crawl}: its index cannot be asked ({error})") from error
        return OpenFolder(self.crawl, searcher, languages, reach, TakenDown.of(self.crawl), being_removed(self.crawl))


@dataclass(frozen=True, slots=True)
class OpenFolder:
    """The index of a folder as it was at one moment, and what must not be shown of it."""

    crawl: Path
    searcher: tantivy.Searcher
    languages: tuple[str, ...]
    reach: Coverage
    taken_down: TakenDown
    being_removed: frozenset[str]

    def hides(self, entry: SearchEntry) -> bool:
        """Return whether an entry was taken down since it was indexed."""
        if entry.record in self.being_removed:
            return True
        urls = {each for url in (entry.url, entry.page) if url for each in (url, canonicalize(url) or url)}
        return any(map(self.taken_down.covers, urls))


def search(folders: Sequence[OpenFolder], question: Question, only: Container[int] | None = None) -> Found:
    """Search folders. Raises ``QueryError`` for an invalid query.

    Scores are BM25 with the rarity of terms in all folders together (``query_terms``); equal ones are in the order of
    folders and indexes. What was taken down is left out of the hits, though counts may still include it until the index
    has caught up. With ``only``, hits are restricted to these numbers of ``all_keys``.
    """
    asked = _Asked.of(folders, question)
    node, searched = asked.node, asked.searched
    loosened: Literal["", "spelling", "words"] = ""
    if not asked.total and (more := asked.loosened("spelling")) is not None and more.total:
        asked, loosened = more, "spelling"
    elif not asked.total and (more := asked.loosened("words")) is not None and more.total:
        asked, loosened = more, "words"
    unknown = tuple(
        f"{leaf.field}:{word}" if leaf.field else word
        for leaf in leaves(node)
        if isinstance(leaf, Words) and not leaf.is_prefix and not leaf.is_phrase and leaf.distance is None
        for word in words_of(leaf.text)
        if is_unknown(searched, word, leaf)
    )
    hits, has_more = asked.hits(Marker(asked.node, is_lenient=bool(loosened or unknown)), only)
    facets, timeline, undated = asked.facets() if question.counts_facets else ({}, (), 0)
    like_by = asked.like.by if asked.like is not None else ""
    return Found(asked.total, hits, facets, timeline, undated, unknown, loosened, has_more, like_by)


def all_keys(folders: Sequence[OpenFolder], question: Question, most: int) -> list[int]:
    """Return the numbers of all versions that a question finds, at most ``most`` + 1.

    A number depends on what was found in which capture, in whatever index. Raises ``QueryError``.
    """
    asked = _Asked.of(folders, question)
    return [_key(each) for each in asked.candidates(most + 1)]


def _key(candidate: "_Candidate") -> int:
    return candidate.thing ^ candidate.seen


class _Candidate(NamedTuple):
    rank: float
    thing: int
    folder: int
    address: tantivy.DocAddress
    seen: int
    like: int


class _Asked:
    """A question with its query for each of the folders."""

    def __init__(
        self,
        folders: Sequence[OpenFolder],
        question: Question,
        node: Node | None,
        searched: Searched,
        how: Literal["", "spelling", "words"] = "",
        like: LikeThis | None = None,
    ) -> None:
        self.node, self._folders, self._question, self.searched, self.like = node, folders, question, searched, like
        compiled = [_compiled(Compiler(searched, each.searcher, is_lenient=bool(how)), node, how) for each in folders]
        if like is not None:
            compiled = [_both(each, other) for each, other in zip(compiled, like.queries, strict=True)]
        self._queries = [_narrowed(each, question, node) for each in compiled]
        self._counts = [_matching(each.searcher, query) for each, query in zip(folders, self._queries, strict=True)]
        self.total = sum(self._counts)

    @classmethod
    def of(cls, folders: Sequence[OpenFolder], question: Question) -> "_Asked":
        """Parse a question. Raises ``QueryError``."""
        searched = Searched(
            [each.searcher for each in folders],
            tuple(sorted({code for each in folders for code in each.languages})),
            {name: tuple(dict.fromkeys(_names(folders, name))) for name in NAMED},
        )
        like = like_this(folders, searched, question.like) if question.like else None
        return cls(folders, question, parse(question.query), searched, like=like)

    def loosened(self, how: Literal["spelling", "words"]) -> "_Asked | None":
        """Return the same with a query that matches more; None if it has no words that can be spelt differently."""
        words = [leaf for leaf in leaves(self.node) if isinstance(leaf, Words) and not leaf.is_phrase]
        if not words or (how == "words" and not (isinstance(self.node, All) and len(words) > 1)):
            return None
        return _Asked(self._folders, self._question, self.node, self.searched, how, self.like)

    # Hits

    def hits(self, marker: Marker, only: Container[int] | None) -> tuple[tuple[Hit, ...], bool]:
        """Return the requested hits, restricted to ``only``, and whether there are more."""
        asked, found = self._question, list[Hit]()
        wanted = min(asked.offset + asked.limit, MAX_HITS)
        looked_at = wanted * 2 + 20 if asked.is_folded else wanted + 1
        while True:
            candidates = self.candidates(looked_at)
            taken = [each for each in candidates if only is None or _key(each) in only]
            found = [*self._folded(taken, wanted + 1)]
            if len(found) > wanted or len(candidates) < min(self.total, looked_at) or looked_at >= self.total:
                break
            looked_at *= 4
        shown = found[asked.offset : wanted]
        marked = [
            replace(hit, snippet=marker.snippet(hit.entry.text or hit.entry.title, hit.entry.language)) for hit in shown
        ]
        return tuple(marked), len(found) > wanted and wanted < MAX_HITS

    def candidates(self, most: int) -> list[_Candidate]:
        """Return the first ``most`` versions that match, in order."""
        found: list[_Candidate] = []
        for number, (folder, query) in enumerate(zip(self._folders, self._queries, strict=True)):
            searcher, order = folder.searcher, self._question.order
            if not self._counts[number]:
                continue
            if order == "relevance":
                hits = searcher.search(query, most, count=False).hits
            else:
                by = "captured" if order == "captured" else "published"
                way = tantivy.Order.Asc if order == "oldest" else tantivy.Order.Desc
                hits = searcher.search(query, most, count=False, order_by_field=by, order=way).hits
            sign = 1 if order == "oldest" else -1
            addresses = [address for _, address in hits]
            columns = [searcher.fast_field_values(name, addresses) for name in ("thing", "seen", "like")]
            for (rank, address), thing, seen, like in zip(hits, *columns, strict=True):
                placed = float("inf") if rank is None else sign * float(rank)
                found.append(_Candidate(placed, int(thing or 0), number, address, int(seen or 0), int(like or 0)))
        # Equal ones stay in the order of the index, whatever number is asked for: nothing comes on two pages of a list.
        return sorted(found, key=lambda each: (each.rank, each.folder))[:most]

    def _folded(self, candidates: Sequence[_Candidate], most: int) -> Iterator[Hit]:
        """Yield at most ``most`` hits, each with the number of candidates folded into it."""
        kept: list[tuple[_Candidate, SearchEntry]] = []
        alike: Counter[int] = Counter()
        shown: dict[tuple[int, str], int] = {}
        for each in candidates:
            under = self._like(each, kept)
            if under is not None:
                alike[under] += 1
                continue
            folder = self._folders[each.folder]
            entry = entry_at(folder.searcher, each.address)
            if folder.hides(entry):
                continue
            # The page and the first of its objects are one hit, that of the object.
            of_page, of_object = (shown.get((each.seen, kind)) for kind in ("page", "object"))
            if not self._question.is_folded or entry.kind not in ("page", "object"):
                beside = None
            else:
                beside = of_object if entry.kind == "page" else of_page if of_object is None else None
            if beside is not None:
                alike[beside] += 1
                if entry.kind == "object":
                    kept[beside] = each, entry
            elif len(kept) < most:
                kept.append((each, entry))
            if beside is not None or len(kept) < most:
                shown.setdefault((each.seen, entry.kind), len(kept) - 1 if beside is None else beside)
        for number, (each, entry) in enumerate(kept):
            folder = self._folders[each.folder]
            gone, until = (folder.searcher.fast_field_values(name, [each.address])[0] for name in ("gone", "until"))
            ends = None if until is None or until >= STILL else int(until)
            score = 0.0 if isinf(each.rank) else abs(each.rank)
            yield Hit(folder.crawl, entry, score, (), bool(gone), ends, alike[number])

    def _like(self, each: _Candidate, kept: Sequence[tuple[_Candidate, SearchEntry]]) -> int | None:
        """Return the number of the hit of which a candidate is a near duplicate or another version."""
        if not self._question.is_folded:
            return None
        for number, (other, _) in enumerate(kept):
            if other.thing == each.thing or distance(each.like, other.like) <= _ALIKE:
                return number
        return None

    # Facets

    def facets(self) -> tuple[Mapping[str, Mapping[str, int]], tuple[Span, ...], int]:
        """Return the counts of values by facet, the time line, and how many versions have no date on it."""
        wanted: dict[str, Any] = {
            name: {"terms": {"field": name, "size": _MAX_VALUES, "segment_size": 50 * _MAX_VALUES}} for name in COUNTED
        }
        by = self._question.timed
        wanted |= {"first": {"min": {"field": by}}, "last": {"max": {"field": by}}}
        told = [self._aggregated(number, wanted) for number in range(len(self._folders))]
        facets: dict[str, Mapping[str, int]] = {name: _summed(told, name) for name in COUNTED}
        facets |= {name: self._named(name) for name in NAMED}
        facets["folder"] = {
            str(each.crawl): n
            for each, n in zip(self._folders, self._counts, strict=True)
            if n and len(self._folders) > 1
        }
        firsts, lasts = ([each[name]["value"] for each in told if each] for name in ("first", "last"))
        ends = [int(each) for each in (*firsts, *lasts) if each is not None]
        spans = self._timeline(min(ends), max(ends)) if ends else ()
        return {name: each for name, each in facets.items() if each}, spans, self.total - sum(s.count for s in spans)

    def _aggregated(self, number: int, wanted: Mapping[str, Any]) -> dict[str, Any]:
        if not self._counts[number]:
            return {}
        return self._folders[number].searcher.aggregate(self._queries[number], dict(wanted))

    def _timeline(self, first: int, last: int) -> tuple[Span, ...]:
        bounds = time_bounds(first, last)
        by = self._question.timed
        ranges = [{"from": begin, "to": end} for begin, end in bounds]
        wanted = {"time": {"range": {"field": by, "ranges": ranges}}}
        counts: Counter[int] = Counter()
        for number in range(len(self._folders)):
            for bucket in self._aggregated(number, wanted).get("time", {}).get("buckets", ()):
                if "from" in bucket and "to" in bucket:
                    counts[int(bucket["from"])] += bucket["doc_count"]
        return tuple(Span(begin, end, counts[begin]) for begin, end in bounds)

    def _named(self, name: str) -> Mapping[str, int]:
        """Return how many versions have each word of the definition."""
        counts: Counter[str] = Counter()
        for value in self.searched.named.get(name, ())[:_MAX_NAMED]:
            for number, folder in enumerate(self._folders):
                if self._counts[number]:
                    having = Compiler(self.searched, folder.searcher).query(Value(name, value))
                    both = tantivy.Query.boolean_query([(_MUST, self._queries[number]), (_MUST, having)])
                    counts[value] += _matching(folder.searcher, both)
        return dict((+counts).most_common(_MAX_VALUES))


def _matching(searcher: tantivy.Searcher, query: tantivy.Query) -> int:
    """Return how many versions match."""
    return searcher.search(query, 1, count=True).count or 0  # type: ignore[attr-defined] # Its stub lacks it.


def _both(query: tantivy.Query, like: tantivy.Query) -> tantivy.Query:
    """Return the query for both, ordered by similarity alone."""
    return tantivy.Query.boolean_query([(_MUST, tantivy.Query.const_score_query(query, 0.0)), (_MUST, like)])


def _compiled(compiler: Compiler, node: Node | None, how: str) -> tantivy.Query:
    if how != "words" or not isinstance(node, All):
        return compiler.query(node)
    musts = [each for each in node.nodes if not isinstance(each, Words)]
    words = [each for each in node.nodes if isinstance(each, Words)]
    some = tantivy.Query.boolean_query(
        [(tantivy.Occur.Should, compiler.query(each)) for each in words], (len(words) + 1) // 2
    )
    clauses = [
        (_NEVER if isinstance(each, Not) else _MUST, compiler.query(each.node if isinstance(each, Not) else each))
        for each in musts
    ]
    return tantivy.Query.boolean_query([(_MUST, some), *clauses])


def _narrowed(query: tantivy.Query, question: Question, node: Node | None) -> tantivy.Query:
    """Return a query with the filters of the question, restricted to successes unless it asks for a status."""
    q = tantivy.Query
    clauses = [(_MUST, query)]
    for name, values in question.filters.items():
        if values:
            clauses.append((_MUST, q.const_score_query(_any_of(name, values), 0.0)))
    if question.since is not None or question.until is not None:
        clauses.append((_MUST, between(question.timed, question.since, question.until)))
    if question.as_of is not None:
        after = question.as_of * 1_000_000 + 1
        clauses += [(_MUST, between("since", None, after)), (_MUST, between("until", after, None))]
    elif question.scope == "last":
        clauses.append((_MUST, q.const_score_query(q.term_query(schema(), "last", True), 0.0)))
    asks_for_status = any(getattr(leaf, "field", "") == "status" for leaf in leaves(node))
    if not asks_for_status and not question.filters.get("status"):
        clauses.append((_NEVER, q.term_query(schema(), "fault", True)))
    return q.boolean_query(clauses)


def _any_of(name: str, values: Sequence[str]) -> tantivy.Query:
    made: list[tantivy.Query] = []
    for value in values:
        if name == "record":
            number = number_of(value)
            made.append(tantivy.Query.range_query(schema(), "seen", tantivy.FieldType.Unsigned, number, number))
        elif name in ("status", "crawl"):
            with suppress(ValueError):
                made.append(tantivy.Query.term_query(schema(), name, int(value)))
        elif name == "author" or name in SAID:
            words = words_of(value)
            phrase = tantivy.Query.phrase_query(schema(), name, [*words]) if len(words) > 1 else None
            made.append(phrase or tantivy.Query.term_query(schema(), name, *words or [value]))
        else:
            fields = ("site", "host") if name == "site" else (name,)
            made += [tantivy.Query.term_query(schema(), each, value.lower(), "basic") for each in fields]
    return tantivy.Query.boolean_query([(tantivy.Occur.Should, each) for each in made or [tantivy.Query.empty_query()]])


def _names(folders: Sequence[OpenFolder], name: str) -> Iterator[str]:
    """Yield the keywords or entities in the definitions of folders."""
    path = "topic.keywords" if name == "keyword" else "topic.entities"
    for folder in folders:
        with suppress(OSError, ValueError):
            # Each line of a list is JSON text by itself.
            lines = json.loads(read_meaning(folder.crawl / DEFINITION).get(path, "[]"))
            yield from (str(json.loads(line)) for line in lines)


def _summed(told: Sequence[Mapping[str, Any]], name: str) -> Mapping[str, int]:
    counts: Counter[str] = Counter()
    for each in told:
        for bucket in each.get(name, {}).get("buckets", ()):
            key = bucket["key"]
            counts[str(int(key)) if isinstance(key, float) else str(key)] += bucket["doc_count"]
    counts.pop("0", None)
    return dict(sorted(counts.items(), key=lambda each: (-each[1], each[0]))[:_MAX_VALUES])


def time_bounds(first: int, last: int) -> list[tuple[int, int]]:
    """Return days, months, years or groups of years that cover a time, at most 130 of them.

    >>> time_bounds(0, 86_400 * 2)
    [(0, 86400), (86400, 172800), (172800, 259200)]
    """
    begin, end = EPOCH + timedelta(seconds=first), EPOCH + timedelta(seconds=last)
    for begun, following, most in _UNITS:
        at, bounds = begun(begin), list[tuple[int, int]]()
        with suppress(ValueError, OverflowError):  # Years beyond 9999 do not exist.
            while at <= end and len(bounds) <= most:
                bounds.append((int(at.timestamp()), int(following(at).timestamp())))
                at = following(at)
            if len(bounds) <= most:
                return bounds
    return [(first, last + 1)]


def _day(at: datetime) -> datetime:
    return at.replace(hour=0, minute=0, second=0, microsecond=0)


def _years(number: int) -> "_Unit":
    def begun(at: datetime) -> datetime:
        return datetime(max(1, at.year - at.year % number), 1, 1, tzinfo=UTC)

    return _Unit(begun, lambda at: datetime(at.year - at.year % number + number, 1, 1, tzinfo=UTC), _MAX_SPANS)


class _Unit(NamedTuple):
    """A unit of the time line: where a moment's unit begins, where the next one begins, and how many are allowed."""

    begun: Callable[[datetime], datetime]
    following: Callable[[datetime], datetime]
    most: int


_UNITS: Final = (
    _Unit(_day, lambda at: at + timedelta(days=1), 93),
    _Unit(lambda at: _day(at).replace(day=1), lambda at: (at + timedelta(days=32)).replace(day=1), _MAX_SPANS),
    *(_years(number) for number in (1, 10, 100)),
)
