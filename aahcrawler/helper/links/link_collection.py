"""Collect links that have no place on a page: those of feeds, sitemaps and documents."""

from dataclasses import dataclass, field, replace

from aahcrawler.helper.assistance import Refused
from aahcrawler.helper.links.link_refusals import refusal
from aahcrawler.helper.site_memory.sites import Sites
from online_analysis.document import Outlink


@dataclass
class LinkCollector:
    """Collects links in the canonical form of the application of their site, if known, each once.

    Junk is refused: URLs that the application calls junk, else those whose words suggest it.
    """

    sites: Sites
    outlinks: dict[str, Outlink] = field(default_factory=dict)
    refused: dict[str, Refused] = field(default_factory=dict)

    def add(self, link: Outlink) -> None:
        """Take a link, or refuse it."""
        url = self.sites.judge.without_id(link.url)
        application = self.sites.application(url)
        verdict = self.sites.verdict(application, url) if application is not None else None
        url = url if verdict is None else verdict.url
        reason = refusal(url, self.sites.judge) if verdict is None else verdict.reason
        if reason is not None:
            self.refused.setdefault(url, Refused(url, reason))
        elif url not in self.outlinks:
            self.outlinks[url] = link if url == link.url else replace(link, url=url)
