"""Several crawls of one forum: what was added, edited, moved and deleted."""

import csv
import io
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pyoxigraph as ox
import pytest
import rdflib
from rdflib.query import ResultRow
from typer.testing import CliRunner

from aahcrawler.cli import app
from aahcrawler.objects import vocabulary as v
from aahcrawler.objects.reader import object_rows, statements
from aahcrawler.objects.versions import compare, version
from aahcrawler.objects.writer import CaptureDescription, ObjectWriter
from aahcrawler.webobject import Container, WebObject
from offline.store.loading import load
from offline.store.local import LocalStore
from offline.store.queries import objects_of, page_objects, ready_query
from tests.offline.crawls import BEGUN, THREAD, capture, graph, post, writer
from tests.offline.shapes import crawl_violations

PAGES = [THREAD.format(1), f"{THREAD.format(1)}?page=2"]
FORUM = Container("http://forum.test/f/1", "forum", "Boats")
CONTAINERS = (Container(PAGES[0], "thread", "The leak", FORUM.iri), FORUM)


def said(place: int, body: str, *, title: str = "", author: str = "ann") -> WebObject:
    return post(1, place, author, body, title=title, day=place)


FIRST = [said(1, "It leaks.", title="The leak"), said(2, "Where?", author="bob"), said(3, "I see.", author="cy")]
SECOND = [said(4, "Below."), said(5, "Spam!", author="eve")]


class Crawls:
    """Writes captures of the two pages of a thread, one crawl after another."""

    def __init__(self, objects: ObjectWriter) -> None:
        self._objects = objects
        self._number = 0
        self._known: dict[str, tuple[str, Sequence[WebObject]]] = {}

    def crawl(self, number: int, *pages: Sequence[WebObject]) -> None:
        for url, found in zip(PAGES, pages, strict=True):
            self._number += 1
            description = replace(
                capture(self._number),
                url=url,
                fetched_at=BEGUN + timedelta(days=number, minutes=self._number),
                crawl=v.crawl("demo", number),
            )
            self._write(description, found)

    def _write(self, description: CaptureDescription, found: Sequence[WebObject]) -> None:
        former, known = self._known.get(description.url, (None, ()))
        if former is not None and found == known:
            self._objects.write(replace(description, unchanged=former, status=304))
            return
        self._known[description.url] = (description.iri, found)
        if former is None:
            self._objects.write(description, found, CONTAINERS)
        else:
            changed = replace(description, revision_of=former, changes=compare(known, found))
            self._objects.write(changed, found, CONTAINERS)


