"""Comparisons of two readings of a page: what a crawl recorded, and what a knowledge base reads now."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from pydantic import BaseModel, ConfigDict

from aahcrawler.editor.pages.saved_pages import ObjectRow, object_row
from aahcrawler.editor.pages.trial import partners
from aahcrawler.helper import Assistance, Failure
from aahcrawler.helper.assistance import READ
from aahcrawler.metadata import LinkType, Metadata

MAX_OBJECTS: Final = 50
MAX_LINKS: Final = 50
"""Objects and links of a page of which it is told what would change; all are counted."""
MAX_SHOWN_LENGTH: Final = 240
"""Characters of a value that are shown, beginning shortly before the place where two differ."""
_BEFORE = 40
_NAMES = ("type", "title", "author", "date", "body", "part_of", "parent")
_WEIGHTS: Mapping[str, float] = {"lost": 5.0, "changed": 2.0, "gained": 1.0}
_LEVEL_WEIGHT, _LOST_LINK_WEIGHT, _LINK_WEIGHT, _PROBLEM_WEIGHT = 10.0, 0.5, 0.1, 20.0


class TrialFinding(BaseModel):
    """The base of a trial's reports; immutable."""

    model_config = ConfigDict(frozen=True)


class FieldChanged(TrialFinding):
    """A field of an object before and after; None where it has no value. Long values are cut around what differs."""

    name: str
    before: str | None
    after: str | None


class ObjectChanged(TrialFinding):
    """An object that would be gained, lost or read differently; ``title`` is the beginning of its title or text."""

    change: Literal["gained", "lost", "changed"]
    iri: str
    type: str
    title: str = ""
    fields: tuple[FieldChanged, ...] = ()


class Recognised(TrialFinding):
    """What a page is taken for; empty where it is of no known application or level."""

    application: str = ""
    level: str = ""
    objects: int = 0
    links: int = 0


class LinkRefused(TrialFinding):
    """A link that would be refused from now on, and the reason."""

    url: str
    reason: str


class PageChanged(TrialFinding):
    """What would change on a page.

    ``gained``, ``lost`` and ``changed`` count all objects; ``objects`` are the first ones. ``followed`` are links that
    would be followed newly, ``left`` those no longer followed, and ``refused`` those among the latter that a rule
    refuses; ``links_followed`` and ``links_left`` count all of them. ``problem`` says why the page could not be read,
    and is usually empty. ``weight`` is higher for more important changes.
    """

    kind: Literal["page"] = "page"
    url: str
    before: Recognised = Recognised()
    after: Recognised = Recognised()
    gained: int = 0
    lost: int = 0
    changed: int = 0
    objects: tuple[ObjectChanged, ...] = ()
    followed: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    refused: tuple[LinkRefused, ...] = ()
    links_followed: int = 0
    links_left: int = 0
    problem: str = ""
    weight: float = 0.0


@dataclass(frozen=True, slots=True)
class PageReading:
    """The application, level, objects and links of a page; ``refused`` are links with the reasons against them."""

    application: str
    level: str
    objects: tuple[ObjectRow, ...]
    links: frozenset[str]
    refused: Mapping[str, str]
    problem: str = ""

    @classmethod
    def recorded(cls, metadata: Metadata) -> "PageReading":
        """Return what a crawl recorded of a page; it does not record what it refused."""
        links = frozenset(link.url for link in metadata.links if link.type is LinkType.PAGE)
        objects = tuple(object_row(each, computed=False) for each in metadata.objects)
        return cls(metadata.application or "", metadata.level or "", objects, links, {})

    @classmethod
    def of(cls, assistance: Assistance) -> "PageReading":
        """Return what a knowledge base made of a page."""
        match = assistance.match
        whole = (each for each in assistance.failed_actions if each.action == READ and match is None)
        given_up = next((each.detail for each in whole if each.failure is Failure.SLOW), "")
        return cls(
            match.application.name if match else "",
            match.level.name if match and match.level else "",
            tuple(object_row(each, computed=False) for each in assistance.objects),
            frozenset(link.url for link in assistance.document.outlinks),
            {each.url: each.reason.value for each in assistance.refused},
            given_up,
        )

    @property
    def recognised(self) -> Recognised:
        """What the page is taken for, with the numbers of objects and links."""
        return Recognised(
            application=self.application, level=self.level, objects=len(self.objects), links=len(self.links)
        )


