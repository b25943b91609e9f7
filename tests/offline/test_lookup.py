"""What was found on a page, by its address."""

from pathlib import Path

from aahcrawler.objects import vocabulary as v
from aahcrawler.webobject import Reference, WebObject
from offline.store.loading import load
from offline.store.local import LocalStore
from offline.store.lookup import captures_of, objects_of, page_objects
from tests.offline.crawls import THREAD, capture, graph, post, writer


def test_the_objects_of_a_page_are_those_of_its_newest_capture(tmp_path: Path) -> None:
    page = THREAD.format(1)
    quoting = WebObject("http://forum.test/q", "post", THREAD.format(2), {"url": (Reference(page),)})
    with writer(tmp_path) as objects:
        objects.write(capture(9, thread=1), [post(1, 1, "ann", "new"), post(1, 2, "bob", "other")])
        objects.write(capture(1), [post(1, 1, "ann", "old")])
        objects.write(capture(2), [quoting])
        objects.write(capture(3))
    with LocalStore(tmp_path / "kept") as store:
        load(tmp_path, store)
        assert captures_of(store.rdf, page) == (graph(9), graph(1))
        found = page_objects(store.rdf, page)
        assert [known.iri for known in found] == [f"{page}#p1", f"{page}#p2"]
        assert [known.values[v.BODY] for known in found] == [("new",), ("other",)]
        assert found[0].values[v.AUTHOR] == ("http://forum.test/u/ann#person",)
        assert [known.values[v.BODY] for known in objects_of(store.rdf, graph(1))] == [("old",)]
        assert page_objects(store.rdf, THREAD.format(3)) == page_objects(store.rdf, "http://forum.test/none") == ()
