"""Read links, main content, language, title, date, and the order of day and month on a page of any application."""

import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import islice, pairwise
from typing import NamedTuple, cast

from lxml.etree import _Element as Element
from lxml.etree import iterwalk, tostring
from resiliparse.extract.html2text import extract_plain_text
from resiliparse.parse.lang import detect_fast

from aahcrawler.page import Page, claims, dates
from aahcrawler.page.date_parts import order_of
from aahcrawler.page.dates import Order
from aahcrawler.page.schemaorg import items
from aahcrawler.page.text import BLOCKS, OtherLinks, excerpt, fold, headline, plain_text, teaser
from aahcrawler.urls import resolve
from online_analysis.language_model import identifier

MAX_LINKS = 10_000
"""The most different URLs of one page that are kept."""

MAX_CONTEXT = 1_000
"""The length of a link's context and of its anchor, in characters."""

MAX_CONTENT = 1_000_000
"""The length of a page's main content, in characters."""

MIN_SAMPLE_LENGTH = 20
"""The fewest letters of a text whose language is identified."""

_LIKELY = 0.5
_CLEAR = 10
"""The margin by which the profile of a language is nearest to a text, if the identification is certain."""
_LOOKED_AT = 3
"""Parts of a text, each of which has to be in the language: menus and quotations are often in another."""
_MIN_CLEAR_LENGTH = 150
"""The length below which profiles are weighted by the number of people who use a language."""
_FEW = 60
_SAMPLE = 1_000
_NEAR = 400
_NEIGHBOURS = 8
_PAGED = frozenset({"next", "prev", "previous"})
"""Relations of ``link`` elements that lead to pages of the same sequence."""
_CONTEXTS = BLOCKS | {"td", "th"}

# The extractor's time grows with the sum of its elements' depths: two million take about a second.
_EXTRACTED_STEPS = 2_000_000
_EXTRACTED_MARKUP = 4_000_000
_FEW_ELEMENTS = 900


class PageLink(NamedTuple):
    """A link of a page. ``url`` is absolute and canonical.

    ``anchor`` is the text of the link, else its alternative text, title or label. ``context`` is the text of the block
    around it, or of its neighbourhood if the block is long, at most ``MAX_CONTEXT`` characters; for a heading or term,
    the beginning of the text below it is added. ``element`` belongs to the page's tree. ``nofollow`` is True if every
    link of the page to this URL is marked so.
    """

    url: str
    anchor: str
    context: str
    element: Element
    nofollow: bool


def links(page: Page) -> tuple[PageLink, ...]:
    """Return the http(s) links of ``a`` and ``area`` elements, each URL once, in document order.

    Elements ``link`` that name the next or the previous page count as well.

    Of several links to a URL the first one that has text is described, at the place of the first. At most
    ``MAX_LINKS`` URLs are kept; time is linear in the number of links.
    """
    found: dict[str, PageLink] = {}
    with_text: set[str] = set()
    contexts: dict[Element, str] = {}
    for element, url in _references(page):
        nofollow = is_nofollow(element)
        known = found.get(url)
        if known is None and len(found) == MAX_LINKS:
            break
        if known is not None and known.nofollow and not nofollow:
            known = found[url] = known._replace(nofollow=False)
        if url in with_text:
            continue
        shown = excerpt(element, MAX_CONTEXT, OtherLinks(element))
        if shown or known is None:
            anchor = shown or _label(element)
            nofollow = nofollow and (known is None or known.nofollow)
            found[url] = PageLink(url, anchor, _context(element, contexts), element, nofollow)
        if shown:
            with_text.add(url)
    return tuple(found.values())


def is_nofollow(link: Element) -> bool:
    """Return whether a link is marked by ``rel=nofollow``."""
    relations = link.get("rel")
    return relations is not None and "nofollow" in relations.lower().split()


