"""A network of its own, all packets of which are seen, and a browser within, held by proxy and rules alone.

Run as a module, with a folder: it prints, as JSON, what was asked of the proxy and the packets that were no part of
that. It needs a process of its own, because it leaves the network for good.
"""

import asyncio
import json
import socket
import struct
import sys
from pathlib import Path

from aahcrawler.browser.process import launcher
from tests.browser.process.piped import ATTEMPTS, Proxy, browser

_EVERYTHING = 0x0003
_IPV4 = 0x0800
_IPV6 = 0x86DD
_NEW_ROUTE = 24


def _network() -> socket.socket:
    """Enter a network in which there is a way to every address; return what sees each packet."""
    assert launcher.enter_network_namespace()
    number = next(number for number, name in socket.if_nameindex() if name != "lo")
    main_table, static, link, unicast, outgoing = 254, 4, 253, 1, 4
    route = struct.pack("=8BI", socket.AF_INET, 0, 0, 0, main_table, static, link, unicast, 0)
    route += struct.pack("=HHI", 8, outgoing, number)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE) as asked:
        asked.send(struct.pack("=IHHII", 16 + len(route), _NEW_ROUTE, 0x1 | 0x4 | 0x400, 1, 0) + route)
        assert asked.recv(4096)[16:20] == bytes(4)
    return socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(_EVERYTHING))


def _others(seen: socket.socket, ports: set[int]) -> list[str]:
    """Return the packets that are neither of the proxies' connections nor of the interfaces' own (ICMPv6)."""
    found: list[str] = []
    seen.setblocking(False)
    while True:
        try:
            packet, (interface, kind, *_) = seen.recvfrom(1 << 16)
        except BlockingIOError:
            return found
        frame = packet[14:]
        if kind == _IPV6 and (frame[6] == 58 or frame[6] == 0):
            continue
        if kind == _IPV4 and frame[9] == socket.IPPROTO_TCP and interface == "lo":
            start = (frame[0] & 15) * 4
            if ports & set(struct.unpack("!HH", frame[start : start + 4])):
                continue
        found.append(f"{interface} {kind:#06x} {frame[:40].hex()}")


def _nobody(browser_process: int) -> int:
    """Return the port of the proxy that does not exist: whatever has no context of its own is refused there."""
    command = Path(f"/proc/{browser_process}/cmdline").read_text()
    return int(command.partition("--proxy-server=http://127.0.0.1:")[2].split()[0].strip("\0"))


async def _watch(folder: Path, seen: socket.socket) -> None:
    # That packets are seen at all: this one goes to nobody.
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as own:
        own.sendto(b"?", ("127.0.0.1", 53))
    control = len(_others(seen, set()))
    async with browser(folder, "rules") as piped:
        listener = piped.process.listeners[0]
        proxy = Proxy(piped.process)
        session = await piped.page("http://localhost/", listener)
        tried = await piped.value(session, ATTEMPTS % {"host": "192.0.2.9", "tcp": 4433, "udp": 4434})
        others = _others(seen, {listener.socket.getsockname()[1], _nobody(piped.process.pid)})
    table = Path("/proc/self/net/if_inet6")
    addresses = [line.split()[-1] for line in table.read_text().splitlines()] if table.exists() else []
    print(
        json.dumps({"addresses": addresses, "control": control, "others": others, "asked": proxy.asked, "tried": tried})
    )


if __name__ == "__main__":
    asyncio.run(_watch(Path(sys.argv[1]), _network()))
