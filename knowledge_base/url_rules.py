"""URL rules of the knowledge base: the URLs that an application documents, avoids, and treats as equivalent.

Rules are globs over path segments, query strings and values of query parameters, never free regular expressions, so
that each rule takes time linear in the length of the URL. URLs must be canonical (absolute, serialised http URLs);
fragments are ignored.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property, lru_cache
from urllib.parse import unquote, unquote_plus

LONGEST = 8_192
"""The most characters of a URL; no rule matches a longer one, and it is left unchanged."""


class Reason(StrEnum):
    """Why a URL is not worth a request."""

    LOGIN = "login"
    REGISTER = "register"
    REPLY_FORM = "reply-form"
    EDIT = "edit"
    MODERATION = "moderation"
    PRINT_VIEW = "print-view"
    SORT_ORDER = "sort-order"
    SESSION = "session"
    OLD_REVISION = "old-revision"
    FEED = "feed"
    API = "api"
    SEARCH = "search"
    PROFILE = "profile"
    MEMBER_LIST = "member-list"
    CALENDAR = "calendar"
    DUPLICATE = "duplicate"
    REDIRECT = "redirect"
    ARCHIVE_VIEW = "archive-view"
    HELP = "help"
    STATISTICS = "statistics"
    VOTE = "vote"
    ACTION = "action"


@dataclass(frozen=True)
class ParsedUrl:
    """A parsed canonical URL: ``prefix`` is scheme and host, ``query`` the raw parameters in their order."""

    prefix: str
    path: str
    query: tuple[str, ...] = ()

    @classmethod
    def parse(cls, url: str) -> "ParsedUrl":
        """Parse a canonical URL.

        >>> ParsedUrl.parse("http://a.test/f/viewtopic.php?t=1&start=10#p3")
        ParsedUrl(prefix='http://a.test', path='/f/viewtopic.php', query=('t=1', 'start=10'))
        """
        url = url.partition("#")[0]
        start = url.find("/", url.find("://") + 3)
        if start < 0:
            return cls(url, "/")
        path, _, query = url[start:].partition("?")
        return cls(url[:start], path, tuple(filter(None, query.split("&"))))

    @property
    def url(self) -> str:
        """Return the URL that was parsed, without its fragment."""
        return f"{self.prefix}{self.path}{'?' if self.query else ''}{'&'.join(self.query)}"

    @cached_property
    def segments(self) -> tuple[str, ...]:
        """Path segments, percent-decoded; the last is empty where the path ends with a slash."""
        segments = self.path[1:].split("/")
        return tuple(map(unquote, segments)) if "%" in self.path else tuple(segments)

    @cached_property
    def parameters(self) -> dict[str, str]:
        """The decoded query parameters; for a repeated one, its last value."""
        return dict(_decoded(part) for part in self.query)

    @cached_property
    def is_too_long(self) -> bool:
        """Return whether rules ignore this URL because of its length."""
        return len(self.path) + sum(map(len, self.query)) > LONGEST


def _decoded(parameter: str) -> tuple[str, str]:
    name, _, value = parameter.partition("=")
    return (unquote_plus(name), unquote_plus(value)) if "%" in parameter or "+" in parameter else (name, value)


class PathGlob:
    """A pattern over path segments: ``*`` within a segment, ``**`` for any number of whole segments, ``#`` a number.

    Raises `BadGlobError`.

    >>> [PathGlob("**/viewtopic.php").matches(ParsedUrl("", p)) for p in ("/viewtopic.php", "/f/viewtopic.php", "/x")]
    [True, True, False]
    """

    def __init__(self, source: str) -> None:
        self.source = source
        written = source.lstrip("/").split("/")
        self._parts = tuple(None if part == "**" else glob_test(part) for part in written)
        self._file = None if varies(written[-1]) else numbers_as_one(written[-1])
        self._fixed = frozenset(part for part in written if names_itself(part))
        self._last = self._parts[-1] or _anything
        self._anywhere = self._parts[1] if len(written) == 3 and written[0] == written[2] == "**" else None

    @property
    def fixed(self) -> frozenset[str]:
        """The segments that every matching path has."""
        return self._fixed

    @property
    def file(self) -> str | None:
        """The last segment of every matching path, its numbers replaced by ``#``; None where more of it varies."""
        return self._file

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PathGlob) and other.source == self.source

    def __hash__(self) -> int:
        return hash(self.source)

    def __repr__(self) -> str:
        return f"PathGlob({self.source!r})"

    def matches(self, url: ParsedUrl) -> bool:
        """Return whether the whole path matches."""
        segments, parts = url.segments, self._parts
        if self._anywhere is not None:
            return any(map(self._anywhere, segments))
        if not self._last(segments[-1]) or not self._fixed.issubset(segments):
            return False
        at = part = 0
        retry: tuple[int, int] | None = None
        while at < len(segments):
            fits = parts[part] if part < len(parts) else None
            if part < len(parts) and fits is None:
                retry, part = (part + 1, at), part + 1
            elif fits is not None and fits(segments[at]):
                at, part = at + 1, part + 1
            elif retry is not None:
                part, at = retry[0], retry[1] + 1
                retry = (part, at)
            else:
                return False
        return all(rest is None for rest in parts[part:])


