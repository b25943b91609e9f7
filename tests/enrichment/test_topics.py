import random
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from aahcrawler.annotations import Annotation
from offline.enrichment import topic_texts
from offline.enrichment.annotator import ObjectText
from offline.enrichment.topic_texts import Formulas, coherence, ranked_terms
from offline.enrichment.topics import KnownTopics, Topics

SUBJECTS = {
    "en": {
        "flood": "dike flood river sandbag levee rain pump surge harbour evacuation gauge embankment",
        "music": "violin concert orchestra melody conductor rehearsal trumpet choir audience symphony sonata cello",
        "garden": "tomato compost seedling greenhouse pruning tulip harvest beetle watering hedge orchard gravel",
    },
    "de": {
        "Flut": "Deich Hochwasser Sandsack Pegel Flut Damm Evakuierung Pumpe Regen Sturm Feuerwehr Keller",
        "Musik": "Geige Konzert Orchester Melodie Dirigent Probe Trompete Chor Publikum Sinfonie Cello Oper",
    },
    "ja": {
        "洪水": "洪水 堤防 避難 豪雨 河川 水位 土嚢 浸水 台風 警報",
        "音楽": "音楽 演奏 合唱 指揮 楽器 舞台 旋律 聴衆 作曲 和音",
    },
}
FILLING = {
    "en": "people yesterday told everybody about something there again really nobody always thinking because today",
    "de": "gestern erzählten alle Leute wieder etwas davon und niemand wusste heute genau warum",
    "ja": "昨日 人々 話 今日 何か",
}


def posts(language: str, number: int, seed: int = 1, subjects: Sequence[str] = ()) -> dict[str, list[ObjectText]]:
    """Return posts by their subject, each of words of that subject and of words that any post may have."""
    lot = random.Random(f"{language} {seed}")
    joint = "" if language == "ja" else " "
    made: dict[str, list[ObjectText]] = {}
    for subject, words in SUBJECTS[language].items():
        for n in range(number if not subjects or subject in subjects else 0):
            chosen = [*lot.sample(words.split(), 7), *lot.sample(FILLING[language].split(), 5)]
            lot.shuffle(chosen)
            name = f"urn:{language}:{subject}:{seed}:{n}"
            text = joint.join(chosen) + "。" * (language == "ja")
            made.setdefault(subject, []).append(
                ObjectText(name, name, "post", "http://a.test/", text, language=language)
            )
    return made


def flat(*made: dict[str, list[ObjectText]]) -> list[ObjectText]:
    return [each for subjects in made for texts in subjects.values() for each in texts]


def annotated(topics: Topics, objects: Sequence[ObjectText]) -> list[Annotation]:
    return list(topics.annotate(lambda: iter(objects), lambda: iter(())))


def purity(annotations: Sequence[Annotation]) -> float:
    best: dict[str, Annotation] = {}
    for each in annotations:
        if each.object not in best or best[each.object].confidence < each.confidence:
            best[each.object] = each
    by_topic = defaultdict[str, Counter[str]](Counter)
    for each in best.values():
        by_topic[each.iri][each.object.split(":")[2]] += 1
    return sum(max(counted.values()) for counted in by_topic.values()) / len(best)


@cache
def english() -> tuple[tuple[ObjectText, ...], tuple[Annotation, ...], KnownTopics]:
    objects, topics = flat(posts("en", 60)), Topics()
    return tuple(objects), tuple(annotated(topics, objects)), topics.state


def test_planted_topics_are_found_and_named_by_their_words() -> None:
    objects, found, state = english()
    assert purity(found) > 0.95
    assert len({each.object for each in found}) > 0.95 * len(objects)
    assert len(state.topics) == len(SUBJECTS["en"])
    for topic in state.topics:
        (subject,) = {name for name, words in SUBJECTS["en"].items() if set(topic.name.split(", ")) <= {*words.split()}}
        assert subject in {each.object.split(":")[2] for each in found if each.iri == topic.iri}


def test_what_is_quoted_stands_in_the_text() -> None:
    texts = {each.object: each.text.split() for each in english()[0]}
    for each in english()[1]:
        quoted = each.quote.split(", ")
        assert len(quoted) >= 2
        assert set(quoted) <= set(texts[each.object])
        assert 0.3 <= each.confidence <= 1


def test_the_order_of_objects_and_a_second_run_change_nothing() -> None:
    objects, found, state = english()
    for seed in range(2):
        shuffled, topics = random.Random(seed).sample(objects, len(objects)), Topics()
        assert sorted(annotated(topics, shuffled), key=repr) == sorted(found, key=repr)
        assert topics.state == state
    again = Topics(state=KnownTopics.parse(str(state)))
    assert sorted(annotated(again, objects), key=repr) == sorted(found, key=repr)
    assert again.state == state


