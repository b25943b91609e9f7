"""Names as written, and what they share: one entity has one IRI, however its name is written in a text."""

import re
import unicodedata
from functools import lru_cache
from typing import Final
from urllib.parse import quote

from aahcrawler.objects.vocabulary import ENTITY

MAX_NAME: Final = 120
"""Characters of the longest name: what is longer is a line that lacks its punctuation, or letters without sense."""
_SPACES: Final = re.compile(r"\s+")
_LETTERS: Final = str.maketrans(
    {"ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe", "ı": "i", "’": "'", "ʼ": "'", "‐": "-"}
)
_UMLAUTS: Final = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "å": "aa", "ø": "oe"})
_PUNCTUATION: Final = re.compile(r"[^\w' -]|_")
_SHORT: Final = 2
"""Letters that say too little to be those of a name."""
_INITIAL: Final = re.compile(r"[^\W\d_]\.?")


def tidied(name: str) -> str:
    """Return a name with single spaces."""
    return _SPACES.sub(" ", name).strip()


@lru_cache(maxsize=100_000)
def folded_name(name: str) -> str:
    """Return what names are compared by: small letters without accents and points.

    >>> folded_name("Jürgen  St. Łukasz"), folded_name("JURGEN ST LUKASZ")
    ('jurgen st lukasz', 'jurgen st lukasz')
    """
    plain = unicodedata.normalize("NFKD", name.casefold()).translate(_LETTERS)
    letters = "".join(each for each in plain if not unicodedata.combining(each))
    return tidied(_PUNCTUATION.sub(" ", letters)) or tidied(name.casefold())


def with_umlauts_written_out(name: str) -> str:
    """Return the folded name with umlauts as two letters, as keyboards without them have it.

    >>> with_umlauts_written_out("Jürgen Müller")
    'juergen mueller'
    """
    return folded_name(unicodedata.normalize("NFC", name.casefold()).translate(_UMLAUTS))


def entity_iri(name: str) -> str:
    """Return the IRI of who or what bears a name: the same for all spellings that differ by accents and case alone.

    >>> entity_iri("José Pérez")
    'urn:aahcrawler:entity:jose%20perez'
    """
    return ENTITY + quote(folded_name(name), safe="")


def is_surname_of(short: str, whole: str) -> bool:
    """Return whether a single word is the last one of a name of several.

    >>> is_surname_of("Smith", "John Smith"), is_surname_of("John", "John Smith")
    (True, False)
    """
    words = folded_name(whole).split()
    return len(words) > 1 and folded_name(short) == words[-1]


def is_initialed(short: str, whole: str) -> bool:
    """Return whether a name is another one with first names cut to initials, some of which may be left out.

    >>> is_initialed("J. Smith", "John Adam Smith"), is_initialed("J. A. Smith", "John Smith")
    (True, False)
    >>> is_initialed("A. Smith", "John Adam Smith")
    False
    """
    initials, words = tidied(short.replace(".", ". ")).split(" "), folded_name(whole).split()
    *first, last = initials
    if not first or len(words) < 2 or folded_name(last) != words[-1] or len(first) > len(words) - 1:
        return False
    return all(
        _INITIAL.fullmatch(initial) is not None and word.startswith(folded_name(initial))
        for initial, word in zip(first, words, strict=False)
    )


def stands_for(short: str, whole: str) -> bool:
    """Return whether a surname, or initials and a surname, fit a whole name that is another one."""
    return short != whole and (is_surname_of(short, whole) or is_initialed(short, whole))


def acronym(name: str) -> str:
    """Return the letters that stand for a name: the first ones of its words with capitals.

    >>> acronym("World Health Organization"), acronym("University of Freiburg")
    ('WHO', 'UF')
    """
    return "".join(word[0] for word in name.split() if word[0].isupper())


def acronyms(name: str) -> frozenset[str]:
    """Return the letters that a name may be cut to, three or more: of all its words, or of those with capitals.

    >>> sorted(acronyms("Verein für Heimatkunde")), sorted(acronyms("Bank of the West Indies"))
    (['VFH'], ['BOTWI', 'BWI'])
    """
    letters = acronym(name), "".join(word[0] for word in name.split())
    return frozenset(each.upper() for each in letters if len(each) > _SHORT)
