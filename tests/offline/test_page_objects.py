"""What was found on a page, by its address."""

from dataclasses import replace
from pathlib import Path

from aahcrawler.objects import vocabulary as v
from aahcrawler.objects.versions import Changes
from aahcrawler.objects.writer import CaptureDescription
from aahcrawler.webobject import Reference, WebObject
from offline.store.loading import load
from offline.store.local import LocalStore
from offline.store.queries import captures_of, objects_of, page_objects
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


def unchanged(number: int) -> CaptureDescription:
    """Describe a capture of the first thread that has the payload of the first one."""
    return replace(capture(number, thread=1), unchanged=graph(1), status=304)


def test_the_objects_of_an_unchanged_page_are_those_stated_last(tmp_path: Path) -> None:
    page = THREAD.format(1)
    with writer(tmp_path) as objects:
        objects.write(capture(1, thread=1), [post(1, 1, "ann", "old")])
        objects.write(unchanged(2))
        objects.write(unchanged(3), [post(1, 1, "ann", "understood anew")])
        objects.write(unchanged(4))
    with LocalStore(tmp_path / "kept") as store:
        load(tmp_path, store)
        said = [[known.values[v.BODY] for known in objects_of(store.rdf, graph(number))] for number in (1, 2, 3, 4)]
        assert said == [[("old",)], [("old",)], [("understood anew",)], [("understood anew",)]]
        assert page_objects(store.rdf, page) == objects_of(store.rdf, graph(4))


def test_versions_are_no_objects_of_a_page(tmp_path: Path) -> None:
    page = THREAD.format(1)
    with writer(tmp_path) as objects:
        objects.write(capture(1, thread=1), [post(1, 1, "ann", "old")])
        edited = Changes(edited=(f"{page}#p1",))
        objects.write(replace(capture(2, thread=1), revision_of=graph(1), changes=edited), [post(1, 1, "ann", "new")])
    with LocalStore(tmp_path / "kept") as store:
        load(tmp_path, store)
        assert [known.iri for known in page_objects(store.rdf, page)] == [f"{page}#p1"]
