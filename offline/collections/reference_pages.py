"""Gets what a definition is made of: versions and histories from a wiki's API, and the pages that are referred to.

References come from an archive or from the live web. On the web each site's robots.txt is obeyed and one page is asked
for after the other. The API of a wiki is made for programs and no part of what its robots.txt speaks of: of that its
etiquette is kept, a User-Agent with a contact, one request at a time, ``maxlag``.
"""

import json
import tempfile
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Final, Self
from urllib.parse import parse_qs, quote, unquote, urlencode, urlsplit

from aahcrawler.captures.archived_captures import ArchivedCaptures
from aahcrawler.helper import ApplicationAwareHelper
from aahcrawler.page import Page
from aahcrawler.pipeline.score import understand
from aahcrawler.urls import canonicalize
from aahcrawler.wire.client import IpPolicy, Limits, Timeouts, WireClient, WireSettings
from aahcrawler.wire.polite_client import Manners, NotFetchedError, PoliteClient, TooManyRedirectsError
from knowledge_base.file_selection import folders_for
from knowledge_base.loader import load
from offline.collections.edit_history import EditHistory, Revision, history_of
from offline.collections.event_page import CitedPage, EventPage, read_event_page
from online_analysis.document import Document
from online_analysis.icd import Politeness, user_agent

PAGE_BYTES: Final = 10_000_000
HISTORY_ANSWERS: Final = 2_000
"""Answers of 500 versions each that are asked for; no page of Wikipedia has as many."""
_TIMEOUTS: Final = Timeouts(connect=15.0, first_byte=30.0, idle=20.0, total=90.0)


class FetchingError(Exception):
    """Raised where a wiki cannot be asked; the message names the address and says what to do."""


@dataclass(frozen=True, slots=True)
class HadReference:
    """A page that is referred to, as it was had: ``document`` has its text and dates, in the state of its capture."""

    cited: CitedPage
    document: Document


class ReferenceReader:
    """Reads pages as a crawl does, with the knowledge base of the user, so that their scores can be compared."""

    def __init__(self) -> None:
        self._helper = ApplicationAwareHelper(load(*folders_for(Path()))).comparing_drafts()

    def document(self, page: Page) -> Document | None:
        """Return the document of an HTML page with some text, None for others."""
        if page.status != 200 or not page.is_html:
            return None
        document = understand(page, self._helper, lambda url: url).document
        return document if document.text.strip() else None


def archived_references(
    archive: Path, cited: Sequence[CitedPage], event: datetime, read: ReferenceReader
) -> Iterator[HadReference]:
    """Yield those references that an archive holds: the first capture after the event began, else the last before.

    The archive is the folder of a crawl or an import. Raises ``SegmentError``.
    """
    with ArchivedCaptures(archive) as captures:
        for each in cited:
            held = [found for found in captures.of_url(each.url) if found.status == 200 and found.shows_target]
            later = [found for found in held if found.date >= event]
            for capture in (*later, *reversed(held[: len(held) - len(later)])):
                page = capture.page
                document = None if page is None else read.document(replace(page, memento=True))
                if document is not None:
                    yield HadReference(each, document)
                    break


@dataclass(frozen=True, slots=True)
class WikiAddress:
    """The page of a wiki whose API is where Wikipedia has it: beside ``/wiki/TITLE`` at ``/w/api.php``."""

    url: str
    api: str
    title: str

    @classmethod
    def parse(cls, url: str) -> Self:
        """Return the address of a page; raise ``FetchingError`` for what is none."""
        address = canonicalize(url) or ""
        parts = urlsplit(address)
        title = unquote(parts.path.removeprefix("/wiki/")) if parts.path.startswith("/wiki/") else ""
        title = title or next(iter(parse_qs(parts.query).get("title", ())), "")
        if not address or not title:
            raise FetchingError(f"{url}: is no page of a wiki; write https://en.wikipedia.org/wiki/TITLE")
        site = f"{parts.scheme}://{parts.netloc}"
        return cls(f"{site}/wiki/{quote(title)}", f"{site}/w/api.php", title.replace("_", " "))


