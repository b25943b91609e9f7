"""Finds the ICD's entities by their names with spaCy, and has a statistical model classify each mention.

Only the surroundings of a word that stands in some name are looked at closely: such words are found in the whole text
with one automaton, so a page that names nobody costs next to nothing. In these surroundings spaCy's phrase matcher
finds names, or single words of them, whatever their case, accents and endings (``Σαμαρά`` for ``Σαμαράς``).

Names are split by spaCy's language-neutral tokenizer, which separates elided articles as well, and where a script
writes no spaces character by character: the French tokenizer takes four seconds to load, those of Japanese, Korean and
Thai need packages of their own, and names need no more. Importing this module takes seconds, so it is imported only
where the ICD has entities.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache
from itertools import takewhile
from pathlib import Path

import spacy
from ahocorasick_rs import AhoCorasick
from spacy.about import __version__
from spacy.language import Language as Pipeline
from spacy.matcher import PhraseMatcher
from spacy.tokenizer import Tokenizer
from spacy.tokens import Doc, Span
from spacy.util import compile_infix_regex, compile_prefix_regex, compile_suffix_regex

from online_analysis.analysers.entities import Mention
from online_analysis.terms import Language, is_unspaced

_AROUND = 120
"""The characters read on either side of a word of a name: about as many as a model needs to recognise a name."""
_MAX_SURROUNDINGS = 100
_MAX_AT_ONCE = 50_000
"""Characters that a model reads at once."""
_WORD = re.compile(r"[^\W_]+")
_MAX_ACRONYM_LENGTH = 5
_MIN_OF_PART = 3
_REMEMBERED_WORDS = 20_000
_PART_WITHOUT_MODEL = 0.5
_SHARED_PARTS = frozenset({"tok2vec", "transformer"})
"""Components that others of a pipeline may listen to; some have an encoder of their own."""
_NAME_PARTS = frozenset({"ner"})
_WORD_PARTS = frozenset({"tagger", "morphologizer", "attribute_ruler", "lemmatizer", "trainable_lemmatizer"})
_PHRASE_PARTS = frozenset({"parser"})


class EntityModelError(Exception):
    """Raised for an unusable model; ``problem`` completes the sentence "the field ...", ``advice`` tells the remedy."""

    def __init__(self, problem: str, advice: str) -> None:
        super().__init__(f"{problem}; {advice}")
        self.problem = problem
        self.advice = advice


def load_model(name: str) -> Pipeline:
    """Load a spaCy pipeline, an installed package or a folder, with only the components that named entities need.

    Raise EntityModelError where it cannot be loaded or recognises no entities.
    """
    pipeline = _loaded(name)
    if "ner" not in pipeline.pipe_names:
        held = ", ".join(pipeline.pipe_names) or "nothing"
        problem = f"the model '{Path(name).name}' recognises no entities, it holds {held}"
        raise EntityModelError(problem, "name a pipeline with the component `ner`")
    return _with_parts(pipeline, _NAME_PARTS)


def _loaded(name: str) -> Pipeline:
    try:
        return spacy.load(name)
    except (OSError, ValueError, ImportError, KeyError, TypeError) as error:
        problem = f"the model '{Path(name).name}' cannot be loaded ({type(error).__name__}: {error})"
        raise EntityModelError(problem, f"install one for spaCy {__version__}, or train it anew") from error


def _with_parts(pipeline: Pipeline, parts: Set[str]) -> Pipeline:
    """Return a pipeline with some of its components alone, and with what these listen to."""
    kept = parts | _SHARED_PARTS if any("Listener" in str(_config(pipeline, each)) for each in parts) else parts
    pipeline.select_pipes(enable=[each for each in pipeline.pipe_names if each in kept])
    return pipeline


def _config(pipeline: Pipeline, part: str) -> object:
    return pipeline.config["components"].get(part)


def name_places(name: str) -> Callable[[str], Iterator[tuple[int, int, str]]]:
    """Return what yields where the names begin and end that a model sees in a text, and its label for what bears them.

    Raise EntityModelError.
    """
    model = load_model(name)

    def recognise(text: str) -> Iterator[tuple[int, int, str]]:
        for begin in range(0, len(text), _MAX_AT_ONCE):
            for each in model(text[begin : begin + _MAX_AT_ONCE]).ents:
                yield begin + each.start_char, begin + each.end_char, each.label_

    return recognise


@dataclass(frozen=True, slots=True)
class WordForm:
    """A word of a text as a model reads it; signs and numbers are words, too.

    ``part`` is its part of speech (UPOS). ``phrase`` is the number of the noun phrase that a parser puts it into, 0
    where it is in none, and None where the model has no parser. ``is_spaced`` is whether white space follows it.
    """

    text: str
    lemma: str
    part: str
    phrase: int | None
    is_spaced: bool


def word_forms(name: str) -> Callable[[str], Iterator[WordForm]]:
    """Return what yields the words of a text by a model, in its order. Raises EntityModelError."""
    model = _loaded(name)
    has_phrases = "parser" in model.pipe_names and "noun_chunks" in (model.Defaults.syntax_iterators or {})
    _with_parts(model, _WORD_PARTS | (_PHRASE_PARTS if has_phrases else frozenset()))

    def read(text: str) -> Iterator[WordForm]:
        number = 0
        for begin in range(0, len(text), _MAX_AT_ONCE):
            doc = model(text[begin : begin + _MAX_AT_ONCE])
            phrases: dict[int, int] = {}
            for number, chunk in enumerate(doc.noun_chunks if has_phrases else (), number + 1):  # noqa: B020 - goes on
                phrases |= {token.i: number for token in chunk}
            for token in doc:
                phrase = phrases.get(token.i, 0) if has_phrases else None
                yield WordForm(token.text, token.lemma_, token.pos_, phrase, bool(token.whitespace_))

    return read


class Gazetteer:
    """Finds names with spaCy. Not thread-safe. ``language_of`` returns the words of a language by its code.

    Without a model, a mention of the whole name has an overlap of 1, and one of its words half of that word's share in
    the name's idf. With a model, for texts of its language, the recognised entity is compared with the name word by
    word (Jaccard): ``Freiburg Medical Instruments`` names Freiburg by a third. A single word of a name counts only
    where the model recognises an entity of the right sort; a whole name counts even where the model misses it.
    """

    def __init__(
        self, entities: Iterable[str], language_of: Callable[[str | None], Language], model: Pipeline | None = None
    ) -> None:
        self._entities = tuple(dict.fromkeys(entities))
        self._language_of = language_of
        self._model = model
        self._spaced, self._unspaced = _spaced_pipeline(), spacy.blank("zh")
        self._names: dict[str | None, _Names] = {}
        self._matching: dict[tuple[str | None, int], _Matching] = {}

    def find(self, text: str, language: str | None) -> Sequence[Mention]:
        """Return the mentions of a text, in its order."""
        names = self._names_in(language)
        mentions: list[Mention] = []
        for start, end in _surroundings(text, names.words_in(text)):
            passage = text[start:end]
            mentions += self._matching_for(names, passage).find(passage)
        return tuple(mentions)

    def places(self, text: str, language: str | None) -> Iterator[tuple[str, int, int]]:
        """Yield each entity that a text names by its whole name, and where that begins and ends, in order."""
        names = self._names_in(language)
        for start, end in _surroundings(text, names.words_in(text)):
            passage = text[start:end]
            matching = self._matching_for(names, passage)
            for span, pattern in matching.names(matching.read(passage), passage):
                if not pattern.is_part:
                    yield pattern.entity, start + span.start_char, start + span.end_char

    def _names_in(self, code: str | None) -> "_Names":
        language = self._language_of(code)
        if language.code not in self._names:
            self._names[language.code] = _Names(self._entities, language)
        return self._names[language.code]

    def _matching_for(self, names: "_Names", passage: str) -> "_Matching":
        code = names.language.code
        reads = self._model is not None and (code is None or self._model.lang in (code, "xx"))
        if self._model is not None and reads:
            pipeline = self._model
        else:
            pipeline = self._unspaced if is_unspaced(passage) else self._spaced
        key = code, id(pipeline)
        if key not in self._matching:
            self._matching[key] = _Matching(pipeline, names, recognises=pipeline is self._model)
        return self._matching[key]


class _Capitals(IntEnum):
    """Which letters of a mention must be capitals to distinguish it from a common word."""

    NONE = 0
    FIRST = 1
    ALL = 2


@dataclass(frozen=True, slots=True)
class _Pattern:
    """A search pattern for a name or one word of it. ``share`` is the word's share in the name, 1 for a whole name."""

    entity: str
    written: str
    share: float = 1.0
    is_part: bool = False

    @property
    def capitals(self) -> _Capitals:
        """The letters that tell it from common words: the first of a single word, all of an acronym."""
        if is_unspaced(self.written) or not any(map(str.isupper, self.written)) or len(_WORD.findall(self.written)) > 1:
            return _Capitals.NONE
        is_acronym = self.written.isupper() and len(self.written) <= _MAX_ACRONYM_LENGTH
        return _Capitals.ALL if is_acronym else _Capitals.FIRST


