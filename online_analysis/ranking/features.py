"""What a link shows of the page behind it, as numbered features: words, steps of the address, places.

A feature is a group and a name, hashed into a fixed number of columns, so that a model of them has a fixed size and
the same names have the same column in every process.
"""

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from itertools import islice
from urllib.parse import parse_qsl, unquote, urlsplit
from zlib import crc32

from online_analysis.terms import tokenize

COLUMNS = 1 << 20
"""How many columns there are: so many that two features of one crawl seldom share one."""

Columns = tuple[int, ...]

_CACHED = 20_000
_LONGEST_TEXT = 300
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
def anchor_words(text: str) -> Mapping[int, None]:
    """Return the columns of the different words of an anchor, of the first forty; numbers are one word."""
    return dict.fromkeys(_words("anchor", text))


def address_words(url: str) -> Columns:
    """Return the columns of the different words of an address, its host left out."""
    parts = urlsplit(url)
    text = unquote(f"{parts.path} {parts.query}", errors="replace") if "%" in url else f"{parts.path} {parts.query}"
    return _words("address", text.replace("_", " "))


def address_steps(url: str) -> Columns:
    """Return the columns of where an address is: its host, each folder on the way, and the shape of what is left.

    The shape is the last step with its digits as one, and the names in the query: ``viewtopic.php?f&t``.
    """
    parts = urlsplit(url)
    host = parts.hostname or ""
    steps = [host, ".".join(host.split(".")[-2:])]
    folders = parts.path.split("/")[1:-1]
    steps += [f"{host}/{'/'.join(folders[:n])}" for n in range(1, min(len(folders), _MOST_STEPS) + 1)]
    names = (
        "&".join(sorted({name for name, _ in parse_qsl(parts.query, keep_blank_values=True)})) if parts.query else ""
    )
    shape = f"{host}//{_NUMBER.sub('0', parts.path.rpartition('/')[2])}?{names}"
    return _distinct(column("step", step) for step in (*steps, shape))


def _words(group: str, text: str) -> Columns:
    return _distinct(_word(group, word) for word in tokenize(_HUMP.sub(" ", text[:_LONGEST_TEXT])))


@lru_cache(_CACHED)
def _word(group: str, word: str) -> int:
    return column(group, _NUMBER.sub("0", word))


def _distinct(columns: Iterable[int]) -> Columns:
    return tuple(islice(dict.fromkeys(columns), _MOST_WORDS))
