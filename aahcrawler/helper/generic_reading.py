"""Read pages of no known application, documents, sitemaps and feeds."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice

from aahcrawler.helper.assistance import Assistance, Refused
from aahcrawler.helper.links.junk_urls import is_challenge, refusals
from aahcrawler.helper.links.navigation import Links, abroad
from aahcrawler.helper.links.page_links import MEDIA, Contexts, LinkCollector, References
from aahcrawler.helper.parts import splitting
from aahcrawler.helper.parts.splitting import GenericSplit
from aahcrawler.helper.site_memory import LANGUAGE_SAMPLE, Sites, site_of
from aahcrawler.induction import generic_objects
from aahcrawler.induction.generic_objects import GenericReading
from aahcrawler.page import Page, claims, feeds, generic, requisites
from aahcrawler.page.feeds import Sitemap, SitemapEntry
from aahcrawler.page.generic import PageLink
from aahcrawler.page.requisites import linked_file
from aahcrawler.page.text import fold
from aahcrawler.page.transcript import Transcript
from aahcrawler.urls import resolve
from aahcrawler.webobject import Person, Reference, Value, WebObject
from knowledge_base.url_rules import Reason
from online_analysis.document import Document, DocumentPart, Outlink

MAX_TITLE = 500


def read_unknown(page: Page, links: Links) -> Assistance:
    """Read an HTML page of no known application: its parts, its objects, all its links."""
    attempt = page.attempt
    reading = page.once(generic_objects.read_objects)
    links.sites.records.learn(page.url, reading.shapes, reading.listed)
    links.sites.lines.learn(site_of(page.url), page.url, reading.lines)
    described, refused = attempt("links", lambda: _links(page, links), lambda: ({}, ()))
    files = tuple(url for url, link in described.items() if links.is_here(url) and linked_file(link.element, url))
    described = {url: link for url, link in described.items() if url not in files}
    shown_links = tuple(described.values())
    found = attempt("parts", lambda: splitting.split(page, reading, shown_links), lambda: splitting.whole(page))
    parts, languages = tuple(found.parts), links.sites.languages
    document = Document(
        page.url,
        attempt("language", lambda: languages.language(page, parts, ("content", "navigation")), lambda: None),
        attempt("title", lambda: generic.title(page), str)[:MAX_TITLE],
        parts,
        attempt("places of links", lambda: _outlinks(page, described, found), partial(_plain_outlinks, described)),
        attempt("date", lambda: generic.published(page, page.fetched_at), lambda: None),
        rest=found.rest,
    )
    needed = attempt("requisites", lambda: requisites.of_page(page), tuple[str, ...])
    needed = tuple(dict.fromkeys((*needed, *files)))
    challenges = tuple(Refused(url, Reason.ACTION) for url in needed if is_challenge(url))
    shown = tuple(url for url in needed if not is_challenge(url))
    made = attempt("references", lambda: _objects(page, links, reading), lambda: reading.objects)
    return Assistance(None, document, made, shown, (*links.refused, *refused, *challenges), no_object=reading.reason)


def _links(page: Page, links: Links) -> tuple[Mapping[str, PageLink], Sequence[Refused]]:
    """Return the links of a page to others by their canonical URLs, and those that are junk."""
    described = {each.element: each for each in generic.links(page) if not links.ignored.covers(each.element)}
    found: dict[str, PageLink] = {}
    refused: dict[str, Refused] = {}
    judge = links.sites.judge
    leading = tuple(abroad(links, ((judge.without_id(each.url), element) for element, each in described.items())))
    reasons = refusals(page.url, dict.fromkeys(link.url for link in leading if links.is_here(link.url)), judge)
    for link in leading:
        reason = reasons.get(link.url)
        if reason is not None:
            refused.setdefault(link.url, Refused(link.url, reason))
        elif link.element is not None:
            found.setdefault(link.url, described[link.element])
    for own in (page.url, judge.without_id(page.url)):
        found.pop(own, None)
    return found, tuple(refused.values())


def _outlinks(page: Page, described: Mapping[str, PageLink], found: GenericSplit) -> tuple[Outlink, ...]:
    contexts = Contexts(page)
    return tuple(
        Outlink(
            url,
            link.anchor,
            found.contexts.get(link.element) or link.context,
            found.part_of.get(link.element),
            place=contexts.places.of(link.element),
            hidden=contexts.hidden.covers(link.element),
            nofollow=link.nofollow,
        )
        for url, link in described.items()
    )


def _plain_outlinks(described: Mapping[str, PageLink]) -> tuple[Outlink, ...]:
    return tuple(Outlink(url, link.anchor, link.context, nofollow=link.nofollow) for url, link in described.items())


def _objects(page: Page, links: Links, reading: GenericReading) -> tuple[WebObject, ...]:
    """Return the objects of a page with their references; the page's own object gets the declared media."""
    references = References(links, claims.permalink(page))
    found = tuple(
        references.of(each, body.elements, body.without)
        if (body := reading.bodies.get(each.iri)) is not None and body.text is None
        else each
        for each in reading.objects
    )
    titled = tuple(_titled(each, links, page) for each in found)
    return tuple(_playing(each, claims.played(page)) if each.iri == references.own else each for each in titled)


def _titled(each: WebObject, links: Links, page: Page) -> WebObject:
    """Return an object; one without a title gets the title that another page gives it, such as that of its thread."""
    title = str(each.first("title") or "")
    if each.iri.partition("#")[0] == page.url and title:
        return each
    known = links.sites.records.titled(each.iri, title)
    return each if title or not known else replace(each, properties={**each.properties, "title": (known,)})


