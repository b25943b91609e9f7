import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import pytest
from _pytest.mark import ParameterSet

from aahcrawler.frontier.protocol import Frontier, FrontierSettings
from aahcrawler.frontier.redis.control import RedisControl
from aahcrawler.frontier.redis.redis_client import connect
from aahcrawler.frontier.server.binary import SERVER
from aahcrawler.frontier.server.embedded import EmbeddedServer
from tests.frontier.cluster import cluster
from tests.frontier.model import ModelFrontier, ModelServer


@dataclass
class Clock:
    now: float = 1000.0

    def __call__(self) -> float:
        return self.now


MakeFrontier = Callable[..., Frontier]


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedServer]:
    with EmbeddedServer(tmp_path_factory.mktemp("frontier")) as running:
        yield running


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "frontier"


@pytest.fixture(scope="session")
def on_path(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedServer]:
    """Run the server of the PATH, where that is not the one that all other tests run on."""
    found = next(filter(None, map(shutil.which, ("redis-server", "valkey-server"))), None)
    if found is None or found == os.environ.get(SERVER):
        pytest.skip("no other redis-server or valkey-server on the PATH")
    other = EmbeddedServer(tmp_path_factory.mktemp("on-path"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(SERVER, found)
        other.__enter__()
    yield other
    other.stop()


@pytest.fixture(scope="session")
def three_nodes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with cluster(tmp_path_factory.mktemp("cluster")) as address:
        yield address


PARTITIONS = {"partitions": 3, "cluster": 8}


def address_of(kind: str, request: pytest.FixtureRequest) -> str:
    """Return the address of a server of a kind: of the PATH, cluster, or what the crawler would start itself."""
    if kind == "cluster":
        return cast("str", request.getfixturevalue("three_nodes"))
    return cast("EmbeddedServer", request.getfixturevalue("on_path" if kind == "on_path" else "server")).url


def started(*kinds: str) -> list[ParameterSet]:
    """Return parameters of a fixture that stand for servers."""
    return [pytest.param(kind, marks=pytest.mark.starts) for kind in kinds]


CONTRACT = "tests/frontier/test_contract.py"
"""What all kinds of frontiers are tried on in ``make test``; all else is, besides the model, on the server alone."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave the contract's other files on further kinds of servers to the soak."""
    for item in items:
        chosen = getattr(item, "callspec", None)
        if chosen is None or item.nodeid.startswith(CONTRACT) or "make_frontier" not in chosen.params:
            continue
        if chosen.params["make_frontier"] in ("on_path", "partitions", "cluster"):
            item.add_marker(pytest.mark.soak)


@pytest.fixture(params=[*started("redis", "on_path", "partitions", "cluster"), "model"])
def make_frontier(
    request: pytest.FixtureRequest, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[..., Frontier]]:
    """Make frontiers of one empty server: ``make_frontier(crawl="a", balance=2, ...)``."""
    kind = request.param
    if kind in PARTITIONS and request.node.get_closest_marker("one_partition"):
        pytest.skip("with several partitions, the best of each are leased")
    monkeypatch.setenv("AAH_PARTITIONS", str(PARTITIONS.get(kind, 1)))
    made: list[Frontier] = []
    model = ModelServer(clock)
    client = None if kind == "model" else connect(address_of(kind, request))
    if client is not None:
        client.flushall()

    def make(crawl: str = "crawl", **settings: object) -> Frontier:
        chosen = FrontierSettings(**settings)  # type: ignore[arg-type]
        frontier: Frontier = (
            ModelFrontier(model, crawl, chosen) if client is None else RedisControl(client, crawl, chosen, clock)
        )
        made.append(frontier)
        return frontier

    yield make
    for frontier in made:
        frontier.close()
