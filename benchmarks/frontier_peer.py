"""scrapy-redis on the URLs of ``benchmarks.frontier``; run by an interpreter that has it, from the project's folder.

    python -m benchmarks.frontier_peer ADDRESS URLS MEASURED ROW.json

Most requests are brought in by pipelines of many; the last MEASURED ones, and all that follows, go through
``RFPDupeFilter`` and ``SpiderPriorityQueue`` as the scheduler calls them.
"""

import json
import random
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

LINKS = 100
OWN = 70
PER_DOMAIN = 100

_SYLLABLES = ("ba", "co", "den", "el", "for", "gu", "ha", "in", "ka", "lo", "mi", "ner", "or", "pa", "ri", "sto", "tu")
_TOP = ("com", "org", "net", "de", "fr", "it", "co.uk", "info")
_FORMS = (
    "{scheme}://www.{domain}/{a}/{year}/{month:02}/{b}-{c}-{d}-{e}-{number}/",
    "{scheme}://{domain}/forum/{a}-{b}/showthread.php?t={number}&page={month}&s={c}",
    "{scheme}://{domain}/{a}/{b}-{c}/{d}-{e}-{f}-{a}-{number}.html",
    "{scheme}://{c}.{domain}/index.php?title={a}_{b}_{d}&oldid={number}",
    "{scheme}://www.{domain}/{a}/products/{c}-{d}-{e}?id={number}&ref={f}",
)


@dataclass(frozen=True, slots=True)
class Link:
    """A URL, its pay-level domain, and a score between 0 and 1."""

    url: str
    domain: str
    score: float


@dataclass(frozen=True, slots=True)
class LinkingPage:
    """A page's URL and all its links."""

    url: str
    links: tuple[Link, ...]


def pages(urls: int) -> Iterator[LinkingPage]:
    """Yield pages with so many links in all; the same number yields the same pages."""
    chance = random.Random(urls)
    words = ["".join(chance.choices(_SYLLABLES, k=chance.randint(1, 3))) for _ in range(5000)]
    domains = [_domain(number, words, chance) for number in range(max(1, urls // PER_DOMAIN))]
    for start in range(0, urls, LINKS):
        own = _any(domains, chance)
        numbers = range(start, min(start + LINKS, urls))
        places = [own if number - start < OWN else _any(domains, chance) for number in numbers]
        links = tuple(
            Link(_url(place, number, words, chance), place[0], round(chance.random(), 3))
            for number, place in zip(numbers, places, strict=True)
        )
        yield LinkingPage(_url(own, start, words, chance), links)


_Domain = tuple[str, str, str]
"""The name of a domain, the scheme, and the form of all its URLs."""


def _domain(number: int, words: list[str], chance: random.Random) -> _Domain:
    name = f"{chance.choice(words)}{number}.{chance.choice(_TOP)}"
    return name, chance.choice(("http", "https", "https")), chance.choice(_FORMS)


def _any(domains: list[_Domain], chance: random.Random) -> _Domain:
    return domains[int(len(domains) * chance.random() ** 2)]


def _url(place: _Domain, number: int, words: list[str], chance: random.Random) -> str:
    domain, scheme, form = place
    a, b, c, d, e, f = chance.choices(words, k=6)
    year, month = chance.randint(2005, 2025), chance.randint(1, 12)
    return form.format(
        scheme=scheme, domain=domain, a=a, b=b, c=c, d=d, e=e, f=f, year=year, month=month, number=number
    )


FILLING = 1000


def requests(urls: int, spider: Any) -> Iterator[Any]:
    """Yield a request for each URL, as a spider that follows links makes them."""
    from scrapy import Request  # noqa: PLC0415 - the project's own interpreter reads this module, too

    for page in pages(urls):
        meta = {"depth": 1, "link_text": ""}
        headers = {"Referer": page.url}
        for link in page.links:
            priority = round(link.score * 1000)
            yield Request(link.url, spider.parse, priority=priority, meta=meta, headers=headers)


def fill(server: Any, queue: Any, seen: Any, source: Iterable[Any]) -> None:
    """Add requests as the scheduler would, but many in one pipeline."""
    pipeline = server.pipeline(transaction=False)
    for request in source:
        pipeline.sadd(seen.key, seen.request_fingerprint(request))
        pipeline.execute_command("ZADD", queue.key, -request.priority, queue._encode_request(request))  # noqa: SLF001
        if len(pipeline) >= FILLING:
            pipeline.execute()
    pipeline.execute()


def timed(server: Any, operations: int, operation: Callable[[], object]) -> tuple[int, float]:
    """Return the rate of an operation per second, and the processor time of each in microseconds."""
    served, cpu, started = server_seconds(server), time.process_time(), time.perf_counter()
    operation()
    wall = time.perf_counter() - started
    spent = time.process_time() - cpu + server_seconds(server) - served
    return round(operations / wall), round(1e6 * spent / operations, 1)


def server_seconds(server: Any) -> float:
    """Return the processor time that the server has used."""
    usage = server.info("cpu")
    return float(usage["used_cpu_user"]) + float(usage["used_cpu_sys"])


def main(address: str, urls: int, measured: int, target: Path) -> None:
    """Run the measurement, and write its row to ``target``."""
    from redis import Redis  # noqa: PLC0415 - as above
    from scrapy import Spider  # noqa: PLC0415
    from scrapy_redis.dupefilter import RFPDupeFilter  # noqa: PLC0415
    from scrapy_redis.queue import SpiderPriorityQueue  # noqa: PLC0415

    server = Redis.from_url(address)
    empty = allocated(server)
    spider = type("BenchSpider", (Spider,), {"name": "bench", "parse": lambda _self, _response: None})()
    queue = SpiderPriorityQueue(server, spider, "%(spider)s:requests")
    seen = RFPDupeFilter(server, "bench:dupefilter")
    source = requests(urls, spider)
    fill(server, queue, seen, islice(source, urls - measured))
    last = list(source)
    row: dict[str, float] = {}
    row["offers_per_second"], row["offer_us"] = timed(
        server, measured, lambda: [queue.push(each) for each in last if not seen.request_seen(each)]
    )
    row["bytes_per_queued_url"] = round((allocated(server) - empty) / urls, 1)
    chance = random.Random(2)
    again = [each.replace(priority=chance.randrange(1000)) for each in last]
    row["rescores_per_second"], row["rescore_us"] = timed(
        server, measured, lambda: [queue.push(each) for each in again]
    )
    before = allocated(server)
    row["leases_per_second"], row["lease_us"] = timed(server, measured, lambda: [queue.pop() for _ in range(measured)])
    row["bytes_per_finished_url"] = round(row["bytes_per_queued_url"] - (before - allocated(server)) / measured, 1)
    target.write_text(json.dumps(row), "utf-8")


def allocated(server: Any) -> float:
    """Return the server's memory without buffers and caches."""
    server.slowlog_reset()
    stats = server.memory_stats()
    return float(stats["total.allocated"] - stats["aof.buffer"] - stats["clients.normal"] - stats["lua.caches"])


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4]))
