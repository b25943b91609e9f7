"""Files that somebody hands over for their text and links."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from aahcrawler.documents import DocumentReader
from aahcrawler.documents.reader import MAX_DOCUMENT_BYTES, given_text
from online_analysis.suggestions import suggest
from tests.documents.files import Line, pdf
from tests.documents.packed import docx, run


@pytest.fixture
def reader() -> Iterator[DocumentReader]:
    made = DocumentReader()
    yield made
    made.close()


def test_text_and_html(reader: DocumentReader) -> None:
    assert given_text("Sturmflut für alle".encode(), "text/plain", reader).text == "Sturmflut für alle"
    page = b"<!doctype html><title>T</title><p>Words of the page<a href='https://a.example/x#y'>a</a><a href='/b'>b</a>"
    found = given_text(page, "", reader)
    assert "Words of the page" in found.text
    assert found.links == ("https://a.example/x",)
    assert found.problem == ""


def test_documents_are_read_whatever_they_are_called(reader: DocumentReader) -> None:
    found = given_text(docx(run("The dyke of Varhaven broke at night.")), "application/octet-stream", reader)
    assert "The dyke of Varhaven broke at night." in found.text
    assert "Varhaven" in {each.value for each in suggest(found.text).keywords}
    printed = given_text(pdf([Line(700, "The sluice", "https://a.example/")]), "", reader)
    assert "The sluice" in printed.text
    assert printed.links == ("https://a.example/",)


@pytest.mark.parametrize(
    "body", [b"%PDF-1.7 nonsense", b"PK\x03\x04" + b"\0" * 50, b"\x89PNG\0\0\0\0", docx(run("x"))[:-30]]
)
def test_what_holds_no_text_is_said_to_be_so(reader: DocumentReader, body: bytes) -> None:
    found = given_text(body, "", reader)
    assert found.problem
    assert not found.text.strip()


def test_large_files_are_not_read(reader: DocumentReader, tmp_path: Path) -> None:
    assert "larger than" in given_text(b"a" * (MAX_DOCUMENT_BYTES + 1), "text/plain", reader).problem
    assert list(tmp_path.iterdir()) == []
