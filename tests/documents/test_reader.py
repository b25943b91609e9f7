"""PDF files are read for their text and links, and no file harms who reads it."""

import itertools
import sys
import zlib
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import partial
from types import SimpleNamespace

import pytest

from aahcrawler.documents import DocumentReader
from aahcrawler.documents.content import MAX_PAGES
from aahcrawler.page.transcript import Sheet, Transcript
from tests.crawl.crawling import PATIENCE
from tests.documents.files import Line, file_page, pdf, written

REPORT = pdf(
    [
        Line(700, "The storm surge of the year"),
        Line(684, "broke the dike near the harbour,"),
        Line(668, "as the archive tells.", "http://a.test/archive"),
        Line(300, "See http://b.test/x_\\(y\\). And \\(www.c.test/z\\)!"),
    ],
    [Line(700, "No link")],
    title="Floods",
    created="D:20240501100000+02'00'",
)


@pytest.fixture(scope="module")
def reader() -> Iterator[DocumentReader]:
    reader = DocumentReader(seconds=PATIENCE)
    yield reader
    reader.close()


def test_text_and_links_are_read(reader: DocumentReader) -> None:
    found = reader.read(file_page(REPORT))
    assert (found.title, found.complete) == ("Floods", True)
    assert found.created == datetime(2024, 5, 1, 8, tzinfo=UTC)
    first, second = found.sheets
    assert "storm surge of the year" in first.text
    assert second.text.strip() == "No link"
    annotated, *named = first.links
    assert (annotated.address, annotated.anchor) == ("http://a.test/archive", "as the archive tells.")
    assert "broke the dike" in annotated.context
    assert "See" not in annotated.context
    assert [link.address for link in named] == ["http://b.test/x_(y)", "http://www.c.test/z"]
    assert all("See" in link.context for link in named)


LOOP = written(
    [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Count 9/Kids[2 0 R 3 0 R]/Parent 2 0 R>>",
        b"<</Type/Pages/Count 9/Kids[2 0 R]/Parent 3 0 R>>",
        b"<<>>",
    ]
)


def bomb() -> bytes:
    """Return a file with a page of which more is drawn than fits into memory."""
    text = zlib.compress(b"BT /F1 1 Tf (a) Tj ET\n" * 10_000_000, 1)
    return written(
        [
            b"<</Type/Catalog/Pages 2 0 R>>",
            b"<</Type/Pages/Count 1/Kids[3 0 R]>>",
            b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]/Contents 5 0 R>>",
            b"<<>>",
            b"<</Filter/FlateDecode/Length %d>>stream\n%s\nendstream" % (len(text), text),
        ]
    )


SELF = written(
    [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Count 1/Kids[3 0 R]>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]/Contents 5 0 R/Resources<</XObject<</X 5 0 R>>>>/Annots 6 0 R>>",
        b"<<>>",
        b"<</Type/XObject/Subtype/Form/Resources<</XObject<</X 5 0 R>>>>/Length 5>>stream\n/X Do\nendstream",
        b"[6 0 R 6 0 R <</Subtype/Link/A 6 0 R/Rect 6 0 R>> <</Subtype/Link/A<</S/URI/URI 7 0 R>>/Rect[0 0 1 1]>>]",
        b"7 0 R",
    ]
)


@pytest.mark.parametrize(
    "body",
    [
        *(b"", b"%PDF-1.4", b"\0" * 100_000, b"%PDF-1.7\n" + b"[" * 500_000, b"<</A" * 200_000),
        *(
            LOOP,
            SELF,
            bomb,
            REPORT[:400],
            REPORT.replace(b"/Kids[5 0 R", b"/Kids[1 0 R"),
            REPORT.replace(b"xref", b"xxxx"),
        ),
        REPORT.replace(b"startxref\n", b"startxref\n99999999999999"),
        written([b"<</Type/Catalog/Pages 2 0 R>>", b"<</Count 999999999/Kids[]>>", b"<<>>", b"<<>>"]),
    ],
    ids=range(13),
)
def test_broken_files_give_what_they_have_and_the_next_one_is_read(
    reader: DocumentReader, body: bytes | Callable[[], bytes]
) -> None:
    found = reader.read(file_page(body() if callable(body) else body))
    assert len(found.sheets) <= 2
    assert reader.read(file_page(REPORT)).complete


SAYS = 'import sys, time; print(\'{"title": "T", "created": ""}\\n{"text": "one", "links": []}\', flush=True); '


@pytest.mark.parametrize(
    "program",
    [
        SAYS + "time.sleep(6000)",
        SAYS + "sys.exit(1)",
        SAYS + "print('no JSON')",
        SAYS + "sys.stdout.write('x' * 40_000_000)",
        SAYS + "sys.stdout.write('[' * 1_000_000 + chr(10)); time.sleep(6000)",
    ],
    ids=["hangs", "dies", "says nonsense", "says too much", "says what is too deep"],
)
def test_a_child_that_does_not_end_is_ended_and_what_it_said_counts(
    program: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its time is nearly over once it has said something, however long that took."""
    reader = DocumentReader(seconds=600, command=(sys.executable, "-c", program))
    try:
        for _ in range(2):
            times = itertools.chain((0.0, 0.0), itertools.repeat(599.5))
            clock = SimpleNamespace(monotonic=partial(next, times))
            monkeypatch.setattr("aahcrawler.documents.reader.time", clock)
            assert reader.read(file_page(b"x" * 1_000_000)) == Transcript("T", None, (Sheet("one"),), complete=False)
    finally:
        reader.close()


BUSY = """
from aahcrawler.documents import child

def busy(body, asked):
    yield {"title": "T", "created": ""}
    while True:
        pass

child.CPU_SECONDS, child._answer = 1, busy
child.main()
"""


def test_a_file_that_takes_too_much_of_the_processor_is_given_up() -> None:
    reader = DocumentReader(seconds=PATIENCE, command=(sys.executable, "-c", BUSY))
    try:
        assert reader.read(file_page(b"x")) == Transcript("T", None, (), complete=False)
    finally:
        reader.close()


def test_no_more_pages_are_read_than_are_allowed(reader: DocumentReader) -> None:
    found = reader.read(file_page(pdf(*([Line(700, f"page {number}")] for number in range(MAX_PAGES + 10)))))
    assert len(found.sheets) == MAX_PAGES
    assert found.sheets[-1].text.strip() == f"page {MAX_PAGES - 1}"
