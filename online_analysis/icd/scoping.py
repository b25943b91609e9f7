"""The section ``scope`` of an ICD: which URLs may be fetched.

A fact may be unknown: the media type of a response is unknown before it arrives, unless the URL shows it. Conditions
are therefore true, false or unknown (Kleene's logic), and a rule refuses a URL only if that is certain.
"""

import fnmatch
import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal, Self

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, field_validator, model_validator

from online_analysis.icd.mistakes import Section, refuse
from online_analysis.icd.sections import Count, Host, Language, Line, OneOrSeveral, Pattern, as_host
from online_analysis.media_types import type_by_url
from online_analysis.url_patterns import UrlPattern

HOPS: Final = "LNRIEOSFDMP"
"""The letters of hops, as in the frontier; lower case for a hop that left the seeds' sites."""

_LETTERS = HOPS + HOPS.lower()
_MAX_PATH_LENGTH = 200
_BOUND = re.compile(r"(<=|>=|<|>|=|at most|at least|less than|more than|exactly) ?([0-9]{1,9})")
_SIGNS = {"at most": "<=", "at least": ">=", "less than": "<", "more than": ">", "exactly": "="}
_PATH = re.compile(rf"(?:[*?{_LETTERS}]|\[!?[{_LETTERS}]+\])+")
_MEDIA_TYPE = re.compile(r"[a-z0-9!#$&^_.+-]+/(?:[a-z0-9!#$&^_.+-]+|\*)")


def _bound(text: str) -> str:
    found = _BOUND.fullmatch(" ".join(text.lower().split()))
    if not found:
        raise refuse("is no bound", "write `at most 3`, `more than 3`, or the like")
    return f"{_SIGNS.get(found[1], found[1])} {int(found[2])}"


def _path(text: str) -> str:
    pattern = text.strip()
    if len(pattern) > _MAX_PATH_LENGTH or not _PATH.fullmatch(pattern):
        advice = f"write letters of {HOPS}, `?` for any one, `*` for any number of any, `[LN]` for one of several"
        raise refuse("is no pattern of hops", advice)
    return pattern


def _media_type(text: str) -> str:
    written = text.strip().lower()
    if not _MEDIA_TYPE.fullmatch(written):
        raise refuse("is no media type", "write for example application/pdf, or video/* for all kinds of video")
    return written


def _site(name: str) -> str:
    return "seeds" if name.strip().lower() == "seeds" else as_host(name)


def _parameter(name: str) -> str:
    written = name.strip()
    if not re.fullmatch(r"[^\s&=#?]{1,100}", written) or not written.strip("*"):
        raise refuse("is no name of a parameter", "write a name such as fbclid, or one with a star such as utm_*")
    return written


def _file_name(name: str) -> str:
    written = name.strip()
    if not re.fullmatch(r"[!-~]{1,100}", written) or re.search(r"[/?#]", written):
        raise refuse("is no name of a file", "write the name alone, such as index.html")
    return written


def _bare_host(name: str) -> str:
    return as_host(name).removeprefix("www.")


def _in_pieces(value: Any) -> Any:
    """Convert a mapping to a list of its entries, because either form may be written."""
    return [{name: inner} for name, inner in value.items()] if isinstance(value, dict) else value


def _some(values: tuple[Any, ...]) -> tuple[Any, ...]:
    if not values:
        raise refuse("is an empty list", "write at least one entry, or leave it out")
    return values


_Some = AfterValidator(_some)
Bound = Annotated[str, AfterValidator(_bound)]
Patterns = Annotated[tuple[Pattern, ...], OneOrSeveral, _Some]
SiteNames = Annotated[tuple[Annotated[str, AfterValidator(_site)], ...], OneOrSeveral, _Some]
Languages = Annotated[tuple[Language, ...], OneOrSeveral, _Some]
MediaTypes = Annotated[tuple[Annotated[str, AfterValidator(_media_type)], ...], OneOrSeveral, _Some]
Paths = Annotated[tuple[Annotated[str, AfterValidator(_path)], ...], OneOrSeveral, _Some]
Conditions = Annotated[tuple["Condition", ...], BeforeValidator(_in_pieces), _Some]


