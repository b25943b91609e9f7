"""Recognises the application and the level of a page, at a cost that hardly grows with the knowledge base.

Each detection pattern has literals of which every matching page contains at least one. One automaton searches for all
literals at once; only patterns with a literal found are evaluated.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import translate
from functools import cached_property
from re import match
from typing import Protocol

from ahocorasick_rs import BytesAhoCorasick, Implementation
from lxml import etree
from lxml.html import HtmlElement

from knowledge_base.element_index import Elements
from knowledge_base.literals import (
    MIN_LITERAL_LENGTH,
    Need,
    Place,
    rarest,
    required_literals,
    required_together,
    safe_literal,
)
from knowledge_base.model import Application, Condition, KnowledgeBase, PageLevel, Pattern, Signal, Strength, Variant
from knowledge_base.selectors import Selector, SourceLiterals
from knowledge_base.url_rules import LONGEST, ParsedUrl, UrlRule

_DELIMITER = b"\x01"
_OTHER = b"\x02"


def _symbol(byte: int) -> int:
    sign = bytes((byte,))
    if sign.isalpha():
        return sign.lower()[0]
    if sign.isdigit():
        return ord("0")
    if sign in _DELIMITERS:
        return _DELIMITER[0]
    return ord("-") if 32 < byte < 127 else _OTHER[0]


_DELIMITERS = tuple(sign.encode() for sign in "\"'= \t\n\r\f")
_SYMBOLS = bytes(map(_symbol, range(256)))
"""Bytes as the automaton sees them: fewer than 32 symbols, since its tables, and the memory that a page makes it look
at, grow with their number rounded up to a power of two."""

_FRONT = frozenset({Signal.URL, Signal.HEADER, Signal.COOKIE})
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
    """A pattern that can match where its anchor was found, if the page contains its other texts as well."""

    application: Application
    pattern: Pattern
    others: tuple[bytes, ...]


class Candidates:
    """Finds the patterns whose required texts a page contains; immutable after its construction.

    URL and header fields are one source, the body is another; case does not matter.
    """

    def __init__(self, applications: Iterable[Application]) -> None:
        signs = [(application, pattern) for application in applications for pattern in application.patterns]
        self._front = _Anchors(sign for sign in signs if sign[1].signal in _FRONT)
        self._body = _Anchors(sign for sign in signs if sign[1].signal not in _FRONT)

    def on(self, front: bytes, body: bytes) -> Mapping[Application, tuple[Pattern, ...]]:
        """Return the patterns that can match a page, by application, cheap ones first."""
        found: defaultdict[Application, dict[Pattern, None]] = defaultdict(dict)
        for owner in (*self._front.seen(front), *self._body.seen(body)):
            found[owner.application][owner.pattern] = None
        return {application: tuple(sorted(patterns, key=_cost)) for application, patterns in found.items()}


class _Anchors:
    """An index by anchors: the anchor of a pattern is the text, of those it requires together, that is probably rarest.

    One automaton searches for all anchors in one pass; the other texts are searched for where the anchor was found.
    """

    def __init__(self, signs: Iterable[tuple[Application, Pattern]]) -> None:
        owners: defaultdict[Need, list[_Owner]] = defaultdict(list)
        for application, pattern in signs:
            for together in needs(pattern):
                anchor = rarest(together)
                others = dict.fromkeys(
                    need.text.encode().translate(_SYMBOLS) for need in together if need.text not in anchor.text
                )
                owners[anchor].append(_Owner(application, pattern, tuple(others)))
        self._owners = [tuple(found) for found in owners.values()]
        self._anchors = [(anchor, anchor.text.encode()) for anchor in owners]
        texts = [_symbols_of(anchor) for anchor in owners]
        self._automaton = BytesAhoCorasick(texts, implementation=Implementation.DFA) if texts else None

    def seen(self, source: bytes) -> Iterator[_Owner]:
        """Yield the owners of the anchors found in a source together with their other texts."""
        if self._automaton is None:
            return
        held: dict[bytes, bool] = {}
        symbols = source.translate(_SYMBOLS)
        for index in self._standing(source, self._automaton.find_matches_as_indexes(symbols, overlapping=True)):
            for owner in self._owners[index]:
                for text in owner.others:
                    if text not in held:
                        held[text] = text in symbols
                    if not held[text]:
                        break
                else:
                    yield owner

    def _standing(self, source: bytes, matches: Iterable[tuple[int, int, int]]) -> set[int]:
        standing: set[int] = set()
        for index, _, end in matches:
            if index not in standing:
                anchor, text = self._anchors[index]
                start = end - len(text)
                if source[start:end].lower() == text and anchor.stands(source, start):
                    standing.add(index)
        return standing


def _symbols_of(anchor: Need) -> bytes:
    """Return the automaton's symbols for a need: a text at the start of a value or a word follows a delimiter."""
    delimiter = b"" if anchor.place is Place.ANYWHERE else _DELIMITER
    return delimiter + anchor.text.encode().translate(_SYMBOLS)


