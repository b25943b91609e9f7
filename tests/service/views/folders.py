"""A crawl whose folder holds a little of everything that is shown of its queue."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from aahcrawler.crawls import frontier_name, frontier_settings
from aahcrawler.frontier.control import Rule, RuleKind
from aahcrawler.frontier.protocol import UNSCORED, Offer, Outcome, State
from aahcrawler.frontier.redis.control import RedisControl
from aahcrawler.frontier.server.embedded import EmbeddedServer
from aahcrawler.layout import CHANGES, FRONTIER, INDEXES, LOG, REFUSED, SCORES, SUMMARY
from aahcrawler.refusals import RefusalLog
from aahcrawler.revisits.change_log import ChangeLog
from aahcrawler.revisits.visit_record import VisitRecord, milliseconds
from aahcrawler.scores import Findings, Leads, ScoreLog, Source, Terms
from online_analysis.icd import Icd
from tests.service.asking import begun

NOW = datetime(2026, 11, 26, 12, tzinfo=UTC)
FRONT = "http://a.test/"
QUEUED = "http://a.test/thread/1"
FAILED = "http://b.test/gone"
REFUSED_URL = "http://elsewhere.test/x"
BLOCKED = "http://spam.test/1"
DUE = "http://c.test/again"


def write_crawl(folder: Path, **sections: object) -> Icd:
    """Write a crawl at rest: its definition, logs, summary and frontier."""
    icd = begun(folder, output=str(folder), limits={"pages": 100, "pages_per_domain": 3}, **sections)
    (folder / INDEXES).mkdir()
    _write_logs(folder, icd)
    with serving_frontier(folder, icd) as frontier:
        fill(frontier)
    return icd


@contextmanager
def serving_frontier(folder: Path, icd: Icd) -> Iterator[RedisControl]:
    """Keep the frontier of a crawl as its process does."""
    with EmbeddedServer(folder / FRONTIER) as server:
        frontier = RedisControl(server.url, frontier_name(icd.id, 1), frontier_settings(icd))
        yield frontier
        frontier.close()


def fill(frontier: RedisControl) -> None:
    """Bring a frontier into all states."""
    frontier.offer([_offer(FRONT, 1.0), _offer(FAILED, 0.9), _offer(DUE, 0.8)])
    for lease in frontier.lease("worker", 3):
        if lease.url == FAILED:
            frontier.finish(lease, State.FAILED, Outcome("status 404"))
        else:
            frontier.finish(lease, State.DONE, Outcome(stats={"pages": 1, "relevant": 1, "bytes": 1000, "requests": 1}))
    frontier.count(
        {
            "error:status 404": 1,
            "failed_url:status 404": 1,
            "refused:other_site": 1,
            "trap:soft_404": 2,
            "avoided:a.test/cal/*": 7,
        }
    )
    frontier.offer([_offer(f"http://a.test/thread/{at}", 0.5 + at / 1000, via=FRONT) for at in range(1, 301)])
    frontier.offer([_offer(f"http://q{at}.test/", at / 100) for at in range(40)])
    frontier.offer([_offer("http://a.test/unscored", UNSCORED), _offer(BLOCKED, 0.7)])
    frontier.block([Rule(RuleKind.HOST, "spam.test")])


def _offer(url: str, score: float, via: str = "") -> Offer:
    return Offer(url, url.split("/")[2], score, depth=1, via=via)


def _write_logs(folder: Path, icd: Icd) -> None:
    offers = [_offer(REFUSED_URL, 0.2), *(_offer(f"http://elsewhere.test/{at}", 0.1) for at in range(120))]
    with RefusalLog(folder / REFUSED, icd.id, 1, lambda: NOW) as refusals:
        refusals.refused(FRONT, "en", {"other_site": offers, "near_duplicate": [_offer("http://a.test/copy", 0.3)]})
        refusals.failed(FAILED, "status 503", "page", FRONT)
        refusals.failed(FAILED, "status 404", "page", FRONT)
    with ChangeLog(folder / CHANGES, icd.id, 1, lambda: NOW) as changes:
        at = milliseconds(NOW)
        for number, payload in enumerate("aabbc"):
            record = f"urn:uuid:{number}"
            changes.visited(
                VisitRecord(url=FRONT, at=at + number, status=200, payload=payload, text=payload, record=record)
            )
        changes.visited(VisitRecord(url=FAILED, at=at + 3, status=503))
    with ScoreLog(folder / SCORES, icd.id, Terms(1, icd.scoring), lambda: NOW) as scores:
        scores.offered(Source.SEED, [(FRONT, 1.0)])
        leads = Leads((QUEUED, REFUSED_URL), (0.501, 0.2), {"other_site": [1]})
        scores.judged(Findings(FRONT, 0, 1.0, 0.8, (), leads, status=200))
    lines = [
        f"2026-11-26T12:00:00.00{at}Z {level} crawl.response.handler {message}\n"
        for at, (level, message) in enumerate(
            [("INFO", f"{FRONT} 200 new"), ("ERROR", f"{FAILED} failed: status 404"), ("INFO", f"{DUE} 200 new")]
        )
    ]
    (folder / LOG).write_text("".join(lines), "utf-8")
    told = {
        "id": icd.id,
        "crawl": 1,
        "state": "stopped",
        "reason": "interrupted",
        "begun_at": "2026-11-26T11:00:00+00:00",
        "started_at": "2026-11-26T11:30:00+00:00",
        "updated_at": "2026-11-26T12:00:00+00:00",
        "pages": 2,
        "relevant": 2,
        "bytes": 2000,
        "seconds": 60.0,
        "seeds": [
            {"url": FRONT, "verdict": "fetched", "pages": 1},
            {"url": FAILED, "verdict": "not found", "advice": "correct it in the ICD"},
        ],
        "frontier": {"pages_queued": 341, "pages_done": 2, "queues": 41},
        "error": {"status 404": 1},
        "failed_url": {"status 404": 1},
        "failed": {"WordPress/post/extract: nothing-found": 4},
        "mended": {"WordPress/post/extract: nothing-found": 3},
    }
    (folder / SUMMARY).write_text(json.dumps(told), "utf-8")
