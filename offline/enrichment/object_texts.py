"""The web objects of a crawl as annotators are given them, and which capture each of their versions is annotated at."""

import marshal
import re
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from hashlib import blake2b
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Final, NamedTuple, Self

from aahcrawler.captures.crawl_statements import CrawlStatements
from aahcrawler.derived_index import transaction
from aahcrawler.helper.site_memory import site_of
from aahcrawler.objects import vocabulary as v
from aahcrawler.objects.capture_statements import CaptureStatements, read_statements
from aahcrawler.objects.reader import Statements
from aahcrawler.page.generic import language as language_of
from aahcrawler.tombstones import TakenDown
from offline.enrichment.annotator import ObjectText
from offline.enrichment.name_contexts import MAX_NAME
from offline.enrichment.quote_heads import without_quote_heads

MAX_TEXT: Final = 200_000
"""Characters of a text that annotators are given."""
MIN_QUOTED: Final = 6
"""Words in a row that two texts of a page have by quoting alone, not by chance."""
MIN_REPEATED: Final = 10
"""Words in a row by which a text quotes another one where no sign before them says so."""
_QUOTING: Final = re.compile(r"[>|\"“”„«»‹›]")
_MAX_HEAD: Final = 120
"""Characters in front of a quote that may say whose words it has."""
_MAX_QUOTED_SHARE: Final = 0.8
"""The share of a text's words from which on that are another's: it is posted twice, and quotes nobody."""
_WORD: Final = re.compile(r"\w+")
_LANGUAGE: Final = re.compile(r"([A-Za-z]{2})(?:[-_].*)?")
_DESCRIPTION: Final = v.predicate("description")
_IN_LANGUAGE: Final = v.predicate("language")
_THREAD: Final = f"{v.SIOC}Thread"
_fields: Final = attrgetter(*(each.name for each in fields(ObjectText)))
_TABLES: Final = """
CREATE TABLE version (
  key BLOB PRIMARY KEY, object BLOB NOT NULL, site TEXT NOT NULL, first TEXT NOT NULL, capture TEXT NOT NULL,
  last TEXT NOT NULL, language TEXT
) WITHOUT ROWID;
"""
_SEE: Final = """
INSERT INTO version VALUES (:key, :object, :site, :at, :capture, :at, NULL) ON CONFLICT DO UPDATE SET
  last = max(last, excluded.last),
  site = iif((excluded.first, excluded.capture) < (first, capture), excluded.site, site),
  capture = iif((excluded.first, excluded.capture) < (first, capture), excluded.capture, capture),
  first = min(first, excluded.first)
"""


def object_texts(stated: CaptureStatements) -> Iterator[ObjectText]:
    """Yield the objects that a capture states, with their languages as far as the reading tells them.

    The text is the object's body, or its description where it has none: of that, the first 200,000 characters. Words
    that an earlier object of the page has in the same order are quoted, and blank: who quotes them does not say them.
    So are the lines that say whose words follow.
    """
    row, objects = stated.row, stated.objects
    bodies = ((each.body or stated.first(each.iri, _DESCRIPTION) or "")[:MAX_TEXT] for each in objects)
    written, authors = [*map(without_quote_heads, bodies)], [each.author or "" for each in objects]
    for each, own in zip(objects, own_words(written, [each.date for each in objects], authors), strict=True):
        said = _LANGUAGE.fullmatch((stated.first(each.iri, _IN_LANGUAGE) or "").strip())
        yield ObjectText(
            object=each.iri,
            capture=stated.capture,
            type=each.type,
            url=each.url,
            text=own.text,
            title=each.title or "",
            author=each.author if each.author and len(each.author) <= MAX_NAME else "",
            published=each.date or "",
            captured=row.fetched_at,
            language=said[1].lower() if said else "",
            part_of=each.part_of or "",
            site=site_of(row.url),
            is_in_thread=_THREAD in stated.values.get(each.part_of or "", {}).get(v.RDF_TYPE, ()),
            quoted=tuple(objects[at].iri for at in own.quoted),
        )


@dataclass(frozen=True, slots=True)
class OwnWords:
    """A text with blanks in the place of what earlier ones of its page say, and the numbers of those that it quotes."""

    text: str
    quoted: tuple[int, ...] = ()


