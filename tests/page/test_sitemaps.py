"""Sitemaps are read piece by piece, in all of their forms, and no hostile one costs more than a long one."""

import gzip
import tracemalloc
import zlib
from collections.abc import Callable
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aahcrawler.page import Headers, Page, feeds
from aahcrawler.page.feeds import Sitemap, SitemapEntry
from tests.pace import at_most

NOW = datetime(2024, 6, 1, tzinfo=UTC)
NS = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
NEWS = """<url><loc> http://a.test/n?a=1&amp;b=2 </loc><news:news>
<news:publication_date>2024-05-01</news:publication_date>
<news:title>The  flood &amp; the dike</news:title></news:news><lastmod>2024-05-02</lastmod></url>"""


def answer(body: bytes | str, kind: str = "application/xml") -> Page:
    raw = body if isinstance(body, bytes) else body.encode()
    return Page("http://a.test/sitemap.xml", 200, Headers((("Content-Type", kind),)), raw, NOW)


def urls(body: bytes | str) -> list[str]:
    return [listed.url for listed in Sitemap(answer(body))]


def urlset(*entries: str, more: str = "") -> str:
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<urlset {NS} {more}>{"".join(entries)}</urlset>'


def url(number: int) -> str:
    return f"<url><loc>http://a.test/{number}</loc><lastmod>2024-05-01T08:00:00+02:00</lastmod></url>"


def test_entries_have_addresses_dates_and_titles() -> None:
    news = 'xmlns:news="http://www.google.com/schemas/sitemap-news/0.9"'
    found = list(Sitemap(answer(urlset(url(1), NEWS, "<url><lastmod>2024</lastmod></url>", more=news))))
    assert found == [
        SitemapEntry("http://a.test/1", "", "", datetime(2024, 5, 1, 6, tzinfo=UTC)),
        SitemapEntry("http://a.test/n?a=1&b=2", "The flood & the dike", "", datetime(2024, 5, 1, tzinfo=UTC)),
    ]


def test_entries_say_how_often_they_change_in_words_of_the_protocol() -> None:
    words = (" Weekly ", "hourly", "sometimes", "")
    entries = [
        f"<url><loc>http://a.test/{n}</loc><changefreq>{word}</changefreq></url>" for n, word in enumerate(words)
    ]
    found = list(Sitemap(answer(urlset(*entries))))
    assert [each.changefreq for each in found] == ["weekly", "hourly", "", ""]


def test_an_index_names_sitemaps() -> None:
    body = f"<sitemapindex {NS}><sitemap><loc>http://a.test/2.xml.gz</loc></sitemap></sitemapindex>"
    assert list(Sitemap(answer(body))) == [SitemapEntry("http://a.test/2.xml.gz", is_sitemap=True)]


@pytest.mark.parametrize(
    "body",
    [
        gzip.compress(urlset(url(1), url(2)).encode()),
        urlset(url(1), url(2)).replace(f" {NS}", ""),
        urlset(url(1), url(2)).encode("utf-8-sig"),
        urlset(url(1), url(2)).replace("UTF-8", "UTF-16").encode("utf-16"),
        "\n  " + urlset(url(1), url(2)).partition("\n")[2],
        urlset(url(1), "<url><loc>mailto:x</loc></url>", "<other/>", url(2)),
        urlset(url(1), url(2))[: -len("</urlset>")],
        urlset(url(1), url(2), "<url><loc>http://a.test/<broken"),
        gzip.compress(urlset(url(1), url(2), " " * 100_000).encode())[:-20],
        "http://a.test/1\r\n\n http://a.test/2 ",
        "\ufeff# two pages\nhttp://a.test/1\rno address\r\nhttp://a.test/2\n",
        "http://a.test/1\nhttp://a.test/2\n".encode("utf-16"),
        gzip.compress(gzip.compress(urlset(url(1), url(2)).encode())),
        gzip.compress(urlset(url(1), url(2)).encode())[:-8] + b"12345678",
        "<rss><channel><item><link>http://a.test/1</link></item><item><link>/2</link></item></channel></rss>",
        gzip.compress(b"<rss><item><link>http://a.test/1</link></item><item><link>/2</link></item></rss>"),
        '<!DOCTYPE urlset SYSTEM "file:///etc/passwd">' + urlset(url(1), url(2)).partition("\n")[2],
    ],
    ids=range(17),
)
def test_every_form_is_read(body: bytes | str) -> None:
    assert urls(body) == ["http://a.test/1", "http://a.test/2"]


