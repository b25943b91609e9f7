"""Which detection patterns can match a page at all, at a cost that hardly depends on how many patterns there are."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from ahocorasick_rs import BytesAhoCorasick, Implementation

from knowledge_base.literals import rarest, required_literals, required_together
from knowledge_base.model import Application, Pattern, Signal

_COST = {
    Signal.HOST: 0,
    Signal.URL: 0,
    Signal.HEADER: 0,
    Signal.COOKIE: 0,
    Signal.GENERATOR: 1,
    Signal.SCRIPT: 2,
    Signal.LINK: 2,
    Signal.TEXT: 2,
    Signal.SELECTOR: 3,
}


@dataclass(frozen=True, slots=True, eq=False)
class _Owner:
    """A pattern that can match where an anchor was seen, if the page holds the other texts as well."""

    application: Application
    pattern: Pattern
    others: tuple[bytes, ...]


class Candidates:
    """Finds the patterns whose texts a page holds; immutable after its construction.

    Of the texts that a pattern needs together, the one that the fewest pages are likely to hold is its anchor. One
    automaton looks for all anchors in one pass; the other texts are looked for where the anchor was seen.
    """

    def __init__(self, applications: Iterable[Application]) -> None:
        owners: defaultdict[str, list[_Owner]] = defaultdict(list)
        for application in applications:
            for pattern in application.patterns:
                for together in needs(pattern):
                    anchor = rarest(together)
                    others = tuple(text.encode() for text in together if text not in anchor)
                    owners[anchor].append(_Owner(application, pattern, others))
        self._owners = [tuple(owners[anchor]) for anchor in owners]
        self._automaton = (
            BytesAhoCorasick([anchor.encode() for anchor in owners], implementation=Implementation.DFA)
            if owners
            else None
        )

    def on(self, source: bytes) -> Mapping[Application, tuple[Pattern, ...]]:
        """Return the patterns that can match a page of that lower-case source, by application, cheap ones first."""
        found: defaultdict[Application, dict[Pattern, None]] = defaultdict(dict)
        for owner in self._seen(source):
            found[owner.application][owner.pattern] = None
        return {application: tuple(sorted(patterns, key=_cost)) for application, patterns in found.items()}

    def _seen(self, source: bytes) -> Iterator[_Owner]:
        if self._automaton is None:
            return
        held: dict[bytes, bool] = {}
        for index in {match[0] for match in self._automaton.find_matches_as_indexes(source, overlapping=True)}:
            for owner in self._owners[index]:
                for text in owner.others:
                    if text not in held:
                        held[text] = text in source
                    if not held[text]:
                        break
                else:
                    yield owner


def needs(pattern: Pattern) -> tuple[tuple[str, ...], ...]:
    """Return sets of lower-case texts, of one of which a page holds all where a pattern matches; none for hosts.

    >>> from knowledge_base.model import Strength
    >>> needs(Pattern(Signal.TEXT, Strength.HINT, "", "Runs on Foo", literals=("runs",)))
    (('runs',),)
    """
    alone = tuple((literal,) for literal in pattern.literals)
    source = pattern.selector.source if pattern.selector is not None else ""
    together = required_together(source)
    if not together:
        return alone
    if len(alone) != 1 or pattern.literals == required_literals(source):
        return together
    return tuple((*texts, *pattern.literals) for texts in together)


def _cost(pattern: Pattern) -> int:
    source = pattern.selector.source if pattern.selector else ""
    return _COST[pattern.signal] + source.startswith(("descendant::*", "//*")) + source.count(" | ")
