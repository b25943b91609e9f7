"""Extract the article of a page from the data in its scripts, if the page itself shows none.

Frameworks put the data of a page beside its markup as JSON: ``__NEXT_DATA__`` of Next.js, the state of Apollo or Redux,
``Fusion.globalContent``. The article is the object whose title is the page's; its text is the member of that object
with the most running text: markup, or a list of blocks.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice

from lxml.etree import ParserError
from lxml.html import fragment_fromstring

from aahcrawler.page import Page, claims
from aahcrawler.page.text import bare, excerpt, fold, plain_text
from aahcrawler.page.titles import head_title, parts

MAX_CHARACTERS = 5_000_000
"""How many characters of one page's scripts are read."""

MAX_VALUES = 100_000
"""How many values in the data of one page are examined."""

MAX_DEPTH = 40
"""The depth to which values are examined."""

_RUNNING = 40
_MIN_TITLE_LENGTH = 8
_MAX_TITLE_LENGTH = 500
_TRIED, _FIRST = 10, 10_000
"""The assignments that are tried in a script, and the characters in which they are looked for."""

_ASSIGNED = re.compile(r"=\s{0,10}(?=\{)")
_TITLES = ("headline", "title", "name")
_TEXTS = ("text", "value", "content", "html", "rendered", "body")
"""Names of members with a run of text in a block, as in Slate, Contentful, Arc, Ghost, WordPress."""

_MARKUP = re.compile(r"</?[a-zA-Z][^<>]{0,500}>")

Json = object


def script_text(page: Page, least: int) -> str:
    """Return the text of the article in the data of a page's scripts, one line for each block.

    Empty if no object in it has the page's title and at least ``least`` characters of running text. Bounded; text that
    is not JSON is skipped.
    """
    titles = _titles(page)
    budget = iter(range(MAX_VALUES))
    for data in _data(page) if titles else ():
        for holder in _objects(data, budget):
            if titles.isdisjoint(map(bare, _named(holder))):
                continue
            best = max((_lines(value, budget, 0) for value in holder.values()), key=_size)
            if _size(best) >= least:
                return "\n".join(best)
    return ""


def _titles(page: Page) -> frozenset[str]:
    """Return the names of a page: its titles, their parts and its first-level headings."""
    declared = (head_title(page), claims.meta(page).get("og:title", ""))
    headings = (excerpt(each, _MAX_TITLE_LENGTH) for each in islice(page.tree.iter("h1"), 3))
    names = {bare(each) for each in (*declared, *headings)} | {part for each in declared for part in parts(each)}
    return frozenset(name for name in names if len(name) >= _MIN_TITLE_LENGTH)


def _data(page: Page) -> Iterator[Json]:
    """Yield the values that scripts of a page contain as JSON, or assign to a variable."""
    decoder = json.JSONDecoder()
    left = MAX_CHARACTERS
    for script in page.tree.iter("script"):
        text, kind = script.text or "", (script.get("type") or "").lower()
        if len(text) > left or kind == "application/ld+json":
            continue
        left -= len(text)
        assigned = (found.end() for found in _ASSIGNED.finditer(text, 0, _FIRST))
        for begin in (len(text) - len(text.lstrip()),) if "json" in kind else islice(assigned, _TRIED):
            try:
                yield decoder.raw_decode(text, begin)[0]
            except (ValueError, RecursionError):
                continue
            break


def _objects(data: Json, budget: Iterator[int]) -> Iterator[Mapping[str, Json]]:
    """Yield the objects in a value, in document order."""
    waiting: list[tuple[Json, int]] = [(data, 0)]
    while waiting and next(budget, None) is not None:
        value, depth = waiting.pop()
        if isinstance(value, dict):
            yield value
        inner = [each for each in _members(value) if isinstance(each, dict | list)] if depth < MAX_DEPTH else []
        waiting.extend((each, depth + 1) for each in reversed(inner))


def _members(value: Json) -> Sequence[Json]:
    return tuple(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else ()


def _named(holder: Mapping[str, Json]) -> Iterator[str]:
    """Yield the titles of an object: texts, or texts in an object (``{"rendered": ...}``, ``{"basic": ...}``)."""
    for value in (holder.get(name) or holder.get(f"{name}s") for name in _TITLES):
        for each in value.values() if isinstance(value, dict) else (value,):
            if isinstance(each, str) and len(each) <= _MAX_TITLE_LENGTH:
                yield from _plain(each)[:1]


def _lines(value: Json, budget: Iterator[int], depth: int) -> list[str]:
    """Return the lines of a text: of its markup, or one for each block of a list, without objects with a title."""
    if isinstance(value, str):
        return _plain(value)
    if depth >= MAX_DEPTH or next(budget, None) is None or (isinstance(value, dict) and any(_named(value))):
        return []
    members = _members(value)
    if isinstance(value, dict) and (
        _has_run(value) or any(_has_run(run) for each in members for run in _members(each))
    ):
        return _plain("".join(_runs(value, budget, depth)))
    blocks = members if isinstance(value, list) else [each for each in members if isinstance(each, dict | list)]
    return [line for each in blocks for line in _lines(each, budget, depth + 1)]


def _has_run(value: Json) -> bool:
    """Return whether a value is an object with a run of text."""
    return isinstance(value, dict) and any(isinstance(value.get(name), str) for name in _TEXTS)


def _runs(value: Json, budget: Iterator[int], depth: int) -> Iterator[str]:
    """Yield the runs of text in a block, in order."""
    if depth >= MAX_DEPTH or next(budget, None) is None:
        return
    for name, each in value.items() if isinstance(value, dict) else enumerate(_members(value)):
        if isinstance(each, str):
            yield each if name in _TEXTS else ""
        else:
            yield from _runs(each, budget, depth + 1)


def _plain(text: str) -> list[str]:
    """Return the lines that a text shows; the text may be markup."""
    if _MARKUP.search(text) is None:
        return [line for each in text.split("\n") if (line := fold(each))]
    try:
        return plain_text(fragment_fromstring(text, create_parent="div")).split("\n")
    except (ParserError, ValueError):
        return []


def _size(lines: Iterable[str]) -> int:
    """Return the number of characters in running lines."""
    return sum(len(line) for line in lines if len(line) >= _RUNNING)
