"""The annotations of a crawl with the dates of its objects, lent to those who show what the crawl speaks of."""

import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from http import HTTPStatus
from typing import Final

from aahcrawler.annotations import Annotation, AnnotationIndex, Annotations
from aahcrawler.layout import ANNOTATIONS, NQUADS
from aahcrawler.page_index import PageIndex
from aahcrawler.segments import segments
from aahcrawler.service.catalog.crawl_catalog import Crawl
from aahcrawler.service.views.page_indexes import Asked, PageIndexes
from aahcrawler.service.web.problems import Kind, ProblemError
from aahcrawler.tombstones import read_tombstones

NOT_ENRICHED: Final = Kind("not-enriched", HTTPStatus.CONFLICT, "Nothing is known of what the crawl speaks of")
_MONTHS: Final = frozenset(f"{number:02}" for number in range(1, 13))


@dataclass(frozen=True, slots=True)
class TimeSpan:
    """A span of dates of publication, each a year, a month or a day of ISO 8601; empty where it has no such end."""

    since: str = ""
    until: str = ""

    def __bool__(self) -> bool:
        return bool(self.since or self.until)

    def has(self, date: str) -> bool:
        """Return whether a date lies within; a date less exact than an end counts only if all of it does.

        >>> TimeSpan("2012-03", "2012").has("2012-12-31T10:00:00Z"), TimeSpan("2012-03").has("2012")
        (True, False)
        """
        return not self or (
            bool(date) and date >= self.since and (not self.until or date[: len(self.until)] <= self.until)
        )


ALL_TIMES: Final = TimeSpan()


@dataclass(frozen=True, slots=True)
class Enriched:
    """The annotations of a crawl with its objects' dates, open for one request."""

    base: sqlite3.Connection
    annotations: Annotations
    pages: Asked
    note: str
    words: tuple[str, ...]
    """The keywords of the crawl's definition."""
    unread: str
    """How much of the annotations has been read; empty where all has been."""
    state: tuple[int, ...]
    """How much of which files both indexes hold: as long as it is the same, so is what they are asked."""

    def dates(self) -> dict[str, str]:
        """Return the dates of publication of objects by their IRIs, as the pages say them."""
        return dict(map(tuple, self.pages.base.execute("SELECT iri, date FROM object WHERE date IS NOT NULL")))

    def within(self, span: TimeSpan, dates: Mapping[str, str]) -> Annotations:
        """Return the annotations of objects that were published within a span."""
        if not span:
            return self.annotations
        return Annotations(self.base, {iri for iri, date in dates.items() if span.has(date)})


def is_enriched(crawl: Crawl) -> bool:
    """Return whether a crawl has any annotations."""
    return crawl.folder is not None and (crawl.folder / ANNOTATIONS).is_dir()


@contextmanager
def enriched_of(indexes: PageIndexes, crawl: Crawl) -> Iterator[Enriched]:
    """Lend the annotations of a crawl with its pages. Raise ``ProblemError`` where there are none."""
    if crawl.folder is not None and not is_enriched(crawl):
        raise ProblemError(NOT_ENRICHED, f"`aah enrich {crawl.argument}` finds it; nobody has done that yet")
    with indexes.asked(crawl, AnnotationIndex) as found, indexes.asked(crawl, PageIndex) as pages:
        read = found.progress.note.replace("pages are indexed", "captures' annotations are read")
        note = " ".join(filter(None, (read, pages.progress.note, _taken_down_since(crawl))))
        unread = "" if found.progress.complete else read
        state = (*_state(found), *_state(pages))
        yield Enriched(found.base, Annotations(found.base), pages, note, crawl.icd.topic.keywords, unread, state)


def _taken_down_since(crawl: Crawl) -> str:
    """Say that pages were taken down since anything was last said of a crawl's objects; empty where none were.

    What was made of many objects together, as topics and communities are, went with those pages wherever it rested on
    them.
    """
    if crawl.folder is None:
        return ""
    taken = [datetime.fromisoformat(each.at) for each in read_tombstones(crawl.folder) if each.captures]
    names = (path.name.rsplit("-", 2) for path in segments(crawl.folder / ANNOTATIONS, NQUADS))
    begun = max((parts[-2] for parts in names if len(parts) == 3), default="")
    if not taken or begun >= max(taken).astimezone(UTC).strftime("%Y%m%d%H%M%S"):
        return ""
    return (
        "Pages were taken down since this was found. Topics, events, answers and communities that rested on them are "
        "gone; of names, the kind and the number of objects may be wrong, as each text tells them by itself: "
        f"`aah enrich {crawl.argument}` tells anew what is left."
    )


def _state(asked: Asked) -> tuple[int, ...]:
    row = asked.base.execute("SELECT count(*), coalesce(max(id), 0), coalesce(sum(covered), 0) FROM segment").fetchone()
    return tuple(row)


def month_of(date: str) -> str:
    """Return the month of a date, or its year where it has no month, empty for one that cannot be read.

    >>> month_of("2012-03-04T10:00:00Z"), month_of("2012"), month_of("in March")
    ('2012-03', '2012', '')
    """
    return _month(date[:7])


@lru_cache(maxsize=4096)
def _month(begin: str) -> str:
    year, month = begin[:4], begin[4:]
    if not (year.isascii() and year.isdigit() and len(year) == 4):
        return ""
    return year + month if month[:1] == "-" and month[1:] in _MONTHS else year


def by_month(dates: Iterable[str]) -> dict[str, int]:
    """Count dates by month, or by year where no month is known, in the order of time; those of neither are left out."""
    return {month: n for month, n in sorted(Counter(map(month_of, dates)).items()) if month}


def value_of(annotation: Annotation, name: str) -> str:
    """Return a detail of an annotation, empty where it has none of this name."""
    return next((value for each, value in annotation.values if each == name), "")
