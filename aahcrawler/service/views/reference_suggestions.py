"""What an archived crawl suggests for a definition: the words, names and sites of its relevant pages.

What reads pages is imported with the first request: a cockpit has to start at once.
"""
# ruff: noqa: PLC0415

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import Final

from aahcrawler.archive.folders import ArchiveError
from aahcrawler.objects.reader import ReadError
from aahcrawler.segments import SegmentError
from aahcrawler.service.catalog.crawl_catalog import Crawl
from aahcrawler.service.views.page_indexes import NO_FOLDER
from aahcrawler.service.web.problems import UNAVAILABLE, ProblemError, Shown
from aahcrawler.urls import canonicalize
from knowledge_base.loader import LoadError
from online_analysis.icd import Icd
from online_analysis.suggestions import Suggested

MAX_PAGES: Final = 1_000
"""Pages that are read: each is understood anew."""


class SuggestedValue(Shown):
    """A value with the number of relevant pages that have it; ``snippet`` is the URL of the best of them."""

    value: str
    count: int
    snippet: str
    note: str


class ReferenceSuggestions(Shown):
    """What a crawl suggests, the weightiest first, after so many of its ``pages``, ``relevant`` ones among them."""

    pages: int
    relevant: int
    keywords: tuple[SuggestedValue, ...]
    entities: tuple[SuggestedValue, ...]
    seeds: tuple[SuggestedValue, ...]
    outcome: str


def reference_suggestions(
    crawl: Crawl, icd: Icd, folders: Sequence[Path], advance: Callable[[], None]
) -> ReferenceSuggestions:
    """Return what a crawl suggests for a definition, its pages read with the knowledge base of some folders.

    ``advance`` is called with each page. Raise ``ProblemError``.
    """
    from offline.refinement.proposals import (
        ReferencePage,
        RefinementError,
        propose,
        reference_pages,
        suggestions_of,
        topic_of,
    )
    from offline.rereading import Reader, RereadError

    if crawl.folder is None:
        raise ProblemError(NO_FOLDER, "this machine has none of the crawl's folder")

    def counted(pages: Iterator[ReferencePage]) -> Iterator[ReferencePage]:
        for page in islice(pages, MAX_PAGES):
            advance()
            yield page

    try:
        topic = topic_of(icd, crawl.folder)
        seeds = frozenset(canonicalize(seed) or seed for seed in icd.seeds)
        with closing(Reader.of(crawl.folder, folders)) as reader:
            proposals = propose(icd, topic, seeds, counted(reference_pages(crawl.folder, topic, reader)))
    except (ArchiveError, LoadError, ReadError, RefinementError, RereadError, SegmentError) as error:
        raise ProblemError(UNAVAILABLE, f"{crawl.id} cannot be read as a reference: {error}") from error
    found = suggestions_of(proposals)
    return ReferenceSuggestions(
        pages=proposals.pages,
        relevant=proposals.relevant,
        keywords=_shown(found.keywords),
        entities=_shown(found.entities),
        seeds=_shown(found.seeds),
        outcome=proposals.outcome.value if proposals.are_none else "",
    )


def _shown(found: Sequence[Suggested]) -> tuple[SuggestedValue, ...]:
    return tuple(
        SuggestedValue(value=each.value, count=each.count, snippet=each.snippet, note=each.note) for each in found
    )
