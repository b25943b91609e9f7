"""The list of pages with a small picture of each, and pictures that are wider than a screen."""

from importlib import resources
from pathlib import Path

from playwright.sync_api import Browser

from aahcrawler.layout import INDEXES, PICTURES
from aahcrawler.overview.spoken_pictures import TopicArea, topic_map
from aahcrawler.service.cockpit.site import COOKIE
from aahcrawler.service.views.page_pictures import PagePictures
from tests.browsing import sandboxed_chromium
from tests.cockpit.cockpit_browser import READER, serving, shoot, spilt, violations, visiting
from tests.crawl.crawling import aah, until
from tests.crawl.site import Site, html
from tests.crawl.site import serving as serving_site
from tests.crawl.world import crawl, network

_LOADED = """() => [...document.querySelectorAll("td.picture img")].filter(each => each.naturalWidth > 0).length"""


def test_pages_are_listed_with_pictures_which_a_takedown_deletes(chromium: Browser, tmp_path: Path) -> None:
    sandboxed_chromium()
    site = Site({"//a.test/": html("A page", "<p>The harbour.</p>"), "//b.test/": html("Another", "<p>The mole.</p>")})
    with serving_site(site) as served:
        made = crawl(tmp_path, ["http://a.test/", "http://b.test/"], network=network(served, "a.test", "b.test"))
    kept = made.folder / INDEXES / PICTURES
    with serving(tmp_path, pictures=PagePictures()) as cockpit, visiting(chromium, cockpit, READER) as visit:
        page = visit.goto("/crawls/test/pages")
        until(lambda: page.evaluate(_LOADED) == 2)
        assert not violations(page)
        shoot(page, "pages-with-pictures")
        page.set_viewport_size({"width": 390, "height": 800})
        assert not spilt(page)
        assert not visit.wrong
        assert kept.exists()
        (picture,) = page.locator("tr", has_text="A page").locator("img").all()
        path = str(picture.get_attribute("src"))

        def asked() -> int:
            return cockpit.ask("GET", path, Cookie=f"{COOKIE}={cockpit.entered(READER)}").status

        assert asked() == 200
        assert cockpit.ask("GET", path).headers["location"] == "/sign-in"
        removed = aah("remove", made.folder, "--url", "http://a.test/", "--reason", "asked", "--by", "me")
        assert removed.code == 0, removed.err
        assert not kept.exists()
        until(lambda: asked() == 404)
        assert not kept.exists()


def test_a_picture_that_is_wider_than_the_screen_says_so(chromium: Browser) -> None:
    style = resources.files("aahcrawler.service.cockpit").joinpath("static", "cockpit.css").read_text("utf-8")
    page = chromium.new_page()
    try:
        page.set_content(
            f"<style>{style}</style><main>{topic_map('Topics', [TopicArea('dike', 3, ('dike',), '')])}</main>"
        )
        for width in (1280, 390):
            page.set_viewport_size({"width": width, "height": 800})
            figure = page.locator("figure.matrix")
            is_wider = figure.evaluate("each => each.scrollWidth > each.clientWidth")
            said = figure.evaluate("each => getComputedStyle(each, '::before').content")
            assert is_wider == ("scroll it sideways" in said) == (width == 390)
    finally:
        page.context.close()
