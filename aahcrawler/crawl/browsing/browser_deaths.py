"""Whose pages end the browser, or their own process: sites that do so again and again are not looked at any more."""

from collections import OrderedDict
from typing import Final

from aahcrawler.browser.devtools.devtools_errors import DevToolsError, PageCrashedError
from aahcrawler.browser.network.upstream import BrowserRequest, RequestRefusedError
from aahcrawler.wire.relay import Relay

DEATHS: Final = 3
"""Deaths in a row for pages of a site after which its pages are not looked at any more."""
CRASHES: Final = 5
"""Times in a row that the browser ended, whatever the site, after which it is asked for a page of our own."""
MOST_SITES: Final = 10_000


class BrowserDeaths:
    """Counts deaths by site, and those of the browser in a row; its memory is bounded."""

    def __init__(self) -> None:
        self._sites: OrderedDict[str, int] = OrderedDict()
        self._crashes = 0

    def died(self, site: str, error: DevToolsError) -> None:
        """Note that a site's page ended its process, or the browser."""
        self._sites[site] = self._sites.pop(site, 0) + 1
        while len(self._sites) > MOST_SITES:
            self._sites.popitem(last=False)
        self._crashes = self._crashes + 1 if ends_browser(error) else 0

    def lived(self, site: str) -> None:
        """Note that a site's page was shown."""
        self._crashes = 0
        if self._sites.get(site, 0) < DEATHS:
            self._sites.pop(site, None)

    def is_barred(self, site: str) -> bool:
        """Return whether a site's pages are not looked at any more."""
        return self._sites.get(site, 0) >= DEATHS

    def is_doubtful(self, site: str) -> bool:
        """Return whether the browser ended so often that it may be to blame, and not the site."""
        return self._crashes >= CRASHES or (self._crashes > 0 and self._sites.get(site) == DEATHS)

    def forgive(self) -> None:
        """Note that the browser itself is in order."""
        self._crashes = 0


def ends_browser(error: Exception) -> bool:
    """Return whether it was the browser that ended, and not a page's process alone."""
    return isinstance(error, DevToolsError) and not isinstance(error, PageCrashedError)


class OwnPage:
    """A page that harms no browser, as an upstream (``Upstream``): nothing of it goes to the network."""

    URL: Final = "http://page.invalid/"

    async def answer(self, request: BrowserRequest, relay: Relay) -> None:
        """See ``Upstream.answer``."""
        if request.url != self.URL:
            raise RequestRefusedError("scope")
        body = b"<!doctype html><title>A page</title><p>A page."
        relay.begin(200, "OK", (("Content-Type", "text/html"), ("Content-Length", str(len(body)))))
        relay.take(body)
