"""The full text of entries: a Tantivy index in a folder, its fields, and how texts become terms."""

import json
import re
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import tantivy

from aahcrawler.search.search_entry import SearchEntry, number_of
from aahcrawler.traps.sketch import fingerprint
from aahcrawler.urls import canonicalize, queue_of

STEMMED: Final = {
    "ar": "arabic",
    "da": "danish",
    "de": "german",
    "el": "greek",
    "en": "english",
    "es": "spanish",
    "fi": "finnish",
    "fr": "french",
    "hu": "hungarian",
    "it": "italian",
    "nb": "norwegian",
    "nl": "dutch",
    "nn": "norwegian",
    "no": "norwegian",
    "pt": "portuguese",
    "ro": "romanian",
    "ru": "russian",
    "sv": "swedish",
    "ta": "tamil",
    "tr": "turkish",
}
"""The languages whose words are reduced to stems, by code, with Tantivy's names."""
TEXTS: Final = ("title", "author", "text")
SAID: Final = ("person", "organisation", "place", "topic")
"""What annotations say an object mentions: fields of words whose values are counted."""
TOPIC_STEMS: Final = "topic_stems"
"""The stems of the terms of an object's topics, which ``topic`` matches besides their names; they are not counted."""
NAMES: Final = ("site", "application", "kind", "type", "language", "media_type")
"""Fields with one value, compared as a whole and without regard to case; their values are counted."""
STILL: Final = (1 << 62) - 1
"""The end of a version that is the last one."""
_FOLDED: Final = "folded"
_WHOLE: Final = "whole"
_SPACED: Final = "spaced"
_MAX_WORD_LENGTH: Final = 80
_UNSPACED: Final = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    "\uff66-\uff9f\U00020000-\U0003134f]+"
)
"""Texts in scripts that are written without spaces: Thai, Lao, Burmese, Khmer, Japanese and Chinese."""
_FAULT: Final = 300
"""The least status of a response that is no success."""
_MIN_SHINGLES: Final = 500
"""A text with fewer characters has too few shingles for a useful fingerprint."""


@dataclass(frozen=True, slots=True)
class Version:
    """An entry with its place among the versions of its thing.

    ``until`` is when the next one was captured, in microseconds since 1970, or ``STILL``. ``is_last`` means that no
    version with content follows it, ``is_gone`` that a capture found the thing gone after it.
    """

    entry: SearchEntry
    until: int = STILL
    is_last: bool = True
    is_gone: bool = False

    @property
    def key(self) -> int:
        """The number of the version among all versions."""
        return version_key(number_of(self.entry.thing), self.entry.record)


def version_key(thing: int, record: str) -> int:
    """Return a number for a version of a web object or page.

    ``thing`` is the number of the object or page, ``record`` the id of the record of the first capture with the
    version.
    """
    return number_of(f"{thing} {record}")


@cache
def schema() -> tantivy.Schema:
    """Return the fields of an index.

    ``key`` and ``thing`` are numbers of the version and of the thing; ``like`` is a fingerprint that differs in at most
    three bits between near duplicates. ``text``, ``title`` and ``author`` contain words without case and accents,
    ``stems`` the stems of both texts that are not words in them, after their language (``en:flood``), ``pairs`` pairs
    of characters in scripts without spaces. ``since`` and ``until`` are when a version existed, in microseconds; other
    moments are in seconds since 1970. ``address`` and ``seen`` are numbers of the URL and of the capture.
    """
    made = tantivy.SchemaBuilder()
    for name in ("key", "address"):
        made.add_unsigned_field(name, indexed=True)
    for name in ("thing", "seen", "like"):
        made.add_unsigned_field(name, fast=True)
    for name in ("captured", "published", "since", "until", "status", "crawl"):
        made.add_integer_field(name, fast=True)
    made.add_float_field("score", fast=True)
    for name in ("last", "gone", "fault"):
        made.add_boolean_field(name, indexed=True, fast=name == "gone")
    for name in TEXTS:
        made.add_text_field(name, tokenizer_name=_FOLDED, fast=name == "author")
    for name in SAID:
        made.add_text_field(name, tokenizer_name=_FOLDED, fast=True)
    made.add_text_field(TOPIC_STEMS, tokenizer_name=_FOLDED, index_option="basic")
    made.add_text_field("stems", tokenizer_name=_SPACED, index_option="freq")
    made.add_text_field("pairs", tokenizer_name=_SPACED)
    for name in NAMES:
        made.add_text_field(name, tokenizer_name=_WHOLE, index_option="basic", fast=True)
    made.add_text_field("host", tokenizer_name=_WHOLE, index_option="basic")
    made.add_bytes_field("entry", stored=True)
    return made.build()


