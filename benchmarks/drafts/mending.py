"""Mends a draft as somebody would who goes through its doubts from the top and looks at pages of the site."""

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Final

from aahcrawler.editor.drafting.doubts import Alternative, Doubt
from aahcrawler.editor.text.edits import apply
from aahcrawler.editor.text.entry_text import EditError, EntryText
from aahcrawler.helper import ApplicationAwareHelper, Assistance
from aahcrawler.objects.capture_statements import ObjectRow
from benchmarks.drafts.drafted import NAME, Folders
from benchmarks.drafts.subject import KnownPage
from benchmarks.page_reading import row_of
from benchmarks.site_pages import fresh
from benchmarks.software.scorer import Described, Matching, TrueObjects, local
from knowledge_base.loader import LoadError, load
from knowledge_base.model import Application, KnowledgeBase

MOST_CORRECTIONS: Final = 5
"""Corrections that somebody can be asked for."""

MOST_DOUBTS: Final = 30
"""Doubts that somebody has the patience to look at."""

BETTER: Final = 0.002
"""The least gain that somebody sees who looks at pages."""

_SCORES: Final = ("recall", "title", "author", "date")


@dataclass(frozen=True, slots=True)
class Mended:
    """A draft after some corrections, and what these say."""

    file: bytes
    corrections: tuple[str, ...] = ()


@dataclass(frozen=True)
class Truth:
    """What somebody sees who looks at pages: how much of them a file reads as they are.

    ``claims`` returns how many pages of other applications an application takes for its own.
    """

    pages: Sequence[KnownPage]
    claims: Callable[[Application], int]

    def worth(self, file: bytes, *, of_signs: bool = False) -> float:
        """Return how well a crawl reads with a file, the best being 1; 0 where it does not load.

        With ``of_signs`` its claims count as well.
        """
        application = _loaded(file)
        if application is None:
            return 0.0
        helper = ApplicationAwareHelper(KnowledgeBase((application,))).comparing_drafts()
        read = [helper.assist(fresh(known.page)) for known in self.pages]
        worth = fmean((*self._objects(read), *self._links(read)))
        return worth - bool(self.claims(application)) if of_signs else worth

    def claims_any(self, file: bytes) -> bool:
        """Return whether a file that loads takes any page of another application for its own."""
        application = _loaded(file)
        return application is not None and self.claims(application) > 0

    def _objects(self, read: Sequence[Assistance]) -> list[float]:
        true = TrueObjects(each for known in self.pages for each in known.objects)
        matching = Matching.of(true, (_described(row_of(each)) for found in read for each in found.objects))
        scores = {**matching.scores(), **matching.shares()}
        return [float(scores[name] or 0.0) for name in (*_SCORES, "precision") if scores[name] is not None]

    def _links(self, read: Sequence[Assistance]) -> list[float]:
        """Return the share of links worth a request that are followed, and that of the others that are not."""
        followed = [{local(link.url) for link in found.document.outlinks} for found in read]
        worth = [len(known.leads_to) for known in self.pages]
        junk = [len(known.junk) for known in self.pages]
        kept = [len(known.leads_to & urls) for known, urls in zip(self.pages, followed, strict=True)]
        left = [len(known.junk - urls) for known, urls in zip(self.pages, followed, strict=True)]
        return [sum(part) / sum(whole) for part, whole in ((kept, worth), (left, junk)) if sum(whole)]


def mended(file: bytes, doubts: Sequence[Doubt], truth: Truth) -> Mended:
    """Go through `MOST_DOUBTS` of a draft from the top, and take what the truth confirms, up to `MOST_CORRECTIONS`.

    A guess that is as good as each of its alternatives is right, and costs nothing.
    """
    said: list[str] = []
    claims = truth.claims_any(file)
    for doubt in doubts[:MOST_DOUBTS]:
        if len(said) == MOST_CORRECTIONS:
            break
        of_signs = claims and doubt.place.startswith("detect")
        best = truth.worth(file, of_signs=of_signs) + BETTER if doubt.alternatives else 1.0
        chosen: tuple[bytes, str] | None = None
        for alternative in doubt.alternatives:
            changed = _changed(file, alternative)
            worth = truth.worth(changed, of_signs=of_signs) if changed else 0.0
            if changed and worth > best:
                best, chosen = worth, (changed, alternative.said)
        if chosen is not None:
            file = chosen[0]
            claims = truth.claims_any(file) if of_signs else claims
            said.append(f"{doubt.place}: {chosen[1]}")
    return Mended(file, tuple(said))


def _loaded(file: bytes) -> Application | None:
    """Load a file by itself; None where it has mistakes."""
    try:
        with tempfile.TemporaryDirectory(prefix="aah-mending-") as name:
            folders = Folders(Path(name), Path(name))
            folders.write(file)
            return load(folders.own).application(NAME)
    except LoadError:
        return None


def _changed(file: bytes, alternative: Alternative) -> bytes | None:
    """Return the file with an alternative; None where corrections before have changed what it would."""
    try:
        return apply(EntryText(file), alternative.edits).data
    except EditError:
        return None


def _described(row: ObjectRow) -> Described:
    return Described(row.iri, row.url, row.body or "", row.title, row.author, row.date)
