"""Finds sentences that judge, and whether they praise or blame.

English is judged by VADER (Hutto and Gilbert, 2014), a lexicon with rules for negation and emphasis. Any other language
is judged only where the operator has a lexicon for it; texts without one are not judged, which is not the same as
neutral.
"""

import hashlib
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from math import sqrt
from pathlib import Path
from typing import Final, Self

from vaderSentiment.vaderSentiment import SentimentIntensityAnalyzer

from aahcrawler.annotations import Annotation, Kind
from offline.enrichment.annotator import ObjectText
from offline.enrichment.sentences import VERSION as SENTENCES
from offline.enrichment.sentences import sentences
from offline.enrichment.steps import Setting
from offline.enrichment.text_dates import dates_in, published_day

NEUTRAL: Final = 0.26
"""The strength below which a sentence is neutral.

A single word of weight 1, on a scale up to 4, stays below it: to report a protest is no opinion.
"""

REPORT: Final = 2 * NEUTRAL
"""The strength below which a sentence is neutral that names a date: it mostly reports what happened."""

MAX_SENTENCE: Final = 600
"""The characters of the longest sentence that is judged: what is longer is a list or a text without punctuation."""

_VADER = "en"
_MAX_LEXICON = 5_000_000
"""Bytes of the largest lexicon."""
_MAX_WEIGHT = 4.0
_TURNED = -0.74
"""What a weight is multiplied by that is negated: "not good" is less bad than "good" is good (VADER)."""
_NORMAL = 15.0
"""What sums of weights are brought into (-1, 1) by, as VADER does it."""
_AROUND = 3
"""The words before a weighted one, and those behind it, among which a negation turns it."""
_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*|[,;:.!?()]")


_NAME_WORD = re.compile(r"(?<=[\w,;] )[A-Z][a-z]+(?=\W|$)")
_AS_WELL = re.compile(r"\bas well(?: as)?\b", re.IGNORECASE)
_NEGATING = re.compile(r"\b(?:hardly|scarcely|barely|nobody|no one)\b", re.IGNORECASE)
_SMALL = re.compile(r"\b[a-z]+")
_PLAIN_QUOTES = str.maketrans("“”„«»‘’", '"""""\'\'')


class LexiconError(ValueError):
    """Raised for a lexicon that cannot be read; its message names the file, the line and what is wanted."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a sentence says: ``polarity`` from -1 (blame) to 1 (praise), 0 where nothing was weighed.

    ``agreement`` is the share of the weight that speaks for the sign of the polarity, from 0 to 1.
    """

    polarity: float
    agreement: float


class Vader:
    """Judges English."""

    name: Final = f"vader {version('vaderSentiment')}"

    def __init__(self) -> None:
        self._vader = SentimentIntensityAnalyzer()

    def judge(self, sentence: str) -> Judgement:
        """Judge a sentence; takes time that grows with the square of its words.

        A sentence that reports judges nothing (``evaluates``). Words of names judge nothing either ("Hospital
        Trust"), nor does "as well"; "hardly" and "nobody" negate.
        """
        read = _without_names(_as_vader_reads(sentence))
        if not evaluates(read, self._vader.lexicon):
            return Judgement(0.0, 0.0)
        scores: Mapping[str, float] = self._vader.polarity_scores(read)
        return Judgement(scores["compound"], _agreement(scores["compound"], scores["pos"], scores["neg"]))


class Lexicon:
    """Judges by weighted words of one language and by its words of negation.

    A file has a line for each word: the word, a tab, and its weight from -4 to 4, or ``not`` where the word negates.
    Empty lines and lines that begin with ``#`` are skipped. Words are compared without regard to capitals, and as they
    stand: forms of a word are lines of their own. A weight is turned where a negation stands among the three words
    before it or the three behind it, and no punctuation between them.
    """

    def __init__(self, weights: Mapping[str, float], negations: Iterable[str], name: str) -> None:
        self.name = name
        self._weights = dict(weights)
        self._negations = frozenset(negations)

    @classmethod
    def read(cls, path: Path) -> "Lexicon":
        """Read a file in UTF-8. Raise LexiconError where a line cannot be understood, or if the file is too large."""
        content = path.read_bytes() if path.stat().st_size <= _MAX_LEXICON else None
        if content is None:
            raise LexiconError(f"{path}: has more than {_MAX_LEXICON:,} bytes; leave out rare words")
        weights: dict[str, float] = {}
        negations: set[str] = set()
        try:
            lines = content.decode("utf-8-sig").splitlines()
        except UnicodeDecodeError as error:
            raise LexiconError(f"{path}: is not in UTF-8 (byte {error.start}); save it so") from error
        for number, line in enumerate(lines, 1):
            if not line.strip() or line.startswith("#"):
                continue
            word, _, weight = line.partition("\t")
            plain = _plain(word.strip())
            if plain and weight.strip() == "not":
                negations.add(plain)
            else:
                weights[plain] = _weight(plain, weight, f"{path}, line {number}")
        return cls(weights, negations, f"{path.name} {hashlib.sha256(content).hexdigest()[:12]}")

    def judge(self, sentence: str) -> Judgement:
        """Judge a sentence; takes time that grows with its length."""
        words = [_plain(each) for each in _WORD.findall(sentence)]
        found = [
            weight * (_TURNED if self._is_negated(words, at) else 1)
            for at, word in enumerate(words)
            if (weight := self._weights.get(word))
        ]
        total = sum(found)
        positive, negative = sum(each for each in found if each > 0), -sum(each for each in found if each < 0)
        return Judgement(total / sqrt(total * total + _NORMAL), _agreement(total, positive, negative))

    def _is_negated(self, words: Sequence[str], at: int) -> bool:
        before = _until_punctuation(reversed(words[max(0, at - _AROUND) : at]))
        behind = _until_punctuation(words[at + 1 : at + 1 + _AROUND])
        return not self._negations.isdisjoint([*before, *behind])


