"""Names as written and what they share, and what their words and those beside them tell of who or what bears them.

Cues are of two sorts. Some are sure where they stand: titles before a name, initials in it, the word "University".
Others tell something only when they are seen again: "in" is before places, but before "Congress" and "NASA" as well.
"""

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final
from urllib.parse import quote

from aahcrawler.annotations import Kind
from aahcrawler.objects.vocabulary import ENTITY

NAMED: Final = frozenset({Kind.PERSON, Kind.ORGANISATION, Kind.PLACE, Kind.NAME})
"""The kinds of annotations that say that words are a name."""
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


_BEFORE: Final = 60
_BEHIND: Final = 40
_TOKEN: Final = re.compile(r"\w[\w.'’-]*|[^\w\s]")
_NEXT: Final = re.compile(r"[,\s]*([^\W\d_]+)")
_POSSESSIVE: Final = re.compile(r"['’]s?\b")
_AGE: Final = re.compile(r",? ?\((?:1[6-9]|[2-9]\d)\)|, (?:1[6-9]|[2-9]\d),")
_INITIALS: Final = re.compile(r"(?:[^\W\d_]\. ?){1,3}(?:(?:von|van|de|di|da|der) ){0,2}[^\W\d_]{2,}(?:-[^\W\d_]+)?")


def _words(*lines: str) -> frozenset[str]:
    return frozenset(" ".join(lines).split())


TITLES: Final = _words(
    "mr mrs ms miss sir dame lord lady dr prof professor rev reverend captain mayor president senator minister",
    "chancellor bishop queen king prince princess",
    "judge colonel sergeant councillor congressman congresswoman governor",
    "ambassador lieutenant sheriff ceo",
    "herr herrn frau professorin doktor bürgermeister",
    "bürgermeisterin präsident präsidentin kanzler kanzlerin ministerin",
    "bischof stadtrat stadträtin oberbürgermeister",
    "oberbürgermeisterin bundeskanzler bundeskanzlerin bundespräsident",
    "mme mlle monsieur madame maître docteur professeur",
    "maire président présidente ministre sénateur sénatrice juge",
    "señor señora sr sra don doña dra doctor",
    "doctora profesor profesora alcalde alcaldesa presidente presidenta ministro",
    "ministra juez jueza senador senadora",
    "signor signora dott dottor dottoressa professore professoressa sindaco sindaca onorevole",
    "dhr mevr mevrouw meneer burgemeester hr fru pan pani senhor senhora doutor doutora prefeito prefeita",
)
"""Words, in small letters and without a point, that stand before the names of people."""

_INSTITUTIONS: Final = _words(
    "university college school institute ministry council",
    "committee commission association society foundation agency",
    "authority department bureau office bank museum library party",
    "union company corporation group ltd limited inc llc plc",
    "club federation board trust hospital police parliament court",
    "universität institut ministerium verein verband stiftung agentur bibliothek",
    "rundfunk partei gmbh ag kg ev bund amt stadtwerke",
    "universitätsklinikum klinikum verlag gesellschaft genossenschaft gewerkschaft kammer gericht behörde",
    "université ministère fondation agence musée bibliothèque",
    "parti société hôpital compagnie syndicat fédération conseil",
    "mairie préfecture ligue collège sarl cour direction secrétariat tribunal",
    "universidad instituto ministerio fundación asociación comisión",
    "compañía museo biblioteca partido sindicato federación",
    "ayuntamiento consejo cámara tribunal dirección secretaría fiscalía juzgado corte",
    "università istituto ministero fondazione associazione comune azienda partito sindacato srl spa",
    "direzione tribunale",
    "universiteit ministerie stichting vereniging gemeenteraad bv nv",
    "universidade associação fundação câmara empresa oy ab sa",
)
"""Words in small letters that tell of a name of several words that an organisation bears it."""
_COMPOUNDS: Final = (
    "amt", "anstalt", "bank", "behörde", "bund", "gericht", "gesellschaft", "gewerkschaft", "initiative", "institut",
    "kammer", "kasse", "klinik", "klinikum", "konzern", "ministerium", "museum", "orchester", "partei", "rat",
    "rundfunk", "schule",
    "stiftung", "theater", "universität", "verband", "verein", "verlag", "versicherung", "werk", "werke", "zeitung",
)  # fmt: skip
"""Ends of German compounds that mean an organisation."""
_MIN_COMPOUND: Final = 4
"""Letters before the end of a compound at least."""

