"""Texts and names that are longer than parsers of N-Quads take: bounded when written, mended where they were not."""

import gzip
from dataclasses import replace
from pathlib import Path

import pyoxigraph as ox
import pytest

from aahcrawler.objects import vocabulary as v
from aahcrawler.objects.nquads import MAX_IRI_LENGTH, MAX_LITERAL_LENGTH, mend
from aahcrawler.objects.reader import ReadError, object_rows
from aahcrawler.objects.writer import ObjectWriter, statements
from aahcrawler.segments import SegmentError
from aahcrawler.webobject import Person, Reference, Value, WebObject
from tests.objects.samples import CAPTURE, FETCHED, GRAPH, POST

OTHER = replace(CAPTURE, iri="urn:uuid:00000000-0000-4000-8000-000000000002", url="http://forum.test/other")


def saying(**properties: Value) -> WebObject:
    return replace(POST, properties={name: (value,) for name, value in properties.items()})


def parsed(text: bytes) -> list[ox.Quad]:
    return list(ox.parse(text, ox.RdfFormat.N_QUADS))


def values(quads: list[ox.Quad], predicate: str) -> list[str]:
    return [stated for _, name, stated in triples(quads) if name == predicate]


def triples(quads: list[ox.Quad]) -> list[tuple[str, str, str]]:
    return [(str(quad.subject)[1:-1], quad.predicate.value, _plain(quad.object)) for quad in quads]


def _plain(term: object) -> str:
    assert isinstance(term, ox.NamedNode | ox.Literal)
    return term.value


@pytest.mark.slow
@pytest.mark.parametrize(
    "character", ["x", "😀", '"', *(pytest.param(each, marks=pytest.mark.soak) for each in "ä\\\n")]
)
def test_a_text_longer_than_parsers_take_is_cut_and_said_so(character: str) -> None:
    whole = "a" + character * (17 << 20)
    quads = parsed(statements(CAPTURE, (saying(body=whole, title="short"),)))
    (kept,) = values(quads, v.BODY)
    assert whole.startswith(kept)
    assert len(kept.replace("\\", "xx").replace('"', "xx").replace("\n", "xx").encode()) >= MAX_LITERAL_LENGTH - 4
    assert [each for each in triples(quads) if each[1] == v.SHORTENED] == [(POST.iri, v.SHORTENED, v.BODY)]
    assert values(quads, v.TITLE) == [CAPTURE.title, "short"]


def test_what_fits_stays_whole() -> None:
    whole = "x" * MAX_LITERAL_LENGTH
    quads = parsed(statements(CAPTURE, (saying(body=whole),)))
    assert values(quads, v.BODY) == [whole]
    assert not values(quads, v.SHORTENED)


@pytest.mark.slow
def test_names_longer_than_parsers_take() -> None:
    address = "http://forum.test/" + "a" * (17 << 20)
    said = saying(url=Reference(address), links=Reference(address), author=Person("n" * (17 << 20)))
    quads = parsed(statements(CAPTURE, (replace(said, iri=address),)))
    names = [term.value for quad in quads for term in (quad.subject, quad.object) if isinstance(term, ox.NamedNode)]
    assert max(map(len, names)) <= MAX_IRI_LENGTH
    (link,) = values(quads, v.predicate("links"))
    assert link in {subject for subject, name, _ in triples(quads) if name == v.OBJECT_TYPE}
    (author,) = values(quads, v.AUTHOR)
    assert author in {subject for subject, name, _ in triples(quads) if name == v.NAME}


def unbounded(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Write three captures as they were once written, the second of them with a text of 17 MiB."""
    with monkeypatch.context() as patch:
        patch.setattr("aahcrawler.objects.nquads.MAX_LITERAL_LENGTH", 1 << 30)
        with ObjectWriter(folder / "objects", "c", lambda: FETCHED) as writer:
            writer.write(CAPTURE, (POST,))
            writer.write(OTHER, (replace(saying(body="x" * (17 << 20), title="b"), iri="http://forum.test/other#p1"),))
            writer.write(replace(OTHER, iri="urn:uuid:00000000-0000-4000-8000-000000000003"), ())
    (path,) = (folder / "objects").glob("*.nq.gz")
    return path


@pytest.mark.slow
def test_segments_with_texts_too_long_are_mended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = unbounded(tmp_path, monkeypatch)
    before = path.read_bytes()
    with pytest.raises(ReadError, match="aah archive repair"):
        list(object_rows(tmp_path))
    (done,) = mend(tmp_path / "objects")
    assert done == f"{path}: texts or names too long to be read were shortened in 1 of its captures"
    first, second = object_rows(tmp_path)
    assert (first.iri, second.iri, second.title) == (POST.iri, "http://forum.test/other#p1", "b")
    assert second.body == "x" * MAX_LITERAL_LENGTH
    assert path.read_bytes()[:500] == before[:500]
    assert [row.name for row in (tmp_path / "objects").iterdir()] == [path.name]
    after = path.read_bytes()
    assert list(mend(tmp_path / "objects")) == []
    assert path.read_bytes() == after
    assert {str(quad.graph_name)[1:-1] for quad in parsed(gzip.decompress(after))} > {GRAPH, OTHER.iri}


@pytest.mark.slow
def test_a_damaged_segment_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = unbounded(tmp_path, monkeypatch)
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(SegmentError, match="cannot be mended"):
        list(mend(tmp_path / "objects"))
