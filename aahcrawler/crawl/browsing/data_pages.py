"""Make pages of their data, without a browser, where looks in a browser have shown how.

Of pages whose addresses are alike the first ones are looked at in a browser. A template that is learned from them
(``data_templates``) has to make of the data of another one what the browser shows of it: the same title, objects,
links and pictures in the same order, and no word that is not there. From then on it is used, and compared again with
what a browser shows every ``CHECKED_EVERY`` pages. A page whose data say something that those of no page before did is
looked at: it may show what the template has never seen.
"""

import asyncio
import logging
import re
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from aahcrawler.browser.network.upstream import BrowserRequest, RequestRefusedError
from aahcrawler.crawl.browsing.visit_requests import VisitRequests
from aahcrawler.crawl.core.context import CurrentContext
from aahcrawler.data_templates.data_template import DataTemplate, PageSample, learned_template
from aahcrawler.page import Page, text
from aahcrawler.page.decoding import decode_content
from aahcrawler.pipeline.score import understand
from aahcrawler.traps.patterns import pattern_of

logger = logging.getLogger(__name__)

MAX_SHAPES: Final = 50
"""Shapes of addresses of which pages are kept to learn from, of all sites together, the last ones."""
MAX_SAMPLES: Final = 6
"""Pages of a shape from which nothing could be learned; no more are tried."""
MAX_BYTES: Final = 1_000_000
"""Bytes of a page beyond which nothing is learned from it."""
CHECKED_EVERY: Final = 25
"""Pages of a shape that are made of their data until one is looked at in a browser again."""


_MOMENT: Final = re.compile(r"\d{4}-\d\d-\d\d|\d\d:\d\d")
"""A word of a moment as templates write it, whatever the page does."""
_ACCEPT: Final = ("Accept", "application/json, text/plain, */*")


@dataclass(slots=True)
class _Lessons:
    """What is known of pages whose addresses are alike. ``made`` counts pages since the last comparison."""

    samples: list[PageSample] = field(default_factory=list)
    template: DataTemplate | None = None
    made: int = 0

    @property
    def is_given_up(self) -> bool:
        return self.template is None and len(self.samples) >= MAX_SAMPLES


class DataPages:
    """Learns how pages are made of their data, and makes them; its memory is bounded."""

    def __init__(self, context: CurrentContext) -> None:
        self._context = context
        self._known: OrderedDict[tuple[str, str], _Lessons] = OrderedDict()

    def can_make(self, site: str, url: str) -> bool:
        """Return whether a page is to be made of its data: it is known how, and no comparison is due."""
        lessons = self._known.get(_key(site, url))
        is_known = lessons is not None and lessons.template is not None and lessons.made < CHECKED_EVERY
        return is_known and lessons is not None and bool(lessons.template and lessons.template.endpoints(url))

    async def made(self, site: str, url: str, requests: VisitRequests) -> bytes | None:
        """Return a page in HTML (UTF-8) made of its data, which are asked for; None where they are not to be had."""
        lessons = self._known[_key(site, url)]
        template = lessons.template
        urls = template.endpoints(url) if template is not None else None
        if template is None or urls is None:
            return None
        answers = [await self._asked(each, url, requests) or b"" for each in urls]
        page = template.page(answers) if template.knows(answers) else None
        lessons.made += page is not None
        return page

    async def learn(self, site: str, page: Page, dom: bytes, data: Mapping[str, bytes]) -> None:
        """Learn from a page that a browser has shown as ``dom``, and from the JSON that it asked for, by URL."""
        lessons = self._known.setdefault(_key(site, page.url), _Lessons())
        self._known.move_to_end(_key(site, page.url))
        while len(self._known) > MAX_SHAPES:
            self._known.popitem(last=False)
        if lessons.is_given_up or not data or len(dom) > MAX_BYTES:
            return
        lessons.samples.append(PageSample(page.url, dom, data))
        if lessons.template is not None:
            self._compare(lessons, lessons.template, page)
        elif len(lessons.samples) > 2:
            await self._try(lessons, page)

    def _compare(self, lessons: _Lessons, template: DataTemplate, page: Page) -> None:
        """Compare a page with what a template makes of it, which is given up where it would have been used in error."""
        sample = lessons.samples[-1]
        lessons.made, lessons.samples = 0, [sample]
        answers = _answers(template, sample)
        if self._is_made_right(template, page, sample):
            lessons.template = template.with_page(answers)
        elif template.knows(answers):
            logger.info("%s: pages like it are not made of their data any more", page.url)
            lessons.template = None

    async def _try(self, lessons: _Lessons, page: Page) -> None:
        """Learn from all pages but the last, and see whether that makes the last one."""
        *before, last = lessons.samples
        template = await asyncio.to_thread(learned_template, before)
        if template is not None and self._is_made_right(template, page, last):
            logger.info("%s: pages like it are made of their data from now on", page.url)
            lessons.template, lessons.samples = template.with_page(_answers(template, last)), [last]

    def _is_made_right(self, template: DataTemplate, page: Page, sample: PageSample) -> bool:
        """Return whether a template makes what a browser shows, as far as the crawl reads pages."""
        made = template.page(_answers(template, sample))
        if made is None:
            return False
        pages = [page.as_rendered(dom, "", self._context.now.icd.limits.page_bytes) for dom in (made, sample.dom)]
        return self._read(pages[0]) == self._read(pages[1]) and _says_no_more(*pages)

    def _read(self, shown: Page) -> tuple[object, ...]:
        context = self._context.now
        assistance = understand(shown, context.helper, context.scope.spelling, judge=context.link_rules)
        links = sorted({link.url for link in assistance.document.outlinks})
        pictures = [image.get("src") for image in shown.tree.iter("img")]
        return assistance.document.title, assistance.objects, links, pictures

    async def _asked(self, url: str, page_url: str, requests: VisitRequests) -> bytes | None:
        collected = _Collected()
        headers = (_ACCEPT, ("Referer", page_url))
        try:
            await requests.answer(BrowserRequest(url, "GET", headers, resource_type="Fetch"), collected)
        except RequestRefusedError:
            return None
        return collected.body(self._context.now.icd.limits.page_bytes)


def _answers(template: DataTemplate, sample: PageSample) -> list[bytes]:
    return [sample.answers.get(url, b"") for url in template.endpoints(sample.url) or ()]


class _Collected:
    """Collects an answer (``Relay``)."""

    def __init__(self) -> None:
        self._status = 0
        self._codings = ""
        self._pieces: list[bytes] = []

    def begin(self, status: int, reason: str, headers: Sequence[tuple[str, str]]) -> None:  # noqa: ARG002
        """See ``Relay.begin``."""
        self._status = status
        self._codings = ", ".join(value for name, value in headers if name.lower() == "content-encoding")

    def take(self, piece: bytes) -> None:
        """See ``Relay.take``."""
        self._pieces.append(piece)

    def body(self, most: int) -> bytes | None:
        """Return the body without content coding, None where it is no whole answer with status 200."""
        decoded = decode_content(b"".join(self._pieces), self._codings, most)
        return decoded.body if self._status == 200 and decoded.complete else None


def _says_no_more(made: Page, shown: Page) -> bool:
    """Return whether all words of a page that was made stand on the one that was shown, in that order."""
    words = iter(text.plain_text(shown.tree).split())
    return all(_MOMENT.fullmatch(word) or word in words for word in text.plain_text(made.tree).split())


def _key(site: str, url: str) -> tuple[str, str]:
    return site, pattern_of(url).shape
