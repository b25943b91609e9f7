"""Asks a crawl's RDF about its pages: answers to SPARQL queries, and dates of publication."""

import sqlite3
from itertools import islice
from pathlib import Path

import pyoxigraph as ox

from aahcrawler import urls
from aahcrawler.objects import vocabulary as v
from aahcrawler.objects.reader import statements
from offline.selection.criteria import Criteria
from offline.store.loading import load, objects_folder
from offline.store.local import FOLDER, LocalStore
from offline.store.queries import QueryError, Table, ask

_VARIABLE = "page"
_BATCH = 10_000
_PATIENCE = 10.0
"""The seconds that another command may use the store before this one gives up."""
_DATED = f" <{v.DATE}> "


class Names:
    """A set of texts that lies on disk and goes when it is closed."""

    def __init__(self) -> None:
        self._known = sqlite3.connect("")
        self._known.execute("CREATE TABLE name (text TEXT PRIMARY KEY) WITHOUT ROWID")

    def add(self, text: str) -> None:
        """Take in a text."""
        self._known.execute("INSERT OR IGNORE INTO name VALUES (?)", (text,))

    def __contains__(self, text: str) -> bool:
        return self._known.execute("SELECT 1 FROM name WHERE text = ?", (text,)).fetchone() is not None

    def close(self) -> None:
        """Forget everything."""
        self._known.close()


def published(crawl: Path, criteria: Criteria) -> Names:
    """Return the captures with an object whose date of publication is within the time asked for.

    Raises ``ReadError``.
    """
    found = Names()
    dated = (line for line in statements(crawl) if _DATED in line)
    while batch := "".join(islice(dated, _BATCH)):
        for _, predicate, value, graph in ox.parse(batch, ox.RdfFormat.N_QUADS, lenient=True):
            if predicate.value == v.DATE and isinstance(graph, ox.NamedNode) and criteria.within(value.value):
                found.add(graph.value)
    return found


def answers(crawl: Path, sparql: str) -> frozenset[str]:
    """Return the captures and canonical URLs that a SELECT query finds in a crawl's store.

    They are the values of ``?page``, else of the query's first variable. The new part of the crawl is loaded first.
    Raises ``LoadError``, ``StoreError`` and ``QueryError``.
    """
    folder = objects_folder(crawl).parent / FOLDER
    found: set[str] = set()
    with LocalStore(folder, _PATIENCE) as local:
        load(crawl, local)
        answer = ask(local.rdf, sparql)
        if not isinstance(answer, Table):
            raise QueryError("write a query that begins with SELECT ?page")
        place = answer.names.index(_VARIABLE) if _VARIABLE in answer.names else 0
        for row in answer.rows:
            value = row[place]
            if isinstance(value, ox.NamedNode | ox.Literal):
                found.add(urls.canonicalize(value.value) or value.value)
        del answer
    return frozenset(found)
