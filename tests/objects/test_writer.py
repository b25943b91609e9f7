"""N-Quads as they are written: byte for byte, and as two parsers read them."""

import gzip
import io
import math
import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pyoxigraph as ox
import pytest
import rdflib
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from aahcrawler.layout import NQUADS
from aahcrawler.objects import vocabulary as v
from aahcrawler.objects.nquads import iri
from aahcrawler.objects.versions import Changes, version
from aahcrawler.objects.writer import CaptureDescription, ObjectWriter, statements
from aahcrawler.segments import recover
from aahcrawler.webobject import Container, Person, Reference, Value, WebObject
from tests.objects.samples import CAPTURE, FETCHED, GRAPH, POST, REPLY

# rdflib warns of what it does itself while it parses.
pytestmark = pytest.mark.filterwarnings("ignore:(Dataset|ConjunctiveGraph):DeprecationWarning")

EXPECTED = """
<{G}> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <urn:aahcrawler:term:Capture> <{G}> .
<{G}> <https://schema.org/url> "http://forum.test/thread?id=1"^^<{X}anyURI> <{G}> .
<{G}> <urn:aahcrawler:term:status> "200"^^<{X}integer> <{G}> .
<{G}> <http://www.w3.org/ns/prov#generatedAtTime> "2026-01-02T03:04:05.600000Z"^^<{X}dateTime> <{G}> .
<{G}> <http://purl.org/dc/terms/title> "Which “bike”? – A \\"forum\\"" <{G}> .
<{G}> <http://purl.org/dc/terms/format> "text/html" <{G}> .
<{G}> <urn:aahcrawler:term:application> "phpBB" <{G}> .
<{G}> <urn:aahcrawler:term:level> "thread" <{G}> .
<{G}> <urn:aahcrawler:term:levelRole> "terminal" <{G}> .
<{G}> <urn:aahcrawler:term:score> "0.25"^^<{X}double> <{G}> .
<{G}> <urn:aahcrawler:term:relevant> "true"^^<{X}boolean> <{G}> .
<{G}> <urn:aahcrawler:term:priority> "1.5"^^<{X}double> <{G}> .
<{G}> <urn:aahcrawler:term:depth> "2"^^<{X}integer> <{G}> .
<{G}> <urn:aahcrawler:term:via> "http://forum.test/"^^<{X}anyURI> <{G}> .
<http://forum.test/thread?id=1#p1> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://rdfs.org/sioc/ns#Post> <{G}> .
<http://forum.test/thread?id=1#p1> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <https://schema.org/DiscussionForumPosting> <{G}> .
<http://forum.test/thread?id=1#p1> <urn:aahcrawler:term:objectType> "post" <{G}> .
<http://forum.test/thread?id=1#p1> <http://www.w3.org/ns/prov#wasDerivedFrom> <{G}> <{G}> .
<http://forum.test/thread?id=1#p1> <https://schema.org/isPartOf> <http://forum.test/thread?id=1> <{G}> .
<http://forum.test/thread?id=1#p1> <http://purl.org/dc/terms/title> "Which “bike”?" <{G}> .
<http://forum.test/thread?id=1#p1> <https://schema.org/author> <http://forum.test/u/7#person> <{G}> .
<http://forum.test/thread?id=1#p1> <https://schema.org/datePublished> "2020-05-06T07:08:09Z"^^<{X}dateTime> <{G}> .
<http://forum.test/thread?id=1#p1> <https://schema.org/text> "I say \\"none\\".\\nYou?" <{G}> .
<http://forum.test/thread?id=1#p1> <https://schema.org/url> "http://forum.test/thread?id=1&p=1"^^<{X}anyURI> <{G}> .
<http://forum.test/thread?id=1#p1> <https://schema.org/keywords> "bikes" <{G}> .
<http://forum.test/thread?id=1#p1> <https://schema.org/keywords> "C:\\\\" <{G}> .
<http://forum.test/thread?id=1#p1> <urn:aahcrawler:term:property:likes> "3"^^<{X}integer> <{G}> .
<http://forum.test/thread?id=1#p2> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://rdfs.org/sioc/ns#Post> <{G}> .
<http://forum.test/thread?id=1#p2> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <https://schema.org/Comment> <{G}> .
<http://forum.test/thread?id=1#p2> <urn:aahcrawler:term:objectType> "reply" <{G}> .
<http://forum.test/thread?id=1#p2> <http://www.w3.org/ns/prov#wasDerivedFrom> <{G}> <{G}> .
<http://forum.test/thread?id=1#p2> <https://schema.org/isPartOf> <http://forum.test/thread?id=1#p1> <{G}> .
<http://forum.test/thread?id=1#p2> <https://schema.org/author> <urn:aahcrawler:person:forum.test:Bob%20B> <{G}> .
<http://forum.test/thread?id=1#p2> <https://schema.org/text> "Two." <{G}> .
<http://forum.test/thread?id=1#p2> <http://rdfs.org/sioc/ns#reply_of> <http://forum.test/thread?id=1#p1> <{G}> .
<http://forum.test/u/7#person> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <https://schema.org/Person> <{G}> .
<http://forum.test/u/7#person> <https://schema.org/name> "Jane Doe" <{G}> .
<http://forum.test/u/7#person> <https://schema.org/url> "http://forum.test/u/7"^^<{X}anyURI> <{G}> .
<urn:aahcrawler:person:forum.test:Bob%20B> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <https://schema.org/Person> <{G}> .
<urn:aahcrawler:person:forum.test:Bob%20B> <https://schema.org/name> "Bob B" <{G}> .
""".lstrip()  # noqa: E501 - lines of the file

