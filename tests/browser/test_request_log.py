"""A request that reaches the network is matched with what DevTools announces of it, before or after."""

import asyncio
import time
from types import SimpleNamespace
from typing import Any

import pytest

from aahcrawler.browser.visits import bounded_upstream
from aahcrawler.browser.visits.bounded_upstream import RequestLog, RequestPurpose
from aahcrawler.browser.visits.rendered_page import VisitTally
from aahcrawler.browser.visits.visit_targets import VisitTargets

_URL = "https://site.test/inner"
_EVENT = {"request": {"method": "GET", "url": _URL}, "type": "Fetch", "initiator": {"type": "script"}}
_PURPOSE = RequestPurpose("Fetch", "script")


@pytest.fixture(autouse=True)
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounded_upstream, "_PATIENCE", 0.01)


def test_a_busy_target_may_announce_late_but_one_that_has_answered_will_not() -> None:
    async def run() -> None:
        log = RequestLog(10)
        assert await log.purpose("GET", _URL) is None

        async def busy() -> None:
            await asyncio.sleep(0.1)
            log.announce(_EVENT)
            await asyncio.sleep(60)

        log.all_announced = busy
        assert await log.purpose("GET", _URL) == _PURPOSE

        async def answers() -> None:
            log.announce(_EVENT)  # Both arrive at once.

        log.all_announced = answers
        assert await log.purpose("GET", _URL) == _PURPOSE

    asyncio.run(run())


def test_a_target_that_never_answers_is_not_waited_for_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> None:
        monkeypatch.setattr(bounded_upstream, "_BUSY_PATIENCE", 0.1)
        log = RequestLog(10)
        forever = asyncio.Event()
        log.all_announced = forever.wait
        begun = time.monotonic()
        assert await log.purpose("GET", _URL) is None
        assert time.monotonic() - begun < 30
        log.announce(_EVENT)
        assert await log.purpose("GET", _URL) == _PURPOSE
        assert await log.purpose("GET", _URL) is None

    asyncio.run(run())


def test_no_request_waits_for_what_a_stopped_visit_would_announce(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounded_upstream, "_PATIENCE", 3600.0)

    async def run() -> None:
        log = RequestLog(10)
        waiting = asyncio.ensure_future(log.purpose("GET", _URL))
        await asyncio.sleep(0)
        log.end()
        assert await waiting is None
        assert await log.purpose("GET", _URL) is None

    asyncio.run(run())


def test_a_page_that_never_answers_leaves_no_command_pending(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounded_upstream, "_BUSY_PATIENCE", 0.1)
    asked: list[asyncio.Future[dict[str, Any]]] = []

    def post(method: str, *_: object, **__: object) -> asyncio.Future[dict[str, Any]]:
        answer: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        if method == "Runtime.getIsolateId":
            asked.append(answer)
        return answer

    async def run() -> None:
        log = RequestLog(10)
        silent: Any = SimpleNamespace(post=post, listen=lambda *_: None)
        setup: Any = SimpleNamespace(of_page=lambda: ())
        targets = VisitTargets(silent, setup, log, VisitTally())
        assert await log.purpose("GET", _URL) is None
        targets.attach({"targetInfo": {"type": "page", "targetId": "1"}, "sessionId": "page"})
        assert await asyncio.gather(*(log.purpose("GET", f"{_URL}/{n}") for n in range(5))) == [None] * 5
        await asyncio.sleep(0)
        assert 0 < len(asked) <= 5
        assert all(each.cancelled() for each in asked)

    asyncio.run(run())