@pytest.fixture(scope="module")
def crawl(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return three crawls of a thread of two pages.

    In the second, post 2 is gone, so that post 4 moved to the first page, where post 1 is edited; in the third, spam
    is gone, one is written, and the first page is as before.
    """
    folder = tmp_path_factory.mktemp("crawl")
    edited = [said(1, "It leaks a lot.", title="The leak"), FIRST[2], SECOND[0]]
    with writer(folder) as objects:
        crawls = Crawls(objects)
        crawls.crawl(1, FIRST, SECOND)
        crawls.crawl(2, edited, [SECOND[1]])
        crawls.crawl(3, edited, [said(6, "Fixed.")])
    return folder


def rows(crawl: Path, *arguments: str) -> list[dict[str, str]]:
    result = CliRunner().invoke(app, ["query", str(crawl), *arguments, "--format", "csv"])
    assert result.exit_code == 0, result.output
    return list(csv.DictReader(io.StringIO(result.stdout, newline="")))


def ready(crawl: Path, name: str, *given: str) -> list[dict[str, str]]:
    return rows(crawl, "--ready", name, *(word for pair in given for word in ("--arg", pair)))


def place(iri: str) -> int:
    return int(iri.rpartition("#p")[2])


def test_edited_posts_are_told_with_both_texts(crawl: Path) -> None:
    (found,) = ready(crawl, "edited-posts")
    assert list(found) == ["found", "author", "title", "before", "after", "post"]
    assert (found["before"], found["after"]) == ("It leaks.", "It leaks a lot.")
    assert (found["author"], found["title"], found["post"]) == ("ann", "The leak", FIRST[0].iri)
    assert found["found"] == "2026-01-04T03:07:05Z"


def test_deleted_posts_are_told_and_moved_ones_are_not(crawl: Path) -> None:
    found = ready(crawl, "deleted-posts")
    assert [(place(row["post"]), row["author"], row["last"]) for row in found] == [
        (5, "eve", "Spam!"),
        (2, "bob", "Where?"),
    ]
    assert len(ready(crawl, "deleted-posts", "limit=1")) == 1
    assert {place(row.iri) for row in object_rows(crawl) if row.deleted} == {2, 5}
    assert {row.deleted for row in object_rows(crawl)} == {None, *(row["found"] for row in found)}


def test_every_object_is_listed_once_deleted_ones_too(crawl: Path) -> None:
    assert sorted(place(row.iri) for row in object_rows(crawl)) == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize(
    ("since", "to", "places"), [(1, 2, []), (1, 3, [6]), (2, 3, [6]), (0, 1, [1, 2, 3, 4, 5]), (3, 4, [])]
)
def test_posts_added_between_two_crawls(crawl: Path, since: int, to: int, places: list[int]) -> None:
    found = ready(crawl, "added-posts", f"from={since}", f"to={to}")
    assert [place(row["post"]) for row in found] == places
    assert all(row["crawl"] == ("3" if row["post"].endswith("6") else "1") for row in found)


def test_a_page_that_did_not_change_still_has_its_objects(crawl: Path) -> None:
    with LocalStore(crawl / "kept") as store:
        load(crawl, store)
        assert [place(known.iri) for known in page_objects(store.rdf, PAGES[0])] == [1, 3, 4]
        assert objects_of(store.rdf, graph(5)) == objects_of(store.rdf, graph(3))
        assert [known.values[v.BODY] for known in page_objects(store.rdf, PAGES[1])] == [("Fixed.",)]


def test_versions_of_an_edited_post_are_linked(crawl: Path) -> None:
    query = """SELECT ?new ?old ?capture ?former ?post { GRAPH ?g {
        ?new prov:wasRevisionOf ?old ; prov:specializationOf ?post ; prov:wasDerivedFrom ?capture .
        ?old prov:specializationOf ?post ; prov:wasDerivedFrom ?former .
    } }"""
    (found,) = rows(crawl, query)
    iri = FIRST[0].iri
    assert found == {
        "new": version(graph(3), iri),
        "old": version(graph(1), iri),
        "capture": graph(3),
        "former": graph(1),
        "post": iri,
    }


def test_thread_and_forum_are_things_and_no_web_objects(crawl: Path) -> None:
    query = """SELECT DISTINCT ?thread ?about ?forum ?name { GRAPH ?g {
        ?thread a sioc:Thread ; dcterms:title ?about ; sioc:has_container ?forum .
        ?forum a sioc:Forum ; dcterms:title ?name } }"""
    assert rows(crawl, query) == [{"thread": PAGES[0], "about": "The leak", "forum": FORUM.iri, "name": "Boats"}]
    assert {row.type for row in object_rows(crawl)} == {"post"}
    (about,) = ready(crawl, "threads-about", "word=leaks")
    assert (about["thread"], about["about"], about["mentions"]) == (PAGES[0], "The leak", "1")


def test_what_is_said_of_the_past_keeps_to_the_shapes(crawl: Path) -> None:
    assert crawl_violations(crawl) == []


@pytest.mark.filterwarnings("ignore:Dataset:DeprecationWarning")  # rdflib uses of its own what it warns of
@pytest.mark.parametrize(
    ("name", "given"), [("edited-posts", {}), ("deleted-posts", {}), ("added-posts", {"from": 1, "to": 3})]
)
def test_rdflib_answers_alike(crawl: Path, name: str, given: dict[str, int]) -> None:
    store = ox.Store()
    store.load("".join(statements(crawl)).encode(), ox.RdfFormat.N_QUADS)
    dataset = rdflib.Dataset()
    dataset.parse(data="".join(statements(crawl)), format="nquads")
    chosen = ready_query(name)
    bound = {key: rdflib.Literal(value) for key, value in given.items()}
    theirs = {
        str(row.asdict()["post"])
        for row in dataset.query(chosen.text, initBindings=bound)
        if isinstance(row, ResultRow)
    }
    table = chosen.run(store, {key: str(value) for key, value in given.items()})
    column = table.names.index("post")
    ours = {term.value for row in table.rows if isinstance(term := row[column], ox.NamedNode)}
    assert ours == theirs != set()
