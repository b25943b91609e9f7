"""RDF documents are read for texts and links, and compared by what they say."""

import time
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from aahcrawler.documents import DocumentReader, NotComparedError, is_document, is_rdf, rdf_alternates
from aahcrawler.documents.content import SentFile
from aahcrawler.documents.rdf_text import parts
from aahcrawler.page import Headers, Page
from tests.documents.files import file_page

TURTLE = b"""
@prefix dct: <http://purl.org/dc/terms/> . @prefix foaf: <http://xmlns.com/foaf/0.1/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
<> dct:created "2024-05-01"^^xsd:date ; dct:creator "Ann Weir" ; foaf:primaryTopic <#dike> .
<#dike> a <http://v.test/Dike> ; rdfs:label "Deich"@de , "The dike"@en ; rdfs:comment "Broke in 1962." ;
  rdfs:seeAlso <more> ; foaf:maker [ foaf:name "Bo" ; foaf:page <http://b.test/> ] ; <http://v.test/height> 5 .
<more> rdfs:label "More of it" .
"""
SAME = """
<http://a.test/file#dike> <http://xmlns.com/foaf/0.1/maker> _:x .
_:x <http://xmlns.com/foaf/0.1/page> <http://b.test/> .
_:x <http://xmlns.com/foaf/0.1/name> "Bo" .
"""
PAIR = "<http://a.test/s> <http://a.test/p> {} .\n{} <http://a.test/q> {} .\n"


@pytest.fixture(scope="module")
def reader() -> Iterator[DocumentReader]:
    made = DocumentReader()
    yield made
    made.close()


def test_texts_links_and_what_a_document_says_of_itself_are_read(reader: DocumentReader) -> None:
    page = file_page(TURTLE, "text/turtle")
    assert is_document(page)
    found = reader.read(page)
    assert (found.title, found.author, found.complete) == ("The dike", "Ann Weir", True)
    assert found.created is not None
    assert found.created.isoformat() == "2024-05-01T00:00:00+00:00"
    (sheet,) = found.sheets
    assert sheet.text.split("\n") == ["Ann Weir", "Deich", "The dike", "Broke in 1962.", "Bo", "More of it"]
    assert [(link.address, link.anchor, link.context) for link in sheet.links] == [
        ("http://a.test/file#dike", "Deich", "primaryTopic"),
        ("http://a.test/more", "More of it", "seeAlso"),
        ("http://b.test/", "", "page"),
    ]


@pytest.mark.parametrize(
    ("media_type", "body"),
    [
        ("text/turtle", b'<> <http://p.test/p> "said", <http://b.test/> .'),
        (
            "application/n-triples",
            (
                b'<http://a.test/file> <http://p.test/p> "said" .\n'
                b"<http://a.test/file> <http://p.test/p> <http://b.test/> .\n"
            ),
        ),
        ("application/trig", b'<http://g.test/> { <> <http://p.test/p> "said", <http://b.test/> }'),
        ("text/n3", b'<> <http://p.test/p> "said", <http://b.test/> .'),
        ("application/ld+json", b'{"@id": "", "http://p.test/p": ["said", {"@id": "http://b.test/"}]}'),
        (
            "application/rdf+xml",
            (
                b'<r:RDF xmlns:r="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:p="http://p.test/">'
                b'<r:Description r:about=""><p:p>said</p:p><p:p r:resource="http://b.test/"/></r:Description></r:RDF>'
            ),
        ),
    ],
)
def test_all_formats_of_linked_data_are_read(reader: DocumentReader, media_type: str, body: bytes) -> None:
    found = reader.read(file_page(body, media_type))
    assert found.complete
    assert [sheet.text for sheet in found.sheets] == ["said"]
    assert [link.address for sheet in found.sheets for link in sheet.links] == ["http://b.test/"]


def test_what_comes_before_a_mistake_is_read_and_nothing_is_loaded(reader: DocumentReader) -> None:
    found = reader.read(file_page(b'<> <http://p.test/p> "said" . <> <', "text/turtle"))
    assert ([sheet.text for sheet in found.sheets], found.complete) == (["said"], False)
    remote = file_page(b'{"@context": "http://remote.test/context", "name": "x"}', "application/ld+json")
    assert reader.read(remote).sheets == ()