class Opinions:
    """Annotates the sentences of an object that judge; neutral ones, and those of other languages, get nothing.

    ``lexicons`` is a folder of files named by language, ``de.tsv``; one for English takes the place of VADER. Raise
    LexiconError where one of them cannot be read.
    """

    name = "opinions"

    def __init__(self, lexicons: Path | None = None) -> None:
        found = {path.stem: Lexicon.read(path) for path in sorted(lexicons.glob("*.tsv"))} if lexicons else {}
        self._judges: dict[str, Vader | Lexicon] = {_VADER: Vader(), **found}
        self.version = "; ".join(["3", f"sentencex {SENTENCES}", *(each.name for each in self._judges.values())])

    @classmethod
    def of(cls, setting: Setting) -> Self:
        """Return the annotator with the lexicons of the operator."""
        return cls(setting.lexicons)

    @property
    def judged(self) -> frozenset[str]:
        """The languages whose texts are judged."""
        return frozenset(self._judges)

    def annotate(self, given: ObjectText) -> Iterator[Annotation]:
        """Annotate each sentence that judges, with its polarity and strength as ``values``."""
        judge = self._judges.get(given.language)
        if judge is None:
            return
        for sentence in sentences(given.text, given.language):
            if len(sentence.text) > MAX_SENTENCE:
                continue
            found = judge.judge(sentence.text)
            strength = abs(found.polarity)
            if strength >= REPORT or (
                strength >= NEUTRAL and not dates_in(sentence.text, given.language, published_day(given.published))
            ):
                yield Annotation(
                    given.object,
                    given.capture,
                    Kind.OPINION,
                    "positive" if found.polarity > 0 else "negative",
                    self.name,
                    self.version,
                    round(found.agreement, 4),
                    start=sentence.start,
                    end=sentence.end,
                    quote=sentence.text,
                    values=(
                        ("judge", judge.name),
                        ("polarity", f"{found.polarity:.4f}"),
                        ("strength", f"{strength:.4f}"),
                    ),
                )


def _as_vader_reads(sentence: str) -> str:
    """Return an English sentence with quotation marks and negations in the forms that VADER knows."""
    return _NEGATING.sub("not", _AS_WELL.sub("and", sentence.translate(_PLAIN_QUOTES)))


def _without_names(sentence: str) -> str:
    """Return an English sentence without the words that begin with a capital within it; a headline stays whole."""
    names = _NAME_WORD.findall(sentence)
    return _NAME_WORD.sub("it", sentence) if len(_SMALL.findall(sentence)) > len(names) else sentence


def _weight(word: str, written: str, where: str) -> float:
    try:
        weight = float(written)
    except ValueError:
        weight = _MAX_WEIGHT + 1
    if not word or not -_MAX_WEIGHT <= weight <= _MAX_WEIGHT:
        raise LexiconError(f"{where}: write a word, a tab, and a weight from -4 to 4 or the word not")
    return weight


def _plain(word: str) -> str:
    return unicodedata.normalize("NFC", word.casefold()).replace("’", "'")


def _agreement(polarity: float, positive: float, negative: float) -> float:
    total = positive + negative
    return (positive if polarity > 0 else negative) / total if total and polarity else 0.0


def _until_punctuation(words: Iterable[str]) -> Iterator[str]:
    for word in words:
        if not word[0].isalnum():
            return
        yield word


_TOKEN: Final = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*|[,;:.!?()]")


