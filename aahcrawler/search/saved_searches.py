"""Searches stored under a name, so that they show what is new since the last look."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pydantic import BaseModel, ConfigDict, ValidationError

from aahcrawler.search.searching import Found, Hit, OpenFolder, Order, Question, Scope, Timed, all_keys, search
from aahcrawler.tombstones import replace_durably

SEARCHES: Final = "searches"
"""The folder of saved searches, within the first of the searched folders."""
MAX_KNOWN: Final = 100_000
"""The most results of a saved search."""
_NAME: Final = re.compile(r"[\w][\w .-]{0,79}")


class SavedSearchError(Exception):
    """Raised for a search that cannot be saved, read or run; the message gives the reason and the remedy."""


class SavedSearch(BaseModel):
    """A saved question. ``seen`` are the numbers of the results at the last look; None before the first."""

    model_config = ConfigDict(frozen=True)

    query: str = ""
    filters: dict[str, tuple[str, ...]] = {}
    since: int | None = None
    until: int | None = None
    timed: Timed = "published"
    scope: Scope = "last"
    order: Order = "relevance"
    seen: tuple[int, ...] | None = None

    @classmethod
    def of(cls, question: Question) -> "SavedSearch":
        """Return a question for saving, without the date as of which it asks, because nothing new could match that."""
        return cls(
            query=question.query,
            filters={name: tuple(values) for name, values in question.filters.items() if values},
            since=question.since,
            until=question.until,
            timed=question.timed,
            scope=question.scope,
            order=question.order,
        )

    def question(self, limit: int) -> Question:
        """Return the question, with at most ``limit`` hits."""
        named = self.model_dump(exclude={"seen"})
        return Question(**named, limit=limit)


def saved_path(folder: Path, name: str) -> Path:
    """Return the file of a saved search. Raises ``SavedSearchError`` for a name that is not allowed for a file."""
    if not _NAME.fullmatch(name) or name.endswith((".", " ")):
        raise SavedSearchError(f"{name!r} cannot be the name of a search: use letters, digits, blanks and - _ . alone")
    return folder / SEARCHES / f"{name}.json"


def read_saved(folder: Path, name: str) -> SavedSearch:
    """Return a saved search. Raises ``SavedSearchError``."""
    path = saved_path(folder, name)
    try:
        return SavedSearch.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        known = ", ".join(sorted(each.stem for each in path.parent.glob("*.json"))) or "none"
        raise SavedSearchError(f"{folder}: no search is saved as {name}; there are: {known}") from None
    except (OSError, ValidationError) as error:
        raise SavedSearchError(f"{path}: cannot be read ({type(error).__name__}); save the search again") from error


def write_saved(folder: Path, name: str, saved: SavedSearch) -> None:
    """Save a search, replacing one of the same name. Raises ``SavedSearchError`` and ``OSError``."""
    path = saved_path(folder, name)
    path.parent.mkdir(exist_ok=True)
    replace_durably(path, saved.model_dump_json().encode())


@dataclass(frozen=True, slots=True)
class News:
    """What a saved search finds: ``found`` is everything, ``number`` of it is new, and ``hits`` of these are shown.

    ``saved`` is the search after this look: what is shown, and what is folded into it, is no longer new.
    """

    found: Found
    number: int
    hits: tuple[Hit, ...]
    saved: SavedSearch


def news(folders: Sequence[OpenFolder], saved: SavedSearch, limit: int) -> News:
    """Return what a saved search finds, and which of it was not shown at an earlier look.

    Raises ``SavedSearchError`` if there are more results than can be saved.
    """
    question = saved.question(limit)
    keys = _keys(folders, question)
    known = keys.intersection(saved.seen or ())
    new = keys - known
    found = search(folders, question, only=new) if new else None
    hits = () if found is None else found.hits
    seen = keys
    if found is not None and found.has_more:
        seen = known | {hit.key for hit in hits}
    return News(search(folders, question), len(new), hits, saved.model_copy(update={"seen": tuple(sorted(seen))}))


def looked_at(folders: Sequence[OpenFolder], saved: SavedSearch) -> SavedSearch:
    """Return a search that regards all it finds now as seen. Raises as ``news`` does."""
    return saved.model_copy(update={"seen": tuple(sorted(_keys(folders, saved.question(1))))})


def _keys(folders: Sequence[OpenFolder], question: Question) -> frozenset[int]:
    keys = all_keys(folders, question, MAX_KNOWN)
    if len(keys) > MAX_KNOWN:
        raise SavedSearchError(f"the search has more than {MAX_KNOWN:,} results; narrow it")
    return frozenset(keys)
