"""The sentences of a text, by the rules of its language (sentencex, some 300 languages), and the lemmas of its words.

Rules part texts as well as the small models that were measured, some of which join across blank lines, in no time. So
models tell lemmas and parts of speech alone, and the sentences of a text are the same with and without them.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from itertools import islice
from typing import Final

from sentencex import get_sentence_boundaries

from aahcrawler.annotations import Annotation, Kind
from aahcrawler.tallies import plural
from offline.enrichment.annotator import ObjectText
from offline.enrichment.language_models import installed_models, model_version, reading_words
from online_analysis.terms import is_unspaced
from online_analysis.word_lists import function_words

VERSION: Final = version("sentencex")
"""What annotations depend on that are made of sentences."""

MAX_CHARACTERS: Final = 100_000
"""Characters of a text of which sentences and words are told."""
MAX_SENTENCES: Final = 2_000
MAX_LEMMAS: Final = 500
"""Lemmas of a text that are told: the most frequent ones."""
OPEN_CLASSES: Final = frozenset({"ADJ", "ADV", "INTJ", "NOUN", "PROPN", "VERB"})
"""The parts of speech of words that say something by themselves (Universal Dependencies)."""
_EDITION: Final = "1"
_UNKNOWN: Final = "en"
_OF_MODEL, _OF_RULES = 0.95, 0.9
_MAX_LENGTH: Final = 80
_LEMMAS: Final = "lemmas"
_WORD: Final = re.compile(r"[^\W\d_]++(?!['’]t\b)")
"""A word, but for the first part of "isn't", which is none."""
_DICTIONARIES: Final = 4
"""Languages whose dictionaries are held at once; one takes 50 to 170 MiB."""
_DICTIONARY_OF: Final = {"bs": "hbs", "hr": "hbs", "no": "nb", "sr": "hbs"}
"""The dictionaries of languages that are not called by their codes."""
Words = Iterator[tuple[str, str]]
"""The words of a text by their lemmas and parts of speech, which are empty where nothing tells them."""


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


class SentenceAnnotator:
    """Annotates an object with where its sentences stand and which lemmas are how often in it, in one annotation.

    ``sentences`` in its values are the offsets of all sentences, ``lemmas-NOUN`` and the like how often which lemmas
    are nouns, by the model of the object's language among ``models``. Where there is none, ``lemmas`` are those of
    words that are no function words, by dictionary, and parts of speech are not told. Of languages without either, and
    of scripts without spaces, nothing but the sentences is. ``by`` says which of ``model``, ``dictionary`` and
    ``rules`` it was. ``sentences_in`` and ``lemmas_in`` read the values.
    """

    name = "sentences"

    def __init__(self, models: Mapping[str, str] | None = None) -> None:
        self._models = reading_words(installed_models()) if models is None else dict(models)
        self._readers: dict[str, Callable[[str], Words]] = {}
        rules = f"sentencex {VERSION}; simplemma {version('simplemma')}"
        installed = (f"{model} {model_version(model)}" for model in sorted(set(self._models.values())))
        self.version = "; ".join([_EDITION, rules, *installed])

    def annotate(self, given: ObjectText) -> Iterator[Annotation]:
        """Yield an annotation of the text's first 100,000 characters, none where it has no sentence."""
        text = given.text[:MAX_CHARACTERS]
        found = [*islice(sentences(text, given.language), MAX_SENTENCES)]
        if not found:
            return
        by, counts = self._lemmas(text, given.language)
        values = {"by": by, "sentences": " ".join(f"{each.start}-{each.end}" for each in found)}
        for part in sorted({part for part, _ in counts}):
            own = sorted((-count, lemma) for (its, lemma), count in counts.items() if its == part)
            values[f"{_LEMMAS}-{part}" if part else _LEMMAS] = " ".join(f"{lemma} {-count}" for count, lemma in own)
        yield Annotation(
            object=given.object,
            capture=given.capture,
            kind=Kind.SENTENCES,
            label=plural(len(found), "sentence"),
            annotator=self.name,
            version=self.version,
            confidence=_OF_MODEL if by == "model" else _OF_RULES,
            values=tuple(sorted(values.items())),
        )

    def _lemmas(self, text: str, language: str) -> tuple[str, dict[tuple[str, str], int]]:
        """Return by what words were read, and how often which are there, by part of speech and lemma."""
        if language in self._models:
            by, words = "model", self._reader(self._models[language])(text)
        elif (code := _DICTIONARY_OF.get(language, language)) in _dictionaries():
            by, words = "dictionary", _by_dictionary(text, language, code)
        else:
            return "rules", {}
        counts = Counter(
            (part, lemma) for lemma, part in words if _is_told(lemma) and (not part or part in OPEN_CLASSES)
        )
        return by, dict(sorted(counts.items(), key=lambda each: (-each[1], each[0]))[:MAX_LEMMAS])

    def _reader(self, model: str) -> Callable[[str], Words]:
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
                yield f"{where}: lemmas and parts of speech by the model {model} {model_version(model)}"
            elif _DICTIONARY_OF.get(code, code) in _dictionaries():
                yield f"{where}: no model installed; lemmas by simplemma {version('simplemma')}, no parts of speech"
            else:
                yield f"{where}: neither a model nor a dictionary; sentences alone"
        if missing := sorted(code for code in languages if code and code not in self._models):
            yield f"for parts of speech in {', '.join(missing)}: install a pipeline for spaCy (docs/enrichment.md)"


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


def _is_told(lemma: str) -> bool:
    return 1 < len(lemma) <= _MAX_LENGTH and any(map(str.isalpha, lemma)) and not any(map(str.isspace, lemma))


@cache
def _dictionaries() -> frozenset[str]:
    from simplemma.strategies.dictionaries.dictionary_factory import SUPPORTED_LANGUAGES  # noqa: PLC0415

    return frozenset(SUPPORTED_LANGUAGES)


@cache
def _lemmatiser() -> Callable[[str, str], str]:
    """Return what finds the lemma of a word in a dictionary by its code; a word that it lacks is its own."""
    import simplemma  # noqa: PLC0415 - a tenth of a second
    from simplemma.strategies import DefaultDictionaryFactory, DefaultStrategy  # noqa: PLC0415

    strategy = DefaultStrategy(dictionary_factory=DefaultDictionaryFactory(cache_max_size=_DICTIONARIES))
    return simplemma.Lemmatizer(lemmatization_strategy=strategy).lemmatize


@cache
def _function_words(language: str) -> frozenset[str]:
    return frozenset(map(str.casefold, function_words((language,))))


def _by_dictionary(text: str, language: str, code: str) -> Words:
    lemma_of, left_out = _lemmatiser(), _function_words(language)
    for word in _WORD.findall(text):
        if _is_told(word) and not is_unspaced(word) and word.casefold() not in left_out:
            lemma = lemma_of(word, code)
            if lemma.casefold() not in left_out:
                yield lemma, ""
