"""The form of URLs: URLs that look like traps by it, and patterns of URLs that software generates alike.

Budgets apply to patterns of URLs, because an endless part of a site has endlessly many URLs but few patterns. A pattern
is just abstract enough for that: ``/wiki/X`` is one pattern for all X.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from aahcrawler.tallies import CountedName


class Trap(CountedName):
    """The reasons for which a link is not followed, or a queued page not fetched. Refusals are counted by reason."""

    REPEATING = "repeating", "parts of the path repeat"
    """Parts of its path repeat: ``/a/b/a/b/a/b/``."""
    SEGMENTS = "segments", "the path has too many parts"
    """Its path has more segments than ``traps.segments``."""
    PARAMETERS = "parameters", "the URL has too many parameters"
    """Its query has more parameters than ``traps.parameters``."""
    NOVELTY = "novelty", "pages like these brought nothing new"
    """Pages with URLs like this one have brought nothing new for too long."""
    BARREN = "barren", "pages like these led to no content"
    """Pages with URLs like this one have led to no object and no link, but to logins, copies, errors or forms."""
    REPEATED = "repeated", "pages like these show only what other pages show"
    """Pages with URLs like this one have shown only objects that other pages show."""
    COPY = "copy", "the same page without a part of the URL that changes nothing"
    """The same page is known under this URL without a part that was found to change nothing."""
    SESSION = "session", "known pages under another session"
    """The same page is known under another session id, of a kind that was detected."""
    NEAR_DUPLICATE = "near_duplicate", "on a copy of another page"
    """The link is on a page with the same content as another page of the site."""
    SOFT_404 = "soft_404", "on a page that says that it is not there"
    """The link is on a page that reports, with status 200, that there is no such page."""


SAME = 4
"""The most times that one segment with a letter may occur anywhere in a path before the path counts as repeating."""


def misshapen(url: str, *, repeats: int, segments: int, parameters: int) -> Trap | None:
    """Return the reason why a canonical URL looks like a trap; None if it does not. A limit of 0 is no limit.

    A path is repeating if a sequence of segments occurs more than ``repeats`` times in a row, or one segment more than
    ``SAME`` times in all: relative links that are resolved against an error page make such paths. Heritrix has the same
    rules (``PathologicalPathDecideRule``, ``TooManyPathSegmentsDecideRule``). Sequences of digits alone are dates and
    numbers of files, and may repeat. ``parameters`` limits the parts between ``&`` and ``;`` in the query.

    >>> misshapen("http://a.test/a/b/a/b/a/b/", repeats=2, segments=20, parameters=20)
    <Trap.REPEATING: 'repeating'>
    """
    path, _, query = url.partition("?")
    parts = path.split("/")[3:]
    if segments and len(parts) > segments:
        return Trap.SEGMENTS
    if parameters and query and query.count("&") + query.count(";") >= parameters:
        return Trap.PARAMETERS
    if repeats and len(parts) > repeats and len(set(parts)) < len(parts) and _repeats(parts, repeats):
        return Trap.REPEATING
    return None


def _repeats(parts: Sequence[str], repeats: int) -> bool:
    worded = [part for part in parts if part and not part.isdigit()]
    if any(worded.count(part) > SAME for part in set(worded)):
        return True
    return any(_longest_run(parts, length) >= repeats * length for length in range(1, len(parts) // (repeats + 1) + 1))


def _longest_run(parts: Sequence[str], length: int) -> int:
    """Return the longest run of segments, one of them with a letter, that equal those ``length`` before them."""
    longest = run = letters = 0
    for before, part in zip(parts, parts[length:], strict=False):
        same = before == part and part != ""
        run = run + 1 if same else 0
        letters = letters + (not part.isdigit()) if same else 0
        if letters:
            longest = max(longest, run)
    return longest


MAX_WORD_LENGTH = 24
"""A longer segment, or name of a parameter, counts as a value."""
MAX_DIRECTORIES = 6
"""The most directories of a path that have a family of their own."""
MAX_VALUE_LENGTH = 200
"""How many characters of a parameter's value are considered."""
MAX_NAMES = 24
"""How many parameters distinguish patterns."""

_DISPATCH = frozenset(
    ("act", "action", "area", "cmd", "code", "controller", "do", "func", "function", "m", "mod", "mode", "module", "op")
).union(("option", "route", "sa", "section", "tab", "task", "type", "view"))
"""Parameters by which software chooses the script to run; each of their values counts as a script of its own."""
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
    with any query, and in that of the script's action that its query names. ``detail`` also distinguishes the shapes of
    parameter values, and path segments behind a number: ``/comment/7/history``.
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
    """Return whether a canonical URL without a query names a page, rather than a directory or a script.

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
    """Return the parameters of a query with the shapes of their values, without the actions."""
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