@cache
def analyzers() -> dict[str, tantivy.TextAnalyzer]:
    """Return the analysers that make terms of a text, by name; those for stems by the names of languages."""

    def made(tokenizer: tantivy.Tokenizer, *filters: tantivy.Filter) -> tantivy.TextAnalyzer:
        builder = tantivy.TextAnalyzerBuilder(tokenizer)
        for each in filters:
            builder = builder.filter(each)
        return builder.build()

    filters, words = tantivy.Filter, tantivy.Tokenizer.simple()
    short, small, plain = filters.remove_long(_MAX_WORD_LENGTH), filters.lowercase(), filters.ascii_fold()
    return {
        _FOLDED: made(words, short, small, plain),
        _WHOLE: made(tantivy.Tokenizer.raw(), small),
        _SPACED: made(tantivy.Tokenizer.whitespace()),
        # Accents tell stemmers which endings words have.
        **{name: made(words, short, small, filters.stemmer(name), plain) for name in set(STEMMED.values())},
    }


def words_of(text: str) -> list[str]:
    """Return the words of a text in the form in which they are searched: without case and accents."""
    return analyzers()[_FOLDED].analyze(text)


def stems_of(text: str, language: str) -> list[str]:
    """Return the stems of a text's words in order, as in ``stems``; none if the language has no stemmer."""
    if language not in STEMMED:
        return []
    return [f"{language}:{stem}" for stem in analyzers()[STEMMED[language]].analyze(text)]


def unspaced(text: str) -> list[str]:
    """Return the parts of a text that are written without spaces."""
    return _UNSPACED.findall(text) if not text.isascii() else []


def pairs_of(stretch: str) -> list[str]:
    """Return the pairs of neighbouring characters; a single character counts as one.

    >>> pairs_of("東京都")
    ['東京', '京都']
    """
    return [stretch[place : place + 2] for place in range(max(1, len(stretch) - 1))]


