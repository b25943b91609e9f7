"""Patterns of similar URLs: software generates URLs that differ in numbers, names and parameter values.

Budgets are kept for patterns of URLs, since an endless part of a site has endlessly many URLs but few patterns. A
pattern is just abstract enough for that: ``/wiki/X`` is one pattern for all X.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

MAX_WORD_LENGTH = 24
"""Characters of a segment, or of the name of a parameter, beyond which it is a value."""
MAX_DIRECTORIES = 6
"""The most directories of a path that have a family of their own."""
MAX_VALUE_LENGTH = 200
"""Characters of a parameter's value that are looked at."""
MAX_NAMES = 24
"""The most parameters that tell patterns apart."""

_DISPATCH = frozenset(
    ("act", "action", "area", "cmd", "code", "controller", "do", "func", "function", "m", "mod", "mode", "module", "op")
).union(("option", "route", "sa", "section", "tab", "task", "type", "view"))
"""Parameters by which software chooses the script to run; each of their values is a script of its own."""
_SCRIPTS = frozenset(("asp", "aspx", "cfm", "cgi", "dll", "do", "exe", "fcgi", "jsp", "php", "phtml", "pl", "py"))
_WORD = re.compile(r"[a-z][a-z_]{0,15}")
_DIRECTORY = re.compile(r"[a-z~][a-z_~]*(?:[-.][a-z_]+)?", re.IGNORECASE)
_FILE = re.compile(r"(.+)\.([a-z]{2,6})", re.IGNORECASE)
_NUMBERED = re.compile(r"([a-z]{0,12}[-_.]?)[0-9]+(?:[-_.:,][0-9]+)*", re.IGNORECASE)
_DIGEST = re.compile(r"[0-9a-f-]{16,}|(?=[0-9]*[a-f])(?=[a-f]*[0-9])[0-9a-f]{8,15}", re.IGNORECASE)
_NUMBER_LAST = re.compile(r".*?([-_.]?)[0-9]+", re.DOTALL)
_NUMBER_FIRST = re.compile(r"[0-9]+([-_.]).*", re.DOTALL)
_INDEX = re.compile(r"[0-9]+|(?<=\[)[^\]]+")
_SEPARATOR = re.compile("[&;]")


@dataclass(frozen=True, slots=True)
class UrlPattern:
    """The pattern of a URL: ``shape`` is that of the whole URL, ``families`` are wider and wider patterns around it.

    The families of a URL are its directories, the widest first. A URL with a query is also in the family of its path
    with any query, and in that of the script's action that its query names. ``detail`` also distinguishes the values of
    parameters, by their shapes, and path segments behind a number: ``/comment/7/history``.
    """

    shape: str
    families: tuple[str, ...]
    detail: str


@lru_cache(maxsize=16_384)
def pattern_of(url: str) -> UrlPattern:
    """Return the pattern of a canonical URL, which is the same for other numbers and another order of parameters.

    >>> pattern_of("http://a.test/threads/knots-for-beginners.17/page-3").shape
    'a.test/threads/*.#/page-#'
    >>> pattern_of("http://a.test/shop/list.php?size=l&do=find&colour=red").shape
    'a.test/shop/list.php?do=find&colour&size'
    >>> pattern_of("http://a.test/2024/05/a-walk/").families
    ('a.test/**', 'a.test/#/**', 'a.test/#/#/**')
    >>> pattern_of("http://a.test/index.php?topic=7.msg12").detail
    'a.test/index.php?topic=#.*'
    """
    host, _, rest = url.partition("://")[2].partition("/")
    path, _, query = rest.partition("?")
    *above, last = path.removesuffix("/").split("/")
    directories = [host, *map(_directory, above)]
    slash = "/" if path.endswith("/") else ""
    shape = f"{'/'.join(directories)}/{_last(last, asked=query != '')}{slash}"
    families = [
        "/".join((*directories[:depth], "**")) for depth in range(1, min(len(directories), MAX_DIRECTORIES) + 1)
    ]
    deed = last if directories[-1].endswith("#") and _WORD.fullmatch(last) else ""
    if not query:
        return UrlPattern(shape, tuple(families), f"{'/'.join((*directories, deed))}{slash}" if deed else shape)
    done, names = _asked(query)
    families.append(f"{shape}?**")
    if done:
        families.append(f"{shape}?{'&'.join(done)}&**")
    return UrlPattern(
        f"{shape}?{'&'.join((*done, *names))}", tuple(families), f"{shape}?{'&'.join((*done, *_valued(query, done)))}"
    )


