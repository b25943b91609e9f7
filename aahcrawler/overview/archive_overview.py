"""The counts of several folders of crawls and imports together, added up from the index of pages in each folder."""

import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Self

from pydantic import BaseModel, ConfigDict, ValidationError

from aahcrawler.layout import FORMER, SUMMARY

MAX_NAMES: Final = 50
"""Sites, applications and media types that are named, the most frequent first; the others are one number."""
KINDS: Final = ("new", "changed", "unchanged", "gone")
"""What a page may be, beside the crawl before."""
_TABLES: Final = (
    "CREATE TABLE tally (topic TEXT, name TEXT, n INTEGER, PRIMARY KEY (topic, name)) WITHOUT ROWID",
    "CREATE TABLE site (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, pages INTEGER, weight INTEGER)",
    """CREATE TABLE edge (source INTEGER, target INTEGER, n INTEGER, first INTEGER, last INTEGER,
  PRIMARY KEY (source, target)) WITHOUT ROWID""",
)
_TALLIES: Final = """
SELECT CASE crawl WHEN 0 THEN 'object ' || topic ELSE topic END, name, sum(n) FROM tally
WHERE topic IN ('captures', 'pages', 'month', 'site', 'application', 'media', 'type', 'published') GROUP BY 1, 2
"""
_ADD: Final = "INSERT INTO tally VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET n = n + excluded.n"
_ADD_SITE: Final = """
INSERT INTO site (name, pages, weight) VALUES (?, ?, ?)
ON CONFLICT (name) DO UPDATE SET pages = pages + excluded.pages, weight = weight + excluded.weight
"""
_SITES: Final = "SELECT name, pages, weight FROM site"
_ADD_EDGE: Final = """
INSERT INTO edge VALUES ((SELECT id FROM site WHERE name = ?), (SELECT id FROM site WHERE name = ?), ?, ?, ?)
ON CONFLICT DO UPDATE SET n = n + excluded.n, first = min(first, excluded.first), last = max(last, excluded.last)
"""
_EDGES: Final = """
SELECT source.name, target.name, n, first, last FROM edge
JOIN site AS source ON source.id = edge.source JOIN site AS target ON target.id = edge.target
"""
_TOP: Final = "SELECT name, n FROM tally WHERE topic = ? AND n > 0 ORDER BY n DESC, name LIMIT ?"
_ALL: Final = "SELECT count(*), coalesce(sum(n), 0) FROM tally WHERE topic = ? AND n > 0"


class GatheredArchives:
    """The sums of several folders' counts and links, in a temporary database, so that memory use does not grow.

    ``base`` has the tables ``tally``, ``site`` and ``edge``. ``is_read`` is True once links have been added.
    """

    def __init__(self) -> None:
        self.base = sqlite3.connect("", check_same_thread=False)
        self.is_read = False
        for statement in _TABLES:
            self.base.execute(statement)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.base.close()

    def add_pages(self, index: sqlite3.Connection) -> None:
        """Add the counts of an open ``PageIndex`` database. Raise ``sqlite3.Error``."""
        self.base.executemany(_ADD, map(tuple, index.execute(_TALLIES)))

    def add_sites(self, index: sqlite3.Connection) -> None:
        """Add the sites and languages of an open ``SiteLinks`` database. Raise ``sqlite3.Error``."""
        self.is_read = True
        languages = index.execute("SELECT topic, name, n FROM tally WHERE topic = 'language'")
        self.base.executemany(_ADD, map(tuple, languages))
        self.base.executemany(_ADD_SITE, map(tuple, index.execute(_SITES)))

    def add_links(self, index: sqlite3.Connection, between: Sequence[str] = ()) -> None:
        """Add the links of an open ``SiteLinks`` database.

        With ``between``, only links between these sites are added; their sites must have been added before.
        """
        marks = ", ".join("?" * len(between))
        condition = f" WHERE source.name IN ({marks}) AND target.name IN ({marks})" if between else ""
        self.base.executemany(_ADD_EDGE, map(tuple, index.execute(_EDGES + condition, (*between, *between))))


class CrawlChange(BaseModel):
    """How many pages of a crawl were new, changed, unchanged or gone since the crawl before.

    ``begun_at`` is ISO 8601.
    """

    model_config = ConfigDict(frozen=True)

    crawl: int
    begun_at: str = ""
    pages: int = 0
    unchanged: int = 0
    changed: int = 0
    new: int = 0
    gone: int = 0

    def changes(self) -> tuple[int, ...]:
        """Return the number of pages of each of ``KINDS``, in that order."""
        return self.new, self.changed, self.unchanged, self.gone


@dataclass(frozen=True, slots=True)
class Ranked:
    """The counts of the most frequent names; how many names there are in all, and the sum of the counts left out."""

    counts: Mapping[str, int] = field(default_factory=dict)
    names: int = 0
    others: int = 0


@dataclass(frozen=True, slots=True)
class Holdings:
    """The counts of one folder or several.

    ``captures`` counts pages, redirects and errors, as lists do. ``months`` counts captures by month, ``published``
    objects by month or year of publication, ``undated`` those without a readable date. ``languages`` counts pages by
    ISO 639-1 code, as far as their text was read; None if no index of links exists.
    """

    captures: int
    pages: int
    objects: int
    undated: int
    months: Mapping[str, int]
    published: Mapping[str, int]
    sites: Ranked
    applications: Ranked
    media: Ranked
    languages: Ranked | None


def holdings(gathered: GatheredArchives) -> Holdings:
    """Return the counts of gathered folders. Raise ``sqlite3.Error``."""
    base = gathered.base

    def ranked(topic: str, most: int = MAX_NAMES) -> Ranked:
        names, total = base.execute(_ALL, (topic,)).fetchone()
        counts = dict(base.execute(_TOP, (topic, most)).fetchall())
        return Ranked(counts, names, total - sum(counts.values()))

    def of_time(topic: str) -> Mapping[str, int]:
        return dict(sorted(ranked(topic, -1).counts.items()))

    def total(topic: str) -> int:
        return int(base.execute(_ALL, (topic,)).fetchone()[1])

    published = of_time("object published")
    return Holdings(
        captures=total("captures"),
        pages=total("pages"),
        objects=total("object type"),
        undated=total("object type") - sum(published.values()),
        months=of_time("month"),
        published=published,
        sites=ranked("site"),
        applications=ranked("application"),
        media=ranked("media"),
        languages=ranked("language") if gathered.is_read else None,
    )


def changes(folder: Path) -> tuple[CrawlChange, ...]:
    """Return, for each crawl of a folder but the first, how its pages changed; the earliest crawl comes first."""
    former = [path / SUMMARY for path in (folder / FORMER).glob("*") if path.name.isdecimal()]
    found = {each.crawl: each for path in (*former, folder / SUMMARY) if (each := _change(path)) is not None}
    return tuple(each for number, each in sorted(found.items()) if number > 1)


def _change(summary: Path) -> CrawlChange | None:
    try:
        return CrawlChange.model_validate_json(summary.read_bytes())
    except (OSError, ValidationError):
        return None