def test_topics_keep_name_and_iri_as_the_collection_grows() -> None:
    first = Topics()
    annotated(first, flat(posts("en", 60, subjects=("flood", "music"))))
    before = {topic.iri: topic.name for topic in first.state.topics}
    second = Topics(state=first.state)
    objects = flat(posts("en", 60), posts("en", 90, seed=2))
    found = annotated(second, objects)
    after = {topic.iri: topic.name for topic in second.state.topics}
    assert len(before) == 2
    assert len(after) == 3
    assert before.items() < after.items()
    assert purity(found) > 0.95
    for each in found:
        if each.iri in before:
            assert each.object.split(":")[2] in ("flood", "music")


def test_topics_that_are_gone_are_remembered() -> None:
    state = english()[2]
    topics = Topics(state=state)
    annotated(topics, flat(posts("en", 60, subjects=("flood", "garden"))))
    assert {topic.iri for topic in state.topics} <= {topic.iri for topic in topics.state.topics}


def test_each_language_has_topics_of_its_own() -> None:
    topics = Topics()
    found = annotated(topics, flat(posts("de", 50), posts("ja", 50)))
    assert {topic.language for topic in topics.state.topics} == {"de", "ja"}
    assert len(topics.state.topics) == 4
    assert purity(found) > 0.95
    assert all(topic.name.istitle() for topic in topics.state.topics if topic.language == "de")


def test_short_collections_unknown_languages_and_words_by_chance_have_no_topics() -> None:
    few = flat(posts("en", 10))
    assert annotated(Topics(), few) == []
    unknown = [replace(each, language="") for each in english()[0]]
    assert annotated(Topics(), unknown) == []
    lot = random.Random(5)
    words = [f"{one}{two}" for one in ("kora", "mine", "sulo", "tave", "reni", "bosa") for two in "bdfgklmnprst"]
    chance = [replace(each, text=" ".join(lot.sample(words, 12))) for each in english()[0]]
    assert annotated(Topics(), chance) == []


def test_copies_of_a_text_make_no_topic() -> None:
    objects = [replace(each, text=english()[0][0].text) for each in english()[0]]
    assert annotated(Topics(), objects) == []


def test_lda_is_asked_the_same_way() -> None:
    topics = Topics("lda")
    objects = flat(posts("en", 40))
    assert purity(annotated(topics, objects)) > 0.85
    assert topics.version != Topics().version


def test_more_texts_than_the_sample_are_told_by_its_topics(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topic_texts, "MAX_SAMPLE", 100)
    objects = flat(posts("en", 60))
    found = annotated(Topics(), objects)
    assert purity(found) > 0.95
    assert len({each.object for each in found}) > 0.9 * len(objects)
    shuffled = random.Random(4).sample(objects, len(objects))
    assert sorted(annotated(Topics(), shuffled), key=repr) == sorted(found, key=repr)


def test_a_huge_text_of_one_word_and_one_without_spaces_are_read_in_part() -> None:
    objects = [
        replace(english()[0][0], text=text) for text in ("flood " * 2_000_000, "x" * 2_000_000, "堤" * 2_000_000)
    ]
    assert annotated(Topics(), objects) == []


def test_coherence_is_one_of_terms_that_are_only_met_together_and_none_of_terms_that_never_are() -> None:
    windows = csr_matrix(np.array([[1, 1, 0], [1, 1, 0], [0, 0, 1], [0, 0, 1]], float))
    assert coherence(windows, [0, 1]) == pytest.approx(1)
    assert coherence(windows, [0, 2]) == -1
    assert coherence(windows, [0]) == 0
    even = csr_matrix(np.array([[1, 1], [1, 0], [0, 1], [0, 0]], float))
    assert coherence(even, [0, 1]) == pytest.approx(0)


def test_terms_of_equal_weight_are_ranked_by_the_vocabulary() -> None:
    assert ranked_terms(np.array([0.2, 0.40001, 0.4, 0.0]), 4) == [(1, 1.0), (2, 1.0), (0, 0.5)]


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"topics": [{"iri": "urn:x"}], "numbers": []}', '{"topics": 3}'])
def test_a_damaged_state_is_told(text: str) -> None:
    with pytest.raises(ValueError, match="no topics of former runs"):
        KnownTopics.parse(text)


def test_phrases_that_texts_repeat_make_no_topic() -> None:
    """A signature that every third text has would be the most coherent topic of all."""
    signature = "Many hearty greetings from sunny Lunden, yours truly, the committee."
    written = flat(posts("en", 40))
    signed = [
        replace(each, text=f"{each.text} {signature}") if number % 3 == 0 else each
        for number, each in enumerate(written)
    ]
    found = annotated(Topics(), signed)
    assert len(found) > len(written) / 2
    assert not any("hearti" in dict(each.values)["terms"].split() for each in found)


def test_a_text_that_others_copy_is_read() -> None:
    formulas = Formulas(
        [f"{text} {number}".split() for number in range(5) for text in ("the old dike broke at night",)]
    )
    assert not formulas.held(["the", "old", "dike", "broke", "at", "night"]).any()
    assert (
        formulas.held(["see", "how", "the", "old", "dike", "broke", "at", "night"]).tolist() == [False] * 2 + [True] * 6
    )
    assert Formulas([]).held(["dike"]).tolist() == [False]
