"""What a browser asks through the proxy, and what it gets: the answer as it was, in a framing that holds."""

import asyncio
import socket
import ssl
import tracemalloc
from base64 import b64encode
from hashlib import sha256

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from aahcrawler.browser.network import recording_proxy
from aahcrawler.browser.network.browser_response import FAILED, ProxyBounds
from aahcrawler.browser.network.recording_proxy import ProxyKey, RecordingProxy
from aahcrawler.browser.network.upstream import BrowserRequest, RequestRefusedError
from aahcrawler.wire.relay import Relay
from tests.browser.proxied import KEY, Client, Scripted, proxied, until

MEBIBYTE = 1 << 20


async def fine(_: BrowserRequest, relay: Relay) -> None:
    relay.begin(200, "Fine", [("X-Case", "1"), ("x-case", "2"), ("Content-Length", "4"), ("Set-Cookie", "a=b")])
    relay.take(b"fi")
    relay.take(b"ne")


async def stream(_: BrowserRequest, relay: Relay) -> None:
    relay.begin(200, "OK", [])
    while True:
        relay.take(b"tick")
        await asyncio.sleep(0.02)


def test_a_request_reaches_the_upstream_as_the_page_made_it_and_its_answer_the_page_as_it_was() -> None:
    async def run() -> None:
        async with proxied(fine) as running:
            client = await running.connect()
            for _ in range(2):
                head, body = await client.ask(
                    "http://Site.test:8080/a%20b?q=/x#",
                    host="site.test:8080",
                    rest=b"proxy-connection: keep-alive\r\nX-B: 1\r\nx-a: \xe9\r\nTE: trailers\r\nCookie: c=d\r\n\r\n",
                )
                assert head == (
                    b"HTTP/1.1 200 Fine\r\nX-Case: 1\r\nx-case: 2\r\nContent-Length: 4\r\nSet-Cookie: a=b\r\n\r\n"
                )
                assert body == b"fine"
            assert running.asked == 2 * [
                BrowserRequest(
                    "http://site.test:8080/a%20b?q=/x",
                    "GET",
                    (("Host", "site.test:8080"), ("X-B", "1"), ("x-a", "\xe9"), ("Cookie", "c=d")),
                )
            ]
            assert (running.served.requests, running.served.counts) == (2, {})

    asyncio.run(run())


def test_tls_ends_at_the_proxy_by_its_key_with_the_name_of_the_host() -> None:
    async def run() -> None:
        async with proxied(fine) as running:
            for authority, url in (
                ("site.test:443", "https://site.test/x"),
                ("site.test:444", "https://site.test:444/x"),
                ("[::1]:443", "https://[::1]/x"),
            ):
                client = await running.connect()
                await client.dig(authority)
                tls = client.writer.get_extra_info("ssl_object")
                certificate = x509.load_der_x509_certificate(tls.getpeercert(binary_form=True))
                public = certificate.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
                assert b64encode(sha256(public).digest()).decode() == KEY.spki_hash
                names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
                assert authority.rpartition(":")[0].strip("[]") in [str(name.value) for name in names]
                assert tls.selected_alpn_protocol() == "http/1.1"
                for _ in range(2):
                    assert (await client.ask("/x", host=authority))[1] == b"fine"
                assert running.asked[-1].url == url

    asyncio.run(run())


@pytest.mark.parametrize(
    ("method", "status", "headers", "framing"),
    [
        ("GET", 200, [], b"Transfer-Encoding: chunked\r\n"),
        ("GET", 200, [("transfer-encoding", "chunked"), ("Content-Length", "9")], b"Transfer-Encoding: chunked\r\n"),
        ("GET", 200, [("Content-Length", "4"), ("content-length", "5")], b"Transfer-Encoding: chunked\r\n"),
        ("GET", 404, [("content-length", "4")], b"content-length: 4\r\n"),
        ("HEAD", 200, [("Content-Length", "77")], b"Content-Length: 77\r\n"),
        ("GET", 304, [("Content-Length", "77")], b"Content-Length: 77\r\n"),
        ("GET", 204, [], b""),
    ],
)
def test_each_body_has_a_framing_after_which_the_next_answer_is_found(
    method: str, status: int, headers: list[tuple[str, str]], framing: bytes
) -> None:
    async def answering(_: BrowserRequest, relay: Relay) -> None:
        relay.begin(status, "", [("Connection", "close"), *headers, ("Keep-Alive", "x"), ("Upgrade", "h2c")])
        relay.take(b"fi")
        relay.take(b"")
        relay.take(b"ne")

    async def run() -> None:
        async with proxied(answering) as running:
            client = await running.connect()
            for _ in range(3):
                head, body = await client.ask("http://site.test/", method=method)
                assert head == b"HTTP/1.1 %d \r\n%b\r\n" % (status, framing)
                assert body == (b"" if method == "HEAD" or status in {204, 304} else b"fine")

    asyncio.run(run())