def needs(pattern: Pattern) -> tuple[tuple[Need, ...], ...]:
    """Return sets of texts: where a pattern matches, the page contains all texts of one set; none for hosts.

    >>> from knowledge_base.model import Strength
    >>> needs(Pattern(Signal.TEXT, Strength.HINT, "", "Runs on Foo", literals=("runs",)))
    ((Need(text='runs', place=<Place.ANYWHERE: 1>, attribute=''),),)
    """
    alone = tuple((Need(literal),) for literal in pattern.literals)
    if pattern.signal is Signal.GENERATOR:
        first = pattern.value.lower().split()[0]
        plain = len(first) >= MIN_LITERAL_LENGTH and safe_literal(first) == first
        return ((Need(first, Place.START, "content"),),) if plain else alone
    source = pattern.selector.source if pattern.selector is not None else ""
    together = required_together(source)
    if not together:
        return alone
    if len(alone) != 1 or pattern.literals == required_literals(source):
        return together
    return tuple((*texts, *alone[0]) for texts in together)


def _cost(pattern: Pattern) -> int:
    source = pattern.selector.source if pattern.selector else ""
    return _COST[pattern.signal] + source.startswith(("descendant::*", "//*")) + source.count(" | ")


HEAD, TAIL = 768 * 1024, 256 * 1024
"""Bytes at the start and the end of a body in which literals are looked for: software signs there."""


class HeaderFields(Protocol):
    """The response header fields, as needed for detection."""

    @property
    def fields(self) -> tuple[tuple[str, str], ...]:
        """Names and values in their order."""
        ...

    def all(self, name: str) -> Iterable[str]:
        """Return every value of a field, whatever the case of its name."""
        ...


class PageView(Protocol):
    """What detection needs to know of a page. ``url`` is canonical; ``tree`` and ``elements`` are computed once."""

    @property
    def url(self) -> str: ...  # noqa: D102
    @property
    def headers(self) -> HeaderFields: ...  # noqa: D102
    @property
    def body(self) -> bytes: ...  # noqa: D102
    @property
    def encoding(self) -> str: ...  # noqa: D102
    @property
    def tree(self) -> HtmlElement: ...  # noqa: D102
    @property
    def elements(self) -> Elements: ...  # noqa: D102


@dataclass(frozen=True, slots=True)
class Detection:
    """The application of a page, and the patterns that match, the strongest first.

    ``rivals`` names applications with equally strong evidence; ``application`` is then None.
    """

    application: Application | None = None
    evidence: tuple[Pattern, ...] = ()
    rivals: tuple[str, ...] = ()


@dataclass(frozen=True)
class Sight:
    """A page as seen by patterns; data needed by several patterns are computed once."""

    page: PageView

    @cached_property
    def parsed_url(self) -> ParsedUrl:
        """The page's URL, parsed."""
        return ParsedUrl.parse(self.page.url)

    @cached_property
    def front(self) -> bytes:
        """URL and header fields, as one text to be searched."""
        fields = "\n".join(f"{name}: {value}" for name, value in self.page.headers.fields)
        return f"{self.page.url}\n{fields}".encode("utf-8", "replace")

    @cached_property
    def body(self) -> bytes:
        """The body with its ASCII text unchanged; a long one without its middle."""
        body = _ascii_kept(self.page)
        return body[:HEAD] + b"\n" + body[-TAIL:] if len(body) > HEAD + TAIL else body

    @cached_property
    def source(self) -> bytes:
        """The body in lower case."""
        return self.body.lower()

    @cached_property
    def cookies(self) -> tuple[str, ...]:
        """Names of the cookies that are set."""
        return tuple(field.partition("=")[0].strip() for field in self.page.headers.all("Set-Cookie"))

    def shows(self, pattern: Pattern) -> bool:
        """Return whether the page matches a detection pattern."""
        value = pattern.value.lower()
        match pattern.signal:
            case Signal.SELECTOR:
                return pattern.selector is not None and _is_there(pattern.selector, self.page)
            case Signal.URL:
                return pattern.rule is not None and pattern.rule.matches(self.parsed_url)
            case Signal.GENERATOR:
                return any(name.startswith(value) for name in _generators(self.page.tree))
            case Signal.SCRIPT:
                return any(value in source for source in _values(self.page.tree, "script", "src"))
            case Signal.LINK:
                return any(value in target for target in _values(self.page.tree, "link", "href"))
            case Signal.HEADER:
                return any(value in field.lower() for field in self.page.headers.all(pattern.name))
            case Signal.COOKIE:
                return any(_fits(pattern.value, name) for name in self.cookies)
            case Signal.TEXT:
                return value.encode() in self.source
            case Signal.HOST:
                return is_on_host(self.page.url, value)

    def meets(self, condition: Condition) -> bool:
        """Return whether all parts of a level's condition hold."""
        if condition.rule is not None and not condition.rule.matches(self.parsed_url):
            return False
        return condition.selector is None or condition.selector.shows(self.page.tree, self.page.elements)

    def variant(self, level: PageLevel) -> Variant | None:
        """Return the first variant of a level one of whose conditions holds, None where there is none."""
        return next((variant for variant in level.variants if any(map(self.meets, variant.when))), None)