class TextIndex:
    """A Tantivy index in a folder. Only one writer exists over all processes; any number may search."""

    def __init__(self, folder: Path) -> None:
        """Open the index of a folder, creating it if it is missing. Raises ``OSError``."""
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self.index = tantivy.Index(schema(), path=str(folder))
        for name, analyzer in analyzers().items():
            self.index.register_tokenizer(name, analyzer)
        for name in (_FOLDED, _WHOLE):  # Values are counted as they are written.
            self.index.register_fast_field_tokenizer(name, tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.raw()).build())
        self._writer: tantivy.IndexWriter | None = None

    @property
    def stamp(self) -> int:
        """The number of the last commit; later ones are greater."""
        try:
            return int(json.loads((self.folder / "meta.json").read_bytes())["opstamp"])
        except (OSError, ValueError, KeyError, TypeError):
            return -1

    @property
    def is_writing(self) -> bool:
        """Whether it has a writer."""
        return self._writer is not None

    def searcher(self) -> tantivy.Searcher:
        """Return a searcher for the index as last committed."""
        self.index.reload()
        return self.index.searcher()

    def write(self, versions: Iterable[Version], gone: Sequence[int]) -> None:
        """Delete the versions with the keys in ``gone``, then add others, whose keys must not exist."""
        writer = self._opened()
        if gone:
            # To delete by a term takes a number below 2^63 for a signed one, and deletes nothing.
            writer.delete_documents_by_query(tantivy.Query.term_set_query(schema(), "key", [*gone]))
        for version in versions:
            writer.add_document(_document(version))

    def commit(self) -> int:
        """Write what was added to disk, and return its stamp."""
        if self._writer is not None:
            self._writer.commit()
        return self.stamp

    def entries(self, keys: Sequence[int]) -> list[SearchEntry]:
        """Return the stored entries of the versions with some keys, as last committed."""
        searcher = self.searcher()
        asked = tantivy.Query.term_set_query(schema(), "key", list(keys))
        hits = searcher.search(asked, limit=len(keys) + 1, count=False).hits
        return [entry_at(searcher, address) for _, address in hits]

    def release(self) -> None:
        """Let others write; uncommitted changes are lost."""
        if self._writer is not None:
            writer, self._writer = self._writer, None
            writer.wait_merging_threads()

    def _opened(self) -> tantivy.IndexWriter:
        if self._writer is None:
            try:
                self._writer = self.index.writer(WRITER_BYTES, num_threads=1)
            except ValueError as error:
                if "LockBusy" not in str(error):
                    raise
                busy = sqlite3.OperationalError("another process writes to the index")
                busy.sqlite_errorcode = sqlite3.SQLITE_BUSY
                raise busy from error
        return self._writer


WRITER_BYTES: Final = 64_000_000
"""How much memory Tantivy uses to gather texts before writing them to disk."""


def entry_at(searcher: tantivy.Searcher, address: tantivy.DocAddress) -> SearchEntry:
    """Return the entry of a hit."""
    return SearchEntry.read(searcher.doc(address)["entry"][0])


def _document(version: Version) -> tantivy.Document:
    entry, made = version.entry, tantivy.Document()
    made.add_unsigned("key", version.key)
    made.add_unsigned("thing", number_of(entry.thing))
    made.add_unsigned("like", _likeness(entry))
    made.add_unsigned("address", address_number(entry.url))
    made.add_unsigned("seen", number_of(entry.record))
    made.add_integer("status", entry.status)
    made.add_integer("crawl", entry.crawl)
    made.add_boolean("fault", entry.status >= _FAULT)
    made.add_integer("captured", entry.captured // 1_000_000)
    made.add_integer("since", entry.captured)
    made.add_integer("until", version.until)
    if entry.published is not None:
        made.add_integer("published", entry.published)
    if entry.score is not None:
        made.add_float("score", entry.score)
    made.add_boolean("last", version.is_last)
    made.add_boolean("gone", version.is_gone)
    for name in TEXTS:
        if value := getattr(entry, name):
            made.add_text(name, value)
    for name, label in entry.said:
        made.add_text(name, label)
    if entry.language in STEMMED:
        both = f"{entry.title}\n{entry.text}"
        pairs = zip(words_of(both), stems_of(both, entry.language), strict=False)
        made.add_text("stems", " ".join(stem for word, stem in pairs if not stem.endswith(f":{word}")))
    if runs := [*unspaced(entry.title), *unspaced(entry.text)]:
        made.add_text("pairs", " ".join(pair for run in runs for pair in pairs_of(run)))
    named = (queue_of(entry.url), entry.application, entry.kind, entry.type, entry.language, entry.media_type)
    for name, value in zip(NAMES, named, strict=True):
        if value:
            made.add_text(name, value)
    made.add_text("host", host_of(entry.url))
    made.add_bytes("entry", bytes(entry))
    return made


def address_number(url: str) -> int:
    """Return the number of a URL, independently of its spelling."""
    return number_of(canonicalize(url) or url)


def host_of(url: str) -> str:
    """Return the host of a URL; empty if it is not a URL."""
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def _likeness(entry: SearchEntry) -> int:
    text = entry.text
    return fingerprint(text) if len(text) >= _MIN_SHINGLES else number_of(text.casefold() or entry.thing)
