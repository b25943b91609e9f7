"""Finds the names of people, organisations and places: by a model of the text's language, or without any.

Models are pipelines for spaCy that are installed, chosen by the language of each object. Beside them the entities of
the crawl's definition are found, and in languages without a model what begins with capitals. Each annotation has the
words that it rests on; who or what bears a name that no model knows is said only where its words tell.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import blake2b
from importlib.metadata import version
from itertools import islice
from typing import TYPE_CHECKING, Final, Self

from aahcrawler.annotations import Annotation, Kind
from aahcrawler.tallies import plural
from offline.enrichment.annotator import ObjectText
from offline.enrichment.capitals import NOUNS_WITH_CAPITALS, WITHOUT_CAPITALS, headlines, names_by_capitals
from offline.enrichment.name_contexts import (
    MAX_NAME,
    acronym,
    entity_iri,
    folded_name,
    is_institution,
    is_titled,
    kind_beside,
    kind_by_words,
    stands_for,
    tidied,
)
from offline.enrichment.sentences import ANY, installed_models, model_version
from offline.enrichment.steps import Setting
from offline.enrichment.word_dictionaries import dictionary_code, noun_dictionary
from online_analysis.terms import Lexicon

if TYPE_CHECKING:
    from online_analysis.analysers.gazetteer import Gazetteer

_EDITION: Final = "6"
_KINDS: Final = {
    "PERSON": Kind.PERSON,
    "PER": Kind.PERSON,
    "ORG": Kind.ORGANISATION,
    "GPE": Kind.PLACE,
    "LOC": Kind.PLACE,
    "FAC": Kind.PLACE,
}
"""What the labels of models mean; others, such as dates and amounts, are no names."""
_OF_DEFINITION, _OF_MODEL, _OF_TITLE, _OF_CAPITALS, _OF_NOUNS = 0.95, 0.8, 0.7, 0.5, 0.3
_FOLLOWING: Final = 0.9
"""By how much a short name is as certain as the whole one that it stands for."""
_MAX_NAMES: Final = 500
"""Names of an object that are annotated."""
_PART: Final = re.compile(r"[^()]+")
_BESIDE: Final = " \t.,;:!?\"'’‘“”[]{}*_–—-#@"
_GENITIVE: Final = re.compile(r"['’]s$")
_ARTICLE: Final = re.compile(r"^[Tt]he ")
_WORD: Final = re.compile(r"\w+")
_BEGINNING: Final = re.compile(r"(?:^|[.!?:…\n•*–—\"“”]\s*)\Z")
"""What stands before a word that begins a sentence, a line or an item of a list."""
_BEFORE: Final = 4
_OF: Final = frozenset({" of ", " of the "})
"""What stands within the name of an institution where models part it ("Royal Society of Bell Founders")."""


@dataclass(frozen=True, slots=True)
class Mention:
    """A name in a text, and whom or what it means: ``label`` is its whole name, ``by`` how that is known."""

    start: int
    end: int
    kind: Kind
    label: str
    confidence: float
    by: str

    def overlaps(self, other: "Mention") -> bool:
        """Return whether both share characters."""
        return self.start < other.end and other.start < self.end


Recogniser = Callable[[str], Iterable[tuple[int, int, str]]]
"""Yields the names in a text: begin, end, and the label of the model."""


class EntityAnnotator:
    """Annotates the names in the texts of objects.

    ``entities`` are those of the definition. ``models`` names an installed pipeline for each language; they are loaded
    when the first text of their language comes.
    """

    name = "entities"

    def __init__(self, entities: Iterable[str], models: Mapping[str, str]) -> None:
        self._entities, self._models = tuple(dict.fromkeys(entities)), dict(models)
        self._recognisers: dict[str, Recogniser] = {}
        named = blake2b("\n".join(sorted(self._entities)).encode(), digest_size=4).hexdigest()
        installed = " ".join(f"{model}-{model_version(model)}" for model in sorted(set(self._models.values())))
        nouns = f"simplemma-{version('simplemma')}" if dictionary_code("de") else ""
        self.version = " ".join(filter(None, (_EDITION, named, installed, nouns)))

    @classmethod
    def of(cls, setting: Setting) -> Self:
        """Return the annotator of a crawl, with all models that are installed."""
        return cls(setting.icd.topic.entities, installed_models())

    def annotate(self, given: ObjectText) -> Iterator[Annotation]:
        """Yield the names in an object's text; at most 500."""
        mentions = sorted(self._mentions(given), key=lambda each: (each.start, -each.end))[:_MAX_NAMES]
        for each in _within_document(mentions, given):
            words = given.text[each.start : each.end]
            yield Annotation(
                object=given.object,
                capture=given.capture,
                kind=each.kind,
                label=each.label,
                annotator=self.name,
                version=self.version,
                confidence=round(each.confidence, 3),
                iri=entity_iri(each.label),
                start=each.start,
                end=each.end,
                quote=words,
                values=(*_beside(each, given), ("by", each.by)),
            )

    def _mentions(self, given: ObjectText) -> list[Mention]:
        """Return the names in a text; where one of the definition is, no other."""
        found = [*islice(self._recognised(given), _MAX_NAMES)]
        if not self._entities:
            return found
        own: list[Mention] = []
        for entity, start, end in islice(self._gazetteer.places(given.text, given.language or None), _MAX_NAMES):
            defined = Mention(start, end, Kind.NAME, entity, _OF_DEFINITION, "definition")
            seen = next((each for each in found if each.overlaps(defined)), None)
            own.append(replace(defined, kind=seen.kind) if seen else defined)
        return own + [each for each in found if not any(map(each.overlaps, own))]

    def _recognised(self, given: ObjectText) -> Iterator[Mention]:
        recognise = self._recogniser(given.language)
        if recognise is None:
            unsure = _OF_NOUNS if given.language in NOUNS_WITH_CAPITALS else _OF_CAPITALS
            for each in names_by_capitals(given.text, given.language, noun_dictionary(given.language)):
                label = tidied(given.text[each.start : each.end])
                confidence = unsure if each.kind is Kind.NAME else _OF_TITLE
                yield Mention(each.start, each.end, each.kind, label, confidence, "capitals")
            return
        named = [
            (begin, behind, _KINDS[label])
            for start, end, label in recognise(given.text)
            if label in _KINDS
            for begin, behind in _trimmed(given.text, start, end)
        ]
        has_capitals = given.language not in WITHOUT_CAPITALS
        doubt = _Doubt(given.text) if has_capitals else None
        for begin, behind, kind in _whole_institutions(named, given):
            words = given.text[begin:behind]
            if doubt is not None and doubt.about(begin, behind):
                continue
            if 1 < len(words) <= MAX_NAME and any(map(str.isupper if has_capitals else str.isalpha, words)):
                told = _told_kind(begin, tidied(words), kind, given)
                yield Mention(begin, behind, told, tidied(words), _OF_MODEL, "model")

    def _recogniser(self, language: str) -> Recogniser | None:
        """Return the recogniser for a language; None where no model is installed."""
        model = self._models.get(language) or self._models.get(ANY)
        if model is None:
            return None
        if model not in self._recognisers:
            from online_analysis.analysers import gazetteer  # noqa: PLC0415 - spaCy takes seconds to import

            self._recognisers[model] = gazetteer.name_places(model)
        return self._recognisers[model]

    @cached_property
    def _gazetteer(self) -> "Gazetteer":
        from online_analysis.analysers import gazetteer  # noqa: PLC0415 - spaCy takes seconds to import

        return gazetteer.Gazetteer(self._entities, Lexicon().language)

    def told(self, languages: Mapping[str, int]) -> Iterator[str]:
        """Yield what names are found by in each of some languages, and what could be installed."""
        for code, count in sorted(languages.items(), key=lambda each: (-each[1], each[0])):
            model = self._models.get(code) or self._models.get(ANY)
            where = f"names in {plural(count, 'object')} in {code or 'no language that can be told'}"
            ways = ["the entities of the crawl's definition"] if self._entities else []
            if model is not None:
                ways.insert(0, f"the model {model} {model_version(model)}")
            elif code in NOUNS_WITH_CAPITALS:
                nouns = "words with capitals that no dictionary has for nouns" if dictionary_code(code) else ""
                ways.append(nouns or "words with capitals that stand together")
            elif code not in WITHOUT_CAPITALS:
                ways.append("words with capitals")
            lack = "" if model is not None else "no model of the language is installed; "
            found = f"found by {' and '.join(ways)}" if ways else "none found, for its script has no capitals to go by"
            yield f"{where}: {lack}{found}"
        if missing := sorted(code for code in languages if code and code not in self._models):
            yield f"to find more in {', '.join(missing)}: install a pipeline for spaCy with names (docs/enrichment.md)"


