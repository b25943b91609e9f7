"""Find the evidence of traps on a page, and mark the metadata of a page in one."""

from collections.abc import Sequence
from dataclasses import replace

from aahcrawler.helper import Assistance
from aahcrawler.metadata import Metadata
from aahcrawler.objects.versions import identity
from aahcrawler.traps import Seen, Trap, Verdict
from aahcrawler.webobject import Reference, WebObject
from online_analysis.document import Document


def marked(metadata: Metadata, verdict: Verdict | None, own: Sequence[WebObject] = ()) -> Metadata:
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


def seen(url: str, queue: str, assistance: Assistance, *, relevant: bool = False) -> Seen:
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
    )


def content(document: Document) -> str:
    """Return the text of a document's content, without what stands beside it."""
    return " ".join(part.text for part in document.parts if part.role == "content")


def _content_of(web_object: WebObject) -> str:
    """Return what an object says, empty where that is no text."""
    body = web_object.first("body") or web_object.first("description")
    return body if isinstance(body, str) else ""
