"""Obtain what a definition is made from: versions and histories from a wiki's API, and the pages referred to.

References come from an archive or from the live web. On the web each site's robots.txt is obeyed and one page is
requested after the other. A wiki's API is made for programs, and its robots.txt does not concern it; its etiquette is
followed: a User-Agent with a contact, one request at a time, ``maxlag``.

Klein, Balakireva and Van de Sompel (WebSci 2018, section 3.1) use the version at the change point of the edit frequency
as the one that describes the event: later versions tell of its consequences and of similar events. Histories are
responses of MediaWiki's API (``action=query&prop=revisions``), in either of its JSON formats.
"""

import json
import tempfile
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final, Self
from urllib.parse import parse_qs, quote, unquote, urlencode, urlsplit

import numpy as np
from numpy.typing import NDArray

from aahcrawler.captures.archived_captures import ArchivedCaptures
from aahcrawler.helper import ApplicationAwareHelper
from aahcrawler.page import Page
from aahcrawler.pipeline.analysis import understand
from aahcrawler.urls import canonicalize
from aahcrawler.wire.client import IpPolicy, Limits, Timeouts, WireClient, WireSettings
from aahcrawler.wire.polite_client import Manners, NotFetchedError, PoliteClient, TooManyRedirectsError
from knowledge_base.file_selection import folders_for
from knowledge_base.loader import load
from offline.collections.event_page import CitedPage, EventPage, read_event_page
from online_analysis.document import Document
from online_analysis.icd import Politeness, user_agent

MAX_BYTES: Final = 500_000_000
"""The most bytes of a file of revisions; a longer one is refused."""
MIN_DAYS: Final = 4
"""The fewest days of a history that can show a change: two on each side, whose variance is needed."""
MIN_VARIANCE: Final = 1 / 12
"""The variance due to rounding: edits a day are whole numbers, so no two days are exactly alike."""
_FIRST: Final = datetime(1995, 1, 1, tzinfo=UTC)
"""No wiki has edits before the first wiki began (WikiWikiWeb, 1995)."""
_DAY: Final = timedelta(days=1)


class HistoryError(Exception):
    """Raised for a file without revisions; the message names the file and the remedy."""


@dataclass(frozen=True, slots=True, order=True)
class Revision:
    """A version of a page: ``saved`` is aware and in UTC, ``number`` its id."""

    saved: datetime
    number: int


@dataclass(frozen=True, slots=True)
class EditHistory:
    """The versions of a page in the order in which they were saved; ``unread`` counts those without a usable time."""

    revisions: tuple[Revision, ...]
    unread: int = 0

    def change_point(self) -> datetime | None:
        """Return the moment after which the page was edited less: the end of a day; None if there is none yet."""
        if not self.revisions:
            return None
        first = self.revisions[0].saved.date()
        days = np.array([(each.saved.date() - first).days for each in self.revisions])
        counts = np.bincount(days).astype(np.float64)
        before = change_of(counts)
        if before is None or counts[before:].mean() >= counts[:before].mean():
            return None
        midnight = datetime(first.year, first.month, first.day, tzinfo=UTC)
        return midnight + before * _DAY - timedelta(seconds=1)

    def current_at(self, moment: datetime) -> Revision | None:
        """Return the version that readers saw at a moment; None before the first one."""
        return next((each for each in reversed(self.revisions) if each.saved <= moment), None)


def change_of(values: NDArray[np.float64]) -> int | None:
    """Return how many values precede the one change in mean and variance of a normal series; None without a change.

    This is ``cpt.meanvar`` of R's package *changepoint* (Killick and Eckley 2014) for at most one change, with the
    modified Bayesian information criterion (Zhang and Siegmund 2007): the likelihood must gain ``3 ln n`` and the
    logarithms of both lengths. Linear in the number of values.
    """
    n = len(values)
    if n < MIN_DAYS:
        return None
    before = np.arange(2, n - 1)
    sums: NDArray[np.float64] = np.cumsum(values)
    squares: NDArray[np.float64] = np.cumsum(values * values)
    cost = _cost(sums[before - 1], squares[before - 1], before) + _cost(
        sums[-1] - sums[before - 1], squares[-1] - squares[before - 1], n - before
    )
    best = int(cost.argmin())
    penalty = 3 * np.log(n) + np.log(before[best]) + np.log(n - before[best] + 1)
    whole = _cost(sums[-1:], squares[-1:], np.array([n]))[0]
    return int(before[best]) if whole - cost[best] >= penalty else None


