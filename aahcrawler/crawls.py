"""The crawls of a definition: where in their folder they are known from, and how a frontier's server knows them."""

from pathlib import Path

from pydantic import BaseModel, ValidationError

from aahcrawler.frontier.protocol import FrontierSettings, Update
from online_analysis.icd import Icd

FORMER = "former"
"""The folder in a crawl's folder that holds what crawls that are over have said of themselves, by their numbers."""
SUMMARY, DEFINITION, TOPIC, FRONTIER = "crawl.json", "icd.json", "topic.json", "frontier"

REDIS_URL = "AAH_REDIS_URL"
"""The environment variable that names a shared Redis-protocol server; without it each crawl has its own."""


class _Numbered(BaseModel):
    """The part of a summary that says which crawl it is of."""

    crawl: int = 0


def number(root: Path) -> int:
    """Return the number of the crawl at hand: one more than that of the last former one.

    It is what its own summary says where that is more, as where somebody has removed the former ones.
    """
    former = (path for path in (root / FORMER).glob("*") if path.name.isdecimal() and (path / SUMMARY).exists())
    return max(1 + max((int(path.name) for path in former), default=0), _said(root / SUMMARY))


def _said(summary: Path) -> int:
    """Return the number that a summary gives, 0 where it gives none or cannot be read."""
    try:
        return _Numbered.model_validate_json(summary.read_bytes()).crawl
    except (OSError, ValidationError):
        return 0


def frontier_name(icd: str, number: int) -> str:
    """Return the name under which a shared server keeps a crawl: each crawl of a definition has a frontier of its own.

    >>> frontier_name("floods", 1), frontier_name("floods", 2)
    ('floods', 'floods/2')
    """
    return icd if number == 1 else f"{icd}/{number}"


def frontier_settings(icd: Icd) -> FrontierSettings:
    """Return what the frontier acts on; whoever shares a crawl's frontier has to have the same."""
    politeness, limits = icd.politeness, icd.limits
    return FrontierSettings(
        update=Update(icd.scoring.update),
        balance=icd.scoring.balance,
        pages=limits.pages,
        pages_per_queue=limits.pages_per_domain,
        lease_seconds=lease_seconds(icd),
        attempts=politeness.retries + 1,
        connections=politeness.connections,
    )


def lease_seconds(icd: Icd) -> float:
    """Return how long a worker may hold a lease: robots.txt and page, each with its longest wait, for a whole batch."""
    politeness = icd.politeness
    longest = 2 * (politeness.timeout.total_seconds() + politeness.max_delay.total_seconds())
    return max(300.0, longest) * icd.scoring.balance
