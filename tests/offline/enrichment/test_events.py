from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from aahcrawler.annotations import Annotation, Kind
from offline.enrichment.annotator import ObjectText
from offline.enrichment.events import MAX_CLAUSE, Events, JoinedEvents

POST = ObjectText(
    "urn:o", "urn:c", "post", "https://a.test/", "", published="2020-01-08T10:00:00+00:00", language="en",
    captured="2020-02-01T00:00:00+00:00",
)  # fmt: skip


def found(text: str, **others: Any) -> list[Annotation]:
    return list(Events().annotate(replace(POST, text=text, **others)))


def test_an_event_is_the_clause_with_its_date() -> None:
    text = "We moved. The dike at Elmwater broke on 3 May 2019; the mill was shut last Tuesday. It rained."
    first, second = found(text)
    assert text[first.start : first.end] == first.quote == "The dike at Elmwater broke on 3 May 2019"
    assert second.quote == "the mill was shut last Tuesday."
    assert dict(first.values) == {"date": "3 May 2019", "precision": "day", "when": "2019-05-03"}
    assert dict(second.values) == {
        "counted-from": "2020-01-08",
        "date": "last Tuesday",
        "precision": "day",
        "when": "2020-01-07",
    }
    assert first.confidence > second.confidence


def test_a_year_that_is_taken_from_publication_is_marked() -> None:
    (event,) = found("The dike at Elmwater broke on 3 December.")
    assert dict(event.values)["when"] == "2019-12-03"
    assert dict(event.values)["inferred"] == "year"
    assert found("The dike at Elmwater broke on 3 December.", published="2020-01") == []
    assert found("The dike at Elmwater broke yesterday.", published="") == []


@pytest.mark.parametrize(
    "text",
    [
        "Posted on 3 May 2019",
        "Last updated: 3 May 2019.",
        "3 May 2019",
        "",
        "— Anna Bell of the Mill Guild (@bell) May 3, 2019",
        "so " * MAX_CLAUSE + "on 3 May 2019.",
    ],
)
def test_a_date_of_which_nothing_is_told_is_no_event(text: str) -> None:
    assert found(text) == []


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("The dike was not repaired on 5 May 2019, whatever the Board says.", "en"),
        ("In 2019 nobody found the clay report.", "en"),
        ("The lock wasn't opened on 5 May 2019.", "en"),
        ("Am 5. Mai 2019 wurde der Deich nicht erneuert.", "de"),
        ("Le 5 mai 2019 la digue n'a pas cédé.", "fr"),
        ("El 5 de mayo de 2019 el dique no cedió.", "es"),
    ],
)
def test_what_did_not_happen_is_no_event(text: str, language: str) -> None:
    assert found(text, language=language) == []


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("On 5 May 2019 the dike broke, and nobody had warned us.", "en"),
        ("Not that it matters, but it broke on 5 May 2019.", "en"),
        ("On 5 May 2019 not only the dike broke.", "en"),
        ("Une personne est morte le 5 mai 2019.", "fr"),
    ],
)
def test_a_negation_of_something_else_denies_nothing(text: str, language: str) -> None:
    assert [dict(each.values)["when"] for each in found(text, language=language)] == ["2019-05-05"]


def test_each_date_of_a_clause_is_an_event() -> None:
    events = found("The mill was built in 1901 and sold in 1950.")
    assert [dict(each.values)["when"] for each in events] == ["1901", "1950"]


def entity(given: ObjectText, words: str, kind: Kind) -> Annotation:
    at = given.text.index(words)
    iri = f"urn:e:{words.rpartition(' ')[2]}"
    return Annotation(given.object, given.capture, kind, words, "test", "1", 1.0, iri, at, at + len(words), words)


def joined(objects: Sequence[ObjectText], entities: Iterable[Annotation]) -> list[Annotation]:
    known = [*(each for given in objects for each in Events().annotate(given)), *entities]
    return list(JoinedEvents().annotate(lambda: iter(objects), lambda: iter(known)))


ONE = replace(POST, object="urn:1", text="Anna Bell opened the new mill in Elmwater on 3 May 2019.")
TWO = replace(
    POST,
    object="urn:2",
    captured="2020-03-01T00:00:00+00:00",
    text="In Elmwater, A. Bell spoke on 3 May 2019 at the mill.",
)
OTHER = replace(POST, object="urn:3", text="Carl Dorn was born in Upwick on 3 May 2019.")
ENTITIES = [
    entity(ONE, "Anna Bell", Kind.PERSON),
    entity(ONE, "Elmwater", Kind.PLACE),
    entity(TWO, "A. Bell", Kind.PERSON),
    entity(TWO, "Elmwater", Kind.PLACE),
    entity(OTHER, "Carl Dorn", Kind.PERSON),
    entity(OTHER, "Upwick", Kind.PLACE),
]


def test_the_same_event_in_two_objects_has_one_iri() -> None:
    events = joined([ONE, TWO, OTHER], ENTITIES)
    iris = {each.object: each.iri for each in events}
    assert iris["urn:1"] == iris["urn:2"] != iris["urn:3"]
    (values,) = {each.values for each in events if each.object == "urn:1"}
    assert dict(values)["who"] == "Anna Bell"
    assert dict(values)["where"] == "Elmwater"
    assert dict(values)["objects"] == "2"


def test_order_changes_nothing_and_later_captures_keep_the_iri() -> None:
    there = joined([ONE, TWO, OTHER], ENTITIES)
    assert joined([OTHER, TWO, ONE], reversed(ENTITIES)) == there
    assert joined([ONE, OTHER], ENTITIES)[0].iri == next(each.iri for each in there if each.object == "urn:1")


def test_another_day_is_another_event() -> None:
    moved = replace(TWO, text=TWO.text.replace("3 May", "4 May"))
    iris = [each.iri for each in joined([ONE, moved], ENTITIES)]
    assert len(set(iris)) == 2


def test_one_name_in_common_is_not_enough() -> None:
    wedding = replace(TWO, text="A choir sang in Elmwater on 3 May 2019.")
    events = joined([ONE, wedding], [*ENTITIES[:2], entity(wedding, "Elmwater", Kind.PLACE)])
    assert len({each.iri for each in events}) == 2


def test_copies_are_the_same_event_without_any_name() -> None:
    copy = replace(ONE, object="urn:4")
    assert len({each.iri for each in joined([ONE, copy], [])}) == 1
