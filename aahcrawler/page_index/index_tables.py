"""The tables of the index of pages and objects."""

from typing import Final

TABLES: Final = (
    """CREATE TABLE capture (
  id INTEGER PRIMARY KEY, record TEXT NOT NULL UNIQUE, at INTEGER NOT NULL, fetched_at TEXT NOT NULL, url TEXT NOT NULL,
  site TEXT NOT NULL, crawl INTEGER NOT NULL, status INTEGER NOT NULL, media_type TEXT, application TEXT, level TEXT,
  role TEXT, score REAL, relevant INTEGER, priority REAL, depth INTEGER, via TEXT, unchanged TEXT, former TEXT,
  trap TEXT, is_page INTEGER NOT NULL, is_requisite INTEGER NOT NULL, objects INTEGER NOT NULL, method TEXT NOT NULL,
  read_at TEXT NOT NULL, segment INTEGER NOT NULL, place INTEGER NOT NULL, title TEXT,
  folded TEXT
)""",
    """CREATE INDEX capture_at ON capture (
  at, id, url, status, application, level, role, relevant, site, trap, crawl, is_requisite, folded, media_type
)""",
    "CREATE INDEX capture_url ON capture (url, at)",
    "CREATE INDEX capture_unchanged ON capture (unchanged) WHERE unchanged IS NOT NULL",
    """CREATE TABLE judged (
  url INTEGER NOT NULL, at INTEGER NOT NULL, segment INTEGER NOT NULL, place INTEGER NOT NULL,
  PRIMARY KEY (url, at, segment, place)
) WITHOUT ROWID""",
    """CREATE TABLE object (
  id INTEGER PRIMARY KEY, iri TEXT NOT NULL UNIQUE, type TEXT NOT NULL, url TEXT NOT NULL, title TEXT, author TEXT,
  date TEXT, excerpt TEXT, part_of TEXT, inferred TEXT, capture INTEGER NOT NULL, at INTEGER NOT NULL, deleted TEXT
)""",
    "CREATE INDEX object_type ON object (type, id)",
    "CREATE INDEX object_published ON object (date)",
    "CREATE INDEX object_author ON object (type, id) WHERE author IS NULL",
    "CREATE INDEX object_date ON object (type, id) WHERE date IS NULL",
    "CREATE INDEX object_title ON object (type, id) WHERE title IS NULL",
    """CREATE TABLE sighting (
  object INTEGER NOT NULL, capture INTEGER NOT NULL, PRIMARY KEY (object, capture)
) WITHOUT ROWID""",
    "CREATE INDEX sighting_capture ON sighting (capture)",
    """CREATE TABLE deletion (
  iri TEXT PRIMARY KEY, at INTEGER NOT NULL, deleted_at TEXT NOT NULL, record TEXT NOT NULL,
  crawl INTEGER NOT NULL, former TEXT
)""",
    """CREATE VIRTUAL TABLE words USING fts5(
  type, title, author, excerpt, content = 'object', content_rowid = 'id', tokenize = "unicode61 remove_diacritics 2"
)""",
    """CREATE TABLE tally (
  crawl INTEGER NOT NULL, topic TEXT NOT NULL, name TEXT NOT NULL, n INTEGER NOT NULL, PRIMARY KEY (crawl, topic, name)
) WITHOUT ROWID""",
    "CREATE TABLE course (crawl INTEGER PRIMARY KEY, width INTEGER NOT NULL, points TEXT NOT NULL)",
)
