"""Read very large pages: texts and objects of their beginnings, and all of their links."""

from collections.abc import Iterator
from dataclasses import replace

from aahcrawler.helper.assistance import READ, Assistance, FailedAction, Failure, Refused
from aahcrawler.helper.links.anchors import anchor_text
from aahcrawler.helper.links.link_refusals import refusals
from aahcrawler.helper.links.navigation import Links, abroad, embedded
from aahcrawler.page import Page, generic, markup, requisites
from knowledge_base.model import Application
from online_analysis.document import Outlink


def with_rest(found: Assistance, beginning: Page, page: Page, links: Links) -> Assistance:
    """Return what was understood of a page's beginning, with the links of all of it, and a word on what was not read.

    Of a known application only the links that it documents are followed beyond the beginning.
    """
    with_links = links_alone(found, page, links)
    application = found.match.application if found.match is not None else None
    return replace(with_links, failed_actions=(*found.failed_actions, _said(beginning, page, application)))


def links_alone(found: Assistance, page: Page, links: Links) -> Assistance:
    """Add all links of a page to what was understood of it, in time that is linear in its size.

    Of a known application only the links that it documents are followed.
    """
    application = found.match.application if found.match is not None else None
    known = {each.url for each in found.document.outlinks} | {page.url}
    refused = {each.url: each for each in found.refused}
    added: dict[str, Outlink] = {}
    led = dict(_links(links, application))
    here = tuple(filter(links.is_here, led)) if application is None else ()
    junk = refusals(page.url, here, links.sites.judge)
    for url, link in led.items():
        reason = junk.get(url)
        if reason is not None:
            refused.setdefault(url, Refused(url, reason))
        elif url not in known:
            added.setdefault(url, link)
    refused |= {each.url: each for each in links.refused}
    needed = page.attempt("requisites", lambda: requisites.of_page(page), tuple[str, ...])
    return replace(
        found,
        document=replace(found.document, outlinks=(*found.document.outlinks, *added.values())),
        requisites=needed if application is None else embedded(links, application, needed),
        refused=tuple(refused.values()),
    )


def _links(links: Links, application: Application | None) -> Iterator[tuple[str, Outlink]]:
    for link in abroad(links, links.anchors):
        if application is not None:
            if links.sites.application(link.url) is not application:
                continue
            if links.sites.verdict(application, link.url).level is None:
                continue
        anchor = anchor_text(link.element) if link.element is not None else ""
        nofollow = link.element is not None and generic.is_nofollow(link.element)
        yield link.url, Outlink(link.url, anchor, anchor, nofollow=nofollow)


def _said(beginning: Page, page: Page, application: Application | None) -> FailedAction:
    parsed, size = markup.parsed_bytes(page.body), len(page.body)
    led = "all links" if parsed == size else f"the links of the first {parsed:,}"
    what = f"texts and objects of the first {len(beginning.body):,} of {size:,} bytes were read, and {led}"
    return FailedAction(application.name if application is not None else "", "", READ, Failure.TOO_MUCH, what)
