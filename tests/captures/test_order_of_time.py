"""Captures come in the order of time, once each, whoever wrote them, whatever became of the writers."""

import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from itertools import islice, pairwise
from pathlib import Path

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from aahcrawler.archive.writer import WarcWriter
from aahcrawler.captures import BEGINNING, ArchivedCaptures, Capture, Position
from aahcrawler.layout import ARCHIVE, DEFINITION
from aahcrawler.takedown.removal import WantedRemoval, remove
from tests.archive.exchanges import INFO, STARTED, page_exchange

WRITERS = 3
URLS = [f"http://site{number}.test/" for number in range(4)]

writes = st.tuples(st.just("write"), st.integers(0, WRITERS - 1), st.integers(0, 40), st.sampled_from(URLS))
kills = st.tuples(st.just("kill"), st.integers(0, WRITERS - 1), st.integers(0, 120), st.just(""))
closes = st.tuples(st.just("close"), st.integers(0, WRITERS - 1), st.just(0), st.just(""))
jobs = st.tuples(st.just("job"), st.integers(0, 1), st.integers(0, 12), st.just(""))
removals = st.tuples(st.just("remove"), st.just(0), st.just(0), st.sampled_from(URLS))
Step = tuple[str, int, int, str]


@dataclass
class Crawl:
    """A crawl by several writers, and a job that goes on from where it was whenever it is called."""

    folder: Path
    writers: dict[int, WarcWriter] = field(default_factory=dict)
    written: dict[str, tuple[int, str]] = field(default_factory=dict)
    position: Position = BEGINNING
    done: list[str] = field(default_factory=list)
    removed: set[str] = field(default_factory=set)
    source: ArchivedCaptures | None = None

    def take(self, step: Step) -> None:
        what, number, size, url = step
        match what:
            case "write":
                self.write(number, size, url)
            case "kill":
                self.kill(number, size)
            case "close":
                self.writers.pop(number).close() if number in self.writers else None
            case "job":
                self.work(size, anew=bool(number))
            case _:
                self.remove(url)

    def write(self, number: int, seconds: int, url: str) -> None:
        if url in self.removed:
            return  # No crawl fetches what was taken down.
        # Small files, so that each writer has several; requests begin in another order than answers are written.
        writer = self.writers.setdefault(number, WarcWriter(self.folder / ARCHIVE, INFO, size=1500, name=f"w{number}"))
        exchange = replace(page_exchange(), url=url, started_at=STARTED + timedelta(seconds=seconds))
        kept = writer.write(exchange, metadata=b"{}")
        self.written[kept.record_id] = (seconds, url)

    def kill(self, number: int, torn: int) -> None:
        """End a writer in the middle of an append: its file stays open, with a torn member at its end."""
        writer = self.writers.pop(number, None)
        segment = writer and writer._segments._segment
        if segment:
            whole = next(iter((self.folder / ARCHIVE).glob(f"{segment.path.name}*"))).read_bytes()
            os.write(segment._fd, whole[:torn])
            os.close(segment._fd)

    def remove(self, url: str) -> None:
        """Take a page down, for which the crawl has to be at rest."""
        for writer in self.writers.values():
            writer.close()
        self.writers.clear()
        if self.written:
            remove(self.folder, WantedRemoval(urls=(url,)), "a person", "asked for")
            self.written = {record: told for record, told in self.written.items() if told[1] != url}
            self.removed.add(url)

    def work(self, most: int, *, anew: bool) -> None:
        """Go on with the job for some captures, in the same process or in another one."""
        if self.source is not None and anew:
            self.source.close()
            self.source = None
        if self.source is None:
            self.source = ArchivedCaptures(self.folder)
        else:
            self.source.refresh()
        for capture in islice(self.source.captures(self.position), most):
            self.done.append(capture.record_id)
            assert capture.position is not None
            self.position = Position.parse(str(capture.position))


def in_order(captures: Sequence[Capture]) -> bool:
    return all(before.date <= after.date for before, after in pairwise(captures))


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.one_of(writes, writes, writes, kills, closes, jobs, jobs, removals), max_size=30))
@example([("write", 0, 5, URLS[0]), ("write", 1, 3, URLS[1]), ("write", 0, 4, URLS[2]), ("write", 1, 9, URLS[0])])
@example([("write", 0, 9, URLS[0]), ("job", 0, 9, ""), ("write", 0, 2, URLS[1]), ("write", 1, 1, URLS[1])])
def test_all_captures_come_in_the_order_of_time(steps: list[Step]) -> None:
    with tempfile.TemporaryDirectory() as name:
        crawl = Crawl(Path(name))
        (crawl.folder / ARCHIVE).mkdir()
        (crawl.folder / DEFINITION).write_text("{}")
        for step in steps:
            crawl.take(step)
        with ArchivedCaptures(crawl.folder) as source:
            found = list(source.captures())
            assert in_order(found)
            assert sorted(each.record_id for each in found) == sorted(crawl.written)
            for each in found:
                seconds, url = crawl.written[each.record_id]
                assert (each.date, each.target_uri) == (STARTED + timedelta(seconds=seconds), url)
                assert source.of_record(each.record_id) == each
            for url in URLS:
                assert list(source.of_url(url)) == [each for each in found if each.target_uri == url]
        crawl.work(len(crawl.written) + len(crawl.done), anew=False)
        assert set(crawl.done) >= set(crawl.written)
        assert crawl.removed or len(set(crawl.done)) == len(crawl.done)
        assert crawl.source is not None
        crawl.source.close()
        for writer in crawl.writers.values():
            writer.close()
