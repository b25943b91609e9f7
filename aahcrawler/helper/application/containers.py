"""Find the containers of a page's objects that are not objects themselves: a thread, and the forum that it is in."""

import re
from collections.abc import Collection, Sequence
from dataclasses import replace

from aahcrawler.helper.detection.recognition import Place
from aahcrawler.helper.extraction.extraction import Extracted
from aahcrawler.helper.extraction.outcome import Runner
from aahcrawler.helper.links.anchors import anchor_text
from aahcrawler.helper.links.navigation import Chosen, Links
from aahcrawler.webobject import Container, Reference
from knowledge_base.model import Application, Extract, Navigate

TITLE, PARENT = "title", "parent"
_ANSWER = re.compile(r"^(?:re: *)+", re.IGNORECASE)
_SEPARATORS = " «»‹›<>|/·•→←"


def thread_of(place: Place, runner: Runner, extracted: Sequence[Extracted]) -> Container | None:
    """Return the container of a page's objects, of the type that the page's level names; None if it names none.

    None too if no object is a part of the page, or one object is the whole page. Raises `lxml.etree.XPathError` for an
    expression that fails on this page.
    """
    own = runner.location.own.url
    parts = [each.object for each in extracted if each.object.part_of == own]
    if not place.level.type or not parts or any(each.object.iri == own for each in extracted):
        return None
    first = parts[0].first(TITLE)
    title = _ANSWER.sub("", first) if isinstance(first, str) else ""
    shown = "" if title and runner.location.is_first else _shown_title(place, runner)
    return Container(own, place.level.type, shown or title)


def answering_within(place: Place, runner: Runner, extracted: Sequence[Extracted]) -> tuple[Extracted, ...]:
    """Remove references to answered objects that are not posts of the thread.

    A quote names only the quoted post, which may be one of another thread. That post is older than its answer, so that
    on the first page of a thread only posts of this page count; on later pages this cannot be known.
    """
    if not place.level.type or not runner.location.is_first:
        return tuple(extracted)
    here = {each.object.iri for each in extracted}
    return tuple(_without_parent(each) if _answers_elsewhere(each, here) else each for each in extracted)


def forum_of(place: Place, links: Links, application: Application, chosen: Sequence[Chosen]) -> Container | None:
    """Return the container of a thread: the target of the last link on its page to a level of such a type."""
    levels = {
        action.name: level
        for action in place.actions
        if isinstance(action, Navigate) and (level := application.level(action.to)).type and level is not place.level
    }
    titles: dict[tuple[str, str], str] = {}
    last: tuple[str, str] | None = None
    for link in chosen:
        target = levels.get(link.action or "")
        verdict = links.sites.verdict(application, link.url)
        if target is not None and verdict.level is target and link.element is not None:
            last = (links.sites.whole(target, verdict.url), target.type)
            # Links to further pages of a forum come after the one that bears its name.
            titles.setdefault(last, anchor_text(link.element).strip(_SEPARATORS))
    return Container(*last, titles[last]) if last is not None else None


def _answers_elsewhere(extracted: Extracted, here: Collection[str]) -> bool:
    parent = extracted.object.first(PARENT)
    return isinstance(parent, Reference) and parent.url not in here


def _without_parent(extracted: Extracted) -> Extracted:
    kept = {name: values for name, values in extracted.object.properties.items() if name != PARENT}
    return replace(extracted, object=replace(extracted.object, properties=kept))


def _shown_title(place: Place, runner: Runner) -> str:
    """Read the title that every page of a thread shows."""
    for action in place.actions:
        for wanted in action.fields if isinstance(action, Extract) else ():
            if wanted.name == TITLE and wanted.page:
                values = runner.reader.read(wanted, runner.location.page.tree, None).values
                if values:
                    return str(values[0])
    return ""
