"""Recomputes the scores of a log under other weights, and stores a ranker's lessons for other rankers."""

import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, repeat
from pathlib import Path
from typing import Protocol

from aahcrawler.scope import RULE, Refusal, SourceRefusal
from aahcrawler.scores.entries import (
    Asked,
    Batched,
    Begin,
    Column,
    Ended,
    Entry,
    Judged,
    Lesson,
    Links,
    Offered,
    Rescored,
    packed,
    rounded,
    unpacked,
    updated,
)
from aahcrawler.scores.reader import Read, read_scores
from aahcrawler.traps.patterns import Trap
from online_analysis.aggregation import UNSPENT, BudgetLeft, LinkRanker, Reason, Revision, ScoredLink, Scores, Weighed
from online_analysis.document import Document, DocumentPart, Outlink, PartRole
from online_analysis.ranking import LearningRanker

Weights = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Share:
    """One of ``of`` shares of all URLs, counted from 0, so that only one share is in memory at a time."""

    number: int = 0
    of: int = 1

    def holds(self, url: str) -> bool:
        """Return whether a URL belongs to this share; each URL belongs to exactly one."""
        return self.of == 1 or zlib.crc32(url.encode()) % self.of == self.number


class Chosen(Protocol):
    """Selects URLs of the score log, such as the share that one process reads."""

    def holds(self, url: str) -> bool:
        """Return whether a URL is wanted."""
        ...


@dataclass(slots=True)
class _Waits:
    """A queued URL: its score so far, and the scores of links to it by the analysers except the ranker.

    ``analyser_mean`` and ``weight`` are under the new weights, ``former_mean`` and ``former_weight`` under those of the
    time.
    """

    total: float = 0.0
    offers: int = 0
    links: int = 0
    analyser_mean: float = 0.0
    weight: float = 0.0
    former_mean: float = 0.0
    former_weight: float = 0.0

    def offer(self, update: str, score: float) -> None:
        self.total, self.offers = updated(update, self.total, self.offers, score)

    def link(self, now: tuple[float, float], then: tuple[float, float]) -> None:
        self.links += 1
        self.analyser_mean += (now[0] - self.analyser_mean) / self.links
        self.former_mean += (then[0] - self.former_mean) / self.links
        self.weight, self.former_weight = max(self.weight, now[1]), max(self.former_weight, then[1])

    def rescore(self, score: float, ranker: float, ranker_then: float) -> None:
        """Add the ranker's part: its prediction is the part of the score that the other analysers do not explain."""
        if not self.links or not ranker_then:
            self.total, self.offers = score, 1
            return
        others = self.former_mean * self.former_weight
        prediction = max(0.0, (score * (self.former_weight + ranker_then) - others) / ranker_then)
        weight = self.weight + ranker
        self.total, self.offers = (
            ((self.analyser_mean * self.weight + prediction * ranker) / weight if weight else 0.0),
            1,
        )


def weighed(folder: Path, crawl: int, weights: Weights, share: Chosen = Share()) -> dict[str, Weighed]:
    """Return the scores that a share's queued URLs would have if these weights had held from the crawl's beginning.

    A URL that was offered without scores of analysers keeps its score. Reads the whole log of the crawl. Raises
    ``DamageError`` for damage.
    """
    weighing = _Weighing(weights, share)
    for found in read_scores(folder, crawl=crawl):
        weighing.take(found)
    offered = ((url, each) for url, each in weighing.waiting.items() if each.offers)
    return {url: Weighed(each.analyser_mean, each.weight, each.total / each.offers) for url, each in offered}


def reweighted_lesson(page: Judged, kept: Lesson, weights: Weights) -> Lesson:
    """Return a page's lesson for a ranker as it would have been under other weights."""
    urls = page.links.url if page.links is not None else []
    parts = page.links.parts if page.links is not None else {}
    averages = [_average(row, weights) for row in _rows(parts, len(urls))] if parts else []
    return kept.model_copy(
        update={
            "worth": _average(page.parts, weights)[0] if page.parts else kept.worth,
            "score": [score for score, _ in averages] if averages else kept.score,
            "weight": [weight for _, weight in averages] if averages else kept.weight,
        }
    )