HOSTILE = st.text(st.characters(), max_size=40) | st.sampled_from(
    [
        "http://a.test/x y",
        "http://a.test:x/",
        "http://[::1]:8080/",
        "http://a.test/[a]?{b}|^`\\#c#d",
        "http://a.test/%zz%4",
        "http://ä.test/ü\u00a0\u3000",
        "//a.test/",
        "#f",
        "mailto:a@b",
        "javascript:alert('\"')",
        "http://",
        "a:b:c",
        "\ud800\udc00 \udfff",
        "urn:uuid:<>",
        "_:blank",
    ]
)
VALUES = (
    HOSTILE
    | st.integers()
    | st.floats()
    | st.booleans()
    | st.datetimes(timezones=st.just(UTC))
    | st.builds(Person, HOSTILE, st.none() | HOSTILE)
    | st.builds(Reference, HOSTILE)
)
OBJECTS = st.builds(
    WebObject,
    iri=HOSTILE,
    type=HOSTILE | st.just("post"),
    source_url=HOSTILE,
    properties=st.dictionaries(
        st.sampled_from(["title", "author", "body", "url", "date", "tags"]) | HOSTILE,
        st.lists(VALUES, min_size=1, max_size=3).map(tuple),
        max_size=5,
    ),
    part_of=st.none() | HOSTILE,
)


def oxigraph(data: bytes) -> set[tuple[str, ...]]:
    quads = ox.parse(data, ox.RdfFormat.N_QUADS)
    return {(_plain(q.subject), _plain(q.predicate), _plain(q.object), _plain(q.graph_name)) for q in quads}


def _plain(term: object) -> str:
    assert isinstance(term, ox.NamedNode | ox.Literal), "no blank nodes, no default graph"
    return term.value


def rdflib_of(data: bytes) -> set[tuple[str, ...]]:
    dataset = rdflib.Dataset()
    dataset.parse(data=data, format="nquads")
    quads = list(dataset.quads())
    assert not any(isinstance(term, rdflib.BNode) for quad in quads for term in quad)
    return {tuple(map(str, quad)) for quad in quads}


def stated(value: Value) -> set[tuple[str, ...]]:
    web_object = WebObject("urn:x", "post", "http://a.test/", {"likes": (value,)})
    data = statements(CAPTURE, (web_object,))
    return {quad[2:3] for quad in oxigraph(data) if quad[1].endswith(":likes")}


def test_statements_byte_for_byte() -> None:
    expected = EXPECTED.replace("{G}", GRAPH).replace("{X}", "http://www.w3.org/2001/XMLSchema#")
    assert statements(CAPTURE, (POST, REPLY)).decode().splitlines() == expected.splitlines()


