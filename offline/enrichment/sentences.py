"""The sentences of a text, by the rules of its language (sentencex, some 300 languages), its lemmas and noun phrases.

Rules part texts as well as the small models that were measured, some of which join across blank lines, in no time. So
models tell lemmas, parts of speech and noun phrases alone, and the sentences of a text are the same with and without
them.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib.metadata import entry_points, version
from importlib.util import find_spec
from itertools import groupby, islice
from pathlib import Path
from typing import TYPE_CHECKING, Final

from sentencex import get_sentence_boundaries

from aahcrawler.annotations import Annotation, Kind
from aahcrawler.tallies import plural
from offline.enrichment.annotator import ObjectText
from offline.enrichment.capitals import NOUNS_WITH_CAPITALS
from offline.enrichment.word_dictionaries import dictionary_code, lemmatiser
from online_analysis.terms import function_words, is_unspaced

MODELS: Final = "spacy_models"
"""The group of entry points in which packages announce pipelines for spaCy."""
ANY: Final = "xx"
"""The code of pipelines that read languages which have none."""
_SIZES: Final = ("_lg", "_md", "_sm")
_TAGGING: Final = frozenset({"tagger", "morphologizer"})
_LEMMATISING: Final = frozenset({"lemmatizer", "trainable_lemmatizer"})


def installed_models() -> dict[str, str]:
    """Return an installed pipeline for each language, the largest, by its code.

    The code is what the name of the package begins with, as spaCy names packages: ``en_core_web_sm``.
    """
    found = {entry.name for entry in entry_points(group=MODELS)}

    def preference(name: str) -> tuple[int, str]:
        return next((place for place, size in enumerate(_SIZES) if size in name), len(_SIZES)), name

    models: dict[str, str] = {}
    for name in sorted(found, key=preference):
        models.setdefault(name.partition("_")[0], name)
    return models


def reading_words(models: Mapping[str, str]) -> dict[str, str]:
    """Return those of some pipelines, by language, that tell parts of speech and lemmas."""

    def reads_words(model: str) -> bool:
        parts = parts_of(model)
        return not (parts.isdisjoint(_TAGGING) or parts.isdisjoint(_LEMMATISING))

    return {code: model for code, model in models.items() if code != ANY and reads_words(model)}


def parts_of(model: str) -> frozenset[str]:
    """Return the names of the components of a pipeline, a package or a folder; none where it does not say them."""
    folder = Path(model)
    if not folder.is_dir():
        found = find_spec(model)
        if found is None or found.origin is None:
            return frozenset()
        folder = Path(found.origin).parent
    try:
        return frozenset(map(str, json.loads((folder / "meta.json").read_text("utf-8"))["components"]))
    except (OSError, ValueError, KeyError, TypeError):
        return frozenset()


def model_version(model: str) -> str:
    """Return the version of a pipeline's package; of a folder that of spaCy."""
    found = next((entry for entry in entry_points(group=MODELS, name=model) if entry.dist is not None), None)
    return found.dist.version if found is not None and found.dist is not None else version("spacy")


if TYPE_CHECKING:
    from online_analysis.analysers.gazetteer import WordForm

VERSION: Final = version("sentencex")
"""What annotations depend on that are made of sentences."""