_LEGAL_FORMS: Final = _words(
    "ab ag aps as asa bv co corp corporation cv dd doo ead eg eood eurl ev gbr gmbh hb inc jsc kft kg kgaa limited llc",
    "llp ltd ltda nv nyrt ohg ojsc ood ooo oy oyj pjsc plc pte pty sa sapa sarl sas sasu sca scrl se sl slu snc spa",
    "sprl srl sro ug vof zrt ао зао оао ооо пао",
)
"""Legal forms of companies (ISO 20275), in small letters and without points; they end a name."""

_FIRST_OF_PLACES: Final[Mapping[str, frozenset[str]]] = {
    "en": _words("cape county fort gulf isle lake mount river"),
    "de": _words("bad burg kap sankt schloss"),
    "fr": _words(
        "allée allées avenue boulevard cap chemin col cours esplanade faubourg forêt gare golfe impasse lac mont",
        "passage place plage pont port promenade quai rivière route rue ruelle sentier square vallée île îles",
    ),
    "es": _words(
        "avenida barrio calle camino carretera cerro glorieta isla islas lago monte parque paseo playa plaza puente",
        "puerto ronda río valle",
    ),
    "it": _words("corso fiume isola isole lago largo monte passo piazza piazzale ponte strada via viale vicolo"),
    "pt": _words("alameda avenida estrada ilha ilhas lago largo morro ponte porto praia praça rio rua serra travessa"),
    "nl": _words("kaap meer"),
}
"""Words in small letters that begin the names of places of several words.

These and the following are among the types of streets and waters that libpostal lists (MIT), without those that are
surnames of many, such as "hill" and "lane".
"""
_LAST_OF_PLACES: Final[Mapping[str, frozenset[str]]] = {
    "en": _words(
        "airport alley avenue bay beach boulevard bridge canal causeway city county creek crescent esplanade estuary",
        "forest freeway gorge harbor harbour highway island islands isles junction lake motorway mountain mountains",
        "ocean parkway peninsula plaza promenade province quay reservoir ridge river road roundabout sea square street",
        "terrace turnpike valley viaduct wharf",
    ),
    "de": _words(
        "allee brücke chaussee damm gasse gebirge insel kanal meer platz see straße strasse tal ufer wald weg"
    ),
    "nl": _words("brug dijk gracht kade kanaal laan meer plein straat weg"),
    "sv": _words("gatan gränd torg torget vägen älv sjön"),
}
_STREETS: Final[Mapping[str, tuple[str, ...]]] = {
    "de": ("allee", "brücke", "gasse", "platz", "straße", "strasse"),
    "nl": ("gracht", "kade", "laan", "plein", "straat", "weg"),
    "sv": ("gatan", "gränd", "torget", "vägen"),
}
"""What single words end with that are streets ("Kalverstraat")."""
_SURNAMES: Final = _words("close court cross dale drive field fields gardens gate green grove hill lane park way wood")
"""English words at the end of streets and grounds that are surnames as well, or stand in much else."""
_FRENCH_ARTICLES: Final = frozenset({"La", "Le", "Les", "Saint", "Sainte"})
"""What places of several words begin with that stand behind "à", as names of people and organisations do."""
_ALONG: Final = _words("across along at down from in into near off on over through under up")
"""English words that stand right before those."""


@dataclass(frozen=True, slots=True)
class _Cues:
    """Words of a language beside names, in small letters.

    ``says`` are verbs of speech, beside names of several words those of people. ``to_places`` are prepositions before
    places. ``places`` and ``organisations`` are nouns before names of such, and
    ``roles`` before names of people ("chairman Berg"); with one of ``of`` between, before what these are of. ``do`` is
    what stands behind the names of people.
    """

    to_places: frozenset[str]
    places: frozenset[str]
    organisations: frozenset[str]
    roles: frozenset[str]
    of: frozenset[str]
    do: frozenset[str]
    says: frozenset[str]


