"""Pages whose media type, charset or content coding is not what it should be."""

import gzip
import zlib
from typing import Final

import brotli

from benchmarks.wildweb.case import Case, WantedObject, WantedPage
from benchmarks.wildweb.pages import html, plain_page, prose, text_page, typed
from benchmarks.wildweb.tongues import SENTENCES

XHTML: Final = "XHTML by type"
CHARSETS: Final = "charsets"
CODINGS: Final = "damaged content codings"
_DECLARATION: Final = '<?xml version="1.0" encoding="utf-8"?>\n'
_DOCTYPE: Final = (
    '<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Strict//EN" "http://www.w3.org/TR/xhtml1/DTD/xhtml1-strict.dtd">\n'
)
_ROOT: Final = '<html xmlns="http://www.w3.org/1999/xhtml" xml:lang="en" lang="en">'


def _xhtml(
    name: str, media_type: str, before: str = _DECLARATION + _DOCTYPE, more: str = "", aside: bool = False
) -> Case:
    """Return a page in XHTML."""
    page = text_page("The boats, strictly", f'<p><a href="/next">more</a></p>{more}', '<meta name="x" content="y" />')
    body = before + page.replace("<!DOCTYPE html>", "").replace('<html lang="en">', _ROOT)
    site = {"/": typed(body, media_type), "/next": plain_page("The next page")}
    says = prose("The boats, strictly 0")[:60]
    return Case(
        XHTML,
        f"xhtml-{name}",
        site,
        ("/", "/next"),
        may=r"/x\.js|/s\.css",
        objects=(WantedObject("/", says),),
        pages=(WantedPage("/", "The boats, strictly"),),
        aside=aside,
    )


def _prefixed() -> Case:
    """Return a page in XHTML whose elements have a prefix."""
    paragraphs = "".join(f"<h:p>{prose(f'prefixed {number}')}</h:p>" for number in range(3))
    body = (
        f'{_DECLARATION}<h:html xmlns:h="http://www.w3.org/1999/xhtml">'
        "<h:head><h:title>Prefixed boats</h:title></h:head>"
        f'<h:body><h:h1>Prefixed boats</h:h1>{paragraphs}<h:p><h:a href="/next">more</h:a></h:p></h:body></h:html>'
    )
    site = {"/": typed(body, "application/xhtml+xml"), "/next": plain_page("The next page")}
    return Case(XHTML, "xhtml-prefixed", site, ("/", "/next"), pages=(WantedPage("/", "Prefixed boats"),))


def _other_xml() -> Case:
    """Return a file in XML that is no page; its attributes are no links, and its names no elements of HTML."""
    body = f'{_DECLARATION}<fleet><title>Not a page</title><boat name="Ada"><a href="/not">x</a></boat></fleet>'
    site = {
        "/": html(text_page("The fleet", '<p><a href="/fleet.xml">as data</a></p>')),
        "/fleet.xml": typed(body, "text/xml"),
    }
    return Case(XHTML, "xhtml-other-xml", site, ("/", "/fleet.xml"), pages=(WantedPage("/fleet.xml", objects=0),))


_TITLES: Final = {
    "ko": "등대와 낡은 배",
    "ja": "灯台と古い船",
    "zh": "灯塔和旧船",
    "zh-TW": "燈塔和舊船",
    "ru": "Маяк и старая лодка",
    "el": "Ο φάρος και το παλιό καράβι",
    "he": "המגדלור והסירה הישנה",
    "ar": "المنارة والقارب القديم",
    "th": "ประภาคารและเรือเก่า",
    "pl": "Latarnia i stara łódź",
    "tr": "Deniz feneri ve eski tekne, ışık",
    "fr": "Le phare et le vieux bateau – été",
}


_ARTICLE: Final = (
    '<meta property="og:type" content="article"><meta property="article:published_time" content="2021-03-20T10:00:00Z">'
)


