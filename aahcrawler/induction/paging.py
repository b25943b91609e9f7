"""Distinguishes later pages of a thread, or of an article's comments, from its first one."""

import re
from collections.abc import Iterator
from itertools import islice
from urllib.parse import parse_qsl, urlsplit

from lxml.etree import _Element as Element

from aahcrawler.page import Page
from aahcrawler.page.text import excerpt
from aahcrawler.urls import resolve

MAX_LINKS = 2_000

_PAGE = re.compile(
    r"(?:[a-z0-9]{1,8}[_-])?(?:page|paged|pg|pageno|page_?num(?:ber)?|page_no|seite|pagina|strana|sivu|sida|cpage)",
    re.IGNORECASE,
)
_OFFSET = re.compile(r"(?:start|offset|skip|startat|begin)", re.IGNORECASE)
_IN_PATH = re.compile(
    r"(?:^|[/_.-])(?:page|comment-page|seite|pagina|strana|sivu|sida)[/_-]?(\d{1,6})(?:\.\w{2,5})?/?$", re.IGNORECASE
)
_PAGER = re.compile(r"pag(?:e|in|er|ing|ination|inator|enav|elinks)", re.IGNORECASE)
_CURRENT = re.compile(r"(?:.*[_-])?(?:current|active|selected|cur|on|this)(?:[_-]?(?:page|item|link))?", re.IGNORECASE)
_NUMBER = re.compile(r"\d{1,6}")
_NUMBERS = re.compile(r"\d+")
_ABOVE = 4


def is_continued(page: Page) -> bool:
    """Return whether a page is a later one of several: by its URL, its link to the previous page, or its pagination."""
    return _is_numbered(page.url) or _follows(page) or _is_marked(page)


def _is_numbered(url: str) -> bool:
    """Return whether a URL gives a page number above one, or a number of entries to skip."""
    parts = urlsplit(url)
    found = _IN_PATH.search(parts.path)
    if found is not None and int(found[1]) > 1:
        return True
    given = [(name, int(value)) for name, value in parse_qsl(parts.query) if _NUMBER.fullmatch(value)]
    return any(
        (value > 1 and _PAGE.fullmatch(name)) or (value > 0 and _OFFSET.fullmatch(name)) for name, value in given
    )


def _follows(page: Page) -> bool:
    """Return whether a page links to an earlier one whose URL differs only in the number."""
    links = (each for each in islice(page.tree.iter("link", "a"), MAX_LINKS) if _is_previous(each))
    targets = (resolve(page.base_url, each.get("href") or "") for each in links)
    return any(target is not None and _is_before(target, page.url) for target in targets)


def _is_previous(link: Element) -> bool:
    return not {"prev", "previous"}.isdisjoint((link.get("rel") or "").lower().split())


def _is_before(target: str, own: str) -> bool:
    """Return whether a URL is that of an earlier page of the same thread.

    Of URLs with several numbers, the last one must differ; with a single number, that is the thread's.
    """
    if target.rstrip("/") != own.rstrip("/") and own.startswith(target.rstrip("/")):
        return own[len(target.rstrip("/"))] in "/?&;-_."
    if _NUMBERS.sub("", target) != _NUMBERS.sub("", own):
        return False
    before, here = _NUMBERS.findall(target), _NUMBERS.findall(own)
    return len(here) > 1 and before[:-1] == here[:-1] and int(before[-1][-9:]) < int(here[-1][-9:])


def _is_marked(page: Page) -> bool:
    """Return whether pagination with a link to a first page marks a later number as the current page."""
    return any(int(shown) > 1 and _leads_to_first(pager) for shown, pager in _current(page))


def _leads_to_first(pager: Element) -> bool:
    return any(excerpt(link, 12).strip() == "1" for link in islice(pager.iter("a"), MAX_LINKS))


def _current(page: Page) -> Iterator[tuple[str, Element]]:
    """Yield the numbers that pagination marks as current, with the element of the pagination."""
    for element in islice(page.tree.iter("a", "span", "li", "strong", "b", "em", "button"), MAX_LINKS):
        marked = element.get("aria-current") == "page" or any(map(_CURRENT.fullmatch, _words(element)))
        if not marked or not _NUMBER.fullmatch(shown := excerpt(element, 12).strip()):
            continue
        above = [element, *islice(element.iterancestors(), _ABOVE)]
        pager = next((each for each in above if any(map(_PAGER.search, _words(each)))), None)
        if pager is not None:
            yield shown, pager


def _words(element: Element) -> list[str]:
    return f"{element.get('class') or ''} {element.get('role') or ''} {element.get('id') or ''}".split()[:20]
