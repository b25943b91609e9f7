"""One page of a browser that several share ends it: what the others make of that, and whom it counts against."""

import asyncio
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from aahcrawler.browser.process.devtools_connection import BrowserCrashedError, DevToolsError, PageCrashedError
from aahcrawler.crawl.browsing.crawl_visits import (
    BARRED_FROM,
    CRASHES,
    FIRST_PAUSE,
    MAX_SITES,
    REPEATED_BELOW,
    RETURN,
    BrowserDeaths,
    RenderSlots,
)
from tests.crawl.crawling import Running, running, summary, write_icd
from tests.crawl.site import Reply, Site, serving

SHELL = b"<!doctype html><title>Shell</title><body><div id=app></div><script src=/app.js></script>"
SHARING = '''
import asyncio
from aahcrawler import cli
from aahcrawler.browser.process.devtools_connection import BrowserCrashedError
from aahcrawler.browser.visits.rendered_page import RenderedPage
from aahcrawler.crawl.browsing import crawl_visits, page_rendering
from aahcrawler.crawl.startup import job

crawl_visits.FIRST_PAUSE, page_rendering.OWN_PAUSES = %(pauses)s

class Sharing:
    """Ends as a whole with a page called killer, and with its first visits; shows others once a moment has passed."""
    isolation = "nothing"
    version = "Sharing/1"
    under_way = set()
    kills = %(kills)d

    async def visit(self, order, upstream):
        ending = asyncio.get_running_loop().create_future()
        self.under_way.add(ending)
        try:
            if "killer" in order.url or Sharing.kills:
                Sharing.kills -= Sharing.kills > 0
                await asyncio.sleep(%(moment)s)
                for each in self.under_way:
                    each.done() or each.set_exception(BrowserCrashedError("the browser has ended"))
            await asyncio.wait((ending,), timeout=%(moment)s * 2)
            if ending.done():
                ending.result()
        finally:
            self.under_way.discard(ending)
        text = "The pier by the old harbour was flooded again on the third day of the storm. " * 8
        return RenderedPage(order.url, b"<!doctype html><title>Shown</title><article><p>%%s</article>" %% text.encode())

    async def close(self):
        pass

job.open_browser = lambda folder, slots: Sharing()
cli.main()
'''


@contextmanager
def shared(
    icd: Path, *, kills: int = 0, pause: float = 0.02, own_pauses: tuple[float, ...] = (0, 0), moment: float = 0.05
) -> Iterator[Running]:
    code = SHARING % {"kills": kills, "pauses": (pause, own_pauses), "moment": moment}
    with running("crawl", icd, code=code) as crawler:
        yield crawler


def test_looks_that_a_page_cost_others_are_repeated_and_counted_against_its_site(tmp_path: Path) -> None:
    tried = 1 + BARRED_FROM - REPEATED_BELOW
    killers = tried + 2
    with ExitStack() as open_sites:
        bad = open_sites.enter_context(serving(Site({f"/killer{n}": Reply(SHELL) for n in range(killers)})))
        good = [open_sites.enter_context(serving(Site({"/page": Reply(SHELL)}))) for _ in range(3)]
        seeds = [f"http://127.0.0.1:{bad.port}/killer{n}" for n in range(killers)]
        seeds += [f"http://127.0.0.1:{site.port}/page" for site in good]
        with shared(write_icd(tmp_path, *seeds), pause=0.05, moment=0.3) as crawler:
            crawler.ended()
    found = summary(tmp_path / "crawl")
    assert found["pages"] == killers + 3
    assert sum(found["browser"].get(name, 0) for name in ("gained", "gained nothing")) == 3
    assert (found["browser"]["failed"], found["browser"]["barred"]) == (tried, 2)
    assert found["browser"]["repeated"] == REPEATED_BELOW - 1, "every death beyond these was another page's last one"
    assert found["browser"]["lost to another page"] >= 1
    assert not found.get("browser_missing")


def test_a_page_whose_browser_others_kill_is_shown_in_the_end(tmp_path: Path) -> None:
    own_pauses = (0.0,) * 3
    kills = CRASHES + len(own_pauses) - 1
    with (
        serving(Site({"/page": Reply(SHELL)})) as site,
        shared(write_icd(tmp_path, f"{site.url}page"), kills=kills, own_pauses=own_pauses) as crawler,
    ):
        crawler.ended()
    found = summary(tmp_path / "crawl")
    assert sum(found["browser"].get(name, 0) for name in ("gained", "gained nothing")) == 1
    assert found["browser"]["repeated"] == CRASHES
    assert not {"failed", "barred", "unavailable"} & found["browser"].keys()
    assert not found.get("browser_missing")


def test_a_browser_that_shows_no_page_at_all_is_given_up_and_said_to_be_missing(tmp_path: Path) -> None:
    with serving(Site({f"/{n}": Reply(SHELL) for n in range(3)})) as site:
        seeds = [f"{site.url}{n}" for n in range(3)]
        with shared(write_icd(tmp_path, *seeds), kills=10**6) as crawler:
            crawler.ended()
    found = summary(tmp_path / "crawl")
    assert found["browser"]["repeated"] == CRASHES - 1
    assert (found["browser"]["failed"], found["browser"]["unavailable"]) == (1, 2)
    assert "it ends again and again" in next(iter(found["browser_missing"]))
    assert found["pages"] == 3


