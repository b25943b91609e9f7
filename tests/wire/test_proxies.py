"""Proxies: what passes through them is kept as the site sent it, and their errors are not those of sites."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from aahcrawler.wire.client import (
    ConnectError,
    IpPolicy,
    ProxyError,
    ProxyRefusedError,
    ProxyUnavailableError,
    RefusedAddressError,
    Timeouts,
    WireError,
    WireRequest,
    WireResponse,
    WireTimeoutError,
)
from aahcrawler.wire.settings import Proxy, ProxyKind, Route, Routes
from tests.wire.proxies import RunningProxy, http_proxy, proxying, socks_proxy
from tests.wire.serving import OPEN, Server, answering, client, serving

OK = b"HTTP/1.1 200 OK\r\nX-Case: Kept\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n"
KINDS = [(ProxyKind.HTTP, http_proxy), (ProxyKind.SOCKS5H, socks_proxy)]
CLOSED = IpPolicy()
LOGIN: dict[str, Any] = {"user": "me", "password": "word-of-mine"}


def through(kind: ProxyKind, port: int, **values: Any) -> Routes:
    return Routes(Route(Proxy(kind, "127.0.0.1", port, **values)))


async def fetched(wire: Any, url: str) -> WireResponse:
    answer: WireResponse = await wire.fetch(WireRequest(url))
    with answer.exchange.response as response:
        assert response.read() == OK
    return answer


@pytest.mark.parametrize(("kind", "protocol"), KINDS)
def test_bytes_within_the_tunnel_are_kept_and_names_are_not_resolved(
    tmp_path: Path, kind: ProxyKind, protocol: Callable[..., None]
) -> None:
    async def run(proxy: RunningProxy) -> None:
        async with serving(answering(OK)) as server:
            proxy.hosts = {"site.test": server.port}
            async with client(tmp_path, addresses=CLOSED, routes=through(kind, proxy.port)) as wire:
                for _ in range(2):
                    answer = await fetched(wire, "http://site.test/a?b")
                    assert answer.exchange.request.startswith(b"GET /a?b HTTP/1.1\r\nHost: site.test\r\n")
                    assert answer.exchange.ip_address == ""
                    assert answer.exchange.proxy == f"{kind}://127.0.0.1:{proxy.port}"
            assert proxy.asked == ["site.test:80"]  # The second one came over the same tunnel.

    with proxying(RunningProxy(), protocol) as proxy:
        asyncio.run(run(proxy))


def test_socks5_is_given_addresses_that_were_judged(tmp_path: Path) -> None:
    async def run(proxy: RunningProxy) -> None:
        async with serving(answering(OK)) as server:
            routes = through(ProxyKind.SOCKS5, proxy.port)
            mapped = {"site.test": f"127.0.0.1:{server.port}"}
            async with client(tmp_path, addresses=IpPolicy(True, mapped), routes=routes) as wire:
                answer = await fetched(wire, "http://site.test/")
                assert answer.exchange.ip_address == "127.0.0.1"
            assert proxy.asked == [f"127.0.0.1:{server.port}"]
            async with client(tmp_path, addresses=IpPolicy(False, mapped), routes=routes) as wire:
                with pytest.raises(RefusedAddressError):
                    await wire.fetch(WireRequest("http://site.test/"))

    with proxying(RunningProxy(), socks_proxy) as proxy:
        asyncio.run(run(proxy))


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "10.1.2.3", "[::1]", "[::ffff:10.0.0.1]", "localhost", "a.localhost", "0x7f.1", "2130706433"]
)
def test_private_addresses_and_names_of_this_machine_reach_no_proxy(tmp_path: Path, host: str) -> None:
    async def run(proxy: RunningProxy) -> None:
        async with client(tmp_path, addresses=CLOSED, routes=through(ProxyKind.HTTP, proxy.port)) as wire:
            with pytest.raises(RefusedAddressError):
                await wire.fetch(WireRequest(f"http://{host}/"))

    with proxying(RunningProxy()) as proxy:
        asyncio.run(run(proxy))
        assert proxy.asked == []


@pytest.mark.parametrize(("kind", "protocol"), KINDS)
def test_login_is_sent_to_the_proxy_and_stands_nowhere_else(
    tmp_path: Path, kind: ProxyKind, protocol: Callable[..., None]
) -> None:
    async def run(proxy: RunningProxy) -> None:
        async with serving(answering(OK)) as server:
            proxy.hosts = {"site.test": server.port}
            routes = through(kind, proxy.port, **LOGIN)
            assert "word-of-mine" not in repr(routes)
            async with client(tmp_path, addresses=CLOSED, routes=routes) as wire:
                answer = await fetched(wire, "http://site.test/")
                assert b"roxy" not in answer.exchange.request
                assert b"roxy" not in server.requests[0]
            for wrong in ({}, {"user": "me", "password": "other-word"}):
                async with client(tmp_path, addresses=CLOSED, routes=through(kind, proxy.port, **wrong)) as wire:
                    with pytest.raises(ProxyUnavailableError) as caught:
                        await wire.fetch(WireRequest("http://site.test/"))
                    assert "word" not in str(caught.value).replace("password", "")

    with proxying(RunningProxy(login=("me", "word-of-mine")), protocol) as proxy:
        asyncio.run(run(proxy))


@pytest.mark.parametrize(("kind", "protocol"), KINDS)
def test_refusals_of_the_proxy_and_errors_of_the_site_are_told_apart(
    tmp_path: Path, kind: ProxyKind, protocol: Callable[..., None]
) -> None:
    async def run(proxy: RunningProxy) -> None:
        async with client(tmp_path, addresses=CLOSED, routes=through(kind, proxy.port)) as wire:
            with pytest.raises(ProxyRefusedError) as refused:
                await wire.fetch(WireRequest("http://forbidden.test/"))
            assert not refused.value.retryable
            with pytest.raises(ConnectError, match="could not connect"):
                await wire.fetch(WireRequest("http://gone.test/"))

    with proxying(RunningProxy({"gone.test": 1}, frozenset({"forbidden.test"})), protocol) as proxy:
        asyncio.run(run(proxy))


@pytest.mark.parametrize("kind", list(ProxyKind))
def test_proxy_that_is_not_there(tmp_path: Path, kind: ProxyKind) -> None:
    async def run() -> None:
        routes = through(kind, 1)
        async with client(tmp_path, addresses=IpPolicy(True, {"site.test": "127.0.0.1"}), routes=routes) as wire:
            with pytest.raises(ProxyUnavailableError) as caught:
                await wire.fetch(WireRequest("http://site.test/"))
            assert caught.value.proxy == f"{kind}://127.0.0.1:1"

    asyncio.run(run())


def test_forwarded_requests_name_the_whole_url_and_keep_the_login_out_of_the_archive(tmp_path: Path) -> None:
    async def run(proxy: RunningProxy) -> None:
        async with serving(answering(OK)) as server:
            proxy.hosts = {"site.test": server.port}
            routes = through(ProxyKind.HTTP, proxy.port, **LOGIN, forwards=True)
            async with client(tmp_path, addresses=CLOSED, routes=routes) as wire:
                answer = await fetched(wire, "http://site.test/a?b")
            assert proxy.heads[0].startswith(b"GET http://site.test/a?b HTTP/1.1\r\n")
            assert answer.exchange.request.startswith(b"GET http://site.test/a?b HTTP/1.1\r\nHost: site.test\r\n")
            assert b"Proxy-Authorization" in proxy.heads[0]
            assert b"Proxy-Authorization" not in answer.exchange.request
            async with client(
                tmp_path, addresses=CLOSED, routes=through(ProxyKind.HTTP, proxy.port, forwards=True)
            ) as wire:
                with pytest.raises(ProxyUnavailableError):
                    await wire.fetch(WireRequest("http://site.test/"))

    with proxying(RunningProxy(login=("me", "word-of-mine"))) as proxy:
        asyncio.run(run(proxy))


HOSTILE: dict[str, tuple[ProxyKind, bytes, bool, type[WireError]]] = {
    "an endless head": (ProxyKind.HTTP, b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 100_000, False, ProxyError),
    "no HTTP": (ProxyKind.HTTP, b"SSH-2.0-x\r\n\r\n", False, ProxyError),
    "more than the answer": (ProxyKind.HTTP, b"HTTP/1.1 200 OK\r\n\r\nHTTP/1.1 200 OK\r\n\r\n", False, ProxyError),
    "nothing": (ProxyKind.HTTP, b"", True, ProxyError),
    "half an answer": (ProxyKind.HTTP, b"HTTP/1.1 200 OK\r\n", True, ProxyError),
    "silence": (ProxyKind.HTTP, b"HTTP/1.1 200", False, WireTimeoutError),
    "no SOCKS": (ProxyKind.SOCKS5H, b"HTTP/1.1 400 Bad\r\n\r\n", False, ProxyError),
    "SOCKS that breaks off": (ProxyKind.SOCKS5H, b"\x05\x00\x05", True, ProxyError),
    "an unknown kind of place": (ProxyKind.SOCKS5H, b"\x05\x00\x05\x00\x00\x09" + bytes(30), False, ProxyError),
    "an unknown code": (ProxyKind.SOCKS5H, b"\x05\x00\x05\x63\x00\x01" + bytes(6), False, ConnectError),
    "SOCKS in silence": (ProxyKind.SOCKS5H, b"\x05", False, WireTimeoutError),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_proxies(tmp_path: Path, name: str) -> None:
    kind, said, closes, expected = HOSTILE[name]

    async def handler(_: Server, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(said)
        await writer.drain()
        if not closes:
            await asyncio.sleep(60)

    async def run() -> None:
        async with serving(handler) as server:
            routes, timeouts = through(kind, server.port), Timeouts(connect=1.0)
            async with client(tmp_path, addresses=OPEN, routes=routes, timeouts=timeouts) as wire:
                with pytest.raises(expected):
                    await wire.fetch(WireRequest("http://site.test/"))

    asyncio.run(run())


def test_hosts_have_routes_of_their_own(tmp_path: Path) -> None:
    async def run(proxy: RunningProxy) -> None:
        async with serving(answering(OK)) as server:
            proxy.hosts = {"www.far.test": server.port}
            policy = IpPolicy(True, {"near.test": f"127.0.0.1:{server.port}"})
            routes = Routes(hosts={"far.test": through(ProxyKind.HTTP, proxy.port).general})
            async with client(tmp_path, addresses=policy, routes=routes) as wire:
                assert (await fetched(wire, "http://near.test/")).exchange.proxy == ""
                assert (await fetched(wire, "http://www.far.test/")).exchange.proxy != ""
            assert proxy.asked == ["www.far.test:80"]

    with proxying(RunningProxy()) as proxy:
        asyncio.run(run(proxy))