def forbids_following(page: Page) -> bool:
    """Return whether a page asks robots, all of them, to follow none of its links: in its head, or by a header field.

    Header fields that name a robot before what they ask for are for that one.
    """
    asked = page.headers.all("X-Robots-Tag")
    if page.is_html:
        asked += [meta.get("content") or "" for meta in page.tree.iterfind("head/meta") if _is_for_robots(meta)]
    words = {word.strip().lower() for each in asked for word in each.split(",")}
    return not words.isdisjoint({"nofollow", "none"})


def _is_for_robots(meta: Element) -> bool:
    return (meta.get("name") or "").strip().lower() == "robots"


def main_content(page: Page) -> str:
    """Return the text of the page without navigation, advertising and other boilerplate, a line for each block.

    If nothing stands out, or the search fails, that is all of the page's text. It is cut at ``MAX_CONTENT`` characters,
    and a page that is nested so deeply or is so large that the search would take seconds is not searched.
    """
    lines = page.attempt("main content", lambda: _extracted(page), str)
    return (lines or plain_text(page.tree))[:MAX_CONTENT]


def _extracted(page: Page) -> str:
    markup = tostring(page.tree, encoding="unicode", method="html", with_tail=False)
    text = ""
    if len(markup) <= _EXTRACTED_MARKUP and depths(page.tree) <= _EXTRACTED_STEPS:
        text = extract_plain_text(markup, main_content=True, alt_texts=False, list_bullets=False)
    return "\n".join(line for line in map(fold, text.split("\n")) if line)


def language(text: str, declared: str = "", *, believed: bool = False) -> str | None:
    """Return the ISO 639-1 code of a text's language, None if shorter than ``MIN_SAMPLE_LENGTH`` letters or in doubt.

    The first 1,000 characters decide. ``declared`` is the code of the language that the page declares: if a quick test
    of a text that is long enough clearly agrees, there is no closer test. Where the declarations of a site are
    ``believed``, it is enough that the quick test finds no language nearer to the text.
    """
    sample = text[:_SAMPLE]
    if sum(map(str.isalpha, sample[:_FEW])) < MIN_SAMPLE_LENGTH and sum(map(str.isalpha, sample)) < MIN_SAMPLE_LENGTH:
        return None
    if declared and (_margin(sample, declared) >= 0 if believed else _is_clearly(sample, declared)):
        return declared
    code, confidence = identifier().classify(sample)
    return code if len(code) == 2 and confidence >= _LIKELY else None


