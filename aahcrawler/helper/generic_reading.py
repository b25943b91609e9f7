"""What the helper says of a page of no known application, and what it says of pages of either sort."""

from aahcrawler.helper.anchors import Contexts, anchor_text
from aahcrawler.helper.assistance import Assistance, Refused
from aahcrawler.helper.navigation import Chosen, Links, abroad
from aahcrawler.helper.references import References
from aahcrawler.helper.unknown_addresses import junk
from aahcrawler.induction import objects
from aahcrawler.page import Page, claims, feeds, generic, requisites
from aahcrawler.webobject import WebObject
from online_analysis.document import Document, DocumentPart, Outlink

MOST_TITLE = 500
LANGUAGE_SAMPLE = 600


def read(page: Page, links: Links) -> Assistance:
    """Read an HTML page of no known application: its main content, the objects it declares or is, all its links."""
    content = generic.main_content(page)
    parts = (DocumentPart("content", content),) if content else ()
    described = {link.url: link for link in generic.links(page)}
    contexts = Contexts()
    outlinks: dict[str, Outlink] = {}
    refused: dict[str, Refused] = {}
    for link in abroad(links, ((link.url, link.element) for link in described.values())):
        reason = junk(link.url) if links.is_here(link.url) else None
        if reason is not None:
            refused.setdefault(link.url, Refused(link.url, reason))
            continue
        known = described.get(link.url)
        outlink = Outlink(link.url, known.anchor, known.context) if known else outlink_of(link, None, contexts)
        outlinks.setdefault(link.url, outlink)
    outlinks.pop(page.url, None)
    document = Document(
        page.url,
        language_of(page, parts),
        generic.title(page)[:MOST_TITLE],
        parts,
        tuple(outlinks.values()),
        generic.published(page, page.fetched_at),
    )
    junked = (*links.refused, *refused.values())
    return Assistance(None, document, _objects(page, links), requisites.of_page(page), junked)


def _objects(page: Page, links: Links) -> tuple[WebObject, ...]:
    """Read the objects of a page with what they refer to."""
    reading = objects.read(page)
    if not reading.bodies:
        return reading.objects
    references = References(links, claims.permalink(page))
    return tuple(
        references.of(each, body.elements, body.without)
        if (body := reading.bodies.get(each.iri)) is not None and body.text is None
        else each
        for each in reading.objects
    )


def read_other(page: Page, links: Links) -> Assistance:
    """Read what is no HTML: a style sheet needs the files it names, a feed leads to its entries; others yield nothing.

    A feed that the application of its site calls junk leads nowhere.
    """
    feed = feeds.read(page) if 200 <= page.status < 300 else None
    application = links.sites.application(page.url)
    if feed is not None and (application is None or links.judge(application, page.url) is not None):
        return _read_feed(page, links, feed)
    needed = requisites.of_stylesheet(page.text, page.url) if page.media_type == "text/css" else ()
    return Assistance(None, Document(page.url, None, "", (), ()), requisites=needed, refused=links.refused)


def _read_feed(page: Page, links: Links, feed: feeds.Feed) -> Assistance:
    """Read where a feed leads. Its entries are no objects: they are extracted from pages of their own."""
    outlinks: dict[str, Outlink] = {}
    refused: dict[str, Refused] = {}
    for entry in feed.entries:
        application = links.sites.application(entry.url)
        verdict = links.judge(application, entry.url) if application is not None else None
        if application is not None and verdict is None:
            continue
        reason = junk(entry.url) if application is None else None
        if reason is not None:
            refused.setdefault(entry.url, Refused(entry.url, reason))
            continue
        url = verdict.url if verdict is not None else entry.url
        context = f"{entry.title} {entry.summary}".strip()
        outlinks.setdefault(url, Outlink(url, entry.title, context, 0))
    outlinks.pop(page.url, None)
    text = "\n".join(outlink.context for outlink in outlinks.values() if outlink.context)
    parts = (DocumentPart("navigation", text),) if outlinks else ()
    language = generic.language(text[:LANGUAGE_SAMPLE]) if text else None
    document = Document(page.url, language, feed.title[:MOST_TITLE], parts, tuple(outlinks.values()))
    return Assistance(None, document, refused=(*links.refused, *refused.values()))


def outlink_of(link: Chosen, part: int | None, contexts: Contexts) -> Outlink:
    """Describe a chosen link by its text and the text around it."""
    if link.element is None:
        return Outlink(link.url, "", part=part, action=link.action)
    anchor = anchor_text(link.element)
    return Outlink(link.url, anchor, contexts.around(link.element) or anchor, part, link.action)


def language_of(page: Page, parts: tuple[DocumentPart, ...]) -> str | None:
    """Tell the language from the content, where there is enough of it, else from what the page declares."""
    sample = "\n".join(part.text for part in parts if part.role == "content")[:LANGUAGE_SAMPLE]
    detected = generic.language(sample) if sample else None
    declared = (page.tree.get("lang") or page.tree.get("xml:lang") or "").strip().lower()[:2]
    return detected or (declared if len(declared) == 2 and declared.isalpha() else None)
