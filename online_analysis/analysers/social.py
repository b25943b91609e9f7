"""Scores URLs by the people who link to them: authors of an ICD's social postings and of crawled posts.

An author's **influence** is ``1 + log10(1 + followers)`` in postings of the ICD, and ``1 + log10(pages)`` where the
author was met on so many crawled pages. The authors who link to a URL, each counted once, have influence ``S``
together, and the URL has the score ``S / (S + 2)``: one author without followers gives a third, ten give 0.83.
"""

import html
import math
import re
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from urllib.parse import urlsplit

import ada_url

from online_analysis.aggregation import Scores
from online_analysis.analysers.temporal import nearness
from online_analysis.document import Document
from online_analysis.icd import Event, Icd, Post

_HALF_INFLUENCE = 2.0
_MAX_URLS = 100_000
_MAX_AUTHORS = 50_000
_MAX_AUTHORS_OF_URL = 32
_BITS = 64
_MAX_URL_LENGTH = 2_000
_URL = re.compile(r"https?://[^\s<>\"“”„«»‹›‘`|\\^{}。，、！？；：）（」』】》…]+…?", re.IGNORECASE)
_CUT_OFF = ("…", "...")
_TRAILING = ".,;:!?'’*_~"


@dataclass(frozen=True, slots=True)
class ScoredSeed:
    """A URL to begin with, and its score in [0, 1]."""

    url: str
    score: float


def seeds_of_posts(icd: Icd) -> tuple[ScoredSeed, ...]:
    """Return the URLs that the ICD's social postings link to, the highest scores first.

    Several posts of an author count once for a URL. With an event in the ICD a post counts by its nearness to it; one
    without a date counts whole. URLs that no post near the event links to are left out.
    """
    strengths = _strengths(icd.posts, icd.event)
    seeds = (ScoredSeed(url, _saturated(strength)) for url, strength in strengths.items() if strength > 0)
    return tuple(sorted(seeds, key=lambda seed: (-seed.score, seed.url)))


def links_in(text: str) -> Iterator[str]:
    """Yield the http(s) URLs in a text or in HTML, without fragments; those that were cut off are left out.

    >>> list(links_in("See (https://a.test/b_(c)), or https://a.test/long… now"))
    ['https://a.test/b_(c)']
    """
    for found in _URL.finditer(text):
        written = html.unescape(_trimmed(found[0]))
        if found[0].endswith(_CUT_OFF) or len(written) > _MAX_URL_LENGTH:
            continue
        try:
            url = ada_url.URL(written)
        except ValueError:
            continue
        if not url.username and not url.password:
            url.hash = ""
            yield str(url.href)


class SocialAnalyser:
    """Scores links by the authors who link to the same URL; silent where they are fewer than two, except in ICD posts.

    It remembers the authors of links: its scores depend on the documents it has seen, in their order, and on nothing
    else. A document that is seen twice in a row has the same scores twice. It remembers the last 100,000 URLs that
    authors linked to, up to 32 authors of each, and the last 50,000 authors.
    """

    name = "social"

    def __init__(self, posts: Sequence[Post] = (), event: Event | None = None) -> None:
        self._posted = _strengths(posts, event)
        self._authors_of: OrderedDict[str, list[bytes]] = OrderedDict()
        self._pages_of: OrderedDict[bytes, int] = OrderedDict()

    def analyse(self, document: Document) -> Scores:
        """Score the links of a document; its own score is None."""
        if any(part.author for part in document.parts):
            self._remember(document)
        if not self._posted and not self._authors_of:
            return Scores(self.name)
        return Scores(self.name, None, tuple([self._score(link.url) for link in document.outlinks]))

    def _remember(self, document: Document) -> None:
        host = urlsplit(document.url).hostname or ""
        authors = [_key(f"{host} {part.author}") if part.author else None for part in document.parts]
        self._meet(document.url, {author for author in authors if author})
        for link in document.outlinks:
            author = authors[link.part] if link.part is not None else None
            if author:
                self._add(link.url, author)

    def _meet(self, page: str, authors: Iterable[bytes]) -> None:
        bit = 1 << _key(page)[0] % _BITS
        for author in sorted(authors):
            self._pages_of[author] = self._pages_of.pop(author, 0) | bit
        while len(self._pages_of) > _MAX_AUTHORS:
            self._pages_of.popitem(last=False)

    def _add(self, url: str, author: bytes) -> None:
        authors = self._authors_of.setdefault(url, [])
        self._authors_of.move_to_end(url)
        if author not in authors and len(authors) < _MAX_AUTHORS_OF_URL:
            authors.append(author)
        while len(self._authors_of) > _MAX_URLS:
            self._authors_of.popitem(last=False)

    def _score(self, url: str) -> float | None:
        posted = self._posted.get(url, 0.0)
        authors = self._authors_of.get(url, ())
        if not posted and len(authors) < 2:
            return None
        return _saturated(posted + sum(self._influence(author) for author in authors))

    def _influence(self, author: bytes) -> float:
        return 1.0 + math.log10(max(1, _pages(self._pages_of.get(author, 0))))


def _strengths(posts: Sequence[Post], event: Event | None) -> Mapping[str, float]:
    """Return the joint influence of the authors who posted each URL."""
    followers: dict[str, int] = {}
    nearest: dict[tuple[str, str], float] = {}
    for post in posts:
        followers[post.author] = max(post.followers, followers.get(post.author, 0))
        near = nearness(event, post.date) if event is not None and post.date is not None else 1.0
        for url in links_in(post.text):
            nearest[url, post.author] = max(near, nearest.get((url, post.author), 0.0))
    strengths: dict[str, float] = {}
    for (url, author), near in sorted(nearest.items()):
        strengths[url] = strengths.get(url, 0.0) + near * (1.0 + math.log10(1 + followers[author]))
    return strengths


def _saturated(strength: float) -> float:
    return strength / (strength + _HALF_INFLUENCE)


def _pages(bits: int) -> int:
    """Estimate from a bit set of 64 how many pages set bits in it, by its unset bits (linear counting)."""
    unset = _BITS - bits.bit_count()
    return round(_BITS * math.log(_BITS / max(unset, 0.5)))


def _key(text: str) -> bytes:
    return blake2b(text.encode("utf-8", "replace"), digest_size=8).digest()


def _trimmed(url: str) -> str:
    """Strip the punctuation that ends a sentence, and a bracket that was opened before the URL."""
    while True:
        shorter = url.rstrip(_TRAILING)
        for opened, closed in ("()", "[]"):
            if shorter.endswith(closed) and shorter.count(closed) > shorter.count(opened):
                shorter = shorter[:-1]
        if shorter == url:
            return url
        url = shorter
