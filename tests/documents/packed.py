"""DOCX, ODT and EPUB files written by hand, right and wrong."""

from collections.abc import Mapping
from io import BytesIO
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile

_WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006/relationships"
_DUBLIN = 'xmlns:dc="http://purl.org/dc/elements/1.1/"'
_ODF = "urn:oasis:names:tc:opendocument:xmlns:"
ODT = "application/vnd.oasis.opendocument.text"
EPUB = "application/epub+zip"
DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"


def packed(members: Mapping[str, str | bytes]) -> bytes:
    """Return a ZIP file; a member called ``mimetype`` is not compressed."""
    file = BytesIO()
    with ZipFile(file, "w") as package:
        for name, content in members.items():
            package.writestr(name, content, compress_type=ZIP_STORED if name == "mimetype" else ZIP_DEFLATED)
    return file.getvalue()


def paragraph(text: str) -> str:
    """Return a paragraph of a DOCX file; ``text`` is text, or runs of one's own."""
    return f"<w:p>{text if text.startswith('<') else run(text)}</w:p>"


def run(text: str) -> str:
    """Return a run of text of a DOCX file."""
    return f'<w:r><w:rPr><w:b/></w:rPr><w:t xml:space="preserve">{text}</w:t></w:r>'


def docx(
    *paragraphs: str,
    links: Mapping[str, str] | None = None,
    core: str = "",
    more: Mapping[str, str | bytes] | None = None,
) -> bytes:
    """Return a DOCX file; ``links`` are addresses by the id of their relation, ``core`` its properties."""
    named = "".join(
        f'<Relationship Id="{name}" Type="{_RELATIONS}/hyperlink" Target="{target}" TargetMode="External"/>'
        for name, target in (links or {}).items()
    )
    notes = f'<Relationship Id="n" Type="{_RELATIONS}/footnotes" Target="footnotes.xml"/>'
    main = f'<Relationship Id="d" Type="{_RELATIONS}/officeDocument" Target="/word/document.xml"/>'
    return packed(
        {
            "[Content_Types].xml": "<Types/>",
            "_rels/.rels": f'<Relationships xmlns="{_PACKAGE}">{main}</Relationships>',
            "word/document.xml": word("document", f"<w:body>{''.join(map(paragraph, paragraphs))}</w:body>"),
            "word/_rels/document.xml.rels": f'<Relationships xmlns="{_PACKAGE}">{named}{notes}</Relationships>',
            "docProps/core.xml": f'<cp:core xmlns:cp="c" xmlns:dcterms="t" {_DUBLIN}>{core}</cp:core>',
            **(more or {}),
        }
    )


def word(root: str, content: str) -> str:
    """Return a part of a DOCX file."""
    return f'<w:{root} xmlns:w="{_WORD}" xmlns:r="{_RELATIONS}" xmlns:mc="m">{content}</w:{root}>'


def odt(content: str, meta: str = "", manifest: str = "", mimetype: str = ODT) -> bytes:
    """Return an ODT file with this text."""
    spaces = f'xmlns:office="{_ODF}office:1.0" xmlns:text="{_ODF}text:1.0" xmlns:xlink="http://www.w3.org/1999/xlink"'
    return packed(
        {
            "mimetype": mimetype,
            "content.xml": f"<office:document-content {spaces}><office:body><office:text>{content}</office:text>"
            "</office:body></office:document-content>",
            "meta.xml": f'<office:document-meta {spaces} xmlns:meta="{_ODF}meta:1.0" {_DUBLIN}><office:meta>{meta}'
            "</office:meta></office:document-meta>",
            "META-INF/manifest.xml": f'<m:manifest xmlns:m="{_ODF}manifest:1.0">{manifest}</m:manifest>',
        }
    )


def epub(chapters: Mapping[str, str | bytes], about: str = "", more: Mapping[str, str | bytes] | None = None) -> bytes:
    """Return an EPUB file with these chapters, read in the order of their names turned round."""
    items = "".join(
        f'<item id="{name}" href="text/{name}%20x.xhtml" media-type="application/xhtml+xml"/>' for name in chapters
    )
    spine = "".join(f'<itemref idref="{name}"/>' for name in sorted(chapters, reverse=True))
    return packed(
        {
            "mimetype": EPUB,
            "META-INF/container.xml": '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
            '<rootfile full-path="OEBPS/book.opf" media-type="application/oebps-package+xml"/></rootfiles></container>',
            "OEBPS/book.opf": f'<package xmlns="http://www.idpf.org/2007/opf" {_DUBLIN}><metadata>{about}</metadata>'
            f"<manifest>{items}</manifest><spine>{spine}</spine></package>",
            **{f"OEBPS/text/{name} x.xhtml": chapter for name, chapter in chapters.items()},
            **(more or {}),
        }
    )


def xhtml(body: str) -> str:
    """Return a chapter."""
    return (
        '<?xml version="1.0" encoding="utf-8"?><!DOCTYPE html [<!ENTITY own "grown">]>'
        f'<html xmlns="http://www.w3.org/1999/xhtml"><head><title/><script src="x"/></head><body>{body}</body></html>'
    )
