"""The crawls of one folder, one after another: which one is at hand, whether it is over, and how the next one begins.

The number of the crawl at hand is one more than the highest in ``former``, or what its summary says. It has begun once
its definition lies in the folder. A crawl that is over is put away in steps (``rotation``), each of which does no
harm when it is done again. Before the second one is done the crawl is over; after it there is a next one, whose
predecessor's files are moved out of the way before anything else happens.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from functools import partial
from pathlib import Path

from pydantic import BaseModel, Field, ValidationError

from aahcrawler.crawl.directory.files import write_whole
from aahcrawler.crawls import number
from aahcrawler.definitions import read_meaning
from aahcrawler.layout import DEFINITION, FORMER, LOG, REPORT, SUMMARY, TOPIC
from online_analysis.icd import Icd

FINISHED = "finished"
"""Why a crawl ended that has nothing more to fetch; also Scrapy's word for it."""

MOVED = (DEFINITION, TOPIC, LOG, REPORT)
"""What moves with a summary when the next crawl begins."""


class Start(StrEnum):
    """The ways in which a crawl starts in its folder."""

    FIRST = "begun"
    """The first crawl of the definition."""
    RESUMED = "goes on"
    """A crawl that stopped is continued."""
    RETRIED = "tried again, as it had fetched no page"
    """The last crawl is over and has fetched no page: it begins once more, under its number."""
    NEXT = "begun anew"
    """The last crawl is over; another one begins that knows the former ones."""


@dataclass(frozen=True, slots=True)
class CrawlRun:
    """The current crawl of a folder, counted from 1, and how it starts.

    ``begun_at`` is when it began, where others know that; None where its frontier does.
    """

    number: int
    start: Start
    begun_at: datetime | None = None


FIRST_RUN = CrawlRun(1, Start.FIRST)


class EndedRun(BaseModel):
    """The part of ``crawl.json`` that tells whether a crawl is over. Summaries without a number are of a first one."""

    crawl: int = 1
    state: str = ""
    reason: str = ""
    pages: int | None = None
    bytes: int = 0
    seconds: float = 0.0
    frontier: dict[str, int] = Field(default_factory=dict)


def current_run(root: Path, icd: Icd) -> CrawlRun:
    """Put the current run away where it is over, and return what starting the definition means now."""
    if has_fetched_nothing(root):
        return CrawlRun(number(root), Start.RETRIED)
    ended = _read(root / SUMMARY)
    if ended is not None and (ended.crawl < number(root) or is_over(ended, icd, _meant(root))):
        for step in rotation(root, ended.crawl):
            step()
    at_hand = number(root)
    if (root / DEFINITION).exists():
        return CrawlRun(at_hand, Start.RESUMED)
    return CrawlRun(at_hand, Start.NEXT if at_hand > 1 else Start.FIRST)


def has_fetched_nothing(root: Path) -> bool:
    """Return whether the last crawl of a folder finished without a page; limits and people end others."""
    ended = _read(root / SUMMARY)
    if ended is None or ended.crawl != number(root) or not (root / DEFINITION).exists():
        return False
    return ended.state == ended.reason == FINISHED and ended.pages == 0


def joined_run(root: Path, number_at_hand: int, *, may_change: bool) -> CrawlRun | None:
    """Tell how a crawl stands in a folder that may have had no part in those before it, None where it holds later ones.

    With ``may_change`` those before it are put away.
    """
    kept = number(root)
    if kept > number_at_hand:
        return None
    if not may_change:
        return CrawlRun(number_at_hand, Start.RESUMED)
    if kept < number_at_hand and (root / DEFINITION).exists():
        if not (root / SUMMARY).exists():
            write_whole(root / SUMMARY, f'{{"crawl": {kept}}}\n')
        for step in rotation(root, kept):
            step()
    if (root / DEFINITION).exists():
        return CrawlRun(number_at_hand, Start.RESUMED)
    return CrawlRun(number_at_hand, Start.NEXT if number_at_hand > 1 else Start.FIRST)


def rotation(root: Path, crawl: int) -> tuple[Callable[[], None], ...]:
    """Return the steps that make room for the next crawl, to be done in their order."""
    former = root / FORMER / str(crawl)
    return (
        partial(former.mkdir, parents=True, exist_ok=True),
        partial(_copy, root / SUMMARY, former / SUMMARY),
        *(partial(_move, root / name, former / name) for name in MOVED),
        partial((root / SUMMARY).unlink, missing_ok=True),
    )


def is_over(ended: EndedRun, icd: Icd, meant: Mapping[str, str]) -> bool:
    """Say whether a crawl has ended for good: it finished, or the limit that stopped it is used up by today's ICD.

    ``meant`` is what its definition meant. A limit that was raised lets the crawl go on.
    """
    limits = icd.limits
    match ended.reason:
        case "limits.pages reached":
            return 0 < limits.pages <= ended.frontier.get("pages_done", 0)
        case "limits.pages_per_domain reached":
            before = int(meant.get("limits.pages_per_domain", "0"))
            return 0 < limits.pages_per_domain <= before
        case "limits.bytes reached":
            return 0 < limits.bytes <= ended.bytes
        case "limits.time reached":
            return 0 < limits.time.total_seconds() <= ended.seconds
        case _:
            return ended.state == "finished"


def definition(root: Path) -> Mapping[str, str]:
    """Return what the newest definition of a folder means, nothing where there is none.

    Raise pydantic's ``ValidationError`` where it is damaged.
    """
    path = newest(root, DEFINITION)
    return read_meaning(path) if path is not None else {}


def newest(root: Path, name: str) -> Path | None:
    """Return a file of the crawl at hand, that of the last former one where it has none yet, None where neither has."""
    places = (root / name, root / FORMER / str(number(root) - 1) / name)
    return next((path for path in places if path.exists()), None)


def _meant(root: Path) -> Mapping[str, str]:
    try:
        return definition(root)
    except ValidationError:
        return {}


def _read(path: Path) -> EndedRun | None:
    try:
        return EndedRun.model_validate_json(path.read_bytes())
    except (FileNotFoundError, ValidationError):
        return None


def _copy(source: Path, target: Path) -> None:
    write_whole(target, source.read_text("utf-8"))


def _move(source: Path, target: Path) -> None:
    if source.exists():
        source.replace(target)
