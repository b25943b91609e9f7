"""Who only reads is answered by the server that a frontier has by now."""

import asyncio
from collections.abc import Callable

import pytest
from fastapi import APIRouter, FastAPI
from starlette.types import Message

from aahcrawler.frontier.protocol import FrontierAwayError, FrontierFullError, FrontierUnavailableError
from aahcrawler.service.catalog import gateway
from aahcrawler.service.catalog.gateway import AskingAgain, CrawlStartingError
from aahcrawler.service.web import problems
from aahcrawler.service.web.problems import UNAVAILABLE, ProblemError


def asked(
    monkeypatch: pytest.MonkeyPatch, error: Callable[[str], Exception], fails: int, method: str
) -> tuple[int, int]:
    """Return the status of the answer where the first calls fail, and how many calls there were."""
    monkeypatch.setattr(gateway, "PAUSE", 0.0)
    router, calls = APIRouter(route_class=AskingAgain), 0

    @router.api_route("/queue", methods=["GET", "POST"])
    def queue() -> dict[str, int]:
        nonlocal calls
        calls += 1
        if calls <= fails:
            raise ProblemError(UNAVAILABLE, "away") from error("away")
        return {"queues": 1}

    app = FastAPI()
    app.include_router(router)
    problems.install(app)
    return asyncio.run(status_of(app, method)), calls


async def status_of(app: FastAPI, method: str) -> int:
    """Return the status that an application answers a request with."""
    statuses: list[int] = []

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        if message["type"] == "http.response.start":
            statuses.append(message["status"])

    scope = {"type": "http", "method": method, "path": "/queue", "query_string": b"", "headers": [], "root_path": ""}
    await app({**scope, "scheme": "http", "server": ("localhost", 80), "http_version": "1.1"}, receive, send)
    return statuses[0]


def test_a_frontier_whose_server_went_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    assert asked(monkeypatch, FrontierAwayError, 2, "GET") == (200, 3)


def test_what_changes_something_is_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    assert asked(monkeypatch, FrontierAwayError, 1, "POST") == (503, 1)


@pytest.mark.parametrize("error", [CrawlStartingError, FrontierFullError, FrontierUnavailableError])
def test_what_does_not_pass_by_itself_is_told_at_once(
    monkeypatch: pytest.MonkeyPatch, error: Callable[[str], Exception]
) -> None:
    assert asked(monkeypatch, error, 1, "GET") == (503, 1)


def test_one_that_stays_away_is_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gateway, "SECONDS", 0.0)
    status, calls = asked(monkeypatch, FrontierAwayError, 1_000_000, "GET")
    assert (status, calls < 1_000_000) == (503, True)