MAX_CHARACTERS: Final = 100_000
"""Characters of a text of which sentences and words are told."""
MAX_SENTENCES: Final = 2_000
MAX_LEMMAS: Final = 500
"""Lemmas of a text that are told: the most frequent ones."""
OPEN_CLASSES: Final = frozenset({"ADJ", "ADV", "INTJ", "NOUN", "PROPN", "VERB"})
"""The parts of speech of words that say something by themselves (Universal Dependencies)."""
MAX_PHRASES: Final = 200
"""Noun phrases of a text that are told: the most frequent ones."""
MAX_WORDS_OF_PHRASE: Final = 6
_IN_PHRASES: Final = frozenset({"ADJ", "NOUN", "PROPN"})
_NOUNS: Final = frozenset({"NOUN", "PROPN"})
_HYPHENS: Final = frozenset("-‐‑")
_ADJECTIVES_BEHIND: Final = frozenset({"ca", "es", "fr", "gl", "it", "oc", "pt", "ro"})
"""Languages in which adjectives mostly stand behind their noun, and so may end a noun phrase."""
_EDITION: Final = "2"
_UNKNOWN: Final = "en"
_OF_MODEL, _OF_RULES = 0.95, 0.9
_MAX_LENGTH: Final = 80
_LEMMAS: Final = "lemmas"
_PHRASES: Final = "phrases"
_WORD: Final = re.compile(r"[^\W\d_]++(?!['’]t\b)")
"""A word, but for the first part of "isn't", which is none."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence without the white space around it, by its offsets in characters of the text."""

    text: str
    start: int
    end: int


def sentences(text: str, language: str = "") -> Iterator[Sentence]:
    """Yield the sentences of a text in their order; a blank line ends one. Linear in the length of the text.

    ``language`` is a code of ISO 639-1; where it is empty, abbreviations are those of English.

    >>> [each.text for each in sentences("Dr. Brandt kam am 3. Mai. Danach ging er!", "de")]
    ['Dr. Brandt kam am 3. Mai.', 'Danach ging er!']
    """
    for found in get_sentence_boundaries(language or _UNKNOWN, text):
        whole: str = found["text"]
        begun = whole.lstrip()
        if begun:
            start = found["start_index"] + len(whole) - len(begun)
            stripped = begun.rstrip()
            yield Sentence(stripped, start, start + len(stripped))


@dataclass(frozen=True, slots=True)
class _Words:
    """What is told of the words of a text: by what, how often which lemmas are there, and which noun phrases.

    Lemmas are counted by their part of speech, which is empty where nothing tells it.
    """

    by: str
    lemmas: Mapping[tuple[str, str], int]
    phrases: Mapping[str, int]
    phrases_by: str = ""


