"""Objects that are about the same are found by the vectors of their texts, which go with their texts."""

import random
import sqlite3
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from aahcrawler.annotations import Annotation, Kind
from aahcrawler.layout import INDEXES
from aahcrawler.search.likeness import TextVectors, Vectors, nearest
from aahcrawler.search.search_entry import number_of, object_thing
from offline.enrichment import related_texts
from offline.enrichment.annotator import ObjectText
from offline.enrichment.related_texts import RelatedTexts
from tests.enrichment.test_near_duplicates import article, joined

SUBJECTS = ("dike", "tram", "choir", "bread")


class Subjects:
    """Encodes a text by how often it names some subjects, and counts what it has encoded."""

    def __init__(self) -> None:
        self.encoded: list[str] = []

    def __call__(self, texts: Sequence[str]) -> Vectors:
        self.encoded += texts
        counts = np.array([[each.split().count(word) for word in SUBJECTS] for each in texts], np.float32) + 0.01
        return np.asarray(counts / np.linalg.norm(counts, axis=1, keepdims=True), np.float32)


def on(number: int, subject: str, *, words: int = 40) -> ObjectText:
    """Return a text in words of its own that names a subject."""
    plain = [f"{''.join(random.Random(number * 1_000 + place).choices('aeiklmnorst', k=6))}" for place in range(words)]
    return article(number, " ".join([*plain, subject, subject]))


def related(
    objects: Sequence[ObjectText], crawl: Path | None = None, encode: Subjects | None = None
) -> list[Annotation]:
    annotator = RelatedTexts(crawl, encode or Subjects(), "subjects 1")
    return list(annotator.annotate(lambda: iter(objects), lambda: iter(())))


def test_texts_about_the_same_are_a_cluster_in_whichever_words() -> None:
    objects = [on(n, SUBJECTS[n % 3]) for n in range(12)]
    found = related(objects)
    assert joined(found) == {frozenset(f"urn:a:{n}" for n in range(first, 12, 3)) for first in range(3)}
    assert {each.kind for each in found} == {Kind.RELATED}
    assert {dict(each.values)["objects"] for each in found} == {"4"}
    assert all(each.iri.startswith("urn:aahcrawler:related:") and each.confidence > 0.9 for each in found)


def test_neither_the_order_nor_what_comes_later_changes_clusters() -> None:
    objects = [on(n, SUBJECTS[n % 4]) for n in range(700)]
    shuffled = random.Random(1).sample(objects, len(objects))
    assert sorted(related(objects), key=repr) == sorted(related(shuffled), key=repr)
    assert {each.iri for each in related(objects[:40])} == {each.iri for each in related(objects)}


def test_the_latest_clusters_alone_are_compared_with(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(related_texts, "MAX_FIRST", 3)
    monkeypatch.setattr(related_texts, "_AT_ONCE", 1)
    objects = [on(n, subject) for n, subject in enumerate(("dike", "tram", "choir", "bread", "tram", "dike"))]
    assert joined(related(objects)) == {frozenset({"urn:a:1", "urn:a:4"})}


def test_short_texts_are_about_too_little() -> None:
    assert related([on(n, "dike", words=10) for n in range(5)]) == []


def test_a_text_is_encoded_once_and_forgotten_with_its_object(tmp_path: Path) -> None:
    objects, encode = [on(n, SUBJECTS[n % 2]) for n in range(6)], Subjects()
    first = related(objects, tmp_path, encode)
    assert (related(objects, tmp_path, encode), len(encode.encoded)) == (first, 6)
    rewritten = on(8, "choir").text
    related([*objects[1:5], article(5, rewritten)], tmp_path, encode)
    assert encode.encoded[6:] == [rewritten]
    with TextVectors(tmp_path) as index:
        assert index.texts().keys() == {number_of(object_thing(f"urn:a:{n}")) for n in range(1, 6)}
        best = nearest(index.base, encode(["choir"])[0], 2, 0.9)
    assert [each.thing for each in best] == [number_of(object_thing("urn:a:5"))]


def test_vectors_can_be_deleted_at_any_time(tmp_path: Path) -> None:
    objects, encode = [on(n, "dike") for n in range(3)], Subjects()
    first = related(objects, tmp_path, encode)
    (tmp_path / INDEXES / "vectors.sqlite").unlink()
    assert related(objects, tmp_path, encode) == first
    with sqlite3.connect(tmp_path / INDEXES / "vectors.sqlite") as base:
        base.execute("PRAGMA user_version = 0")
    assert related(objects, tmp_path, encode) == first


def test_the_encoder_knows_a_subject_in_several_languages() -> None:
    dike = (
        "The dike broke last night, and the old harbour with its houses stood under water within an hour of the storm "
        "surge."
    )
    deich = (
        "Der Deich brach in der vergangenen Nacht, und der alte Hafen mit seinen Häusern stand eine Stunde nach der "
        "Sturmflut unter Wasser."
    )
    bread = "Our recipe for a good loaf of bread needs flour, water, salt, yeast, a hot oven and much patience."
    annotator = RelatedTexts(None)
    objects = [article(n, each) for n, each in enumerate((dike, deich, bread))]
    found = list(annotator.annotate(lambda: iter(objects), lambda: iter(())))
    assert joined(found) == {frozenset({"urn:a:0", "urn:a:1"})}
