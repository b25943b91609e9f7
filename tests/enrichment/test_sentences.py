"""Where the sentences of texts stand, and which lemmas are how often in them, with and without models."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from aahcrawler.annotations import Annotation, Kind
from offline.enrichment.annotator import ObjectText
from offline.enrichment.sentences import (
    SentenceAnnotator,
    lemmas_in,
    noun_phrases,
    parts_of,
    phrases_in,
    reading_words,
    sentences_in,
)
from offline.enrichment.steps import chosen_steps

if TYPE_CHECKING:
    from online_analysis.analysers.gazetteer import WordForm


def said(text: str, language: str = "en", models: dict[str, str] | None = None) -> list[Annotation]:
    given = ObjectText("urn:o:1", "urn:uuid:1", "post", "http://a.test/", text, language=language)
    return list(SentenceAnnotator(models or {}).annotate(given))


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Save a pipeline that knows some lemmas and parts of speech by heart, and return its folder."""
    import spacy  # What it imports takes long.

    pipeline = spacy.blank("en")
    pipeline.add_pipe("attribute_ruler", name="tagger").add_patterns(  # type: ignore[attr-defined]
        [
            {"patterns": [[{"LOWER": "dikes"}]], "attrs": {"POS": "NOUN"}},
            {"patterns": [[{"LOWER": "old"}]], "attrs": {"POS": "ADJ"}},
            {"patterns": [[{"LOWER": "broke"}]], "attrs": {"POS": "VERB"}},
            {"patterns": [[{"IS_PUNCT": True}]], "attrs": {"POS": "PUNCT"}},
        ]
    )
    pipeline.add_pipe("attribute_ruler", name="lemmatizer").add_patterns(  # type: ignore[attr-defined]
        [{"patterns": [[{"LOWER": "dikes"}]], "attrs": {"LEMMA": "dike"}}]
    )
    folder = tmp_path_factory.mktemp("model") / "en_small"
    pipeline.to_disk(folder)
    return str(folder)


def test_a_model_tells_lemmas_by_part_of_speech_and_rules_tell_sentences(model: str) -> None:
    text = "Dr. Berg said: Dikes broke.\n\nThe dikes!"
    (found,) = said(text, models={"en": model})
    assert (found.kind, found.label, dict(found.values)["by"]) == (Kind.SENTENCES, "2 sentences", "model")
    assert [text[start:end] for start, end in sentences_in(found)] == ["Dr. Berg said: Dikes broke.", "The dikes!"]
    lemmas = lemmas_in(found)
    assert lemmas["NOUN"] == {"dike": 2}
    assert "PUNCT" not in lemmas


def test_a_model_without_a_parser_tells_noun_phrases_by_parts_of_speech(model: str) -> None:
    (found,) = said("Old dikes broke. The old dikes! Dikes broke the old.", models={"en": model})
    assert phrases_in(found) == {"old dike": 2}
    assert dict(found.values)["phrases-by"] == "parts of speech"


def forms(written: str, *, has_parser: bool = False) -> "list[WordForm]":
    """Return words of "text/lemma/part" with spaces between, phrases of a parser in brackets."""
    from online_analysis.analysers.gazetteer import WordForm  # It imports spaCy, which takes long.

    told, phrase, within = [], 0, False
    for each in written.replace("[", "[ ").replace("]", " ]").split():
        if each in "[]":
            within = each == "["
            phrase += within
            continue
        text, lemma, part = each.rstrip("+").split("/")
        told.append(WordForm(text, lemma, part, (phrase if within else 0) if has_parser else None, each[-1] != "+"))
    return told


def test_noun_phrases_are_nouns_with_what_stands_beside_them() -> None:
    english = (
        "The/the/DET Water/Water/PROPN Board/Board/PROPN made/make/VERB other/other/ADJ high/high/ADJ sea/sea/NOUN "
        "dikes/dike/NOUN wide/wide/ADJ ././PUNCT The/the/DET storm/storm/NOUN+ -/-/PUNCT+ tide/tide/NOUN "
        "warnings/warning/NOUN came/come/VERB"
    )
    assert list(noun_phrases(forms(english), "en")) == ["Water Board", "high sea dike", "storm-tide warning"]
    french = "Les/le/DET grandes/grand/ADJ digues/digue/NOUN maritimes/maritime/ADJ"
    assert list(noun_phrases(forms(french), "fr")) == ["grandes digues maritimes"]
    german = "Der/der/DET alte/alt/ADJ Deich/Deich/NOUN war/sein/AUX hoch/hoch/ADJ"
    assert list(noun_phrases(forms(german), "de")) == ["alte Deich"]


def test_a_parser_parts_noun_phrases_that_stand_side_by_side() -> None:
    written = "gave/give/VERB [the/the/DET old/old/ADJ mayor/mayor/NOUN] [flood/flood/NOUN maps/map/NOUN] free/free/ADJ"
    assert list(noun_phrases(forms(written, has_parser=True), "en")) == ["old mayor", "flood map"]
    assert list(noun_phrases(forms(written), "en")) == ["old mayor flood map"]


def test_without_a_model_a_dictionary_tells_lemmas_and_no_parts_of_speech() -> None:
    (found,) = said("Die Deiche brachen, und Häuser standen unter Wasser.", "de")
    assert dict(found.values)["by"] == "dictionary"
    assert lemmas_in(found) == {"": {"Deich": 1, "Haus": 1, "Wasser": 1, "brechen": 1, "stehen": 1}}


def test_of_other_languages_and_scripts_sentences_alone_are_told() -> None:
    (found,) = said("昨夜の高潮で堤防が決壊した。市は避難を呼びかけている。", "ja")
    assert (len(sentences_in(found)), lemmas_in(found), dict(found.values)["by"]) == (2, {}, "rules")
    told = list(SentenceAnnotator({}).told({"de": 2, "ja": 1}))
    assert "words of 2 objects in de: no model installed; lemmas by simplemma" in told[0]
    assert "words of 1 object in ja: neither a model nor a dictionary" in told[1]
    assert said(" \n") == []


def test_models_that_tell_no_words_are_passed_over(model: str, tmp_path: Path) -> None:
    assert parts_of(model) == {"tagger", "lemmatizer"}
    assert reading_words({"en": model, "xx": model, "fr": str(tmp_path), "de": "no_such_package"}) == {"en": model}


def test_long_and_odd_texts_are_bounded() -> None:
    for text in ("A" * 300_000, "ab " * 100_000, "é'" * 150_000, "Oh. " * 50_000, "don't " * 50_000):
        for found in said(text, "fr"):
            assert len(str(found.values)) < 100_000
    words = ("".join(chr(ord("a") + int(digit)) for digit in f"{number:05}") for number in range(9_000))
    (found,) = said(" ".join(words), "fr")
    assert sum(map(len, lemmas_in(found).values())) == 500


def test_the_step_is_done_only_where_it_is_named() -> None:
    assert "sentences" not in [step.name for step in chosen_steps(())]
    assert [step.name for step in chosen_steps(("sentences", "language"))] == ["language", "sentences"]