class _Weighing:
    """The queued URLs of a share, updated entry by entry."""

    def __init__(self, weights: Weights, share: Chosen) -> None:
        self._weights = weights
        self._share = share
        self.waiting: dict[str, _Waits] = {}

    def take(self, found: Read) -> None:
        begin, entry = found.begin, found.entry
        match entry:
            case Offered():
                self._offer(begin, zip(entry.url, entry.score, repeat({})))
            case Judged():
                self.waiting.pop(entry.url, None)
                self._judged(begin, entry)
            case Batched():
                self._offer(begin, zip(entry.url, entry.score, _rows(entry.parts, len(entry.url)), strict=True))
            case Rescored(by=None):
                self._rescored(begin, entry)
            case Ended():
                self.waiting.pop(entry.url, None)

    def _offer(self, begin: Begin, offers: Iterable[tuple[str, float, Mapping[str, float]]]) -> None:
        """Add URLs that are offered with a score, and the analysers' scores of each."""
        for url, score, parts in offers:
            if self._share.holds(url):
                now = _average(parts, self._weights, ranker=True)[0] if parts else score
                self._of(url).offer(begin.update, now)

    def _judged(self, begin: Begin, page: Judged) -> None:
        if page.redirect is not None:
            self._offer(begin, [(page.redirect, page.priority, {})])
        links = page.links
        if links is None:
            return
        offered = [link for link in _links(links) if self._share.holds(link[0])]
        for url, _, parts in offered:
            self._of(url).link(_average(parts, self._weights), _average(parts, begin.weights))
        if not links.unscored:
            self._offer(begin, offered)

    def _rescored(self, begin: Begin, entry: Rescored) -> None:
        now, then = (weights.get(LearningRanker.name, 0.0) for weights in (self._weights, begin.weights))
        for url, score in zip(entry.url, entry.score, strict=True):
            if self._share.holds(url):
                self._of(url).rescore(score, now, then)

    def _of(self, url: str) -> _Waits:
        return self.waiting.setdefault(url, _Waits())


def _links(links: Links) -> Iterator[tuple[str, float, Mapping[str, float]]]:
    """Yield the links that were not refused: URL, score, and the analysers' scores."""
    refused = {position for positions in links.refused.values() for position in positions}
    rows = _rows(links.parts, len(links.url))
    for position, link in enumerate(zip(links.url, links.score, rows, strict=True)):
        if position not in refused:
            yield link


def _rows(parts: Mapping[str, Column], n: int) -> Sequence[Mapping[str, float]]:
    columns = {name: unpacked(column, n) for name, column in parts.items()}
    return [
        {name: value for name, column in columns.items() if (value := column[position]) is not None}
        for position in range(n)
    ]


def _average(parts: Mapping[str, float], weights: Weights, *, ranker: bool = False) -> tuple[float, float]:
    """Return the weighted average of scores and their total weight, with or without the ranker."""
    counted = [
        (weights.get(name, 1.0), value) for name, value in parts.items() if ranker or name != LearningRanker.name
    ]
    total = sum(weight for weight, _ in counted)
    return (sum(weight * value for weight, value in counted) / total if total else 0.0), total


MAX_TEXT_LENGTH = 300
"""Characters of an anchor that a ranker is given, of the text around it, and of the title of a page."""
DECIMALS = 6
"""The decimals of the scores given to a ranker, as they are stored; the frontier keeps no more."""

_ROLES: tuple[PartRole, ...] = ("content", "sidebar", "navigation")


