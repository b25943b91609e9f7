"""Reference documents that an ICD gives by URL, fetched before the crawl begins."""

import asyncio
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from aahcrawler import urls
from aahcrawler.crawl.wiring import request_headers, wire_settings
from aahcrawler.decoding import decode_content
from aahcrawler.exchange import Exchange
from aahcrawler.generic import main_content
from aahcrawler.page import Headers, Page
from aahcrawler.wire.client import Answer, WireClient, WireError, WireRequest
from online_analysis.icd import Icd, IcdError, Mistake

MOST_REDIRECTS = 5
FEWEST_WORDS = 3
"""A document with fewer words says nothing about a topic."""


@dataclass(slots=True)
class Fetched:
    """Texts by the URL that the ICD gives, and a mistake for each document that could not be had."""

    texts: dict[str, str] = field(default_factory=dict)
    mistakes: list[Mistake] = field(default_factory=list)


class _UnusableError(Exception):
    """A document that is of no use; the message completes "the document ..."."""


def check(path: Path, *, fetch: bool) -> tuple[Mistake, ...]:
    """Return every mistake of an ICD file; with ``fetch`` reference documents are asked for as well."""
    try:
        icd = Icd.load(path)
    except IcdError as error:
        return error.mistakes
    if not fetch:
        return ()
    with tempfile.TemporaryDirectory(prefix="aah-") as spool:
        return tuple(fetch_documents(icd, Path(spool), lambda _: None).mistakes)


def fetch_documents(icd: Icd, spool: Path, keep: Callable[[Exchange], object]) -> Fetched:
    """Fetch the reference documents of an ICD one after another; ``keep`` is given every exchange.

    They are named by a person, so robots.txt, which speaks to crawlers that follow links, is not asked.
    """
    if not icd.document_urls():
        return Fetched()
    # A loop of its own making leaves the thread's current one in place, which the crawl is going to run in.
    with asyncio.Runner(loop_factory=asyncio.new_event_loop) as runner:
        return runner.run(_fetch_all(icd, spool, keep))


async def _fetch_all(icd: Icd, spool: Path, keep: Callable[[Exchange], object]) -> Fetched:
    client = WireClient(wire_settings(icd, spool))
    fetched = Fetched()
    try:
        for document in icd.document_urls():
            try:
                fetched.texts[document.url] = await _text(client, icd, document.url, keep)
            except (WireError, _UnusableError) as error:
                fetched.mistakes.append(icd.document_mistake(document.url, f"could not be had ({error})"))
    finally:
        await client.close()
    return fetched


async def _text(client: WireClient, icd: Icd, document: str, keep: Callable[[Exchange], object]) -> str:
    url = urls.canonicalize(document)
    for _ in range(MOST_REDIRECTS + 1):
        if url is None:
            raise _UnusableError("it leads to an address that is no http(s) URL")
        answer = await client.fetch(WireRequest(url, tuple(request_headers(icd).items())))
        keep(answer.exchange)
        answer.exchange.close()
        if answer.status == 200:
            return _words(_page(url, answer, icd.limits.page_bytes))
        location = Headers(answer.headers).get("Location")
        if not 300 <= answer.status < 400 or not location:
            raise _UnusableError(f"the server answered {answer.status}")
        url = urls.resolve(url, location)
    raise _UnusableError("too many redirects")


def _page(url: str, answer: Answer, limit: int) -> Page:
    headers = Headers(answer.headers)
    body = decode_content(answer.payload, headers.get("Content-Encoding"), limit).body
    return Page(url, answer.status, headers, body, datetime.now(UTC))


def _words(page: Page) -> str:
    text = main_content(page) if page.is_html else page.text if page.media_type.startswith("text/") else ""
    if len(text.split()) < FEWEST_WORDS:
        raise _UnusableError("it holds no text")
    return text
