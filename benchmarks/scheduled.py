"""Kills ``aah schedule run`` again and again, with a fast clock, and counts due visits that are lost or doubled.

Run as a program, the module runs a schedule with such a clock. ``killed`` starts that program, kills it so many times
with SIGKILL, every second time with all crawls it has started, and compares its log with the crawls' folders.
"""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Final, Protocol

from aahcrawler.crawls import running_process
from aahcrawler.schedule.child_crawls import CrawlProcesses
from aahcrawler.schedule.schedule_run import Place, ScheduleRun
from aahcrawler.schedule.visit_log import Outcome, VisitLog

EVERY: Final = timedelta(hours=1)
PATIENCE: Final = 600.0
"""The most seconds that are waited for anything."""
_NAMES: Final = ("harbour", "market", "school")
_ICD: Final = """\
id: {name}
contact: test@example.org
seeds: [http://127.0.0.1:{port}/{name}/]
scope: {{allow: ["http://127.0.0.1:{port}/{name}/*"]}}
topic: {{keywords: [harbour, market, school]}}
politeness: {{delay: 0, delay_factor: 0}}
network: {{allow_private: true}}
"""


@dataclass(frozen=True, slots=True)
class FastClock:
    """A clock that runs faster than real time from a moment on, which is in seconds since 1970."""

    began: float
    factor: float

    def now(self) -> datetime:
        """See ``Clock``."""
        passed = (time.time() - self.began) * self.factor
        return datetime.fromtimestamp(self.began, UTC) + timedelta(seconds=passed)

    def seconds_until(self, moment: datetime) -> float:
        """See ``Clock``."""
        return (moment - self.now()).total_seconds() / self.factor


class Started(Protocol):
    """A started process."""

    @property
    def pid(self) -> int:
        """Its process id."""

    def poll(self) -> int | None:
        """Return its exit code, None while it runs."""

    def wait(self) -> int:
        """Wait for its end."""


class Starts(Protocol):
    """A function that starts this module as a program."""

    def __call__(self, arguments: Sequence[str]) -> Started:
        """Start it with arguments."""


def _start(arguments: Sequence[str]) -> Started:
    command = [sys.executable, "-m", "benchmarks.scheduled", *arguments]
    return subprocess.Popen(command, stderr=subprocess.DEVNULL, start_new_session=True)


def killed(
    folder: Path, kills: int, *, seconds: float = 4.0, crawls: int = 3, starts: Starts = _start
) -> Mapping[str, int]:
    """Run a schedule with an hourly crawl, an hour taking ``seconds``; kill it repeatedly, and count losses.

    ``lost`` counts due moments without a visit, ``doubled`` crawls beyond one for each visit.
    """
    chance = random.Random(47)
    with _site() as port:
        place = _schedule(folder, _NAMES[:crawls], port)
        arguments = [str(place.file), str(time.time()), str(EVERY.total_seconds() / seconds)]
        for kill in range(kills):
            process, done = starts(arguments), _progress(place)
            _until(lambda: _progress(place) > done)  # noqa: B023 (called within the loop)
            time.sleep(chance.uniform(0, 2 * seconds))
            _kill(process, folder, _NAMES[:crawls], with_crawls=kill % 2 == 1)
        process, done = starts(arguments), _ended(place)
        _until(lambda: _ended(place) >= done + 2 * crawls)
        os.kill(process.pid, signal.SIGTERM)
        process.wait()
    return {"kills": kills, **_counted(place)}


def _kill(process: Started, folder: Path, names: Sequence[str], *, with_crawls: bool) -> None:
    pids = [process.pid]
    if with_crawls:
        pids += [found.pid for name in names if (found := running_process(folder / "crawls" / name)) is not None]
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    process.wait()


def _counted(place: Place) -> Mapping[str, int]:
    moments = visits = made = doubled = lost = 0
    processes = CrawlProcesses(place.folder, place.said)
    with VisitLog.opened(place.log) as log:
        for name, added_at in log.known_since().items():
            found = log.visits(name, 1_000_000)[::-1]
            told = processes.told(place.folder / "crawls" / name)
            ended = [each for each in found if each.outcome in (Outcome.ENDED, Outcome.ATTENTION)]
            # A crawl that is under way is that of the visit that has not ended.
            held = told.crawl - (found[-1].outcome is None and told.mark != found[-1].was)
            due = sum((each.due_at - added_at) // EVERY + 1 for each in found[-1:] if each.due_at)
            stood_for = sum(each.moments for each in found)
            moments, visits, made = moments + due, visits + len(found), made + len(ended)
            lost += max(0, due - stood_for) + max(0, len(ended) - held)
            doubled += max(0, stood_for - due) + max(0, held - len(ended))
            doubled += len(found) - len({each.due_at for each in found})
    return {"due": moments, "visits": visits, "made": made, "lost": lost, "doubled": doubled}


def _progress(place: Place) -> int:
    """Return how many visits and attempts have begun or ended."""
    with VisitLog.opened(place.log) as log:
        visits = log.visits(most=1_000_000)
        return len(visits) + sum((each.outcome is not None) + len(log.attempts(each.number)) for each in visits)


def _ended(place: Place) -> int:
    with VisitLog.opened(place.log) as log:
        return sum(each.outcome is not None for each in log.visits(most=1_000_000))


def _until(condition: "Condition") -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError("it did not come to pass")
        time.sleep(0.1)


class Condition(Protocol):
    """A condition to wait for."""

    def __call__(self) -> bool:
        """Return whether it holds."""


def _schedule(folder: Path, names: Sequence[str], port: int) -> Place:
    for name in names:
        (folder / f"{name}.yaml").write_text(_ICD.format(name=name, port=port), "utf-8")
    entries = "".join(f"  {name}: {{definition: {name}.yaml, every: 1 h}}\n" for name in names)
    place = Place(folder / "schedule.yaml")
    place.file.write_text(f"attempts: 100\nretry: 1 min\ncrawls:\n{entries}", "utf-8")
    return place


class _Page(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        """Respond with a page that differs at each request."""
        body = f"<title>News</title><h1>News of the harbour</h1><p>At {time.time_ns()} a ship came in.</p>".encode()
        self.send_response(404 if self.path == "/robots.txt" else 200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Log nothing."""


@contextmanager
def _site() -> Iterator[int]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Page) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()


def main(arguments: Sequence[str]) -> None:
    """Run a schedule with a fast clock."""
    file, began, factor = arguments
    ScheduleRun(Place(Path(file)), clock=FastClock(float(began), float(factor)), look_every=0.5).run()


if __name__ == "__main__":
    main(sys.argv[1:])
