"""Make the metadata of a page that was understood and scored. Nothing here reads, writes or tells the time."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from aahcrawler import urls
from aahcrawler.frontier.protocol import Lease
from aahcrawler.helper.assistance import FailedAction, Failure, Refused
from aahcrawler.metadata import Link, LinkType, Metadata
from aahcrawler.objects.versions import Changes, compare
from aahcrawler.page import Page, generic, requisites
from aahcrawler.page.linked_files import media_file
from aahcrawler.page.loose_xml import Mistakes
from aahcrawler.page.onward import location
from aahcrawler.pipeline.score import ScoredPage
from aahcrawler.scores import Lesson
from aahcrawler.streams import StreamNote, UnreadableManifestError, manifest_of, notes_of
from aahcrawler.traps.traps import TrapVerdict
from aahcrawler.webobject import Container
from online_analysis.aggregation import Scores
from online_analysis.batching import Contribution
from online_analysis.document import Document

_HARMLESS: Final = (Failure.NOT_SENT, Failure.READS_LESS)


@dataclass(frozen=True, slots=True)
class PageAnalysis:
    """The analysis of one answer. ``refused`` are the links that the knowledge base calls junk.

    ``containers`` are the threads and forums that its objects are parts of, ``failed`` the actions that did not do
    their work, and ``learned`` names a learned action that did. ``error`` is the type of what was raised where nothing
    could be understood. ``scores`` are what analysers said of a page that was looked at now, ``lesson`` what the
    ranker learned from it, and ``contribution`` what it brings into the batch that its links are scored with, None
    where they have their scores already. ``document`` is a page's text and links, where it was looked at now, and
    ``verdict`` what it was found to be beside the pages before it. ``mistakes`` are those of a feed's markup, None
    where there were none.
    """

    metadata: Metadata
    refused: tuple[Refused, ...] = ()
    containers: tuple[Container, ...] = ()
    failed: tuple[FailedAction, ...] = ()
    learned: str = ""
    error: str = ""
    scores: tuple[Scores, ...] = ()
    lesson: Lesson | None = None
    document: Document | None = None
    contribution: Contribution | None = None
    verdict: TrapVerdict | None = None
    mistakes: Mistakes | None = None


@dataclass(frozen=True, slots=True)
class Beside:
    """What metadata of a page say beside what the helper and the analysers said of it.

    ``links`` come after those of the page's document, ``stream`` is what a manifest says, None where a page is none,
    and ``failed`` are all actions and stages that failed on the page.
    """

    links: Sequence[Link] = ()
    failed: Sequence[FailedAction] = ()
    stream: Metadata | None = None
    understood_by: str = ""


def of_page(lease: Lease, page: Page, processed: ScoredPage, relevant_at: float | None, beside: Beside) -> Metadata:
    """Return what was understood of a page or an error answer; only pages are relevant, or are not.

    With None for ``relevant_at`` nothing has a score: the crawl is about nothing in particular.
    """
    assistance, stream = processed.assistance, beside.stream or Metadata()
    own = _links(processed, nofollow=page.once(generic.forbids_following))
    match, document = assistance.match, assistance.document
    level = match.level if match else None
    score = processed.score if page.is_content and relevant_at is not None else None
    return Metadata(
        understood_by=beside.understood_by,
        media_type=page.media_type,
        application=match.application.name if match else None,
        level=level.name if level else None,
        role=level.role if level else None,
        variant=match.variant if match else "",
        language=document.language,
        title=document.title,
        score=score,
        relevant=None if score is None or relevant_at is None else score >= relevant_at,
        priority=lease.score,
        depth=lease.depth,
        links=(*own, *beside.links, *stream.links),
        objects=assistance.objects,
        failures=tuple(map(str, beside.failed)),
        no_object=assistance.no_object or "",
        source=document.source,
        stream=stream.stream,
    )


def of_redirect(lease: Lease, page: Page) -> Metadata:
    """Return where an answer redirects to; nothing where it says none, or its own URL."""
    target = location(page.url, page.status, page.headers)
    links = () if target is None or target == lease.url else (Link(target, LinkType.REDIRECT),)
    return Metadata(media_type=page.media_type, priority=lease.score, depth=lease.depth, links=links)


def of_stylesheet(page: Page) -> Metadata:
    """Return what a style sheet needs to be shown. That it has no priority tells it from pages."""
    needed = requisites.of_stylesheet(page.text, page.url)
    links = tuple(Link(url, LinkType.REQUISITE) for url in needed)
    return Metadata(media_type=page.media_type, links=links)


def of_media(page: Page) -> Metadata | None:
    """Return what a file of an object is, None where it is no picture, sound or film. It has no priority either."""
    found = media_file(page) if 200 <= page.status < 300 else None
    return None if found is None else Metadata(media_type=page.media_type, objects=(found,))


def of_stream(page: Page, most_lines: int) -> Metadata | None:
    """Return what the manifest of a stream asks for, None where an answer is none. It has no priority either."""
    if not 200 <= page.status < 300:
        return None
    try:
        found = manifest_of(page, most_lines)
    except UnreadableManifestError:
        return Metadata(media_type=page.media_type, stream=(StreamNote.UNREADABLE,))
    if found is None:
        return None
    parts = dict.fromkeys(url for part in found.parts if (url := urls.canonicalize(part)) is not None)
    links = tuple(Link(url, LinkType.REQUISITE) for url in parts if url != page.url)
    return Metadata(media_type=page.media_type, links=links, stream=tuple(notes_of(found)))


def not_understood(lease: Lease, page: Page, error: Exception) -> Metadata:
    """Return all that is known of a page whose understanding raised an error."""
    failure = " ".join(f"not understood: {type(error).__name__}: {error}".split())
    return Metadata(media_type=page.media_type, priority=lease.score, depth=lease.depth, failures=(failure[:1000],))


def leased_anew(metadata: Metadata, lease: Lease) -> Metadata:
    """Return what is remembered of a page, as fetched with today's priority and depth."""
    return replace(metadata, priority=lease.score, depth=lease.depth)


def needs_requisites(metadata: Metadata) -> bool:
    """Say whether an answer needs other files to be shown."""
    return any(link.type is LinkType.REQUISITE for link in metadata.links)


def is_doubtful(metadata: Metadata) -> bool:
    """Say whether objects may have been on a page that were not found.

    A form that was not sent hides none, nor does a draft that reads less than what counts in its place.
    """
    return any(not any(f": {each}" in failure for each in _HARMLESS) for failure in metadata.failures)


def changes(before: Metadata, now: Metadata, *, complete: bool) -> Changes:
    """Return what became of the objects of a page; both must have been understood by the same knowledge base.

    What was not found because an action failed, or because the page did not come whole (``complete``), is not taken
    for deleted, nor for added where an action failed before.
    """
    found = compare(before.objects, now.objects)
    if is_doubtful(now) or not complete:
        found = replace(found, deleted=())
    return replace(found, added=()) if is_doubtful(before) else found


def _links(processed: ScoredPage, *, nofollow: bool) -> Iterator[Link]:
    marked = {link.url for link in processed.assistance.document.outlinks if nofollow or link.nofollow}
    for link in processed.links:
        yield Link(link.url, LinkType.PAGE, link.anchor, link.score, link.action, link.url in marked)
    for url in processed.assistance.requisites:
        yield Link(url, LinkType.REQUISITE)
