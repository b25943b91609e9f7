"""Which addresses are connected to, and which never are."""

import asyncio
import ipaddress
import socket
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aahcrawler.wire.client import RefusedAddressError, ResolveError, WireReason, WireRequest
from aahcrawler.wire.ip_policy import IpPolicy, Resolver
from tests.wire.serving import OPEN, answering, client, serving

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
CLOSED = IpPolicy()

REFUSED = [
    "0.0.0.0",  # noqa: S104
    "10.1.2.3",
    "100.64.0.1",
    "100.127.255.255",
    "127.0.0.1",
    "127.9.9.9",
    "169.254.169.254",
    "172.16.0.1",
    "172.31.255.255",
    "192.0.2.1",
    "192.168.1.1",
    "198.18.0.1",
    "224.0.0.1",
    "239.255.255.250",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::127.0.0.1",
    "::ffff:10.0.0.1",
    "::ffff:127.0.0.1",
    "::ffff:100.64.0.1",
    "64:ff9b::10.0.0.1",
    "64:ff9b::7f00:1",
    "64:ff9b:1::1",
    "2001:db8::1",
    "2001:0:7f00:1::1",  # Teredo with a server on loopback
    "2001:0:808:808::f5ff:fffe",  # Teredo with a client in 10/8
    "2002:7f00:1::1",
    "2002:a00:1::1",
    "2002:c0a8:101::",
    "fc00::1",
    "fd12:3456::1",
    "fe80::1",
    "fe80::1%lo",
    "fec0::1",
    "ff02::1",
]
ALLOWED = [
    "1.1.1.1",
    "8.8.8.8",
    "172.32.0.1",
    "100.128.0.1",
    "192.169.0.1",
    "2606:4700::1111",
    "2a00:1450:4001::1",
    "64:ff9b::8.8.8.8",
    "2002:808:808::1",
    "::ffff:8.8.8.8",
]


@pytest.mark.parametrize("address", REFUSED)
def test_addresses_that_are_not_public(address: str) -> None:
    assert CLOSED.refusal(address) is not None
    assert OPEN.refusal(address) is None


@pytest.mark.parametrize("address", ALLOWED)
def test_public_addresses(address: str) -> None:
    assert CLOSED.refusal(address) is None


@given(st.ip_addresses(v=4))
def test_no_wrapping_hides_an_address(address: ipaddress.IPv4Address) -> None:
    number = int(address)
    wrapped = [
        f"::ffff:{address}",
        f"64:ff9b::{address}",
        str(ipaddress.IPv6Address((0x2002 << 112) | (number << 80))),
    ]
    plain = CLOSED.refusal(str(address)) is None
    assert [CLOSED.refusal(form) is None for form in wrapped] == [plain] * 3


def test_networks_open_no_more_than_themselves() -> None:
    policy = IpPolicy((ipaddress.ip_network("10.1.0.0/16"), ipaddress.ip_network("fd00:1::/32")))
    assert policy.refusal("10.1.2.3") is None
    assert policy.refusal("::ffff:10.1.2.3") is None
    assert policy.refusal("fd00:1::5") is None
    assert policy.refusal("10.2.0.1") is not None
    assert policy.refusal("127.0.0.1") is not None
    assert policy.refusal("fd00:2::5") is not None


@pytest.mark.parametrize("target", ["forum.test", "", "127.0.0.1:", "127.0.0.1:x", "127.0.0.1:70000", "[::1", "1.2.3"])
def test_mapping_that_is_no_address(target: str) -> None:
    with pytest.raises(ValueError, match=r"blog\.test"):
        IpPolicy(resolve={"blog.test": target})


def test_mappings_replace_the_port_where_they_have_one() -> None:
    policy = IpPolicy(resolve={"a.test": "192.0.2.1", "b.test": "192.0.2.1:81", "c.test": "::1", "d.test": "[::1]:82"})
    found = {host: policy.mapped(f"{host}.test", 80) for host in "abcde"}
    assert {host: candidate and candidate.sockaddr for host, candidate in found.items()} == {
        "a": ("192.0.2.1", 80),
        "b": ("192.0.2.1", 81),
        "c": ("::1", 80, 0, 0),
        "d": ("::1", 82, 0, 0),
        "e": None,
    }


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "localhost", "forum.test", "2130706433", "0x7f.1", "[::1]", "[::ffff:7f00:1]"]
)
def test_private_addresses_are_refused_before_connecting(tmp_path: Path, host: str) -> None:
    async def run() -> None:
        async with serving(answering(OK)) as server:
            policy = IpPolicy(resolve={"forum.test": "127.0.0.1"})
            async with client(tmp_path, addresses=policy) as wire:
                with pytest.raises(RefusedAddressError, match=r"loopback") as caught:
                    await wire.fetch(WireRequest(server.url(host=host)))
            assert not caught.value.retryable
            assert caught.value.reason is WireReason.ADDRESS
            assert server.connections == 0

    asyncio.run(run())