def _anything(_: str) -> bool:
    return True


class QueryGlob:
    """A pattern for the start of a raw query string, for software that writes a path there.

    It is compared part by part, as separated by ``&``; ``*`` and ``#`` stand for something within a part. Raises
    `BadGlobError`.

    >>> QueryGlob("/topic/#-*").rest(("/topic/12-knots/", "page=2"))
    ('page=2',)
    """

    def __init__(self, source: str) -> None:
        self.source = source
        self._parts = tuple(glob_test(part) for part in source.split("&") if part)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, QueryGlob) and other.source == self.source

    def __hash__(self) -> int:
        return hash(self.source)

    def __repr__(self) -> str:
        return f"QueryGlob({self.source!r})"

    def rest(self, query: tuple[str, ...]) -> tuple[str, ...] | None:
        """Return the raw parameters after the part that matches; None where the query does not start with a match."""
        if len(query) < len(self._parts):
            return None
        fits = all(test(raw) for test, raw in zip(self._parts, query, strict=False))
        return query[len(self._parts) :] if fits else None


@dataclass(frozen=True, slots=True)
class UrlRule:
    """A set of URLs: all given conditions must hold.

    ``present`` are parameters (name, glob of the value) that must be there, with ``*`` in the name standing for
    anything; ``absent`` parameters must not be there. With ``allowed``, only these parameters, the present ones and
    those covered by ``query`` may be there.
    """

    path: PathGlob | None = None
    present: tuple[tuple[str, str], ...] = ()
    absent: frozenset[str] = frozenset()
    allowed: frozenset[str] | None = None
    query: QueryGlob | None = None

    def matches(self, url: ParsedUrl) -> bool:
        """Return whether the URL matches."""
        if url.is_too_long or (self.path is not None and not self.path.matches(url)):
            return False
        rest = url.query if self.query is None else self.query.rest(url.query)
        if rest is None:
            return False
        parameters = url.parameters
        if not self.absent.isdisjoint(parameters):
            return False
        if not all(_is_there(name, value, parameters) for name, value in self.present):
            return False
        if self.allowed is None:
            return True
        names = parameters if self.query is None else dict(map(_decoded, rest))
        return all(name in self.allowed or self._requires(name) for name in names)

    def _requires(self, name: str) -> bool:
        return any(name == wanted or ("*" in wanted and glob_test(wanted)(name)) for wanted, _ in self.present)


def _is_there(name: str, glob: str, parameters: Mapping[str, str]) -> bool:
    if "*" not in name:
        return name in parameters and _value_fits(glob, parameters[name])
    test = glob_test(name)
    return any(test(given) and _value_fits(glob, value) for given, value in parameters.items())


def _value_fits(glob: str, value: str) -> bool:
    return glob == "*" or bool(glob_test(glob)(value))


@dataclass(frozen=True, slots=True)
class AvoidRule:
    """URLs that are not fetched, and why."""

    rule: UrlRule
    reason: Reason


