"""Convert parsed queries to Tantivy's, so that the scores of several indexes can be compared.

Tantivy scores by BM25, in which a term weighs more the rarer it is in that index. Here each term is weighted by how
rare it is in all indexes that are searched together: its query is multiplied by that weight divided by Tantivy's. The
only remaining difference between indexes is the mean length of their texts, by which BM25 measures the length of each.
Fuzzy, prefix and range queries give each match the same score, in every index.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import log
from typing import Final

import tantivy

from aahcrawler.search.query_language import All, Node, Not, Range, Some, Value, Words
from aahcrawler.search.text_index import (
    SAID,
    TOPIC_STEMS,
    address_number,
    pairs_of,
    schema,
    stems_of,
    unspaced,
    words_of,
)

_WEIGHTS: Final = {"title": 2.0, "author": 1.5, "text": 1.0}
_OF_NAMES: Final = frozenset({"author", *SAID})
"""Fields with names, which have no other forms."""
_STEM: Final = 0.8
"""The weight of a word with the same stem, relative to the word itself."""
_NEAR: Final = 0.4
"""The weight of a word with a slightly different spelling."""
_MIN_FUZZY_LENGTH: Final = 4
_LONG: Final = 8
"""Words of at least this many letters may differ in two of them when misspelt."""
_MAX_EXPANDED: Final = 64
"""How many pairs of characters of one text without spaces are searched."""
_TIE: Final = 0.1
Terms = Sequence[str]
_MUST, _SHOULD, _NEVER = tantivy.Occur.Must, tantivy.Occur.Should, tantivy.Occur.MustNot


@dataclass(frozen=True)
class Searched:
    """The indexes that are searched together, with the languages of their texts."""

    searchers: Sequence[tantivy.Searcher]
    languages: Sequence[str]
    named: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """The words and phrases for which ``keyword`` and ``entity`` stand, by field."""

    def frequency(self, name: str, term: str) -> int:
        """Return how many versions have a term in a field."""
        return sum(each.doc_freq(name, term) for each in self.searchers)

    def weight(self, searcher: tantivy.Searcher, name: str, terms: Terms) -> float:
        """Return the factor for the score of terms in one index."""
        if len(self.searchers) == 1:
            return 1.0
        here = sum(_rarity(searcher.num_docs, searcher.doc_freq(name, term)) for term in terms)
        everywhere = sum(each.num_docs for each in self.searchers)
        return sum(_rarity(everywhere, self.frequency(name, term)) for term in terms) / here if here else 1.0


def _rarity(documents: int, having: int) -> float:
    return log(1 + (documents - having + 0.5) / (having + 0.5))


@dataclass(frozen=True)
class Compiler:
    """Makes queries for one of the indexes that are searched. ``is_lenient`` treats every word as misspelt."""

    searched: Searched
    searcher: tantivy.Searcher
    is_lenient: bool = False

    def query(self, node: Node | None) -> tantivy.Query:
        """Return the Tantivy query for a parsed query; one without letters and digits matches everything."""
        made = None if node is None else self._made(node)
        return tantivy.Query.all_query() if made is None else made

    def _made(self, node: Node) -> tantivy.Query | None:
        match node:
            case Words():
                return self._words(node)
            case Value():
                return self._value(node)
            case Range():
                return between(node.field, node.low, node.high)
            case Not():
                made = self._made(node.node)
                return None if made is None else _without(tantivy.Query.all_query(), made)
            case Some():
                found = [made for made in map(self._made, node.nodes) if made is not None]
                return _some(found)
            case All():
                return self._all(node.nodes)

    def _all(self, nodes: Sequence[Node]) -> tantivy.Query | None:
        clauses: list[tuple[tantivy.Occur, tantivy.Query]] = []
        for node in nodes:
            occur = _NEVER if isinstance(node, Not) else _MUST
            made = self._made(node.node if isinstance(node, Not) else node)
            if made is not None:
                clauses.append((occur, made))
        if clauses and all(occur == _NEVER for occur, _ in clauses):
            clauses.append((_MUST, tantivy.Query.const_score_query(tantivy.Query.all_query(), 0.0)))
        return tantivy.Query.boolean_query(clauses) if clauses else None

    # Words

    def _words(self, node: Words) -> tantivy.Query | None:
        """Return the query for words in the fields that may contain them; None if they have no letters and digits."""
        rest, parts = node.text, list[tantivy.Query]()
        for run in unspaced(node.text):
            rest = rest.replace(run, " ", 1)
            parts.append(self._unspaced(run, node))
        if words := words_of(rest):
            parts.append(self._spaced(rest, words, node))
        clauses = [(_MUST, each) for each in parts]
        return parts[0] if len(parts) == 1 else tantivy.Query.boolean_query(clauses) if parts else None

    def _spaced(self, text: str, words: Terms, node: Words) -> tantivy.Query:
        fields = (node.field,) if node.field else tuple(_WEIGHTS)
        found = [self._in_field(name, words, node) for name in fields]
        if len(words) == 1 and not node.is_phrase and not node.is_prefix and node.field not in _OF_NAMES:
            found += self._stems(text, words[0])
            distance = self._distance(words[0], node)
            if distance:
                fuzzy = [tantivy.Query.fuzzy_term_query(schema(), name, words[0], distance) for name in fields]
                found += [tantivy.Query.boost_query(each, _NEAR) for each in fuzzy]
        elif len(words) == 1 and node.field in _OF_NAMES and (distance := self._distance(words[0], node)):
            found.append(tantivy.Query.fuzzy_term_query(schema(), node.field, words[0], distance))
        if len(words) == 1 and node.field == "topic":
            forms = sorted(_forms(self.searched, words[0]))
            found += [tantivy.Query.term_query(schema(), TOPIC_STEMS, each, "basic") for each in forms]
        return tantivy.Query.disjunction_max_query(found, _TIE)

    def _in_field(self, name: str, words: Terms, node: Words) -> tantivy.Query:
        query, weight = tantivy.Query, _WEIGHTS.get(name, 1.0)
        if node.is_prefix:
            if len(words) > 1:
                return query.boost_query(query.phrase_prefix_query(schema(), name, [*words]), weight)
            return query.boost_query(query.regex_query(schema(), name, f"{re.escape(words[0])}.*"), weight)
        weight *= self.searched.weight(self.searcher, name, words)
        if len(words) == 1:
            return query.boost_query(query.term_query(schema(), name, words[0]), weight)
        return query.boost_query(query.phrase_query(schema(), name, [*words], node.slop), weight)

    def _stems(self, text: str, word: str) -> list[tantivy.Query]:
        """Return the queries for other forms of a word, in each language of the texts."""
        query, found = tantivy.Query, dict[tuple[str, str], float]()
        for language in self.searched.languages:
            for stem in stems_of(text, language)[:1]:
                found["stems", stem] = _STEM
                bare = stem.partition(":")[2]
                if bare != word:  # Where a word is its own stem, it stands among the words alone.
                    found["text", bare], found["title", bare] = _STEM, _STEM * _WEIGHTS["title"]
        return [
            query.boost_query(
                query.term_query(schema(), name, stem, "freq"),
                weight * self.searched.weight(self.searcher, name, [stem]),
            )
            for (name, stem), weight in found.items()
        ]

    def _distance(self, word: str, node: Words) -> int:
        """Return in how many letters a word may differ: none if it must be exact, or if a text has it."""
        if node.distance is not None:
            return node.distance
        if len(word) < _MIN_FUZZY_LENGTH or not (self.is_lenient or is_unknown(self.searched, word, node)):
            return 0
        return 2 if len(word) >= _LONG else 1

    def _unspaced(self, run: str, node: Words) -> tantivy.Query:
        """Return the query for a text in a script without spaces, by its pairs of characters.

        Names of authors contain it as one word.
        """
        query, pairs = tantivy.Query, pairs_of(run)[:_MAX_EXPANDED]
        if node.field in _OF_NAMES:
            return query.regex_query(schema(), node.field, f".*{re.escape(run)}.*")
        if len(run) == 1:
            return query.regex_query(schema(), "pairs", f"{re.escape(run)}.?|.{re.escape(run)}")
        weight = self.searched.weight(self.searcher, "pairs", pairs)
        if len(pairs) == 1:
            return query.boost_query(query.term_query(schema(), "pairs", pairs[0]), weight)
        return query.boost_query(query.phrase_query(schema(), "pairs", [*pairs]), weight)

    # Values

    def _value(self, node: Value) -> tantivy.Query | None:
        query, text = tantivy.Query, node.text.strip().lower()
        if node.field in ("keyword", "entity"):
            return self._named(node)
        if node.field == "url":
            return query.const_score_query(query.term_query(schema(), "address", address_number(node.text)), 1.0)
        fields = ("site", "host") if node.field == "site" else (node.field,)
        if node.is_prefix:
            found = [query.regex_query(schema(), name, f"{re.escape(text)}.*") for name in fields]
        else:
            found = [query.term_query(schema(), name, text, "basic") for name in fields]
        return query.const_score_query(_some(found) or query.empty_query(), 0.0)

    def _named(self, node: Value) -> tantivy.Query:
        """Return the query for words of the definition: all whose text is the value, or begins with it."""
        text = node.text.casefold()
        named = (each for each in self.searched.named.get(node.field, ()))
        fitting = [
            each for each in named if each.casefold() == text or (node.is_prefix and each.casefold().startswith(text))
        ]
        made = [self._words(Words(each, is_phrase=" " in each)) for each in fitting or [node.text]]
        return _some([each for each in made if each is not None]) or tantivy.Query.empty_query()


def is_unknown(searched: Searched, word: str, node: Words) -> bool:
    """Return whether no searched text has a word or another form of it.

    For scripts that are written without spaces, return False, because their words are not distinguished.
    """
    if unspaced(word):
        return False
    fields = (node.field,) if node.field else tuple(_WEIGHTS)
    fields += (TOPIC_STEMS,) if node.field == "topic" else ()
    return not any(searched.frequency(name, each) for name in fields for each in _forms(searched, word)) and not any(
        searched.frequency("stems", stem) for stem in _stems(searched, word)
    )


def _stems(searched: Searched, word: str) -> list[str]:
    """Return the stems of a word in the languages of the texts, each after its language."""
    return [stem for language in searched.languages for stem in stems_of(word, language)[:1]]


def _forms(searched: Searched, word: str) -> set[str]:
    """Return a word and its stems; stems that are words are stored only as words."""
    return {word, *(stem.partition(":")[2] for stem in _stems(searched, word))}


def between(field: str, low: float | None, high: float | None) -> tantivy.Query:
    """Return the query for numbers from ``low`` on and below ``high``, without a score; None means no bound."""
    kind = tantivy.FieldType.Float if field == "score" else tantivy.FieldType.Integer
    least, most = (None if each is None else each if field == "score" else int(each) for each in (low, high))
    made = tantivy.Query.range_query(schema(), field, kind, least, most, include_upper=high is None)
    return tantivy.Query.const_score_query(made, 0.0)


def _some(found: Sequence[tantivy.Query]) -> tantivy.Query | None:
    if len(found) < 2:
        return found[0] if found else None
    return tantivy.Query.boolean_query([(_SHOULD, each) for each in found])


def _without(found: tantivy.Query, excluded: tantivy.Query) -> tantivy.Query:
    return tantivy.Query.boolean_query([(_MUST, found), (_NEVER, excluded)])