class SentenceAnnotator:
    """Annotates an object with where its sentences stand, and which lemmas and noun phrases are how often in it.

    It is one annotation. ``sentences`` in its values are the offsets of all sentences, ``lemmas-NOUN`` and the like how
    often which lemmas are nouns, and ``phrases`` how often which noun phrases are there, by the model of the object's
    language among ``models``; ``phrases-by`` says whether its ``parser`` told them, or its ``parts of speech``. Where
    there is no model, ``lemmas`` are those of words that are no function words, by dictionary, and neither parts of
    speech nor noun phrases are told. Of languages without either, and of scripts without spaces, nothing but the
    sentences is. ``by`` says which of ``model``, ``dictionary`` and ``rules`` it was. ``sentences_in``, ``lemmas_in``
    and ``phrases_in`` read the values.
    """

    name = "sentences"

    def __init__(self, models: Mapping[str, str] | None = None) -> None:
        self._models = reading_words(installed_models()) if models is None else dict(models)
        self._readers: dict[str, Callable[[str], Iterator[WordForm]]] = {}
        rules = f"sentencex {VERSION}; simplemma {version('simplemma')}"
        installed = (f"{model} {model_version(model)}" for model in sorted(set(self._models.values())))
        self.version = "; ".join([_EDITION, rules, *installed])

    def annotate(self, given: ObjectText) -> Iterator[Annotation]:
        """Yield an annotation of the text's first 100,000 characters, none where it has no sentence."""
        text = given.text[:MAX_CHARACTERS]
        found = [*islice(sentences(text, given.language), MAX_SENTENCES)]
        if not found:
            return
        words = self._words(text, given.language)
        values = {"by": words.by, "sentences": " ".join(f"{each.start}-{each.end}" for each in found)}
        for part in sorted({part for part, _ in words.lemmas}):
            own = {lemma: count for (its, lemma), count in words.lemmas.items() if its == part}
            values[f"{_LEMMAS}-{part}" if part else _LEMMAS] = " ".join(_counted(own, MAX_LEMMAS))
        if words.phrases:
            values[_PHRASES] = "; ".join(_counted(words.phrases, MAX_PHRASES))
            values[f"{_PHRASES}-by"] = words.phrases_by
        yield Annotation(
            object=given.object,
            capture=given.capture,
            kind=Kind.SENTENCES,
            label=plural(len(found), "sentence"),
            annotator=self.name,
            version=self.version,
            confidence=_OF_MODEL if words.by == "model" else _OF_RULES,
            values=tuple(sorted(values.items())),
        )

    def _words(self, text: str, language: str) -> _Words:
        if language in self._models:
            forms = [*self._reader(self._models[language])(text)]
            lemmas = Counter((each.part, each.lemma) for each in forms if each.part in OPEN_CLASSES)
            phrases = Counter(noun_phrases(forms, language))
            by = "parts of speech" if any(each.phrase is None for each in forms) else "parser"
            return _Words("model", _most_frequent(lemmas), phrases, by)
        if code := dictionary_code(language):
            return _Words(
                "dictionary", _most_frequent(Counter(("", each) for each in _by_dictionary(text, language, code))), {}
            )
        return _Words("rules", {}, {})

    def _reader(self, model: str) -> "Callable[[str], Iterator[WordForm]]":
        if model not in self._readers:
            from online_analysis.analysers import gazetteer  # noqa: PLC0415 - spaCy takes seconds to import

            self._readers[model] = gazetteer.word_forms(model)
        return self._readers[model]

    def told(self, languages: Mapping[str, int]) -> Iterator[str]:
        """Yield what words are read by in each of some languages, and what could be installed."""
        for code, count in sorted(languages.items(), key=lambda each: (-each[1], each[0])):
            where = f"words of {plural(count, 'object')} in {code or 'no language that can be told'}"
            if code in self._models:
                model = self._models[code]
                yield f"{where}: lemmas, parts of speech and noun phrases by the model {model} {model_version(model)}"
            elif dictionary_code(code):
                yield f"{where}: no model installed; lemmas by simplemma {version('simplemma')}, nothing else"
            else:
                yield f"{where}: neither a model nor a dictionary; sentences alone"
        if missing := sorted(code for code in languages if code and code not in self._models):
            codes = ", ".join(missing)
            yield f"for parts of speech and noun phrases in {codes}: install a pipeline for spaCy (docs/enrichment.md)"


def sentences_in(annotation: Annotation) -> tuple[tuple[int, int], ...]:
    """Return where the sentences of a text begin and end, as an annotation of ``SentenceAnnotator`` says."""
    places = (place.split("-") for place in dict(annotation.values)["sentences"].split())
    return tuple((int(start), int(end)) for start, end in places)


def lemmas_in(annotation: Annotation) -> dict[str, dict[str, int]]:
    """Return how often lemmas are in a text by their part of speech, empty where that is not told.

    >>> values = (("by", "model"), ("lemmas-NOUN", "dike 2 sea 1"), ("sentences", "0-41"))
    >>> lemmas_in(Annotation("urn:a", "urn:b", Kind.SENTENCES, "1 sentence", "sentences", "1", 0.9, values=values))
    {'NOUN': {'dike': 2, 'sea': 1}}
    """
    found: dict[str, dict[str, int]] = {}
    for name, value in annotation.values:
        if name.partition("-")[0] == _LEMMAS:
            words = value.split(" ")
            found[name.partition("-")[2]] = dict(zip(words[::2], map(int, words[1::2]), strict=True))
    return found