class AvoidRules:
    """Finds the first rule, in the order of the file, that matches a URL.

    Rules for other file names and folders, or for parameters that the URL does not have, cost nothing.
    """

    def __init__(self, rules: Iterable[AvoidRule] = ()) -> None:
        self.rules = tuple(rules)
        self._groups: dict[tuple[str | None, str | None], list[tuple[int, AvoidRule]]] = {}
        self._by_segment: dict[str, list[tuple[int, AvoidRule]]] = {}
        for place in enumerate(self.rules):
            rule = place[1].rule
            parameter = next((name for name, _ in rule.present if "*" not in name), None)
            file = rule.path.file if rule.path is not None else None
            if file is None and parameter is None and rule.path is not None and rule.path.fixed:
                self._by_segment.setdefault(min(rule.path.fixed), []).append(place)
            else:
                self._groups.setdefault((file, parameter), []).append(place)

    def first(self, url: ParsedUrl) -> AvoidRule | None:
        """Return the first rule that matches, None where none does."""
        first: tuple[int, AvoidRule | None] = (len(self.rules), None)
        for places in self._candidates(url):
            for place in places:
                if place[0] >= first[0]:
                    break
                if place[1].rule.matches(url):
                    first = place
        return first[1]

    def _candidates(self, url: ParsedUrl) -> Iterator[Sequence[tuple[int, AvoidRule]]]:
        """Yield the groups that may contain a matching rule, each in the order of the file."""
        groups, segments = self._groups, url.segments
        for file in (None, numbers_as_one(segments[-1])):
            for parameter in (None, *url.parameters):
                if (file, parameter) in groups:
                    yield groups[file, parameter]
        for segment in segments:
            if segment in self._by_segment:
                yield self._by_segment[segment]


@dataclass(frozen=True, slots=True)
class DropRule:
    """The parts that can be removed from a URL without changing the page.

    ``parameter`` with ``value`` (a glob) is removed from URLs that match ``where`` and, if ``beside`` is given, have
    that parameter as well. ``file`` is removed from the end of the path when no parameters are left.
    """

    where: UrlRule
    parameter: str = ""
    value: str = "*"
    beside: str = ""
    file: str = ""

    def apply(self, url: ParsedUrl) -> ParsedUrl:
        """Return the URL without the parts that this rule removes; the same URL where it removes none."""
        if self.file:
            return self._without_file(url)
        if self.parameter not in url.parameters or not self.where.matches(url):
            return url
        if self.beside and self.beside not in url.parameters:
            return url
        kept = tuple(part for part in url.query if not self._drops(part))
        return url if len(kept) == len(url.query) else ParsedUrl(url.prefix, url.path, kept)

    def _drops(self, parameter: str) -> bool:
        name, value = _decoded(parameter)
        return name == self.parameter and _value_fits(self.value, value)

    def _without_file(self, url: ParsedUrl) -> ParsedUrl:
        if url.query or not url.path.endswith("/" + self.file):
            return url
        return ParsedUrl(url.prefix, url.path[: -len(self.file)])


@dataclass(frozen=True, slots=True)
class Paging:
    """How the URLs of the pages of one list or thread differ: by a query parameter, or a part of the path.

    In ``part``, ``#`` stands for a number: ``/page/#`` or ``-page-#``; a path written in the query counts as well.
    """

    parameter: str = ""
    part: str = ""

    def strip(self, url: ParsedUrl) -> ParsedUrl:
        """Return the URL of the first page."""
        if self.parameter:
            if self.parameter not in url.parameters:
                return url
            kept = tuple(raw for raw in url.query if _decoded(raw)[0] != self.parameter)
            return ParsedUrl(url.prefix, url.path, kept)
        number = _part_pattern(self.part)
        path = number.sub("", url.path)
        query = tuple(raw if "=" in raw else number.sub("", raw) for raw in url.query)
        if path == url.path and query == url.query:
            return url
        return ParsedUrl(url.prefix, path or "/", tuple(filter(None, query)))

    def number(self, url: ParsedUrl) -> int:
        """Return what a URL says of its place among the pages, counted in pages or entries; 0 where it says nothing.

        >>> Paging(part="-page-#").number(ParsedUrl.parse("http://a.test/t/5-page-12"))
        12
        """
        if self.parameter:
            values = (value for name, value in map(_decoded, url.query) if name == self.parameter)
            found = next((value for value in values if value.isascii() and value.isdigit()), "")
        else:
            number = _part_pattern(self.part)
            texts = (url.path, *(raw for raw in url.query if "=" not in raw))
            match = next(filter(None, map(number.search, texts)), None)
            found = match[1] if match and match.re.groups else ""
        return int(found[:9] or 0)


def _part_pattern(part: str) -> re.Pattern[str]:
    return re.compile(re.escape(part).replace(r"\#", "([0-9]{1,9})", 1).replace(r"\#", "[0-9]{1,9}") + r"(?=[/.]|$)")