class _Doubt:
    """Tells where a capital says so little that what a model sees is no name.

    That is in headlines, unless the words stand in a sentence as well, and where a sentence begins with a single word
    that the text writes in small letters elsewhere. Headlines with a comma may be lists of names.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        lines = ((place, text[slice(*place)]) for place in headlines(text))
        self._headlines = [place for place, line in lines if "," not in line and not line.lstrip()[:1].islower()]
        outside, at = [], 0
        for start, end in self._headlines:
            outside.append(text[at:start])
            at = end
        self._running = "\n".join([*outside, text[at:]]) if self._headlines else text
        self._small = frozenset(filter(str.islower, _WORD.findall(text)))

    def about(self, start: int, end: int) -> bool:
        """Return whether the words at a place are hardly a name."""
        words = self._text[start:end]
        if any(begin <= start < behind for begin, behind in self._headlines):
            return words not in self._running
        return words.casefold() in self._small and bool(_BEGINNING.search(self._text, max(0, start - _BEFORE), start))


def _trimmed(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the place of a name without what models take in beside it, such as articles, genitives and further lines.

    A name with another one in parentheses behind it is two.
    """
    for part in _PART.finditer(text[start:end].partition("\n")[0]):
        begin = start + part.start()
        kept = _GENITIVE.sub("", part[0].rstrip(_BESIDE))
        shorter = _ARTICLE.sub("", kept.lstrip(_BESIDE))
        yield begin + len(kept) - len(shorter), begin + len(kept)


