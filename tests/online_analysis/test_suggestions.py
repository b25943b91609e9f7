import time
from collections.abc import Iterable
from datetime import date
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from online_analysis import suggestions
from online_analysis.icd import Icd
from online_analysis.icd.new_definition import Wish, new_definition
from online_analysis.suggestions import MAX_CHARACTERS, MAX_SUGGESTIONS, Suggested, suggest

REFERENCE = (Path(__file__).parents[2] / "examples" / "reference.txt").read_text(encoding="utf-8")
GERMAN = (
    "Die Sturmflut vom 11. November 2019 traf den Hafen in der Nacht. Am 12. November 2019 brach der Deich an der "
    "Schleuse, und am 14. November 2019 begann die Evakuierung der Altstadt. Die Sturmflut und der Deich waren noch am "
    "20. November 2019 in allen Zeitungen. Der Deich wurde erst im Sommer repariert, die Schleuse noch später."
)


def values(found: Iterable[Suggested]) -> list[str]:
    return [each.value for each in found]


def test_a_text_suggests_the_words_that_it_is_about() -> None:
    found = suggest(REFERENCE)
    words = values(found.keywords)
    assert {"Varhaven", "flood", "dyke", "lower town"} <= set(words)
    assert not {"the", "and", "which"} & {word.lower() for word in words}
    assert [each.weight for each in found.keywords] == sorted((each.weight for each in found.keywords), reverse=True)
    assert found.keywords[0].weight == 1
    assert values(found.languages) == ["en"]
    assert "Grey Lock" in values(found.entities)


def test_each_suggestion_has_its_evidence_and_stands_in_the_text() -> None:
    found = suggest(REFERENCE + GERMAN)
    folded = " ".join((REFERENCE + GERMAN).split()).casefold()
    for each in (*found.keywords, *found.entities):
        assert each.count >= 1
        assert each.value.casefold() in folded, each
        assert each.value.casefold() in each.snippet.casefold()
        assert len(each.snippet) < 200 + len(each.value)
    flood = next(each for each in found.keywords if each.value == "flood")
    assert flood.count == REFERENCE.lower().count("flood")


def test_words_of_another_language_are_counted_by_their_own_stems() -> None:
    found = suggest(GERMAN)
    assert values(found.languages) == ["de"]
    assert values(found.keywords)[:3] != []
    counts = {each.value: each.count for each in found.keywords}
    assert counts["Deich"] == 3
    assert counts["Sturmflut"] == 2


def test_dates_that_lie_close_together_suggest_a_span() -> None:
    span = suggest(GERMAN).span
    assert span is not None
    assert (span.start, span.end, span.count, span.dates) == (date(2019, 11, 11), date(2019, 11, 20), 4, 4)
    assert "11. November 2019" in span.snippet
    scattered = (
        "On 1 May 2001 one. On 2 June 2008 two. On 3 July 2013 three. On 4 August 2019 four. On 5 May 1990 five."
    )
    assert suggest(scattered).span is None
    assert suggest("It was 2019, and 2019 again; 2019, 2019, 2019.").span is None
    late = GERMAN + " Am 1. Januar 1999 war alles anders."
    assert suggest(late).span == suggest(late).span
    found = suggest(late).span
    assert found is not None
    assert (found.end, found.count, found.dates) == (date(2019, 11, 20), 4, 5)


def test_addresses_suggest_seeds_and_hosts() -> None:
    text = "See https://a.example.org/x (or https://a.example.org/y), www.example.net and me@mail.example.com."
    found = suggest(text, links=["https://b.example.org/", "https://a.example.org/x", "javascript:x"])
    assert values(found.seeds) == [
        "https://a.example.org/x",
        "https://a.example.org/y",
        "https://b.example.org/",
        "https://www.example.net/",
    ]
    assert next((each.value, each.count) for each in found.hosts) == ("a.example.org", 3)
    assert "example" not in values(found.keywords)


def test_what_is_given_already_is_left_out() -> None:
    everything = suggest(REFERENCE)
    given_words = [*values(everything.keywords)[:3], "grey lock"]
    found = suggest(REFERENCE, given=given_words)
    assert not {word.casefold() for word in given_words} & {each.casefold() for each in values(found.keywords)}
    assert "Grey Lock" not in values(found.entities)


def test_suggestions_make_a_definition() -> None:
    found = suggest(REFERENCE + "\nhttps://a.example.org/\n")
    wish = Wish(tuple(values(found.seeds)), "a@b.example", tuple(values(found.keywords)), tuple(values(found.entities)))
    assert Icd.parse(new_definition(wish).encode()).topic.keywords == tuple(values(found.keywords))


@pytest.mark.slow
@given(st.text(max_size=400))
def test_whatever_a_text_is_the_same_one_suggests_the_same(text: str) -> None:
    found = suggest(text)
    assert found == suggest(text)
    for kind in (found.keywords, found.entities, found.hosts, found.languages):
        assert len(kind) <= MAX_SUGGESTIONS
        assert len(set(values(kind))) == len(kind)
        assert all(0 < each.weight <= 1 and each.count > 0 for each in kind)
        assert not any("\n" in each.snippet for each in kind)


@pytest.mark.parametrize("length", [MAX_CHARACTERS // 10, pytest.param(MAX_CHARACTERS, marks=pytest.mark.soak)])
@pytest.mark.parametrize("piece", ["A", "a. ", "1 May 2024 ", "Aa Bb ", "http://a.example/ ", "x@", "\n", "気候変動"])
@pytest.mark.slow
def test_long_texts_take_bounded_time_and_are_said_to_be_cut(
    piece: str, length: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(suggestions, "MAX_CHARACTERS", length)
    begun = time.process_time()
    assert suggest(piece * (length // len(piece) + 1)).is_cut
    assert time.process_time() - begun < length / 50_000


def test_an_empty_text_suggests_nothing() -> None:
    assert suggest("").are_none
    assert suggest(" \n\t 12 ...").are_none
