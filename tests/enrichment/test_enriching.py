"""Enrichment says the same whatever happens to it, and nothing twice."""

import gzip
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from aahcrawler.annotations import Annotation, Kind, annotations_of
from aahcrawler.annotations.annotation import AnnotationsBusyError, annotating
from aahcrawler.layout import ANNOTATIONS
from aahcrawler.objects.writer import Method, Reading
from offline.enrichment.enriching import StepResult, enrich
from offline.enrichment.steps import EnrichError, EnrichmentStep
from tests.enrichment.annotators import BROKEN, FREQUENT, NEWER, UNSOUND, WORDS
from tests.enrichment.archives import define, write_posts
from tests.forking import forked
from tests.offline.crawls import BEGUN, capture, graph, post, writer
from tests.offline.shapes import violations

THREADS = [
    [("ann", "the water is up"), ("bob", "which water then")],
    [("ann", "a quiet night")],
    [("bob", "under water again"), ("cy", "no")],
]


@pytest.fixture
def crawl(tmp_path: Path) -> Path:
    define(tmp_path / "crawl")
    write_posts(tmp_path / "crawl", THREADS)
    return tmp_path / "crawl"


def run(crawl: Path, *steps: EnrichmentStep, processes: int = 1) -> list[StepResult]:
    return list(enrich(crawl, steps, processes=processes))


def said(crawl: Path) -> list[Annotation]:
    with annotations_of(crawl) as annotations:
        return list(annotations)


def written(crawl: Path) -> bytes:
    return b"".join(gzip.decompress(path.read_bytes()) for path in sorted((crawl / ANNOTATIONS).glob("*.nq.gz")))


def labels(crawl: Path, kind: Kind = Kind.KEYWORD) -> list[str]:
    return sorted(each.label for each in said(crawl) if each.kind is kind)


def test_each_object_is_annotated_with_its_words(crawl: Path) -> None:
    (done,) = run(crawl, WORDS)
    assert (done.captures, done.done.objects, done.done.annotations) == (3, 5, 8)
    assert labels(crawl) == ["again", "night", "quiet", "under", "water", "water", "water", "which"]
    one = next(each for each in said(crawl) if each.label == "which")
    assert (one.object, one.capture, one.start, one.end) == ("http://forum.test/t/1#p2", graph(1), 0, 5)
    assert violations(written(crawl)) == []


def test_what_was_annotated_is_not_annotated_again(crawl: Path) -> None:
    run(crawl, WORDS)
    before = written(crawl)
    assert [each.captures for each in run(crawl, WORDS)] == [0]
    assert written(crawl) == before


def test_only_new_captures_are_annotated(crawl: Path) -> None:
    run(crawl, WORDS)
    write_posts(crawl, [[("ann", "later rains")]], first=9)
    assert [(each.captures, each.done.objects) for each in run(crawl, WORDS)] == [(1, 1)]
    assert "later" in labels(crawl)


def test_a_version_that_several_captures_have_is_annotated_at_the_first(crawl: Path) -> None:
    with writer(crawl) as objects:
        same = post(1, 1, "ann", "the water is up")
        objects.write(replace(capture(40), url="http://forum.test/t/1?page=2"), [same, post(1, 3, "di", "a third")])
    run(crawl, WORDS)
    assert [each.capture for each in said(crawl) if each.object.endswith("t/1#p1")] == [graph(1)]
    assert "third" in labels(crawl)


def test_another_reading_of_a_capture_is_annotated_in_place_of_the_first(crawl: Path) -> None:
    run(crawl, WORDS)
    reading = Reading(Method.REREAD, BEGUN.replace(hour=9), graph(1))
    with writer(crawl) as objects:
        objects.write(replace(capture(1), reading=reading, reader="newer"), [post(1, 1, "ann", "the ocean is up")])
    assert [each.captures for each in run(crawl, WORDS)] == [1]
    assert labels(crawl) == ["again", "night", "ocean", "quiet", "under", "water"]


def test_a_reading_without_objects_takes_what_was_said_of_them_along(crawl: Path) -> None:
    run(crawl, WORDS)
    reading = Reading(Method.REREAD, BEGUN.replace(hour=9), graph(3))
    with writer(crawl) as objects:
        objects.write(replace(capture(3), reading=reading, reader="newer"))
    run(crawl, WORDS)
    assert labels(crawl) == ["night", "quiet", "water", "water", "which"]
    assert [each.captures for each in run(crawl, WORDS)] == [0]


def test_a_later_version_takes_the_place_of_the_one_before(crawl: Path) -> None:
    run(crawl, WORDS)
    run(crawl, NEWER)
    assert said(crawl) == []
    assert b"water" in written(crawl)


@pytest.mark.starts
def test_several_processes_say_the_same(crawl: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    define(other)
    write_posts(other, THREADS)
    run(crawl, WORDS, FREQUENT)
    run(other, WORDS, FREQUENT, processes=2)
    assert said(crawl) == said(other)


@pytest.mark.starts
def test_a_run_that_was_killed_is_gone_on_with(tmp_path: Path) -> None:
    threads: Sequence[Sequence[tuple[str, str]]] = [[("ann", f"water {number:05}")] for number in range(60)]
    killed, whole = tmp_path / "killed", tmp_path / "whole"
    for folder in (killed, whole):
        define(folder)
        write_posts(folder, [*threads, [("bob", "sudden death here")]])
    code = (
        "import sys; from pathlib import Path; from offline.enrichment.enriching import enrich; "
        "from tests.enrichment.annotators import DYING; list(enrich(Path(sys.argv[1]), [DYING]))"
    )
    for _ in range(2):
        with forked(code, killed) as dying:
            assert dying.wait() == -9
    before = len(said(killed))
    assert 0 < before < 120
    run(killed, WORDS, FREQUENT)
    run(whole, WORDS, FREQUENT)
    assert said(killed) == said(whole)
    assert written(killed).count(b"<urn:aahcrawler:term:given>") == written(whole).count(b"<urn:aahcrawler:term:given>")


def test_a_broken_annotator_leaves_the_other_objects_alone(tmp_path: Path) -> None:
    define(tmp_path / "crawl")
    write_posts(tmp_path / "crawl", [[("ann", "this fails badly"), ("bob", "it lies again"), ("cy", "sound water")]])
    (done,) = run(tmp_path / "crawl", UNSOUND)
    assert (done.done.failures, done.done.annotations) == (2, 2)
    assert labels(tmp_path / "crawl") == ["sound", "water"]


def test_a_step_that_cannot_be_made_is_named(crawl: Path) -> None:
    with pytest.raises(EnrichError, match=r"the step words cannot be made \(RuntimeError: no licence\)"):
        run(crawl, BROKEN)


def test_nobody_else_annotates_meanwhile(crawl: Path) -> None:
    with annotating(crawl), pytest.raises(AnnotationsBusyError, match="aah enrich is at work"):
        run(crawl, WORDS)


def test_what_rests_on_all_objects_is_made_anew_as_they_grow(crawl: Path) -> None:
    run(crawl, WORDS, FREQUENT)
    assert labels(crawl, Kind.TOPIC) == ["water", "water", "water"]
    assert run(crawl, FREQUENT)[0].captures == 0
    write_posts(crawl, [[("ann", f"night {number:06}")] for number in range(4)], first=20)
    run(crawl, WORDS, FREQUENT)
    assert labels(crawl, Kind.TOPIC) == ["night"] * 5
    assert violations(written(crawl)) == []