class Fetching:
    """Fetches from wikis and from the sites that they refer to, one page at a time. ``tell`` is told what is asked."""

    def __init__(self, api: PoliteClient, sites: PoliteClient, tell: Callable[[str], object]) -> None:
        self._api = api
        self._sites = sites
        self._tell = tell

    async def history(self, wiki: WikiAddress) -> EditHistory:
        """Return the history of a page: the time and number of all its versions. Raises ``FetchingError``."""
        answers: list[object] = []
        goes_on: dict[str, str] = {}
        while len(answers) < HISTORY_ANSWERS:
            asked = {"action": "query", "prop": "revisions", "titles": wiki.title, "rvprop": "ids|timestamp"}
            answer = await self._ask(wiki, {**asked, "rvlimit": "max", **goes_on})
            answers.append(answer)
            following = answer.get("continue")
            goes_on = (
                {str(name): str(value) for name, value in following.items()} if isinstance(following, dict) else {}
            )
            if not goes_on:
                break
        return history_of(answers)

    async def version(self, wiki: WikiAddress, revision: Revision | None) -> EventPage:
        """Return a version of a page, the present one for None. Raises ``FetchingError`` and ``EventPageError``."""
        which = {"page": wiki.title} if revision is None else {"oldid": str(revision.number)}
        answer = await self._ask(wiki, {"action": "parse", "prop": "text|revid", **which})
        return read_event_page(json.dumps(answer).encode(), wiki.url)

    async def references(self, cited: Iterable[CitedPage], read: ReferenceReader) -> Sequence[HadReference]:
        """Return those references that sites still have, where their robots.txt allows to ask for them."""
        found = []
        for each in cited:
            self._tell(each.url)
            try:
                page = await self._sites.final_page(each.url)
            except (*NotFetchedError, TooManyRedirectsError) as error:
                self._tell(f"  {error}")
                continue
            document = read.document(page)
            if document is not None:
                found.append(HadReference(each, document))
        return found

    async def _ask(self, wiki: WikiAddress, asked: dict[str, str]) -> dict[str, object]:
        parameters = {**asked, "format": "json", "formatversion": "2", "maxlag": "5"}
        url = f"{wiki.api}?{urlencode(sorted(parameters.items()))}"
        self._tell(url)
        try:
            page = await self._api.final_page(canonicalize(url) or url)
            answer = json.loads(page.body)
        except (*NotFetchedError, TooManyRedirectsError) as error:
            raise FetchingError(f"{url}: {error}; save the page and its history, and give the files") from error
        except (ValueError, RecursionError):
            raise FetchingError(f"{url}: did not answer in JSON; is it the API of MediaWiki?") from None
        problem = answer.get("error") if isinstance(answer, dict) else "no object"
        if problem or not isinstance(answer, dict):
            said = problem.get("info", problem) if isinstance(problem, dict) else problem
            raise FetchingError(f"{url}: {str(said)[:300]}; check the title, or try again later")
        return answer


@asynccontextmanager
async def fetching(
    contact: str, politeness: Politeness, tell: Callable[[str], object], *, allow_private: bool = False
) -> AsyncIterator[Fetching]:
    """Open what fetches, for as long as the block lasts. ``contact`` is told to everyone who is asked."""
    headers = {"User-Agent": user_agent(contact), "Accept": "text/html,application/json;q=0.9,*/*;q=0.8"}
    manners = Manners(headers, PAGE_BYTES)
    with tempfile.TemporaryDirectory(prefix="aah-") as spool:
        limits = Limits(body_bytes=PAGE_BYTES, payload_bytes=PAGE_BYTES)
        client = WireClient(WireSettings(Path(spool), IpPolicy(allow_private), _TIMEOUTS, limits))
        try:
            of_api = politeness.model_copy(update={"robots": "ignore"})
            yield Fetching(PoliteClient(client, of_api, manners), PoliteClient(client, politeness, manners), tell)
        finally:
            await client.close()