_CUES: Final[Mapping[str, _Cues]] = {
    "en": _Cues(
        _words("in near throughout outside"),
        _words("town city village people residents streets capital port suburb north south east west coast outskirts"),
        _words("company firm employees shareholders members board publisher"),
        _words("chair chairman chairwoman founder director member spokesman spokeswoman author coach"),
        _words("of for"),
        _words("who whose lives lived moved died married remembers smiled laughed recalls thinks believes retired"),
        _words(
            "said says told tells added adds explained explains asked argued wrote writes recalled replied insisted"
        ),
    ),
    "de": _Cues(
        _words("in nach aus"),
        _words(
            "stadt gemeinde ort ortsteil dorf insel kreis landkreis stadtteil bezirk hafen raum region kanton",
            "bundesland provinz großraum hauptstadt kleinstadt",
        ),
        _words("firma unternehmen konzern hersteller verlag anbieter mitglieder agentur"),
        _words("sprecher sprecherin vorsitzender vorsitzende direktor direktorin autor trainer gründer gründerin"),
        _words("von der des"),
        _words("lebt lebte wohnt wohnte starb heiratete erinnert lächelt lacht glaubt meint"),
        _words(
            "sagt sagte erklärt erklärte meint meinte betont betonte berichtet berichtete schreibt schrieb fragt",
            "fragte ergänzt ergänzte",
        ),
    ),
    "fr": _Cues(
        _words("à en"),
        _words("ville village commune région port gare habitants quartier"),
        _words("entreprise groupe constructeur membres"),
        _words("directeur directrice fondateur fondatrice auteur entraîneur"),
        _words("de d du"),
        _words("vit vivait habite habitait né née mort morte épouse pense croit"),
        _words(
            "dit déclare affirme explique raconte ajoute estime précise souligne écrit confie rappelle demande répond"
        ),
    ),
    "es": _Cues(
        _words("en"),
        _words("ciudad pueblo villa municipio provincia puerto barrio vecinos"),
        _words("empresa grupo fabricante miembros"),
        _words("director directora fundador fundadora autor autora entrenador"),
        _words("de del"),
        _words("vive vivía nació murió quien piensa cree"),
        _words(
            "dice dijo declaró afirma afirmó explica explicó añade añadió cuenta contó señaló escribe",
            "escribió pregunta respondió",
        ),
    ),
    "it": _Cues(
        _words("a in"),
        _words("città paese comune provincia porto quartiere"),
        _words("azienda gruppo ditta membri"),
        _words("direttore direttrice fondatore fondatrice autore autrice allenatore"),
        _words("di del"),
        _words("vive viveva nato nata morì pensa crede"),
        _words("dice disse dichiara afferma spiega racconta aggiunge scrive ricorda chiede risponde sottolinea"),
    ),
    "nl": _Cues(
        _words("in te naar uit"),
        _words("stad dorp gemeente provincie haven wijk"),
        _words("bedrijf firma concern fabrikant leden"),
        _words("directeur oprichter auteur woordvoerder trainer"),
        _words("van"),
        _words("woont woonde leeft stierf trouwde denkt gelooft"),
        _words("zegt zei vertelt vertelde vindt schrijft schreef vraagt vroeg legt benadrukt"),
    ),
    "pt": _Cues(
        _words("em"),
        _words("cidade vila município bairro porto"),
        _words("empresa grupo fabricante membros"),
        _words("diretor diretora fundador fundadora autor autora treinador"),
        _words("de do da"),
        _words("vive vivia mora nasceu morreu pensa"),
        _words("diz disse afirma afirmou explica explicou conta contou acrescenta escreve escreveu pergunta respondeu"),
    ),
}


def kind_by_words(name: str, language: str) -> Kind:
    """Return what the words of a name tell of who or what bears it, ``Kind.NAME`` where they do not tell.

    >>> names = ("J. Berg", "Bank of Leeds", "Berg S.p.A.", "Lake Ida", "Mill Bridge", "Ida Berg")
    >>> [str(kind_by_words(each, "en")) for each in names]
    ['person', 'organisation', 'organisation', 'place', 'place', 'name']
    """
    plain = [word.casefold().rstrip(".") for word in name.split()]
    if len(plain) < 2:
        return Kind.PLACE if _is_street(name.casefold(), language) else Kind.NAME
    if any(is_institution(word, language) for word in plain) or plain[-1].replace(".", "") in _LEGAL_FORMS:
        return Kind.ORGANISATION
    if plain[0] in _FIRST_OF_PLACES.get(language, ()) or plain[-1] in _LAST_OF_PLACES.get(language, ()):
        return Kind.PLACE
    if _is_street(plain[-1], language):
        return Kind.PLACE
    return Kind.PERSON if _INITIALS.fullmatch(name) else Kind.NAME


