"""Dictionaries of languages (simplemma, the extra ``enrich``): lemmas, and which German words are ordinary nouns."""

from collections.abc import Callable
from functools import cache, lru_cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from simplemma.strategies import DefaultDictionaryFactory

_AT_ONCE: Final = 4
"""Languages whose dictionaries are held at once; one takes 50 to 170 MiB."""
_CODES: Final = {"bs": "hbs", "hr": "hbs", "no": "nb", "sr": "hbs"}
"""The dictionaries of languages that are not called by their codes."""
_MIN_HEAD, _MIN_BEFORE = 4, 3
"""Letters of the last part of a compound, and before it, at least."""
_NEVER_NAMES: Final = ("heit", "keit", "ismus", "tät", "schaft", "ung", "ungen")
"""Ends of nouns that no name has."""
_CASES: Final = ("n", "en", "e", "es", "nen", "ern")
"""Endings of plurals and cases that names hardly take."""
_LATIN: Final = ("a", "um", "us")
"""Endings whose plural is "en" in their place ("Thema", "Themen")."""
_NOMINALISED: Final = ("abgeordnet", "beauftragt", "vorsitzend")
"""Ends of what people are that are adjectives by their forms."""
_ADJECTIVES: Final = ("e", "em", "en", "er", "es")
_ENDS_OF_NAMES: Final = (
    "anne", "bach", "berg", "born", "gard", "mund", "reich",
     "berge", "bergen", "berger", "bauer", "burg", "bruck", "brück", "brücken", "dorf", "feld", "felde",
    "felder", "fels", "furt", "hafen", "hagen", "hausen", "haus", "heim", "hof", "hofer", "hofen", "horst", "kirchen",
    "land", "mann", "mühle", "müller", "münde", "münster", "roda", "roth", "rück", "see", "stadt", "stein", "steiner",
    "stetten", "tal", "wald", "walde", "weiler", "werder", "wiesen", "zell",
)  # fmt: skip
"""Ordinary nouns that many names of German places and families end with ("Hamburg", "Zimmermann")."""
_GIVEN: Final = frozenset(
    {"Anke", "Benjamin", "Christian", "Dirk", "Erika", "Ernst", "Flora", "Franz", "Fritz", "Gabriele", "Hans"}
    | {"Hermann", "Horst", "Johanna", "Maren"}
    | {"Mark", "Markus", "Peter", "Rainer", "Renate", "Robert", "Rosa", "Rose", "Sabine", "Sophie", "Urban", "Vera"}
    | {"Viola", "Walter", "Werner", "Wolf"}
)
"""German given names that are ordinary nouns, or have forms like those."""


def dictionary_code(language: str) -> str:
    """Return the code of the dictionary of a language, empty where there is none."""
    code = _CODES.get(language, language)
    return code if code in _languages() else ""


@cache
def _languages() -> frozenset[str]:
    if find_spec("simplemma") is None:
        return frozenset()
    from simplemma.strategies.dictionaries.dictionary_factory import SUPPORTED_LANGUAGES  # noqa: PLC0415

    return frozenset(SUPPORTED_LANGUAGES)


@cache
def _dictionaries() -> "DefaultDictionaryFactory":
    from simplemma.strategies import DefaultDictionaryFactory  # noqa: PLC0415 - a tenth of a second

    return DefaultDictionaryFactory(cache_max_size=_AT_ONCE)


@cache
def lemmatiser() -> Callable[[str, str], str]:
    """Return what finds the lemma of a word by the code of a dictionary; a word that this lacks is its own."""
    import simplemma  # noqa: PLC0415 - a tenth of a second
    from simplemma.strategies import DefaultStrategy  # noqa: PLC0415

    strategy = DefaultStrategy(dictionary_factory=_dictionaries())
    return simplemma.Lemmatizer(lemmatization_strategy=strategy).lemmatize


