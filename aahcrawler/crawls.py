"""The crawls of a definition: where in their folder they are known from, and how a frontier's server knows them."""

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
    """The part of a summary that says which crawl it is of."""

    crawl: int = 0


class Started(BaseModel):
    """How the crawl in a folder was started last: the file of its definition, and by which process.

    ``file`` and ``working_folder``, from which the file may name others, are absolute. ``workers`` is the number of
    processes that fetch.
    """

    model_config = ConfigDict(frozen=True)

    file: Path
    working_folder: Path
    host: str
    pid: int
    workers: int = 1


def started(root: Path) -> Started | None:
    """Return how the crawl in a folder was started last, None where that is not known."""
    try:
        return Started.model_validate_json((root / STARTED).read_bytes())
    except (OSError, ValidationError):
        return None


def running_process(folder: Path | None) -> Started | None:
    """Return how the crawl was started that runs in a folder on this machine, None where none does.

    Of a process that has the number of one that ended long ago nothing is believed: it has to hold the folder's lock.
    """
    found = started(folder) if folder is not None else None
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
    """Return whether a folder holds imported archives: no crawl runs in it."""
    return (root / IMPORTS).is_file()


def number(root: Path) -> int:
    """Return the number of the crawl at hand: one more than that of the last former one.

    It is what its own summary says where that is more, as where somebody has removed the former ones.
    """
    former = (path for path in (root / FORMER).glob("*") if path.name.isdecimal() and (path / SUMMARY).exists())
    return max(1 + max((int(path.name) for path in former), default=0), _number_in(root / SUMMARY))


def _number_in(summary: Path) -> int:
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
        connections=max(politeness.connections, *(own.connections or 1 for own in politeness.domains.values()), 1),
    )


MIN_LEASE = 30.0
"""Seconds that a lease runs for at least, unless it is renewed."""


def lease_seconds(icd: Icd) -> float:
    """Return after how long a worker that is not heard of any more has lost its leases; others renew them all along."""
    return max(MIN_LEASE, 2 * icd.politeness.timeout.total_seconds())
