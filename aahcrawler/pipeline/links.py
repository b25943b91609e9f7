"""Turn the links of an answer into offers to the frontier, as far as the crawl wants them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from aahcrawler import urls
from aahcrawler.frontier.hops import Hop, extended, redirects_in_a_row
from aahcrawler.frontier.protocol import Kind, Lease, Offer
from aahcrawler.helper.links.junk_urls import doubtful
from aahcrawler.helper.site_memory import site_of
from aahcrawler.metadata import Link, LinkType, Metadata
from aahcrawler.page.onward import MAX_REDIRECTS
from aahcrawler.scope import Scope, SourceRefusal
from aahcrawler.traps.patterns import Trap, telling_words
from aahcrawler.traps.traps import Traps
from aahcrawler.urls import posted_by
from aahcrawler.webobject import Reference

MAX_FRAMES = 4
"""How many frames within one another are followed."""

MAX_IMPORTS = 5
"""How many style sheets that import one another are followed."""

DOUBTFUL = 0.1
"""What a link is worth of whose words nobody knows whether they speak of a page or of a function."""

PROMPT = 20
"""So many requisites of a page, or of a style sheet, are as urgent as itself; the ones behind are so ever less."""

PHOTO = "photo"
"""The type of photographs."""

_TYPES = (LinkType.PAGE, LinkType.REQUISITE, LinkType.REDIRECT, LinkType.FRAME, LinkType.FEED)
_SOURCES = {"feed": Hop.FEED, "document": Hop.DOCUMENT}


@dataclass(frozen=True, slots=True)
class LinkRules:
    """The rules for links: scope, traps, what else is not followed, and bounds on requisites (0: none).

    Links of pages whose score is below ``follows_from`` are not followed; pages without a score are not meant.
    As what a crawl knows of links (``LinkJudge``) they serve the helper.
    """

    scope: Scope
    traps: Traps
    follows_feeds: bool = True
    obeys_nofollow: bool = False
    follows_from: float = 0.0
    requisites_per_page: int = 0
    requisites_per_style_sheet: int = 0
    parts_per_stream: int = 0

    def offer(
        self,
        url: str,
        lease: Lease,
        score: float,
        *,
        depth: int | None = None,
        kind: Kind = "page",
        hop: Hop = Hop.LINK,
    ) -> Offer:
        """Return a canonical URL that the page of a lease leads to, as an offer; by default as deep as that page."""
        deep, queue = lease.depth if depth is None else depth, urls.queue_of(url)
        path = extended(lease.path, hop, is_off_site=not self.scope.is_of_seeds(queue))
        return Offer(url, queue, score, deep, kind, lease.url, path)

    def without_id(self, url: str) -> str:
        """Return a canonical URL without ids of sessions, where the definition wants that."""
        return self.traps.sessions.without(url) if self.scope.drops_sessions else url

    def knows(self, url: str) -> bool:
        """Return whether a canonical URL was fetched, or is followed, as far as is remembered."""
        return self.traps.knows(url)

    def allows(self, url: str, word: str) -> bool:
        """Return whether the definition allows a URL by a pattern that names the word (``LinkJudge``)."""
        return self.scope.names(url, word)

    def trap(self, offer: Offer, of_page: str = "") -> str | None:
        """Return why a link to a page is a part of a trap: for where it stands (``of_page``), or where it leads."""
        if offer.kind != "page":
            return None
        is_trusted = is_chosen(offer.path)
        if of_page == Trap.SOFT_404 or (of_page and not is_trusted):
            return of_page
        return self.admit(offer.url, trusted=is_trusted, via=offer.via)

    def admit(self, url: str, *, trusted: bool, via: str) -> Trap | None:
        """Return why a URL is part of a trap (``Traps.admit``).

        What pages like it have brought does not count where the definition allows the URL by a pattern that names what
        tells such pages from others.
        """
        trap = self.traps.admit(url, trusted=trusted, via=via)
        if trap in (Trap.BARREN, Trap.REPEATED) and any(self.scope.names(url, word) for word in telling_words(url)):
            return None
        return trap


@dataclass(slots=True)
class Admitted:
    """Offers that a crawl wants, and by reason those that it does not."""

    offers: list[Offer] = field(default_factory=list)
    rejected: dict[str, list[Offer]] = field(default_factory=dict)

    def add(self, offers: Iterable[Offer], rules: LinkRules) -> list[Offer]:
        """Judge offers by scope and traps; return those that are wanted."""
        wanted = []
        for offer in offers:
            refusal = rules.scope.admit(offer) or rules.trap(offer)
            if refusal is None:
                wanted.append(offer)
            else:
                self.rejected.setdefault(refusal, []).append(offer)
        self.offers += wanted
        return wanted

    @property
    def counts(self) -> dict[str, float]:
        """The numbers of refused links, by statistic."""
        return {f"refused:{reason}": len(offers) for reason, offers in self.rejected.items()}


@dataclass(frozen=True, slots=True)
class DiscoveredLinks:
    """The links discovered in an answer: those offered, requisites included.

    ``pages`` are its links to pages in their order, and ``refused`` the positions of those that are not offered, by
    reason. ``redirect`` is what it redirects to, None where that is nothing or is refused. ``rejected`` are the offers
    of all kinds that the scope refuses, by reason, and ``counts`` what is to be added to the crawl's statistics.
    """

    offers: Sequence[Offer] = ()
    pages: Sequence[Link] = ()
    refused: Mapping[str, Sequence[int]] = field(default_factory=dict)
    redirect: str | None = None
    rejected: Mapping[str, Sequence[Offer]] = field(default_factory=dict)
    counts: Mapping[str, float] = field(default_factory=dict)


NO_LINKS = DiscoveredLinks()


def discover_links(
    lease: Lease,
    metadata: Metadata,
    rules: LinkRules,
    announced: Callable[[Iterable[str]], Iterable[Offer]] = lambda _: (),
    *,
    wants_requisites: bool = True,
) -> DiscoveredLinks:
    """Return what an answer leads to, as far as scope, traps and limits admit it.

    ``announced`` returns offers of those of some feeds that are to be asked for.
    """
    pages, needed, targets, frames, feeds = ([link for link in metadata.links if link.type is kind] for kind in _TYPES)
    offers, positions, rejected = _follow(lease, metadata, pages, rules)
    others = Admitted()
    onward = _redirects(lease, targets, rules)
    loops = bool(onward) and redirects_in_a_row(lease.path) >= MAX_REDIRECTS
    redirects = others.add(() if loops else onward, rules)
    others.add(_frames(lease, frames, rules), rules)
    others.add(announced([link.url for link in feeds]), rules)
    asked, bounded = _requisites(lease, metadata, needed, rules) if wants_requisites else ([], {})
    others.add(asked, rules)
    counts: dict[str, float] = {f"refused:{reason}": len(where) for reason, where in positions.items()}
    for offer in (*rejected.get(Trap.BARREN, ()), *rejected.get(Trap.REPEATED, ())):
        avoided = f"avoided:{rules.traps.barren(offer.url)}"
        counts[avoided] = counts.get(avoided, 0) + 1
    for name, number in others.counts.items():
        counts[name] = counts.get(name, 0) + number
    if loops:
        counts["refused:redirects"] = counts.get("refused:redirects", 0) + 1
        rejected["redirects"] = onward
    counts.update(bounded)
    counts.update({f"stream:{note}": 1 for note in metadata.stream})
    for reason, refused in others.rejected.items():
        rejected.setdefault(reason, []).extend(refused)
    redirect = redirects[0].url if redirects else None
    return DiscoveredLinks([*offers, *others.offers], pages, positions, redirect, rejected, counts)


def _follow(
    lease: Lease, metadata: Metadata, links: Sequence[Link], rules: LinkRules
) -> tuple[list[Offer], dict[str, list[int]], dict[str, list[Offer]]]:
    """Return the offers that links to pages become, and by reason the positions, and the offers, of those refused.

    Links of a source that is not wanted at all are no offers that another scope could admit. A link with a part that
    changes nothing counts as refused, and what it leads to without that part is offered.
    """
    after_others = _after_others(lease, metadata, links)
    source = SourceRefusal.SOURCE if metadata.source == "feed" and not rules.follows_feeds else None
    if metadata.score is not None and metadata.score < rules.follows_from:
        source = source or SourceRefusal.OFF_TOPIC
    offers: list[Offer] = []
    positions: dict[str, list[int]] = {}
    rejected: dict[str, list[Offer]] = {}
    for position, link in enumerate(links):
        shorter = rules.traps.shorter(link.url) if link.action is None else None
        if shorter is not None:
            positions.setdefault(Trap.COPY, []).append(position)
            copy = rules.offer(link.url, lease, link.score or 0.0, depth=lease.depth + 1, hop=_hop(metadata, link))
            rejected.setdefault(Trap.COPY, []).append(copy)
            if shorter == lease.url:
                continue
        url = shorter or link.url
        worth = 1.0 if link.action is not None else rules.traps.worth(url) * after_others.get(link.url, 1.0)
        offer = rules.offer(url, lease, worth * (link.score or 0.0), depth=lease.depth + 1, hop=_hop(metadata, link))
        unwanted = source or (SourceRefusal.NOFOLLOW if link.nofollow and rules.obeys_nofollow else None)
        refusal = unwanted or rules.scope.admit(offer, metadata.language) or rules.trap(offer, metadata.trap)
        if refusal is None:
            offers.append(offer)
            continue
        if shorter is None:
            positions.setdefault(refusal, []).append(position)
        if unwanted is None:
            rejected.setdefault(refusal, []).append(offer)
    return offers, positions, rejected


def _after_others(lease: Lease, metadata: Metadata, links: Sequence[Link]) -> Mapping[str, float]:
    """Return by what links of unknown software to its site are worth less that may be no pages: a few are tried."""
    if metadata.application is not None:
        return {}
    site = site_of(lease.url)
    return dict.fromkeys(doubtful(lease.url, (each.url for each in links if site_of(each.url) == site)), DOUBTFUL)


def _redirects(lease: Lease, targets: Sequence[Link], rules: LinkRules) -> list[Offer]:
    """Return what an answer redirects to: as it is where its spelling would be that of the page which redirects."""
    offers = []
    for link in targets:
        spelled = rules.scope.spelling(rules.without_id(link.url)) if lease.is_page else link.url
        url = link.url if spelled == lease.url else spelled
        offers.append(rules.offer(url, lease, lease.score, kind=lease.kind, hop=Hop.REDIRECT))
    return offers


def _frames(lease: Lease, frames: Sequence[Link], rules: LinkRules) -> list[Offer]:
    """Return the documents within a page, which are parts of it: as deep, and of the same priority.

    Of frames within frames ``MAX_FRAMES`` are followed.
    """
    if lease.path[-MAX_FRAMES:].upper() == Hop.FRAME * MAX_FRAMES:
        return []
    urls_of = (rules.scope.spelling(rules.without_id(link.url)) for link in frames)
    return [rules.offer(url, lease, lease.score, hop=Hop.FRAME) for url in urls_of if url != lease.url]


def media_of(metadata: Metadata, own: str) -> Mapping[str, None]:
    """Return the canonical URLs of the files that the objects of a page (``own``) consist of, in their order."""
    named = (value for each in metadata.objects for value in each.properties.get("media", ()))
    found = (urls.canonicalize(value.url) for value in named if isinstance(value, Reference))
    return dict.fromkeys(url for url in found if url is not None and url != own)


def _pictures_of(metadata: Metadata) -> frozenset[str]:
    """Return the files of the photographs of unknown software: the photograph is the object, its file is no second."""
    if metadata.application is not None:
        return frozenset()
    named = (value for each in metadata.objects if each.type == PHOTO for value in each.properties.get("media", ()))
    found = (urls.canonicalize(value.url) for value in named if isinstance(value, Reference))
    return frozenset(filter(None, found))


def _requisites(
    lease: Lease, metadata: Metadata, links: Sequence[Link], rules: LinkRules
) -> tuple[list[Offer], dict[str, float]]:
    """Return what is asked for to show an answer, and by statistic how much of it is left out.

    The files of its objects come first, whether or not the page shows them by itself. Those behind
    ``PROMPT`` are worth less than their page the farther back they are, so that pages come in between.
    """
    media = media_of(metadata, lease.url)
    pictures = _pictures_of(metadata)
    needed = [*media, *(link.url for link in links if link.url not in media)]
    name, bound = _bound(lease, metadata, rules)
    most = bound or len(needed)
    if lease.path[-MAX_IMPORTS:].upper() == Hop.REQUISITE * MAX_IMPORTS:
        most = 0
    asked = [
        rules.offer(
            url,
            lease,
            lease.score * min(1, PROMPT / place) ** 2,
            kind="requisite",
            hop=Hop.MEDIA if url in media and url not in pictures else Hop.REQUISITE,
        )
        for place, url in enumerate(needed[:most], 1)
    ]
    left = len(needed) - len(asked)
    return asked, {f"refused:{name}": left} if left else {}


def _bound(lease: Lease, metadata: Metadata, rules: LinkRules) -> tuple[str, int]:
    """Return the limit on what an answer asks for: its name, and its number, 0 for none."""
    if metadata.stream:
        return "parts_per_stream", rules.parts_per_stream
    if lease.is_page:
        return "requisites_per_page", rules.requisites_per_page
    return "requisites_per_style_sheet", rules.requisites_per_style_sheet


def _hop(metadata: Metadata, link: Link) -> Hop:
    if link.action is None or metadata.source in _SOURCES:
        return _SOURCES.get(metadata.source, Hop.LINK)
    return Hop.NAVIGATION if posted_by(link.url) is None else Hop.FORM


def is_chosen(path: str) -> bool:
    """Say whether the last hop to a page was a link that navigation of a known application chose."""
    return path[-1:].upper() == Hop.NAVIGATION