def test_redirect_to_a_private_address_is_a_request_of_its_own(tmp_path: Path) -> None:
    async def run() -> None:
        async with serving(answering(OK)) as inside:
            location = inside.url(host="127.0.0.2").encode()
            redirect = b"HTTP/1.1 302 Found\r\nLocation: " + location + b"\r\nContent-Length: 0\r\n\r\n"
            async with serving(answering(redirect)) as outside:
                policy = IpPolicy((ipaddress.ip_network("127.0.0.1/32"),))
                async with client(tmp_path, addresses=policy) as wire:
                    answer = await wire.fetch(WireRequest(outside.url()))
                    answer.exchange.close()
                    with pytest.raises(RefusedAddressError):
                        await wire.fetch(WireRequest(dict(answer.headers)["Location"]))
            assert inside.connections == 0

    asyncio.run(run())


def test_address_is_judged_again_when_connected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A resolver that lets a private address through does not help: the connected socket is judged as well."""

    async def run() -> None:
        async with serving(answering(OK)) as server:
            candidates = await Resolver(OPEN, 60).candidates("127.0.0.1", server.port)

            async def careless(*_: object) -> tuple[Any, ...]:
                return candidates

            monkeypatch.setattr(Resolver, "candidates", careless)
            async with client(tmp_path, addresses=CLOSED) as wire:
                with pytest.raises(RefusedAddressError, match="connected"):
                    await wire.fetch(WireRequest(server.url()))
            assert server.requests == []

    asyncio.run(run())


def test_hosts_share_a_server_by_mapping(tmp_path: Path) -> None:
    async def run() -> None:
        async with serving(answering(OK)) as server:
            address = f"127.0.0.1:{server.port}"
            policy = IpPolicy(True, {"forum.test": address, "blog.test": address})
            async with client(tmp_path, addresses=policy) as wire:
                for url in ("http://forum.test/a", "http://blog.test/b", "http://forum.test./c"):
                    (await wire.fetch(WireRequest(url))).exchange.close()
            hosts = [request.split(b"\r\n")[1] for request in server.requests]
            assert hosts == [b"Host: forum.test", b"Host: blog.test", b"Host: forum.test."]

    asyncio.run(run())


def test_unknown_names(tmp_path: Path) -> None:
    async def run() -> None:
        async with client(tmp_path) as wire:
            for host in ("no-such-host.invalid", "a" * 64 + ".test", "a..b"):
                with pytest.raises(ResolveError):
                    await wire.fetch(WireRequest(f"http://{host}/"))

    asyncio.run(run())


def test_answers_are_remembered_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def answer(host: str, port: int, *_: object, **__: object) -> list[tuple[Any, ...]]:
        asked.append(host)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("1.1.1.1", port))]

    monkeypatch.setattr(socket, "getaddrinfo", answer)

    async def run() -> None:
        loop, resolver = asyncio.get_running_loop(), Resolver(CLOSED, 3600)
        for later in (0, 3601, 0):
            found = await resolver.candidates("a.test", 80)
            assert [candidate.address for candidate in found] == ["1.1.1.1"]
            monkeypatch.setattr(loop, "time", partial(lambda now, later: now() + later, loop.time, later))
        assert asked == ["a.test", "a.test"]

    asyncio.run(run())


def test_addresses_are_tried_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def answer(_host: str, port: int, *_: object, **__: object) -> list[tuple[Any, ...]]:
        addresses = ("127.0.0.2", "10.0.0.1", "127.0.0.3")  # nobody listens, not allowed, somebody listens
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in addresses]

    async def run() -> None:
        async with serving(answering(OK), host="127.0.0.3") as server:
            monkeypatch.setattr(socket, "getaddrinfo", answer)
            policy = IpPolicy((ipaddress.ip_network("127.0.0.0/8"),))
            async with client(tmp_path, addresses=policy) as wire:
                result = await wire.fetch(WireRequest(server.url(host="a.test")))
                result.exchange.close()
                assert result.exchange.ip_address == "127.0.0.3"

    asyncio.run(run())


def test_ipv6_loopback(tmp_path: Path) -> None:
    with socket.socket(socket.AF_INET6) as probe:
        try:
            probe.bind(("::1", 0))
        except OSError:
            pytest.skip("no IPv6 loopback here")

    async def run() -> None:
        async with serving(answering(OK), host="::1") as server, client(tmp_path) as wire:
            answer = await wire.fetch(WireRequest(server.url(host="[::1]")))
            answer.exchange.close()
            assert answer.exchange.ip_address == "::1"
            assert b"Host: [::1]:%d\r\n" % server.port in server.requests[0]

    asyncio.run(run())