def test_bodies_of_requests_come_whole_however_they_are_sent() -> None:
    async def run() -> None:
        async with proxied(fine) as running:
            client = await running.connect()
            chunks = b"4\r\nonce\r\n7;x\r\n upon a\r\n0\r\n\r\n"
            await client.ask("http://a.test/1", method="POST", rest=b"Content-Length: 4\r\n\r\nonce")
            await client.ask("http://a.test/2", method="PUT", rest=b"Transfer-Encoding: chunked\r\n\r\n" + chunks)
            assert [(asked.method, asked.body) for asked in running.asked] == [
                ("POST", b"once"),
                ("PUT", b"once upon a"),
            ]
            assert "transfer-encoding" not in {name.lower() for name, _ in running.asked[1].headers}

    asyncio.run(run())


def test_a_page_reads_the_pieces_of_a_stream_while_it_runs_and_hanging_up_is_told_upstream() -> None:
    given_up = []

    async def streaming(request: BrowserRequest, relay: Relay) -> None:
        try:
            await stream(request, relay)
        except asyncio.CancelledError:
            given_up.append(request.url)
            raise

    async def run() -> None:
        async with proxied(streaming) as running:
            client = await running.connect()
            await client.tell(b"GET http://site.test/events HTTP/1.1\r\nHost: site.test\r\n\r\n")
            await client.reader.readuntil(b"4\r\ntick\r\n4\r\ntick\r\n")
            assert not given_up
            client.writer.close()
            await until(lambda: given_up)
            assert running.served.counts == {"given up": 1}

    asyncio.run(run())


BROKEN: dict[str, tuple[list[tuple[int, list[tuple[str, str]]]], bytes, str]] = {
    "refused": ([], b"", "robots"),
    "silent": ([], b"", ""),
    "proxy-login": ([(407, [("Content-Length", "0")])], b"", ""),
    "interim": ([(103, [])], b"", ""),
    "short": ([(200, [("Content-Length", "10")])], b"five5", ""),
    "twice": ([(200, []), (200, [])], b"", ""),
    "cut": ([(200, [])], b"five5", "length"),
}
"""The heads that are relayed, the body, and the reason why the upstream then refuses."""


def test_what_is_not_answered_is_a_network_error_and_what_breaks_off_is_broken_off() -> None:
    async def answering(request: BrowserRequest, relay: Relay) -> None:
        heads, body, reason = BROKEN[request.url.rpartition("/")[2]]
        for status, headers in heads:
            relay.begin(status, "OK", headers)
        relay.take(body)
        if reason:
            raise RequestRefusedError(reason)

    async def run() -> dict[str, bytes]:
        got = {}
        async with proxied(answering) as running:
            for name in BROKEN:
                client = await running.connect()
                await client.tell(b"GET http://site.test/%b HTTP/1.1\r\nHost: site.test\r\n\r\n" % name.encode())
                got[name] = await client.rest()
            assert running.served.counts == {
                "robots": 1,
                "no answer": 1,
                "proxy login": 1,
                "protocol": 2,
                "cut off": 1,
                "length": 1,
            }
        return got

    got = asyncio.run(run())
    assert [got[name] for name in ("refused", "silent", "proxy-login", "interim")] == [FAILED] * 4
    assert got["short"].endswith(b"\r\n\r\nfive5")
    assert got["cut"].endswith(b"\r\n\r\n5\r\nfive5\r\n")
    assert got["twice"] == b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