def test_a_feed_is_no_document() -> None:
    feed = b'<rdf:RDF xmlns="http://purl.org/rss/1.0/" xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"/>'
    assert not is_rdf(file_page(feed, "application/rdf+xml"))


def test_order_labels_and_format_make_no_difference(reader: DocumentReader) -> None:
    turtle = b"""@prefix foaf: <http://xmlns.com/foaf/0.1/> .
    <#dike> foaf:maker [ foaf:page <http://b.test/> ; foaf:name "Bo" ] ."""
    found = reader.statements(file_page(turtle, "text/turtle"))
    assert found == reader.statements(file_page(SAME.encode(), "application/n-triples"))
    assert found != reader.statements(file_page(SAME.replace("Bo", "Bob").encode(), "application/n-triples"))


def test_what_hangs_together_by_blank_nodes_is_one_part() -> None:
    once = PAIR.format("_:b", "_:b", '"1"')
    assert list(parts(SentFile(once.encode(), "application/n-triples", "http://a.test/"))) == [
        '<http://a.test/s> <http://a.test/p> _:c14n0 .\n_:c14n0 <http://a.test/q> "1" .\n'
    ]
    twice = once + PAIR.format("_:c", "_:c", '"2"') + "<http://a.test/s> <http://a.test/p> <http://a.test/o> .\n"
    assert len(set(parts(SentFile(twice.encode(), "application/n-triples", "http://a.test/")))) == 3


def test_graphs_that_are_alike_everywhere_end_with_the_child_and_the_next_one_is_read(reader: DocumentReader) -> None:
    nodes = range(12)
    knot = "".join(f"_:b{a} <http://a.test/p> _:b{b} .\n" for a in nodes for b in nodes if a != b)
    impatient = DocumentReader(seconds=0.5)
    begun = time.monotonic()
    with pytest.raises(NotComparedError, match="too long"):
        impatient.statements(file_page(knot.encode(), "application/n-triples"))
    assert time.monotonic() - begun < 30
    assert reader.statements(file_page(b"<> <http://a.test/p> 1 .", "text/turtle")).parts is not None
    impatient.close()


def test_a_broken_document_cannot_be_compared(reader: DocumentReader) -> None:
    with pytest.raises(NotComparedError, match="line 1"):
        reader.statements(file_page(b'<> <http://p.test/p> "said" . <> <', "text/turtle"))


def test_other_forms_of_a_page_are_found_in_its_header_and_in_its_markup() -> None:
    headers = Headers(
        (
            ("Content-Type", "text/html"),
            ("Link", '<a.css>; rel=stylesheet, <d.ttl?x=1,2> ; rel="describedby other" ; type="text/turtle; v=1"'),
            (
                "Link",
                '<e>; type=application/rdf+xml; rel=alternate; title="a, b; rel=x", <f>; rel=alternate; type=text/html',
            ),
        )
    )
    body = b"""<link rel="alternate" type="application/ld+json" href="data.jsonld">
    <link rel="alternate" type="application/rss+xml" href="feed"><link rel="alternate" type="text/turtle">"""
    page = Page("http://a.test/x/", 200, headers, body, datetime(2026, 5, 1, tzinfo=UTC))
    assert rdf_alternates(page) == tuple(f"http://a.test/x/{name}" for name in ("d.ttl?x=1,2", "e", "data.jsonld"))


def test_a_header_of_many_openings_takes_time_in_proportion_to_its_length() -> None:
    headers = Headers((("Link", '<a>; rel="' * 20_000), ("Link", "<" * 100_000), ("Link", "<a>" + ";" * 100_000)))
    begun = time.monotonic()
    assert rdf_alternates(Page("http://a.test/", 200, headers, b"", datetime(2026, 5, 1, tzinfo=UTC))) == ()
    assert time.monotonic() - begun < 20
