"""Stores a ranker's lessons, so that another ranker can learn the same without the pages."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

from aahcrawler.scope import RULE, Refusal, SourceRefusal
from aahcrawler.scores.entries import Asked, Ended, Entry, Judged, Lesson, Rescored, packed, rounded, unpacked
from aahcrawler.scores.reader import Read, read_scores
from aahcrawler.scores.reweighting import reweighted_lesson
from aahcrawler.traps.path_shape import Trap
from online_analysis.aggregation import UNSPENT, BudgetLeft, LinkRanker, Reason, Revision, ScoredLink, Scores, Weighed
from online_analysis.document import Document, DocumentPart, Outlink, PartRole

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