def test_an_error_of_the_upstream_is_logged_and_counted_and_the_next_request_is_answered(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def answering(request: BrowserRequest, relay: Relay) -> None:
        if request.url.endswith("bad"):
            raise ZeroDivisionError
        await fine(request, relay)

    async def run() -> None:
        async with proxied(answering) as running:
            await (bad := await running.connect()).tell(b"GET http://a.test/bad HTTP/1.1\r\nHost: a.test\r\n\r\n")
            assert await bad.rest() == FAILED
            assert (await (await running.connect()).ask("http://a.test/"))[1] == b"fine"
            assert running.served.counts == {"error": 1}

    asyncio.run(run())
    assert "http://a.test/bad" in caplog.text


def test_requests_beyond_the_bound_wait_and_those_given_up_meanwhile_are_not_asked() -> None:
    running_at_once: list[int] = [0, 0]
    proceed = asyncio.Event()

    async def answering(request: BrowserRequest, relay: Relay) -> None:
        running_at_once[0] += 1
        running_at_once[1] = max(running_at_once)
        await proceed.wait()
        running_at_once[0] -= 1
        await fine(request, relay)

    async def run() -> None:
        async with proxied(answering, ProxyBounds(requests=2)) as running:
            clients = [await running.connect() for _ in range(6)]
            for number, client in enumerate(clients):
                await client.tell(b"GET http://a.test/%d HTTP/1.1\r\nHost: a.test\r\n\r\n" % number)
                await asyncio.sleep(0.01)
            await until(lambda: len(running.asked) == 2)
            clients[3].writer.transport.abort()
            await asyncio.sleep(0.05)
            proceed.set()
            for client in clients[:3] + clients[4:]:
                assert (await client.answer())[1] == b"fine"
            assert sorted(asked.url[-1] for asked in running.asked) == ["0", "1", "2", "4", "5"]
            assert running_at_once[1] == 2

    asyncio.run(run())


def test_a_slow_browser_holds_nobody_up_and_gets_all_in_order_in_little_memory() -> None:
    size = 24 * MEBIBYTE
    done = asyncio.Event()

    async def large(_: BrowserRequest, relay: Relay) -> None:
        relay.begin(200, "OK", [("Content-Length", str(size))])
        for number in range(size // 65_536):
            relay.take(number.to_bytes(4, "big") * 16_384)
        done.set()

    async def run() -> None:
        async with proxied(large) as running:
            client = await running.connect()
            tracemalloc.start()
            await client.tell(b"GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\n\r\n")
            await done.wait()
            _, peak = tracemalloc.get_traced_memory()
            tracemalloc.stop()
            assert peak < 4 * MEBIBYTE
            _, body = await client.answer()
            assert body == b"".join(number.to_bytes(4, "big") * 16_384 for number in range(size // 65_536))

    asyncio.run(run())


def test_who_reads_far_too_slowly_is_cut_off() -> None:
    async def endless(_: BrowserRequest, relay: Relay) -> None:
        relay.begin(200, "OK", [])
        while True:
            relay.take(bytes(MEBIBYTE))
            await asyncio.sleep(0)

    async def run() -> None:
        async with proxied(endless, ProxyBounds(file_bytes=20 * MEBIBYTE)) as running:
            client = await running.connect()
            await client.tell(b"GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\n\r\n")
            await asyncio.sleep(0.5)
            got = await client.rest()
            assert not got.endswith(b"0\r\n\r\n")
            await until(lambda: running.served.counts == {"slow browser": 1})

    asyncio.run(run())


def test_nothing_is_answered_before_and_after_a_visit_whose_connections_end_with_it() -> None:
    async def run() -> None:
        listener = socket.create_server(("127.0.0.1", 0))
        proxy, upstream = RecordingProxy(listener, KEY), Scripted(stream)
        await proxy.open()
        asked = b"GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\n\r\n"

        async def connect() -> Client:
            return Client(*await asyncio.open_connection(*listener.getsockname()))

        early = await connect()
        assert await early.rest() == b""
        async with proxy.serving(upstream) as served:
            idle, busy = await connect(), await connect()
            await busy.tell(asked)
            await busy.reader.readuntil(b"tick")
            with pytest.raises(RuntimeError):
                async with proxy.serving(upstream):
                    pass
        assert not (await busy.rest()).endswith(b"0\r\n\r\n")
        assert await idle.rest() == b""
        late = await connect()
        assert await late.rest() == b""
        assert served.counts == {"given up": 1}
        async with proxy.serving(Scripted(fine)):
            again = await connect()
            assert (await again.ask("http://a.test/"))[1] == b"fine"
        for client in (early, idle, busy, late, again):
            client.writer.transport.abort()
        await proxy.close()

    asyncio.run(run())


def test_others_than_the_browser_and_too_many_connections_are_closed() -> None:
    async def run() -> None:
        ours: set[int] = set()
        async with proxied(fine, ProxyBounds(connections=2), accepts=lambda peer: peer[1] in ours) as running:
            foreign = await running.connect()
            assert await foreign.rest() == b""
            async with asyncio.timeout(60):
                clients = []
                for _ in range(3):
                    with socket.socket() as place:
                        place.bind(("127.0.0.1", 0))
                        own = place.getsockname()
                    ours.add(own[1])
                    clients.append(Client(*await asyncio.open_connection("127.0.0.1", running.port, local_addr=own)))
                assert await clients[2].rest() == b""
                for client in clients[:2]:
                    assert (await client.ask("http://a.test/"))[1] == b"fine"
            for client in clients:
                client.writer.transport.abort()
            assert running.served.counts == {"foreign connection": 1, "connections": 1}

    asyncio.run(run())


@pytest.mark.slow
def test_keys_keep_the_contexts_of_so_many_hosts(monkeypatch: pytest.MonkeyPatch) -> None:
    hosts = 8
    monkeypatch.setattr(recording_proxy, "HOSTS", hosts)
    key = ProxyKey.new()
    first = key.context("first.test")
    assert isinstance(first, ssl.SSLContext)
    assert key.context("first.test") is first
    for number in range(hosts - 1):
        key.context(f"{number}.test")
    assert key.context("first.test") is first
    for number in range(hosts):
        key.context(f"other{number}.test")
    assert key.context("first.test") is not first
    assert ProxyKey.new().spki_hash != key.spki_hash
