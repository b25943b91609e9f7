"""Pairs of words that are counted in an archive, and how they change the weight of pairs."""

import math
from dataclasses import replace
from pathlib import Path

import pytest

from online_analysis import pair_frequencies
from online_analysis.analysers import RelevanceAnalyser
from online_analysis.icd import Icd, Relevance
from online_analysis.pair_frequencies import PairCounter, PairFrequencies, PairsError
from online_analysis.reference_vector import Weighting
from online_analysis.term_arrays import Counting, Vocabulary
from online_analysis.terms import Frequencies, Language, Lexicon
from online_analysis.topic import build_topic
from tests.online_analysis.definitions import SMALLEST, only_mistake
from tests.online_analysis.documents import page


def counted(*texts: str) -> PairFrequencies:
    counting, counter = Counting(Lexicon()), PairCounter()
    for text in texts:
        read = counting.of(page(*text.split("\n")))
        counter.add(read.language.code, read.units, read.pieces[-2])
    return counter.frequencies()


def test_pages_are_counted_once_for_each_pair_and_pairs_lie_within_a_line() -> None:
    texts = ["The flood crest, a flood crest.\nPassed", "flood crest passed", "flood crests", "one flood\ncrest"]
    found = counted(*texts)
    assert found.by_language == {"en": Frequencies(4, {"flood crest": 3})}


def test_a_file_of_pairs_is_read_as_it_was_written() -> None:
    found = PairFrequencies({"en": Frequencies(9, {"flood crest": 3}), "": Frequencies(2, {})})
    assert PairFrequencies.parse("\n".join(found.lines())) == found
    assert found.of("de") == Frequencies(0, {})


@pytest.mark.parametrize(
    ("text", "line"), [("en\t3", 1), ("en\t\t9\nen\tflood\t3", 2), ("en\t\t9\nen\ta b\t-3", 2), ("en\ta b\t3", 1)]
)
def test_what_is_no_file_of_pairs_is_refused_by_its_line(text: str, line: int) -> None:
    with pytest.raises(PairsError) as caught:
        PairFrequencies.parse(text)
    assert caught.value.line == line


def test_the_idf_of_a_pair_is_less_where_it_is_frequent_and_never_more_than_by_chance() -> None:
    language = Language("en")
    vocabulary = Vocabulary(language)
    units = vocabulary.read(["flood crest", "crest flood"])
    by_chance = language.idf["flood"] + language.idf["crest"]

    def weights(*pairs: tuple[str, int]) -> list[float]:
        vector = Weighting((), language, vocabulary, Frequencies(990, dict(pairs))).vector(units)
        return [float(each) for each in vector.weights]

    plain, known, all_pages = weights(), weights(("flood crest", 99)), weights(("flood crest", 990))
    assert plain[2:] == pytest.approx([by_chance] * 2)
    share = (99 + 10 * math.exp(-by_chance)) / 1000
    assert known[2:] == pytest.approx([-math.log(share), by_chance])
    assert all_pages[2] == pytest.approx(0.05, abs=0.01)
    assert plain[:2] == known[:2]


def test_memory_is_bounded_and_counts_are_never_too_high(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pair_frequencies, "MAX_COUNTED", 50)
    texts = [f"flood crest once{number} twice{number} thrice{number}" for number in range(100)]
    found = counted(*texts).by_language["en"].holding
    assert set(found) == {"flood crest"}
    assert 50 < found["flood crest"] <= 100


def test_a_definition_names_a_file_of_pairs(tmp_path: Path) -> None:
    (tmp_path / "pairs.tsv").write_text("en\t\t1000\nen\tflood crest\t900\n")
    text = SMALLEST.replace("solar power", "flood crest, river") + "scoring: {relevance: {bigrams: pairs.tsv}}"
    icd = Icd.parse(text.encode(), tmp_path / "flood.yaml")
    assert icd.file_names == ("pairs.tsv",)
    assert '"file.pairs.tsv"' not in icd.meaning()
    assert "file.pairs.tsv" in icd.meaning()
    document = page("The flood crest passed the town.")
    scores = [
        RelevanceAnalyser(Relevance(), build_topic(icd, {}), None, pairs=pairs).relevance(document).score
        for pairs in (None, icd.pairs, replace(counted(), by_language={}))
    ]
    assert scores[0] == scores[2] > scores[1] > 0


@pytest.mark.parametrize(
    ("content", "problem"), [(b"\xff", "is not UTF-8"), (b"flood", "line 1"), (None, "does not exist")]
)
def test_a_file_that_holds_no_pairs_is_a_mistake_of_the_definition(
    tmp_path: Path, content: bytes | None, problem: str
) -> None:
    if content is not None:
        (tmp_path / "pairs.tsv").write_bytes(content)
    mistake = only_mistake("scoring: {relevance: {bigrams: pairs.tsv}}", folder=tmp_path)
    assert mistake.field == "scoring.relevance.bigrams"
    assert problem in mistake.problem
