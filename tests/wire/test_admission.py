"""Who is asked before a request goes to an address."""

import asyncio
from pathlib import Path

import pytest

from aahcrawler.wire.client import RefusedAddressError, Timeouts, WireRequest, WireTimeoutError
from aahcrawler.wire.ip_policy import IpPolicy
from tests.wire.serving import answering, client, serving

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


class BusyError(Exception):
    pass


class Porter:
    def __init__(self, seconds: float = 0.0, *refused: str) -> None:
        self.seconds = seconds
        self.refused = refused
        self.asked: list[tuple[str, int]] = []

    async def enter(self, address: str, port: int) -> None:
        self.asked.append((address, port))
        await asyncio.sleep(self.seconds)
        if address in self.refused:
            raise BusyError


def test_it_is_asked_before_each_connection_and_before_one_is_used_again(tmp_path: Path) -> None:
    async def run() -> None:
        porter = Porter()
        async with serving(answering(OK)) as server, client(tmp_path) as wire:
            for _ in range(2):
                answer = await wire.fetch(WireRequest(server.url(), admission=porter))
                answer.exchange.close()
            assert server.connections == 1
            assert porter.asked == [("127.0.0.1", server.port)] * 2

    asyncio.run(run())


def test_what_it_raises_ends_the_fetch_before_anything_is_sent(tmp_path: Path) -> None:
    async def run() -> None:
        async with serving(answering(OK)) as server, client(tmp_path) as wire:
            with pytest.raises(BusyError):
                await wire.fetch(WireRequest(server.url(), admission=Porter(0, "127.0.0.1")))
            assert (server.connections, server.requests) == (0, [])
            (await wire.fetch(WireRequest(server.url()))).exchange.close()
            with pytest.raises(BusyError):
                await wire.fetch(WireRequest(server.url(), admission=Porter(0, "127.0.0.1")))
            (await wire.fetch(WireRequest(server.url()))).exchange.close()
            assert (server.connections, len(server.requests)) == (1, 2)

    asyncio.run(run())


def test_waiting_for_it_counts_against_no_timeout(tmp_path: Path) -> None:
    async def run() -> None:
        patience = Timeouts(connect=3, total=3)
        async with serving(answering(OK)) as server, client(tmp_path, timeouts=patience) as wire:
            for _ in range(2):
                answer = await wire.fetch(WireRequest(server.url(), admission=Porter(3.2)))
                assert answer.elapsed < 3.2
                answer.exchange.close()

    asyncio.run(run())


def test_refused_addresses_are_not_asked_about(tmp_path: Path) -> None:
    async def run() -> None:
        porter = Porter()
        async with client(tmp_path, addresses=IpPolicy()) as wire:
            with pytest.raises(RefusedAddressError):
                await wire.fetch(WireRequest("http://127.0.0.1:1/", admission=porter))
        assert porter.asked == []

    asyncio.run(run())


def test_a_server_that_does_not_answer_is_still_given_up(tmp_path: Path) -> None:
    async def silent(_: object, reader: asyncio.StreamReader, __: asyncio.StreamWriter) -> None:
        await reader.read()

    async def run() -> None:
        async with serving(silent) as server, client(tmp_path, timeouts=Timeouts(total=1)) as wire:
            with pytest.raises(WireTimeoutError):
                await wire.fetch(WireRequest(server.url(), admission=Porter(0.2)))

    asyncio.run(run())
