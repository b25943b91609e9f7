"""Stores a ranker's lessons, so that another ranker can learn the same without the pages."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain

from aahcrawler.scores.entries import Lesson, packed, rounded, unpacked
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
