"""Score a page and its links by what the analysers say of them, and make the metadata of the page."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from typing import Final

from aahcrawler import urls
from aahcrawler.frontier.protocol import UNSCORED, Lease, Offer
from aahcrawler.helper import ApplicationAwareHelper, Assistance
from aahcrawler.helper.assistance import FailedAction, Failure, Refused, of_stages
from aahcrawler.helper.site_memory import LinkJudge
from aahcrawler.metadata import Link, LinkType, Metadata
from aahcrawler.objects.versions import Changes, compare
from aahcrawler.page import Page, dates, generic, requisites
from aahcrawler.page.loose_xml import Mistakes
from aahcrawler.page.onward import location
from aahcrawler.page.page import FailedStages
from aahcrawler.page.requisites import media_file
from aahcrawler.scores import Lesson
from aahcrawler.streams import StreamNote, UnreadableManifestError, manifest_of, notes_of
from aahcrawler.traps.traps import TrapVerdict
from aahcrawler.webobject import Container, WebObject
from online_analysis.aggregation import (
    UNSPENT,
    BudgetLeft,
    LinkRanker,
    OnlineAnalyser,
    ScoredLink,
    Scores,
    aggregate,
    document_score,
    joined,
)
from online_analysis.batching import Batch, BatchScore, Contribution, contribution
from online_analysis.document import Document, Outlink, Times
from online_analysis.icd.scoring import Scoring
from online_analysis.topic import Topic


@dataclass(frozen=True, slots=True)
class ScoredPage:
    """A page with its relevance in [0, 1], its links with their scores, and the helper's findings.

    ``scores`` are what each analyser said of the page and its links, the ranker last; ``links`` and theirs run parallel
    to the document's outlinks.
    """

    assistance: Assistance
    score: float
    links: tuple[ScoredLink, ...]
    scores: tuple[Scores, ...] = ()


def score(assistance: Assistance, analysers: Sequence[OnlineAnalyser], weights: Mapping[str, float]) -> ScoredPage:
    """Return what was understood of a page with its score and those of its links, averaged by the weights.

    An analyser that raises says nothing of the page, and is among the failed actions.
    """
    document, failed = assistance.document, FailedStages()
    scores = tuple(
        [
            failed.attempt(f"analyser {each.name}", partial(each.analyse, document), partial(Scores, each.name))
            for each in analysers
        ]
    )
    if failed:
        assistance = replace(assistance, failed_actions=(*assistance.failed_actions, *of_stages(failed)))
    return ScoredPage(assistance, document_score(scores, weights), aggregate(document, scores, weights), scores)


Spelling = Callable[[str], str]
"""Returns the one form of a URL that a crawl knows it by, after the application that it belongs to has."""


def understand(
    page: Page,
    helper: ApplicationAwareHelper,
    spelling: Spelling,
    former: Metadata | None = None,
    judge: LinkJudge | None = None,
) -> Assistance:
    """Return what the helper makes of a page, whose links have the spelling of the crawl.

    It is deterministic for a given state of the helper and of what the crawl knows of links (``judge``), and the same
    for pages from the network and from an archive. A page of no known application goes the same way: its document is
    its main content and all of its links. ``former`` is what an earlier crawl understood at the same URL.
    """
    assistance = helper.assist(page, former, judge)
    document = respelled(assistance.document, spelling, times_of(page, assistance.objects))
    return replace(assistance, document=document)


def times_of(page: Page, objects: Sequence[WebObject] = ()) -> Times:
    """Return what a page's capture and its first object, which is what it is about, tell of when it was."""
    shown = objects[0].first("date") if objects else None
    return Times(
        page.fetched_at.astimezone(UTC),
        page.memento,
        dates.parse(page.headers.get("Last-Modified"), now=page.fetched_at),
        shown.astimezone(UTC) if isinstance(shown, datetime) else None,
    )


def understand_list(
    page: Page, helper: ApplicationAwareHelper, spelling: Spelling, judge: LinkJudge | None = None
) -> Iterator[Assistance]:
    """Yield where a sitemap or a feed leads, some of its entries at a time."""
    for assistance in helper.listed(page, judge):
        yield replace(assistance, document=respelled(assistance.document, spelling))


def respelled(document: Document, spelling: Spelling, times: Times | None = None) -> Document:
    """Return a document of some ``times`` whose links have other URLs.

    None leads to the document itself, nor to one place twice.
    """
    own = {document.url, spelling(document.url)}
    found: dict[str, Outlink] = {}
    for link in document.outlinks:
        url = spelling(link.url)
        if url not in own:
            found.setdefault(url, link if url == link.url else replace(link, url=url))
    return replace(document, outlinks=tuple(found.values()), times=times)


AT_ONCE = 200
"""How many queued URLs are re-scored at once."""


