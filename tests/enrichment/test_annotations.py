"""Annotations come back as they were written, and what counts is what was written last."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from aahcrawler.annotations import REFINES, Annotation, CaptureAnnotations, Kind, annotation_iri, annotations_of
from aahcrawler.annotations.annotation import read_annotations
from aahcrawler.annotations.annotation_index import AnnotationIndex, Annotations
from aahcrawler.layout import ANNOTATIONS, NQUADS
from aahcrawler.segments import SegmentWriter, Series
from tests.offline.shapes import violations

CAPTURE = "urn:uuid:00000000-0000-4000-8000-000000000001"
OBJECT = "http://forum.test/t/1#p1"
PERSON = Annotation(
    *(OBJECT, CAPTURE, Kind.PERSON, 'Jo "the\n dike" Berg', "entities", "1 a/b", 0.8125),
    iri="urn:aahcrawler:entity:jo%20berg",
    start=0,
    end=7,
    quote="Jo\\Berg",
    values=(("by", "model"), ("role of", "ä")),
)
WHOLE = Annotation(OBJECT, CAPTURE, Kind.LANGUAGE, "en", "entities", "1 a/b", 1.0)
QUOTED = Annotation(OBJECT, CAPTURE, Kind.OPINION, "bad", "entities", "1 a/b", 0.0, quote="It is bad.")


def unit(*annotations: Annotation, annotator: str = "entities", version: str = "1 a/b", run: str = "") -> bytes:
    own = tuple(replace(each, annotator=annotator, version=version) for each in annotations)
    return bytes(CaptureAnnotations(CAPTURE, annotator, version, "digest", "2026-01-02T03:04:05Z", run, own))


def end(annotator: str, run: str) -> bytes:
    return bytes(CaptureAnnotations("", annotator, "1 a/b", "", "2026-01-02T03:04:05Z", run))


def write(crawl: Path, *units: bytes) -> None:
    writer = SegmentWriter(Series(crawl / ANNOTATIONS, "demo", NQUADS), lambda: datetime(2026, 1, 2, tzinfo=UTC))
    for each in units:
        writer.append((each,))
    writer.close()


def shown(crawl: Path) -> list[tuple[str, str]]:
    with annotations_of(crawl) as annotations:
        return [(each.annotator, each.label) for each in annotations]


@pytest.mark.parametrize("annotation", [PERSON, WHOLE, QUOTED, replace(PERSON, label="\ud800", quote="x")])
def test_an_annotation_comes_back(annotation: Annotation) -> None:
    written = unit(annotation)
    (read,) = read_annotations(written).annotations
    assert read == replace(annotation, label=annotation.label.replace("\ud800", "\ufffd"))
    assert violations(written) == []


def test_what_breaks_a_shape_is_found() -> None:
    assert violations(unit(PERSON).replace(b'"person"', b'"somebody"'))
    assert violations(unit(replace(PERSON, confidence=1.5)))
    assert violations(unit(replace(PERSON, start=-1, quote="", iri="")).replace(b"hasTarget", b"hasNone"))


def test_counts_are_those_of_objects_and_of_what_is_meant(tmp_path: Path) -> None:
    again = replace(PERSON, start=20, end=27)
    other = replace(PERSON, object="http://forum.test/t/1#p2", label="Berg")
    write(tmp_path, unit(PERSON, again, other, WHOLE))
    with annotations_of(tmp_path) as annotations:
        (named,) = annotations.counts(Kind.PERSON)
        assert (named.meant, named.objects, named.times) == (PERSON.iri, 2, 3)
        assert annotations.kinds() == {Kind.LANGUAGE: 1, Kind.PERSON: 3}
        assert [each.object for each in annotations.of_meant(Kind.PERSON, PERSON.iri)] == [OBJECT, OBJECT, other.object]
        assert [each.start for each in annotations.of_object(OBJECT)] == [-1, 0, 20]


def test_the_last_word_of_an_annotator_on_a_capture_counts(tmp_path: Path) -> None:
    write(tmp_path, unit(PERSON, WHOLE))
    write(tmp_path, unit(QUOTED, version="2"), unit(WHOLE, annotator="other"))
    assert shown(tmp_path) == [("other", "en"), ("entities", "bad")]


def test_an_annotation_is_shown_in_place_of_the_one_that_it_refines(tmp_path: Path) -> None:
    refined = replace(PERSON, label="Johanna Berg", values=((REFINES, annotation_iri(PERSON)),))
    write(tmp_path, unit(PERSON), unit(refined, annotator="joining", run="a"))
    assert shown(tmp_path) == [("entities", PERSON.label)]
    write(tmp_path, end("joining", "a"))
    assert shown(tmp_path) == [("joining", "Johanna Berg")]
    with annotations_of(tmp_path) as annotations:
        assert [each.label for each in annotations.by(frozenset({"entities"}))] == [PERSON.label]


def steps_of_reading_entities(crawl: Path, captures: int) -> int:
    """Return how many hundred steps SQLite takes to read what two annotators say of so many captures."""
    units = []
    for number in range(captures):
        capture = f"urn:uuid:00000000-0000-4000-8000-{number:012}"
        given = replace(PERSON, capture=capture)
        refined = replace(given, annotator="joining", values=((REFINES, annotation_iri(given)),))
        units += [
            bytes(CaptureAnnotations(capture, "entities", "1 a/b", "digest", "2026-01-02T03:04:05Z", "", (given,))),
            bytes(CaptureAnnotations(capture, "joining", "1 a/b", "digest", "2026-01-02T03:04:05Z", "a", (refined,))),
        ]
    write(crawl, *units, end("joining", "a"))
    steps = []
    with AnnotationIndex(crawl) as index:
        index.catch_up()
        index.base.set_progress_handler(lambda: steps.append(1), 100)
        read = list(Annotations(index.base).by(frozenset({"entities", "joining"})))
    assert len(read) == captures
    return len(steps)


def test_reading_what_annotators_say_takes_work_in_proportion_to_it(tmp_path: Path) -> None:
    few, many = (steps_of_reading_entities(tmp_path / str(number), number) for number in (100, 400))
    assert many < 6 * few


def test_a_run_counts_from_its_end_on(tmp_path: Path) -> None:
    write(tmp_path, unit(WHOLE, annotator="topics", run="a"), end("topics", "a"))
    write(tmp_path, unit(QUOTED, annotator="topics", run="b"))
    assert shown(tmp_path) == [("topics", "en")]
    write(tmp_path, unit(PERSON, annotator="topics", run="c"), end("topics", "c"))
    assert shown(tmp_path) == [("topics", PERSON.label)]


def test_a_damaged_graph_hides_no_other(tmp_path: Path) -> None:
    write(tmp_path, unit(PERSON).replace(b'"person"', b'"nobody"'), unit(WHOLE, annotator="other"))
    assert shown(tmp_path) == [("other", "en")]
