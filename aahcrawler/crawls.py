"""Which crawl a folder holds: its number, how it was started, and the name of its frontier on a server."""

import os
import socket
import subprocess
from pathlib import Path
from typing import Final

from pydantic import BaseModel, ConfigDict, ValidationError

from aahcrawler.frontier.protocol import FrontierSettings, Update
from aahcrawler.layout import FORMER, IMPORTS, KEEPER, LOCK, STARTED, SUMMARY
from online_analysis.icd import Icd

_PROC: Final = Path("/proc")


class _Numbered(BaseModel):
    """The field ``crawl`` of a ``crawl.json``: the number of the crawl."""

    crawl: int = 0


class Started(BaseModel):
    """How the crawl in a folder was last started: from which definition file, and as which process.

    ``file`` and ``working_folder`` are absolute; relative paths in the definition are resolved against
    ``working_folder``. ``workers`` is the number of processes that fetch.
    """

    model_config = ConfigDict(frozen=True)

    file: Path
    working_folder: Path
    host: str
    pid: int
    workers: int = 1


def last_start(root: Path) -> Started | None:
    """Return how the crawl in a folder was last started; None if no readable record of it exists."""
    try:
        return Started.model_validate_json((root / STARTED).read_bytes())
    except (OSError, ValidationError):
        return None


def running_process(folder: Path | None) -> Started | None:
    """Return how the crawl that now runs in a folder on this machine was started; None if none runs.

    A recorded process id may since have been given to another program. It counts only while the folder's lock is held.
    """
    found = last_start(folder) if folder is not None else None
    if folder is None or found is None or found.host != socket.gethostname():
        return None
    return found if found.pid != os.getpid() and _holds(found.pid, folder) else None


def _holds(pid: int, folder: Path) -> bool:
    if not (_PROC / "self" / "fd").is_dir():
        asked = subprocess.run(["ps", "-ww", "-o", "command=", "-p", str(pid)], capture_output=True, check=False)
        return b" crawl" in asked.stdout
    locks = {str(folder.resolve() / name) for name in (LOCK, KEEPER)}
    try:
        return any(_target(descriptor) in locks for descriptor in (_PROC / str(pid) / "fd").iterdir())
    except OSError:
        return False


def _target(descriptor: Path) -> str:
    try:
        return str(descriptor.readlink())
    except OSError:
        return ""


def is_import(root: Path) -> bool:
    """Return whether a folder holds imported archives. No crawl ever runs in such a folder."""
    return (root / IMPORTS).is_file()


def number(root: Path) -> int:
    """Return the number of the current crawl of a folder, counted from 1: the number of former crawls, plus one.

    If ``crawl.json`` gives a higher number, as when former crawls were deleted by hand, that one is returned.
    """
    former = (path for path in (root / FORMER).glob("*") if path.name.isdecimal() and (path / SUMMARY).exists())
    return max(1 + max((int(path.name) for path in former), default=0), _number_in(root / SUMMARY))


def _number_in(summary: Path) -> int:
    """Return the crawl number in a ``crawl.json``; 0 if it has none or cannot be read."""
    try:
        return _Numbered.model_validate_json(summary.read_bytes()).crawl
    except (OSError, ValidationError):
        return 0


def frontier_name(icd: str, number: int) -> str:
    """Return the name of a crawl's frontier on a shared server; each crawl of a definition has a frontier of its own.

    >>> frontier_name("floods", 1), frontier_name("floods", 2)
    ('floods', 'floods/2')
    """
    return icd if number == 1 else f"{icd}/{number}"


def frontier_settings(icd: Icd) -> FrontierSettings:
    """Return the settings of a crawl's frontier. All processes that share a frontier must use equal settings."""
    politeness, limits = icd.politeness, icd.limits
    return FrontierSettings(
        update=Update(icd.scoring.update),
        balance=icd.scoring.balance,
        pages=limits.pages,
        pages_per_queue=limits.pages_per_domain,
        lease_seconds=lease_seconds(icd),
        attempts=politeness.retries + 1,
        connections=max(politeness.connections, *(own.connections or 1 for own in politeness.domains.values()), 1),
    )


MIN_LEASE = 30.0
"""Seconds that a lease runs for at least, unless it is renewed."""


def lease_seconds(icd: Icd) -> float:
    """Return for how many seconds a lease is valid.

    Live workers renew theirs; a dead worker's leases expire after this.
    """
    return max(MIN_LEASE, 2 * icd.politeness.timeout.total_seconds())
