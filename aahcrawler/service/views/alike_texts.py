"""Groups of texts in a crawl that are near duplicates, or about the same, each with the reason."""

from collections.abc import Iterator, Mapping
from typing import Final
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict

from aahcrawler.annotations import Annotation, Annotations
from aahcrawler.annotations import Kind as About
from aahcrawler.service.views.spoken_of import NOT_SPOKEN_OF, Enriched
from aahcrawler.service.web.problems import ProblemError

ALIKE: Final = (About.CLUSTER, About.RELATED)
"""Near duplicates, and texts that are about the same in whichever words."""
MAX_GROUPS: Final = 100
"""Groups of a kind that are listed, the largest first."""
MAX_TEXTS: Final = 200
"""Texts of a group that are listed, the first published first."""
BESIDE: Final = 5
"""Texts that are shown beside one of their group."""


class AlikeText(BaseModel):
    """A text of a group: how it begins, and how like it is to the text of the group that was captured first.

    ``likeness`` is the share of stretches of three words in common, or the cosine of vectors; 1 is of the first itself.
    """

    model_config = ConfigDict(frozen=True)

    object: str
    record: str
    site: str
    published: str
    opening: str
    likeness: float


class AlikeGroup(BaseModel):
    """Texts that are alike: ``of`` is the IRI of their group, ``objects`` counts all, ``sites`` all their hosts."""

    model_config = ConfigDict(frozen=True)

    kind: About
    of: str
    label: str
    objects: int
    sites: tuple[str, ...]
    first: str
    last: str
    texts: tuple[AlikeText, ...]


class AlikeListed(BaseModel):
    """A group as it is listed."""

    model_config = ConfigDict(frozen=True)

    kind: About
    of: str
    label: str
    objects: int


def alike_listed(found: Annotations, kind: About) -> tuple[tuple[AlikeListed, ...], int]:
    """Return the largest groups of a kind, and how many there are."""
    ranked, total = found.ranked(kind, MAX_GROUPS)
    return tuple(AlikeListed(kind=kind, of=e.meant, label=e.label, objects=e.objects) for e in ranked), total


def alike_group(enriched: Enriched, kind: About, of: str) -> AlikeGroup:
    """Return a group with its first texts by publication. Raise ``ProblemError`` where there is none."""
    return _group(kind, of, [*enriched.annotations.of_meant(kind, of)], _Dates(enriched), MAX_TEXTS)


def alike_beside(enriched: Enriched, record: str) -> tuple[tuple[AlikeText, AlikeGroup], ...]:
    """Return the texts of a capture that belong to a group, each with its group and a few other members."""
    dates, beside = _Dates(enriched), []
    for each in enriched.annotations.of_capture(record):
        if each.kind in ALIKE:
            others = [one for one in enriched.annotations.of_meant(each.kind, each.iri) if one.object != each.object]
            if others:
                beside.append((dates.text(each), _group(each.kind, each.iri, others, dates, BESIDE)))
    return tuple(beside)


def alike_table(enriched: Enriched) -> Iterator[tuple[object, ...]]:
    """Yield all grouped texts as rows of a table, group by group, after a header row."""
    dates = _Dates(enriched)
    yield "kind", "group", "label", "likeness", "published", "site", "object", "record", "opening"
    for kind in ALIKE:
        every = sorted(enriched.annotations.of_kind(kind), key=lambda each: (each.iri, each.object, each.capture))
        for each in every:
            text = dates.text(each)
            told = text.likeness, text.published, text.site, text.object, text.record, text.opening
            yield str(kind), each.iri, each.label, *told


class _Dates:
    """Dates of publication of objects, read when one is first asked for."""

    def __init__(self, enriched: Enriched) -> None:
        self._enriched = enriched
        self._dates: Mapping[str, str] | None = None

    def text(self, each: Annotation) -> AlikeText:
        """Return what an annotation says of a text."""
        if self._dates is None:
            self._dates = self._enriched.dates()
        return AlikeText(
            object=each.object,
            record=each.capture,
            site=urlsplit(each.object).hostname or "",
            published=self._dates.get(each.object, ""),
            opening=each.quote,
            likeness=each.confidence,
        )


def _group(kind: About, of: str, members: list[Annotation], dates: _Dates, most: int) -> AlikeGroup:
    if not members:
        raise ProblemError(NOT_SPOKEN_OF, "there is no such group of texts by now; look at all of them")
    latest = {each.object: each for each in sorted(members, key=lambda each: each.capture)}
    texts = sorted(map(dates.text, latest.values()), key=lambda each: (not each.published, each.published, each.object))
    dated = [each.published for each in texts if each.published]
    return AlikeGroup(
        kind=kind,
        of=of,
        label=min(each.label for each in members),
        objects=len(texts),
        sites=tuple(sorted({each.site for each in texts if each.site})),
        first=dated[0] if dated else "",
        last=dated[-1] if dated else "",
        texts=tuple(texts[:most]),
    )
