"""Fetch a page into a work with a crawl's politeness, and record what the entry reads on it."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlsplit

from aahcrawler import urls
from aahcrawler.editor.drafts.draft_state import DraftEditError
from aahcrawler.editor.drafts.opened_draft import OpenedDraft
from aahcrawler.editor.entries.entry_files import Entry
from aahcrawler.editor.entries.staging import staged
from aahcrawler.editor.pages.page_capture import kept_headers
from aahcrawler.editor.pages.page_source import FetchError, fetch_page
from aahcrawler.editor.pages.saved_pages import Expectation, header_lines, understood
from aahcrawler.helper import ApplicationAwareHelper
from aahcrawler.page import Page
from aahcrawler.wire.client import IpPolicy
from aahcrawler.wire.ip_policy import Network
from aahcrawler.wire.polite_client import DelayError, Turns
from knowledge_base.loader import LoadError
from knowledge_base.model import KnowledgeBase
from online_analysis.icd import Icd

MAX_WAIT: Final = 30.0
"""Seconds that somebody waits for the turn of a page."""
_PAGE_STATUS: Final = 200


def reading(page: Page, knowledge_base: KnowledgeBase) -> Expectation:
    """Return what a knowledge base reads on a page as an expectation, with the header fields that it depends on.

    Drafts are read as if they were confirmed, so that their gaps are visible.
    """
    found = understood(page, ApplicationAwareHelper(knowledge_base.confirmed).assist(page))
    fetched = page.fetched_at.replace(microsecond=0)
    return found.model_copy(update={"headers": header_lines(kept_headers(page, knowledge_base)), "fetched": fetched})


def read_now(work: OpenedDraft, page: Page) -> Expectation:
    """Return what the present entry of a work reads on a page. Raise `DraftEditError` if it is invalid."""
    state = work.now()
    try:
        with staged(Entry(work.name, state.text.data), work.folders) as stage:
            return reading(page, stage.knowledge_base)
    except LoadError as error:
        raise DraftEditError(f"the entry is not valid yet, so nothing is read: {error.problems[0]}") from error


class PageFetchError(DraftEditError):
    """The page was not fetched; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class Manners:
    """How pages are fetched: the ``contact`` in requests, and the seconds between two pages of a host.

    Hosts on private networks are only contacted in the networks of ``allow_private``. ``resolve`` maps host names to IP
    addresses, as a definition does. For a crawl ``by_proxy`` nothing is fetched, as no proxy is used here.
    """

    contact: str
    allow_private: tuple[Network, ...] = ()
    delay: float = 1.0
    resolve: Mapping[str, str] = field(default_factory=dict)
    by_proxy: bool = False

    @classmethod
    def of(cls, icd: Icd) -> "Manners":
        """Return those of a crawl."""
        resolve = {host: str(endpoint) for host, endpoint in icd.network.resolve.items()}
        sections = (icd.network.proxy, *(host.proxy for host in icd.network.hosts.values()))
        by_proxy = any(section is not None and not section.is_direct for section in sections)
        return cls(icd.contact, icd.network.allow_private, icd.politeness.delay.total_seconds(), resolve, by_proxy)


class PageFetching:
    """Fetches pages, one at a time from each host. A program uses one instance for all works."""

    def __init__(
        self, clock: Callable[[], float] = time.monotonic, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self._turns, self._sleep = Turns(clock), sleep

    def page(self, url: str, manners: Manners) -> Page:
        """Return the page at a URL, redirects followed. Raises `PageFetchError`."""
        address = urls.canonicalize(url.strip())
        if address is None:
            raise PageFetchError("write an address that begins with http:// or https://")
        if manners.by_proxy:
            raise PageFetchError("this crawl fetches by a proxy, which is not used here; have the crawl fetch the page")
        host = urlsplit(address).netloc
        try:
            wait = self._turns.reserve(host, manners.delay, MAX_WAIT)
        except DelayError as error:
            raise PageFetchError(f"many pages of {host} are wanted just now; try again in a minute") from error
        if wait:
            self._sleep(wait)
        policy = IpPolicy(manners.allow_private, manners.resolve)
        try:
            page = fetch_page(address, contact=manners.contact, addresses=policy)
        except FetchError as error:
            raise PageFetchError(str(error)) from error
        if page.status != _PAGE_STATUS:
            raise PageFetchError(f"{page.url} answers {page.status}: there is no page to look at; check the address")
        if not page.is_html:
            raise PageFetchError(f"{page.url} is {page.media_type or 'of no known sort'}, not HTML; give another page")
        if not page.complete:
            raise PageFetchError(f"{page.url} is too large to be a page of an entry; give a shorter one")
        return page


def fetch_into(work: OpenedDraft, url: str, who: str, fetching: PageFetching, manners: Manners) -> str:
    """Add the page at a URL to a work, with what the work's entry reads on it; return its name.

    Raises `PageFetchError`, and `DraftEditError` where the page cannot be added.
    """
    page = fetching.page(url, manners)
    return work.add_page(page, read_now(work, page), who)
