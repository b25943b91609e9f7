import pytest
from hypothesis import given
from hypothesis import strategies as st

from aahcrawler.page import PARSED_BYTES, Headers, Page, sniff
from aahcrawler.page.markup import MAX_ATTRIBUTES, codec_of
from aahcrawler.urls import resolve
from tests.pace import at_most
from tests.page.building import NOW, page_of

GREEK = "Καλημέρα κόσμε, τι κάνεις σήμερα; Ο καιρός είναι καλός και πάμε βόλτα στη θάλασσα."
JAPANESE = "日本語のフォーラムです。今日はとても良い天気なので、公園へ散歩に行きました。"
CHINESE = "论坛今天天气很好，我们去公园散步，大家都很高兴。"
FRENCH = "Déjà vu à la fenêtre, le garçon naïf mange une crêpe près de l’hôtel."


def test_headers_are_found_whatever_their_case() -> None:
    headers = Headers((("Set-Cookie", "a=1"), ("set-cookie", "b=2")))
    assert headers.get("SET-COOKIE") == "a=1"
    assert list(headers.all("Set-Cookie")) == ["a=1", "b=2"]
    assert headers.get("ETag", "none") == "none"


@pytest.mark.parametrize(
    ("field", "expected"),
    [
        ("text/html; charset=utf-8", "text/html"),
        ("Application/XHTML+XML", "application/xhtml+xml"),
        ("text/plain", "text/plain"),
        ("", "text/html"),
        ("nonsense", "text/html"),
        ("*/*", "text/html"),
        ("text/html, text/html", "text/html"),
        ("application/octet-stream", "application/octet-stream"),
    ],
)
def test_media_type_of_the_header(field: str, expected: str) -> None:
    page = page_of("<!DOCTYPE html><p>x", field)
    assert page.media_type == expected
    assert page.is_html == (expected in ("text/html", "application/xhtml+xml"))


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b"", ""),
        (b"\n <!doctype HTML><title>x", "text/html"),
        (b"<!-- note --><p>", "text/html"),
        ("\ufeff<html><body>".encode("utf-16"), "text/html"),
        (b'<?xml version="1.0"?><rss version="2.0">', "application/rss+xml"),
        (b'<?xml version="1.0"?>\n<feed xmlns="http://www.w3.org/2005/Atom">', "application/atom+xml"),
        (b'<?xml version="1.0"?><urlset>', "text/xml"),
        (b'<?xml version="1.0"?><!DOCTYPE html><html xmlns="http://www.w3.org/1999/xhtml">', "application/xhtml+xml"),
        (b"%PDF-1.4", "application/pdf"),
        (b"\x89PNG\r\n\x1a\n....", "image/png"),
        (b"\xff\xd8\xff\xe0", "image/jpeg"),
        (b"GIF89a", "image/gif"),
        (b"RIFF....WEBPVP8 ", "image/webp"),
        (b"\0\0\0\x18ftypmp42", "video/mp4"),
        (b"just words", "text/plain"),
        (b"words \x01\x02", "application/octet-stream"),
    ],
)
def test_sniffing(body: bytes, expected: str) -> None:
    assert sniff(body) == expected


