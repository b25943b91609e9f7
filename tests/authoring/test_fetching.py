"""One page from the network: who asks is said, robots.txt is obeyed, private networks are left alone."""

import pytest

from aahcrawler.editor.pages.page_source import FetchError, fetch_page
from aahcrawler.page.onward import MAX_REDIRECTS
from tests.crawl.site import Reply, Site, serving

PAGE = b"<!doctype html><title>Here</title><p>Text"
ME = "me@example.org"


def moved(target: str) -> Reply:
    return Reply(b"", 302, {"Location": target})


def test_a_page_and_the_way_to_it() -> None:
    hops: list[tuple[str, str]] = []
    with serving(Site({"/a": moved("/b?x"), "/b?x": Reply(PAGE)})) as site:
        page = fetch_page(f"{site.url}a#top", allow_private=True, contact=ME, redirected=lambda *hop: hops.append(hop))
        assert (page.url, page.status, page.body, page.complete) == (f"{site.url}b?x", 200, PAGE, True)
        assert hops == [(f"{site.url}a", f"{site.url}b?x")]
        assert [asked.path for asked in site.asked] == ["/robots.txt", "/a", "/b?x"]
        assert all(asked.agent.startswith("AAHCrawler/") and f"(+{ME})" in asked.agent for asked in site.asked)


def test_a_missing_page_is_a_page() -> None:
    with serving(Site()) as site:
        assert fetch_page(site.url, allow_private=True).status == 404


def test_robots_txt_is_obeyed_and_quoted() -> None:
    rules = Reply(b"User-agent: *\nDisallow: /private/\n", headers={"Content-Type": "text/plain"})
    with serving(Site({"/robots.txt": rules, "/ok": moved("/private/x")})) as site:
        with pytest.raises(FetchError, match=r"/private/x \(line 2, Disallow: /private/\)"):
            fetch_page(f"{site.url}ok", allow_private=True)
        assert "/private/x" not in {asked.path for asked in site.asked}


def test_without_robots_txt_nothing_is_fetched() -> None:
    with serving(Site({"/robots.txt": Reply(b"", 503), "/": Reply(PAGE)})) as site:
        with pytest.raises(FetchError, match="503"):
            fetch_page(site.url, allow_private=True)
        assert [asked.path for asked in site.asked] == ["/robots.txt"]


def test_private_networks_are_left_alone_but_for_the_address_that_was_named() -> None:
    with serving(Site({"/": Reply(PAGE), "/robots.txt": Reply(b"", 404)})) as site:
        assert fetch_page(site.url).body == PAGE
        asked = len(site.asked)
        for target in (site.url.replace("127.0.0.1", "[::ffff:127.0.0.2]"), "http://10.0.0.1/"):
            with (
                serving(Site({"/": moved(target)})) as other,
                pytest.raises(FetchError, match="--allow-private"),
            ):
                fetch_page(other.url)
        assert len(site.asked) == asked


def test_this_machine_may_be_named() -> None:
    with serving(Site({"/": Reply(PAGE), "/robots.txt": Reply(b"", 404)})) as site:
        assert fetch_page(site.url.replace("127.0.0.1", "localhost")).status == 200


def test_redirects_end() -> None:
    with serving(Site(other=lambda path: moved(path + "x"), pages={"/robots.txt": Reply(b"", 404)})) as site:
        with pytest.raises(FetchError, match="redirects"):
            fetch_page(site.url, allow_private=True)
        assert len(site.asked) == MAX_REDIRECTS + 2


def test_no_server() -> None:
    with serving(Site()) as site:
        url = site.url
    with pytest.raises(FetchError, match="no answer"):
        fetch_page(url, allow_private=True)


@pytest.mark.parametrize("contact", ["", "   ", "somebody", "me@example.org\r\nX: y"])
def test_who_asks_must_be_said(contact: str) -> None:
    with pytest.raises(FetchError, match="you@example"):
        fetch_page("http://a.test/", contact=contact)


@pytest.mark.parametrize("url", ["", "page.html", "ftp://a.test/", "javascript:alert(1)"])
def test_what_is_no_address(url: str) -> None:
    with pytest.raises(FetchError, match="http://"):
        fetch_page(url, contact=ME)
