"""Counts what is worse than a gap: values that are read and wrong, and changes that nobody made.

An object is known by its body, as the scorer of the recorded sites knows it.
"""

import json
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

from aahcrawler.objects.versions import compare
from aahcrawler.webobject import Person, Value, WebObject
from benchmarks.recorded import RecordedSite
from benchmarks.results import Cell
from benchmarks.truth import words

AGREEING = 0.9
"""The least F1 of the words of two bodies that are the same."""
FIELDS = ("title", "author", "date")
RAREST = 8


def wrong_values(site: RecordedSite, objects: Iterable[WebObject]) -> dict[str, Cell]:
    """Return for each field the share of found objects that show it and were given another value."""
    rows = _truth(site)
    shown: Counter[str] = Counter()
    wrong: Counter[str] = Counter()
    for row, web_object in _pairs(rows, objects):
        for name in FIELDS:
            if row.get(name) and row.get("shown", {}).get(name):
                shown[name] += 1
                given = web_object.first(name)
                wrong[name] += given is not None and _told(given) != _expected(name, row[name])
    return {f"{name}_wrong": round(wrong[name] / shown[name], 4) if shown[name] else None for name in FIELDS}


def false_changes(pages: Iterable[tuple[Sequence[WebObject], Sequence[WebObject]]]) -> int:
    """Return how many objects count as added, edited or deleted though a redesign alone lies between two readings.

    Each page is given by its objects before and after.
    """
    found = [compare(before, after) for before, after in pages]
    return sum(len(each.added) + len(each.edited) + len(each.deleted) for each in found)


def _truth(site: RecordedSite) -> Sequence[Mapping[str, Any]]:
    with (site.folder / "truth.jsonl").open(encoding="utf-8") as lines:
        return [row for row in map(json.loads, lines) if row["body"]]


def _pairs(
    rows: Sequence[Mapping[str, Any]], objects: Iterable[WebObject]
) -> Iterable[tuple[Mapping[str, Any], WebObject]]:
    """Yield each true object with the one that was found of it."""
    bags = [Counter(words(row["body"])) for row in rows]
    places: defaultdict[str, set[int]] = defaultdict(set)
    for number, bag in enumerate(bags):
        for word in bag:
            places[word].add(number)
    taken: set[int] = set()
    for web_object in objects:
        body = web_object.first("body")
        bag = Counter(words(body)) if isinstance(body, str) else Counter()
        rare = sorted((word for word in bag if word in places), key=lambda word: len(places[word]))[:RAREST]
        near = set().union(*(places[word] for word in rare)) - taken if rare else set()
        fits = [(_agreement(bag, bags[number]), *_beside(rows[number], web_object), -number) for number in near]
        best = max(fits, default=None)
        if best is not None and best[0] >= AGREEING:
            taken.add(-best[-1])
            yield rows[-best[-1]], web_object


def _beside(row: Mapping[str, Any], web_object: WebObject) -> tuple[bool, bool]:
    """Return whether page and author are the same: several people say the same now and then."""
    author = web_object.first("author")
    same_author = isinstance(author, Person) and _folded(author.name) == _folded(row.get("author") or "")
    return urlsplit(row["url"])[2:4] == urlsplit(web_object.source_url)[2:4], same_author


def _agreement(one: Counter[str], other: Counter[str]) -> float:
    return 2 * sum((one & other).values()) / (one.total() + other.total())


def _told(value: Value) -> str:
    match value:
        case Person(name):
            return _folded(name)
        case datetime():
            return str(value.astimezone(UTC).date())
        case _:
            return _folded(str(value))


def _expected(name: str, given: str) -> str:
    return str(datetime.fromisoformat(given).astimezone(UTC).date()) if name == "date" else _folded(given)


def _folded(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).split()).casefold()