def _is_street(word: str, language: str) -> bool:
    ends = (end for end in _STREETS.get(language, ()) if word.endswith(end))
    return any(len(word) >= len(end) + _MIN_COMPOUND for end in ends)


def kind_by_apposition(noun: str, language: str) -> Kind:
    """Return what a noun right before a name says of who or what bears it, ``Kind.NAME`` where it says nothing.

    >>> [str(kind_by_apposition(each, "de")) for each in ("Landkreis", "Firma", "Thema")]
    ['place', 'organisation', 'name']
    """
    cues, plain = _CUES.get(language), noun.casefold()
    if cues is None:
        return Kind.NAME
    if plain in cues.roles:
        return Kind.PERSON
    return Kind.PLACE if plain in cues.places else Kind.ORGANISATION if plain in cues.organisations else Kind.NAME


def is_to_place(word: str, language: str) -> bool:
    """Return whether a word in small letters is a preposition of a language that stands before places.

    >>> is_to_place("nach", "de"), is_to_place("mit", "de")
    (True, False)
    """
    return language in _CUES and word in _CUES[language].to_places


def is_institution(word: str, language: str) -> bool:
    """Return whether a word within a name tells that an organisation bears it.

    >>> is_institution("Deichverband", "de"), is_institution("Ltd.", "en"), is_institution("Rat", "de")
    (True, True, False)
    """
    plain = word.casefold().rstrip(".")
    if plain in _INSTITUTIONS:
        return True
    if language != "de" or not plain.endswith(_COMPOUNDS):
        return False
    return any(plain.endswith(each) and len(plain) >= len(each) + _MIN_COMPOUND for each in _COMPOUNDS)


def is_titled(text: str, start: int) -> bool:
    """Return whether a title stands before the place of a name."""
    before = _tokens_before(text, start)
    return bool(before) and before[-1].casefold().rstrip(".") in TITLES


def without_legal_form(name: str) -> str:
    """Return the name of a company without the legal forms that end it; nothing else is taken from a name.

    >>> without_legal_form("Brekkum AG"), without_legal_form("Brekkum GmbH & Co. KG"), without_legal_form("AG")
    ('Brekkum', 'Brekkum', 'AG')
    """
    words = name.split()
    while len(words) > 1 and (words[-1] == "&" or words[-1].casefold().replace(".", "") in _LEGAL_FORMS):
        words.pop()
    return " ".join(words)


def kind_beside(text: str, start: int, end: int, language: str) -> Kind:
    """Return what the words beside a name hint at, ``Kind.NAME`` where they do not.

    A single hint may be wrong; hints that agree over several texts hardly are. A hundred characters are read at most.

    >>> text = "She moved to a flat in Arnhem, where Ida, who built it, lives."
    >>> [str(kind_beside(text, at, at + len(name), "en")) for name in ("Arnhem", "Ida") for at in [text.index(name)]]
    ['place', 'person']
    """
    cues = _CUES.get(language)
    behind = text[end : end + _BEHIND]
    if _AGE.match(behind) or _INITIALS.fullmatch(text, start, end) or is_titled(text, start):
        return Kind.PERSON
    if cues is None or (_POSSESSIVE.match(behind) and language == "en"):
        return Kind.NAME
    words = [token.casefold() for token in _tokens_before(text, start)]
    last = words[-1] if words else ""
    of = words[-2] if last in cues.of and len(words) > 1 else ""
    name = text[start:end]
    if language == "en" and last in _ALONG and " " in name and name.split()[-1].casefold() in _SURNAMES:
        return Kind.PLACE
    if language == "fr" and last == "à" and " " in name and name.split()[0] not in _FRENCH_ARTICLES:
        return Kind.NAME
    if last in cues.to_places or not cues.places.isdisjoint((of, last)):
        return Kind.PLACE
    if not cues.organisations.isdisjoint((of, last)) or of in cues.roles:
        return Kind.ORGANISATION
    following = _NEXT.match(behind)
    does = following[1].casefold() if following is not None else ""
    says = " " in name and not cues.says.isdisjoint((last, does))
    return Kind.PERSON if last in cues.roles or does in cues.do or says else Kind.NAME


def _tokens_before(text: str, start: int) -> list[str]:
    line = text[max(0, start - _BEFORE) : start].rpartition("\n")[2]
    return _TOKEN.findall(line)[-2:]