def _is_clearly(sample: str, language: str) -> bool:
    """Return whether a text and all of its parts are nearer to a language than to others; a mixture is not."""
    if len(sample) < _MIN_CLEAR_LENGTH or _margin(sample, language) < _CLEAR:
        return False
    size = -(-len(sample) // _LOOKED_AT)
    return all(_margin(sample[start : start + size], language) >= 0 for start in range(0, len(sample), size))


def _margin(text: str, language: str) -> int:
    """Return by how much a language's profile is nearer to a text than that of any other; -1 if it is not nearest."""
    ranks = cast("list[tuple[str, int]]", detect_fast(text, n_results=2))
    return ranks[1][1] - ranks[0][1] if len(ranks) == 2 and ranks[0][0] == language else -1


def title(page: Page) -> str:
    """Return the page's title in one line: that of its head, else OpenGraph's, else its first heading, else ``""``."""
    heads = (excerpt(element, MAX_CONTEXT) for element in page.tree.iter("title"))
    headings = (headline(element, MAX_CONTEXT) for element in page.tree.iter("h1"))
    return next(filter(None, heads), "") or claims.meta(page).get("og:title", "") or next(filter(None, headings), "")


def published(page: Page, now: datetime) -> datetime | None:
    """Return the publication time that the page declares, aware; never after ``now``.

    JSON-LD comes first, then OpenGraph and other meta elements, then the first ``time`` element of the article.
    """
    for text in _publication_dates(page):
        moment = dates.parse(text, now=now, language=page.language, order=page.order)
        if moment is not None:
            return moment
    return None


def _references(page: Page) -> Iterator[tuple[Element, str]]:
    resolved: dict[str, str | None] = {}
    base = page.base_url
    for element in page.tree.iter("a", "area", "link"):
        if element.tag == "link" and _PAGED.isdisjoint((element.get("rel") or "").lower().split()):
            continue
        reference = element.get("href") or element.get("xlink:href")
        if reference is None:
            continue
        if reference not in resolved:
            resolved[reference] = resolve(base, reference)
        url = resolved[reference]
        if url is not None:
            yield element, url


def _label(element: Element) -> str:
    image = next(element.iter("img"), None)
    labels = (
        image.get("alt") if image is not None else None,
        element.get("title"),
        element.get("aria-label"),
        element.get("alt"),
    )
    return next((folded for label in labels if label and (folded := fold(label)[:MAX_CONTEXT])), "")


def _context(element: Element, known: dict[Element, str]) -> str:
    block = next((above for above in element.iterancestors() if above.tag in _CONTEXTS), element)
    if block not in known:
        known[block] = f"{excerpt(block, MAX_CONTEXT + 1)} {teaser(block)}".strip()
    whole = known[block]
    return whole if len(whole) <= MAX_CONTEXT else _neighbourhood(element)


def _neighbourhood(element: Element) -> str:
    """Return the text around an element: its own and that of its siblings before and after."""
    before: list[str] = []
    after = [(element.tail or "")[:_NEAR]]
    for texts, preceding in ((before, True), (after, False)):
        length = 0
        for _, sibling in zip(range(_NEIGHBOURS), element.itersiblings(preceding=preceding), strict=False):
            tail = sibling.tail or ""
            texts.append(f"{excerpt(sibling, _NEAR)} {tail[-_NEAR:] if preceding else tail[:_NEAR]}")
            length += len(texts[-1])
            if length > _NEAR:
                break
    text_before = fold(" ".join(reversed(before)))[-_NEAR:]
    return fold(f"{text_before} {excerpt(element, _NEAR // 2)} {fold(' '.join(after))[:_NEAR]}")


def depths(tree: Element) -> int:
    """Return the sum of the elements' depths; if there are few elements, an upper bound."""
    if tree.xpath("count(//*)") <= _FEW_ELEMENTS:
        return 0
    depth = steps = 0
    for event, _ in iterwalk(tree, events=("start", "end")):
        depth += 1 if event == "start" else -1
        steps += depth
    return steps // 2


def _publication_dates(page: Page) -> Iterator[str]:
    yield from (item.text("datePublished") for item in page.once(items) if not item.role)
    yield claims.publication_date(claims.meta(page))
    yield from claims.time_elements(page)


MAX_EXAMINED_DATES = 300
"""The most dates of one page that are examined."""

MIN_IN_A_ROW = 5
"""Different days that follow one another in one order of day and month alone; fewer do so by chance."""

_HINTS = (re.compile(rb"/\d{1,2}/\d\d"), re.compile(rb"-(?<!\d\d\d-)\d{1,2}-\d\d"))
"""What a page with numeric dates has; dates that begin with the year do not count. To look for it costs little."""
_SHOWN = re.compile(rb">([^<>]{0,40}?(?<![\d./-])(\d{1,2})([/-])(\d{1,2})\3(\d{4}|\d{2})(?![\d/-])[^<>]{0,40})<")
_IN_TEXT = re.compile(r"(?<![\d./-])(\d{1,2})([/-])(\d{1,2})\2(?:\d{4}|\d{2})(?![\d/-])")
_MACHINE = re.compile(r"\s*\d{4}-(\d{2})-(\d{2})")


class NumericDates:
    """The dates of a page whose day and month could be exchanged, and what they tell of the order of both."""

    def __init__(self, page: Page) -> None:
        self._page = page
        self._is_there = any(hint.search(page.body) for hint in _HINTS)
        self._shown = list(islice(_SHOWN.finditer(page.body), MAX_EXAMINED_DATES)) if self._is_there else []

    def shown_order(self) -> Order | None:
        """Return the order of the dates that the page shows, None if nothing decides it or two dates contradict.

        A number over 12 decides, and so does a weekday that agrees with one order only.
        """
        found: set[Order] = set()
        for match in self._shown:
            first, second = int(match[2]), int(match[4])
            if len(match[5]) == 2 and (first > 31 or self._begins_with_year(match[3].decode())):
                found |= {"ymd"} if first > 31 else set()
            elif first > 12 >= second:
                found.add("dmy")
            elif second > 12 >= first:
                found.add("mdy")
            elif first != second and min(first, second) >= 1 and max(first, second) <= 12:
                found |= _by_weekday(match[1].decode(self._page.encoding, "replace"), self._page)
        return next(iter(found)) if len(found) == 1 else None

    def _begins_with_year(self, separator: str) -> bool:
        """Return whether three numbers of two digits begin with the year in the language of the page."""
        order = order_of(self._page.language)
        return order is not None and order.fields == "ymd" and separator in order.separators

    def _open(self) -> Iterator[re.Match[bytes]]:
        """Yield the dates that begin with the day or the month."""
        for match in self._shown:
            if len(match[5]) == 4 or not self._begins_with_year(match[3].decode()):
                yield match

    def implied_order(self) -> Order | None:
        """Return the likely order where nothing is certain, None if nothing suggests one.

        The first clue is a series of dates down the page that is ascending or descending in one order alone, the second
        ``time`` elements that give the same day in machine-readable form.
        """
        return self._by_sequence() or (_by_time_elements(self._page) if self._is_there else None)

    def ambiguous_days(self) -> frozenset[frozenset[int]]:
        """Return the pairs of numbers whose day and month could be exchanged."""
        shown = ((int(match[2]), int(match[4])) for match in self._open())
        return frozenset(frozenset(pair) for pair in shown if pair[0] != pair[1] and max(pair) <= 12)

    def _by_sequence(self) -> Order | None:
        found = [(int(match[5]), int(match[2]), int(match[4])) for match in self._open()]
        if len(set(found)) < MIN_IN_A_ROW or any(max(pair[1:]) > 12 for pair in found):
            return None
        day_first, month_first = [(year, two, one) for year, one, two in found], found
        in_order = {"dmy": _is_monotone(day_first), "mdy": _is_monotone(month_first)}
        if in_order["dmy"] == in_order["mdy"]:
            return None
        return "dmy" if in_order["dmy"] else "mdy"


def _is_monotone(days: Sequence[tuple[int, int, int]]) -> bool:
    steps = list(pairwise(days))
    return all(one <= other for one, other in steps) or all(one >= other for one, other in steps)


def _by_time_elements(page: Page) -> Order | None:
    found: set[Order] = set()
    for element in islice(page.tree.iter("time"), MAX_EXAMINED_DATES):
        machine = _MACHINE.match(element.get("datetime") or "")
        match = _IN_TEXT.search(excerpt(element, 80)) if machine is not None else None
        if machine is None or match is None:
            continue
        month, day, first, second = int(machine[1]), int(machine[2]), int(match[1]), int(match[3])
        if (first, second) == (day, month) != (month, day):
            found.add("dmy")
        elif (first, second) == (month, day) != (day, month):
            found.add("mdy")
    return next(iter(found)) if len(found) == 1 else None


def _by_weekday(text: str, page: Page) -> set[Order]:
    orders: tuple[Order, ...] = ("dmy", "mdy")
    read = {dates.parse(text, order=each, now=page.fetched_at, language=page.language, ahead=True) for each in orders}
    if len(read) != 1 or None in read:
        return set()
    day = next(iter(read))
    numbers = re.findall(r"\d{1,2}", text)
    return {"dmy"} if day is not None and int(numbers[0]) == day.day else {"mdy"}