class Lessons:
    """A ranker that also keeps its last lesson, in the form in which lessons are stored.

    A ranker taught by the stored lesson learns the same, to six decimals of the scores.
    """

    def __init__(self, ranker: LinkRanker) -> None:
        self._ranker = ranker
        self._last: Lesson | None = None

    @property
    def name(self) -> str:
        """The ranker's name."""
        return self._ranker.name

    def follow(
        self,
        document: Document,
        worth: float,
        links: Sequence[ScoredLink],
        depth: int,
        left: BudgetLeft = UNSPENT,
    ) -> Scores:
        """See ``LinkRanker.follow``."""
        document, worth, left = _cut(document), round(worth, DECIMALS), BudgetLeft(*[round(share, 4) for share in left])
        scores = self._ranker.follow(document, worth, links, depth, left)
        self._last = lesson(document, worth, links, left)
        return scores

    def revised(self, n: int) -> Sequence[Revision]:
        """See ``LinkRanker.revised``."""
        return self._ranker.revised(n)

    def reweigh(self, weight: float, waiting: Mapping[str, Weighed]) -> None:
        """See ``LinkRanker.reweigh``."""
        self._ranker.reweigh(weight, waiting)

    def settled(self, url: str) -> None:
        """See ``LinkRanker.settled``."""
        self._ranker.settled(url)

    def explain(self, url: str) -> tuple[Reason, ...]:
        """See ``LinkRanker.explain``."""
        return self._ranker.explain(url)

    def take(self) -> Lesson | None:
        """Return the lesson learned since the last call, None where there was none."""
        last, self._last = self._last, None
        return last


def lesson(document: Document, worth: float, links: Sequence[ScoredLink], left: BudgetLeft = UNSPENT) -> Lesson:
    """Return the arguments of ``follow`` as a lesson, without the URLs of links."""
    outlinks = document.outlinks
    words = (
        [link.anchor for link in outlinks],
        [link.context for link in outlinks],
        [link.place for link in outlinks],
        [link.action or "" for link in outlinks],
        ["" if link.part is None else document.parts[link.part].role for link in outlinks],
    )
    names = dict.fromkeys(chain(("",), *words))
    numbers = dict(zip(names, range(len(names)), strict=True))
    anchors, contexts, places, actions, roles = (packed(list(map(numbers.__getitem__, each))) or 0 for each in words)
    return Lesson.model_construct(
        worth=worth,
        left=None if left == UNSPENT else left,
        application=document.application or None,
        kind=document.kind or None,
        level=document.level or None,
        title=document.title or None,
        score=rounded([link.score for link in links], DECIMALS),
        weight=packed([link.weight for link in links]) or 0.0,
        anchor=anchors,
        context=contexts,
        place=places,
        action=actions,
        role=roles,
        names=list(names),
    )


def taught(kept: Lesson, page: str, urls: Sequence[str]) -> tuple[Document, tuple[ScoredLink, ...]]:
    """Return the arguments of ``follow`` made from a lesson: the document, without the page's text, and its links."""
    columns = (kept.anchor, kept.context, kept.place, kept.action, kept.role)
    anchors, contexts, places, actions, roles = (
        [kept.names[number] for number in unpacked(column, len(urls))] for column in columns
    )
    outlinks = tuple(
        Outlink(url, anchor, context, _ROLES.index(role) if role in _ROLES else None, action or None, place)
        for url, anchor, context, place, action, role in zip(
            urls, anchors, contexts, places, actions, roles, strict=True
        )
    )
    weights = unpacked(kept.weight, len(urls))
    links = tuple(
        ScoredLink(link.url, score, link.anchor, link.action, weight)
        for link, score, weight in zip(outlinks, kept.score, weights, strict=True)
    )
    document = Document(
        page,
        None,
        kept.title or "",
        tuple(DocumentPart(role, "-") for role in _ROLES),
        outlinks,
        application=kept.application or "",
        kind=kept.kind or "",
        level=kept.level or "",
    )
    return document, links