HISTORY = """
<{G}> <http://www.w3.org/ns/prov#wasGeneratedBy> <urn:aahcrawler:crawl:my%20floods:2> <{G}> .
<{G}> <http://www.w3.org/ns/prov#wasRevisionOf> <{F}> <{G}> .
<{G}> <urn:aahcrawler:term:added> <http://a.test/x%20y> <{G}> .
<{G}> <urn:aahcrawler:term:edited> <http://a.test/t#1> <{G}> .
<{G}> <urn:aahcrawler:term:deleted> <http://a.test/t#2> <{G}> .
<{V}2:http%3A%2F%2Fa.test%2Ft%231> <http://www.w3.org/ns/prov#specializationOf> <http://a.test/t#1> <{G}> .
<{V}2:http%3A%2F%2Fa.test%2Ft%231> <http://www.w3.org/ns/prov#wasDerivedFrom> <{G}> <{G}> .
<{V}2:http%3A%2F%2Fa.test%2Ft%231> <http://www.w3.org/ns/prov#wasRevisionOf> <{V}1:http%3A%2F%2Fa.test%2Ft%231> <{G}> .
<{V}1:http%3A%2F%2Fa.test%2Ft%231> <http://www.w3.org/ns/prov#specializationOf> <http://a.test/t#1> <{G}> .
<{V}1:http%3A%2F%2Fa.test%2Ft%231> <http://www.w3.org/ns/prov#wasDerivedFrom> <{F}> <{G}> .
<http://a.test/t> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://rdfs.org/sioc/ns#Thread> <{G}> .
<http://a.test/t> <http://purl.org/dc/terms/title> "A thread" <{G}> .
<http://a.test/t> <http://rdfs.org/sioc/ns#has_container> <http://a.test/f> <{G}> .
<http://a.test/f> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://rdfs.org/sioc/ns#Forum> <{G}> .
"""


def test_what_became_of_objects_and_what_holds_them() -> None:
    description = CaptureDescription(
        "urn:uuid:2",
        "http://a.test/t",
        200,
        FETCHED,
        crawl=v.crawl("my floods", 2),
        revision_of="urn:uuid:1",
        changes=Changes(("http://a.test/x y",), ("http://a.test/t#1",), ("http://a.test/t#2",)),
    )
    thread = Container("http://a.test/t", "thread", "A thread", "http://a.test/f")
    lines = statements(description, (), (thread, Container("http://a.test/f", "forum"))).decode().splitlines()
    names = {"{G}": "urn:uuid:2", "{F}": "urn:uuid:1", "{V}": "urn:aahcrawler:version:"}
    expected = HISTORY.strip()
    for short, name in names.items():
        expected = expected.replace(short, name)
    assert lines[4:] == expected.splitlines()


def test_an_unchanged_page_refers_to_what_it_equals() -> None:
    description = CaptureDescription("urn:uuid:2", "http://a.test/t", 304, FETCHED, unchanged="urn:uuid:1")
    said = {quad[1]: quad[2] for quad in oxigraph(statements(description))}
    assert said[v.UNCHANGED_SINCE] == "urn:uuid:1"
    assert v.REVISION_OF not in said


def test_an_edit_without_a_known_former_capture_has_one_version() -> None:
    description = CaptureDescription(
        GRAPH, "http://a.test/t", 200, FETCHED, changes=Changes((), ("http://a.test/t#1",))
    )
    read = oxigraph(statements(description))
    assert {quad[0] for quad in read if quad[1] == v.SPECIALIZATION_OF} == {version(GRAPH, "http://a.test/t#1")}


@settings(suppress_health_check=list(HealthCheck))
@given(st.lists(HOSTILE, max_size=3), st.lists(st.tuples(HOSTILE, HOSTILE, HOSTILE, st.none() | HOSTILE), max_size=2))
def test_two_parsers_read_the_same_history(names: list[str], held: list[tuple[str, str, str, str | None]]) -> None:
    changes = Changes(tuple(names), tuple(names), tuple(names))
    description = CaptureDescription(
        GRAPH, "http://a.test/", 200, FETCHED, crawl=v.crawl("\ud800 ", 1), revision_of="urn:uuid:1", changes=changes
    )
    data = statements(description, (), [Container(*each) for each in held])
    ours, theirs = ({quad for quad in read(data) if quad[1] != v.GENERATED_AT} for read in (oxigraph, rdflib_of))
    assert ours == theirs
    assert all(quad[3] == GRAPH for quad in oxigraph(data))