def names_page(url: str) -> bool:
    """Return whether a canonical URL without a query names a page, and not a directory or a script.

    >>> names_page("http://a.test/ticket/7"), names_page("http://a.test/index.php"), names_page("http://a.test/shop/")
    (True, False, False)
    """
    last = url.rpartition("/")[2]
    return last != "" and last.rpartition(".")[2].lower() not in _SCRIPTS


def telling_words(url: str) -> Sequence[str]:
    """Return what distinguishes a URL's pattern from others: its parameter names, else its last fixed segment.

    >>> telling_words("http://a.test/list/knots/message/4TQW/"), telling_words("http://a.test/log?from=2&n=7")
    (['message'], ['from=', 'n='])
    """
    path, _, query = url.partition("://")[2].partition("?")
    if query:
        names = (parameter.partition("=") for parameter in _SEPARATOR.split(query, maxsplit=MAX_NAMES)[:MAX_NAMES])
        return [f"{name}{mark}".lower() for name, mark, _ in names if mark]
    fixed = [each for each in path.split("/")[1:] if _WORD.fullmatch(each.partition(".")[0])]
    return [each.lower() for each in fixed[-1:]]


def _directory(segment: str) -> str:
    if len(segment) <= MAX_WORD_LENGTH and _DIRECTORY.fullmatch(segment):
        return segment
    return _value(segment)


def _last(segment: str, *, asked: bool) -> str:
    """Return the shape of the last segment; with a query (``asked``), it counts as a script whatever its name."""
    file = _FILE.fullmatch(segment)
    stem, ending = (file[1], f".{file[2].lower()}") if file else (segment, "")
    is_script = ending[1:] in _SCRIPTS or (asked and not ending)
    if is_script and len(stem) <= MAX_WORD_LENGTH and (_WORD if asked and not ending else _DIRECTORY).fullmatch(stem):
        return stem + ending
    return _value(stem) + ending


def _value(text: str) -> str:
    if not text or text.isdigit():
        return text and "#"
    if _DIGEST.fullmatch(text) and not text.replace("-", "").isdigit():
        return "*"
    if found := _NUMBERED.fullmatch(text):
        return f"{found[1]}#"
    if found := _NUMBER_FIRST.fullmatch(text):
        return f"#{found[1]}*"
    if found := _NUMBER_LAST.fullmatch(text):
        return f"*{found[1]}#" if found[1] else "*"
    return "*"


def _asked(query: str) -> tuple[list[str], list[str]]:
    """Return the actions that a query names, and the names of its other parameters, each in order."""
    done: set[str] = set()
    names: set[str] = set()
    for parameter in _SEPARATOR.split(query, maxsplit=MAX_NAMES)[:MAX_NAMES]:
        name, mark, value = parameter.partition("=")
        if name in _DISPATCH and _WORD.fullmatch(value):
            done.add(parameter)
        elif mark:
            name = _INDEX.sub("#", name)
            names.add(name if len(name) <= MAX_WORD_LENGTH else "*")
        elif parameter:
            names.add("/".join(_pieces(parameter)))
    return sorted(done), sorted(names)


def _valued(query: str, done: Sequence[str]) -> list[str]:
    """Return the parameters of a query with the shapes of their values, leaving out the actions."""
    found = {
        f"{_INDEX.sub('#', name) if len(name) <= MAX_WORD_LENGTH else '*'}{mark}{_value(value[:MAX_VALUE_LENGTH])}"
        for parameter in _SEPARATOR.split(query, maxsplit=MAX_NAMES)[:MAX_NAMES]
        if parameter and parameter not in done
        for name, mark, value in (parameter.partition("="),)
    }
    return sorted(found)


def _pieces(path: str) -> Iterator[str]:
    """Yield the shapes of path segments written behind the question mark."""
    for segment in path.split("/", MAX_DIRECTORIES)[:MAX_DIRECTORIES]:
        yield segment if _WORD.fullmatch(segment) else _value(segment)
