import asyncio
from typing import Any, cast

import pytest

from aahcrawler.crawl.fetch import download_handler as download
from aahcrawler.crawl.fetch.download_handler import OpenDownloads
from aahcrawler.crawl.lease.lease_source import CutError
from aahcrawler.wire.client import WireResponse
from tests import skipping


async def answer(seconds: float) -> WireResponse:
    await asyncio.sleep(seconds)
    return cast("WireResponse", "an answer")


def outcome(seconds: float, ending_after: float | None) -> Any:
    async def run() -> Any:
        ending, under_way = asyncio.Event(), OpenDownloads()
        if ending_after == 0:
            ending.set()
        elif ending_after is not None:
            asyncio.get_running_loop().call_later(ending_after, ending.set)
        try:
            return await under_way.until(ending, answer(seconds))
        finally:
            under_way.close()

    return skipping.run(run())


@pytest.mark.parametrize("ending_after", [0, 0.02])
def test_what_takes_long_after_the_ending_is_given_up(monkeypatch: pytest.MonkeyPatch, ending_after: float) -> None:
    monkeypatch.setattr(download, "GRACE", 0.05)
    with pytest.raises(CutError):
        outcome(30, ending_after)


@pytest.mark.parametrize("ending_after", [None, 0, 0.01])
def test_what_comes_soon_enough_is_returned(ending_after: float | None) -> None:
    assert outcome(0.03, ending_after) == "an answer"


def test_trouble_of_the_download_stays_what_it_is() -> None:
    async def fail() -> WireResponse:
        raise TimeoutError("of its own")

    async def run() -> WireResponse:
        return await OpenDownloads().until(asyncio.Event(), fail())

    with pytest.raises(TimeoutError, match="of its own"):
        asyncio.run(run())