class NounDictionary:
    """Tells ordinary nouns from names in a language that writes both with a capital, as German does.

    A word is an ordinary noun where the dictionary has forms of it that names hardly take, such as a plural ("Menge",
    "Mengen"), where it is such a form, or where it ends with such a noun and is not known itself ("Deichgraf" with
    "Graf"). Names that are nouns as well ("Berg") are taken for nouns, but for some given ones.
    """

    def __init__(self, lemma_of: Callable[[str], str | None]) -> None:
        """Make one by what returns the lemma of a word that stands in the dictionary as it is written, else None."""
        self._lemma_of = lemma_of
        self.head = lru_cache(100_000)(self._head)

    def _head(self, word: str) -> str:
        """Return the lemma of the noun that an ordinary noun is or, as a compound, ends with; empty for other words."""
        last = word.rpartition("-")[2]
        if not last[:1].isupper() or last.isupper() or last in _GIVEN:
            return ""
        if noun := self._ordinary(last):
            return noun
        if self._lemma_of(last) is not None:
            return ""
        for begin in range(_MIN_BEFORE, len(last) - _MIN_HEAD + 1):
            end = last[begin:]
            if noun := self._ordinary(end.capitalize()):
                return "" if end in _ENDS_OF_NAMES else noun
        return ""

    def _ordinary(self, word: str) -> str:
        lemma = self._lemma_of(word)
        if word.endswith(_NEVER_NAMES):
            return lemma or word
        if lemma is None or lemma in _GIVEN or not lemma[:1].isupper():
            return ""
        if lemma not in (word, word.removesuffix("s")):
            return lemma
        forms = [lemma + ending for ending in _CASES]
        forms += [lemma.removesuffix(ending) + "en" for ending in _LATIN if lemma.endswith(ending)]
        return lemma if any(self._lemma_of(each) == lemma for each in forms) or self._has_feminine(lemma) else ""

    def is_adjective(self, word: str) -> bool:
        """Return whether a word with a capital is the form of an adjective."""
        small = word.lower()
        lemma = self._lemma_of(small) if small.endswith(_ADJECTIVES) else None
        return lemma is not None and lemma.islower() and lemma != small and small.startswith(lemma[:_MIN_BEFORE])

    def uninflected(self, name: str) -> str:
        """Return a name with the lemmas of the adjectives before its noun ("deutsch rot Kreuz"), without its genitive.

        A name that is not made of adjectives and a noun stays as it is.
        """
        *before, last = name.split()
        adjectives = [self._lemma_of(word.lower()) for word in before if self.is_adjective(word)]
        if not before or len(adjectives) < len(before):
            return name
        noun = self._lemma_of(last) or last
        return " ".join((*map(str, adjectives), noun if last in (f"{noun}s", f"{noun}es") else last))

    def is_small(self, word: str) -> bool:
        """Return whether a word is written in small letters alone, and has a capital for beginning something."""
        return self._lemma_of(word) is None and not self.is_adjective(word) and self._lemma_of(word.lower()) is not None

    def is_known(self, word: str) -> bool:
        """Return whether a word stands in the dictionary, be it in small letters, or ends with one that does.

        One that is no ordinary noun and ends as names of places do counts as unknown: the dictionary has many of these.
        """
        if word.endswith(_ENDS_OF_NAMES):
            return False
        if self._lemma_of(word) is not None or self._lemma_of(word.lower()) is not None:
            return True
        ends = (word[begin:] for begin in range(_MIN_BEFORE, len(word) - _MIN_HEAD))
        return any(self._lemma_of(end.capitalize()) is not None and end not in _ENDS_OF_NAMES for end in ends)

    def is_genitive(self, word: str) -> bool:
        """Return whether a word is the genitive of a name that the dictionary has."""
        return word.endswith("s") and self._lemma_of(word[:-1]) == word[:-1]

    def is_own_lemma(self, word: str) -> bool:
        """Return whether a word stands in the dictionary and is no form of another one ("Thomas", unlike "Idas")."""
        return self._lemma_of(word) == word

    def is_town(self, word: str) -> bool:
        """Return whether the dictionary has a word for those who live in a place of this name ("Köln", "Kölnerin")."""
        if self._lemma_of(word) != word or self.head(word):
            return False
        people = f"{word.removesuffix('en')}er", f"{word}er", f"{word.removesuffix('en')}ner"
        return any(self._lemma_of(each) == each and self._has_feminine(each) for each in people)

    def is_role(self, head: str) -> bool:
        """Return whether a noun is what people are, as far as it, or its end, has a feminine form or is one."""
        plain = head.lower()
        ends = (plain[begin:].capitalize() for begin in range(len(plain) - _MIN_HEAD + 1))
        is_feminine = head.endswith("in") and self._lemma_of(f"{head}nen") is not None
        return is_feminine or plain.endswith(_NOMINALISED) or any(map(self._has_feminine, ends))

    def _has_feminine(self, noun: str) -> bool:
        return self._lemma_of(f"{noun.removesuffix('e')}innen") is not None


@cache
def noun_dictionary(language: str) -> NounDictionary | None:
    """Return what tells ordinary nouns of German; None for other languages, and where simplemma is not installed."""
    if language != "de" or not dictionary_code(language):
        return None
    words = _dictionaries().get_dictionary(language)
    return NounDictionary(words.get)
