"""Suggestions for a definition from what a form brings: pasted text, or a document."""

from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime

from aahcrawler.documents.reader import DocumentReader, is_document
from aahcrawler.page import Headers, Page
from aahcrawler.page.generic import links
from aahcrawler.page.text import plain_text
from aahcrawler.service.cockpit.site import Form
from aahcrawler.service.web.problems import BAD_QUERY, ProblemError
from online_analysis.icd import Icd
from online_analysis.suggestions.evidence import Suggestions
from online_analysis.suggestions.text_suggestions import suggest

_SECONDS = 30.0
"""Seconds that a document is read for."""


def suggested(form: Form, icd: Icd | None) -> Suggestions:
    """Return what a pasted text and a document suggest beyond a definition. Raise ``ProblemError`` without either."""
    parts = [form.raw("pasted").strip()]
    if form.document:
        parts.append(_text_of(form.document))
    text = "\n\n".join(part for part in parts if part)
    if not text:
        raise ProblemError(BAD_QUERY, "paste a text, or choose a document")
    return suggest(text, given=_given(icd))


def _text_of(content: bytes) -> str:
    """Return the text of an uploaded document, with the addresses that it links to, a line each.

    Raise ``ProblemError`` where it has none that can be read.
    """
    page = Page("http://document.invalid/", 200, Headers(()), content, datetime.now(UTC))
    if is_document(page):
        with closing(DocumentReader(_SECONDS)) as reader:
            read = reader.read(content)
        texts = [sheet.text for sheet in read.sheets]
        texts += [link.address for sheet in read.sheets for link in sheet.links]
    elif page.is_html:
        texts = [plain_text(page.tree), *(link.url for link in links(page))]
    else:
        texts = [page.text]
    text = "\n".join(texts).strip()
    if not text:
        raise ProblemError(
            BAD_QUERY, "the document has no text that can be read here: PDF, DOCX, ODT, EPUB, HTML or text"
        )
    return text


def _given(icd: Icd | None) -> Iterator[str]:
    """Yield what a definition has already."""
    if icd is not None:
        yield from icd.topic.keywords
        yield from icd.topic.entities
        yield from icd.seeds