def is_on_host(url: str, host: str) -> bool:
    """Return whether a canonical URL is on a host, ignoring a leading ``www.``; ``*.`` stands for its subdomains.

    >>> is_on_host("https://www.a.test/x", "a.test"), is_on_host("https://b.a.test/", "*.a.test")
    (True, True)
    """
    own = url.partition("://")[2].partition("/")[0].removeprefix("www.")
    return own.endswith(host[1:]) if host.startswith("*.") else own == host.removeprefix("www.")


def literals_of(page: PageView) -> SourceLiterals:
    """Return what tells which expressions cannot find anything on a page."""
    return SourceLiterals(None if len(page.body) > HEAD + TAIL else _ascii_kept(page).lower())


def _ascii_kept(page: PageView) -> bytes:
    if page.encoding.lower().startswith(("utf-16", "utf_16", "utf-32", "utf_32")):
        return page.body.decode(page.encoding, "replace").encode()
    return page.body


def _is_there(selector: Selector, page: PageView) -> bool:
    try:
        return selector.shows(page.tree, page.elements)
    except etree.XPathError:
        return False


def _values(tree: HtmlElement, tag: str, attribute: str) -> Iterator[str]:
    """Yield an attribute of all elements of a name, lower-case, in document order, lazily."""
    return ((element.get(attribute) or "").lower() for element in tree.iter(tag))


def _generators(tree: HtmlElement) -> Iterator[str]:
    metas = (meta for meta in tree.iter("meta") if (meta.get("name") or "").lower() == "generator")
    return ((meta.get("content") or "").lower() for meta in metas)


def _fits(glob: str, name: str) -> bool:
    return bool(match(translate(glob), name))


class Detector:
    """Detects the applications of one knowledge base; immutable after its construction."""

    def __init__(self, knowledge_base: KnowledgeBase) -> None:
        self._candidates = Candidates(knowledge_base.applications)

    def detect(self, page: PageView) -> Detection:
        """Find the application with the strongest evidence.

        The strongest single pattern decides, then the number of patterns of that strength, then all patterns. Equal
        evidence for two applications is reported, not decided by chance. Patterns that could not change the result are
        not evaluated. Drafts are considered only where no other file claims the page.
        """
        sight = Sight(page)
        candidates = self._candidates.on(sight.front, sight.body)
        drafts = {each: patterns for each, patterns in candidates.items() if each.draft}
        if not drafts:
            return _decided(_Contest(sight, candidates))
        others = {each: patterns for each, patterns in candidates.items() if not each.draft}
        found = _decided(_Contest(sight, others))
        return found if found.application is not None or found.rivals else _decided(_Contest(sight, drafts))


def _decided(contest: "_Contest") -> Detection:
    for strength in sorted(Strength, reverse=True):
        contest.round(strength)
    winners = contest.winners()
    if not winners:
        return Detection()
    if len(winners) > 1:
        return Detection(rivals=tuple(sorted(application.name for application in winners)))
    return Detection(winners[0], tuple(contest.shown[winners[0]]))


