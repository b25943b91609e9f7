from collections import Counter
from collections.abc import Iterable
from itertools import chain

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from online_analysis import similarity as comparison_module
from online_analysis import term_arrays as vocabulary_module
from online_analysis.document import Document, DocumentPart, Outlink
from online_analysis.similarity import (
    ANCHOR,
    PAGE,
    PARAGRAPH,
    Closeness,
    Expectation,
    Measure,
    Measured,
    counts_closeness,
)
from online_analysis.term_arrays import Counting, Vocabulary, words_of
from online_analysis.terms import Lexicon
from online_analysis.topic import Topic

LEXICON = Lexicon()
COUNTING = Counting(LEXICON)
MENU = Outlink("http://a.test/menu%20of/winds?sort=speed", "Winds", context="Winds of the week")
INSIDE = Outlink("http://a.test/1", "turbines", context="Old turbines turn.", part=0)
WHOLE = Document(
    "http://a.test/",
    "en",
    "A ridge",
    (DocumentPart("content", "Old turbines turn.\nThe ridge"), DocumentPart("sidebar", "More ridges")),
    (INSIDE, MENU, INSIDE),
    rest="Villages below",
)


def test_the_terms_of_a_page_are_those_of_its_units_and_of_what_stands_in_none() -> None:
    counted = COUNTING.of(WHOLE)
    assert counted.language is LEXICON.language("en")
    assert counted.title == ("ridg",)
    assert counted.parts == (("old", "turbin", "turn", "ridg"), ("ridg",))
    assert counted.rest == ("villag", "below")
    assert counted.paragraphs == (("old", "turbin", "turn"), ("wind", "week"), ("old", "turbin", "turn"))
    assert counted.anchors == (("turbin",), ("wind",), ("turbin",))
    assert counted.outside == ("wind", "week")
    assert dict(counted.counts) == {
        "ridg": 3,
        "old": 1,
        "turbin": 1,
        "turn": 1,
        "villag": 1,
        "below": 1,
        "wind": 1,
        "week": 1,
    }


def test_the_words_of_an_address_are_those_of_path_and_query() -> None:
    assert words_of(MENU.url) == "menu of/winds?sort=speed"


def test_text_around_links_that_is_in_a_part_is_not_counted_again() -> None:
    link = Outlink("http://a.test/2", "turn", context="Old turbines turn.")
    loose = Document(WHOLE.url, "en", "", WHOLE.parts, (link,))
    assert COUNTING.of(loose).outside == ()


def test_whoever_asks_for_the_same_document_shares_its_terms() -> None:
    assert COUNTING.of(WHOLE) is COUNTING.of(WHOLE)
    equal = Document(WHOLE.url, WHOLE.language, WHOLE.title, WHOLE.parts, WHOLE.outlinks, rest=WHOLE.rest)
    assert COUNTING.of(equal).counts == COUNTING.of(WHOLE).counts


def test_a_long_paragraph_counts_by_its_beginning_and_a_part_as_a_whole() -> None:
    text = "turbine " * 300
    counted = COUNTING.of(Document("u", "en", "", (DocumentPart("content", text),), (Outlink("v", "", text),)))
    assert len(counted.parts[0]) == 300
    assert len(counted.paragraphs[0]) == 125


texts = st.lists(st.sampled_from(["wind", "turbines", "ridge", "the", "villages", "2024", "unheard"]), max_size=12)
TOPIC = Topic(["wind turbine"], ["A ridge of wind and wind, and a village"], LEXICON).vector("en")
MEASURE = Measure(TOPIC)


def read(*texts: str) -> Measured:
    vocabulary = COUNTING.vocabulary(TOPIC.language)
    return MEASURE.units(vocabulary.read(texts), vocabulary)


def by_hand(texts: Iterable[str], expectation: Expectation) -> Closeness:
    units = [tuple(TOPIC.language.terms(text)) for text in texts]
    return counts_closeness(Counter(chain.from_iterable(units)), TOPIC, expectation, units)


@pytest.mark.slow
@given(st.lists(texts.map(" ".join), min_size=1, max_size=6))
def test_many_texts_at_once_are_what_each_is_by_itself(found: list[str]) -> None:
    measured = read(*found)
    for near, expectation in zip(measured.near((PARAGRAPH, ANCHOR)), (PARAGRAPH, ANCHOR), strict=True):
        for place, text in enumerate(found):
            alone = Closeness(float(near.keywords[place]), float(near.documents[place]))
            assert alone == pytest.approx(by_hand([text], expectation))
            assert near.speaking[place] == any(not term.isdigit() for term in TOPIC.language.terms(text))