def test_unknown_is_left_out() -> None:
    data = statements(CaptureDescription(GRAPH, "http://a.test/", 404, FETCHED))
    assert len(data.splitlines()) == 4


@pytest.mark.slow
@settings(suppress_health_check=list(HealthCheck))
@example(
    [WebObject("http://a.test/\u0085", "\u2028", "\ud800", {"body": ("\x00\x0b\x0c\x1c\x85\u2028\ufffe\\u0041\r",)})]
)
@given(st.lists(OBJECTS, max_size=3))
def test_two_parsers_read_the_same_whatever_a_page_holds(objects: list[WebObject]) -> None:
    data = statements(CAPTURE, objects)
    read = oxigraph(data)
    assert {quad[3] for quad in read} == {GRAPH}
    assert len({quad[:2] for quad in read}) == len({quad[:2] for quad in rdflib_of(data)})
    described = {quad[0] for quad in read if quad[1].endswith("wasDerivedFrom")}
    assert described == {iri(web_object.iri)[1:-1] for web_object in objects}


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_text_comes_back_as_it_was(text: str) -> None:
    assert stated(text) == {(text,)}
    data = statements(CAPTURE, (WebObject("urn:x", "post", "http://a.test/", {"likes": (text,)}),))
    assert {quad[2] for quad in rdflib_of(data) if quad[1].endswith(":likes")} == {text}


@given(HOSTILE)
def test_iris_are_valid_and_stable(address: str) -> None:
    term = iri(address)
    assert term.isascii()
    assert str(ox.NamedNode(term[1:-1])) == term
    assert iri(term[1:-1]) == term


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("http://a.test/x y|{z}", "http://a.test/x%20y%7C%7Bz%7D"),
        ("http://a.test/ü#a#b", "http://a.test/%C3%BC#a%23b"),
        ("http://a.test/100%", "http://a.test/100%25"),
        ("http://[::1]:80/%C3", "http://[::1]:80/%C3"),
        ("http://a.test/[x]", "http://a.test/%5Bx%5D"),
        ("relative/path", "urn:aahcrawler:invalid:relative%2Fpath"),
    ],
)
def test_iris_that_pages_have(address: str, expected: str) -> None:
    assert iri(address) == f"<{expected}>"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (True, "true"),
        (7, "7"),
        (0.5, "0.5"),
        (math.inf, "INF"),
        (-math.inf, "-INF"),
        (math.nan, "NaN"),
        (1e300, "1E+300"),
        (datetime(2020, 1, 2, 3, tzinfo=timezone(timedelta(hours=5))), "2020-01-02T03:00:00+05:00"),
        (datetime(2020, 1, 2, 3, 4, 5, 6, UTC), "2020-01-02T03:04:05.000006Z"),
        (Reference("http://a.test/é"), "http://a.test/%C3%A9"),
        (Person("J", "http://a.test/u#me"), "http://a.test/u#me"),
    ],
)
def test_values(value: Value, expected: str) -> None:
    assert stated(value) == {(expected,)}


def test_an_address_of_several_people_is_the_profile_of_none() -> None:
    members = "http://a.test/members"
    posts = [
        WebObject(f"urn:{number}", "post", "http://a.test/p", {"author": (Person(name, url),)})
        for number, (name, url) in enumerate(
            [("Ann", members), ("Bo", members), ("Cy", f"{members}/3"), ("Cy Dahl", f"{members}/3")]
        )
    ]
    quads = oxigraph(statements(CAPTURE, posts))
    named = {subject: value for subject, predicate, value, *_ in quads if predicate == v.NAME}
    authors = {subject: named[value] for subject, predicate, value, *_ in quads if predicate == v.predicate("author")}
    assert authors == {"urn:0": "Ann", "urn:1": "Bo", "urn:2": "Cy", "urn:3": "Cy"}


