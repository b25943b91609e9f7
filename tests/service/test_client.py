"""A crawl that posts its scored links elsewhere: against the real service, and against one that fails."""

import asyncio
import itertools
import json
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from aahcrawler.crawl.peers import PushPolicy, ScoredUrl, ScorePusher
from aahcrawler.service.api.app import ServiceSettings
from aahcrawler.service.catalog.crawl_catalog import Catalog
from aahcrawler.service.web.roles import Tokens
from tests.crawl.crawling import PATIENCE
from tests.service.asking import begun, running, serving

QUICK = PushPolicy(linger=0.01, first_pause=0.01, longest_pause=0.05, timeout=PATIENCE)
TOKEN = "a token that nobody guesses"  # noqa: S105


@asynccontextmanager
async def posting(poster: ScorePusher) -> AsyncIterator[None]:
    task = asyncio.create_task(poster.run())
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline
        await asyncio.sleep(0.005)


class Flaky:
    """A server that answers as told, once each, and with 200 from then on; it keeps every key and body."""

    def __init__(self, *answers: tuple[int, str] | None) -> None:
        self._answers = iter(answers)
        self.asked: list[tuple[str, list[dict[str, object]]]] = []

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        headers = dict(line.split(": ", 1) for line in head.splitlines()[1:] if line)
        body = await reader.readexactly(int(headers["content-length"]))
        self.asked.append((headers["idempotency-key"], json.loads(body)))
        said = next(self._answers, (200, ""))
        if said is not None:
            content = json.dumps({"counts": {"accepted": len(json.loads(body))}, "detail": "told"})
            status, more = said
            writer.write(f"HTTP/1.1 {status} X\r\n{more}Content-Length: {len(content)}\r\n\r\n{content}".encode())
            await writer.drain()
        writer.close()
        await writer.wait_closed()

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[str]:
        async with await asyncio.start_server(self.answer, "127.0.0.1", 0) as server:
            yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1/crawls/test/urls"


def test_scored_links_reach_the_frontier_of_another_instance(tmp_path: Path) -> None:
    icd = begun(tmp_path)

    async def post(port: int) -> ScorePusher:
        poster = ScorePusher(f"http://127.0.0.1:{port}/v1/crawls/test/urls", TOKEN, QUICK)
        async with posting(poster):
            for number in range(1200):
                poster.put(ScoredUrl(f"http://a.test/{number}", number / 1000, "an anchor", "http://here.test/"))
            poster.put(ScoredUrl("http://elsewhere.test/", 1.0))
            await poster.drain(PATIENCE)
        return poster

    with (
        running(tmp_path, icd) as frontier,
        serving(ServiceSettings(Catalog([tmp_path]), tokens=Tokens.bare(TOKEN))) as service,
    ):
        poster = asyncio.run(post(service.port))
        assert (poster.posts.sent, poster.posts.dropped, poster.posts.waiting) == (1201, 0, 0)
        assert poster.posts.outcomes == {"accepted": 1200, "out_of_scope": 1}
        assert [(best.score, best.via) for best in frontier.iterate(200)] == [(1.0, "http://here.test/")] * 200


@pytest.mark.parametrize("failing", [(503, "Retry-After: 0\r\n"), (429, ""), (500, ""), None])
def test_a_request_is_made_again_with_its_key_until_it_is_answered(failing: tuple[int, str] | None) -> None:
    async def post() -> tuple[Flaky, ScorePusher]:
        flaky = Flaky(failing, failing, failing)
        async with flaky.listening() as target:
            poster = ScorePusher(target, policy=QUICK, new_key=map(str, itertools.count()).__next__)
            async with posting(poster):
                poster.put(ScoredUrl("http://a.test/1", 0.5))
                await until(lambda: poster.posts.sent == 1)
                poster.put(ScoredUrl("http://a.test/2", 0.5))
                await until(lambda: poster.posts.sent == 2)
        return flaky, poster

    flaky, poster = asyncio.run(post())
    assert [key for key, _ in flaky.asked] == ["0"] * 4 + ["1"]
    assert (poster.posts.refused, poster.posts.problem, poster.posts.outcomes) == (0, "", {"accepted": 2})


def test_what_will_never_be_taken_is_counted_and_not_sent_again() -> None:
    async def post() -> tuple[Flaky, ScorePusher]:
        flaky = Flaky((404, ""))
        async with flaky.listening() as target:
            poster = ScorePusher(target, policy=QUICK)
            async with posting(poster):
                poster.put(ScoredUrl("http://a.test/1", 0.5))
                await until(lambda: poster.posts.refused == 1)
        return flaky, poster

    flaky, poster = asyncio.run(post())
    assert (len(flaky.asked), poster.posts.problem) == (1, "told")


def test_too_many_waiting_drop_the_oldest_and_nobody_waits() -> None:
    async def post() -> ScorePusher:
        poster = ScorePusher(
            "http://127.0.0.1:1/", policy=PushPolicy(waiting=100, batch=10, linger=0, first_pause=0.01)
        )
        async with posting(poster):
            for number in range(1000):  # Nothing is awaited: nobody can be waited for.
                poster.put(ScoredUrl(f"http://a.test/{number}", 0.5))
            await until(lambda: bool(poster.posts.problem))
            await poster.drain(0.01)
        return poster

    posts = asyncio.run(post()).posts
    assert (posts.sent, posts.waiting, posts.dropped) == (0, 0, 1000)


@pytest.mark.parametrize("target", ["ftp://a.test/", "a.test:80", ""])
def test_a_target_that_is_none_is_refused(target: str) -> None:
    with pytest.raises(ValueError, match="cannot be posted to"):
        ScorePusher(target)
