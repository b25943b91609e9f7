"""Links that stand on no page: in feeds, sitemaps and documents."""

from dataclasses import dataclass, field, replace

from aahcrawler.helper.assistance import Refused
from aahcrawler.helper.sites import Sites
from aahcrawler.helper.unknown_addresses import junk
from online_analysis.document import Outlink


@dataclass
class Listing:
    """Takes links in the form that the application of their site calls canonical, where it is known, each once.

    Junk is refused: what the application calls so, else what its words say.
    """

    sites: Sites
    outlinks: dict[str, Outlink] = field(default_factory=dict)
    refused: dict[str, Refused] = field(default_factory=dict)

    def add(self, link: Outlink) -> None:
        """Take a link, or refuse it."""
        application = self.sites.application(link.url)
        verdict = self.sites.verdict(application, link.url) if application is not None else None
        url = link.url if verdict is None else verdict.url
        reason = junk(url) if verdict is None else verdict.reason
        if reason is not None:
            self.refused.setdefault(url, Refused(url, reason))
        elif url not in self.outlinks:
            self.outlinks[url] = link if url == link.url else replace(link, url=url)
