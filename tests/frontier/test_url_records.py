"""What the server keeps of a URL."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aahcrawler.frontier.protocol import FrontierSettings, Offer, Rescore, State
from aahcrawler.frontier.redis.frontier import RedisFrontier
from aahcrawler.frontier.redis.redis_client import connect
from aahcrawler.frontier.redis.url_record_bodies import Body, pack_body, unpack_body
from aahcrawler.frontier.redis.url_records import pack_offers
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
