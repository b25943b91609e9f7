"""From an empty folder to an archive, by clicks alone: each number that is shown is that of the archive itself."""

import os
import re
import signal
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from tarfile import TarFile

import pytest
from playwright.sync_api import Browser, Locator, Page, expect
from warcio.archiveiterator import ArchiveIterator

from aahcrawler.crawls import running_process
from aahcrawler.layout import REFUSED
from aahcrawler.objects.reader import object_rows
from aahcrawler.refusals import failures
from tests.browsing import patient
from tests.cockpit.cockpit_browser import SCREEN, length_of, shoot, spilt, violations
from tests.crawl.crawling import running
from tests.crawl.site import Reply, Site, html, links
from tests.crawl.site import serving as serving_site
from tests.service.forked_crawls import FORKING

pytestmark = pytest.mark.slow

STORIES = 7
MAX_CLICKS = 8
NAME = "127-0-0-1"
_CODE = re.compile(r"the code (\S+) \(good for one sign-in\)")


@dataclass
class Hand:
    """Somebody at a browser who clicks, and counts that; what is typed is written into fields."""

    page: Page
    clicks: int = 0

    def click(self, target: Locator) -> None:
        target.click()
        self.clicks += 1

    def button(self, name: str) -> None:
        self.click(self.page.get_by_role("button", name=name, exact=True))

    def figure(self, name: str) -> int:
        """Return the number that is shown under a name."""
        found = self.page.locator("dl.figures > div", has=self.page.locator("dt", has_text=re.compile(f"^{name}$")))
        return int(found.first.locator("dd").inner_text().split()[0].replace(",", ""))


def story(number: int) -> Reply:
    """Return a story of a made-up museum, as schema.org marks one, and the way to the next and to one that is gone."""
    told = (
        f'<script type="application/ld+json">{{"@context": "https://schema.org", "@type": "Article", "headline": '
        f'"Boat {number}", "author": {{"@type": "Person", "name": "Ann Vos"}}, "datePublished": "2026-01-0{number}", '
        f'"articleBody": "Boat {number} was built on this river by Ann Vos, and sailed for {number} years."}}</script>'
        f"<article><h1>Boat {number}</h1><p>Boat {number} was built on this river by Ann Vos, and sailed for "
        f"{number} years.</p></article>"
    )
    return html(f"Boat {number}", told + links(f"/boat/{number % STORIES + 1}", "/gone"))


@pytest.fixture(scope="module")
def museum() -> Iterator[Site]:
    """Yield a site of stories that lead to one another, and to a page that is gone."""
    pages = {f"/boat/{number}": story(number) for number in range(1, STORIES + 1)}
    front = html("The museum", "<p>All boats of the river, each with its story.</p>" + links("/boat/1", "/boat/2"))
    with serving_site(Site({"/": front, **pages, "/robots.txt": Reply(b"", 404)})) as site:
        yield site


def captured(folder: Path) -> set[str]:
    """Return the URLs of pages that the archive has answers of, by its WARC records alone."""
    found = set()
    for path in (folder / "archive").glob("*.warc.gz"):
        with path.open("rb") as file:
            found |= {
                record.rec_headers.get_header("WARC-Target-URI")
                for record in ArchiveIterator(file)
                if record.rec_type == "response" and record.http_headers.get_statuscode() == "200"
            }
    return found


def test_a_first_crawl_takes_few_clicks_and_shows_what_it_has(chromium: Browser, museum: Site, tmp_path: Path) -> None:
    # A port that is free; all else as by itself.
    with running("cockpit", "--port", "0", cwd=tmp_path, code=FORKING) as cockpit:
        lines = [cockpit.process.stdout.readline() for _ in range(2)]
        at, code = re.search(r"at (http://\S+)/ until", lines[0]), _CODE.search(lines[1])
        assert at, lines
        assert code, lines
        page = patient(chromium.new_context(viewport={"width": 1280, "height": SCREEN})).new_page()
        try:
            page.goto(at[1])
            _crawl(Hand(page), code[1], museum)
            _compare(Hand(page), tmp_path / "crawls" / NAME)
            _crawl_again(Hand(page), tmp_path / "crawls" / NAME)
        finally:
            page.context.close()
            process = running_process(tmp_path / "crawls" / NAME)
            if process is not None:
                with suppress(ProcessLookupError):
                    os.kill(process.pid, signal.SIGKILL)


def _crawl(hand: Hand, code: str, museum: Site) -> None:
    """Sign in, say what is wanted, try it, and start."""
    page = hand.page
    page.get_by_label("Code").fill(code)
    hand.button("Sign in")
    expect(page.get_by_text("aah import FILES")).to_be_visible()
    hand.click(page.get_by_role("link", name="New crawl").last)
    page.get_by_label("Addresses", exact=True).fill(museum.url)
    page.get_by_label("Institution").fill("River Museum")
    page.get_by_label("Contact").fill("archive@example.org")
    hand.click(page.locator(".more > summary"))
    page.get_by_label("Find a field").fill("private")
    page.get_by_label("Private networks").fill("127.0.0.0/8")  # The site is on this machine.
    hand.button("Try the addresses")
    expect(page.get_by_text("1 of 1 seed tried.")).to_be_visible()
    expect(page.locator(".before .tag.good")).to_have_text("fetched")
    assert not violations(page)
    shoot(page, "first-hour-tried")
    hand.button("Start the crawl")
    expect(page.locator(".note[role=status]")).to_contain_text("was started")
    assert hand.clicks <= MAX_CLICKS
    expect(page.locator("#now .state")).to_have_text("finished")


def _compare(hand: Hand, folder: Path) -> None:
    """Compare what the pages of the cockpit show with the archive."""
    page, here = hand.page, hand.page.url
    urls, objects = captured(folder), {row.iri for row in object_rows(folder)}
    failed = {each.failed for each in failures(folder / REFUSED, 1)}
    assert len(urls) == STORIES + 1
    assert len(objects) == STORIES
    page.reload()
    assert hand.figure("Pages") == len(urls)
    assert hand.figure("Web objects") == len(objects)
    assert hand.figure("Failed") == len(failed) == 1
    assert hand.figure("Queued") == 0
    for tab, number in (("Pages", len(urls) + len(failed)), ("Web objects", len(objects))):
        page.get_by_role("navigation").get_by_role("link", name=tab, exact=True).click()
        expect(page.locator("#main")).to_contain_text(re.compile(rf"\b{number} "))
        assert page.locator("table.stack tbody tr").count() == number
        assert length_of(page) <= 3 * SCREEN
        assert not spilt(page)
    page.get_by_role("link", name="Manage", exact=True).click()
    with page.expect_download() as download:
        page.get_by_role("link", name="The archive").click()
    with TarFile.open(fileobj=BytesIO(Path(download.value.path()).read_bytes())) as tar:
        names = {Path(name).name for name in tar.getnames()}
    assert names == {path.name for path in (folder / "archive").glob("*.warc.gz")}
    page.goto(here.partition("/crawls/")[0])
    assert hand.figure("Pages") == len(urls)
    assert hand.figure("Web objects") == len(objects)


def _crawl_again(hand: Hand, folder: Path) -> None:
    """Crawl again at one click of the first page."""
    before = {path.name for path in (folder / "archive").glob("*.warc.gz")}
    hand.button("Crawl again")
    assert hand.clicks == 1
    expect(hand.page.locator("#now")).to_contain_text("crawl 2")
    expect(hand.page.locator("#now .state")).to_have_text("finished")
    assert {path.name for path in (folder / "archive").glob("*.warc.gz")} > before
