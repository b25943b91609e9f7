"""Links to what no HTTP client can fetch."""

from datetime import UTC, datetime

from aahcrawler.page import Headers, Page
from aahcrawler.page.requisites import MAX_LINKS, foreign_links


def page(body: str) -> Page:
    head = Headers((("Content-Type", "text/html"),))
    return Page("http://a.test/", 200, head, body.encode(), datetime(2026, 1, 1, tzinfo=UTC))


def test_links_to_documents_by_other_ways_are_counted_once_each() -> None:
    body = """<a href="ftp://a.test/pub/">files</a> <a href=" FTP://a.test/pub/">it</a>
    <a href="ftp://a.test/x">x</a>
    <area href="gopher://a.test/"> <iframe src="gemini://a.test/"></iframe> <a href="magnet:?xt=1">it</a>"""
    assert foreign_links(page(body)) == {"ftp": 2, "gopher": 1, "gemini": 1, "magnet": 1}


def test_people_programs_and_pages_are_not() -> None:
    others = (
        "mailto:me@a.test",
        "tel:+1",
        "javascript:go()",
        "data:,x",
        "Talk:Harbour",
        "ftp",
        "ftp:",
        "/ftp://a",
        "#",
    )
    body = "".join(
        f'<a href="{each}">x</a>' for each in (*others, "http://a.test/", "https://a.test/ftp:x", "//a.test/")
    )
    assert foreign_links(page(body)) == {}


def test_of_endless_links_so_many_are_looked_at() -> None:
    assert foreign_links(page("".join(f"<a href=ftp://a/{n}>" for n in range(MAX_LINKS + 9)))) == {"ftp": MAX_LINKS}