def compared(url: str, before: PageReading, after: PageReading) -> PageChanged | None:
    """Return what differs between two readings of a page, None where nothing does."""
    objects = sorted(_objects(before.objects, after.objects), key=lambda each: -_WEIGHTS[each.change])
    followed = sorted(after.links - before.links)
    left = sorted(before.links - after.links)
    is_same_place = (before.application, before.level) == (after.application, after.level)
    if is_same_place and not (objects or followed or left or after.problem):
        return None
    counts = {change: sum(each.change == change for each in objects) for change in _WEIGHTS}
    refused = tuple(LinkRefused(url=each, reason=after.refused[each]) for each in left if each in after.refused)
    return PageChanged(
        url=url,
        before=before.recognised,
        after=after.recognised,
        gained=counts["gained"],
        lost=counts["lost"],
        changed=counts["changed"],
        objects=tuple(objects[:MAX_OBJECTS]),
        followed=tuple(followed[:MAX_LINKS]),
        left=tuple(left[:MAX_LINKS]),
        refused=refused[:MAX_LINKS],
        links_followed=len(followed),
        links_left=len(left),
        problem=after.problem,
        weight=_weight(counts, len(followed), len(left), moved=not is_same_place, failed=bool(after.problem)),
    )


def unreadable(url: str, problem: str) -> PageChanged:
    """Return what is told of a page that cannot be read again."""
    return PageChanged(url=url, problem=problem, weight=_PROBLEM_WEIGHT)


def _weight(counts: Mapping[str, int], followed: int, left: int, *, moved: bool, failed: bool) -> float:
    weight = sum(_WEIGHTS[change] * number for change, number in counts.items())
    weight += _LEVEL_WEIGHT * moved + _PROBLEM_WEIGHT * failed
    return weight + _LOST_LINK_WEIGHT * left + _LINK_WEIGHT * followed


def _objects(before: Sequence[ObjectRow], after: Sequence[ObjectRow]) -> Iterator[ObjectChanged]:
    pairs = partners(before, after)
    taken = {row.iri for row in pairs.values()}
    for row in before:
        partner = pairs.get(row.iri)
        if partner is None:
            yield ObjectChanged(change="lost", iri=row.iri, type=row.type, title=_glimpse(row))
        elif fields := tuple(_fields(row, partner)):
            yield ObjectChanged(change="changed", iri=row.iri, type=row.type, title=_glimpse(row), fields=fields)
    for row in after:
        if row.iri not in taken:
            yield ObjectChanged(change="gained", iri=row.iri, type=row.type, title=_glimpse(row))


def _fields(before: ObjectRow, after: ObjectRow) -> Iterator[FieldChanged]:
    pairs = [(name, getattr(before, name), getattr(after, name)) for name in ("iri", *_NAMES)]
    others = sorted({*before.more, *after.more})
    pairs += [(name, _joined(before, name), _joined(after, name)) for name in others]
    for name, old, new in pairs:
        if old != new:
            yield FieldChanged(name=name, before=_cut(old, new), after=_cut(new, old))


def _joined(row: ObjectRow, name: str) -> str | None:
    return "; ".join(row.more[name]) if name in row.more else None


def _cut(value: str | None, other: str | None) -> str | None:
    """Return a value from shortly before the place where it parts from another one.

    >>> _cut("a" * 100 + "b" * 500, "a" * 100)[:50]
    '...aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaabbbbbbb'
    """
    if value is None:
        return None
    pairs = enumerate(zip(value, other or "", strict=False))
    parting = next((at for at, (own, its) in pairs if own != its), min(len(value), len(other or "")))
    start = max(0, parting - _BEFORE) if other is not None and len(value) > MAX_SHOWN_LENGTH else 0
    piece = value[start : start + MAX_SHOWN_LENGTH]
    return f"{'...' if start else ''}{piece}{'...' if len(value) > start + MAX_SHOWN_LENGTH else ''}"


def _glimpse(row: ObjectRow) -> str:
    words = " ".join((row.title or row.body or "").split())
    return words[:100]
