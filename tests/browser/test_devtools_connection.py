"""What passes between us and a browser, with a pipe in the browser's place."""

import asyncio
import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from aahcrawler.browser.process.devtools_connection import (
    MESSAGE_BYTES,
    PENDING_CALLS,
    BrowserCrashedError,
    DevTools,
    DevToolsError,
)


class _Other:
    """The other ends of the pipes."""

    def __init__(self, reads: int, writes: int) -> None:
        self._reads = os.fdopen(reads, "rb")
        self._writes = os.fdopen(writes, "wb", 0)

    async def asked(self) -> Any:
        def read() -> bytes:
            message = b""
            while not message.endswith(b"\0"):
                message += self._reads.read(1)
            return message[:-1]

        return json.loads(await asyncio.to_thread(read))

    async def say(self, *messages: object) -> None:
        text = b"".join(json.dumps(message, separators=(",", ":")).encode() + b"\0" for message in messages)
        await asyncio.to_thread(self._writes.write, text)

    async def write(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            view = view[await asyncio.to_thread(self._writes.write, view) :]

    def close(self) -> None:
        self._reads.close()
        self._writes.close()


@asynccontextmanager
async def _connected() -> AsyncIterator[tuple[DevTools, _Other]]:
    (their_reads, writes), (reads, their_writes) = os.pipe(), os.pipe()
    devtools, other = await DevTools.over((writes, reads)), _Other(their_reads, their_writes)
    try:
        yield devtools, other
    finally:
        devtools.close()
        other.close()
        await asyncio.sleep(0)


def test_answers_find_their_calls_in_whatever_order_they_come() -> None:
    async def run() -> None:
        async with _connected() as (devtools, other):
            first = devtools.post("Page.enable", session="S")
            second = devtools.post("Browser.getVersion")
            assert await other.asked() == {"id": 1, "method": "Page.enable", "params": {}, "sessionId": "S"}
            assert await other.asked() == {"id": 2, "method": "Browser.getVersion", "params": {}}
            await other.say({"id": 2, "result": {"product": "\ud800"}}, {"id": 1, "error": {"message": "no such page"}})
            assert await second == {"product": "\ud800"}
            with pytest.raises(DevToolsError, match="no such page"):
                await first

    asyncio.run(run())


def test_events_come_to_who_listens_in_their_session_and_a_callback_that_fails_harms_nobody() -> None:
    async def run() -> None:
        told: list[str] = []
        faults: list[str] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, context: faults.append(context["message"]))
        async with _connected() as (devtools, other):
            devtools.listen("A", "Page.loadEventFired", lambda params: told.append(f"A {params['n']}"))
            devtools.listen("B", "Page.loadEventFired", lambda params: told.append(f"B {params['m']}"))
            event = {"method": "Page.loadEventFired", "params": {"n": 1}}
            await other.say(event | {"sessionId": "B"}, event | {"sessionId": "A"}, event, {"method": "Log.cleared"})
            waiting = devtools.post("Page.enable", session="A")
            await other.say({"method": "Target.detachedFromTarget", "params": {"sessionId": "A"}})
            with pytest.raises(DevToolsError, match="has gone"):
                await waiting
            await other.say(event | {"sessionId": "A"}, {"id": 99, "result": {}})
        assert told == ["A 1"]
        assert faults == ["A listener to Page.loadEventFired failed"]

    asyncio.run(run())


def test_a_message_beyond_the_bound_costs_its_call_and_nothing_else() -> None:
    async def run() -> None:
        async with _connected() as (devtools, other):
            long, short = devtools.post("DOM.getOuterHTML"), devtools.post("Page.enable")
            await other.write(b'{"id":1,"result":{"outerHTML":"')
            for _ in range(MESSAGE_BYTES // 2**20):
                await other.write(b"a" * 2**20)
            await other.write(b'"}}\0')
            await other.say({"id": 2, "result": {}})
            with pytest.raises(DevToolsError, match="longer than"):
                await long
            assert await short == {}

    asyncio.run(run())


@pytest.mark.parametrize("how", ["the browser ends", "it talks nonsense", "we close"])
def test_calls_fail_when_the_connection_ends(how: str) -> None:
    async def run() -> None:
        async with _connected() as (devtools, other):
            waiting = devtools.post("Page.enable")
            if how == "the browser ends":
                other.close()
            elif how == "it talks nonsense":
                await other.write(b"{'id'\0")
            else:
                devtools.close()
            async with asyncio.timeout(60):
                await devtools.ended()
            with pytest.raises(BrowserCrashedError):
                await waiting
            with pytest.raises(BrowserCrashedError):
                await devtools.call("Page.enable")
            assert devtools.closed

    asyncio.run(run())


@pytest.mark.slow
def test_a_browser_that_answers_nothing_is_not_asked_without_end() -> None:
    async def run() -> None:
        async with _connected() as (devtools, _):
            calls = [devtools.post("Page.enable") for _ in range(PENDING_CALLS)]
            with pytest.raises(DevToolsError, match="too many"):
                await devtools.call("Page.enable")
            for call in calls:
                call.cancel()
            await asyncio.sleep(0)
            devtools.post("Page.enable")

    asyncio.run(run())