def first_page(url: ParsedUrl, paging: Iterable[Paging]) -> ParsedUrl:
    """Return the URL without any of the page numbers."""
    for rule in paging:
        url = rule.strip(url)
    return url


class DropRules:
    """Normalises URLs to the one form shared by all URLs of the same page."""

    def __init__(self, rules: Iterable[DropRule] = ()) -> None:
        self.rules = tuple(rules)
        self._by_parameter: dict[str, list[int]] = {}
        for number, rule in enumerate(self.rules):
            if not rule.file:
                self._by_parameter.setdefault(rule.parameter, []).append(number)
        self._by_file = [number for number, rule in enumerate(self.rules) if rule.file]
        self._files = frozenset(rule.file for rule in self.rules if rule.file)

    def apply(self, url: ParsedUrl) -> ParsedUrl:
        """Apply the rules in their order until none changes anything."""
        if url.is_too_long:
            return url
        for _ in range(len(self.rules) + 1):
            parameters = [name for name in url.parameters if name in self._by_parameter]
            if not parameters and url.segments[-1] not in self._files:
                break
            before = url
            for number in sorted((*self._by_file, *(n for name in parameters for n in self._by_parameter[name]))):
                url = self.rules[number].apply(url)
            if url is before:
                break
        return url


class BadGlobError(ValueError):
    """Raised for a glob that cannot be used; the message says what to write instead."""


_WILD = frozenset("*?[#")
_VARYING = frozenset("*?[")
_NUMBER = re.compile("[0-9]+")
_TOKEN = re.compile(r"\*+|\[!?\]?[^\]]*\]|.", re.DOTALL)
_MAX_GLOBS = 65_536
_BRACKETS = "brackets stand for one of the signs within them, such as [a-f]"


@lru_cache(_MAX_GLOBS)
def glob_test(glob: str) -> Callable[[str], object]:
    """Return a test of whether a whole text matches a glob.

    ``*`` stands for anything, ``?`` for one character, ``[a-f]`` for one of these, ``#`` for a whole number: a run of
    digits of maximal length. A text between two ``*`` is matched at its first occurrence, so that the test takes time
    linear in the length of the text. Raises `BadGlobError`.

    >>> [bool(glob_test("topic-#-*")(text)) for text in ("topic-12-knots", "topic-12x-knots", "topic--knots")]
    [True, False, False]
    """
    if names_itself(glob):
        return glob.__eq__
    if re.search("#[0-9#]|[0-9]#", glob):
        raise BadGlobError(f"# stands for a whole number; take the digit or the other # beside it out of {glob}")
    pieces = [""]
    for token in _TOKEN.findall(glob):
        if token.startswith("*"):
            pieces.append("")
        else:
            pieces[-1] += _sign(token)
    last = f".*{pieces.pop()}" if len(pieces) > 1 else ""
    middle = "".join(f"(?>.*?{piece})" for piece in pieces[1:])
    try:
        return re.compile(f"(?s:{pieces[0]}{middle}{last})\\Z").match
    except re.error as error:
        raise BadGlobError(f"{_BRACKETS}; correct {glob}") from error


def _sign(part: str) -> str:
    """Convert one part of a glob to a regular expression that matches in at most one way."""
    if part == "#":
        return "(?<![0-9])[0-9]++"
    if part == "?":
        return "."
    if len(part) == 1:
        return re.escape(part)
    if "--" in part:
        raise BadGlobError(f"{_BRACKETS}; correct {part}")
    negated = part.startswith("[!")
    inner = re.sub(r"([&~|^\\\[\]])", r"\\\1", part[2 if negated else 1 : -1])
    return f"[{'^' if negated else ''}{inner}]"


def numbers_as_one(text: str) -> str:
    """Replace every number in a text by ``#``; two texts that match the same glob without ``*`` get the same result.

    >>> numbers_as_one("topic-12-page-3.html")
    'topic-#-page-#.html'
    """
    return _NUMBER.sub("#", text)


def varies(glob: str) -> bool:
    """Return whether texts that match the glob can differ in more than their numbers."""
    return not _VARYING.isdisjoint(glob)


def names_itself(glob: str) -> bool:
    """Return whether the glob matches only itself."""
    return _WILD.isdisjoint(glob)
