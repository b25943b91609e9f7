"""Listings: where an application names all that it holds."""

import re
from collections.abc import Sequence

from lxml import etree

from knowledge_base.model import PAGE_NUMBER, Listing, Navigate, PageLevel
from knowledge_base.parsing.attributes import text, words
from knowledge_base.parsing.notes import Notes

_BLANK = re.compile(r"[\s#]")
_ELSEWHERE = re.compile(r"//|[^/?{]*:")


def listings(root: etree._Element, notes: Notes) -> tuple[Listing, ...]:
    """Read the listings of an application in their order; mistakes are noted."""
    return tuple(
        _listing(child, words(parent, "when-none"), notes)
        for parent in root.iterchildren("listings")
        for child in parent.iterchildren("listing")
    )


def check_actions(root: etree._Element, levels: Sequence[PageLevel], notes: Notes) -> None:
    """Note what listings ask of levels that these do not have: a place to start at, actions."""
    starts = [level for level in levels if level.start]
    known = {action.name for level in starts for action in level.actions if isinstance(action, Navigate)}
    for parent in root.iterchildren("listings"):
        if not starts:
            message = 'nothing says what listings are relative to; write start="yes" at the level of the front page'
            notes.add(parent, message)
            return
        for name in words(parent, "when-none"):
            if name not in known:
                has = ", ".join(sorted(known)) or "none"
                notes.add(parent, f"when-none: no level with start has a navigate action {name}; they have {has}")


def _listing(element: etree._Element, when_none: tuple[str, ...], notes: Notes) -> Listing:
    kind = text(element, "kind")
    found = Listing(
        text(element, "name"),
        "sitemap" if kind == "sitemap" else "feed" if kind == "feed" else "page",
        text(element, "address"),
        int(text(element, "from") or 1),
        int(text(element, "step") or 1),
        text(element, "order") == "oldest-first",
        when_none,
        text(element, "cite"),
    )
    _check_address(element, found, notes)
    _check_paging(element, found, notes)
    return found


def _check_address(element: etree._Element, listing: Listing, notes: Notes) -> None:
    written = listing.address.replace(PAGE_NUMBER, "")
    if set("{}").intersection(written):
        notes.add(element, f"of names in braces a listing knows {PAGE_NUMBER} alone, the number of its page")
    if _BLANK.search(written):
        notes.add(element, "a URL has no blanks and no #; write %20 for a blank and take out what # begins")
    if _ELSEWHERE.match(listing.address):
        notes.add(element, "a listing is on the application's own site; write its URL from the root on: feed/")


def _check_paging(element: etree._Element, listing: Listing, notes: Notes) -> None:
    if not listing.is_paged:
        for name in ("from", "step", "order"):
            if text(element, name):
                message = f"{name} is for listings of several pages; write {PAGE_NUMBER} in the URL or take it out"
                notes.add(element, message)
    elif listing.kind == "page":
        message = f"a listing of this kind lists everything at once; write the URL without {PAGE_NUMBER}"
        notes.add(element, message)
    if listing.step < 1 or listing.start < 0:
        notes.add(element, "pages are counted upwards: from is at least 0 and step at least 1")