def test_a_site_that_waits_for_its_next_look_holds_up_neither_others_nor_the_end(tmp_path: Path) -> None:
    with serving(Site({"/killer": Reply(SHELL)})) as bad, serving(Site({"/page": Reply(SHELL)})) as good:
        seeds = (f"{bad.url}killer", f"{good.url}page")
        with shared(write_icd(tmp_path, *seeds), pause=10_000) as crawler:
            crawler.until(lambda: _shown(tmp_path / "crawl") == 1)
            crawler.interrupt()
            crawler.ended()
    found = summary(tmp_path / "crawl")
    assert found["state"] == "stopped"
    assert (found["pages"], found["browser"]["repeated"]) == (1, 1)
    assert "failed" not in found["browser"], "it was given back, and is looked at when the crawl goes on"


def _shown(crawl: Path) -> int:
    try:
        found = summary(crawl).get("browser", {})
    except (FileNotFoundError, ValueError):
        return 0
    return int("repeated" in found and sum(found.get(name, 0) for name in ("gained", "gained nothing")))


def test_a_look_alone_waits_for_others_and_keeps_others_waiting() -> None:
    said: list[str] = []

    async def look(places: RenderSlots, name: str, seconds: float) -> bool:
        lent = places.alone() if name == "alone" else places.beside_others()
        async with lent as place:
            said.append(f"{name} begins")
            await asyncio.sleep(seconds)
            said.append(f"{name} ends")
        return place.is_shared

    async def run() -> list[bool]:
        places = RenderSlots(2)
        looks = [("a", 0.02), ("b", 0.01), ("alone", 0.01), ("c", 0.0)]
        return await asyncio.gather(*(look(places, *each) for each in looks))

    assert asyncio.run(run()) == [True, True, False, False]
    assert said == ["a begins", "b begins", "b ends", "a ends", "alone begins", "alone ends", "c begins", "c ends"]


def test_a_look_that_is_called_off_while_it_waits_to_be_alone_keeps_nobody_waiting() -> None:
    async def run() -> None:
        places = RenderSlots(1)
        async with places.beside_others():
            alone = asyncio.ensure_future(places.alone().__aenter__())
            await asyncio.sleep(0)
            alone.cancel()
            with pytest.raises(asyncio.CancelledError):
                await alone
        async with asyncio.timeout(60), places.beside_others() as place:
            assert not place.is_shared

    asyncio.run(run())


class Clock:
    """A clock that stands until it is set."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def died(deaths: BrowserDeaths, error: type[DevToolsError], *sites: str) -> None:
    for site in sites:
        deaths.died(site, error("gone"))


def test_each_death_of_a_site_makes_its_next_look_wait_twice_as_long_and_that_of_no_other() -> None:
    deaths = BrowserDeaths(Clock())
    for number in range(REPEATED_BELOW):
        assert not deaths.is_barred("a")
        died(deaths, PageCrashedError, "a")
        assert deaths.pause("a") == FIRST_PAUSE * 2**number
        assert deaths.may_repeat("a") == (number + 1 < REPEATED_BELOW)
    assert deaths.is_suspect("a")
    assert (deaths.pause("b"), deaths.is_suspect("b"), deaths.may_repeat("b")) == (0.0, False, False)
    assert not deaths.is_doubtful(), "a page that ends alone shows that the browser does not"


def test_a_site_that_kills_for_ever_costs_ever_fewer_deaths() -> None:
    clock = Clock()
    deaths = BrowserDeaths(clock)
    times: list[float] = []
    while clock.now < 24 * 3600:
        if deaths.is_barred("a"):
            clock.now += 1
        else:
            clock.now += deaths.pause("a")
            times.append(clock.now)
            died(deaths, BrowserCrashedError, "a")
    assert len(times) < 20
    assert times[BARRED_FROM - 1] < 130, "the end of a crawl is not put off for long"


def test_a_site_of_which_every_other_page_kills_is_barred_as_well() -> None:
    deaths = BrowserDeaths(Clock())
    number = 0
    while not deaths.is_barred("a"):
        number += 1
        deaths.lived("a")
        died(deaths, BrowserCrashedError, "a")
    assert number <= BARRED_FROM / RETURN


def test_a_site_whose_pages_are_shown_again_gets_its_looks_back() -> None:
    clock = Clock()
    deaths = BrowserDeaths(clock)
    died(deaths, BrowserCrashedError, *["a"] * BARRED_FROM)
    assert deaths.is_barred("a")
    clock.now += deaths.pause("a")
    assert not deaths.is_barred("a")
    deaths.lived("a")
    assert (deaths.pause("a"), deaths.is_barred("a"), deaths.is_doubtful()) == (0.0, False, False)
    for _ in range(round(BARRED_FROM / RETURN)):
        deaths.lived("a")
    assert not deaths.is_suspect("a")


def test_the_browser_is_in_doubt_where_it_ends_for_whatever_site() -> None:
    deaths = BrowserDeaths()
    died(deaths, BrowserCrashedError, *map(str, range(CRASHES - 1)))
    assert not deaths.is_doubtful()
    died(deaths, BrowserCrashedError, "last")
    assert deaths.is_doubtful()
    deaths.forgive()
    assert not deaths.is_doubtful()
    died(deaths, BrowserCrashedError, *["one"] * CRASHES)
    died(deaths, PageCrashedError, "other")
    assert not deaths.is_doubtful(), "a page that ends alone shows that the browser does not"


def test_what_is_known_of_sites_is_bounded() -> None:
    deaths = BrowserDeaths()
    died(deaths, PageCrashedError, *["first"] * BARRED_FROM, *map(str, range(MAX_SITES)))
    assert not deaths.is_barred("first")