def phrases_in(annotation: Annotation) -> dict[str, int]:
    """Return how often noun phrases of two words and more are in a text; none where no model told them.

    >>> values = (("by", "model"), ("phrases", "old dike 2; water board 1"), ("phrases-by", "parser"))
    >>> phrases_in(Annotation("urn:a", "urn:b", Kind.SENTENCES, "1 sentence", "sentences", "1", 0.9, values=values))
    {'old dike': 2, 'water board': 1}
    """
    told = dict(annotation.values).get(_PHRASES, "")
    counted = (each.rpartition(" ") for each in told.split("; ") if each)
    return {phrase: int(count) for phrase, _, count in counted}


def noun_phrases(words: "Iterable[WordForm]", language: str) -> Iterator[str]:
    """Yield the noun phrases of two to six words in a text: nouns with the nouns and adjectives beside them.

    This is the pattern of Justeson and Katz (1995) without its prepositions. It is looked for within the phrases of the
    parser, or where there is none, in all words. Common words are in small letters, and function words begin none.
    English phrases have their head, the last noun, by its lemma; where adjectives agree with it, all is as written.
    """
    left_out = _function_words(language)
    for (phrase, is_in_one), run in groupby(_compounds(words), lambda each: (each.phrase, each.part in _IN_PHRASES)):
        if phrase == 0 or not is_in_one:
            continue
        kept = [*run]
        while kept and kept[0].text.casefold() in left_out:
            del kept[0]
        while kept and language not in _ADJECTIVES_BEHIND and kept[-1].part not in _NOUNS:
            del kept[-1]
        has_noun = any(each.part in _NOUNS for each in kept)
        if has_noun and 1 < len(kept) <= MAX_WORDS_OF_PHRASE and all(_is_in_phrase(each.text) for each in kept):
            *others, last = kept
            head = last.lemma if language == "en" and last.lemma else _plain(last, language)
            yield " ".join([*(_plain(each, language) for each in others), head])


def _compounds(words: "Iterable[WordForm]") -> "Iterator[WordForm]":
    """Yield words, with those that hyphens join as one: a noun where the last of them is, an adjective otherwise."""
    joined: WordForm | None = None
    for each in words:
        is_hyphen = each.text in _HYPHENS and not each.is_spaced
        if joined is not None and not joined.is_spaced and (is_hyphen or joined.text[-1] in _HYPHENS):
            part = each.part if each.part in _NOUNS else "ADJ"
            joined = replace(each, text=joined.text + each.text, lemma=joined.text + each.lemma, part=part)
            continue
        if joined is not None:
            yield joined
        joined = each
    if joined is not None:
        yield joined


def _plain(word: "WordForm", language: str) -> str:
    keeps_capitals = word.part == "PROPN" or (word.part == "NOUN" and language in NOUNS_WITH_CAPITALS)
    return word.text if keeps_capitals else word.text.lower()


def _is_in_phrase(word: str) -> bool:
    return _is_told(word) and ";" not in word


def _counted(counts: Mapping[str, int], number: int) -> list[str]:
    """Return the most frequent of some words, each with its count behind it."""
    return [f"{each} {count}" for each, count in sorted(counts.items(), key=lambda each: (-each[1], each[0]))[:number]]


def _most_frequent(counts: Mapping[tuple[str, str], int]) -> dict[tuple[str, str], int]:
    told = {each: count for each, count in counts.items() if _is_told(each[1])}
    return dict(sorted(told.items(), key=lambda each: (-each[1], each[0]))[:MAX_LEMMAS])


def _is_told(lemma: str) -> bool:
    return 1 < len(lemma) <= _MAX_LENGTH and any(map(str.isalpha, lemma)) and not any(map(str.isspace, lemma))


@cache
def _function_words(language: str) -> frozenset[str]:
    return frozenset(map(str.casefold, function_words((language,))))


def _by_dictionary(text: str, language: str, code: str) -> Iterator[str]:
    lemma_of, left_out = lemmatiser(), _function_words(language)
    for word in _WORD.findall(text):
        if _is_told(word) and not is_unspaced(word) and word.casefold() not in left_out:
            lemma = lemma_of(word, code)
            if lemma.casefold() not in left_out:
                yield lemma
