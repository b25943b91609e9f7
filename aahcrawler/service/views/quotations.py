"""Words that annotations stand on, shown within the texts of their objects."""

import re
from collections.abc import Mapping
from typing import Final

from pydantic import BaseModel, ConfigDict

from aahcrawler.annotations import Annotation
from aahcrawler.objects import vocabulary as v
from aahcrawler.objects.capture_statements import CaptureStatements, read_statements
from aahcrawler.segments import DamageError
from aahcrawler.service.views.capture_view import capture_row, capture_text
from aahcrawler.service.views.page_indexes import Asked
from aahcrawler.service.web.problems import ProblemError
from offline.enrichment.object_texts import MIN_QUOTED, object_texts

_AROUND: Final = 140
"""Characters shown before the words, and behind them."""
_BLANK: Final = re.compile(rf"\s{{{2 * MIN_QUOTED - 1},}}")
"""A space in which as many words may have stood as texts quote at least."""
_DESCRIPTION: Final = v.predicate("description")


class Quoted(BaseModel):
    """Words in a text, with the text around them; ``marked`` is empty where the object as a whole speaks of something.

    ``[…]`` stands in the place of what the text quotes of others.
    ``terms`` are the words that a topic rests on, which stand apart in the text.
    """

    model_config = ConfigDict(frozen=True)

    object: str
    record: str
    published: str
    title: str
    before: str
    marked: str
    behind: str
    confidence: float
    terms: str = ""


def quoted(pages: Asked, each: Annotation, dates: Mapping[str, str]) -> Quoted:
    """Return the words of an annotation within their text, without it where the capture cannot be read."""
    text, title, written = "", "", ""
    if stated := _stated(pages, each.capture):
        found = next((given for given in object_texts(stated) if given.object == each.object), None)
        text, title = (found.text, found.title) if found is not None else ("", "")
        written = _written(stated, each.object)
    start, marked = _marked(each, text)
    end = max(0, start) + len(marked)
    if start < 0 and marked:
        before = behind = ""
    else:
        before, behind = _told(text[: max(0, start)], written), _told(text[end:], written[end:])
    head, tail = before[-_AROUND:], behind[: _AROUND if marked else 2 * _AROUND]
    return Quoted(
        object=each.object,
        record=each.capture,
        published=dates.get(each.object, ""),
        title=title,
        before=f"… {head.partition(' ')[2]}" if len(before) > len(head) else head,
        marked=marked,
        behind=f"{tail.rpartition(' ')[0]} …" if len(behind) > len(tail) else tail,
        confidence=each.confidence,
        terms=each.quote if each.start < 0 else "",
    )


def quoted_sentence(pages: Asked, each: Annotation) -> str:
    """Return the sentence of an opinion, in which what it quotes of others is ``[…]``."""
    stated = _stated(pages, each.capture) if _BLANK.search(each.quote) else None
    return _told(each.quote, _written(stated, each.object)[each.start : each.end]) if stated else each.quote


def _stated(pages: Asked, record: str) -> CaptureStatements | None:
    """Return what a capture states, None if that cannot be read."""
    try:
        return read_statements(capture_text(pages, capture_row(pages, record)))
    except (OSError, DamageError, ProblemError):
        return None


def _told(own: str, written: str) -> str:
    """Return a text with ``[…]`` in the place of the words that ``written`` has at the same place.

    >>> _told("Ann: > " + " " * 21 + ". Oh!", "Ann: > what the sea does now. Oh!")
    'Ann: > […] . Oh!'
    """
    return _BLANK.sub(lambda blank: " […] " if written[blank.start() : blank.end()].strip() else blank[0], own)


def _written(stated: CaptureStatements, iri: str) -> str:
    """Return the text of an object with what it quotes of others; empty if the capture does not state it."""
    body = next((each.body for each in stated.objects if each.iri == iri), "")
    return body or stated.first(iri, _DESCRIPTION) or ""


def _marked(each: Annotation, text: str) -> tuple[int, str]:
    """Return where the words of an annotation stand in a text, -1 for nowhere, and these words.

    Of words that stand apart the first is taken.
    """
    if each.start >= 0:
        return (each.start if text[each.start : each.end] == each.quote else -1), each.quote
    found = ((text.find(term), term) for term in each.quote.split(", ") if term)
    return min((place for place in found if place[0] >= 0), default=(-1, ""))
