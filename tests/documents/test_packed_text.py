"""DOCX, ODT and EPUB files are read for their text and links, and no file harms who reads it."""

import random
import zlib
from collections.abc import Iterator
from datetime import UTC, datetime
from io import BytesIO
from zipfile import ZipFile

import pytest

from aahcrawler.documents import DocumentReader, is_document
from aahcrawler.documents.content import MAX_PAGES
from aahcrawler.documents.zip_package import MAX_MEMBERS, MAX_OF_MEMBER
from aahcrawler.page import Headers, Page
from aahcrawler.page.transcript import TranscriptLink
from tests.crawl.crawling import PATIENCE
from tests.documents.files import Line, file_page, pdf, written
from tests.documents.packed import DOCX, EPUB, ODT, docx, epub, odt, packed, run, word, xhtml

CORE = (
    "<dc:title>Floods &amp; dikes</dc:title><dc:creator>Jane Doe</dc:creator>"
    "<dcterms:created>2024-05-01T10:00:00+02:00</dcterms:created>"
)
FIELD = (
    '<w:r><w:fldChar w:fldCharType="begin"/></w:r><w:r><w:instrText> HYPERLINK "http://c.te</w:instrText></w:r>'
    '<w:r><w:instrText>st/" </w:instrText></w:r><w:r><w:fldChar w:fldCharType="separate"/></w:r>'
    f'{run("by field")}<w:r><w:fldChar w:fldCharType="end"/></w:r>'
)
REPORT = docx(
    "The storm surge",
    f'{run("As the ")}<w:hyperlink r:id="r1">{run("arch")}{run("ive")}</w:hyperlink>{run(" tells.")}',
    FIELD,
    f"<w:fldSimple w:instr='HYPERLINK http://d.test/'>{run('simply')}</w:fldSimple>",
    '<w:hyperlink w:anchor="top"><w:r><w:t>Up</w:t></w:r></w:hyperlink>',
    "<w:pPr><w:tabs><w:tab/></w:tabs></w:pPr><w:r><w:t>a</w:t><w:tab/><w:t>b</w:t><w:br/><w:t>c</w:t></w:r>"
    "<w:del><w:r><w:t>never</w:t></w:r></w:del>",
    f"<mc:AlternateContent><mc:Choice>{run('once')}</mc:Choice><mc:Fallback>{run('once')}</mc:Fallback>"
    "</mc:AlternateContent>",
    "See www.e.test/x.",
    links={"r1": "http://b.test/"},
    core=CORE,
    more={"word/footnotes.xml": word("footnotes", "<w:footnote><w:p><w:r><w:t>A note.</w:t></w:r></w:p></w:footnote>")},
)
MADE = datetime(2024, 5, 1, 8, tzinfo=UTC)


@pytest.fixture(scope="module")
def reader() -> Iterator[DocumentReader]:
    reader = DocumentReader(seconds=PATIENCE)
    yield reader
    reader.close()


def test_docx_files_are_read_with_links_fields_and_notes(reader: DocumentReader) -> None:
    found = reader.read(file_page(REPORT))
    assert (found.title, found.author, found.created) == ("Floods & dikes", "Jane Doe", MADE)
    assert (found.complete, found.encrypted) == (True, False)
    first, notes = found.sheets
    assert first.text.split("\n") == [
        *("The storm surge", "As the archive tells.", "by field", "simply", "Up", "a b c", "once", "See www.e.test/x."),
    ]
    assert first.links == (
        TranscriptLink("http://b.test/", "archive", "As the archive tells."),
        TranscriptLink("http://c.test/", "by field", "by field"),
        TranscriptLink("http://d.test/", "simply", "simply"),
        TranscriptLink("http://www.e.test/x", "www.e.test/x.", "See www.e.test/x."),
    )
    assert notes.text == "A note."


def test_odt_files_are_read(reader: DocumentReader) -> None:
    text = (
        "<text:tracked-changes><text:p>Gone</text:p></text:tracked-changes><text:h>Floods</text:h><text:p>See<text:s/>"
        'the <text:a xlink:href="http://b.test/">ar<text:span>chive</text:span></text:a>, '
        '<text:a xlink:href="../more.html">more</text:a> and <text:a xlink:href="#x">below</text:a>'
        "<office:annotation><text:p>Why?</text:p></office:annotation>."
        "</text:p>"
    )
    meta = (
        "<dc:title>Dikes</dc:title><dc:creator>Last</dc:creator><meta:initial-creator>First</meta:initial-creator>"
        "<meta:creation-date>2024-05-01T08:00:00.123456789</meta:creation-date>"
    )
    found = reader.read(file_page(odt(text, meta)))
    assert (found.title, found.author, found.complete) == ("Dikes", "First", True)
    assert found.created is not None
    assert found.created.replace(microsecond=0) == MADE
    (sheet,) = found.sheets
    assert sheet.text == "Floods\nSee the archive, more and below."
    assert [(link.address, link.anchor) for link in sheet.links] == [
        ("http://b.test/", "archive"),
        ("more.html", "more"),
    ]


