"""Derives the features of a link, numbered: words, steps of the URL, places.

A feature is a group and a name, hashed into a fixed number of columns, so that a model of them has a fixed size and
the same names have the same column in every process.
"""

import re
from collections.abc import Iterable
from functools import lru_cache
from urllib.parse import parse_qsl, unquote
from zlib import crc32

from online_analysis.terms import tokenize
from online_analysis.url_parts import split

COLUMNS = 1 << 20
"""The number of columns: so many that two features of one crawl seldom share one."""

Columns = tuple[int, ...]

_CACHED = 20_000
LONGEST_TEXT = 300
"""The characters of a title, and of the text around a link, that are looked at."""
_MOST_WORDS = 40
_MOST_STEPS = 8
_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])")
_NUMBER = re.compile(r"\d+")


def column(group: str, name: str) -> int:
    """Return the column of a feature.

    >>> column("word", "solar") == column("word", "solar") != column("step", "solar")
    True
    """
    return crc32(f"{group}\n{name}".encode("utf-8", "surrogatepass")) % COLUMNS


@lru_cache(_CACHED)
def text_words(text: str) -> Columns:
    """Return the columns of the different words of the text around a link, of the first forty; numbers are one word."""
    return _words("text", text)


@lru_cache(_CACHED)
def title_words(title: str) -> Columns:
    """Return the columns of the different words of the title of a page that links."""
    return _words("title", title)


def url_words(url: str) -> Columns:
    """Return the columns of the different words of a URL, its host left out."""
    _, path, query = split(url)
    text = unquote(f"{path} {query}", errors="replace") if "%" in url else f"{path} {query}"
    return _words("address", text.replace("_", " "))


def url_steps(url: str) -> Columns:
    """Return the columns of a URL's location: its host, each folder on its path, and the shape of the remainder.

    The shape is the last step with its digits as one, and the names in the query: ``viewtopic.php?f&t``.
    """
    host, path, query = split(url)
    folders, _, last = path.rpartition("/")
    shape = f"{host}//{_NUMBER.sub('0', last)}?{_names(query) if query else ''}"
    return _distinct((*_folders(host, folders), column("step", shape)))


@lru_cache(_CACHED)
def _folders(host: str, path: str) -> Columns:
    """Return the columns of a host, and of each folder on a path."""
    folders = path.split("/")[1:]
    steps = [host, ".".join(host.split(".")[-2:])]
    steps += [f"{host}/{'/'.join(folders[:n])}" for n in range(1, min(len(folders), _MOST_STEPS) + 1)]
    return tuple([column("step", step) for step in steps])


def _names(query: str) -> str:
    """Return the names of parameters, in order."""
    if "%" in query or "+" in query:
        names = {name for name, _ in parse_qsl(query, keep_blank_values=True)}
    else:
        names = {parameter.partition("=")[0] for parameter in query.split("&") if parameter}
    return "&".join(sorted(names))


def _words(group: str, text: str) -> Columns:
    return _distinct([_word(group, word) for word in tokenize(_HUMP.sub(" ", text[:LONGEST_TEXT]))])


@lru_cache(_CACHED)
def _word(group: str, word: str) -> int:
    return column(group, _NUMBER.sub("0", word))


def _distinct(columns: Iterable[int]) -> Columns:
    return tuple(dict.fromkeys(columns))[:_MOST_WORDS]
