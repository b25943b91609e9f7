"""Reference documents that an ICD gives by URL, fetched before the crawl begins."""

import asyncio
import tempfile
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from math import inf
from pathlib import Path

from aahcrawler import urls
from aahcrawler.archive.target import target_mistakes
from aahcrawler.crawl.fetch.client_settings import connection_mistakes, request_headers, wire_settings
from aahcrawler.exchange import Exchange
from aahcrawler.helper import ApplicationAwareHelper
from aahcrawler.page import Page
from aahcrawler.page.generic import main_content
from aahcrawler.wire.client import WireClient, WireError
from aahcrawler.wire.polite_client import Manners, PoliteClient, TooManyRedirectsError
from knowledge_base.model import KnowledgeBase
from online_analysis.icd import Icd, IcdError, Mistake

PATIENCE = 2
"""A document may take this many times ``politeness.timeout``: somebody waits for the crawl to begin."""
MIN_WORDS = 3
"""A document with fewer words says nothing about a topic."""


Read = Callable[[Page], str]


@dataclass(slots=True)
class Fetched:
    """Texts by the URL that the ICD gives, and a mistake for each document that could not be had."""

    texts: dict[str, str] = field(default_factory=dict)
    mistakes: list[Mistake] = field(default_factory=list)


class _UnusableError(Exception):
    """A document that is of no use; the message completes "the document ..."."""


@dataclass(frozen=True, slots=True)
class Checked:
    """The mistakes of a definition, and which of its secrets and certificates this machine has not, or cannot use."""

    mistakes: tuple[Mistake, ...] = ()
    missing: tuple[Mistake, ...] = ()


def check(path: Path, *, fetch: bool) -> Checked:
    """Check an ICD file; with ``fetch`` reference documents are asked for as well, unless anything is missing here."""
    try:
        icd = Icd.load(path)
    except IcdError as error:
        return Checked(error.mistakes)
    found = Checked(target_mistakes(icd), connection_mistakes(icd))
    if found.mistakes or found.missing or not fetch:
        return found
    with tempfile.TemporaryDirectory(prefix="aah-") as spool:
        return Checked(tuple(fetch_documents(icd, Path(spool), lambda _: None).mistakes))


def reader(knowledge_base: KnowledgeBase) -> Read:
    """Return what reads a reference document as the pages of a crawl are read, which are compared with it.

    Where that finds no content, as on a form of a known application, it is the page's text all the same.
    """
    helper = ApplicationAwareHelper(knowledge_base).comparing_drafts()

    def read(page: Page) -> str:
        document = helper.assist(page).document
        text = document.text if document.parts or document.rest else ""
        return text if len(text.split()) >= MIN_WORDS else main_content(page)

    return read


def fetch_documents(icd: Icd, spool: Path, keep: Callable[[Exchange], object], read: Read = main_content) -> Fetched:
    """Fetch the reference documents of an ICD one after another.

    ``keep`` is given every exchange, and ``read`` says what stands on an HTML page. Documents are named by a person, so
    robots.txt, which speaks to crawlers that follow links, is not asked. The caller's event loop, whether it runs or is
    going to, is left alone: a thread with a loop of its own does the work. Ctrl-C ends it at once.
    """
    if not icd.document_urls():
        return Fetched()
    begun: Future[Callable[[], object]] = Future()

    async def fetch() -> Fetched:
        task, loop = asyncio.current_task(), asyncio.get_running_loop()
        assert task is not None  # noqa: S101
        begun.set_result(partial(loop.call_soon_threadsafe, task.cancel))
        return await _fetch_all(icd, spool, keep, read)

    with ThreadPoolExecutor(1, thread_name_prefix="reference") as executor:
        fetching = executor.submit(lambda: asyncio.run(fetch()))
        try:
            return fetching.result()
        except KeyboardInterrupt:
            with suppress(RuntimeError):  # The loop may have ended.
                begun.result()()
            raise


async def _fetch_all(icd: Icd, spool: Path, keep: Callable[[Exchange], object], read: Read) -> Fetched:
    timeout = PATIENCE * icd.politeness.timeout.total_seconds()
    manners = Manners(request_headers(icd), icd.limits.page_bytes, patience=inf, timeout=timeout)
    client = WireClient(wire_settings(icd, spool))
    polite = PoliteClient(client, icd.politeness.model_copy(update={"robots": "ignore"}), manners, keep)
    fetched = Fetched()
    try:
        for document in icd.document_urls():
            try:
                fetched.texts[document.url] = await _text(polite, document.url, read)
            except (WireError, TooManyRedirectsError, _UnusableError) as error:
                fetched.mistakes.append(icd.document_mistake(document.url, f"could not be had ({error})"))
    finally:
        await client.close()
    return fetched


async def _text(polite: PoliteClient, document: str, read: Read) -> str:
    url = urls.canonicalize(document)
    if url is None:
        raise _UnusableError("it is no http(s) URL")
    page = await polite.final_page(url)
    if 300 <= page.status < 400 and page.headers.get("Location"):
        raise _UnusableError("it leads to what is no http(s) URL")
    if page.status != 200:
        raise _UnusableError(f"the server answered {page.status}")
    text = read(page) if page.is_html else page.text if page.media_type.startswith("text/") else ""
    if len(text.split()) < MIN_WORDS:
        raise _UnusableError("it holds no text")
    return text
