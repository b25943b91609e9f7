"""Rules on which URLs a crawl wants: conditions joined by and, or, not, compiled once, evaluated in microseconds.

A fact may be unknown: the media type of a response is not known before it arrives, unless the URL shows it. Conditions
are therefore true, false or unknown (Kleene's logic), and a rule refuses only where it is certain.
"""

import fnmatch
import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from online_analysis.icd.scoping import Condition, Rule
from online_analysis.media_types import type_by_url
from online_analysis.url_patterns import UrlPattern

Truth = bool | None


@dataclass(frozen=True, slots=True)
class Facts:
    """The known facts about a URL that a crawl may fetch.

    ``at_seeds`` says that it is on the pay-level domain of a seed. ``path`` are the hops that led to it from a seed,
    one letter each, in lower case for hops off the seeds' sites; ``via`` is the linking page, empty for a seed, and
    ``language`` that page's language. ``media_type`` is that of the response, once it has come.
    """

    url: str
    at_seeds: bool
    depth: int = 0
    path: str = ""
    via: str = ""
    language: str | None = None
    media_type: str | None = None
    is_requisite: bool = False


Test = Callable[[Facts], Truth]

_COMPARISONS: Final[Mapping[str, Callable[[int, int], bool]]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "<": operator.lt,
    ">": operator.gt,
    "=": operator.eq,
}
_NO_STEPS = re.compile("[re]")
"""Hops off the seeds' sites that a reader does not notice: redirects, and files that show a page."""
_OFF_SITE = re.compile("[a-z]*$")


def hops_off_site(path: str) -> int:
    """Count the hops at the end of a path that are off the seeds' sites, without redirects.

    >>> hops_off_site("LLlrl"), hops_off_site("lL")
    (2, 0)
    """
    found = _OFF_SITE.search(path)
    return len(_NO_STEPS.sub("", found[0])) if found else 0


class ScopeRules:
    """The rules of one definition, in their order."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        self._rules = tuple(_compiled(rule, number) for number, rule in enumerate(rules, 1))
        self.ask_type = any(map(_asks_type, rules))
        """Whether any rule tests the type of an answer."""

    def __bool__(self) -> bool:
        return bool(self._rules)

    def refusal(self, facts: Facts) -> str | None:
        """Return the name of the first rule that certainly refuses a URL, None where no rule does.

        ``require`` binds pages only, as ``scope.allow`` does; ``refuse`` binds page requisites as well.
        """
        for name, refuses, test in self._rules:
            if (refuses or not facts.is_requisite) and test(facts) is refuses:
                return name
        return None


def _compiled(rule: Rule, number: int) -> tuple[str, bool, Test]:
    refuses = rule.refuse is not None
    condition = rule.refuse or rule.require
    assert condition is not None  # noqa: S101 - a rule has one of both
    return rule.name or f"rule {number}", refuses, _test(condition)


def _test(condition: Condition) -> Test:
    """Return the test of one condition; a condition with several fields requires all of them."""
    tests = [make(value) for name, make in _MAKERS.items() if (value := getattr(condition, name)) is not None]
    return tests[0] if len(tests) == 1 else _every(tests)


def _every(tests: Iterable[Test]) -> Test:
    parts = tuple(tests)

    def test(facts: Facts) -> Truth:
        result: Truth = True
        for part in parts:
            truth = part(facts)
            if truth is False:
                return False
            if truth is None:
                result = None
        return result

    return test


def _some(tests: Iterable[Test]) -> Test:
    return _negated(_every(map(_negated, tests)))


def _negated(test: Test) -> Test:
    def negated(facts: Facts) -> Truth:
        truth = test(facts)
        return None if truth is None else not truth

    return negated


def _url(patterns: Sequence[str]) -> Test:
    parsed = tuple(map(UrlPattern.parse, patterns))
    return lambda facts: any(pattern.matches(facts.url) for pattern in parsed)


def _via(patterns: Sequence[str]) -> Test:
    parsed = tuple(map(UrlPattern.parse, patterns))
    return lambda facts: any(pattern.matches(facts.via) for pattern in parsed)


def _site(names: Sequence[str]) -> Test:
    hosts = tuple(UrlPattern.parse(f"host:{name}") for name in names if name != "seeds")
    of_seeds = "seeds" in names
    return lambda facts: (of_seeds and facts.at_seeds) or any(host.matches(facts.url) for host in hosts)


def _language(codes: Sequence[str]) -> Test:
    wanted = frozenset(codes)
    return lambda facts: None if facts.language is None else facts.language.lower().partition("-")[0] in wanted


def _type(types: Sequence[str]) -> Test:
    exact = frozenset(each for each in types if not each.endswith("/*"))
    kinds = tuple(each.removesuffix("*") for each in types if each.endswith("/*"))

    def test(facts: Facts) -> Truth:
        known = facts.media_type or type_by_url(facts.url)
        return None if known is None else known in exact or known.startswith(kinds)

    return test


def _depth(bound: str) -> Test:
    compare, number = _comparison(bound)
    return lambda facts: compare(facts.depth, number)


def _off_site(bound: str) -> Test:
    compare, number = _comparison(bound)
    return lambda facts: compare(hops_off_site(facts.path), number)


def _comparison(bound: str) -> tuple[Callable[[int, int], bool], int]:
    sign, _, number = bound.partition(" ")
    return _COMPARISONS[sign], int(number)


def _path(globs: Sequence[str]) -> Test:
    matches = re.compile("|".join(map(fnmatch.translate, globs))).match
    return lambda facts: matches(facts.path) is not None


_MAKERS: Final[Mapping[str, Callable[..., Test]]] = {
    "depth": _depth,
    "off_site": _off_site,
    "site": _site,
    "path": _path,
    "language": _language,
    "url": _url,
    "via": _via,
    "type": _type,
    "not_": lambda condition: _negated(_test(condition)),
    "all": lambda conditions: _every(map(_test, conditions)),
    "any": lambda conditions: _some(map(_test, conditions)),
}
"""The compilers of the parts of a condition, the cheapest test first."""


def _asks_type(rule: Rule) -> bool:
    pending = [each for each in (rule.refuse, rule.require) if each is not None]
    while pending:
        condition = pending.pop()
        if condition.type is not None:
            return True
        pending += (*(condition.all or ()), *(condition.any or ()))
        if condition.not_ is not None:
            pending.append(condition.not_)
    return False
