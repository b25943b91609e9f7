from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from aahcrawler.frontier.connection import connect
from aahcrawler.frontier.embedded import EmbeddedServer
from aahcrawler.frontier.protocol import Frontier, FrontierSettings
from aahcrawler.frontier.redis_frontier import RedisFrontier
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


@pytest.fixture(params=["redis", "model"])
def make_frontier(
    request: pytest.FixtureRequest, server: EmbeddedServer, clock: Clock
) -> Iterator[Callable[..., Frontier]]:
    """Make frontiers of one empty server: ``make_frontier(crawl="a", balance=2, ...)``."""
    made: list[Frontier] = []
    model = ModelServer(clock)
    with connect(server.url) as client:
        client.flushall()

    def make(crawl: str = "crawl", **settings: object) -> Frontier:
        chosen = FrontierSettings(**settings)  # type: ignore[arg-type]
        frontier: Frontier = (
            RedisFrontier(server.url, crawl, chosen, clock)
            if request.param == "redis"
            else ModelFrontier(model, crawl, chosen)
        )
        made.append(frontier)
        return frontier

    yield make
    for frontier in made:
        frontier.close()