def rank(
    page: ScoredPage, weights: Mapping[str, float], ranker: LinkRanker, depth: int, left: BudgetLeft = UNSPENT
) -> ScoredPage:
    """Have a ranker learn from a page, and return it with its links' scores as the ranker joins them.

    The ranker is one more analyser, and the only one that learns: each page of a crawl is to be ranked once. ``depth``
    counts the links from a seed to the page, ``left`` is what is left of the budget.
    """
    scores = ranker.follow(page.assistance.document, page.score, page.links, depth, left)
    return replace(page, links=joined(page.links, scores, weights), scores=(*page.scores, scores))


def rank_error(url: str, ranker: LinkRanker, depth: int, left: BudgetLeft = UNSPENT) -> None:
    """Have a ranker learn that what was behind the links to a URL is worth nothing."""
    ranker.follow(Document(url, None, "", (), ()), 0.0, (), depth, left)


def finish(ranker: LinkRanker, url: str, unwanted: Iterable[str] = ()) -> None:
    """Have a ranker re-score a URL no more that was fetched or will not be, nor links of it that nobody wants."""
    for link in unwanted:
        ranker.settled(link)
    ranker.settled(url)


@dataclass(frozen=True, slots=True)
class EndedBatch:
    """A batch of so many pages, the scores of its links by URL, and these links as offers with their scores."""

    pages: int
    scores: Mapping[str, BatchScore]
    offers: tuple[Offer, ...]


class OpenBatch:
    """Fetched pages, and their links that wait unscored in the frontier."""

    def __init__(self, topic: Topic, scoring: Scoring) -> None:
        self._batch = Batch(topic, scoring.weights, scoring.batch)
        self._offers: dict[str, Offer] = {}

    def __len__(self) -> int:
        return len(self._batch)

    @property
    def is_full(self) -> bool:
        """Whether it has as many pages as the definition asks for."""
        return self._batch.is_full

    def add(self, contributed: Contribution, offers: Iterable[Offer]) -> None:
        """Take in a page and the links to pages that were offered; of each URL the smallest depth is kept."""
        pages = {offer.url: offer for offer in offers if offer.kind == "page"}
        self._batch.add(contributed, pages)
        for url, offer in pages.items():
            known = self._offers.setdefault(url, offer)
            if offer.depth < known.depth:
                self._offers[url] = offer

    def end(self) -> EndedBatch:
        """Score all links; the batch is not to be used any more."""
        scores = self._batch.scores()
        offers = tuple(replace(self._offers[url], score=scored.score) for url, scored in scores.items())
        return EndedBatch(len(self._batch), scores, offers)


def contribution_of(page: ScoredPage, topic: Topic, counted: Document | None = None) -> Contribution:
    """Return what a page brings into a batch; ``counted`` is a document with the same texts, counted already."""
    document = page.assistance.document
    return contribution(document, topic.counting.of(counted or document), page.scores)


def unscored(offers: Iterable[Offer]) -> list[Offer]:
    """Return offers whose pages wait behind all that have a score."""
    return [replace(offer, score=UNSCORED) if offer.kind == "page" else offer for offer in offers]


_HARMLESS: Final = (Failure.NOT_SENT, Failure.READS_LESS)


@dataclass(frozen=True, slots=True)
class PageAnalysis:
    """The analysis of one answer. ``refused`` are the links that the knowledge base calls junk.

    ``containers`` are the threads and forums that its objects are parts of, ``failed`` the actions that did not do
    their work, and ``learned`` names a learned action that did. ``error`` is the type of what was raised where nothing
    could be understood. ``scores`` are what analysers said of a page that was looked at now, ``lesson`` what the
    ranker learned from it, and ``contribution`` what it brings into the batch that its links are scored with, None
    where they have their scores already. ``document`` is a page's text and links, where it was looked at now, and
    ``verdict`` what it was found to be beside the pages before it. ``mistakes`` are those of a feed's markup, None
    where there were none.
    """

    metadata: Metadata
    refused: tuple[Refused, ...] = ()
    containers: tuple[Container, ...] = ()
    failed: tuple[FailedAction, ...] = ()
    learned: str = ""
    error: str = ""
    scores: tuple[Scores, ...] = ()
    lesson: Lesson | None = None
    document: Document | None = None
    contribution: Contribution | None = None
    verdict: TrapVerdict | None = None
    mistakes: Mistakes | None = None


@dataclass(frozen=True, slots=True)
class Beside:
    """What metadata of a page say beside what the helper and the analysers said of it.

    ``links`` come after those of the page's document, ``stream`` is what a manifest says, None where a page is none,
    and ``failed`` are all actions and stages that failed on the page.
    """

    links: Sequence[Link] = ()
    failed: Sequence[FailedAction] = ()
    stream: Metadata | None = None
    understood_by: str = ""


