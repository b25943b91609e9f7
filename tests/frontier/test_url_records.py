"""What the server keeps of a URL."""

import time
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aahcrawler.frontier.memory.frontier import MemoryFrontier, QueueSlots
from aahcrawler.frontier.protocol import UNSCORED, FrontierSettings, Offer, Offered, Rescore, State, Update
from aahcrawler.frontier.redis.frontier import RedisFrontier
from aahcrawler.frontier.redis.redis_client import connect
from aahcrawler.frontier.redis.url_records import Body, pack_body, pack_offers, unpack_body
from aahcrawler.frontier.server.embedded import EmbeddedServer

texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n"), max_size=200)
urls = st.builds(
    "{}://{}{}".format, st.sampled_from(["http", "https", ""]), st.sampled_from(["a.test", "x.a.co.uk:81", ""]), texts
)


@given(url=urls, queue=st.sampled_from(["a.test", "a.co.uk:81", "other", "2", "=", ".", ""]), via=urls | texts)
def test_bodies_say_what_was_packed(url: str, queue: str, via: str) -> None:
    body = Body(url, queue, via, "LLR")
    assert unpack_body(pack_body(body)) == body


def test_a_body_is_smaller_than_what_it_says() -> None:
    url = "https://www.gardening-forum.example.org/forum/viewtopic.php?f=12&t=48213&start=45"
    via = "https://www.gardening-forum.example.org/forum/viewforum.php?f=12"
    packed = pack_body(Body(url, "example.org", via, "LLLN"))
    assert len(packed) < 0.5 * len(url + via)


@pytest.mark.parametrize("length", [5, 5_000, 200_000])
def test_bodies_of_any_length(length: int) -> None:
    body = Body("http://a.test/" + "ü/" * length, "a.test", "x" * length, "")
    assert unpack_body(pack_body(body)) == body


def test_a_body_of_a_later_version_is_refused() -> None:
    with pytest.raises(ValueError, match="dictionary 77"):
        unpack_body(b"\x4d1234")


@pytest.mark.parametrize("path", ["L" * 65, "L\n", "Lé", "1"])
def test_a_path_is_letters(path: str) -> None:
    with pytest.raises(ValueError, match="no path"):
        pack_offers([Offer("http://a.test/", "a.test", 0.5, path=path)])


def test_large_queues_and_many_urls_keep_their_order(server: EmbeddedServer) -> None:
    with connect(server.url) as client:
        client.flushall()
        frontier = RedisFrontier(client, "crawl", FrontierSettings(balance=10))
        offers = [Offer(f"http://a.test/{i}", "a.test", (i * 7919 % 3000) / 3000) for i in range(3000)]
        frontier.offer(offers)
        frontier.rescore([Rescore(offer.url, 1 - offer.score) for offer in offers[::3]])
        scores = {offer.url: 1 - offer.score if i % 3 == 0 else offer.score for i, offer in enumerate(offers)}
        left = len(offers)
        while leases := frontier.lease("worker", 10):
            assert [lease.score for lease in leases] == pytest.approx(
                sorted(scores.values(), reverse=True)[:10], abs=1e-6
            )
            for lease in leases:
                del scores[lease.url]
                frontier.finish(lease, State.DONE)
            left -= len(leases)
        assert left == 0
        kept = {key.split(b":")[3] for key in client.keys("{p0}:c:crawl:*")}
        assert kept == {b"u", b"queues", b"counts", b"format"}
        encodings = {client.object("encoding", key) for key in client.keys("{p0}:c:crawl:u:*")}
        assert encodings <= {b"ziplist", b"listpack"}
        frontier.remove()
        assert client.keys("{p0}:c:*") == []


@pytest.mark.parametrize("parts", [(500,), (127, 1, 1), (100, 27, 73), (60, 60, 60, 60)])
def test_what_is_offered_together_keeps_queues_packed(server: EmbeddedServer, parts: tuple[int, ...]) -> None:
    with connect(server.url) as client:
        client.flushall()
        frontier = RedisFrontier(client, "crawl", FrontierSettings(balance=500))
        offers = [Offer(f"http://a.test/{i}", "a.test", (i * 7919 % 500) / 500) for i in range(sum(parts))]
        at = 0
        for part in parts:
            # One of them twice, the second time better: it is moved amid what waits to be put in.
            better = Offer(offers[at].url, "a.test", 1.0)
            frontier.offer([*offers[at : at + part], better])
            offers[at] = better
            at += part
        encodings = {client.object("encoding", key) for key in client.keys("{p0}:c:crawl:p:*")}
        assert encodings <= {b"ziplist", b"listpack"}
        leased = frontier.lease("worker", 500)
        assert [lease.url for lease in leased] == [
            offer.url for offer in sorted(offers, key=lambda offer: -offer.score)
        ]
        client.flushall()


@pytest.mark.parametrize("update", list(Update))
@pytest.mark.parametrize(("score", "depth"), [(0.4, 2), (0.4, 1), (0.6, 2), (0.5, 3), (UNSCORED, 2), (UNSCORED, 1)])
def test_what_says_nothing_new_is_told_from_what_does(
    server: EmbeddedServer, update: Update, score: float, depth: int
) -> None:
    settings, url = FrontierSettings(update=update), "http://a.test/"
    with connect(server.url) as client:
        client.flushall()
        told = []
        for frontier in (
            RedisFrontier(client, "crawl", settings),
            MemoryFrontier(QueueSlots(time.time), "c", settings),
        ):
            for first in (Offer(url, "a.test", 0.5, 2), Offer(url + "b", "a.test", UNSCORED, 2)):
                assert frontier.offer([first]) == (Offered.ADDED,)
                assert frontier.offer([replace(first, score=score, depth=depth)]) == (Offered.RESCORED,)
                assert frontier.offer([replace(first, kind="requisite")]) == (Offered.KNOWN,)
            told.append(frontier.iterate(2))
        assert told[0] == told[1]
        client.flushall()
