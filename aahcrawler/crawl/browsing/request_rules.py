"""Which requests of a page are made: those that the crawl would make for its requisites."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from aahcrawler.browser.network.upstream import BrowserRequest, RequestRefusedError
from aahcrawler.crawl.core.context import CurrentContext
from aahcrawler.crawl.core.domain_budgets import DomainBudgetError, DomainBudgets
from aahcrawler.crawl.core.lifecycle import Lifecycle
from aahcrawler.crawl.core.limits import is_too_large
from aahcrawler.crawl.core.site_sessions import SiteSessions
from aahcrawler.frontier.hops import Hop, extended
from aahcrawler.frontier.protocol import Lease
from aahcrawler.page import Headers
from aahcrawler.urls import queue_of

SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS"})
"""Methods that change nothing at a site (RFC 9110, section 9.2.1)."""
LARGE_FILE: Final = "requisite_file_bytes"


@dataclass(frozen=True, slots=True)
class RequestRules:
    """Judges requests by the definition as it is at that moment. Traps are for pages alone."""

    context: CurrentContext
    lifecycle: Lifecycle
    sessions: SiteSessions
    budgets: DomainBudgets

    def as_requisite(self, page: Lease, url: str) -> Lease:
        """Return a URL that a page asks for as the lease that a requisite of it would be."""
        queue = queue_of(url)
        is_off_site = not self.context.now.scope.is_of_seeds(queue)
        path = extended(page.path, Hop.REQUISITE, is_off_site=is_off_site)
        return replace(page, url=url, queue=queue, kind="requisite", via=page.url, path=path)

    def check(self, request: BrowserRequest, wanted: Lease, made: int, allows: frozenset[str]) -> None:
        """Raise ``RequestRefusedError`` where a request is not to be made after those ``made`` in this visit.

        ``allows`` are the methods beyond ``SAFE`` that may be used.
        """
        limits = self.context.now.icd.limits
        if request.method.upper() not in SAFE | allows:
            raise RequestRefusedError("method")
        if (refusal := self.context.now.scope.admit(wanted)) is not None:
            raise RequestRefusedError(refusal)
        if self.sessions.ends_session(wanted.url):
            raise RequestRefusedError("logout")
        if self.lifecycle.requisites_spent:
            raise RequestRefusedError("requisite_bytes")
        if 0 < limits.requisites_per_page <= made:
            raise RequestRefusedError("requisites_per_page")
        try:
            self.budgets.check(wanted)
        except DomainBudgetError as error:
            raise RequestRefusedError(error.reason) from None

    def unwanted(self, wanted: Lease, status: int, fields: Sequence[tuple[str, str]]) -> str:
        """Return by the head of an answer why its body is not wanted, empty where it is."""
        if not 200 <= status < 300:
            return ""
        head, context = Headers(tuple(fields)), self.context.now
        if is_too_large(context.icd.limits, "requisite", head):
            return LARGE_FILE
        return context.scope.admit_type(wanted, head.media_type) or ""