def _charset(
    name: str,
    lang: str,
    codec: str,
    head: str = "",
    media_type: str = "text/html",
    *,
    before: bytes = b"",
    aside: bool = False,
) -> Case:
    """Return a page in a language and a charset that nobody declares, but for ``head`` and ``media_type``."""
    said = "".join(f"<p>{each}</p>" for each in SENTENCES[lang])
    title = _TITLES[lang]
    body = f'<h1>{title}</h1>{said}<p><a href="/next">1</a></p>'
    page = f"<!DOCTYPE html><html><head>{head}<title>{title}</title>{_ARTICLE}</head><body>{body}</body></html>"
    site = {"/": typed(before + page.encode(codec), media_type), "/next": plain_page("The next page")}
    pages = (WantedPage("/", title),)
    objects = (WantedObject("/", SENTENCES[lang][0], ("2021-03-20",)),)
    return Case(CHARSETS, f"charset-{name}", site, ("/", "/next"), pages=pages, objects=objects, aside=aside)


def _meta(charset: str) -> str:
    return f'<meta http-equiv="Content-Type" content="text/html; charset={charset}">'


_PAGE: Final = (
    text_page("The packed page", "<p>And so on.</p>" * 300)
    .replace("<h1>", '<p><a href="/next">further pages</a></p><h1>', 1)
    .encode()
)
_GZIP: Final = gzip.compress(_PAGE, 6, mtime=0)
_ZLIB: Final = zlib.compress(_PAGE)
_BROTLI: Final = brotli.compress(_PAGE, quality=4)


def _raw_deflate() -> bytes:
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(_PAGE) + packer.flush()


def _named_gzip() -> bytes:
    """Return gzip whose header has a file's name, a comment and an extra field."""
    return (
        _GZIP[:3] + b"\x1c" + _GZIP[4:10] + b"\x04\x00" + b"ab\x00\x00" + b"page.html\x00" + b"by hand\x00" + _GZIP[10:]
    )


def _packed(name: str, body: bytes, coding: str = "gzip", *, aside: bool = False) -> Case:
    """Return a page whose body is said to be packed; its title and its first link are near its beginning."""
    page = typed(body, "text/html; charset=utf-8", ("Content-Encoding", coding))
    site = {"/": page, "/next": plain_page("The next page")}
    pages = (WantedPage("/", "The packed page"),)
    return Case(CODINGS, f"packed-{name}", site, ("/", "/next"), pages=pages, aside=aside)


