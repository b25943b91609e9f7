"""The words that stand beside a name and a date: prepositions, verbs of speech, and words such as ``posted``."""

import re

_BESIDE = """
by von par de da di por od от автор av af door przez oleh bởi eftir tarafından από του της author on am le um el il op
ago geleden sedan siden temu назад önce sitten
from since dated vom seit datum depuis dal desde sinds
den dne dnia la at à a в на στις στο in - – — · • » : , | / &
"""
_DONE = """
posted submitted published written added updated created edited started opened reviewed asked answered commented replied
responded remarked noted observed wrote writes said says told adds asks replies comments stated explained mentioned
reacted suggested opened comment reply answer response remark review
schrieb schreibt sagt sagte meint meinte kommentierte kommentiert antwortete antwortet bemerkte bemerkt fragte fragt
ergänzte verfasst geschrieben veröffentlicht erstellt kommentar antwort uhr
écrit écrivit dit répond répondu commenté demandé ajouté publié posté réponse commentaire
escribió escribe dijo dice comentó comenta respondió responde preguntó pregunta publicado escrito comentario respuesta
scrisse scrive scritto disse dice commentato commenta rispose risponde chiesto pubblicato inserito commento risposta
escreveu escreve disse diz comentou comenta respondeu perguntou postado comentário resposta
schreef schrijft zei zegt reageerde reageert antwoordde vroeg geplaatst geschreven reactie
skrev skriver sade säger sagde siger svarade svarar svarede svarte kommenterade kommenterede kommenterte frågade
spurgte spurte kommentar svar
kirjoitti kirjoittaa sanoi sanoo vastasi kommentoi kysyi
napisał napisała pisze powiedział powiedziała odpowiedział odpowiedziała skomentował skomentowała dodał dodała zapytał
napsal napsala odpověděl odpověděla komentoval komentovala
написал написала пишет сказал сказала говорит ответил ответила комментирует прокомментировал прокомментировала спросил
έγραψε είπε λέει απάντησε σχολίασε ρώτησε
yazdı yazmış dedi diyor yanıtladı cevapladı sordu
"""
BESIDE = frozenset(_BESIDE.split())
"""Words that lead to a name or a date."""

WORDS = BESIDE | frozenset(_DONE.split())
"""Words of bylines that are part of no name at their beginning or end."""

LINK_WORDS = r"link|url|permalink|permalien|permanent link|direct link|anchor|source|raw|¶|🔗|∞"
"""What a link to a post itself, or to its source, shows."""

_NEVER = """
the a an of from at with in on to for by as and or
vom von zum zur im am beim bei mit aus nach über unter für seit bis der die das den dem des ein eine und oder
du des les aux au avec sur dans pour chez par une un et ou el los las del al con en para por desde una y
il lo gli dal dalla dallo del della dello dei nel nella con per su tra fra uno e do da dos das no na em com ao os
het een bij met uit naar voor sinds vanaf en of på med från til till fra hos den det och og ved fyrir
z ze dla przy od do u przez oraz ve ile için av på и или с от из для по у о за και με για από στη στον
"""
_NO_NAMES = frozenset(_NEVER.split())
"""Prepositions and articles, none of which is a name by itself, whatever software writes before it."""

_AUXILIARY = frozenset({"ha", "hat", "has", "have", "heeft", "har", "on"})
_MARKS = ".,:;|()[]"
_LETTER = re.compile(r"[^\W\d_]")


def is_byline_word(word: str) -> bool:
    """Return whether a word of a byline belongs to no name.

    >>> is_byline_word("remarked:"), is_byline_word("Boyd")
    (True, False)
    """
    return word.casefold().strip(_MARKS) in WORDS or not word.strip(_MARKS)


def name_in(text: str) -> str:
    """Return a text without the words and marks of bylines at both of its ends.

    >>> name_in("Posted by Ann Boyd on"), name_in("Carla remarked"), name_in("said")
    ('Ann Boyd', 'Carla', '')
    >>> name_in("-=[X]=-"), name_in("-Ann"), name_in("Ann -"), name_in("vom")
    ('-=[X]=-', 'Ann', 'Ann', '')
    """
    name = without_byline_words(text).strip(" ,:;|»«·•–—")
    lone = name.startswith("-") != name.endswith("-")
    name = name.strip("- ") if lone or not name.strip("- ") else name
    return "" if name.casefold() in _NO_NAMES else name


def without_byline_words(text: str) -> str:
    """Return a text without the words of bylines at both of its ends; marks beside the name stay.

    >>> without_byline_words("Posted by -=[X]=- on"), without_byline_words("a")
    ('-=[X]=-', '')
    """
    words = text.split()
    while words and is_byline_word(words[0]):
        del words[0]
    said = False
    while words and (is_byline_word(words[-1]) or (said and words[-1].casefold() in _AUXILIARY)):
        said = words.pop().casefold().strip(_MARKS) not in BESIDE
    return " ".join(words)


def is_clause(text: str) -> bool:
    """Return whether a text is a part of a sentence and no name: it has many words, most of them in lower case.

    >>> is_clause("In any case it was three years ago that the"), is_clause("jo the sea dog")
    (True, False)
    """
    words = [word for word in text.split() if _LETTER.search(word)]
    return len(words) > _LONGEST_NICKNAME and sum(map(str.islower, words)) > len(words) // 2


_LONGEST_NICKNAME = 4
"""Words in lower case that may be what somebody calls oneself."""


def names_nobody(text: str) -> bool:
    """Return whether a text has only words of bylines: ``Submitted by``, ``on``.

    >>> names_nobody("Submitted by"), names_nobody("Submitted by Ann")
    (True, False)
    """
    return all(is_byline_word(word) or not _LETTER.search(word) for word in text.split())
