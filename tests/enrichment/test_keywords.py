import random
from collections.abc import Sequence

from aahcrawler.annotations import Annotation
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
