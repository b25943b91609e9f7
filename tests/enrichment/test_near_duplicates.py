import random
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from aahcrawler.annotations import Annotation, Kind
from offline.enrichment.annotator import ObjectText
from offline.enrichment.related_texts import NearDuplicates

WORDS = """
dike water harbour council mayor evening sandbag street crane bridge letter rain pump school ferry market lamp
window garden engine sailor bakery clock winter paper signal valley carpet museum ladder
"""


def text(seed: int, length: int = 60) -> str:
    return " ".join(random.Random(seed).choices(WORDS.split(), k=length))


def changed(given: str, words: int) -> str:
    parts, lot = given.split(), random.Random(given)
    for place in lot.sample(range(len(parts)), words):
        parts[place] = f"other{place}"
    return " ".join(parts)


def article(number: int, body: str, **more: Any) -> ObjectText:
    made = ObjectText(f"urn:a:{number}", f"urn:uuid:{number}", "article", "http://a.test/", body)
    return replace(made, captured=f"2026-03-01T10:{number // 60:02}:{number % 60:02}Z", **more)


def clusters(objects: Sequence[ObjectText]) -> list[Annotation]:
    return list(NearDuplicates().annotate(lambda: iter(objects), lambda: iter(())))


def joined(found: Sequence[Annotation]) -> set[frozenset[str]]:
    by_cluster = defaultdict[str, set[str]](set)
    for each in found:
        by_cluster[each.iri].add(each.object)
    return {frozenset(members) for members in by_cluster.values()}


def test_texts_that_differ_in_a_few_words_are_a_cluster_and_others_are_none() -> None:
    objects = [
        *(article(n, changed(text(1), n)) for n in range(3)),
        article(3, text(2)),
        article(4, text(2).upper() + "!"),
        *(article(n, text(n)) for n in range(5, 60)),
    ]
    found = clusters(objects)
    assert joined(found) == {frozenset(f"urn:a:{n}" for n in range(3)), frozenset({"urn:a:3", "urn:a:4"})}
    assert {each.kind for each in found} == {Kind.CLUSTER}
    assert {each.object: dict(each.values)["objects"] for each in found}["urn:a:1"] == "3"
    assert all(0.75 <= each.confidence <= 1 for each in found)
    assert all(objects[int(each.object[-1])].text.startswith(each.quote) and each.quote for each in found)


def test_half_a_text_in_common_is_no_near_duplicate() -> None:
    halves = [article(n, f"{text(1, 40)} {text(n + 10, 40)}") for n in range(10)]
    assert clusters(halves) == []


def test_a_cluster_does_not_drift() -> None:
    drifting = [text(1)]
    for step in range(20):
        parts = drifting[-1].split()
        parts[2 * step] = f"other{step}"
        drifting.append(" ".join(parts))
    found = clusters([article(n, body) for n, body in enumerate(drifting)])
    assert all({"urn:a:0", "urn:a:20"} - members for members in joined(found))
    assert len(joined(found)) > 1


def test_a_cluster_is_named_by_what_was_published_first_and_keeps_its_iri() -> None:
    objects = [
        article(0, text(1), title="Copy", published="2026-02-03"),
        article(1, changed(text(1), 1), title="Release", published="2026-02-01T09:00:00+01:00"),
        article(2, changed(text(1), 2), title="Undated"),
    ]
    assert {each.label for each in clusters(objects)} == {"Release"}
    (iri,) = {each.iri for each in clusters(objects)}
    grown = [*objects, *(article(n, changed(text(1), 1), published=f"2026-01-0{n}") for n in range(3, 9))]
    found = clusters(random.Random(1).sample(grown, len(grown)))
    assert {each.iri for each in found} == {iri}
    assert {each.label for each in found} == {changed(text(1), 1)[:120]}


def test_the_order_of_objects_does_not_matter() -> None:
    objects = [article(n, changed(text(n % 4), n % 3)) for n in range(24)]
    shuffled = random.Random(2).sample(objects, len(objects))
    assert sorted(clusters(objects), key=repr) == sorted(clusters(shuffled), key=repr)


def test_versions_of_one_object_and_short_texts_are_no_cluster() -> None:
    versions = [replace(article(n, changed(text(1), n)), object="urn:a:same") for n in range(3)]
    assert clusters(versions) == []
    assert clusters([article(n, "Thank you all so much!") for n in range(5)]) == []


def test_scripts_without_spaces_are_compared_by_characters() -> None:
    body = "昨夜の高潮で堤防が決壊し、港の周辺では多くの家屋が浸水した。市は避難を呼びかけている。"
    found = clusters([article(0, body), article(1, body.replace("昨夜", "昨晩")), article(2, text(1))])
    assert joined(found) == {frozenset({"urn:a:0", "urn:a:1"})}


def test_many_equal_texts_and_huge_ones_are_bounded_work() -> None:
    equal = [article(n, text(1)) for n in range(3_000)]
    huge = [article(n, "flood " * 1_000_000) for n in range(3_000, 3_002)]
    assert {len(members) for members in joined(clusters([*equal, *huge]))} == {3_000}


def test_labels_have_no_stray_stops_at_their_ends() -> None:
    titles = {
        ". Dike news |": "Dike news",
        "Dike news . -": "Dike news",
        ".NET at Dike Inc.": ".NET at Dike Inc.",
        " | ": "",
    }
    for title, label in titles.items():
        objects = [article(n, text(1), title=title) for n in range(2)]
        assert {each.label for each in clusters(objects)} == {label or text(1)[:120]}