@pytest.mark.parametrize(
    ("body", "content_type", "encoding"),
    [
        (GREEK.encode(), "text/html", "utf-8"),
        (GREEK.encode("iso-8859-7"), "text/html; charset=ISO-8859-7", "iso-8859-7"),
        (GREEK.encode("iso-8859-7"), "text/html", "windows-1253"),
        (f"<meta charset=windows-1253>{GREEK}".encode("cp1253"), "text/html", "windows-1253"),
        (FRENCH.encode("cp1252"), "text/html; charset=iso-8859-1", "windows-1252"),
        (FRENCH.encode("cp1252"), "text/html; charset=nonsense", "windows-1252"),
        (FRENCH.encode("cp1252"), "", "windows-1252"),
        (JAPANESE.encode("shift_jis"), 'text/html;charset="Shift_JIS"', "cp932"),
        (f"<meta charset='x-sjis'>{JAPANESE}".encode("shift_jis"), "text/html", "cp932"),
        (JAPANESE.encode("euc-jp"), "text/html; charset=euc-jp", "euc_jis_2004"),
        (
            f'<META content="text/html; charset=gb2312" http-equiv=Content-Type>{CHINESE}'.encode("gb18030"),
            "text/html",
            "gb18030",
        ),
        (f"<p>{GREEK}".encode("utf-16"), "text/html; charset=utf-8", "utf-16-le"),
        (b"\xfe\xff" + GREEK.encode("utf-16-be"), "text/html", "utf-16-be"),
        (f"<p>{GREEK}".encode("utf-16-le"), "text/html", "utf-16-le"),
        (b"\xef\xbb\xbf" + GREEK.encode(), "text/html; charset=iso-8859-1", "utf-8"),
    ],
)
def test_text_is_decoded_as_in_a_browser(body: bytes, content_type: str, encoding: str) -> None:
    page = page_of(body, content_type or "text/html")
    assert page.encoding == encoding
    sentence = next(text for text in (GREEK, FRENCH, JAPANESE, CHINESE) if text in page.text)
    assert sentence in page.tree.text_content()
    assert not page.text.startswith("\ufeff")


def test_the_header_wins_over_a_wrong_meta() -> None:
    page = page_of("<meta charset=utf-8><p>Ã©".encode("cp1252"), "text/html; charset=iso-8859-1")
    assert page.encoding == "windows-1252"


@pytest.mark.parametrize(
    ("markup", "encoding"),
    [
        ("<!-- <meta charset=koi8-r> --><meta charset=shift_jis>", "cp932"),
        ("<meta charset=utf-16>", "utf-8"),
        ("<meta name=description content='what charset=koi8-r means'>", "utf-8"),
        ("<meta name=a content=b charset=koi8-r>", "koi8-r"),
        ("<metadata charset=koi8-r>", "utf-8"),
        ("<meta charset=unheard-of><meta charset=koi8-r>", "koi8-r"),
        ('<?xml version="1.0" encoding="koi8-r"?><html>', "koi8-r"),
        (" " * 5000 + "<meta charset=koi8-r>", "utf-8"),
    ],
)
def test_declarations_within_the_page(markup: str, encoding: str) -> None:
    assert page_of(markup, "text/html").encoding == encoding


def test_style_sheets_declare_their_charset_too() -> None:
    assert page_of('@charset "iso-8859-2";', "text/css").encoding == "iso-8859-2"


def test_labels() -> None:
    assert codec_of(" Latin1 ") == "windows-1252"
    assert codec_of("big5") == "big5hkscs"
    assert codec_of("ks_c_5601-1987") == "cp949"
    assert codec_of("windows-874") == "cp874"
    assert codec_of("utf-7") == ""
    assert codec_of("rot13") == ""


@pytest.mark.parametrize(
    "body", [b"", b"  \n", b"\0", b"<!-- -->", b"plain words", b"\xff\xfe", b"<", b"<?xml", b"\x80" * 9]
)
def test_a_tree_is_always_there(body: bytes) -> None:
    tree = page_of(body, "text/html").tree
    assert tree.tag == "html"
    assert tree.getparent() is None


def test_what_is_no_html_has_an_empty_tree() -> None:
    page = page_of("<p>text</p>", "text/plain")
    assert page.tree.text_content() == ""
    assert page.text == "<p>text</p>"


def test_nul_bytes_and_broken_characters_are_replaced() -> None:
    page = page_of(b"<p>a\0b</p><p>caf\xe9 \xc3", "text/html; charset=utf-8")
    assert [element.text for element in page.tree.iter("p")] == ["a\ufffdb", "caf\ufffd \ufffd"]


def test_the_tree_is_parsed_once() -> None:
    page = page_of("<p>x")
    assert page.tree is page.tree