ENTITIES = (
    '<?xml version="1.0"?><!DOCTYPE urlset [<!ENTITY a "aaaaaaaaaa">'
    + "".join(f'<!ENTITY {name} "{f"&{before};" * 10}">' for before, name in zip("abcdefgh", "bcdefghi", strict=True))
    + f"]><urlset {NS}><url><loc>http://a.test/&i;</loc></url></urlset>"
)


@pytest.mark.slow
@pytest.mark.parametrize(
    "body",
    [
        ENTITIES,
        "<!DOCTYPE urlset [<!ELEMENT loc ANY>]><urlset><url><loc>http://a.test/</loc></url></urlset>",
        "<html><body><a href='http://a.test/'>no sitemap</a></body></html>",
        "",
        "\0" * 1000,
        "<urlset>" + "<url>" * 30_000,
        "<urlset>" + "<a/>" * 50_000 + url(1),
        "<urlset><url>" + "<a/>" * 50_000 + "<loc>http://a.test/</loc></url></urlset>",
        lambda: "<urlset><url><loc>http://a.test/" + "x" * 11_000_000 + "</loc></url></urlset>",
        "x" * 1_000_000,
        lambda: gzip.compress(b"\0" * (feeds.MAX_SITEMAP_BYTES + 10_000_000), 1),
        gzip.compress(gzip.compress(urlset(url(1)).encode())),
        b"\x1f\x8b not gzip at all",
    ],
    ids=range(13),
)
def test_what_is_no_sitemap_leads_nowhere_and_costs_little(body: bytes | str | Callable[[], bytes | str]) -> None:
    page = answer(body() if callable(body) else body)
    with at_most(1):
        found = [listed.url for listed in Sitemap(page)]
        assert all(each == "http://a.test/1" for each in found)


@pytest.mark.slow
def test_no_more_is_read_than_a_sitemap_may_have(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feeds, "MAX_SITEMAP_ENTRIES", 1_000)
    body = gzip.compress(urlset(*map(url, range(feeds.MAX_SITEMAP_ENTRIES + 10))).encode(), 1)
    assert sum(1 for _ in Sitemap(answer(body))) == feeds.MAX_SITEMAP_ENTRIES


@pytest.mark.slow
def test_memory_is_that_of_a_piece() -> None:
    compressor = zlib.compressobj(9, wbits=31)
    entry = url(1).replace("</url>", f"<junk>{' ' * 20_000}</junk></url>").encode()
    body = compressor.compress(b"<urlset>") + b"".join(compressor.compress(entry) for _ in range(300))
    page = answer(body + compressor.flush())
    tracemalloc.start()
    try:
        assert sum(1 for _ in Sitemap(page)) == 300
        assert tracemalloc.get_traced_memory()[1] < 2_000_000
    finally:
        tracemalloc.stop()


@given(st.binary(max_size=300))
def test_any_bytes_are_read_without_trouble(body: bytes) -> None:
    assert all(listed.url.startswith("http") for listed in Sitemap(answer(body)))


@pytest.mark.parametrize(
    ("loc", "expected"),
    [
        ("http://a.test/b?x=1&y=2", "http://a.test/b?x=1&y=2"),
        ("http://a.test/b?a=1&copy=2&lt=3&h;=4", "http://a.test/b?a=1&copy=2&lt=3&h;=4"),
        ("http://a.test/b?a=1&amp;b=2&#38;c=3&#x26;d=4", "http://a.test/b?a=1&b=2&c=3&d=4"),
        ("http://a.test/caf&eacute;s/x", "http://a.test/caf%C3%A9s/x"),
        ("http://a.test/?q=a<b", "http://a.test/?q=a%3Cb"),
        ("http://a.test/?q=1 < 2", "http://a.test/?q=1%20%3C%202"),
        ("\n\t http://a.test/b \n", "http://a.test/b"),
        ("http://a.test/long/\n      address", "http://a.test/long/address"),
        ("<![CDATA[ http://a.test/?a=1&b=2&amp;c ]]>", "http://a.test/?a=1&b=2&amp;c"),
        ("<!-- here --> http://a.test/b <!-- & there -->", "http://a.test/b"),
        ("\x0bhttp://a.test/b\x00", "http://a.test/b"),
        ("/b", "http://a.test/b"),
        ("//a.test/b", "http://a.test/b"),
        ("http://a.test/b</lco>", "http://a.test/b"),
        ("http://a.test/b<loc>", "http://a.test/b"),
    ],
)
def test_what_is_wrong_in_an_address_is_mended(loc: str, expected: str) -> None:
    assert urls(urlset(url(1), f"<url><loc>{loc}</loc></url>", url(2))) == [
        "http://a.test/1",
        expected,
        "http://a.test/2",
    ]