class _Names:
    """The entities in one language: the name patterns, and the words that show where a name may stand."""

    def __init__(self, entities: Sequence[str], language: Language) -> None:
        self.language = language
        self.norm = lru_cache(_REMEMBERED_WORDS)(self._norm)
        self.patterns = tuple(pattern for entity in entities for pattern in self._patterns(entity))
        signs: dict[str, _Capitals] = {}
        for pattern in self.patterns:
            stem, needed = self._stem(pattern.written), pattern.capitals
            signs[stem] = min(needed, signs.get(stem, needed))
        self._automaton = AhoCorasick(list(signs))
        self._needed = tuple(signs.values())

    def words_in(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield the places where a word of a name may stand, in the order of their ends."""
        for number, start, end in self._automaton.find_matches_as_indexes(folded(text), overlapping=True):
            needed = self._needed[number]
            if needed is not _Capitals.NONE and not text[start].isupper():
                continue
            if not (needed is _Capitals.ALL and not text[start:end].isupper()) and _begins(text, start):
                yield start, end

    def _norm(self, word: str) -> str:
        """Return the normal form of a word, equal for all of its inflected forms."""
        terms = self.language.terms(word)
        return folded(terms[0]) if len(terms) == 1 else folded(word)

    def _patterns(self, entity: str) -> Iterator[_Pattern]:
        yield _Pattern(entity, entity)
        words = [word for word in _WORD.findall(entity) if self.language.terms(word)]
        if len(words) < 2 or is_unspaced(entity):
            return
        idfs = [self._idf(word) for word in words]
        for word, idf in zip(words, idfs, strict=True):
            if len(word) >= _MIN_OF_PART and not word.isdigit():
                yield _Pattern(entity, word, idf / sum(idfs), is_part=True)

    def _idf(self, word: str) -> float:
        return max((self.language.idf[term] for term in self.language.terms(word)), default=0.0)

    def _stem(self, written: str) -> str:
        """Return the common beginning of all forms of a name's rarest word.

        In scripts without spaces, the whole name.
        """
        words = _WORD.findall(written)
        if is_unspaced(written) or not words:
            return folded(written)
        word = folded(max(words, key=lambda each: (self._idf(each), len(each))))
        same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(word, self.norm(word), strict=False)))
        return word[:same] if same >= _MIN_OF_PART else word


class _Matching:
    """One pipeline that looks for the names of one language."""

    def __init__(self, pipeline: Pipeline, names: _Names, *, recognises: bool) -> None:
        self._pipeline = pipeline
        self._names = names
        self._recognises = recognises
        self._matcher = PhraseMatcher(pipeline.vocab, attr="NORM")
        self._patterns: dict[int, _Pattern] = {}
        for number, pattern in enumerate(names.patterns):
            key = pipeline.vocab.strings.add(f"name {number}")
            self._patterns[key] = pattern
            self._matcher.add(f"name {number}", [self._normed(pipeline.make_doc(pattern.written))])

    def find(self, passage: str) -> Iterator[Mention]:
        """Yield the mentions in a passage, in its order."""
        doc = self.read(passage)
        for span, pattern in self.names(doc, passage):
            mention = self._recognised(doc, span, pattern) if self._recognises else _unjudged(pattern)
            if mention is not None:
                yield mention

    def read(self, passage: str) -> Doc:
        """Return a passage as the pipeline reads it."""
        return self._normed(self._pipeline(passage) if self._recognises else self._pipeline.make_doc(passage))

    def names(self, doc: Doc, passage: str) -> list[tuple[Span, _Pattern]]:
        """Return the names in a passage, in its order; of those that overlap the longest."""
        found = [(doc[start:end], self._patterns[key]) for key, start, end in self._matcher(doc)]
        unspaced = is_unspaced(passage)
        return _longest(
            [
                (span, pattern)
                for span, pattern in found
                if (not _goes_on(span, passage) if unspaced else _fits(span, pattern))
            ]
        )

    def _normed(self, doc: Doc) -> Doc:
        for token in doc:
            token.norm_ = self._names.norm(token.text)
        return doc

    def _recognised(self, doc: Doc, span: Span, pattern: _Pattern) -> Mention | None:
        seen = next((each for each in doc.ents if each.start < span.end and span.start < each.end), None)
        if seen is None:
            return None if pattern.is_part else Mention(pattern.entity)
        entity, name = (frozenset(self._names.language.terms(text)) for text in (seen.text, pattern.entity))
        overlap = len(entity & name) / (len(entity | name) or 1)
        if pattern.is_part:
            return Mention(pattern.entity, overlap, short=True) if entity and entity <= name else None
        return Mention(pattern.entity, overlap or 1.0)


def folded(text: str) -> str:
    """Return text in small letters without accents, each character in its place: ``μαιου 서울`` of ``Μαΐου 서울``."""
    return text.lower() if text.isascii() else text.translate(_FOLDING)


class _Folding(dict[int, str]):
    """Remembers each character without its accent; it has an entry for each that was met."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        decomposed = unicodedata.normalize("NFD", character)
        is_accented = len(decomposed) > 1 and all(map(unicodedata.combining, decomposed[1:]))
        plain = decomposed[0] if is_accented else character
        self[code] = small = plain.lower()[0].replace("ς", "σ")
        return small


_FOLDING = _Folding()


def _spaced_pipeline() -> Pipeline:
    pipeline = spacy.blank("xx")
    infixes = compile_infix_regex([*(pipeline.Defaults.infixes or ()), r"['’/]"])
    pipeline.tokenizer = Tokenizer(
        pipeline.vocab,
        prefix_search=compile_prefix_regex(pipeline.Defaults.prefixes or ()).search,
        suffix_search=compile_suffix_regex(pipeline.Defaults.suffixes or ()).search,
        infix_finditer=infixes.finditer,
    )
    return pipeline


def _surroundings(text: str, places: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Yield the stretches of text around some places, cut between words, overlapping ones joined, up to a maximum."""
    begun: tuple[int, int] | None = None
    number = 0
    for start, end in places:
        first = text.rfind(" ", 0, max(0, start - _AROUND) + 1) + 1 if start > _AROUND else 0
        first = max(first, start - 2 * _AROUND)
        last = text.find(" ", end + _AROUND)
        last = min(last if last >= 0 else len(text), end + 2 * _AROUND)
        if begun is not None and first <= begun[1]:
            begun = begun[0], max(last, begun[1])
            continue
        if begun is not None:
            yield begun
            number += 1
        if number == _MAX_SURROUNDINGS:
            return
        begun = first, last
    if begun is not None:
        yield begun


def _begins(text: str, start: int) -> bool:
    """Return whether a word begins at a place; in scripts without spaces one may begin anywhere."""
    before = text[start - 1 : start]
    return not before.isalnum() or is_unspaced(before) or is_unspaced(text[start])


def _fits(span: Span, pattern: _Pattern) -> bool:
    """Return whether a span is a name and not a common word.

    One with another ending than the name also needs a capital.
    """
    text = span.text
    if text == pattern.written or not any(map(str.isupper, pattern.written)):
        return True
    if pattern.capitals is _Capitals.ALL:
        return text.isupper()
    return text[0].isupper() or (pattern.capitals is _Capitals.NONE and folded(text) == folded(pattern.written))


def _goes_on(span: Span, passage: str) -> bool:
    """Return whether the word of a span continues beyond it, in a script with spaces."""
    start, end = span.start_char, span.end_char
    return _one_word(passage[max(0, start - 1) : start + 1]) or _one_word(passage[end - 1 : end + 1])


def _one_word(pair: str) -> bool:
    return len(pair) == 2 and pair.isalnum() and not any(map(is_unspaced, pair))


def _longest(found: Sequence[tuple[Span, _Pattern]]) -> list[tuple[Span, _Pattern]]:
    """Drop names that share a word with a longer name; names of equal length may share words."""
    lengths: dict[int, int] = {}
    taken = []
    for span, pattern in sorted(found, key=lambda each: (each[0].start - each[0].end, each[0].start)):
        words = range(span.start, span.end)
        if all(lengths.get(word, 0) <= len(words) for word in words):
            lengths.update(dict.fromkeys(words, len(words)))
            taken.append((span, pattern))
    return sorted(taken, key=lambda each: each[0].start)


def _unjudged(pattern: _Pattern) -> Mention:
    if not pattern.is_part:
        return Mention(pattern.entity)
    return Mention(pattern.entity, _PART_WITHOUT_MODEL * pattern.share, short=True)