def of_page(lease: Lease, page: Page, processed: ScoredPage, relevant_at: float | None, beside: Beside) -> Metadata:
    """Return what was understood of a page or an error answer; only pages are relevant, or are not.

    With None for ``relevant_at`` nothing has a score: the crawl is about nothing in particular.
    """
    assistance, stream = processed.assistance, beside.stream or Metadata()
    own = _links(processed, nofollow=page.once(generic.forbids_following))
    match, document = assistance.match, assistance.document
    level = match.level if match else None
    score = processed.score if page.is_content and relevant_at is not None else None
    return Metadata(
        understood_by=beside.understood_by,
        media_type=page.media_type,
        application=match.application.name if match else None,
        level=level.name if level else None,
        role=level.role if level else None,
        variant=match.variant if match else "",
        language=document.language,
        title=document.title,
        score=score,
        relevant=None if score is None or relevant_at is None else score >= relevant_at,
        priority=lease.score,
        depth=lease.depth,
        links=(*own, *beside.links, *stream.links),
        objects=assistance.objects,
        failures=tuple(map(str, beside.failed)),
        no_object=assistance.no_object or "",
        source=document.source,
        stream=stream.stream,
    )


def of_redirect(lease: Lease, page: Page) -> Metadata:
    """Return where an answer redirects to; nothing where it says none, or its own URL."""
    target = location(page.url, page.status, page.headers)
    links = () if target is None or target == lease.url else (Link(target, LinkType.REDIRECT),)
    return Metadata(media_type=page.media_type, priority=lease.score, depth=lease.depth, links=links)


def of_stylesheet(page: Page) -> Metadata:
    """Return what a style sheet needs to be shown. That it has no priority tells it from pages."""
    needed = requisites.of_stylesheet(page.text, page.url)
    links = tuple(Link(url, LinkType.REQUISITE) for url in needed)
    return Metadata(media_type=page.media_type, links=links)


def of_media(page: Page) -> Metadata | None:
    """Return what a file of an object is, None where it is no picture, sound or film. It has no priority either."""
    found = media_file(page) if 200 <= page.status < 300 else None
    return None if found is None else Metadata(media_type=page.media_type, objects=(found,))


def of_stream(page: Page, most_lines: int) -> Metadata | None:
    """Return what the manifest of a stream asks for, None where an answer is none. It has no priority either."""
    if not 200 <= page.status < 300:
        return None
    try:
        found = manifest_of(page, most_lines)
    except UnreadableManifestError:
        return Metadata(media_type=page.media_type, stream=(StreamNote.UNREADABLE,))
    if found is None:
        return None
    parts = dict.fromkeys(url for part in found.parts if (url := urls.canonicalize(part)) is not None)
    links = tuple(Link(url, LinkType.REQUISITE) for url in parts if url != page.url)
    return Metadata(media_type=page.media_type, links=links, stream=tuple(notes_of(found)))


def not_understood(lease: Lease, page: Page, error: Exception) -> Metadata:
    """Return all that is known of a page whose understanding raised an error."""
    failure = " ".join(f"not understood: {type(error).__name__}: {error}".split())
    return Metadata(media_type=page.media_type, priority=lease.score, depth=lease.depth, failures=(failure[:1000],))


def leased_anew(metadata: Metadata, lease: Lease) -> Metadata:
    """Return what is remembered of a page, as fetched with today's priority and depth."""
    return replace(metadata, priority=lease.score, depth=lease.depth)


def needs_requisites(metadata: Metadata) -> bool:
    """Say whether an answer needs other files to be shown."""
    return any(link.type is LinkType.REQUISITE for link in metadata.links)


def is_doubtful(metadata: Metadata) -> bool:
    """Say whether objects may have been on a page that were not found.

    A form that was not sent hides none, nor does a draft that reads less than what counts in its place.
    """
    return any(not any(f": {each}" in failure for each in _HARMLESS) for failure in metadata.failures)


def changes(before: Metadata, now: Metadata, *, complete: bool) -> Changes:
    """Return what became of the objects of a page; both must have been understood by the same knowledge base.

    What was not found because an action failed, or because the page did not come whole (``complete``), is not taken
    for deleted, nor for added where an action failed before.
    """
    found = compare(before.objects, now.objects)
    if is_doubtful(now) or not complete:
        found = replace(found, deleted=())
    return replace(found, added=()) if is_doubtful(before) else found


def _links(processed: ScoredPage, *, nofollow: bool) -> list[Link]:
    assistance = processed.assistance
    marked = {link.url for link in assistance.document.outlinks if nofollow or link.nofollow}
    links = [
        Link(each.url, LinkType.PAGE, each.anchor, each.score, each.action, each.url in marked)
        for each in processed.links
    ]
    return links + [Link(url, LinkType.REQUISITE) for url in assistance.requisites]