def _whole_institutions(named: Iterable[tuple[int, int, Kind]], given: ObjectText) -> Iterator[tuple[int, int, Kind]]:
    """Yield names in their order, as one where a model parts an institution from what it is one of."""
    whole: tuple[int, int, Kind] | None = None
    for begin, end, kind in named:
        if whole is not None and kind is whole[2] is Kind.ORGANISATION and given.text[whole[1] : begin] in _OF:
            words = given.text[whole[0] : whole[1]].split()
            if any(is_institution(word, given.language) for word in words):
                whole = whole[0], end, kind
                continue
        if whole is not None:
            yield whole
        whole = begin, end, kind
    if whole is not None:
        yield whole


def _told_kind(start: int, name: str, kind: Kind, given: ObjectText) -> Kind:
    """Return what bears a name that a model sees: what a title or initials tell, or words of what is no person.

    Models mistake people for places and organisations more often than titles stand before these, and streets and
    companies for people.
    """
    by_words = kind_by_words(name, given.language)
    if by_words is Kind.PERSON or is_titled(given.text, start):
        return Kind.PERSON
    return by_words if kind is Kind.PERSON and by_words is not Kind.NAME else kind


def _beside(mention: Mention, given: ObjectText) -> Iterator[tuple[str, str]]:
    kind = kind_beside(given.text, mention.start, mention.end, given.language)
    if kind is not Kind.NAME:
        yield "beside", kind.value


def _within_document(mentions: list[Mention], given: ObjectText) -> Iterator[Mention]:
    """Yield mentions with the whole name where a short one follows it in the same text.

    A surname, or initials and a surname, stand for the one person whose whole name came before and fits; letters in
    parentheses behind a name, and the same letters from then on, for that name.
    """
    people: dict[str, dict[str, Mention]] = {}
    letters: dict[str, Mention] = {}
    before: Mention | None = None
    for each in mentions:
        words = given.text[each.start : each.end]
        if before is not None and given.text[before.end : each.start].strip() == "(" and acronym(before.label) == words:
            letters[each.label] = letters.get(before.label, before)
        before = each
        if each.label in letters:
            yield _standing_for(each, letters[each.label], "acronym")
            continue
        if each.kind in (Kind.PERSON, Kind.NAME):
            namesakes = people.setdefault(folded_name(each.label).split()[-1], {})
            whole = [known for known in namesakes.values() if stands_for(each.label, known.label)]
            if len(whole) == 1 and each.by != "definition":
                yield _standing_for(each, whole[0], "whole name before")
                continue
            if " " in each.label:
                namesakes.setdefault(each.label, each)
        yield each


def _standing_for(short: Mention, whole: Mention, by: str) -> Mention:
    kind = whole.kind if whole.kind is not Kind.NAME else short.kind
    return replace(short, kind=kind, label=whole.label, confidence=whole.confidence * _FOLLOWING, by=by)
