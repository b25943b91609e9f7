from dataclasses import replace
from pathlib import Path

import pytest

from aahcrawler.annotations import Annotation, Kind
from aahcrawler.service.views.judged_words import about
from offline.enrichment.annotator import ObjectText
from offline.enrichment.opinions import MAX_SENTENCE, LexiconError, Opinions

POST = ObjectText("urn:o", "urn:c", "post", "https://a.test/", "", language="en")
GERMAN = "# made up for this test\ngut\t2\nSchlecht\t-2.5\nnicht\tnot\n\nfroh\t1.9\n"


def labels(text: str, opinions: Opinions, language: str = "en") -> list[tuple[str, str]]:
    return [(each.label, each.quote) for each in opinions.annotate(replace(POST, text=text, language=language))]


def lexicons(folder: Path, content: str = GERMAN, name: str = "de.tsv") -> Path:
    (folder / name).write_text(content, "utf-8")
    return folder


def test_sentences_that_judge_are_quoted_where_they_stand_and_others_are_not() -> None:
    text = "The bridge has two lanes.  What a wonderful bridge!\n\nThe noise is awful."
    found = list(Opinions().annotate(replace(POST, text=text)))
    assert [(each.label, each.quote) for each in found] == [
        ("positive", "What a wonderful bridge!"),
        ("negative", "The noise is awful."),
    ]
    for each in found:
        assert text[each.start : each.end] == each.quote
        values = dict(each.values)
        assert float(values["strength"]) == abs(float(values["polarity"]))
        assert values["judge"].startswith("vader")
        assert list(values) == sorted(values)
        assert 0 < each.confidence <= 1


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("The new bridge is not good.", "negative"),
        ("It is hardly a success.", "negative"),
        ("Nobody is happy with it.", "negative"),
        ("There is nothing bad about it, it is excellent.", "positive"),
    ],
)
def test_negation_is_heeded(text: str, label: str) -> None:
    assert labels(text, Opinions()) == [(label, text)]


def test_names_and_function_words_are_no_opinions() -> None:
    assert labels("The annexe of the Joy Hospital Trust stands by the river.", Opinions()) == []
    assert labels("Bring the red one as well as the green one.", Opinions()) == []
    assert labels("It Was A Wonderful Day For The Whole Town", Opinions())


def test_a_report_of_what_happened_on_a_day_judges_only_by_strong_words() -> None:
    assert labels("The mill was good on 3 May 2019.", Opinions()) == []
    assert labels("The mill was good.", Opinions())
    assert labels("The feast on 3 May 2019 was a wonderful success.", Opinions())


@pytest.mark.parametrize(
    "text",
    [
        "The war cost many lives, and the town was destroyed.",
        "Their attack on the mill killed nobody.",
        "Was the ferry awful?",
        "If the ferry is awful, take the bridge.",
        "The owners said that the ferry is awful.",
        "They were putting out a serious fire.",
        "Twelve houses were lost in Osterby.",
        "My mother warned of the clay in 2017.",
        "I agree with Anna.",
    ],
)
def test_a_sentence_that_reports_is_not_judged(text: str) -> None:
    assert labels(text, Opinions()) == []


@pytest.mark.parametrize(
    "text",
    [
        "The owners said: “The ferry is awful.”",
        "I hate that the ferry came late.",
        "What a mess they made!",
        "The new ferry looks very ugly.",
        "My sister dreaded the ferry.",
        "Sadly the ferry came late.",
        "I am angry that twelve houses were lost.",
    ],
)
def test_a_sentence_that_evaluates_is_judged(text: str) -> None:
    assert labels(text, Opinions()) == [("negative", text)]


def test_other_languages_are_not_judged_without_a_lexicon(tmp_path: Path) -> None:
    text = "Das ist nicht gut. Das ist gut. Das gefällt, ist aber schlecht. Es ist acht Uhr."
    assert labels(text, Opinions(), "de") == []
    assert labels(text, Opinions(), "") == []
    opinions = Opinions(lexicons(tmp_path))
    assert opinions.judged == {"de", "en"}
    assert [label for label, _ in labels(text, opinions, "de")] == ["negative", "positive", "negative"]


def test_a_negation_behind_a_word_turns_it_and_one_beyond_a_comma_does_not(tmp_path: Path) -> None:
    opinions = Opinions(lexicons(tmp_path))
    assert [label for label, _ in labels("Froh bin ich nicht.", opinions, "de")] == ["negative"]
    assert [label for label, _ in labels("Das nicht, gut ist es.", opinions, "de")] == ["positive"]


def test_the_version_is_that_of_the_words_of_a_lexicon(tmp_path: Path) -> None:
    first = Opinions(lexicons(tmp_path)).version
    assert Opinions(lexicons(tmp_path)).version == first != Opinions().version
    assert Opinions(lexicons(tmp_path, GERMAN + "arg\t-1\n")).version != first


@pytest.mark.parametrize(
    ("content", "message"),
    [("gut\n", "line 1"), ("gut\tviel\n", "line 1"), ("# x\ngut\t5\n", "line 2"), ("gut\tnan\n", "line 1"),
     ("\t2\n", "line 1")],
)  # fmt: skip
def test_a_lexicon_that_cannot_be_read_is_told_of_with_its_line(tmp_path: Path, content: str, message: str) -> None:
    with pytest.raises(LexiconError, match=f"de.tsv, {message}: write a word, a tab, and a weight"):
        Opinions(lexicons(tmp_path, content))


def test_a_lexicon_in_another_encoding_is_told_of(tmp_path: Path) -> None:
    (tmp_path / "de.tsv").write_bytes("schön\t2\n".encode("latin-1"))
    with pytest.raises(LexiconError, match="UTF-8"):
        Opinions(tmp_path)


def test_a_text_without_sentences_is_not_judged() -> None:
    assert labels("good not " * MAX_SENTENCE, Opinions()) == []


def test_opinions_are_about_what_their_sentence_names() -> None:
    text = "The bridge is wonderful. Anna hates the ferry."
    (first, second) = Opinions().annotate(replace(POST, text=text))

    def named(words: str, of: str = "urn:o") -> Annotation:
        at = text.index(words)
        return Annotation(of, "urn:c", Kind.NAME, words, "test", "1", 1.0, "", at, at + len(words), words)

    whole = replace(named("bridge"), start=-1, end=-1)
    others = [named("ferry"), named("bridge"), named("Anna"), named("Anna", "urn:other"), whole]
    assert [(one.quote[:3], other.label) for one, other in about([first, second], others)] == [
        ("The", "bridge"),
        ("Ann", "Anna"),
        ("Ann", "ferry"),
    ]
