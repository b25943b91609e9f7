"""The crawls of one folder, one after another: which one is at hand, whether it is over, and how the next one begins.

The number of the crawl at hand is one more than the highest in ``former``, or what its summary says. It has begun once
its definition lies in the folder. A crawl that is over is put away in steps (``rotation``), each of which does no
harm when it is done again. Before the second one is done the crawl is over; after it there is a next one, whose
predecessor's files are moved out of the way before anything else happens.
"""

import fcntl
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from functools import partial
from pathlib import Path

from pydantic import BaseModel, Field, ValidationError

from aahcrawler.crawls import number
from aahcrawler.definitions import read_meaning
from aahcrawler.layout import DEFINITION, FORMER, KEEPER, LOCK, LOG, REPORT, SUMMARY, TOPIC
from aahcrawler.segments import no_link
from online_analysis.icd import Icd

RUNNING = "running"
"""The state of a crawl that is under way."""
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
    """Return the steps that make room for the next crawl, to be done in their order.

    There is a summary all the time: the last step replaces it by that of a crawl that runs and has said nothing yet.
    """
    former = root / FORMER / str(crawl)
    return (
        partial(former.mkdir, parents=True, exist_ok=True),
        partial(_copy, root / SUMMARY, former / SUMMARY),
        *(partial(_move, root / name, former / name) for name in MOVED),
        partial(write_whole, root / SUMMARY, f'{{"crawl": {crawl + 1}, "state": "{RUNNING}"}}\n'),
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


LOOK_EVERY = 1.5
"""Seconds between two looks at files."""

Stamps = Mapping[Path, tuple[int, int]]
"""When each file was changed last (nanoseconds), and its size."""


def write_whole(path: Path, content: str | bytes, opener: Callable[[str, int], int] = no_link) -> None:
    """Replace a file so that a reader, or a restart after a crash, sees the old content or the new, never half.

    Text is written in UTF-8. With ``private`` as ``opener`` nobody else may read it.
    """
    part = path.with_name(path.name + ".part")
    try:
        with open(part, "wb", opener=opener) as file:
            file.write(content.encode() if isinstance(content, str) else content)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except OSError as error:
        error.filename = error.filename or str(path)
        raise


def stamps(files: Iterable[Path]) -> Stamps:
    """Return time of change (ns) and size (bytes) by file; leave out files that are missing or unreadable."""
    found = {}
    for file in files:
        try:
            status = file.stat()
        except OSError:
            continue
        found[file] = (status.st_mtime_ns, status.st_size)
    return found


class FolderLock:
    """Locks a folder for this process, alone or with others; a process that ends, however it does, releases it.

    States: outside -> alone -> together, or outside -> together. While anybody is inside, nobody else can be alone. At
    most one process keeps the folder, inside or outside.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._lock: int | None = None
        self._keeper: int | None = None

    @property
    def keeps(self) -> bool:
        """Whether this process writes what the folder has one of."""
        return self._keeper is not None

    def take_exclusive(self) -> bool:
        """Take the folder for this process alone; False where somebody is inside.

        Raise ``OSError`` where the folder cannot be written to.
        """
        self._lock = self._lock if self._lock is not None else _locked(self._root / LOCK, fcntl.LOCK_EX)
        return self._lock is not None

    def take_shared(self) -> bool:
        """Enter beside others, or let others in; False while somebody is alone inside."""
        if self._lock is None:
            self._lock = _locked(self._root / LOCK, fcntl.LOCK_SH)
        else:
            fcntl.flock(self._lock, fcntl.LOCK_SH)
        return self._lock is not None

    def unlock(self) -> None:
        """Leave the inside to others, and stay the one who keeps the folder."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def become_keeper(self) -> bool:
        """Become the one who keeps the folder, or stay it; False while another process is."""
        if self._keeper is None:
            self._keeper = _locked(self._root / KEEPER, fcntl.LOCK_EX)
        return self._keeper is not None

    def release(self) -> None:
        """Go outside. Calling it twice does no harm."""
        for descriptor in filter(lambda held: held is not None, (self._keeper, self._lock)):
            os.close(descriptor)  # type: ignore[arg-type]
        self._keeper = self._lock = None


def _locked(path: Path, how: int) -> int | None:
    """Open and lock a file without waiting; None where another process holds it."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o644)
    try:
        fcntl.flock(descriptor, how | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor
