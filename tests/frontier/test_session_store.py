"""What sites know a crawl by is kept with its frontier, for whoever works on it."""

from contextlib import closing

import pytest

from aahcrawler.frontier.protocol import FrontierSettings
from aahcrawler.frontier.redis.frontier import RedisFrontier
from aahcrawler.frontier.server.embedded import EmbeddedServer
from aahcrawler.frontier.session_store import LocalSessionStore, SessionStore

pytestmark = pytest.mark.starts


def check(one: SessionStore, other: SessionStore) -> None:
    assert one.session("forum.test") == ""
    one.keep_session("forum.test", "cookies with ümlauts")
    one.keep_session("other.test", "others")
    assert other.session("forum.test") == "cookies with ümlauts"
    other.keep_session("forum.test", "")
    assert one.session("forum.test") == ""
    assert one.session("other.test") == "others"


def test_workers_of_a_crawl_share_sessions_and_other_crawls_have_their_own(server: EmbeddedServer) -> None:
    made = [RedisFrontier(server.url, crawl, FrontierSettings()) for crawl in ("sessions", "sessions", "others")]
    with closing(made[0]) as one, closing(made[1]) as other, closing(made[2]) as apart:
        check(one, other)
        assert apart.session("other.test") == ""
        one.remove()
        assert other.session("other.test") == ""


def test_a_process_alone_keeps_its_own() -> None:
    store = LocalSessionStore()
    check(store, store)
