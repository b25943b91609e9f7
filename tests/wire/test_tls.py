"""HTTPS: the bytes after decryption, and certificates that do or do not verify."""

import asyncio
import ssl
from pathlib import Path

import pytest

from aahcrawler.wire.client import ConnectError, IpPolicy, TlsError, WireError, WireReason, WireRequest
from aahcrawler.wire.settings import Route, Routes, Tls
from tests.wire.certificates import self_signed
from tests.wire.serving import Server, answering, client, serving

ACCEPTING = Routes(Route(tls=Tls(accepts_invalid=True)))
OK = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n"


def trusting(certificate: Path) -> Routes:
    return Routes(Route(tls=Tls(ca_file=certificate)))


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return self_signed(tmp_path_factory.mktemp("tls") / "secure.pem")


@pytest.fixture
def server_context(certificate: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    return context


def test_decrypted_bytes_are_kept_and_connections_too(
    tmp_path: Path, certificate: Path, server_context: ssl.SSLContext
) -> None:
    async def run() -> None:
        async with serving(answering(OK), tls=server_context) as server:
            policy = IpPolicy(True, {"secure.test": f"127.0.0.1:{server.port}"})
            async with client(tmp_path, addresses=policy, routes=trusting(certificate)) as wire:
                for _ in range(3):
                    answer = await wire.fetch(WireRequest("https://secure.test/x"))
                    with answer.exchange.response as response:
                        assert response.read() == OK
                    assert answer.exchange.request.startswith(b"GET /x HTTP/1.1\r\nHost: secure.test\r\n")
            assert server.connections == 1

    asyncio.run(run())


def test_certificate_must_verify(tmp_path: Path, server_context: ssl.SSLContext) -> None:
    async def run() -> None:
        async with serving(answering(OK), tls=server_context) as server:
            async with client(tmp_path) as wire:
                with pytest.raises(TlsError, match="certificate") as caught:
                    await wire.fetch(WireRequest(server.url(scheme="https")))
                assert not caught.value.retryable
                assert caught.value.reason is WireReason.TLS
            async with client(tmp_path, routes=ACCEPTING) as wire:
                answer = await wire.fetch(WireRequest(server.url(scheme="https")))
                answer.exchange.close()
                assert answer.payload == b"ok"
                assert answer.exchange.tls_problem == "self-signed certificate"

    asyncio.run(run())


def test_what_verifies_has_no_problem_and_other_hosts_are_refused(
    tmp_path: Path, certificate: Path, server_context: ssl.SSLContext
) -> None:
    async def run() -> None:
        async with serving(answering(OK), tls=server_context) as server:
            at = f"127.0.0.1:{server.port}"
            policy = IpPolicy(True, {"secure.test": at, "www.secure.test": at, "other.test": at})
            own = Route(tls=Tls(accepts_invalid=True, ca_file=certificate))
            routes = Routes(hosts={"secure.test": own})
            async with client(tmp_path, addresses=policy, routes=routes) as wire:
                for host, problem in (("secure.test", ""), ("www.secure.test", "hostname mismatch")):
                    answer = await wire.fetch(WireRequest(f"https://{host}/"))
                    answer.exchange.close()
                    assert answer.exchange.tls_problem == problem
                with pytest.raises(TlsError):
                    await wire.fetch(WireRequest("https://other.test/"))

    asyncio.run(run())


def test_client_shows_its_certificate(tmp_path: Path, certificate: Path) -> None:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=certificate)
    context.load_cert_chain(certificate)
    context.verify_mode = ssl.CERT_REQUIRED
    shown = []

    async def handler(server: Server, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        shown.append(writer.get_extra_info("peercert")["subject"])
        await answering(OK)(server, reader, writer)

    async def run() -> None:
        async with serving(handler, tls=context) as server:
            policy = IpPolicy(True, {"secure.test": f"127.0.0.1:{server.port}"})
            own = Route(tls=Tls(ca_file=certificate, certificate=certificate))
            async with client(tmp_path, addresses=policy, routes=Routes(hosts={"secure.test": own})) as wire:
                answer = await wire.fetch(WireRequest("https://secure.test/"))
                answer.exchange.close()
                assert answer.payload == b"ok"
            async with client(tmp_path, addresses=policy, routes=trusting(certificate)) as wire:
                with pytest.raises(WireError):
                    await wire.fetch(WireRequest("https://secure.test/"))

    asyncio.run(run())
    assert shown == [((("commonName", "secure.test"),),)]


def test_certificate_must_name_the_host(tmp_path: Path, certificate: Path, server_context: ssl.SSLContext) -> None:
    async def run() -> None:
        async with serving(answering(OK), tls=server_context) as server:
            policy = IpPolicy(True, {"other.test": f"127.0.0.1:{server.port}"})
            async with client(tmp_path, addresses=policy, routes=trusting(certificate)) as wire:
                with pytest.raises(TlsError, match=r"other\.test"):
                    await wire.fetch(WireRequest("https://other.test/"))

    asyncio.run(run())


def test_plain_text_where_tls_is_expected(tmp_path: Path) -> None:
    async def handler(_: Server, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(10)
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    async def closing(_: Server, reader: asyncio.StreamReader, __: asyncio.StreamWriter) -> None:
        await reader.read(10_000)

    async def run() -> list[type[WireError]]:
        kinds = []
        for answer in (handler, closing):
            async with serving(answer) as server, client(tmp_path) as wire:
                with pytest.raises((TlsError, ConnectError)) as caught:
                    await wire.fetch(WireRequest(server.url(scheme="https")))
                kinds.append(type(caught.value))
        return kinds

    assert asyncio.run(run()) == [TlsError, ConnectError]


def test_large_body_over_tls_spills(tmp_path: Path, server_context: ssl.SSLContext) -> None:
    body = bytes(range(256)) * 40_000
    raw = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body

    async def run() -> None:
        serve = serving(answering(raw), tls=server_context)
        async with serve as server, client(tmp_path, routes=ACCEPTING) as wire:
            answer = await wire.fetch(WireRequest(server.url(scheme="https"), keep=1000))
            with answer.exchange.response as response:
                assert response.read() == raw
            assert answer.exchange.truncated is None

    asyncio.run(run())


@pytest.mark.parametrize("orderly", [True, False])
def test_end_of_a_body_without_length(tmp_path: Path, server_context: ssl.SSLContext, orderly: bool) -> None:
    """Many servers leave out TLS's closing alert: as for browsers, the body is whole all the same."""

    async def handler(server: Server, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await server.head(reader)
        writer.write(b"HTTP/1.0 200 OK\r\n\r\npart")
        await writer.drain()
        if orderly:
            return
        # Half-closes the TCP connection under the TLS one.
        transport = writer.transport._ssl_protocol._transport  # type: ignore[attr-defined]
        await asyncio.sleep(0.05)
        transport.write_eof()
        await asyncio.sleep(0.2)

    async def run() -> None:
        async with serving(handler, tls=server_context) as server, client(tmp_path, routes=ACCEPTING) as wire:
            answer = await wire.fetch(WireRequest(server.url(scheme="https")))
            answer.exchange.close()
            assert answer.payload == b"part"
            assert answer.exchange.truncated is None

    asyncio.run(run())
