"""Find the dates in the attributes of elements, which are exact where the text is for people."""

import re
from collections.abc import Iterator
from functools import lru_cache

from lxml.etree import _Element as Element

LONGEST = 80
"""The most characters of an attribute that holds a date and nothing else."""

_PLAIN = ("title", "content")
"""Attributes in which a bare number is that of an article, an order or a telephone."""

_OF_TIME = re.compile(
    r"data-(?:[a-z]+-)*?(?:u?time|timestamp|unixtime|date|datetime|epoch|ts|livestamp|created|posted|published)(?:-[a-z]+)*"
)
_OF_OTHERS = re.compile(
    r"updat|modif|edit|chang|expir|until|end|start|begin|now|server|current|zone|format|joined|regist|dur"
)
"""What the name of an attribute has that tells of another moment, or of none."""


@lru_cache(maxsize=1_000)
def _is_of_time(name: str) -> bool:
    return name == "datetime" or (_OF_TIME.fullmatch(name) is not None and _OF_OTHERS.search(name) is None)


def date_attributes(element: Element) -> Iterator[tuple[str, str]]:
    """Yield the names and values of attributes that may hold a date, those made for machines first.

    Seconds and milliseconds since 1970 have as many digits as ``dates`` knows.
    """
    given = element.attrib
    if not given:
        return
    for name in given:
        if isinstance(name, str) and name[:4] in ("data", "date") and _is_of_time(name):
            value = given[name].strip()
            if _may_be_date(value):
                yield name, f"0{value}" if value.isdecimal() and len(value) in (9, 12) else value
    for name in _PLAIN:
        plain = given.get(name)
        if plain and _may_be_date(plain) and not plain.strip().isdecimal():
            yield name, plain


def _may_be_date(value: str) -> bool:
    return 6 <= len(value) <= LONGEST and any(map(str.isdigit, value))
