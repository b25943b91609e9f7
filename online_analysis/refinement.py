"""Refines a topic by the pages of a reference crawl (ARCOMEM, section 3), with relevance feedback.

The terms that move a topic towards relevant pages and away from others are those of Rocchio's formula (J. J. Rocchio,
"Relevance feedback in information retrieval", in G. Salton, ed., The SMART Retrieval System, 1971)::

    mean of the relevant pages' vectors  -  mean of the other pages' vectors

Relevance is judged by the topic itself, not by a person, so learned terms may lead it astray. Hence the bounds: only
the best third of the pages teach, and no fewer than five; a term has to be on a quarter of them, on several sites where
they are of several, and twice as often as elsewhere; all learned terms together weigh less than the given ones
(``Topic.refined``); and a refinement that makes the seeds or the reference documents less relevant than the pages it
was learned from, whose learned terms they hardly contain, or that prefers pages of little relevance to the topic as it
was given, is rejected.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import pairwise

from pydantic import BaseModel, ConfigDict

from online_analysis.document import Document
from online_analysis.similarity import counts_closeness, score
from online_analysis.term_arrays import CountedDocument
from online_analysis.terms import Language, is_unspaced
from online_analysis.topic import Topic

MAX_NOTED_TERMS = 1_500
"""Different terms that are kept of a page, the most frequent ones."""
MAX_PHRASES = 150
_PHRASE_SEPARATOR = " "


class PageNote(BaseModel):
    """The words of a page and its worth, from 0 to 1.

    ``site`` is its pay-level domain. ``counts`` counts its terms; ``phrases`` counts pairs of terms that stand beside
    one another more than once, by both with a blank between. ``words`` has the most frequent spelling of each term
    that is not spelt as the term itself.
    """

    model_config = ConfigDict(frozen=True)

    url: str
    site: str
    language: str | None = None
    worth: float
    counts: dict[str, int]
    phrases: dict[str, int] = {}
    words: dict[str, str] = {}

    @property
    def line(self) -> str:
        """The note as a line of a file."""
        return self.model_dump_json() + "\n"


def note_of(document: Document, counted: CountedDocument, site: str, worth: float) -> PageNote:
    """Return the note on a document; links count by the text around them, sidebars are left out."""
    speaking = [terms for part, terms in zip(document.parts, counted.parts, strict=True) if part.role != "sidebar"]
    units = [counted.title, *speaking, counted.rest]
    counts = _most(Counter(term for terms in units for term in terms), MAX_NOTED_TERMS)
    pairs = Counter(pair for terms in units for pair in pairwise(terms))
    repeated = Counter({_PHRASE_SEPARATOR.join(pair): n for pair, n in pairs.items() if n > 1 and pair[0] != pair[1]})
    texts = (document.title, *(part.text for part in document.parts if part.role != "sidebar"), document.rest)
    return PageNote(
        url=document.url,
        site=site,
        language=document.language,
        worth=round(worth, 6),
        counts=counts,
        phrases=_most(repeated, MAX_PHRASES),
        words=_spellings(texts, counted.language, counts),
    )


def words_of_phrase(name: str) -> tuple[str, ...]:
    """Return the terms of a phrase, or of one word, by its name in a note."""
    return tuple(name.split(_PHRASE_SEPARATOR))


def _most(counts: Counter[str], most: int) -> dict[str, int]:
    """Return the most frequent ones, in an order that depends on the counts alone."""
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:most])


def _spellings(texts: Iterable[str], language: Language, counts: Mapping[str, int]) -> dict[str, str]:
    seen: dict[str, Counter[str]] = {}
    for word, count in Counter(_words(texts, language)).items():
        for term in language.terms(word):
            if term in counts:
                seen.setdefault(term, Counter())[word] += count
    best = {term: next(iter(_most(words, 1))) for term, words in sorted(seen.items())}
    return {term: word for term, word in best.items() if word != term}


def _words(texts: Iterable[str], language: Language) -> Iterator[str]:
    for text in texts:
        yield from language.words(text)


MIN_RELEVANT = 5
"""Relevant pages that a refinement is learned from at least, and other pages that they are compared with."""
MAX_TERMS = 20
_BEST_SHARE = 1 / 3
_PRESENCE, _LIFT = 0.25, 2.0
_MIN_HOLDERS = 3
_MIN_TRUSTED, _MIN_STANDING, _MIN_SPOKEN = 0.8, 0.9, 0.25
_MIN_AGREEMENT = 0.8


class RefinementOutcome(StrEnum):
    """The outcome of a reference crawl."""

    TAKEN = "taken"
    TOO_FEW = "too few pages are relevant"
    NO_OTHERS = "there are too few other pages to compare the relevant ones with"
    NOTHING = "no terms distinguish the relevant pages"
    DRIFT = "it would lead away from the topic"


@dataclass(frozen=True, slots=True)
class Refinement:
    """The learned terms: words and phrases as people write them, with weights in (0, 1], the heaviest first.

    ``terms`` is empty unless the outcome is TAKEN; ``refused`` has the terms that were rejected because they would have
    led it astray. ``pages`` is the number of pages, and ``relevant`` the number of those that taught.
    """

    outcome: RefinementOutcome
    pages: int
    relevant: int
    terms: Mapping[str, float] = field(default_factory=dict)
    refused: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Trusted:
    """The trusted references of a refinement: URLs of seeds among the pages, and the texts of reference documents.

    ``relevant`` is the worth from which on a page is relevant.
    """

    relevant: float
    seeds: frozenset[str] = frozenset()
    texts: tuple[str, ...] = ()


def refine(pages: Sequence[PageNote], topic: Topic, trusted: Trusted) -> Refinement:
    """Learn from the pages of a reference crawl; a function of its arguments, whatever the order of the pages."""
    pages = sorted(pages, key=lambda page: (-page.worth, page.url))
    best, others = _parted(pages, trusted.relevant)
    if len(best) < MIN_RELEVANT:
        return Refinement(RefinementOutcome.TOO_FEW, len(pages), len(best))
    if len(others) < MIN_RELEVANT:
        return Refinement(RefinementOutcome.NO_OTHERS, len(pages), len(best))
    learned = _heaviest(_learned(best, others, topic))
    if not learned:
        return Refinement(RefinementOutcome.NOTHING, len(pages), len(best))
    refined = topic.refined(learned)
    if _is_foreign(learned, topic, pages, trusted) or _drifts(topic, refined, pages, len(best), trusted):
        return Refinement(RefinementOutcome.DRIFT, len(pages), len(best), refused=learned)
    return Refinement(RefinementOutcome.TAKEN, len(pages), len(best), learned)


def _parted(pages: Sequence[PageNote], relevant: float) -> tuple[Sequence[PageNote], Sequence[PageNote]]:
    """Separate the most relevant pages from the irrelevant ones, or from all others where few are irrelevant."""
    number = sum(page.worth >= relevant for page in pages)
    best = pages[: min(number, max(MIN_RELEVANT, round(len(pages) * _BEST_SHARE)))]
    others = pages[number:]
    return best, others if len(others) >= MIN_RELEVANT else pages[len(best) :]


def _learned(best: Sequence[PageNote], others: Sequence[PageNote], topic: Topic) -> Mapping[str, float]:
    """Learn in each language separately, as stems of one language mean nothing in another."""
    learned: dict[str, float] = {}
    for code in sorted({page.language for page in best}, key=str):
        here = [page for page in best if page.language == code]
        there = [page for page in others if page.language == code]
        if len(here) < MIN_RELEVANT or len(there) < MIN_RELEVANT:
            continue
        for term, weight in _distinguishing(here, there, topic, code).items():
            learned[term] = max(learned.get(term, 0.0), weight * len(here) / len(best))
    return learned


def _distinguishing(
    best: Sequence[PageNote], others: Sequence[PageNote], topic: Topic, code: str | None
) -> Mapping[str, float]:
    vector = topic.vector(code)
    given, language = vector.keywords.weights, vector.language
    here, there = _Side(best, language), _Side(others, language)
    chosen: dict[str, float] = {}
    for name, mean in here.means.items():
        weight = mean - there.means.get(name, 0.0)
        known = all(term in given for term in words_of_phrase(name))
        if weight > 0 and not known and here.holds_often(name) and here.presence(name) >= _LIFT * there.presence(name):
            chosen[name] = weight
    ranked = sorted(chosen, key=lambda name: (-chosen[name], name))
    spelled = ((name, _spelled(name, best, language)) for name in _apart(ranked))
    return {text: chosen[name] for name, text in spelled if text}


class _Side:
    """Pages of one kind: the mean of their vectors, and how many contain a term.

    The pages of a site are weighted down.
    """

    def __init__(self, pages: Sequence[PageNote], language: Language) -> None:
        of_site = Counter(page.site for page in pages)
        shares = [1.0 / math.sqrt(of_site[page.site]) for page in pages]
        total = math.fsum(shares)
        self.means: defaultdict[str, float] = defaultdict(float)
        self._holding: defaultdict[str, float] = defaultdict(float)
        self._holders: Counter[str] = Counter()
        self._sites: dict[str, set[str]] = {}
        self._has_sites = len(of_site) > 1
        for page, share in zip(pages, shares, strict=True):
            for name, weight in _unit(page, language):
                self.means[name] += weight * share / total
                self._holding[name] += share / total
                self._holders[name] += 1
                self._sites.setdefault(name, set()).add(page.site)

    def presence(self, name: str) -> float:
        """Return the share of pages that hold a term."""
        return self._holding.get(name, 0.0)

    def holds_often(self, name: str) -> bool:
        """Return whether a term is on enough pages, and not only on those of one of several sites."""
        is_known = len(self._sites[name]) > 1 or not self._has_sites
        return self.presence(name) >= _PRESENCE and self._holders[name] >= _MIN_HOLDERS and is_known


def _unit(page: PageNote, language: Language) -> Iterator[tuple[str, float]]:
    """Yield the terms and phrases of a page with their weights in a vector of length 1; numbers say nothing."""
    idf = language.idf
    weights = {}
    for name, count in (*page.counts.items(), *page.phrases.items()):
        if any(character.isdigit() for character in name):
            continue
        weights[name] = (1.0 + math.log(count)) * max(idf[term] for term in words_of_phrase(name))
    length = math.sqrt(math.fsum(weight * weight for weight in weights.values()))
    for name, weight in weights.items():
        yield name, weight / length


def _apart(ranked: Iterable[str]) -> Iterator[str]:
    """Yield names, without words contained in a chosen phrase, and without phrases that overlap with another one."""
    names = list(ranked)[: 2 * MAX_TERMS]
    taken: set[str] = set()
    phrases = []
    for name in names:
        words = words_of_phrase(name)
        if len(words) > 1 and not taken.intersection(words):
            phrases.append(name)
            taken.update(words)
    for name in names:
        if name in phrases or (len(words_of_phrase(name)) == 1 and name not in taken):
            yield name


def _spelled(name: str, pages: Iterable[PageNote], language: Language) -> str:
    """Return a word or phrase in its most frequent spelling.

    Empty where that would not be tokenised to the same terms.
    """
    words = [_spelling(term, pages) for term in words_of_phrase(name)]
    text = words[0]
    for word in words[1:]:
        text = text + word[1:] if is_unspaced(text) and text[-1] == word[0] else f"{text} {word}"
    return text if tuple(language.terms(text)) == words_of_phrase(name) else ""


def _spelling(term: str, pages: Iterable[PageNote]) -> str:
    votes = Counter(page.words.get(term, term) for page in pages if term in page.counts)
    return min(votes, key=lambda word: (-votes[word], word), default=term)


def _heaviest(learned: Mapping[str, float]) -> Mapping[str, float]:
    """Return the heaviest terms with weights up to 1."""
    ranked = sorted(learned.items(), key=lambda item: (-item[1], item[0]))[:MAX_TERMS]
    return {term: round(weight / ranked[0][1], 3) for term, weight in ranked if weight >= 0.001 * ranked[0][1]}


def _drifts(topic: Topic, refined: Topic, pages: Sequence[PageNote], number: int, trusted: Trusted) -> bool:
    """Return whether a trusted text becomes less relevant, by itself or relative to the ``number`` pages that teach.

    Also True where other pages become the best which were not good before.
    """
    before, after = _worths(pages, topic), _worths(pages, refined)
    seeds = [at for at, page in enumerate(pages) if page.url in trusted.seeds and before[at] >= trusted.relevant / 2]
    held = [*(before[at] for at in seeds), *_of_texts(trusted.texts, topic)]
    holds = [*(after[at] for at in seeds), *_of_texts(trusted.texts, refined)]
    if math.fsum(holds) < _MIN_TRUSTED * math.fsum(held):
        return True
    if _standing(holds, after[:number]) < _MIN_STANDING * _standing(held, before[:number]):
        return True
    would_be = sorted(range(len(pages)), key=lambda at: (-after[at], pages[at].url))[:number]
    agreed = math.fsum(before[at] for at in would_be)
    return agreed < _MIN_AGREEMENT * math.fsum(sorted(before, reverse=True)[:number])


def _is_foreign(learned: Mapping[str, float], topic: Topic, pages: Sequence[PageNote], trusted: Trusted) -> bool:
    """Return whether relevant seeds, and reference documents, contain hardly any of the learned terms."""
    known: dict[str | None, set[str]] = {}
    for page in pages:
        if page.url in trusted.seeds and page.worth >= trusted.relevant / 2:
            known.setdefault(page.language, set()).update(page.counts)
    for text in trusted.texts:
        language = topic.vector_of(text).language
        known.setdefault(language.code, set()).update(language.terms(text))
    if not known:
        return False
    weights = math.fsum(
        weight
        for text, weight in learned.items()
        if any(terms.issuperset(topic.vector(code).language.terms(text)) for code, terms in known.items())
    )
    return weights < _MIN_SPOKEN * math.fsum(learned.values())


def _standing(trusted: Iterable[float], best: Sequence[float]) -> float:
    """Sum the relevance of each trusted text relative to the mean of the pages that teach, 1 at most.

    A reference document is the topic itself, so that it loses a little by whatever is learned.
    """
    mean = math.fsum(best) / len(best)
    return math.fsum(min(1.0, worth / mean) if mean else 0.0 for worth in trusted)


def _worths(pages: Iterable[PageNote], topic: Topic) -> list[float]:
    return [_worth(page.counts, topic, page.language) for page in pages]


def _of_texts(texts: Iterable[str], topic: Topic) -> list[float]:
    worths = []
    for text in texts:
        vector = topic.vector_of(text)
        worths.append(_worth(Counter(vector.language.terms(text)), topic, vector.language.code))
    return worths


def _worth(counts: Mapping[str, int], topic: Topic, code: str | None) -> float:
    vector = topic.vector(code)
    return score(vector, counts_closeness(counts, vector)) if counts else 0.0
