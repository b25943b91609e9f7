"""Groups of texts in a crawl that are near duplicates, or about the same, each with the reason."""

from collections.abc import Iterator
from typing import Final
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict

from aahcrawler.annotations import Annotation
from aahcrawler.annotations import Kind as About
from aahcrawler.service.views.enriched_crawl import Enriched
from aahcrawler.service.views.spoken_of_one import NOT_SPOKEN_OF
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
    author: str
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
    """A group as it is listed, with a few of its texts, the first published first."""

    model_config = ConfigDict(frozen=True)

    kind: About
    of: str
    label: str
    objects: int
    texts: tuple[AlikeText, ...]


def alike_listed(enriched: Enriched, kind: About) -> tuple[tuple[AlikeListed, ...], int]:
    """Return the largest groups of a kind, and how many there are."""
    ranked, total = enriched.annotations.ranked(kind, MAX_GROUPS)
    pages = _Pages(enriched)
    listed = []
    for each in ranked:
        members = [*enriched.annotations.of_meant(kind, each.meant)]
        texts = _group(kind, each.meant, members, pages, BESIDE).texts
        listed.append(AlikeListed(kind=kind, of=each.meant, label=each.label, objects=each.objects, texts=texts))
    return tuple(listed), total


def alike_group(enriched: Enriched, kind: About, of: str) -> AlikeGroup:
    """Return a group with its first texts by publication. Raise ``ProblemError`` where there is none."""
    return _group(kind, of, [*enriched.annotations.of_meant(kind, of)], _Pages(enriched), MAX_TEXTS)


def alike_beside(enriched: Enriched, record: str) -> tuple[tuple[AlikeText, AlikeGroup], ...]:
    """Return the texts of a capture that others are like, each with its group, which has few of the others."""
    pages, beside = _Pages(enriched), []
    for each in enriched.annotations.of_capture(record):
        if each.kind in ALIKE:
            others = [one for one in enriched.annotations.of_meant(each.kind, each.iri) if one.object != each.object]
            if others:
                beside.append((pages.text(each), _group(each.kind, each.iri, others, pages, BESIDE)))
    return tuple(beside)


def alike_table(enriched: Enriched) -> Iterator[tuple[object, ...]]:
    """Yield all texts that others are like as rows of a table, group by group, its head first."""
    pages = _Pages(enriched)
    yield "kind", "group", "label", "likeness", "published", "author", "site", "object", "record", "opening"
    for kind in ALIKE:
        every = sorted(enriched.annotations.of_kind(kind), key=lambda each: (each.iri, each.object, each.capture))
        for each in every:
            text = pages.text(each)
            told = text.likeness, text.published, text.author, text.site, text.object, text.record, text.opening
            yield str(kind), each.iri, each.label, *told


class _Pages:
    """What pages say of objects: who wrote them, and when they were published."""

    def __init__(self, enriched: Enriched) -> None:
        self._enriched = enriched

    def text(self, each: Annotation) -> AlikeText:
        """Return what an annotation says of a text."""
        asked = "SELECT coalesce(author, ''), coalesce(date, '') FROM object WHERE iri = ?"
        author, published = self._enriched.pages.base.execute(asked, (each.object,)).fetchone() or ("", "")
        return AlikeText(
            object=each.object,
            record=each.capture,
            site=urlsplit(each.object).hostname or "",
            author=author,
            published=published,
            opening=each.quote,
            likeness=each.confidence,
        )


def _group(kind: About, of: str, members: list[Annotation], pages: _Pages, most: int) -> AlikeGroup:
    if not members:
        raise ProblemError(NOT_SPOKEN_OF, "there is no such group of texts by now; look at all of them")
    latest = {each.object: each for each in sorted(members, key=lambda each: each.capture)}
    texts = sorted(map(pages.text, latest.values()), key=lambda each: (not each.published, each.published, each.object))
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
