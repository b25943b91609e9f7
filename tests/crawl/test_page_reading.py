"""Pages are read without holding up the loop, and the same wherever they are read."""

import asyncio
import os
import signal
import threading
from collections.abc import Callable
from typing import TypeVar

import pytest

from aahcrawler.crawl.core import page_reading
from aahcrawler.crawl.core.page_reading import Bounds, LoopGuard, LoopHeldError, PageReading, WorkEndedError
from aahcrawler.crawl.lease.lease_source import StoppedError
from aahcrawler.helper import ApplicationAwareHelper
from aahcrawler.helper.links.page_links import is_long
from aahcrawler.page import Page
from benchmarks.hostile.shapes import page_of
from tests.helper.saved_pages import html_page
from tests.shipped import shipped

pytestmark = pytest.mark.starts

T = TypeVar("T")
SHORT = html_page("http://a.test/", "<p>harbour")


def long_page(size: int = 300_000) -> Page:
    return html_page("http://a.test/", page_of("links in paragraphs", size).decode())


def read(page: Page, work: Callable[[Page], T], **options: Bounds | LoopGuard) -> T:
    async def reading() -> T:
        return await PageReading(asyncio.Event(), **options).of(page, work)  # type: ignore[arg-type]

    return asyncio.run(reading())


def spin(_: Page) -> None:
    while True:
        pass


def process(_: Page) -> int:
    return os.getpid()


def test_short_pages_are_read_in_this_process_and_long_ones_are_not() -> None:
    assert read(SHORT, process) == os.getpid()
    assert read(long_page(), process) != os.getpid()


def test_what_takes_long_on_a_short_page_is_begun_anew_elsewhere() -> None:
    here = os.getpid()

    def work(page: Page) -> str:
        if os.getpid() == here:
            spin(page)
        return "elsewhere"

    assert read(SHORT, work, guard=LoopGuard(0.1)) == "elsewhere"


def test_a_page_is_given_up_when_the_clock_strikes() -> None:
    with pytest.raises(WorkEndedError, match="processor time"):
        read(SHORT, spin, guard=LoopGuard(0.1), bounds=Bounds(processor=1))


def test_a_page_is_read_the_same_wherever_it_is_read() -> None:
    page = long_page()

    def outlinks(page: Page) -> tuple[object, ...]:
        found = ApplicationAwareHelper(shipped()).assist(page)
        return found.document, found.objects, found.failed_actions, found.requisites

    assert is_long(page)
    assert read(page, outlinks) == outlinks(html_page(page.url, page.body.decode()))


def test_the_application_of_a_page_is_that_of_this_process() -> None:
    known = shipped()

    async def reading() -> object:
        application = known.applications[0]
        shared = known.applications
        return await PageReading(asyncio.Event()).of(long_page(), lambda _: application, shared)

    assert asyncio.run(reading()) is known.applications[0]


def test_a_crawl_that_ends_waits_no_longer_than_its_grace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_reading, "GRACE", 0.1)

    async def reading() -> None:
        ending = asyncio.Event()
        task = asyncio.ensure_future(PageReading(ending).of(long_page(), spin))
        asyncio.get_running_loop().call_later(0.1, ending.set)
        await task

    with pytest.raises(StoppedError):
        asyncio.run(reading())


def test_the_loop_runs_on_while_a_long_page_is_read() -> None:
    async def reading() -> int:
        beats, ending = 0, asyncio.Event()
        task = asyncio.ensure_future(PageReading(ending, Bounds(processor=1)).of(long_page(), spin))
        while not task.done():
            await asyncio.sleep(0.01)
            beats += 1
        assert isinstance(task.exception(), WorkEndedError)
        return beats

    assert asyncio.run(reading()) > 5


def test_a_guard_leaves_no_timer_behind() -> None:
    before = signal.getsignal(signal.SIGVTALRM)
    guard = LoopGuard(0.05)
    assert guard.within(lambda: 7) == 7
    with pytest.raises(LoopHeldError):
        guard.within(lambda: spin(SHORT))
    assert signal.getitimer(signal.ITIMER_VIRTUAL) == (0.0, 0.0)
    assert signal.getsignal(signal.SIGVTALRM) is before


def test_who_swallows_the_guard_is_told_once_more() -> None:
    told: list[LoopHeldError] = []

    def stubborn() -> None:
        while len(told) < 2:
            try:
                spin(SHORT)
            except LoopHeldError as error:
                told.append(error)

    LoopGuard(0.05).within(stubborn)
    assert len(told) == 2


def test_a_guard_does_the_work_of_other_threads_as_it_is() -> None:
    done: list[int] = []
    thread = threading.Thread(target=lambda: done.append(LoopGuard(0.05).within(lambda: 7)))
    thread.start()
    thread.join()
    assert done == [7]


def test_what_a_page_teaches_elsewhere_is_told_here_once() -> None:
    taught: list[int] = []

    async def reading(page: Page) -> int:
        return await PageReading(asyncio.Event()).of(page, process, (), taught.append)

    assert asyncio.run(reading(SHORT)) == os.getpid()
    assert not taught
    assert [asyncio.run(reading(long_page()))] == taught
