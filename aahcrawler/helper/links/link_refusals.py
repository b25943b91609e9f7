"""Decide which links of pages of unknown software are worth a request, by what a crawl knows beside the page."""

from collections.abc import Collection, Iterable

from aahcrawler.helper.links.junk_urls import junk, paged_in_order
from aahcrawler.helper.site_memory.link_judge import LinkJudge
from knowledge_base.url_rules import Reason


def refusals(own: str, links: Collection[str], judge: LinkJudge) -> dict[str, Reason]:
    """Return which links of a page (``own``) to its site are junk, and why.

    What is doubtful is junk where the plain page is linked to as well, or is known. Further pages of a list in its only
    order never are.
    """
    linked = {own, judge.without_id(own), *links}
    found = {url: reason for url in links if (reason := _refusal(url, linked, judge)) is not None}
    if Reason.SORT_ORDER in found.values():
        for url in paged_in_order(own, links):
            found.pop(url, None)
    return found


def refusal(url: str, judge: LinkJudge) -> Reason | None:
    """Return why a link that stands on no page, but in a list, is junk; None where it is, or may be, worth asking."""
    return _refusal(url, (), judge)


def doubtful(own: str, links: Iterable[str]) -> frozenset[str]:
    """Return which links of a page (``own``) to its site may be junk, so that others come first."""
    urls = tuple(links)
    found = {url for url in urls if (said := junk(url)) is not None and said.doubtful}
    return frozenset(found - paged_in_order(own, urls)) if found else frozenset()


def _refusal(url: str, linked: Collection[str], judge: LinkJudge) -> Reason | None:
    said = junk(url)
    if said is None or (not said.is_deed and judge.allows(url, said.word)):
        return None
    if said.doubtful and not any(plain in linked or judge.knows(plain) for plain in said.plain):
        return None
    return said.reason
