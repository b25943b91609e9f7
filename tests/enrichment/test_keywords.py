import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

import pytest

from aahcrawler.annotations import Annotation, Kind
from offline.enrichment.annotator import ObjectText
from offline.enrichment.document_frequencies import DocumentFrequencies
from offline.enrichment.keywords import MAX_CHARACTERS, Keywords

SURGE = "The storm surge came at night. Nobody had expected a storm surge, and the harbour stood under water."


def post(number: int, text: str, language: str = "en") -> ObjectText:
    return ObjectText(f"urn:post:{number}", f"urn:uuid:{number}", "post", "http://a.test/t/1", text, language=language)


def keywords(posts: Sequence[ObjectText]) -> list[Annotation]:
    return list(Keywords().annotate(lambda: iter(posts), lambda: iter(())))


def labels(posts: Sequence[ObjectText], number: int = 0) -> list[str]:
    return [each.label for each in keywords(posts) if each.object == f"urn:post:{number}"]


def test_each_keyword_stands_where_it_is_said_to() -> None:
    texts = [SURGE, "Die Deiche brachen, und im Hafen lagen die Sandsäcke.", "La digue a cédé près du port."]
    posts = [post(n, text, code) for n, (text, code) in enumerate(zip(texts, ("en", "de", "fr"), strict=True))]
    found = keywords(posts)
    assert {each.object for each in found} == {each.object for each in posts}
    for each in found:
        assert texts[int(each.object[-1])][each.start : each.end] == each.quote == each.label
        assert 0 < each.confidence <= 1


def test_pairs_that_repeat_are_keywords_as_they_are_written() -> None:
    assert labels([post(0, SURGE)])[0] == "storm surge"


def test_no_two_keywords_of_a_text_have_a_word_in_common() -> None:
    text = "The feather duvet lung is rare. Feather duvet lung comes of feather bedding, and feather bedding of geese."
    found = labels([post(0, text)])
    words = [word for each in found for word in each.casefold().split()]
    assert len(words) == len(set(words)) > 2


def test_a_word_of_most_texts_of_the_collection_is_no_keyword() -> None:
    others = [post(n, f"The harbour of {name} sleeps.") for n, name in enumerate(("Emden", "Leer", "Norden") * 20, 1)]
    assert "harbour" in labels([post(0, SURGE)])
    assert "harbour" not in labels([post(0, SURGE), *others])


def test_one_keyword_comes_to_eight_words_begun() -> None:
    assert len(labels([post(0, "Sandbags were missing.")])) == 1
    assert labels([post(0, "And so it was, that it is.")]) == []


def test_scripts_without_spaces_have_no_keywords() -> None:
    assert labels([post(0, "気候変動について話しました。", "ja")]) == []


def test_the_order_of_objects_does_not_matter() -> None:
    posts = [post(n, f"{SURGE} {word} {word}") for n, word in enumerate(("dike", "boat", "crane", "flood", "eel"))]
    shuffled = random.Random(3).sample(posts, len(posts))
    assert sorted(keywords(posts), key=repr) == sorted(keywords(shuffled), key=repr)


def test_texts_of_one_word_and_of_no_word_are_bounded_work() -> None:
    posts = [post(0, "flood " * MAX_CHARACTERS), post(1, "x" * 1_000_000), post(2, "-" * 1_000_000), post(3, "")]
    assert [(each.object, each.label) for each in keywords(posts)] == [("urn:post:0", "flood")]


def test_document_frequencies_are_exact_for_few_terms_and_name_a_bound_for_many() -> None:
    counted = DocumentFrequencies()
    for number in range(30):
        counted.add({"all", f"own {number}", f"of three {number // 3}"})
    assert [counted["all"], counted["own 7"], counted["of three 4"], counted["none"]] == [30, 1, 3, 0]
    assert counted.least(1) == 4
    assert counted.least(11) == 2
    assert counted.least(1000) == 1


def named(given: ObjectText, kind: Kind, *names: str) -> Iterator[Annotation]:
    """Yield annotations of a text that say that some words of it are names, wherever these stand."""
    for name in names:
        for found in re.finditer(re.escape(name), given.text):
            made = Annotation(given.object, given.capture, kind, name, "entities", "1", 0.8, f"urn:{name}")
            yield replace(made, start=found.start(), end=found.end(), quote=name)


CHANCELLOR = (
    "Angela Merkel flew to San Francisco. Angela liked the bridges there, and Merkel's speech on bridges was short. "
    "The mayor of San Francisco thanked Angela Merkel for her speech."
)