class _Contest:
    """The applications that still compete for one page, fewer after each round."""

    def __init__(self, sight: Sight, candidates: Mapping[Application, tuple[Pattern, ...]]) -> None:
        self._sight = sight
        self._candidates = candidates
        self._left = list(candidates)
        self.shown: dict[Application, list[Pattern]] = {application: [] for application in candidates}

    def round(self, strength: Strength) -> None:
        """Keep those with the most patterns of a strength, which must be lower than in the previous round."""
        if len(self._left) == 1 and _suffices(self.shown[self._left[0]]):
            return
        able = {}
        for application in self._left:
            patterns = [pattern for pattern in self._candidates[application] if pattern.strength is strength]
            if patterns:
                able[application] = patterns
        counts = {application: self._count(application, patterns, len(able)) for application, patterns in able.items()}
        most = max(counts.values(), default=0)
        if most:
            self._left = [application for application, count in counts.items() if count == most]

    def _count(self, application: Application, patterns: Iterable[Pattern], able: int) -> int:
        count = 0
        for pattern in patterns:
            if self._sight.shows(pattern):
                self.shown[application].append(pattern)
                count += 1
                if able == 1 and _suffices(self.shown[application]):
                    break
        return count

    def winners(self) -> list[Application]:
        """Return the remaining applications whose evidence is sufficient."""
        return [application for application in self._left if _suffices(self.shown[application])]


def still_holds(page: PageView, evidence: Iterable[Pattern]) -> bool:
    """Return whether a page of a known host matches one of the patterns that identified the host's application."""
    sight = Sight(page)
    return any(sight.shows(pattern) for pattern in evidence if pattern.strength > Strength.HINT)


def _suffices(evidence: Sequence[Pattern]) -> bool:
    return any(pattern.strength > Strength.HINT for pattern in evidence) or len(evidence) > 1


class HostIndex:
    """The site-level applications of a knowledge base; immutable after its construction.

    A look-up costs one step for each label of the host, and none for each site.
    """

    def __init__(self, applications: Iterable[Application] = ()) -> None:
        exact: defaultdict[str, dict[str, Application]] = defaultdict(dict)
        below: defaultdict[str, dict[str, Application]] = defaultdict(dict)
        for application in applications:
            for written in application.hosts:
                host = written.lower()
                if host.startswith("*."):
                    below[host[2:]].setdefault(application.name, application)
                else:
                    exact[host.removeprefix("www.")].setdefault(application.name, application)
        self._exact = {host: tuple(found.values()) for host, found in exact.items()}
        self._below = {host: tuple(found.values()) for host, found in below.items()}

    def of(self, url: str) -> tuple[Application, ...]:
        """Return the applications that describe the host of a canonical URL, those with the longest name first.

        A leading ``www.`` is left aside; a host of ``*.a.test`` stands for everything below ``a.test``, and not for
        ``a.test``.
        """
        if not self._exact and not self._below:
            return ()
        return tuple({application.name: application for application in self._fitting(_host(url))}.values())

    def _fitting(self, host: str) -> Iterator[Application]:
        yield from self._exact.get(host, ())
        _, dot, parent = host.partition(".")
        while dot:
            yield from self._below.get(parent, ())
            _, dot, parent = parent.partition(".")


def _host(url: str) -> str:
    return url.partition("://")[2].partition("/")[0].removeprefix("www.")


Shape = tuple[str, tuple[str, ...]]
"""The path, and for each raw parameter in its order the parts that rules read."""


class Shapes:
    """Computes the shapes of URLs for the rules of one application."""

    def __init__(self, application: Application) -> None:
        rules = tuple(_rules(application))
        self._looks_at_all = any(rule.query is not None for rule in rules)
        wanted = [each for rule in rules for each in rule.present]
        wanted += [(rule.parameter, rule.value) for rule in application.drops.rules if rule.parameter]
        self._looks_at_all |= any("*" in name and value != "*" for name, value in wanted)
        self._valued = frozenset(name for name, value in wanted if value != "*")

    def of(self, url: ParsedUrl) -> Shape | None:
        """Return the shape of a URL; None where the rules have to be applied to the URL itself."""
        if self._looks_at_all or len(url.path) + sum(map(len, url.query)) > LONGEST // 2:
            return None
        return url.path, tuple(map(self.part, url.query))

    def part(self, parameter: str) -> str:
        """Return the parts of a raw parameter that matter to rules: its name, and its value if needed."""
        name, separator, _ = parameter.partition("=")
        is_plain = separator and name not in self._valued and "%" not in name and "+" not in name
        return name + separator if is_plain else parameter


def _rules(application: Application) -> Iterator[UrlRule]:
    for avoid in application.avoid.rules:
        yield avoid.rule
    for drop in application.drops.rules:
        yield drop.where
    for level in application.levels:
        yield from level.addresses
