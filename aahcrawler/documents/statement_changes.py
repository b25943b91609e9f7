"""What two versions of a document say otherwise: statements and rows that were added, removed, and changed.

Statements are compared as wholes, whatever their order. Rows whose cells are known by name can be recognised by a
column whose values name them: then a row is known to be changed, where it would be removed and added.
"""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

Row = Mapping[str, object]
_IDENTIFIER = re.compile(r"(?:^|[^a-z])(?:id|identifier|key|code|uuid|guid|ur[il]|iri|isbn|doi)$", re.IGNORECASE)
_NUMBER = re.compile(r"[+-]?\d+([.,]\d+)*(?:[eE][+-]?\d+)?")


@dataclass(frozen=True, slots=True)
class StatementChanges:
    """The statements that a version adds and removes, each as often as it does, and the rows that it changes.

    ``changed`` are pairs of a row before and after, and ``keys`` the columns that they were recognised by.
    """

    added: Counter[str] = field(default_factory=Counter)
    removed: Counter[str] = field(default_factory=Counter)
    changed: tuple[tuple[str, str], ...] = ()
    keys: tuple[str, ...] = ()

    @property
    def counts(self) -> tuple[int, int, int]:
        """How many were added, removed and changed."""
        return self.added.total(), self.removed.total(), len(self.changed)


def statement_changes(before: Counter[str], now: Counter[str]) -> StatementChanges:
    """Compare two versions of a document, given how often each says what (``DocumentFormat.parts``).

    A column names rows if it stands in all of them, in both versions, filled with values of which none is there twice,
    and more than half of the values of the shorter version are in the other too; of a column called an identifier, such
    as ``id``, one value is enough. Of several such columns, one called an identifier comes first, then those with text,
    then whole numbers, of these the one of whose values most are in both versions, then the first by its place in the
    rows. Decimal numbers are measured and name nothing. Where no column names rows they are added and removed. The time
    is linear in the size of both.
    """
    added, removed = now - before, before - now
    changed: list[tuple[str, str]] = []
    keys: dict[str, None] = {}
    tables = _tables(before), _tables(now)
    for name in sorted(tables[0].keys() & tables[1].keys()) if added and removed else ():
        rows = tables[0][name], tables[1][name]
        key = _key(*rows)
        if key is None:
            continue
        former = {row[key]: part for part, row in rows[0] if part in removed}
        pairs = [(former[row[key]], part) for part, row in rows[1] if part in added and row[key] in former]
        if pairs:
            keys[key] = None
            changed += pairs
    added -= Counter(part for _, part in changed)
    removed -= Counter(part for part, _ in changed)
    return StatementChanges(added, removed, tuple(sorted(changed)), tuple(keys))


def _tables(parts: Iterable[str]) -> Mapping[str, list[tuple[str, Row]]]:
    """Return the rows of each table of a document, by the name of the member that holds it, empty for its only one."""
    found: dict[str, list[tuple[str, Row]]] = defaultdict(list)
    for part in parts:
        if not part.startswith(("{", "[")):
            continue
        match json.loads(part, parse_int=str, parse_float=str):
            case dict() as row:
                found[""].append((part, row))
            case [str() as name, dict() as row]:
                found[name].append((part, row))
    return found


def _key(before: list[tuple[str, Row]], now: list[tuple[str, Row]]) -> str | None:
    """Return the column that names the rows of both versions, None where there is none."""
    columns = set.intersection(*(set(row) for rows in (before, now) for _, row in rows))
    fitting: list[tuple[int, int, int]] = []
    names = list(before[0][1])
    for place, name in enumerate(names):
        values: list[list[object]] = (
            [[row[name] for _, row in rows] for rows in (before, now)] if name in columns else [[None]]
        )
        if all(isinstance(value, str) and value != "" for each in values for value in each):
            distinct = [set(each) for each in values]
            number = len(distinct[0] & distinct[1])
            rank = _rank(name, distinct[0] | distinct[1])
            is_shared = rank is not None and (number > 0 if rank == 0 else 2 * number > min(map(len, distinct)))
            if is_shared and all(len(few) == len(each) for few, each in zip(distinct, values, strict=True)):
                fitting.append((rank or 0, -number, place))
    return names[min(fitting)[2]] if fitting else None


def _rank(column: str, values: Iterable[object]) -> int | None:
    """Return how well a column names rows, 0 best; None for measured values, of which none may stand twice by chance.

    >>> _rank("station_id", ["7"]), _rank("name", ["Oste", "7"]), _rank("year", ["7"]), _rank("level", ["7", "7.5"])
    (0, 1, 2, None)
    """
    if _IDENTIFIER.search(column):
        return 0
    numbers = [_NUMBER.fullmatch(str(value)) for value in values]
    if not all(numbers):
        return 1
    return None if any(each and each[1] for each in numbers) else 2
