"""A Redis Cluster of a few nodes on loopback, for as long as a test session lasts."""

import random
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from redis import Redis, RedisError

from aahcrawler.frontier.server.binary import server_program

SLOTS = 16_384
_BUS = 10_000
"""The cluster bus of a node listens on its port plus this."""
_SECONDS = 120.0


@contextmanager
def cluster(folder: Path, nodes: int = 3) -> Iterator[str]:
    """Start empty nodes that share all slots; yield the address of the cluster."""
    ports = [_free_port() for _ in range(nodes)]
    with ExitStack() as stack:
        clients: list[Any] = [stack.enter_context(_node(folder / str(port), port)) for port in ports]
        for number, client in enumerate(clients):
            slots = range(SLOTS * number // nodes, SLOTS * (number + 1) // nodes)
            client.execute_command("CLUSTER", "ADDSLOTS", *slots)
            client.execute_command("CLUSTER", "SET-CONFIG-EPOCH", number + 1)
            client.execute_command("CLUSTER", "MEET", "127.0.0.1", ports[0])
        for client in clients:
            _wait_until_whole(client, nodes)
        yield f"redis+cluster://127.0.0.1:{ports[0]}"


@contextmanager
def _node(folder: Path, port: int) -> Iterator[Redis]:
    folder.mkdir(parents=True)
    options = {
        "port": port,
        "bind": "127.0.0.1",
        "cluster-enabled": "yes",
        "cluster-node-timeout": 300_000,
        "dir": folder,
        "save": "",
        "daemonize": "no",
    }
    arguments = [str(part) for name, value in options.items() for part in (f"--{name}", value)]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen([server_program(folder).path, *arguments], stdout=log, stderr=log)
    client = Redis(host="127.0.0.1", port=port)
    try:
        _wait_until_answering(client)
        yield client
    finally:
        client.close()
        process.terminate()
        process.wait(_SECONDS)


def _wait_until_answering(client: Redis) -> None:
    deadline = time.monotonic() + _SECONDS
    while time.monotonic() < deadline:
        try:
            client.ping()
        except RedisError:
            time.sleep(0.02)
        else:
            return
    raise AssertionError("a node does not start")


def _wait_until_whole(client: Any, nodes: int) -> None:
    deadline = time.monotonic() + _SECONDS
    while time.monotonic() < deadline:
        said = client.execute_command("CLUSTER", "INFO")
        said = said.decode() if isinstance(said, bytes) else said
        state = dict(line.split(":", 1) for line in said.split())
        if state["cluster_state"] == "ok" and int(state["cluster_known_nodes"]) == nodes:
            return
        time.sleep(0.05)
    raise AssertionError("the nodes do not become a cluster")


def _free_port() -> int:
    """Return a port that nobody is given who asks for any, as systems give those from 32,768 on."""
    while True:
        port = random.randrange(10_000, 32_000 - _BUS)
        with socket.socket() as tried, socket.socket() as bus, suppress(OSError):
            tried.bind(("127.0.0.1", port))
            bus.bind(("127.0.0.1", port + _BUS))
            return port
