"""The picture of the crawler as one function: a page goes in, scored links and web objects come out."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from aahcrawler.helper import ApplicationAwareHelper, Assistance
from aahcrawler.metadata import Metadata
from aahcrawler.page import Page
from online_analysis.aggregation import (
    LinkRanker,
    OnlineAnalyser,
    ScoredLink,
    Scores,
    aggregate,
    document_score,
    joined,
)
from online_analysis.document import Document, Outlink


@dataclass(frozen=True, slots=True)
class Processed:
    """What a page turned out to be: its relevance in [0, 1], its links with their scores, and the helper's findings.

    ``scores`` are what each analyser said of the page and its links, the ranker last; ``links`` and theirs run parallel
    to the document's outlinks.
    """

    assistance: Assistance
    score: float
    links: tuple[ScoredLink, ...]
    scores: tuple[Scores, ...] = ()


def process(
    page: Page,
    helper: ApplicationAwareHelper,
    analysers: Sequence[OnlineAnalyser],
    weights: Mapping[str, float],
    former: Metadata | None = None,
    ranker: LinkRanker | None = None,
    depth: int = 0,
    spelling: Callable[[str], str] | None = None,
) -> Processed:
    """Understand one page and score its links (ARCOMEM, section 4.2, figure 3).

    Deterministic for given state of the helper and the analysers, without input or output, and the same for pages
    from the network and pages from an archive. A page of no known application goes the same way: its document is
    its main content and all of its links. ``former`` is what an earlier crawl understood at the same address.

    The ranker hears what the page is worth and what the analysers say of its links, and joins their average as one
    more analyser; it is the only one that learns, so each page of a crawl is to be processed once with it. ``depth``
    counts the links from a seed to the page. ``spelling`` gives the addresses of links the one form that the crawl
    knows them by, after the application that they belong to has; links that have become one are one.
    """
    assistance = helper.assist(page, former)
    if spelling is not None:
        assistance = replace(assistance, document=respelled(assistance.document, spelling))
    document = assistance.document
    scores = tuple(analyser.analyse(document) for analyser in analysers)
    processed = Processed(assistance, document_score(scores, weights), aggregate(document, scores, weights), scores)
    return processed if ranker is None else ranked(processed, weights, ranker, depth)


def listed(
    page: Page,
    helper: ApplicationAwareHelper,
    analysers: Sequence[OnlineAnalyser],
    weights: Mapping[str, float],
    spelling: Callable[[str], str],
) -> Iterator[Processed]:
    """Score where a sitemap leads, some of its entries at a time. It teaches no ranker: its links stand nowhere."""
    for assistance in helper.listed(page):
        document = respelled(assistance.document, spelling)
        scores = tuple(analyser.analyse(document) for analyser in analysers)
        links = aggregate(document, scores, weights)
        yield Processed(replace(assistance, document=document), 0.0, links, scores)


def respelled(document: Document, spelling: Callable[[str], str]) -> Document:
    """Return a document whose links have other addresses; none leads to the document itself, nor to one place twice."""
    own = {document.url, spelling(document.url)}
    found: dict[str, Outlink] = {}
    for link in document.outlinks:
        url = spelling(link.url)
        if url not in own:
            found.setdefault(url, link if url == link.url else replace(link, url=url))
    return replace(document, outlinks=tuple(found.values()))


def ranked(processed: Processed, weights: Mapping[str, float], ranker: LinkRanker, depth: int) -> Processed:
    """Let a ranker learn from a page that was processed without it, and join the scores of its links."""
    said = ranker.follow(processed.assistance.document, processed.score, processed.links, depth)
    return replace(processed, links=joined(processed.links, said, weights), scores=(*processed.scores, said))
