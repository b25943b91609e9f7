"""Sitemaps are read piece by piece, in all of their forms, and no hostile one costs more than a long one."""

import gzip
import tracemalloc
import zlib
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aahcrawler.page import Headers, Page, sitemaps
from aahcrawler.page.sitemaps import SitemapEntry
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
    return [listed.url for listed in sitemaps.read(answer(body))]


def urlset(*entries: str, more: str = "") -> str:
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<urlset {NS} {more}>{"".join(entries)}</urlset>'


def url(number: int) -> str:
    return f"<url><loc>http://a.test/{number}</loc><lastmod>2024-05-01T08:00:00+02:00</lastmod></url>"


def test_entries_have_addresses_dates_and_titles() -> None:
    news = 'xmlns:news="http://www.google.com/schemas/sitemap-news/0.9"'
    found = list(sitemaps.read(answer(urlset(url(1), NEWS, "<url><lastmod>2024</lastmod></url>", more=news))))
    assert found == [
        SitemapEntry("http://a.test/1", "", "", datetime(2024, 5, 1, 6, tzinfo=UTC)),
        SitemapEntry("http://a.test/n?a=1&b=2", "The flood & the dike", "", datetime(2024, 5, 1, tzinfo=UTC)),
    ]


def test_an_index_names_sitemaps() -> None:
    body = f"<sitemapindex {NS}><sitemap><loc>http://a.test/2.xml.gz</loc></sitemap></sitemapindex>"
    assert list(sitemaps.read(answer(body))) == [SitemapEntry("http://a.test/2.xml.gz", is_sitemap=True)]


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
        "\ufeffhttp://a.test/1\nhttp://a.test/2\nno address\nhttp://a.test/3",
        "<rss><channel><item><link>http://a.test/1</link></item><item><link>/2</link></item></channel></rss>",
    ],
    ids=range(12),
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
        '<!DOCTYPE urlset SYSTEM "file:///etc/passwd"><urlset><url><loc>http://a.test/</loc></url></urlset>',
        "<html><body><a href='http://a.test/'>no sitemap</a></body></html>",
        "",
        "\0" * 1000,
        "<urlset>" + "<url>" * 100_000,
        "<urlset>" + "<a/>" * 200_000 + url(1),
        "<urlset><url>" + "<a/>" * 200_000 + "<loc>http://a.test/</loc></url></urlset>",
        "<urlset><url><loc>http://a.test/" + "x" * 11_000_000 + "</loc></url></urlset>",
        "x" * 3_000_000,
        gzip.compress(b"\0" * 200_000_000, 1),
        gzip.compress(gzip.compress(urlset(url(1)).encode())),
        b"\x1f\x8b not gzip at all",
    ],
    ids=range(13),
)
def test_what_is_no_sitemap_leads_nowhere_and_costs_little(body: bytes | str) -> None:
    page = answer(body)
    with at_most(2):
        found = [listed.url for listed in sitemaps.read(page)]
        assert all(each == "http://a.test/1" for each in found)


@pytest.mark.slow
def test_no_more_is_read_than_a_sitemap_may_have() -> None:
    body = gzip.compress(urlset(*map(url, range(sitemaps.MAX_ENTRIES + 10))).encode(), 1)
    assert sum(1 for _ in sitemaps.read(answer(body))) == sitemaps.MAX_ENTRIES


@pytest.mark.slow
def test_memory_is_that_of_a_piece() -> None:
    compressor = zlib.compressobj(9, wbits=31)
    entry = url(1).replace("</url>", f"<junk>{'<x/>' * 50}</junk></url>").encode()
    body = compressor.compress(b"<urlset>") + b"".join(compressor.compress(entry) for _ in range(1_000))
    page = answer(body + compressor.flush())
    tracemalloc.start()
    try:
        assert sum(1 for _ in sitemaps.read(page)) == 1_000
        assert tracemalloc.get_traced_memory()[1] < 2_000_000
    finally:
        tracemalloc.stop()


@given(st.binary(max_size=300))
def test_any_bytes_are_read_without_trouble(body: bytes) -> None:
    assert all(listed.url.startswith("http") for listed in sitemaps.read(answer(body)))


@given(st.lists(st.integers(0, 99), max_size=40), st.integers(2, 50))
def test_where_pieces_end_does_not_matter(numbers: list[int], size: int) -> None:
    whole = urlset(*map(url, numbers))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sitemaps, "_PIECE", size)
        assert urls(whole) == [f"http://a.test/{number}" for number in numbers]