class Condition(Section):
    """A condition on a URL: all fields must hold, and any of several values of one field."""

    model_config = ConfigDict(**Section.model_config, serialize_by_alias=True)

    all: Conditions | None = Field(default=None, examples=["[{site: seeds}, {depth: at most 3}]"])
    any: Conditions | None = Field(default=None, examples=["[{site: seeds}, {depth: at most 3}]"])
    not_: "Condition | None" = Field(default=None, alias="not", examples=["{site: seeds}"])
    url: Patterns | None = Field(default=None, examples=["/calendar/"])
    site: SiteNames | None = Field(default=None, examples=["[seeds, example.org]"])
    language: Languages | None = Field(default=None, examples=["[de, en]"])
    type: MediaTypes | None = Field(default=None, examples=["[application/pdf, video/*]"])
    depth: Bound | None = Field(default=None, examples=["at most 3"])
    off_site: Bound | None = Field(default=None, examples=["at most 2"])
    path: Paths | None = Field(default=None, examples=['"*F*"'])
    via: Patterns | None = Field(default=None, examples=["/links.html"])

    @model_validator(mode="after")
    def _something(self) -> Self:
        if all(getattr(self, name) is None for name in type(self).model_fields):
            raise refuse("asks for nothing", "write a condition such as `url: /calendar/`")
        return self


class Rule(Section):
    """A rule of the scope, which refuses or requires a condition. Without a name it is named by its position."""

    name: Annotated[Line, Field(max_length=60)] | None = Field(default=None, examples=["no calendars"])
    refuse: Condition | None = Field(default=None, examples=["{url: /calendar/}"])
    require: Condition | None = Field(default=None, examples=["{any: [{site: seeds}, {depth: at most 3}]}"])

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if (self.refuse is None) == (self.require is None):
            problem = "says neither what it refuses nor what it requires" if self.refuse is None else "says both"
            raise refuse(problem, "write `refuse:` or `require:` with a condition")
        return self


class Canonical(Section):
    """The one spelling of each URL."""

    sessions: Literal["drop", "keep"] = Field(default="drop", examples=["keep"])
    drop: tuple[Annotated[str, AfterValidator(_parameter)], ...] = Field(default=(), examples=['["utm_*", fbclid]'])
    sort: bool = Field(default=False, examples=["true"])
    index: tuple[Annotated[str, AfterValidator(_file_name)], ...] = Field(default=(), examples=["[index.html]"])
    lower_case: tuple[Host, ...] = Field(default=(), examples=["[example.org]"])
    www: Mapping[Annotated[str, AfterValidator(_bare_host)], Literal["add", "drop"]] = Field(
        default={}, examples=["{example.org: drop}"]
    )


class Scope(Section):
    """The URLs that may be fetched."""

    sites: Literal["seeds", "anywhere"] = Field(default="seeds", examples=["anywhere"])
    allow: tuple[Pattern, ...] = Field(default=(), examples=['["*://blog.example.org/2024/*"]'])
    deny: tuple[Pattern, ...] = Field(default=(), examples=['["*/calendar/*", "host:ads.example.org"]'])
    languages: tuple[Language, ...] = Field(default=(), examples=["[de, en]"])
    depth: Count | None = Field(default=None, examples=["10"])
    canonical: Canonical = Field(default=Canonical(), examples=['{drop: ["utm_*"]}'])
    rules: tuple[Rule, ...] = Field(default=(), examples=["[{name: no calendars, refuse: {url: /calendar/}}]"])

    @field_validator("rules")
    @classmethod
    def _told_apart(cls, written: tuple[Rule, ...]) -> tuple[Rule, ...]:
        rules = tuple(
            rule if rule.name is not None else rule.model_copy(update={"name": f"rule {place}"})
            for place, rule in enumerate(written, 1)
        )
        names = [rule.name for rule in rules]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise refuse(f"has two rules with the name '{twice}'", "give each rule a name of its own")
        return rules


Truth = bool | None


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known about a URL that a crawl may fetch.

    ``at_seeds`` means that it is on the pay-level domain of a seed. ``path`` are the hops that led to it from a seed,
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
    """The rules of one definition, in order."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        self._rules = tuple(_compiled(rule, number) for number, rule in enumerate(rules, 1))
        self.ask_type = any(map(_asks_type, rules))
        """Whether any rule tests the type of a response."""

    def refusal(self, facts: Facts) -> str | None:
        """Return the name of the first rule that certainly refuses a URL; None if no rule does.

        ``require`` applies only to pages, as ``scope.allow`` does; ``refuse`` applies to page requisites as well.
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
    """Return the test of one condition; if it has several fields, all must hold."""
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


def _any_test(tests: Iterable[Test]) -> Test:
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


def _site_test(names: Sequence[str]) -> Test:
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


def _path_test(globs: Sequence[str]) -> Test:
    matches = re.compile("|".join(map(fnmatch.translate, globs))).match
    return lambda facts: matches(facts.path) is not None


_MAKERS: Final[Mapping[str, Callable[..., Test]]] = {
    "depth": _depth,
    "off_site": _off_site,
    "site": _site_test,
    "path": _path_test,
    "language": _language,
    "url": _url,
    "via": _via,
    "type": _type,
    "not_": lambda condition: _negated(_test(condition)),
    "all": lambda conditions: _every(map(_test, conditions)),
    "any": lambda conditions: _any_test(map(_test, conditions)),
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