def test_same_author_under_one_name_is_one_person() -> None:
    posts = [
        WebObject(f"urn:{host}", "post", f"https://{host}/p", {"author": (Person(name),)})
        for host, name in (("www.a.test", "Jane"), ("a.test", " Jane "), ("b.test", "Jane"))
    ]
    people = {quad[2] for quad in oxigraph(statements(CAPTURE, posts)) if quad[1].endswith("author")}
    assert people == {"urn:aahcrawler:person:a.test:Jane", "urn:aahcrawler:person:b.test:Jane"}


def test_each_capture_is_a_gzip_member(tmp_path: Path) -> None:
    with ObjectWriter(tmp_path, "c", lambda: FETCHED) as writer:
        writer.write(CAPTURE, (POST,))
        (path,) = tmp_path.iterdir()
        first = path.read_bytes()
        writer.write(CAPTURE, (REPLY,))
    assert path.name == "c-20260102030405-00000.nq.gz.open"
    (closed,) = tmp_path.iterdir()
    assert closed.name == "c-20260102030405-00000.nq.gz"
    assert gzip.decompress(first) == statements(CAPTURE, (POST,))
    assert gzip.decompress(closed.read_bytes()[len(first) :]) == statements(CAPTURE, (REPLY,))


def test_the_first_capture_of_each_segment_states_what_its_crawl_is_described_by(tmp_path: Path) -> None:
    made = replace(CAPTURE, crawl="urn:aahcrawler:crawl:c:1")
    terms = (("title", "Floods"), ("subject", "dikes"), ("subject", 'said "so"\n'))
    with ObjectWriter(tmp_path, "c", lambda: FETCHED, size=1, described=terms) as writer:
        writer.write(made, (POST,))
        writer.write(made, (REPLY,))
    with ObjectWriter(tmp_path, "c", lambda: FETCHED, described=terms) as writer:
        for _ in range(2):
            writer.write(made, (POST,))
    stated = [
        [(quad[1], quad[2], quad[3]) for quad in oxigraph(gzip.decompress(path.read_bytes())) if quad[0] == made.crawl]
        for path in sorted(tmp_path.iterdir())
    ]
    once = {(f"{v.DCTERMS}{name}", value, made.iri) for name, value in terms}
    assert [set(each) for each in stated] == [once] * 3
    assert [len(each) for each in stated] == [3, 3, 3]


def test_loading_twice_changes_nothing() -> None:
    store = ox.Store()
    for _ in range(2):
        store.load(io.BytesIO(statements(CAPTURE, (POST, REPLY))), ox.RdfFormat.N_QUADS)
    assert len(store) == EXPECTED.count("\n")


def test_torn_segments_are_recovered(tmp_path: Path) -> None:
    writer = ObjectWriter(tmp_path / "a", "c", lambda: FETCHED)
    writer.write(CAPTURE, (POST,))
    (path,) = (tmp_path / "a").iterdir()
    torn = tmp_path / "b" / path.name
    torn.parent.mkdir()
    torn.write_bytes(path.read_bytes() + path.read_bytes()[:99])
    writer.close()
    (recovered,) = recover(torn.parent, NQUADS)
    assert recovered.cut == 99
    assert gzip.decompress(recovered.file.read_bytes()) == statements(CAPTURE, (POST,))


def test_documentation_names_every_term() -> None:
    documented = (Path(__file__).parents[2] / "docs" / "vocabulary.md").read_text("utf-8")
    prefixes = {
        "schema": v.SCHEMA,
        "sioc": v.SIOC,
        "dcterms": v.DCTERMS,
        "prov": v.PROV,
        "aah": v.AAH,
        "oslc_cm": v.OSLC_CM,
    }
    named = {
        prefixes[prefix] + name
        for prefix, name in re.findall(r"\b(schema|sioc|dcterms|prov|aah|oslc_cm):(\w+)", documented)
    }
    used = {quad[1] for quad in oxigraph(statements(CAPTURE, (POST, REPLY)))} - {v.RDF_TYPE}
    assert {predicate.replace("property:likes", "property") for predicate in used} <= named
    assert set(v.PROPERTIES.values()) <= named
    assert {name for names in v.TYPES.values() for name in names} <= named
    assert all(f"`{name}`" in documented for name in (*v.TYPES, *v.PROPERTIES))
