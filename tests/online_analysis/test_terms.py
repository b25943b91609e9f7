from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from online_analysis.private_cache import FOLDER
from online_analysis.terms import Lexicon, TermVector, idf_of, listed_idf, listed_languages, tokenize, word_groups

LEXICON = Lexicon()


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("The wind-turbine's rotor_blade, 2024!", ["the", "wind", "turbine", "rotor", "blade", "2024"]),
        ("Straße STRASSE", ["strasse", "strasse"]),
        ("l'énergie E\u0301NERGIE", ["énergie", "énergie"]),
        ("Ηλιακός ΗΛΙΑΚΌΣ", ["ηλιακόσ", "ηλιακόσ"]),
        ("太阳能发电", ["太阳", "阳能", "能发", "发电"]),
        ("iPhone手机 和", ["iphone", "手机", "和"]),
        ("हिन्दी भाषा", ["हिन्दी", "भाषा"]),
        ("a b c 1 2", []),
        ("x" * 65, []),
        ("", []),
    ],
)
def test_text_is_split_into_words_of_any_script(text: str, tokens: list[str]) -> None:
    assert tokenize(text) == tokens


@given(st.text(max_size=200))
def test_any_text_is_split(text: str) -> None:
    tokens = tokenize(text)
    assert all(token and len(token) <= 64 for token in tokens)
    assert tokenize(" ".join(tokens)) == [token for token in tokenize(" ".join(tokens)) if token]


@pytest.mark.parametrize("language", ["en", "zh", None])
@given(st.text(st.characters(codec="utf-8") | st.sampled_from(" \n\u3000\u0301\u00a8\u2019a中한"), max_size=80))
def test_terms_are_the_same_wherever_white_space_stands(language: str | None, text: str) -> None:
    known = LEXICON.language(language)
    assert known.terms(text) == [term for word in tokenize(text) for term in known.terms(word)]


@pytest.mark.parametrize(
    ("language", "text", "terms"),
    [
        ("en", "The turbines were turning", ["turbin", "turn"]),
        ("de", "Die Windräder und das Windrad", ["windrad", "windrad"]),
        ("fr", "les centrales et la centrale", ["central", "central"]),
        ("en-GB", "the turbines", ["turbin"]),
    ],
)
def test_terms_are_stems_without_stop_words(language: str, text: str, terms: list[str]) -> None:
    assert LEXICON.language(language).terms(text) == terms


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("en", "time people"),
        ("fr", "temps été"),
        ("ru", "время россии"),
        ("zh", "中国 政府"),
        ("tr", "zaman"),
        ("hr", "hrvatska"),
    ],
)
def test_frequent_words_that_a_crawl_can_be_about_are_no_stop_words(language: str, text: str) -> None:
    known = LEXICON.language(language)
    assert len(known.terms(text)) == len(text.split())


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("en", "which would not have been there with them"),
        ("de", "und nicht auch noch über keine"),
        ("fr", "qu'il était avec les autres"),
        ("el", "τους από την είναι"),
        ("hr", "koji je bio"),
        ("tl", "ang mga ito"),
    ],
)
def test_function_words_are_stop_words(language: str, text: str) -> None:
    assert LEXICON.language(language).terms(text) == []


def test_greek_inflections_meet_in_one_term() -> None:
    greek = LEXICON.language("el")
    assert greek.terms("το πάρκο") == greek.terms("των πάρκων") == ["παρκ"]


@pytest.mark.parametrize("language", ["en", "de", "fr", "el", "zh", None, "eu"])
def test_rare_terms_say_more_than_frequent_ones(language: str | None) -> None:
    pairs = {"el": ("νερό", "φωτοβολταϊκά"), "zh": ("城市", "光伏"), "eu": ("etxe", "fotovoltaikoa")}
    frequent, rare = pairs.get(language or "", ("water", "photovoltaic"))
    known = LEXICON.language(language)
    assert 0 < known.idf[known.terms(frequent)[0]] < known.idf[known.terms(rare)[0]] < 12


def test_what_was_seen_before_changes_nothing() -> None:
    fresh, used = Lexicon().language("en"), Lexicon().language("en")
    for number in range(1000):
        used.terms(f"unheard{number}")
        assert used.idf[f"unheard{number}"] == pytest.approx(idf_of(5e-7))
    assert fresh.terms("solar panels") == used.terms("solar panels")
    assert fresh.idf["solar"] == used.idf["solar"]


def test_codes_that_are_no_language_are_undetermined() -> None:
    assert LEXICON.language("xx") is LEXICON.language(None)
    assert LEXICON.language("de") is LEXICON.language("DE-at")
    assert LEXICON.language(None).terms("the turbines und Räder") == ["turbines", "räder"]


vectors = st.dictionaries(st.sampled_from("abcdef"), st.floats(0.01, 100), max_size=6).map(TermVector)


@given(vectors, vectors)
def test_the_cosine_is_symmetric_and_bounded(one: TermVector, other: TermVector) -> None:
    assert 0 <= one.cosine(other) <= 1
    assert one.cosine(other) == pytest.approx(other.cosine(one))
    assert one.cosine(one) == pytest.approx(1.0 if one.weights else 0.0)


@pytest.mark.slow
def test_word_lists_are_read_as_their_package_reads_them() -> None:
    import wordfreq  # What it imports takes long.

    assert listed_languages() == set(wordfreq.available_languages("small"))
    for code in ("en", "zh"):
        assert list(word_groups(code)) == wordfreq.get_frequency_list(code, "small")


def test_idf_that_is_kept_is_that_which_was_worked_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    made, kept = (listed_idf.__wrapped__("en") for _ in range(2))
    assert made.get("solar") == kept.get("solar") is not None
    assert len(made) == len(kept) > 10_000
    assert len(list((tmp_path / FOLDER).iterdir())) == 1