@pytest.mark.parametrize(
    "entry",
    [
        b"<url><loc>http://a.test/caf\xe9</loc></url>",
        b"<url><loc>http://a.test/a\x0bb</loc></url>",
        b"<url><loc>http://a.test/&#0;&#xFFFFFF;</loc></url>",
        b"<url><loc>http://a.test/<b>bold</b></loc></url>",
        b"<url><loc>page of ours</loc></url>",
        b"<url><loc>www.a.test/b</loc></url>",
        b"<url><loc></loc></url>",
        b"<url/>",
    ],
)
def test_an_entry_that_cannot_be_mended_is_left_out_alone(entry: bytes) -> None:
    sitemap = Sitemap(answer(urlset(url(1), "@", url(2)).encode().replace(b"@", entry)))
    assert [listed.url for listed in sitemap] == ["http://a.test/1", "http://a.test/2"]
    assert sitemap.mistakes.dropped == 1


@pytest.mark.parametrize(
    "body",
    [
        "Warning: no such file\n" + urlset(url(1), url(2)),
        "<br />\n<b>Notice</b>: x\n" + urlset(url(1), url(2)),
        urlset(url(1), url(2)) + "<!-- 0.2 s --> and more & more",
        urlset(url(1), "<x:y>unbound & raw</x:y>", url(2)),
        urlset(url(1), "<url><loc>http://a.test/2</loc>"),
        urlset("<url><loc>http://a.test/1</url>", "<url><loc>http://a.test/2<lastmod>2024-01-01</lastmod></url>"),
        urlset("<url id=1><loc>http://a.test/1</loc></item>", url(2)),
        urlset(url(1), "</p></b>", url(2), "<!-- never ended"),
    ],
    ids=range(8),
)
def test_mistakes_around_addresses_are_mended_and_counted(body: str) -> None:
    sitemap = Sitemap(answer(body))
    assert [listed.url for listed in sitemap] == ["http://a.test/1", "http://a.test/2"]
    assert sitemap.mistakes.mended
    assert not sitemap.mistakes.dropped


def test_the_address_of_an_image_is_not_that_of_its_page() -> None:
    image = "<image:image><image:loc>http://a.test/i.png</image:loc></image:image>"
    assert urls(urlset(f"<url>{image}<loc>http://a.test/1</loc></url>")) == ["http://a.test/1"]
    prefixed = "<s:urlset xmlns:s='x'><s:url><s:loc>http://a.test/1</s:loc></s:url></s:urlset>"
    assert urls(prefixed) == ["http://a.test/1"]


def test_a_sitemap_is_read_in_its_encoding() -> None:
    entry = "<url><loc>http://a.test/маяк</loc></url>"
    expected = ["http://a.test/%D0%BC%D0%B0%D1%8F%D0%BA"]
    body = urlset(entry).replace("UTF-8", "windows-1251").encode("windows-1251")
    assert urls(body) == expected
    assert urls(gzip.compress(body)) == expected
    page = answer(urlset(entry).partition("\n")[2].encode("windows-1251"), "text/xml; charset=windows-1251")
    assert [listed.url for listed in Sitemap(page)] == expected


@pytest.mark.slow
@pytest.mark.parametrize(
    "body",
    [
        *("<urlset>" + each * 50_000 for each in ("<!--", "<![CDATA[", "<a '", '<a b="<', "<", "<!x", "<!x[", "<?x")),
        *("<urlset><url>" + each * 50_000 for each in ("&", "&#x", "</x>", "b=c ")),
        "<urlset><url>" + "<loc>" * 25_000,
        "<urlset>" + "<url/>" * 20_000,
    ],
)
def test_hostile_markup_takes_linear_time(body: str) -> None:
    with at_most(0.5):
        assert urls(body) == []


def test_lines_of_a_list_that_are_empty_take_no_step_each() -> None:
    lines = feeds._lines(["http://a.test/1\r\n" + "\r" * 50_000, "\n" * 50_000 + " http://a.test/2 \n"])
    assert list(lines) == ["http://a.test/1", "http://a.test/2"]