def own_words(texts: Sequence[str], dates: Sequence[str | None], authors: Sequence[str] = ()) -> list[OwnWords]:
    """Return the texts of a page without what they quote of earlier ones. Every text keeps its length.

    What stands in a line before a quote goes with it where it begins with one of the authors and has a colon.

    They are in the order of their dates where all have one, ISO 8601 in UTC, and in that of the page otherwise. A text
    quotes another one whose words stand behind a sign such as ``>``, or ten of whose words it has in a row that no
    third one has.

    >>> own = own_words(["See what the sea does to us.", "Ann: > See what the sea does to us. Oh!"], ["", ""])[1]
    >>> own.text, own.quoted
    ('Ann: >                            . Oh!', (0,))
    """
    found, runs = [OwnWords(text) for text in texts], [_runs(text) for text in texts]
    different = [set(each) for each in runs]
    if len(set().union(*different)) == sum(map(len, different)):
        return found  # No two of them have as many words in a row, as on most pages.
    order = sorted(range(len(texts)), key=lambda at: dates[at] or "") if all(dates) else range(len(texts))
    words = [list(_WORD.finditer(text)) for text in texts]
    names = tuple(filter(None, authors))
    first, shared = dict[tuple[str, ...], int](), Counter(run for each in different for run in each)
    for at in order:
        said = bytearray(len(words[at]))
        for start, run in enumerate(runs[at]):
            if run in first:
                said[start : start + MIN_QUOTED] = b"\1" * MIN_QUOTED
        if 0 < sum(said) < _MAX_QUOTED_SHARE * len(said):
            stretches = [[*run] for is_said, run in groupby(range(len(said)), key=said.__getitem__) if is_said]
            quoted = set[int]()
            for each in stretches:
                own = [run for run in runs[at][each[0] : each[-1] + 1] if run in first]
                before = texts[at][words[at][each[0] - 1].end() if each[0] else 0 : words[at][each[0]].start()]
                if _QUOTING.search(before) or (len(each) >= MIN_REPEATED and all(shared[run] == 2 for run in own)):
                    quoted |= {first[run] for run in own}
            places = [
                (_beginning(texts[at], words[at][each[0]].start(), names), words[at][each[-1]].end())
                for each in stretches
            ]
            found[at] = OwnWords(_blanked(texts[at], places), tuple(sorted(quoted)))
        for run in runs[at]:
            first.setdefault(run, at)
    return found


def _beginning(text: str, start: int, names: tuple[str, ...]) -> int:
    """Return where a quote begins with what is said of it in front, such as whose words they are."""
    line = text.rfind("\n", 0, start) + 1
    head = text[line:start]
    is_head = len(head) <= _MAX_HEAD and ":" in head and head.lstrip(" >|").startswith(names)
    return line if is_head else start


def _runs(text: str) -> list[tuple[str, ...]]:
    plain = [word.casefold() for word in _WORD.findall(text)]
    return list(zip(*(plain[at:] for at in range(MIN_QUOTED)), strict=False))


def _blanked(text: str, places: Iterable[tuple[int, int]]) -> str:
    pieces, end = [], 0
    for start, until in places:
        pieces += [text[end:start], " " * (until - start)]
        end = until
    return "".join([*pieces, text[end:]])


def with_language(given: ObjectText, known: str | None = None) -> ObjectText:
    """Return an object with the language of its text where the reading does not know it, and the text tells it.

    ``known`` is what is known to come of that.
    """
    if given.language:
        return given
    return replace(given, language=told_language(given.text) if known is None else known)


@lru_cache(maxsize=1)
def told_language(text: str) -> str:
    """Return the language that a text tells, by its code of ISO 639-1; empty where it is in doubt."""
    return language_of(text) or ""


def version_key(given: ObjectText) -> bytes:
    """Return what a version of an object is known by: captures that have the same of it have the same version."""
    said = given.object, given.type, given.text, given.title, given.author, given.published, given.part_of
    written = "\0".join((*said, given.language)).encode("utf-8", "surrogatepass")
    return blake2b(written, digest_size=16).digest()


class Assigned(NamedTuple):
    """The versions of objects that are annotated at a capture, by their keys: the first that has them.

    ``languages`` are those of their texts as far as they have been told already, None where they have not.
    """

    site: str
    capture: str
    keys: tuple[bytes, ...]
    languages: tuple[str | None, ...] = ()

    @property
    def given(self) -> str:
        """A digest of them."""
        return blake2b(b"".join(self.keys), digest_size=16).hexdigest() if self.keys else ""