def _cost(total: NDArray[np.float64], squares: NDArray[np.float64], n: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return twice the negative log-likelihood of series, without the terms that all have in common."""
    variance = np.maximum(squares / n - (total / n) ** 2, MIN_VARIANCE)
    return np.asarray(n * np.log(variance), np.float64)


def read_history(files: Iterable[Path]) -> EditHistory:
    """Read API responses, one or several JSON values in each file, in any order. Raises ``HistoryError``."""
    return read_histories({str(file): _content(file) for file in files})


def read_histories(contents: Mapping[str, bytes]) -> EditHistory:
    """Read the contents of such files by their names. Raises ``HistoryError``."""
    found: dict[int, Revision] = {}
    unread = 0
    for name, content in contents.items():
        for response in _responses(name, content):
            for written in revisions_in(response):
                revision = _revision(written)
                if revision is None:
                    unread += 1
                else:
                    found[revision.number] = revision
    if not found:
        raise HistoryError(
            f"{', '.join(contents)}: no revisions; save answers of api.php?action=query&prop=revisions as JSON"
        )
    return EditHistory(tuple(sorted(found.values())), unread)


def history_of(responses: Iterable[object]) -> EditHistory:
    """Return the history in API responses; it may be empty."""
    found = [_revision(written) for response in responses for written in revisions_in(response)]
    usable = {each.number: each for each in found if each is not None}
    return EditHistory(tuple(sorted(usable.values())), found.count(None))


def revisions_in(response: object) -> Iterator[dict[str, Any]]:
    """Yield the revisions in an API response as written there; none if it has none."""
    if isinstance(response, list):
        for each in response:
            yield from revisions_in(each)
        return
    query = response.get("query") if isinstance(response, dict) else None
    pages = query.get("pages") if isinstance(query, dict) else None
    listed: Sequence[object] = (
        tuple(pages.values()) if isinstance(pages, dict) else pages if isinstance(pages, list) else ()
    )
    for page in listed:
        revisions = page.get("revisions") if isinstance(page, dict) else None
        yield from (each for each in revisions or () if isinstance(each, dict))


def _revision(written: dict[str, Any]) -> Revision | None:
    number, saved = written.get("revid"), written.get("timestamp")
    if not isinstance(number, int) or isinstance(number, bool) or not isinstance(saved, str):
        return None
    try:
        moment = datetime.fromisoformat(saved).astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    return Revision(moment, number) if _FIRST <= moment <= datetime.now(UTC) + _DAY else None


def _content(file: Path) -> bytes:
    try:
        if file.stat().st_size > MAX_BYTES:
            raise HistoryError(f"{file}: has more than {MAX_BYTES:,} bytes; ask the API for ids and timestamps alone")
        return file.read_bytes()
    except OSError as error:
        raise HistoryError(f"{file}: cannot be read ({' '.join(str(error).split())[:200]})") from error


def _responses(name: str, content: bytes) -> Iterator[object]:
    try:
        text = content.decode("utf-8-sig").lstrip()
        decoder, at = json.JSONDecoder(), 0
        while at < len(text):
            value, at = decoder.raw_decode(text, at)
            yield value
            at += len(text[at : at + 1000]) - len(text[at : at + 1000].lstrip())
    except (ValueError, RecursionError) as error:
        advice = "save answers of api.php?action=query&prop=revisions&format=json"
        raise HistoryError(
            f"{name}: cannot be read as JSON ({' '.join(str(error).split())[:200]}); {advice}"
        ) from error


PAGE_BYTES: Final = 10_000_000
HISTORY_RESPONSES: Final = 2_000
"""How many responses of 500 versions each are requested; no page of Wikipedia has as many."""
_TIMEOUTS: Final = Timeouts(connect=15.0, first_byte=30.0, idle=20.0, total=90.0)


class FetchingError(Exception):
    """Raised when a wiki cannot be queried; the message names the URL and the remedy."""


@dataclass(frozen=True, slots=True)
class HadReference:
    """A reference that could be obtained: ``document`` has its text and dates as of its capture."""

    cited: CitedPage
    document: Document


class ReferenceReader:
    """Reads pages as a crawl does, with the user's knowledge base, so that scores are comparable."""

    def __init__(self) -> None:
        self._helper = ApplicationAwareHelper(load(*folders_for(Path()))).comparing_drafts()

    def document(self, page: Page) -> Document | None:
        """Return the document of an HTML page with some text; None for other pages."""
        if page.status != 200 or not page.is_html:
            return None
        document = understand(page, self._helper, lambda url: url).document
        return document if document.text.strip() else None


def archived_references(
    archive: Path, cited: Sequence[CitedPage], event: datetime, read: ReferenceReader
) -> Iterator[HadReference]:
    """Yield the references that an archive has: the first capture after the event began, else the last before.

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
    """The URL of a wiki page and its wiki's API, at the same place as Wikipedia's: ``/w/api.php``."""

    url: str
    api: str
    title: str

    @classmethod
    def parse(cls, url: str) -> Self:
        """Return the address of a wiki page. Raises ``FetchingError`` for any other URL."""
        address = canonicalize(url) or ""
        parts = urlsplit(address)
        title = unquote(parts.path.removeprefix("/wiki/")) if parts.path.startswith("/wiki/") else ""
        title = title or next(iter(parse_qs(parts.query).get("title", ())), "")
        if not address or not title:
            raise FetchingError(f"{url}: is no page of a wiki; write https://en.wikipedia.org/wiki/TITLE")
        site = f"{parts.scheme}://{parts.netloc}"
        return cls(f"{site}/wiki/{quote(title)}", f"{site}/w/api.php", title.replace("_", " "))


class Fetching:
    """Fetches from wikis and from the sites to which they refer, one page at a time. ``tell`` is called before each."""

    def __init__(self, api: PoliteClient, sites: PoliteClient, tell: Callable[[str], object]) -> None:
        self._api = api
        self._sites = sites
        self._tell = tell

    async def history(self, wiki: WikiAddress) -> EditHistory:
        """Return the history of a page: the time and number of all its versions. Raises ``FetchingError``."""
        responses: list[object] = []
        goes_on: dict[str, str] = {}
        while len(responses) < HISTORY_RESPONSES:
            asked = {"action": "query", "prop": "revisions", "titles": wiki.title, "rvprop": "ids|timestamp"}
            response = await self._ask(wiki, {**asked, "rvlimit": "max", **goes_on})
            responses.append(response)
            following = response.get("continue")
            goes_on = (
                {str(name): str(value) for name, value in following.items()} if isinstance(following, dict) else {}
            )
            if not goes_on:
                break
        return history_of(responses)

    async def version(self, wiki: WikiAddress, revision: Revision | None) -> EventPage:
        """Return a version of a page, the current one for None. Raises ``FetchingError`` and ``EventPageError``."""
        which = {"page": wiki.title} if revision is None else {"oldid": str(revision.number)}
        response = await self._ask(wiki, {"action": "parse", "prop": "text|revid", **which})
        return read_event_page(json.dumps(response).encode(), wiki.url)

    async def references(self, cited: Iterable[CitedPage], read: ReferenceReader) -> Sequence[HadReference]:
        """Return the references that sites still have, as far as their robots.txt allows fetching them."""
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
            response = json.loads(page.body)
        except (*NotFetchedError, TooManyRedirectsError) as error:
            raise FetchingError(f"{url}: {error}; save the page and its history, and give the files") from error
        except (ValueError, RecursionError):
            raise FetchingError(f"{url}: did not answer in JSON; is it the API of MediaWiki?") from None
        problem = response.get("error") if isinstance(response, dict) else "no object"
        if problem or not isinstance(response, dict):
            said = problem.get("info", problem) if isinstance(problem, dict) else problem
            raise FetchingError(f"{url}: {str(said)[:300]}; check the title, or try again later")
        return response


@asynccontextmanager
async def fetching(
    contact: str, politeness: Politeness, tell: Callable[[str], object], *, allow_private: bool = False
) -> AsyncIterator[Fetching]:
    """Open a ``Fetching`` for the duration of the block. ``contact`` is sent to every server."""
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
