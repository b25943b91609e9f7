"""Crawling a world of made-up hosts that all lead to one loopback site."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

from tests.crawl.crawling import PATIENCE, EndedRun, aah, rows, summary
from tests.crawl.site import Asked, Site

LOOPBACK = ["127.0.0.0/8"]
PATIENT = {"delay": "0", "delay_factor": "0", "timeout": "10 min", "retries": "1"}
"""Asks at once and waits long: whatever makes a site slow, the machine or a test, changes nothing."""
NOWHERE = "127.0.0.1:1"
"""An address where nobody listens."""


@dataclass(frozen=True, slots=True)
class Crawled:
    """A crawl that ended, and where its folder is."""

    ended: EndedRun
    folder: Path

    @property
    def summary(self) -> dict[str, Any]:
        """What ``crawl.json`` says."""
        return summary(self.folder)

    @property
    def log(self) -> str:
        """What ``crawl.log`` says."""
        return (self.folder / "crawl.log").read_text("utf-8")

    def log_of(self, url: str) -> str:
        """Return the last event of a URL."""
        return [line.partition(url)[2] for line in self.log.splitlines() if f" {url} " in line][-1]

    def statuses(self) -> dict[str, int]:
        """Return the status of each page that was fetched, by its URL."""
        return {row["url"]: row["status"] for row in rows(self.folder)}


def define(folder: Path, seeds: Sequence[str], **sections: object) -> Path:
    """Write a definition whose crawl goes to ``folder/crawl``.

    Sections replace those given here, politeness but for what it does not speak of.
    """
    politeness = cast("dict[str, object]", sections.get("politeness", {}))
    fields: dict[str, object] = {
        "id": "test",
        "title": "A test",
        "operator": "Test archive",
        "contact": "test@example.org",
        "seeds": list(seeds),
        "topic": {"keywords": ["harbour", "flood", "dike", "storm surge"]},
        "network": {"allow_private": LOOPBACK},
        "traps": {"soft_404": "ignore"},  # The pages of made-up sites look alike.
        "output": str(folder / "crawl"),
        **sections,
        "politeness": {**PATIENT, **politeness},
    }
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "icd.yaml"
    path.write_text("".join(f"{name}: {json.dumps(value)}\n" for name, value in fields.items()), "utf-8")
    return path


def network(site: Site, *hosts: str, **others: str) -> dict[str, object]:
    """Return the section that leads hosts to the site."""
    resolve = dict.fromkeys(hosts, f"127.0.0.1:{site.port}")
    return {"allow_private": LOOPBACK, "resolve": {**resolve, **others}}


def crawl(folder: Path, seeds: Sequence[str], *, timeout: float = PATIENCE, **sections: object) -> Crawled:
    """Crawl to the end."""
    ended = aah("crawl", define(folder, seeds, **sections), timeout=timeout)
    return Crawled(ended, folder / "crawl")


def apart(requests: Sequence[Asked], delay: float) -> bool:
    """Whether requests to one machine came a delay apart, but for those that were held up on their way.

    What is held up between its turn and the machine comes late, and the next one in time: one gap in six may be short.
    """
    short = [gap for gap in gaps(requests) if gap < 0.99 * delay]
    return len(short) <= len(requests) // 6


def gaps(requests: Sequence[Asked]) -> list[float]:
    """Return the seconds between requests that followed one another."""
    return [later.at - earlier.at for earlier, later in pairwise(requests)]
