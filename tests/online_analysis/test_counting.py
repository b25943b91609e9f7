from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from online_analysis.comparing import Comparer
from online_analysis.counting import Counting, summed
from online_analysis.document import Document, DocumentPart, Outlink
from online_analysis.similarity import counts_closeness
from online_analysis.terms import Lexicon
from online_analysis.topic import Topic

LEXICON = Lexicon()
COUNTING = Counting(LEXICON)
MENU = Outlink("http://a.test/menu%20of/winds?sort=speed", "Winds", context="Winds of the week")
INSIDE = Outlink("http://a.test/1", "turbines", context="Old turbines turn.", part=0)
PAGE = Document(
    "http://a.test/",
    "en",
    "A ridge",
    (DocumentPart("content", "Old turbines turn.\nThe ridge"), DocumentPart("sidebar", "More ridges")),
    (INSIDE, MENU, INSIDE),
    rest="Villages below",
)


def test_the_terms_of_a_page_are_those_of_its_units_and_of_what_stands_in_none() -> None:
    counted = COUNTING.of(PAGE)
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


def test_addresses_have_the_terms_of_path_and_query() -> None:
    assert COUNTING.of(PAGE).addresses[1] == ("menu", "wind", "sort", "speed")


def test_text_around_links_that_is_in_a_part_is_not_counted_again() -> None:
    link = Outlink("http://a.test/2", "turn", context="Old turbines turn.")
    loose = Document(PAGE.url, "en", "", PAGE.parts, (link,))
    assert COUNTING.of(loose).outside == ()


def test_whoever_asks_for_the_same_document_shares_its_terms() -> None:
    assert COUNTING.of(PAGE) is COUNTING.of(PAGE)
    equal = Document(PAGE.url, PAGE.language, PAGE.title, PAGE.parts, PAGE.outlinks, rest=PAGE.rest)
    assert COUNTING.of(equal).counts == COUNTING.of(PAGE).counts


def test_a_long_paragraph_counts_by_its_beginning_and_a_part_as_a_whole() -> None:
    text = "turbine " * 300
    counted = COUNTING.of(Document("u", "en", "", (DocumentPart("content", text),), (Outlink("v", "", text),)))
    assert len(counted.parts[0]) == 300
    assert len(counted.paragraphs[0]) == 125


terms = st.lists(st.sampled_from(["wind", "turbin", "ridg", "villag", "2024", "unheard"]), max_size=12).map(tuple)
TOPIC = Topic(["wind turbine"], ["A ridge of wind and wind, and a village"], LEXICON).vector("en")
COMPARER = Comparer(TOPIC)


@settings(deadline=None, max_examples=100)
@given(st.lists(terms, min_size=1, max_size=6))
def test_many_pieces_at_once_are_what_each_is_by_itself(pieces: list[tuple[str, ...]]) -> None:
    compared = COMPARER.compare(pieces, [1.0] * len(pieces))
    alone = [counts_closeness(summed([piece]), TOPIC).documents for piece in pieces]
    assert list(compared.cosines) == pytest.approx(alone)
    assert compared.together == pytest.approx(counts_closeness(summed(pieces), TOPIC).documents)
    found = {place: keywords_by_hand(piece) for place, piece in enumerate(pieces)}
    assert compared.keywords == {place: each for place, each in found.items() if each}


def keywords_by_hand(piece: tuple[str, ...]) -> Counter[str]:
    phrases = [f"{one} {other}" for one, other in pairwise(piece)]
    return Counter(each for each in (*piece, *phrases) if each in ("wind", "turbin", "wind turbin"))


def test_keywords_of_many_words_that_overlap_are_all_found() -> None:
    topic = Topic(["red wind turbine", "wind turbine", "wind wind"], (), LEXICON).vector("en")
    text = ("red", "wind", "turbin", "wind", "wind", "wind")
    compared = Comparer(topic).compare([text[:2], text[2:3], text], [])
    assert compared.keywords[2] == {
        "red": 1, "wind": 4, "turbin": 1, "red wind turbin": 1, "wind turbin": 1, "wind wind": 2
    }  # fmt: skip
    assert compared.keywords[0] == {"red": 1, "wind": 1}


def test_what_was_compared_before_changes_nothing() -> None:
    fresh = Comparer(TOPIC).compare([("wind", "villag")], [1.0])
    used = Comparer(TOPIC)
    for number in range(5000):
        used.compare([(f"unheard{number}", "wind")], [])
    assert used.compare([("wind", "villag")], [1.0]) == fresh