def test_epub_files_are_read_in_the_order_of_their_spine(reader: DocumentReader) -> None:
    chapters: dict[str, str | bytes] = {
        "a": xhtml("<p>Second, with<br/>an <i/>end&own;.</p>"),
        "b": xhtml(
            '<a id="x"/><h1>First&nbsp;one</h1><p>See <a href="http://b.test/">there</a>, <a href="a.xhtml">here</a>.'
            "<!-- no --> Yes.</p><script>never()</script>"
        ).encode("utf-16"),
    }
    about = (
        "<dc:title>Surge</dc:title><dc:creator>Jane Doe</dc:creator><dc:creator>Other</dc:creator>"
        '<dc:date event="modification">2025-01-01</dc:date><dc:date event="publication">2024-05-01</dc:date>'
    )
    found = reader.read(file_page(epub(chapters, about)))
    assert (found.title, found.author, found.complete) == ("Surge", "Jane Doe", True)
    assert found.created == datetime(2024, 5, 1, tzinfo=UTC)
    assert [sheet.text for sheet in found.sheets] == ["First one\nSee there, here. Yes.", "Second, with\nan end&own;."]
    assert [(link.address, link.anchor) for sheet in found.sheets for link in sheet.links] == [
        ("http://b.test/", "there")
    ]


def test_what_a_date_does_not_tell_stays_unknown(reader: DocumentReader) -> None:
    for said in ("<dc:date>1999</dc:date>", "<dc:date>in May</dc:date>", ""):
        assert reader.read(file_page(epub({"a": xhtml("<p>x</p>")}, said))).created is None


def test_long_text_is_cut_into_sheets_at_paragraphs(reader: DocumentReader) -> None:
    found = reader.read(file_page(docx(*(f"{number} {'word ' * 100}" for number in range(1_000)))))
    assert len(found.sheets) == MAX_PAGES
    assert all(3_000 <= len(sheet.text) < 4_000 for sheet in found.sheets)
    assert found.sheets[1].text.split("\n")[0].split()[0] == "6"


LAUGHS = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 20))
LAUGHING = f'<!DOCTYPE w:document [<!ENTITY l0 "ha">{LAUGHS}<!ENTITY f SYSTEM "file:///etc/passwd">]>'


def test_bombs_are_unpacked_within_bounds(reader: DocumentReader) -> None:
    bomb = b"<w:p><w:r><w:t>" + b"a" * (MAX_OF_MEMBER * 4) + b"</w:t></w:r></w:p>"
    found = reader.read(
        file_page(docx("Before", more={"word/document.xml": word("document", "<w:p/>").encode() + bomb}))
    )
    assert not found.complete
    many = dict.fromkeys(map(str, range(MAX_MEMBERS + 1)), b"")
    assert reader.read(file_page(docx("x", more=many))).sheets == ()
    assert reader.read(file_page(REPORT)).complete


def test_entities_are_neither_expanded_nor_fetched(reader: DocumentReader) -> None:
    for entity in ("l19", "f"):
        text = f"<w:body><w:p><w:r><w:t>Before&{entity};</w:t></w:r></w:p></w:body>"
        found = reader.read(file_page(docx(more={"word/document.xml": LAUGHING + word("document", text)})))
        assert [sheet.text for sheet in found.sheets] == ["Before"]


DEEP = "<w:body>" + "<w:p>" * 200_000
NESTED = docx("outer", more={"word/embeddings/inner.docx": docx("inner")})


def flipped(body: bytes, seed: int) -> bytes:
    """Return a file with some bytes changed."""
    chance, changed = random.Random(seed), bytearray(body)
    for _ in range(20):
        changed[chance.randrange(4, len(changed))] = chance.randrange(256)
    return bytes(changed)


