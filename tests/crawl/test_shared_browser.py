"""One page of a browser that several share ends it: what the others make of that, and whom it counts against."""

import asyncio
from contextlib import ExitStack
from pathlib import Path

import pytest

from aahcrawler.browser.devtools.devtools_errors import BrowserCrashedError, DevToolsError, PageCrashedError
from aahcrawler.crawl.browsing.browser_deaths import CRASHES, DEATHS, MOST_SITES, BrowserDeaths
from aahcrawler.crawl.browsing.look_places import LookPlaces
from tests.crawl.crawling import running, summary, write_icd
from tests.crawl.site import Reply, Site, serving

SHELL = b"<!doctype html><title>Shell</title><body><div id=app></div><script src=/app.js></script>"
SHARING = '''
import asyncio
from aahcrawler import cli
from aahcrawler.browser.devtools.devtools_errors import BrowserCrashedError
from aahcrawler.browser.visits.rendered_page import RenderedPage
from aahcrawler.crawl.startup import job

class Sharing:
    """Ends as a whole with a page called killer, and shows all others once a moment has passed."""
    isolation = "nothing"
    version = "Sharing/1"
    under_way = set()

    async def visit(self, order, upstream):
        ending = asyncio.get_running_loop().create_future()
        self.under_way.add(ending)
        try:
            if "killer" in order.url:
                await asyncio.sleep(0.3)
                for each in self.under_way:
                    each.done() or each.set_exception(BrowserCrashedError("the browser has ended"))
            await asyncio.wait((ending,), timeout=0.6)
            if ending.done():
                ending.result()
        finally:
            self.under_way.discard(ending)
        text = "The pier by the old harbour was flooded again on the third day of the storm. " * 8
        return RenderedPage(order.url, b"<!doctype html><title>Shown</title><article><p>%s</article>" % text.encode())

    async def close(self):
        pass

job.open_browser = lambda folder, slots: Sharing()
cli.main()
'''


def test_looks_that_a_page_cost_others_are_repeated_and_counted_against_its_site(tmp_path: Path) -> None:
    killers = DEATHS + 2
    with ExitStack() as open_sites:
        bad = open_sites.enter_context(serving(Site({f"/killer{n}": Reply(SHELL) for n in range(killers)})))
        good = [open_sites.enter_context(serving(Site({"/page": Reply(SHELL)}))) for _ in range(3)]
        seeds = [f"http://127.0.0.1:{bad.port}/killer{n}" for n in range(killers)]
        seeds += [f"http://127.0.0.1:{site.port}/page" for site in good]
        with running("crawl", write_icd(tmp_path, *seeds), code=SHARING) as crawler:
            crawler.ended()
    found = summary(tmp_path / "crawl")
    assert found["pages"] == killers + 3
    assert sum(found["browser"].get(name, 0) for name in ("gained", "gained nothing")) == 3
    assert (found["browser"]["failed"], found["browser"]["barred"]) == (DEATHS, 2)
    assert found["browser"]["lost to another page"] >= 1
    assert not found.get("browser_missing")


def test_a_look_alone_waits_for_others_and_keeps_others_waiting() -> None:
    said: list[str] = []

    async def look(places: LookPlaces, name: str, seconds: float) -> bool:
        lent = places.alone() if name == "alone" else places.beside_others()
        async with lent as place:
            said.append(f"{name} begins")
            await asyncio.sleep(seconds)
            said.append(f"{name} ends")
        return place.is_shared

    async def run() -> list[bool]:
        places = LookPlaces(2)
        looks = [("a", 0.02), ("b", 0.01), ("alone", 0.01), ("c", 0.0)]
        return await asyncio.gather(*(look(places, *each) for each in looks))

    assert asyncio.run(run()) == [True, True, False, False]
    assert said == ["a begins", "b begins", "b ends", "a ends", "alone begins", "alone ends", "c begins", "c ends"]


def test_a_look_that_is_called_off_while_it_waits_to_be_alone_keeps_nobody_waiting() -> None:
    async def run() -> None:
        places = LookPlaces(1)
        async with places.beside_others():
            alone = asyncio.ensure_future(places.alone().__aenter__())
            await asyncio.sleep(0)
            alone.cancel()
            with pytest.raises(asyncio.CancelledError):
                await alone
        async with asyncio.timeout(5), places.beside_others() as place:
            assert not place.is_shared

    asyncio.run(run())


def died(deaths: BrowserDeaths, error: type[DevToolsError], *sites: str) -> None:
    for site in sites:
        deaths.died(site, error("gone"))


def test_a_site_is_barred_after_deaths_in_a_row_and_no_other_is() -> None:
    deaths = BrowserDeaths()
    died(deaths, PageCrashedError, *["a"] * (DEATHS - 1))
    deaths.lived("a")
    died(deaths, PageCrashedError, *["a"] * (DEATHS - 1))
    assert not deaths.is_barred("a")
    died(deaths, PageCrashedError, "a")
    assert deaths.is_barred("a")
    assert not deaths.is_barred("b")
    assert not deaths.is_doubtful("a")
    deaths.lived("a")
    assert deaths.is_barred("a"), "a look that was under way"


def test_the_browser_is_in_doubt_where_it_ends_for_whatever_site() -> None:
    deaths = BrowserDeaths()
    died(deaths, BrowserCrashedError, *map(str, range(CRASHES - 1)))
    assert not deaths.is_doubtful(str(CRASHES - 2))
    died(deaths, BrowserCrashedError, "last")
    assert deaths.is_doubtful("last")
    deaths.forgive()
    assert not deaths.is_doubtful("last")
    died(deaths, BrowserCrashedError, *["one"] * DEATHS)
    assert deaths.is_doubtful("one")
    died(deaths, PageCrashedError, "other")
    died(deaths, BrowserCrashedError, "other")
    assert not deaths.is_doubtful("other"), "a page that ends alone shows that the browser does not"


def test_what_is_known_of_sites_is_bounded() -> None:
    deaths = BrowserDeaths()
    died(deaths, PageCrashedError, *["first"] * DEATHS, *map(str, range(MOST_SITES)))
    assert not deaths.is_barred("first")