def _playing(web_object: WebObject, media: str | None) -> WebObject:
    if media is None or MEDIA in web_object.properties:
        return web_object
    return replace(web_object, properties={**web_object.properties, MEDIA: (Reference(media),)})


def read_other(page: Page, links: Links) -> Assistance:
    """Read a page that is not HTML: a style sheet has requisites, a feed links, a document text and links.

    Other types yield nothing, nor does a feed that the application of its site calls junk.
    """
    nothing = Assistance(None, Document(page.url, None, "", (), ()), refused=links.refused)
    if page.transcript is not None:
        transcript = page.transcript
        return page.attempt("document", lambda: read_transcript(page, transcript, links), lambda: nothing)
    feed = page.attempt("feed", lambda: feeds.read_feed(page), lambda: None) if page.is_content else None
    application = links.sites.application(page.url)
    if feed is not None and (application is None or links.judge(application, page.url) is not None):
        return _read_feed(page, links, feed)
    if page.media_type != "text/css":
        return nothing
    needed = page.attempt("style sheet", lambda: requisites.of_stylesheet(page.text, page.url), tuple[str, ...])
    return replace(nothing, requisites=needed)


def _read_feed(page: Page, links: Links, feed: feeds.Feed) -> Assistance:
    """Return the links of a feed. Its entries are not objects: objects are extracted from pages of their own."""
    listing = LinkCollector(links.sites)
    for entry in feed.entries:
        context = f"{entry.title} {entry.summary}".strip()
        listing.add(Outlink(entry.url, entry.title, context, 0, date=entry.published))
    outlinks = listing.outlinks
    outlinks.pop(page.url, None)
    text = "\n".join(outlink.context for outlink in outlinks.values() if outlink.context)
    parts = (DocumentPart("navigation", text),) if outlinks else ()
    language = generic.language(text[:LANGUAGE_SAMPLE]) if text else None
    document = Document(page.url, language, feed.title[:MAX_TITLE], parts, tuple(outlinks.values()), source="feed")
    mistakes = feed.mistakes if feed.mistakes.any else None
    return Assistance(None, document, refused=(*links.refused, *listing.refused.values()), mistakes=mistakes)


MAX_LINKS = 2_000


def read_transcript(page: Page, transcript: Transcript, links: Links) -> Assistance:
    """Return a document as an object, its text and its links; junk is refused, as on pages."""
    parts: list[DocumentPart] = []
    listing = LinkCollector(links.sites)
    for sheet in transcript.sheets:
        text = fold(sheet.text)
        at = len(parts) if text else None
        if text:
            parts.append(DocumentPart("content", text))
        for link in sheet.links:
            url = resolve(page.url, link.address)
            if url is not None and len(listing.outlinks) < MAX_LINKS:
                listing.add(Outlink(url, link.anchor, link.context, at))
    listing.outlinks.pop(page.url, None)
    sample = "\n".join(part.text for part in parts)[:LANGUAGE_SAMPLE]
    document = Document(
        page.url,
        generic.language(sample) if sample else None,
        transcript.title or (parts[0].text[:100] if parts else ""),
        tuple(parts),
        tuple(listing.outlinks.values()),
        transcript.created,
        source="document",
    )
    return Assistance(
        None, document, _transcript_objects(page, transcript, document), refused=tuple(listing.refused.values())
    )


def _transcript_objects(page: Page, transcript: Transcript, document: Document) -> tuple[WebObject, ...]:
    """Return a document as an object with what it declares of itself; none where it has neither title nor text."""
    body = "\n".join(part.text for part in document.parts)
    if not (body or transcript.title):
        return ()
    properties: dict[str, Value | None] = {
        "title": transcript.title or None,
        "author": Person(transcript.author) if transcript.author else None,
        "date": transcript.created,
        "body": body or None,
        "url": Reference(page.url),
    }
    known: dict[str, tuple[Value, ...]] = {name: (value,) for name, value in properties.items() if value is not None}
    return (WebObject(page.url, "document", page.url, known),)


AT_ONCE = 1_000
"""Entries of a sitemap that are read as one piece."""


def read_sitemap(page: Page, sites: Sites) -> Iterator[Assistance]:
    """Yield the links of a sitemap in pieces: links to pages, and other sitemaps.

    URLs are in the canonical form of the application of their site, if known; junk is refused. The last piece has the
    mistakes in the sitemap.
    """
    sitemap = Sitemap(page)
    entries = iter(sitemap)
    while piece := tuple(islice(entries, AT_ONCE)):
        yield _piece(page, piece, sites)
    if sitemap.mistakes.any:
        yield Assistance(None, Document(page.url, None, "", (), ()), mistakes=sitemap.mistakes)


def _piece(page: Page, entries: Iterable[SitemapEntry], sites: Sites) -> Assistance:
    listing, nested = LinkCollector(sites), dict[str, None]()
    for entry in entries:
        if entry.is_sitemap:
            nested[entry.url] = None
        else:
            context = f"{entry.title} {entry.summary}".strip()
            listing.add(Outlink(entry.url, entry.title, context, date=entry.changed, changefreq=entry.changefreq))
    document = Document(page.url, None, "", (), tuple(listing.outlinks.values()))
    return Assistance(None, document, refused=tuple(listing.refused.values()), sitemaps=tuple(nested))