@given(st.lists(texts.map(" ".join), min_size=2, max_size=6))
def test_several_texts_together_are_what_their_sum_is(found: list[str]) -> None:
    measured, n = read(*found), len(found)
    whole = by_hand(found, PAGE)
    assert measured.together(np.ones(n), np.ones(n, np.bool_)) == pytest.approx(whole)
    all_but_one = by_hand(found[1:], PAGE)
    assert measured.together(np.ones(n), np.arange(n) > 0).keywords == pytest.approx(all_but_one.keywords)
    groups = measured.groups(np.array([0] + [1] * (n - 2)), 2)
    assert groups.keywords == pytest.approx([by_hand(each, PAGE).keywords for each in (found[:1], found[1:-1])])


def test_a_short_text_of_a_group_is_compared_as_a_longer_one() -> None:
    measured = read("ridge", "ridge village", "and " * 9)
    near, groups = measured.near([ANCHOR])[0], measured.groups(np.array([0, 1]), 2)
    assert 0 < groups.documents[0] < near.documents[0] / 5


def test_keywords_of_many_words_that_overlap_are_all_found() -> None:
    topic = Topic(["red wind turbine", "wind turbine", "wind wind"], (), LEXICON).vector("en")
    vocabulary = COUNTING.vocabulary(topic.language)
    texts = ("red wind", "turbine", "red wind turbine, wind the wind wind", "wind of ridge turbines")
    measured = Measure(topic).units(vocabulary.read(texts), vocabulary)
    hits, names = measured.compared.hits, measured.side.names
    found = Counter(zip(hits.units.tolist(), (names[number] for number in hits.keywords.tolist()), strict=True))
    assert {name: n for (unit, name), n in found.items() if unit == 2} == {
        "red": 1, "wind": 4, "turbin": 1, "red wind turbin": 1, "wind turbin": 1, "wind wind": 2
    }  # fmt: skip
    assert {name for unit, name in found if unit != 2} == {"red", "wind", "turbin"}


def test_what_was_read_before_changes_nothing() -> None:
    fresh = [tuple(each) for each in read("wind village").near([ANCHOR])[0]]
    for number in range(300):
        read(*[f"unheard{number}x{other} wind" for other in range(20)])
    assert [tuple(each) for each in read("wind village").near([ANCHOR])[0]] == fresh


def test_a_full_vocabulary_is_left_for_another_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vocabulary_module, "MAX_WORDS", 10)
    counting = Counting(LEXICON)
    kept = counting.of(WHOLE)
    fresh = counting.vocabulary(LEXICON.language("en"))
    assert fresh is not kept.vocabulary
    assert kept.title == ("ridg",)


def test_words_keep_their_terms_where_slots_are_shared_or_cannot_hold_them(monkeypatch: pytest.MonkeyPatch) -> None:
    language = LEXICON.language("en")
    texts = [
        " ".join(f"unheard{number}" for number in range(start, start + 5_000)) for start in range(0, 20_000, 5_000)
    ]
    expected = [tuple(language.terms(text)) for text in texts]
    for most in (vocabulary_module._MAX_CODES, 100):
        monkeypatch.setattr(vocabulary_module, "_MAX_CODES", most)
        vocabulary = Vocabulary(language)
        for _ in range(2):
            units = vocabulary.read(texts)
            assert [units.of(place, place + 1) for place in range(4)] == expected


def test_terms_are_counted_alike_whether_their_keys_are_short_or_long(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = ("wind village wind", "ridge", "villages of wind", "the ridge ridge")
    found = []
    for most in (comparison_module._NARROW, 0):
        monkeypatch.setattr(comparison_module, "_NARROW", most)
        measured = read(*texts)
        near = [each.tolist() for each in measured.near([PARAGRAPH])[0]]
        found.append(
            (near, measured.together(np.ones(4), np.ones(4, np.bool_)), measured.compared._counted.terms.dtype)
        )
    assert found[0] == found[1]


EXOTIC = st.sampled_from(list("aZ9 ßİıÅ\u0301\u0307’“—…ﬁ①²ⅧΣςа中文、。，ひคำ한ＡＢ\u00a0\u3000\ud800\0\u2028\x1c-_.'"))


@given(st.lists(st.text(EXOTIC, max_size=30), min_size=1, max_size=4), st.sampled_from(["en", "el", "zh", None]))
def test_texts_that_are_read_together_have_the_terms_of_each(texts: list[str], code: str | None) -> None:
    language = LEXICON.language(code)
    units = COUNTING.vocabulary(language).read(texts)
    assert [units.of(place, place + 1) for place in range(len(texts))] == [
        tuple(language.terms(text)) for text in texts
    ]


def test_the_terms_of_a_long_text_do_not_depend_on_where_its_words_are() -> None:
    language = LEXICON.language("en")
    text = " ".join(f"wind中文 turbines{number % 700}" for number in range(20_000))
    assert COUNTING.vocabulary(language).read(["", text]).of(1, 2) == tuple(language.terms(text))
