"""Bodies of records are packed and unpacked by many threads at once."""

from concurrent.futures import ThreadPoolExecutor

from aahcrawler.frontier.redis.url_records import Body, pack_body, unpack_body


def test_threads_do_not_disturb_one_another() -> None:
    bodies = [Body(f"http://forum.a.org/t/{n}/{'x' * (n % 3000)}", "a.org", "http://a.org/", "L") for n in range(6000)]

    def packed(some: list[Body]) -> list[Body]:
        return [unpack_body(pack_body(body)) for body in some]

    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(packed, (bodies[at::8] for at in range(8))))
    assert found == [bodies[at::8] for at in range(8)]
