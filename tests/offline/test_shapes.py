"""What is written keeps to the shapes, and what breaks the vocabulary does not."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
import rdflib

from aahcrawler.helper import ApplicationAwareHelper
from aahcrawler.objects.versions import Changes
from aahcrawler.objects.writer import CaptureDescription, statements
from aahcrawler.webobject import Container, Person, Reference, WebObject
from tests.crawl.articles import article, english
from tests.crawl.crawling import aah, rows, running, write_icd
from tests.crawl.gate import Gate
from tests.crawl.site import Site, links, serving
from tests.helper.saved_pages import NOW, saved_pages
from tests.objects.samples import CAPTURE, GRAPH, PAGE, POST, REPLY
from tests.offline.crawls import write_threads
from tests.offline.shapes import crawl_violations, shapes, violations
from tests.shipped import shipped

PROJECT = Path(__file__).parents[2]
SOUND = statements(CAPTURE, [POST, REPLY])


def test_a_page_described_by_hand_passes() -> None:
    assert violations(SOUND) == []


def test_a_crawl_of_several_captures_passes(tmp_path: Path) -> None:
    write_threads(tmp_path, range(4))
    assert crawl_violations(tmp_path) == []


def test_a_crawl_passes_and_is_asked_while_it_runs(tmp_path: Path) -> None:
    pages = {f"/flood/{number}.html": article(number, "/") for number in range(1, 30)}
    gate = Gate(free=5)
    site = Site({"/": english("Floods", links(*pages)), **{path: gate.holding(page) for path, page in pages.items()}})
    with serving(site) as served, running("crawl", write_icd(tmp_path, served.url)) as crawl:
        folder = tmp_path / "crawl"
        crawl.until(lambda: gate.held > 0)
        assert any((folder / "objects").glob("*.open"))
        during = aah("query", folder, "ASK { GRAPH ?g { ?g a aah:Capture } }")
        assert during.code == 0, during.err
        gate.open()
        assert crawl.ended().code == 0
    assert crawl_violations(folder) == []
    after = aah(
        "query", folder, "SELECT (COUNT(DISTINCT ?g) AS ?n) { GRAPH ?g { ?g a aah:Capture } }", "--format", "csv"
    )
    assert after.out.split() == ["n", str(len(rows(folder)))]
    assert len(rows(folder)) >= 30


@pytest.mark.slow
@pytest.mark.parametrize("every", [8, pytest.param(1, marks=pytest.mark.soak)])
def test_the_objects_of_saved_pages_pass(every: int) -> None:
    helper = ApplicationAwareHelper(shipped())
    written = b""
    for number, saved in enumerate(saved_pages()[::every]):
        description = CaptureDescription(f"urn:uuid:{number}", saved.page.url, 200, NOW)
        found = helper.assist(saved.page)
        written += statements(description, found.objects, found.containers)
    assert written.count(b"objectType") > 100 / every
    assert written.count(b"has_container") > 20 / every
    assert violations(written) == []


@pytest.mark.parametrize("kind", ["thread", "forum", "question", "answer", "article", "image", "profile", "a b"])
def test_every_type_of_object_passes_with_values_that_pages_have(kind: str) -> None:
    found = WebObject(
        f"{PAGE}#x y",
        kind,
        PAGE,
        {
            "title": ("", "\x00 \U0001f6b2"),
            "author": (Person(" "), Person("Jo", "no address"), "a name"),
            "date": ("yesterday",),
            "links": (Reference("mailto:x"), Reference("no address")),
            "url": ("somewhere",),
            "tags": ("a", 3),
        },
    )
    assert violations(statements(CAPTURE, [found])) == []


@pytest.mark.parametrize(
    ("sound", "broken"),
    [
        (rb"<[^>]*status> \"200\"", b'<urn:aahcrawler:term:status> "20"'),
        (rb"terminal", b"final"),
        (rb"\"0.25\"", b'"1.25"'),
        (rb"05\.600000Z", b"05.600000"),
        (rb"\"true\"\^\^<[^>]*>", b'"true"'),
        (rb"forum.test/\"\^\^<[^>]*anyURI>", b'forum.test/"'),
        (rb"#p1> <[^>]*objectType> \"post\"", b'#p1> <urn:x> "post"'),
        (rb"#p1> <[^>]*objectType> \"post\"", b'#p1> <urn:aahcrawler:term:objectType> "article"'),
        (rb"#p1> <[^>]*wasDerivedFrom> <[^>]*>", b"#p1> <http://www.w3.org/ns/prov#wasDerivedFrom> <urn:x>"),
        (rb"2020-05-06T07:08:09Z", b"2020-05-06T07:08:09"),
        (rb"<[^>]*name> \"Jane Doe\"", b'<https://schema.org/name> "Jane  Doe"'),
        (rb"<[^>]*name> \"Jane Doe\"", b'<urn:x> "Jane Doe"'),
        (rb"<[^>]*isPartOf> <[^>]*>", b'<https://schema.org/isPartOf> "a thread"'),
        (rb"<https://schema.org/Person>", b"<urn:x>"),
        (rb"<https://schema.org/DiscussionForumPosting>", b"<http://rdfs.org/sioc/ns#Post>"),
    ],
)
def test_what_breaks_the_vocabulary_does_not_pass(sound: bytes, broken: bytes) -> None:
    changed, times = re.subn(sound, broken, SOUND)
    assert times >= 1
    assert len(violations(changed)) == 1


CHANGED = statements(
    replace(
        CAPTURE,
        crawl="urn:aahcrawler:crawl:demo:2",
        revision_of="urn:uuid:1",
        changes=Changes((), (POST.iri,), (PAGE,)),
    ),
    [POST, REPLY],
    [Container(PAGE, "thread", "Bikes", "http://forum.test/f"), Container("http://forum.test/f", "forum")],
)


def test_what_became_of_objects_passes() -> None:
    assert violations(CHANGED) == []
    assert violations(statements(replace(CAPTURE, unchanged="urn:uuid:1", status=304))) == []


@pytest.mark.parametrize(
    ("sound", "broken"),
    [
        (rb"crawl:demo:2", b"crawl:demo:0"),
        (rb"(wasRevisionOf>) <urn:uuid:1>", rb"\1 <http://forum.test/>"),
        (rb"(edited>) <[^>]*>", rb'\1 "a post"'),
        (rb"<[^>]*specializationOf> <[^>]*>", b"<urn:x> <urn:y>"),
        (rb"<urn:aahcrawler:version:00000000", b"<urn:version:"),
        (rb"(has_container>) <[^>]*>", rb"\1 <http://forum.test/other>"),
        (rb"<http://rdfs.org/sioc/ns#Forum>", b"<urn:x>"),
    ],
)
def test_what_breaks_the_history_does_not_pass(sound: bytes, broken: bytes) -> None:
    changed, times = re.subn(sound, broken, CHANGED)
    assert times >= 1
    assert len(violations(changed)) == 1


def test_two_captures_in_one_graph_do_not_pass() -> None:
    other = statements(CAPTURE, [POST]).replace(b"Z", b"1Z", 1)
    assert GRAPH in str(violations(SOUND + other.replace(b"05.600000", b"06.600000")))


def test_the_shapes_name_every_property_of_the_vocabulary() -> None:
    text = (PROJECT / "docs" / "vocabulary.md").read_text("utf-8")
    named = set(re.findall(r"`((?:schema|dcterms|aah|prov):[a-zA-Z]+)`", text.split("## A page worked through")[0]))
    graph = shapes()
    named_paths = [path for path in graph.objects(None, rdflib.SH.path) if isinstance(path, rdflib.URIRef)]
    paths = {graph.namespace_manager.curie(path) for path in named_paths}
    absent = {name for name in named if name.partition(":")[2][0].islower()} - paths
    assert absent <= {"schema:image", "schema:video", "aah:type", "aah:property", "prov:wasRevisionOf"}
