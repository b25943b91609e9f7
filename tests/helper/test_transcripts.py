"""Documents that were read have parts and links as pages do."""

from dataclasses import replace
from datetime import UTC, datetime

from aahcrawler.helper import ApplicationAwareHelper
from aahcrawler.page import Headers, Page
from aahcrawler.page.transcript import Sheet, Transcript, TranscriptLink
from aahcrawler.webobject import Person
from tests.shipped import shipped

NOW = datetime(2024, 6, 1, tzinfo=UTC)
PAGE = Page("http://a.test/x.pdf", 200, Headers((("Content-Type", "application/pdf"),)), b"%PDF", NOW)
TEXT = "Die Flut kam in der Nacht, und der Deich brach an drei Stellen, ehe Hilfe kam."


def test_a_document_has_a_part_for_each_of_its_pages_that_has_text() -> None:
    sheets = (
        Sheet(" \n", (TranscriptLink("/cover"),)),
        Sheet(f"{TEXT}\n", (TranscriptLink("sub/y", "here", "around"), TranscriptLink("mailto:a@b.test"))),
        Sheet("More", (TranscriptLink("http://A.test/cover", "again"), TranscriptLink("/login.php"))),
    )
    page = replace(PAGE, transcript=Transcript("", NOW, sheets, complete=False, author="Jane"))
    found = ApplicationAwareHelper(shipped()).assist(page)
    document = found.document
    assert [part.text for part in document.parts] == [TEXT, "More"]
    assert [(link.url, link.anchor, link.context, link.part) for link in document.outlinks] == [
        ("http://a.test/cover", "", "", None),
        ("http://a.test/sub/y", "here", "around", 0),
    ]
    assert (document.language, document.published, document.source) == ("de", NOW, "document")
    assert document.title == TEXT
    (said,) = found.objects
    assert (said.iri, said.type, said.first("title")) == (page.url, "document", None)
    assert (said.first("author"), said.first("date")) == (Person("Jane"), NOW)
    assert said.first("body") == f"{TEXT}\nMore"
    assert [refused.url for refused in found.refused] == ["http://a.test/login.php"]


def test_a_document_that_nobody_read_leads_nowhere() -> None:
    for page in (PAGE, replace(PAGE, transcript=Transcript(complete=False))):
        found = ApplicationAwareHelper(shipped()).assist(page)
        assert (found.document.parts, found.document.outlinks, found.objects) == ((), (), ())