@pytest.mark.parametrize("is_known", [True, False])
def test_names_are_keywords_as_a_whole_or_not_at_all(*, is_known: bool) -> None:
    given = post(0, CHANCELLOR)
    known = [
        *named(given, Kind.PERSON, "Angela Merkel"),
        *named(given, Kind.PLACE, "San Francisco"),
    ]
    found = {each.label: each for each in Keywords().annotate(lambda: iter([given]), lambda: iter(known * is_known))}
    assert {"Angela Merkel", "San Francisco"} <= found.keys()
    words = [word for label in found for word in label.split()]
    assert [words.count(each) for each in ("Angela", "Merkel", "Merkel's", "San", "Francisco")] == [1, 1, 0, 1, 1]
    assert dict(found["San Francisco"].values) == {"count": "2"}


@pytest.mark.parametrize(
    ("language", "text", "halves"),
    [
        ("de", "Der Abend mit Ida Brekkum war lang. Brekkum las vor, und Idas Stimme trug weit über den Deich.", "Ida"),
        ("fr", "Le maire a reçu Jeanne Kerguelen hier. Jeanne lui a parlé longuement des digues du village.", "Jeanne"),
        ("es", "La alcaldesa habló con Marta Urrutia del puente. Marta pidió dos grúas más para el río.", "Marta"),
        ("pl", "Wczoraj przyjechała Anna Wierzbicka z Krakowa. Potem Anna mówiła o mostach i wałach.", "Anna"),
        ("ru", "Вчера приехала Анна Ветрова из города. Потом Анна говорила о мостах и о дамбах.", "Анна"),
        ("el", "Χθες μίλησε η Μαρία Βρεττού στο χωριό. Μετά η Μαρία έφυγε για τις γέφυρες.", "Μαρία"),
    ],
)
def test_halves_of_names_are_no_keywords_in_any_language_with_capitals(language: str, text: str, halves: str) -> None:
    found = labels([post(0, text, language)])
    assert found
    assert halves not in found
    assert f"{halves}s" not in found


def test_a_word_of_a_name_that_stands_for_itself_in_small_letters_is_a_keyword() -> None:
    text = "The Water Board met. There was water in the mill, water in the barn, and water on all roads of the village."
    found = labels([post(0, text)])
    assert "Water Board" in found or "water" in found
    assert "Water" not in found
    assert "Board" not in found


def test_ordinary_nouns_of_german_names_stay_keywords() -> None:
    text = (
        "Der Deutsche Wetterdienst warnt. Wer am Deich wohnt, kennt den Wetterdienst; der Deich ist alt, "
        "und der Deich am Alten Deich ist neu."
    )
    assert "Deich" in labels([post(0, text, "de")])


def test_names_count_with_all_their_places_and_show_words_of_their_own_text() -> None:
    given = post(0, "J. Brekkum spoke of dikes. Later J. Brekkum left, and nobody spoke.")
    known = [replace(each, label="Jonna Brekkum") for each in named(given, Kind.PERSON, "J. Brekkum")]
    found = {each.label: each for each in Keywords().annotate(lambda: iter([given]), lambda: iter(known))}
    assert "Jonna Brekkum" not in found  # Another text says that, which may be taken down.
    assert dict(found["J. Brekkum"].values) == {"count": "2"}


def test_names_that_are_known_elsewhere_than_in_the_text_are_left_alone() -> None:
    given = post(0, SURGE)
    known = [replace(each, object="urn:post:1") for each in named(given, Kind.NAME, "storm surge came at")]
    assert list(Keywords().annotate(lambda: iter([given]), lambda: iter(known))) == keywords([given])


def test_parts_of_paths_and_dates_are_no_keywords() -> None:
    text = (
        "In July the script reads /srv/tmp/dikes.txt for the 19th pump, and spends 6bn on July dikes by mail@dike.test."
    )
    found = {word.casefold() for label in labels([post(0, text)]) for word in label.split()}
    assert found.isdisjoint({"july", "srv", "tmp", "txt", "19th", "6bn"})
    assert "pump" in found


def test_halves_of_names_in_headlines_are_no_keywords() -> None:
    text = "Auteur : Kossivi Tiassou\nLes terres fertiles du village manquent, et les champs sont vides."
    found = labels([post(0, text, "fr")])
    assert not {"Kossivi", "Tiassou"} & {*found}
    assert found
