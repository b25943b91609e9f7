"""Suggestions for a definition from what a form brings: pasted text, or a document."""

from collections.abc import Iterator
from contextlib import closing

from aahcrawler.documents.given_text import given_text
from aahcrawler.documents.reader import DocumentReader
from aahcrawler.service.cockpit.site import Form
from aahcrawler.service.web.problems import BAD_SEARCH, ProblemError
from online_analysis.icd import Icd
from online_analysis.suggestions import Suggestions, suggest

_SECONDS = 30.0
"""Seconds that a document is read for."""


def suggested(form: Form, icd: Icd | None) -> Suggestions:
    """Return what a pasted text and a document suggest beyond a definition. Raise ``ProblemError`` without either."""
    texts = [form.raw("pasted").strip()]
    links: tuple[str, ...] = ()
    if form.document:
        with closing(DocumentReader(_SECONDS)) as reader:
            given = given_text(form.document, "", reader)
        if given.problem and not given.text.strip():
            raise ProblemError(BAD_SEARCH, given.problem)
        texts.append(given.text)
        links = given.links
    text = "\n\n".join(part for part in texts if part)
    if not text:
        raise ProblemError(BAD_SEARCH, "paste a text, choose a document, or name a crawl")
    return suggest(text, links, given=_given(icd))


def _given(icd: Icd | None) -> Iterator[str]:
    """Yield what a definition has already."""
    if icd is not None:
        yield from icd.topic.keywords
        yield from icd.topic.entities
        yield from icd.seeds
