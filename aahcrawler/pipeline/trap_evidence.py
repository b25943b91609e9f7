"""What pages teach the traps: near duplicates, soft 404s, and ids of sessions."""

import re
import zlib
from collections.abc import Sequence
from dataclasses import replace
from html import unescape
from typing import Final

from aahcrawler import urls
from aahcrawler.frontier.hops import redirects_in_a_row
from aahcrawler.frontier.protocol import Lease
from aahcrawler.helper import Assistance
from aahcrawler.metadata import Metadata
from aahcrawler.objects.versions import identity
from aahcrawler.page import Page
from aahcrawler.page.onward import location
from aahcrawler.page.titles import head_title
from aahcrawler.traps.patterns import Trap
from aahcrawler.traps.session_ids import SessionIds, Suspect, may_hold_id
from aahcrawler.traps.traps import Seen, TrapVerdict
from aahcrawler.urls import posted_by, without_session
from aahcrawler.webobject import Reference, WebObject
from online_analysis.document import Document

_MAX_PROSE: Final = 1_000_000
"""Characters of a file that are looked at."""
_OPENING: Final = 80
"""Characters, without white space, that tell a text which was written at a moment from others."""
_MIN_WORDS: Final = 6
"""Words of a line of running text; headers of mails and fields of tables have fewer."""
_GZIP: Final = b"\x1f\x8b"
_WORD: Final = re.compile(r"[^\W\d_]+")
_TAG: Final = re.compile(r"<[^<>]*>")


def marked(metadata: Metadata, verdict: TrapVerdict | None, own: Sequence[WebObject] = ()) -> Metadata:
    """Return what is kept of a page with what was found of traps.

    A soft 404 has no score, and a near duplicate none of the objects that pages before it had, other than its ``own``,
    which a former crawl read from it.
    """
    if verdict is None:
        return metadata
    if verdict.repeated:
        known = set(map(identity, own))
        kept = tuple(
            each
            for number, each in enumerate(metadata.objects)
            if number not in verdict.repeated or identity(each) in known
        )
        metadata = replace(metadata, objects=kept)
    if verdict.trap is None:
        return metadata
    if verdict.trap is Trap.SOFT_404:
        metadata = replace(metadata, score=None, relevant=None)
    return replace(metadata, trap=verdict.trap, like=verdict.like)


def are_of(objects: Sequence[WebObject], original: Sequence[WebObject]) -> bool:
    """Return whether at least half of the objects of a page are those of another page, under whatever IRIs."""
    known = set(map(identity, original))
    return 2 * sum(identity(each) in known for each in objects) >= len(objects) > 0


def shown_to_traps(url: str, queue: str, assistance: Assistance, *, relevant: bool = False) -> Seen:
    """Return what traps learn from a page: its URL, its pay-level domain, and what it was understood to show."""
    document = assistance.document
    beside = (document.rest, *(part.text for part in document.parts if part.role == "navigation"))
    objects = tuple(map(_content_of, assistance.objects))
    anchors = " ".join(link.anchor for link in document.outlinks)
    identities = tuple(map(identity, assistance.objects))
    named = () if assistance.match is not None else assistance.objects
    names = tuple(dict.fromkeys(each.iri.partition("#")[0] for each in named))
    media = (value for each in assistance.objects for value in each.properties.get("media", ()))
    return Seen(
        url,
        queue,
        content(document),
        " ".join(beside),
        objects,
        identities,
        relevant,
        anchors,
        names,
        tuple(value.url for value in media if isinstance(value, Reference)),
        tuple(filter(None, map(_opening_of, assistance.objects))),
    )


def content(document: Document) -> str:
    """Return the text of a document's content, without what stands beside it."""
    return " ".join(part.text for part in document.parts if part.role == "content")


def _content_of(web_object: WebObject) -> str:
    """Return what an object says, empty where that is no text."""
    body = web_object.first("body") or web_object.first("description")
    return body if isinstance(body, str) else ""


def _opening_of(web_object: WebObject) -> str:
    """Return when an object was written, and its first words; empty where it has no date, or no more than these."""
    date, text = web_object.first("date"), "".join(_content_of(web_object).split())
    return f"{date} {text[:_OPENING]}" if date and len(text) > _OPENING else ""


def prose(page: Page) -> str | None:
    """Return the running text of a file that is no HTML page, None where it is no text that can be read.

    A file that was compressed with gzip (RFC 1952) is text where what it holds is. Only the beginning is read.
    """
    if page.body.startswith(_GZIP):
        try:
            body = zlib.decompressobj(wbits=31).decompress(page.body, _MAX_PROSE)
        except zlib.error:
            return None
        text = body.decode("utf-8", "replace")
    elif page.media_type.startswith("text/") or page.is_json or page.media_type.endswith("xml"):
        text = page.text[:_MAX_PROSE]
    else:
        return None
    if "\0" in text:
        return None
    if page.media_type.endswith("xml"):
        text = unescape(_TAG.sub(" ", unescape(text)))
    return "\n".join(line for line in text.splitlines() if len(_WORD.findall(line)) >= _MIN_WORDS)


MAX_REFERENCES = 10_000
"""The references of a page that are looked at."""


def suspects(page: Page, sessions: SessionIds) -> Sequence[Suspect]:
    """Return what may be ids of sessions in the links of a page; empty for what is none, and where none may be."""
    if not (page.is_html and 200 <= page.status < 300):
        return ()
    references = _references(page)
    if not any(map(may_hold_id, references)) or not sessions.is_due(page.url):
        return ()
    return sessions.suspects(page.url, _resolved(page, references))


def page_to_ask(page: Page, lease: Lease, found: Sequence[Suspect]) -> str:
    """Return the URL to ask for once more: the page's, or that which redirects to it where its own has the id already.

    Empty where nothing is suspected, and where neither would tell: who asks with an id is given the same again. What
    was sent by a form is not sent twice.
    """
    if posted_by(lease.url) is not None:
        return ""
    redirecting = lease.via if redirects_in_a_row(lease.path) else ""
    for url in filter(None, (page.url, redirecting) if found else ()):
        if urls.origin(url) == urls.origin(page.url) and not any(each.value in url for each in found):
            return url
    return ""


def links_of(again: Page, page: Page) -> Sequence[str]:
    """Return where the answer leads that a page, or what redirects to it, was given ``again``.

    That is nowhere for a page that shows something else by now, and for an error.
    """
    if (target := location(again.url, again.status, again.headers)) is not None:
        return (without_session(target),)
    if again.is_html and again.status < 300 and again.url == page.url and head_title(again) == head_title(page):
        return _resolved(again, _references(again))
    return ()


def _references(page: Page) -> Sequence[str]:
    written = [element.get("href") or element.get("src") for element in page.tree.iter("a", "area", "frame", "iframe")]
    return tuple(dict.fromkeys([each for each in written if each and not each.startswith("#")]))[:MAX_REFERENCES]


def _resolved(page: Page, references: Sequence[str]) -> Sequence[str]:
    found = (urls.resolve(page.base_url, each) for each in references)
    return tuple(dict.fromkeys(without_session(each) for each in found if each is not None))