def _cut(document: Document) -> Document:
    """Return the document with title, anchors and texts around links cut to the length that is stored."""
    outlinks = tuple([link if _is_short(link) else _short(link) for link in document.outlinks])
    return replace(document, title=document.title[:MAX_TEXT_LENGTH], outlinks=outlinks)


def _is_short(link: Outlink) -> bool:
    return len(link.anchor) <= MAX_TEXT_LENGTH and len(link.context) <= MAX_TEXT_LENGTH


def _short(link: Outlink) -> Outlink:
    return replace(link, anchor=link.anchor[:MAX_TEXT_LENGTH], context=link.context[:MAX_TEXT_LENGTH])


_OF_THE_WAY = frozenset(
    {
        Refusal.NOT_DUE,
        Refusal.TOO_DEEP,
        Refusal.LANGUAGE,
        SourceRefusal.NOFOLLOW,
        SourceRefusal.OFF_TOPIC,
        Trap.NEAR_DUPLICATE,
        Trap.SOFT_404,
    }
)
"""Refusals for where a link stands: its URL may be queued all the same. Those by rules may be such."""


MAX_PAGES = 20_000
"""Pages that a crawl which goes on learns from again, the last ones: a minute or so."""


@dataclass(slots=True)
class Remembered:
    """The number of pages that a ranker has learned again, and its last revisions that were not applied.

    The first ``passed`` pages are not learned. ``weights`` replace those with which the pages were judged; None keeps
    them.
    """

    passed: int = 0
    pages: int = 0
    pending: tuple[Revision, ...] = ()
    weights: Mapping[str, float] | None = None


def remember(
    ranker: LinkRanker,
    folder: Path,
    crawl: int,
    remembered: Remembered,
    until: Callable[[Entry], bool] = lambda _: False,
) -> None:
    """Repeat, on a new ranker, the calls that a crawl's workers made to theirs, in their order.

    The log of one worker restores its ranker, except for entries lost in a power failure. Reading stops before the
    first entry for which ``until`` is true. Raises ``DamageError`` for damage; the entries before it have been learned
    then, and ``remembered`` counts them.
    """
    for found in read_scores(folder, crawl=crawl):
        if until(found.entry):
            return
        if remembered.passed:
            remembered.passed -= isinstance(found.entry, Judged) and found.entry.lesson is not None
        else:
            _again(ranker, found, remembered)


def never_wanted(refused: Mapping[str, Sequence[int]]) -> Sequence[int]:
    """Return, in order, the positions of links whose URLs are refused whatever page links to them.

    >>> never_wanted({"too_deep": [0], "denied": [3], "spam": [1]})
    [1, 3]
    """
    final = (at for reason, at in refused.items() if reason not in _OF_THE_WAY and not reason.startswith(RULE))
    return sorted(position for positions in final for position in positions)


def _again(ranker: LinkRanker, found: Read, remembered: Remembered) -> None:
    entry = found.entry
    match entry:
        case Judged():
            are_those = remembered.weights is None or found.begin.weights == remembered.weights
            remembered.pages += _taught(ranker, entry, None if are_those else remembered.weights)
            ranker.settled(entry.url)
        case Asked(n=n):
            remembered.pending = tuple(ranker.revised(n))
        case Rescored(by=None):
            remembered.pending = ()
        case Ended(url=url):
            ranker.settled(url)


def _taught(ranker: LinkRanker, page: Judged, weights: Mapping[str, float] | None) -> bool:
    """Teach the lesson of a page, and return whether it had one; URLs that were not offered are settled at once."""
    if page.lesson is None:
        return False
    kept = page.lesson if weights is None else reweighted_lesson(page, page.lesson, weights)
    urls = page.links.url if page.links is not None else []
    document, links = taught(kept, page.url, urls)
    ranker.follow(document, kept.worth, links, page.depth, BudgetLeft(*kept.left) if kept.left is not None else UNSPENT)
    if page.links is not None:
        for position in never_wanted(page.links.refused):
            ranker.settled(urls[position])
    return True