@pytest.mark.parametrize(
    "body",
    [
        b"PK\x03\x04",
        REPORT[: len(REPORT) // 2],
        packed({"a.txt": "x"}),
        packed({"mimetype": ODT}),
        packed({"mimetype": EPUB, "META-INF/container.xml": "<x/>"}),
        docx(more={"word/document.xml": word("document", DEEP)}),
        docx(more={"word/document.xml": b"\x00\xff\xfe"}),
        docx(more={"word/_rels/document.xml.rels": "<"}),
        epub({"a": xhtml("<p>" * 100_000)}),
        *(flipped(REPORT, seed) for seed in range(30)),
    ],
    ids=range(39),
)
def test_broken_files_give_what_they_have_and_the_next_one_is_read(reader: DocumentReader, body: bytes) -> None:
    found = reader.read(file_page(body))
    assert len(found.sheets) <= 2
    assert reader.read(file_page(REPORT)).complete


def test_what_is_packed_within_is_left_alone(reader: DocumentReader) -> None:
    assert [sheet.text for sheet in reader.read(file_page(NESTED)).sheets] == ["outer"]


LOCKED = '<EncryptedData><CipherData><CipherReference URI="OEBPS/text/a%20x.xhtml"/></CipherData></EncryptedData>'
LOCK_FILE = {"META-INF/encryption.xml": f"<encryption>{LOCKED}</encryption>"}
PDF_LOCK = b"<</Filter/Standard/V 1/R 2/O <%s>/U <%s>/P -4>>" % (b"00" * 32, b"11" * 32)
LOCKED_PDF = written(
    [b"<</Type/Catalog/Pages 2 0 R>>", b"<</Type/Pages/Count 0/Kids[]>>", b"<<>>", b"<<>>", PDF_LOCK]
).replace(b"/Info 4 0 R", b"/Encrypt 5 0 R/ID[<00><00>]")


def zip_locked(body: bytes) -> bytes:
    """Return a ZIP file whose list of members says that each is encrypted."""
    at = 0
    changed = bytearray(body)
    while (at := changed.find(b"PK\x01\x02", at)) >= 0:
        changed[at + 8] |= 1
        at += 46
    return bytes(changed)


@pytest.mark.parametrize(
    "body",
    [
        odt("x", manifest="<m:file-entry><m:encryption-data/></m:file-entry>"),
        epub({"a": b"\x80\x01\x02"}, more=LOCK_FILE),
        zip_locked(REPORT),
        b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 600 + "EncryptedPackage".encode("utf-16-le"),
        LOCKED_PDF,
    ],
    ids=["odt", "epub", "zip", "docx", "pdf"],
)
def test_encrypted_files_are_called_so(reader: DocumentReader, body: bytes) -> None:
    found = reader.read(file_page(body))
    assert (found.encrypted, found.complete, found.sheets) == (True, False, ())


def test_of_a_book_that_is_encrypted_in_part_the_rest_is_read(reader: DocumentReader) -> None:
    found = reader.read(file_page(epub({"a": b"\x80\x01", "b": xhtml("<p>Free</p>")}, more=LOCK_FILE)))
    assert ([sheet.text for sheet in found.sheets], found.encrypted) == (["Free"], False)


def page(body: bytes, declared: str) -> Page:
    return Page("http://a.test/x", 200, Headers((("Content-Type", declared),)), body, MADE)


@pytest.mark.parametrize(
    ("body", "declared", "expected"),
    [
        (REPORT, DOCX, True),
        (REPORT, "application/octet-stream", True),
        (REPORT, "application/zip", True),
        (odt("x"), "application/x-vnd.something", True),
        (epub({}), "application/octet-stream", True),
        (pdf([Line(700, "x")]), "application/octet-stream", True),
        (b"<p>Sorry", "application/pdf", True),
        (REPORT, "text/html", False),
        (packed({"a.txt": "x", "b.docx": REPORT}), "application/zip", False),
        (packed({"xl/workbook.xml": "x"}), "application/octet-stream", True),
        (packed({"ppt/presentation.xml": "x"}), "application/octet-stream", False),
        (b"plain", "text/plain", False),
    ],
    ids=range(12),
)
def test_documents_are_told_by_what_they_declare_and_hold(body: bytes, declared: str, expected: bool) -> None:
    assert is_document(page(body, declared)) is expected


def test_what_is_damaged_is_read_as_far_as_it_goes_and_said(reader: DocumentReader) -> None:
    body = docx(*("word " * 50 for _ in range(400)))
    found = reader.read(file_page(body.replace(zlib.crc32(document_of(body)).to_bytes(4, "little"), b"\1\2\3\4")))
    assert (found.complete, bool(found.sheets)) == (False, True)


def document_of(body: bytes) -> bytes:
    with ZipFile(BytesIO(body)) as package:
        return package.read("word/document.xml")