@pytest.mark.parametrize(
    ("head", "base"),
    [
        ("", "http://site.test/news/ice"),
        ("<base target=_blank><base href='/other/'><base href='/third/'>", "http://site.test/other/"),
        ("<base href='//cdn.test/x#y'>", "http://cdn.test/x"),
        ("<base href='javascript:x'>", "http://site.test/news/ice"),
        ("<base href='http://[bad'>", "http://site.test/news/ice"),
        ("<base href='data:text/html,x'><base href='/other/'>", "http://site.test/news/ice"),
        ("<base href=''>", "http://site.test/news/ice"),
        ("<base href=' \n/ot\nher/ '>", "http://site.test/other/"),
        ("<template><base href='/old/'></template>", "http://site.test/news/ice"),
        ("<noscript><base href='/old/'></noscript><base href='/other/'>", "http://site.test/other/"),
        ("<body><div><template shadowrootmode=open><base href='/old/'></template></div>", "http://site.test/news/ice"),
        ("<body><svg><g><base href='/old/'/></g></svg>", "http://site.test/news/ice"),
        ("<body><svg><foreignObject><p><base href='/other/'></p></foreignObject></svg>", "http://site.test/other/"),
        ("<template><base href='/old/'></template>" * 60, "http://site.test/news/ice"),
    ],
)
def test_base_url(head: str, base: str) -> None:
    assert page_of(f"<html><head>{head}</head><body>x").base_url == base


@pytest.mark.parametrize("href", ["file:///C:/pages/", "ftp://site.test/", "foo:bar"])
def test_relative_links_lead_nowhere_from_a_base_of_another_scheme(href: str) -> None:
    base = page_of(f"<base href='{href}'>").base_url
    assert resolve(base, "next.html") is None
    assert resolve(base, "http://site.test/x") == "http://site.test/x"


def test_queries_are_in_the_encoding_of_their_document() -> None:
    markup = "<meta charset=windows-1251><base href='/d?\u0451'><p>"
    page = page_of(markup.encode("windows-1251"), "text/html")
    assert page.base_url == "http://site.test/d?%B8"
    assert resolve(page.base_url, "\u0451?\u0451#\u0451") == "http://site.test/%D1%91?%B8"
    shown = page.as_rendered(f"<p>{markup}".encode())
    assert resolve(shown.base_url, "?\u0451") == "http://site.test/d?%B8"
    assert resolve(page_of(markup).base_url, "?\u0451") == "http://site.test/d?%D1%91"
    data = page_of(b"{}", "application/json; charset=windows-1251")
    assert resolve(data.base_url, "?\u0451") == "http://site.test/news/ice?%D1%91"


def test_documents_within_attributes_are_read_and_say_nothing_of_the_page() -> None:
    inner = "<title>Inner</title><meta http-equiv=refresh content='0;/away'><a href=in>x</a>"
    deep = f"<iframe srcdoc='{inner.replace(chr(39), '')}'></iframe>"
    page = page_of(f'<iframe srcdoc="{inner}">old</iframe><iframe srcdoc="{deep}"></iframe>')
    assert [link.get("href") for link in page.tree.iter("a")] == ["in", "in"]
    assert not [*page.tree.iter("title", "meta")]
    assert "old" not in page.tree.text_content()
    based = page_of('<iframe srcdoc="<base href=/b/><a href=in>x</a>"></iframe>')
    assert not [*based.tree.iter("a", "base")]


