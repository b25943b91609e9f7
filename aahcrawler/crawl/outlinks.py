"""Where an answer leads: its links as offers to the frontier, as far as the crawl wants them."""

from collections.abc import Iterable, Sequence

from aahcrawler.crawl.job import Job
from aahcrawler.crawl.recrawl import Visit
from aahcrawler.crawl.tally import Tally
from aahcrawler.frontier.protocol import Lease, Offer
from aahcrawler.metadata import Link, LinkType, Metadata

MOST_REDIRECTS = 20
"""How many redirects in a row are followed, as by browsers (WHATWG Fetch, section 4.4)."""


class Outlinks:
    """Turns links into offers; every one that is refused is counted by its reason."""

    def __init__(self, job: Job) -> None:
        self._job = job

    def offers(self, lease: Lease, visit: Visit, said: Metadata, tally: Tally) -> list[Offer]:
        """Return what an answer leads to, as far as scope and limits admit it; errors lead nowhere."""
        if visit.page.status >= 400:
            return []
        job = self._job
        followed, needed, redirected = (
            [link for link in said.links if link.type is kind]
            for kind in (LinkType.PAGE, LinkType.REQUISITE, LinkType.REDIRECT)
        )
        if job.understanding.scope.admit_language(said.language) is not None:
            tally.add("refused:language", len(followed))
            followed = []
        offers = [job.offer(link.url, lease, link.score or 0.0, depth=lease.depth + 1) for link in followed]
        offers += self._redirect(lease, redirected, tally)
        if not job.requisites_spent:
            offers += [job.offer(link.url, lease, lease.score, kind="requisite") for link in needed]
        return list(self._admitted(offers, tally))

    def _redirect(self, lease: Lease, targets: Sequence[Link], tally: Tally) -> list[Offer]:
        if targets and lease.redirects >= MOST_REDIRECTS:
            tally.add("refused:redirects")
            return []
        redirects = lease.redirects + 1
        return [self._job.offer(to.url, lease, lease.score, kind=lease.kind, redirects=redirects) for to in targets]

    def _admitted(self, offers: Iterable[Offer], tally: Tally) -> Iterable[Offer]:
        scope = self._job.understanding.scope
        for offer in offers:
            is_page = offer.kind == "page"
            refusal = scope.admit(offer.url, offer.queue, offer.depth) if is_page else scope.admit_requisite(offer.url)
            if refusal is None:
                yield offer
            else:
                tally.add(f"refused:{refusal}")
