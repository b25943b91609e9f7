"""Reference documents that an ICD gives by URL, had before the crawl begins: from where its captures come."""

import asyncio
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from math import inf
from pathlib import Path
from typing import Final

from aahcrawler import urls
from aahcrawler.archive.target import target_mistakes
from aahcrawler.crawl.fetch.client_settings import connection_mistakes, request_headers, wire_settings
from aahcrawler.crawl.fetch.sourced_captures import NotTakenError, SourcedCaptures, open_sources
from aahcrawler.exchange import Exchange
from aahcrawler.exclusions import Exclusions
from aahcrawler.helper import ApplicationAwareHelper
from aahcrawler.page import Page
from aahcrawler.page.generic import main_content
from aahcrawler.page.onward import MAX_REDIRECTS
from aahcrawler.segments import DamageError
from aahcrawler.sources.source import ArchiveFolderError, SnapshotChoice, Source
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


_FAILURES: Final = (
    ArchiveFolderError,
    DamageError,
    NotTakenError,
    TooManyRedirectsError,
    WireError,
    _UnusableError,
)
"""What keeps a document from being had, and no other one."""


@dataclass(frozen=True, slots=True)
class Checked:
    """The mistakes of a definition, and which of its secrets, certificates and archives this machine cannot use.

    ``doubts`` are what is no mistake and hardly meant.
    """

    mistakes: tuple[Mistake, ...] = ()
    missing: tuple[Mistake, ...] = ()
    doubts: tuple[str, ...] = ()


def check(path: Path, *, fetch: bool) -> Checked:
    """Check an ICD file; with ``fetch`` reference documents are asked for as well, unless anything is missing here."""
    try:
        icd = Icd.load(path)
    except IcdError as error:
        return Checked(error.mistakes)
    lacking = (*connection_mistakes(icd), *_archive_mistakes(icd))
    found = Checked(target_mistakes(icd), lacking, tuple(icd.doubts()))
    if found.mistakes or found.missing or not fetch:
        return found
    with tempfile.TemporaryDirectory(prefix="aah-") as spool:
        return replace(found, mistakes=tuple(fetch_documents(icd, Path(spool), lambda _: None).mistakes))


def _archive_mistakes(icd: Icd) -> Iterator[Mistake]:
    """Yield a mistake for each archive that a definition names and that cannot be used on this machine."""
    from aahcrawler.sources.local_archives import check_archive  # noqa: PLC0415 - no crawl of the live web waits for it

    for number, source in enumerate(icd.captures.sources):
        for path in source.archive:
            try:
                check_archive(Path(path))
            except ArchiveFolderError as error:
                problem, _, advice = str(error).partition("; ")
                yield icd.archive_mistake(number, problem, advice or "check the path, and that it may be read")


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


def fetch_documents(
    icd: Icd,
    spool: Path,
    keep: Callable[[Exchange], object],
    read: Read = main_content,
    archives: Path | None = None,
) -> Fetched:
    """Have the reference documents of an ICD one after another: from its archives, or fetched.

    ``keep`` is given every exchange with a site, and ``read`` says what stands on an HTML page. What is kept of
    archives is in the folder ``archives``, else in ``spool``. Documents are named by a person, so robots.txt, which
    speaks to crawlers that follow links, is not asked. The caller's event loop, whether it runs or is
    going to, is left alone: a thread with a loop of its own does the work. Ctrl-C ends it at once.
    """
    if not icd.document_urls():
        return Fetched()
    begun: Future[Callable[[], object]] = Future()

    async def fetch() -> Fetched:
        task, loop = asyncio.current_task(), asyncio.get_running_loop()
        assert task is not None  # noqa: S101
        begun.set_result(partial(loop.call_soon_threadsafe, task.cancel))
        return await _fetch_all(icd, spool, keep, read, archives or spool)

    with ThreadPoolExecutor(1, thread_name_prefix="reference") as executor:
        fetching = executor.submit(lambda: asyncio.run(fetch()))
        try:
            return fetching.result()
        except KeyboardInterrupt:
            with suppress(RuntimeError):  # The loop may have ended.
                begun.result()()
            raise


async def _fetch_all(icd: Icd, spool: Path, keep: Callable[[Exchange], object], read: Read, archives: Path) -> Fetched:
    timeout = PATIENCE * icd.politeness.timeout.total_seconds()
    manners = Manners(request_headers(icd), icd.limits.page_bytes, patience=inf, timeout=timeout)
    client = WireClient(wire_settings(icd, spool))
    polite = PoliteClient(client, icd.politeness.model_copy(update={"robots": "ignore"}), manners, keep)
    fetched, sources = Fetched(), None
    try:
        for document in icd.document_urls():
            try:
                excludes = Exclusions.of(icd.output).covers
                sources = sources or open_sources(icd, archives, SnapshotChoice.of(icd, datetime.now(UTC)), excludes)
                fetched.texts[document.url] = await _text(sources, polite, document.url, read)
            except _FAILURES as error:
                fetched.mistakes.append(icd.document_mistake(document.url, f"could not be had ({error})"))
    finally:
        if sources is not None:
            await sources.close()
        await client.close()
    return fetched


async def _text(sources: SourcedCaptures, polite: PoliteClient, document: str, read: Read) -> str:
    url = urls.canonicalize(document)
    if url is None:
        raise _UnusableError("it is no http(s) URL")
    if sources.excludes(url):
        raise _UnusableError("the institution excludes it")
    page = await _taken(sources, url, sources.preferred)
    if page is None:
        sources.require_live(url)
        page = await polite.final_page(url)
    if 300 <= page.status < 400 and page.headers.get("Location"):
        raise _UnusableError("it leads to what is no http(s) URL")
    if page.status != 200:
        raise _UnusableError(f"the server answered {page.status}")
    text = read(page) if page.is_html else page.text if page.media_type.startswith("text/") else ""
    if len(text.split()) < MIN_WORDS:
        raise _UnusableError("it holds no text")
    return text


async def _taken(sources: SourcedCaptures, url: str, asked: Sequence[Source]) -> Page | None:
    """Return what the first source that has a document holds of it, redirects followed; None where none has it."""
    for _ in range(MAX_REDIRECTS + 1):
        taken = await sources.page(url, asked)
        if taken is None:
            return None
        page = taken[0]
        target = page.headers.get("Location") if 300 <= page.status < 400 else None
        led = urls.resolve(page.url, target) if target else None
        if led is None:
            return page
        url = led
    raise _UnusableError("its redirects have no end in the archives")