class Survey:
    """The versions of all objects in a crawl's folder, as they were when it was made.

    Memory use does not grow with their number; captures that were taken down are left out. The texts of the newest
    versions lie in a temporary file once they have been asked for, since steps read them many times.
    """

    def __init__(self, base: sqlite3.Connection, crawl: Path) -> None:
        self._base, self._crawl = base, crawl
        self._newest: KeptTexts | None = None

    @classmethod
    def of(cls, crawl: Path) -> Self:
        """Survey a crawl's folder. Raises ``ReadError``."""
        base, taken = sqlite3.connect("", isolation_level=None), TakenDown.of(crawl)
        base.executescript(_TABLES)
        base.execute("BEGIN")
        for stated in Statements.of(crawl).each(read_statements):
            if not taken.covers(stated.row.url):
                base.executemany(_SEE, map(_sighting, object_texts(stated)))
        base.execute("COMMIT")
        base.execute("CREATE INDEX version_by_object ON version (object, last)")
        base.execute("CREATE INDEX version_by_capture ON version (capture)")
        return cls(base, crawl)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._base.close()
        if self._newest is not None:
            self._newest.close()

    def captures(self) -> Iterator[Assigned]:
        """Yield each capture at which versions are annotated, site by site."""
        rows = self._base.execute("SELECT site, capture, key, language FROM version ORDER BY site, capture, key")
        for (site, capture), group in groupby(rows, lambda row: (row[0], row[1])):
            own = list(group)
            yield Assigned(site, capture, tuple(row[2] for row in own), tuple(row[3] for row in own))

    def know_languages(self, told: Mapping[str, str]) -> None:
        """Keep what languages versions of objects are in, given by their keys in hexadecimal digits."""
        rows = ((language, bytes.fromhex(key)) for key, language in told.items())
        self._base.executemany("UPDATE version SET language = ? WHERE key = ?", rows)

    def has(self, capture: str) -> bool:
        """Return whether versions are annotated at a capture."""
        return self._base.execute("SELECT 1 FROM version WHERE capture = ? LIMIT 1", (capture,)).fetchone() is not None

    def newest(self) -> "KeptTexts":
        """Return each object once, in its newest version, site by site. Raises ``ReadError``."""
        if self._newest is None:
            newest = KeptTexts()
            newest.keep(map(packed, self._read_newest()))
            self._newest = newest
        return self._newest

    def _read_newest(self) -> Iterator[ObjectText]:
        rows = self._base.execute(
            "SELECT capture, key, language FROM version kept WHERE NOT EXISTS (SELECT 1 FROM version later "
            "WHERE later.object = kept.object AND (later.last, later.key) > (kept.last, kept.key)) "
            "ORDER BY site, capture, key"
        )
        with closing(Sources(self._crawl)) as sources:
            for capture, group in groupby(rows, lambda row: row[0]):
                languages = {row[1]: row[2] for row in group}
                for each in sources.versions(capture, languages):
                    yield with_language(each, languages[version_key(each)])

    def digest(self) -> bytes:
        """Return what tells the newest versions of all objects from others."""
        total = 0
        for key, last in self._base.execute("SELECT key, last FROM version"):
            total += int.from_bytes(blake2b(key + last.encode(), digest_size=16).digest())
        return (total % (1 << 128)).to_bytes(16)


class KeptTexts:
    """Objects in a temporary file, which steps of all objects read many times."""

    def __init__(self) -> None:
        self._base = sqlite3.connect("", isolation_level=None)
        self._base.execute("CREATE TABLE object (place INTEGER PRIMARY KEY, packed BLOB NOT NULL)")

    def keep(self, some: Iterable[bytes]) -> None:
        """Add objects, each as ``packed`` returns it."""
        with transaction(self._base):
            self._base.executemany("INSERT INTO object (packed) VALUES (?)", ((each,) for each in some))

    def packed(self) -> Iterator[bytes]:
        """Yield the objects in their order, for another process that keeps them."""
        for (each,) in self._base.execute("SELECT packed FROM object ORDER BY place"):
            yield each

    def __iter__(self) -> Iterator[ObjectText]:
        for each in self.packed():
            yield ObjectText(*marshal.loads(each))  # noqa: S302 - a process of this run wrote it

    def close(self) -> None:
        """Remove the file."""
        self._base.close()


def packed(given: ObjectText) -> bytes:
    """Return the fields of an object in the form that Python reads fastest."""
    return marshal.dumps(_fields(given))


class Sources:
    """Reads versions of objects where captures state them."""

    def __init__(self, crawl: Path) -> None:
        self._statements = CrawlStatements(crawl)

    def versions(self, capture: str, keys: Iterable[bytes]) -> Iterator[ObjectText]:
        """Yield versions of objects that a capture has. Raises ``ReadError``."""
        wanted, stated = set(keys), self._statements.reading(capture)
        for each in object_texts(stated) if stated is not None else ():
            if (key := version_key(each)) in wanted:
                wanted.discard(key)
                yield each

    def close(self) -> None:
        """Let go of what is known of the crawl."""
        self._statements.forget()


def _sighting(given: ObjectText) -> dict[str, object]:
    return {
        "key": version_key(given),
        "object": blake2b(given.object.encode("utf-8", "surrogatepass"), digest_size=12).digest(),
        "site": given.site,
        "at": given.captured,
        "capture": given.capture,
    }