CASES: Final = (
    _xhtml("own-type", "application/xhtml+xml"),
    _xhtml("application-xml", "application/xml"),
    _xhtml("text-xml", "text/xml; charset=utf-8"),
    _xhtml("no-declaration", "application/xml", _DOCTYPE),
    _xhtml("no-doctype", "text/xml", _DECLARATION),
    _xhtml("bare", "application/xml", ""),
    _xhtml("byte-order-mark", "application/xml", f"\ufeff{_DECLARATION}"),
    _xhtml("comment-before", "text/xml", f"{_DECLARATION}<!-- made by hand -->\n{_DOCTYPE}"),
    _xhtml("style-sheet", "application/xml", f'{_DECLARATION}<?xml-stylesheet href="/s.css" type="text/css"?>\n'),
    _xhtml(
        "empty-elements", "application/xhtml+xml", more='<p><a name="here" /><script src="/x.js" /><br />The end.</p>'
    ),
    _xhtml("entities", "application/xhtml+xml", more="<p>Caf&eacute;&nbsp;Boat</p>"),
    _xhtml("as-html", "text/html; charset=utf-8"),
    _prefixed(),
    _other_xml(),
    _xhtml("mistake", "application/xml", more="<p>Boats & <b>ships</p>", aside=True),
    _xhtml("upper-type", "Application/XML", aside=True),
    _xhtml("mobile-type", "application/vnd.wap.xhtml+xml", aside=True),
    _charset("utf8", "ru", "utf-8"),
    _charset("euc-kr", "ko", "euc-kr"),
    _charset("iso-2022-jp", "ja", "iso2022_jp"),
    _charset("shift-jis", "ja", "shift_jis"),
    _charset("euc-jp", "ja", "euc-jp"),
    _charset("gbk", "zh", "gbk"),
    _charset("big5", "zh-TW", "big5"),
    _charset("windows-1251", "ru", "cp1251"),
    _charset("koi8-r", "ru", "koi8-r"),
    _charset("greek", "el", "cp1253"),
    _charset("hebrew", "he", "cp1255"),
    _charset("arabic", "ar", "cp1256"),
    _charset("polish", "pl", "iso-8859-2"),
    _charset("utf16", "ru", "utf-16-le", before=b"\xff\xfe"),
    _charset("label-korean", "ko", "cp949", _meta("ks_c_5601-1987")),
    _charset("label-japanese", "ja", "cp932", _meta("x-sjis")),
    _charset("label-2022", "ja", "iso2022_jp", _meta("ISO-2022-JP")),
    _charset("label-chinese", "zh", "gb18030", _meta("gb2312")),
    _charset("label-latin1", "fr", "cp1252", _meta("iso-8859-1")),
    _charset("label-utf8", "ru", "utf-8", _meta("unicode-1-1-utf-8")),
    _charset("meta-says-utf16", "ru", "utf-8", '<meta charset="utf-16">'),
    _charset("field-beats-meta", "ru", "cp1251", '<meta charset="utf-8">', "text/html; charset=windows-1251"),
    _charset("mark-beats-field", "ru", "utf-8", "", "text/html; charset=koi8-r", before=b"\xef\xbb\xbf"),
    _charset("field-quoted", "el", "cp1253", "", 'text/html; Charset="windows-1253"'),
    _charset("euc-kr-meta-empty", "ko", "euc-kr", '<meta charset="">'),
    _charset("euc-kr-field-empty", "ko", "euc-kr", "", "text/html; charset="),
    _charset("label-turkish", "tr", "cp1254", _meta("iso-8859-9"), aside=True),
    _charset("label-thai", "th", "cp874", _meta("tis-620"), aside=True),
    _charset("iso-2022-jp-unknown", "ja", "iso2022_jp", '<meta charset="jis">', aside=True),
    _charset("euc-kr-misspelt", "ko", "euc-kr", _meta("euckr8"), aside=True),
    _charset("late-meta", "ru", "cp1251", f"<!-- {'x' * 3000} -->{_meta('windows-1251')}", aside=True),
    _packed("gzip", _GZIP),
    _packed("gzip-sum", _GZIP[:-8] + b"\x00\x00\x00\x00" + _GZIP[-4:]),
    _packed("gzip-length", _GZIP[:-4] + b"\x01\x02\x03\x04"),
    _packed("gzip-no-end", _GZIP[:-8]),
    _packed("gzip-cut", _GZIP[: len(_GZIP) * 3 // 4]),
    _packed("gzip-rest", _GZIP + b"\r\n<!-- cached -->"),
    _packed("gzip-zeros", _GZIP + bytes(512)),
    _packed("gzip-two", gzip.compress(_PAGE[:2000], mtime=0) + gzip.compress(_PAGE[2000:], mtime=0)),
    _packed("gzip-names", _named_gzip()),
    _packed("gzip-old-name", _GZIP, "x-gzip"),
    _packed("gzip-capitals", _GZIP, "GZIP"),
    _packed("gzip-twice", gzip.compress(_GZIP, mtime=0), "gzip, gzip"),
    _packed("gzip-not-packed", _PAGE),
    _packed("unknown-not-packed", _PAGE, "none"),
    _packed("identity", _PAGE, "identity"),
    _packed("deflate", _ZLIB, "deflate"),
    _packed("deflate-raw", _raw_deflate(), "deflate"),
    _packed("deflate-sum", _ZLIB[:-4] + b"\x00\x01\x02\x03", "deflate"),
    _packed("deflate-cut", _ZLIB[: len(_ZLIB) * 3 // 4], "deflate"),
    _packed("br", _BROTLI, "br"),
    _packed("br-cut", _BROTLI[: len(_BROTLI) * 3 // 4], "br"),
    _packed("deflate-rest", _ZLIB + b"\x00\x00more", "deflate", aside=True),
    _packed("gzip-sum-cut", _GZIP[:-6], aside=True),
    _packed("br-not-packed", _PAGE, "br", aside=True),
    _packed(
        "gzip-sum-twice",
        gzip.compress(_PAGE[:3000], mtime=0)[:-8] + bytes(8) + gzip.compress(_PAGE[3000:], mtime=0),
        aside=True,
    ),
    _packed("utf8-as-coding", _PAGE, "utf-8", aside=True),
)