HOSTILE = {
    "deep": lambda: "<div>" * 100_000 + "x",
    "deep and closed": lambda: "<div>" * 100_000 + "x" + "</div>" * 100_000,
    "formatting": lambda: "<b><i>" * 100_000,
    "tables": lambda: "<table><tr><td>" * 60_000,
    "attributes": lambda: "<p " + " ".join(f"a{number}=1" for number in range(200_000)) + ">x</p>",
    "attributes, spaced": lambda: "<p " + " = ".join(f"a{number}=x" for number in range(100_000)) + ">x</p>",
    "attributes, quoted": lambda: '<p a=">" ' + "".join(f"a{number}='>'" for number in range(100_000)) + ">x</p>",
    "open tags": lambda: "<a b='<c \"" * 300_000,
    "less-than": lambda: "<c" * 2_000_000,
    "long text": lambda: "<p>" + "x" * 12_000_000,
    "long attribute": lambda: '<p title="' + "x" * 12_000_000,
    "entities": lambda: "&amp;&#x110000;&nosuch;" * 200_000,
    "comments": lambda: "<!--" * 500_000,
    "links": lambda: "<a href=/x>y</a>" * 200_000,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_pages_are_parsed_in_seconds(name: str) -> None:
    page = page_of(HOSTILE[name]())
    with at_most(5):
        tree = page.tree
    assert all(len(element.attrib) <= MAX_ATTRIBUTES for element in tree.iter("p", "a"))
    assert sum(1 for _ in tree.iter()) >= 2


def test_text_behind_an_attribute_flood_is_kept() -> None:
    page = page_of(HOSTILE["attributes"]() + "<p id=after>behind</p>")
    assert [element.text for element in page.tree.iter("p")] == ["x", "behind"]


def test_only_the_beginning_of_a_huge_body_is_read() -> None:
    page = page_of(b"<p>first</p>" + b"x" * 50_000_000 + b"<p>last</p>")
    assert len(page.text) == PARSED_BYTES
    assert [element.text for element in page.tree.iter("p")] == ["first"]


def test_a_character_cut_in_two_at_the_bound_does_not_change_the_guess() -> None:
    page = page_of(b"x" + "é".encode() * (PARSED_BYTES // 2), "text/html")
    assert page.encoding == "utf-8"
    assert "\ufffd" not in page.text


@given(
    st.binary(max_size=300), st.sampled_from(["", "text/html", "text/html; charset=utf-16", "text/html;charset=gbk"])
)
def test_nothing_fails_on_any_bytes(body: bytes, content_type: str) -> None:
    fields = (("Content-Type", content_type),) if content_type else ()
    page = Page("http://a.test/", 200, Headers(fields), body, NOW)
    assert page.media_type
    assert isinstance(page.text, str)
    assert page.tree.tag == "html"
    assert page.base_url


@pytest.mark.parametrize("end", ["</body></html>", "</BODY ></HTML>", "</html>", "</body>"])
def test_what_stands_after_an_early_end_belongs_to_the_body(end: str) -> None:
    page = page_of(f"<html><body><p>before</p>{end}<p>after <a href='/next'>next</a></p></body></html>")
    body = page.tree.find("body")
    assert body is not None
    assert " ".join(body.itertext()).split() == ["before", "after", "next"]


@pytest.mark.parametrize(
    ("declared", "body", "expected"),
    [
        (("text/html", "text/plain"), "<!doctype html><a href=/x>x</a>", "text/html"),
        (("text/html, application/octet-stream",), "<html><a href=/x>x</a>", "text/html"),
        (("application/xhtml+xml", "text/plain"), "<html><a href=/x>x</a>", "application/xhtml+xml"),
        (("text/html", "text/plain"), "A text of plain words.", "text/plain"),
        (("text/html", "image/png"), "\x89PNG", "image/png"),
        (("text/plain",), "<!doctype html><a href=/x>x</a>", "text/plain"),
        (("text/plain", "text/html"), "A text of plain words.", "text/html"),
    ],
)
def test_of_several_media_types_html_holds_where_the_body_is_html(
    declared: tuple[str, ...], body: str, expected: str
) -> None:
    headers = Headers(tuple(("Content-Type", each) for each in declared))
    page = Page("http://a.test/", 200, headers, body.encode("latin-1"), NOW)
    assert page.media_type == expected


@pytest.mark.parametrize("first", ["<html/>", '<html lang="en>\n<meta name="x" />', '<html lang="x>\n<br class="y"/>'])
def test_a_first_tag_that_ends_at_once_costs_nothing_of_the_page(first: str) -> None:
    page = page_of(f"<!doctype html>{first}<title>Ferries</title><body><p>First <a href=/2>ferry</a><p>Second")
    head, body = page.tree
    assert page.tree.getnext() is None
    assert (head.findtext("title"), body.text_content()) == ("Ferries", "First ferrySecond")