def _words(*lines: str) -> frozenset[str]:
    return frozenset(" ".join(lines).split())


_SELF: Final = _words("i i'm i've i'd i'll we we're we've we'd my our me us")
_AFTER_SELF: Final = 5
"""Words behind somebody who speaks of himself among which he evaluates."""
_BEING: Final = _words(
    "is are was were be been am isn't aren't wasn't weren't it's that's they're he's she's you're seem seems seemed",
    "look looks looked feel feels felt sound sounds sounded became become becomes remain remains proved turned",
)
_AFTER_BEING: Final = 4
"""Words behind a verb of being among which something is said to be like something."""
_DEGREES: Final = _words(
    "so too very really extremely absolutely quite far utterly incredibly truly rather such totally completely pretty",
    "terribly awfully remarkably",
)
_SPOKEN: Final = _words(
    "thanks thank congratulations bravo kudos shame sadly unfortunately fortunately luckily",
    "adore adores adored admire admires admired deserve deserves deserved despise despises despised dislike dislikes",
    "disliked enjoy enjoys enjoyed hate hates hated love loves loved recommend recommends recommended regret regrets",
)
"""Words that evaluate by themselves."""
_TELLING: Final = _words(
    "accident accidents agree agreed agrees agreement arrested attack attacked attacks cancer collapse collapsed crash",
    "crashed crashes dead death deaths destroyed died disagree disagreed disagrees drowned emergency evacuated injured",
    "kill killed killing kills lose loses losing loss losses lost stolen struck warn warned warning warnings warns war",
    "wars wounded",
)
"""Words that have a weight, and tell what happened or who is of one mind with whom: they evaluate nothing."""
_SUPERLATIVES: Final = _words("best worst finest nicest")
_UNREAL: Final = _words("if unless whether suppose")
_SAYING: Final = re.compile(
    r"\b(?:said|says|told|testified|alleged|alleges|reported|reportedly|claimed|claims|according to|accused)\b",
    re.IGNORECASE,
)
_QUOTE: Final = re.compile(r"[\"“”«»]")
_SMILEY: Final = re.compile(r"(?:^|\s)[:;]-?[()DP](?=\s|$)|[\U0001f600-\U0001f64f]")


def evaluates(sentence: str, weights: Mapping[str, float]) -> bool:
    """Return whether a sentence with words of praise or blame says that somebody thinks so, as far as its words tell.

    ``weights`` are words in small letters that praise (above 0) or blame. Questions and what is said under a condition
    do not evaluate, nor does what others are reported to have said, unless in their own words. Linear in the length.

    >>> weights = {"war": -2.9, "awful": -2.0}
    >>> evaluates("The war began in the north.", weights), evaluates("The waiting was awful.", weights)
    (False, True)
    >>> weights |= {"lost": -1.3, "agree": 1.5}
    >>> evaluates("They were lost.", weights), evaluates("I agree with Anna.", weights)
    (False, False)
    """
    words = [token.casefold().replace("’", "'") for token in _TOKEN.findall(sentence)]
    if sentence.rstrip("\"'”’) ").endswith("?") or (words and words[0] in _UNREAL):
        return False
    if _SAYING.search(sentence) and not _QUOTE.search(sentence) and _SELF.isdisjoint(words):
        return False
    if _SMILEY.search(sentence) or sentence.rstrip("\"'”’) ").endswith("!"):
        return True
    polar = [word in weights and word not in _TELLING for word in words]
    return any(
        (word in _SPOKEN)
        or (word in _SUPERLATIVES and polar[at])
        or (word in _DEGREES and any(polar[at + 1 : at + 3]))
        or (word in _SELF and _is_reached(words, polar, at, _AFTER_SELF))
        or (word in _BEING and not _is_done(words, polar, at + 1) and _is_reached(words, polar, at, _AFTER_BEING))
        or (word == "what" and words[at + 1 : at + 2] in (["a"], ["an"]))
        for at, word in enumerate(words)
    )


def _is_done(words: Sequence[str], polar: Sequence[bool], at: int) -> bool:
    """Return whether a verb of being has a participle behind it: what is done, or done to something.

    Participles on -ing that praise or blame say what something is like, "is amazing".
    """
    word = words[at] if at < len(words) else ""
    return word.endswith("ed") or (word.endswith("ing") and not polar[at])


def _is_reached(words: Sequence[str], polar: Sequence[bool], at: int, most: int) -> bool:
    """Return whether a polar word stands among some words behind a place, before any sign but a comma."""
    for place in range(at + 1, min(len(words), at + 1 + most)):
        if not words[place][0].isalpha() and words[place] != ",":
            return False
        if polar[place]:
            return True
    return False
