"""Find the server process that works in a crawl's folder, and end one that was left behind."""

import json
import logging
import os
import signal
import subprocess
import time
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final
from urllib.parse import quote

from aahcrawler.frontier.protocol import FrontierUnavailableError
from aahcrawler.segments import private

_OWNERSHIP: Final = "server.json"
"""The file beside a frontier's files that identifies its server process."""
_GRACE_SECONDS = 30.0
_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Ownership:
    """A server process, the process that started it, and the path of its socket, which is unique.

    ``lent`` means that it was started to look at the frontier of a crawl that is not running.
    """

    server: int
    crawler: int
    socket: str
    lent: bool = False


def claim(folder: Path, ownership: Ownership) -> None:
    """Record which server process works in a folder."""
    with open(folder / _OWNERSHIP, "w", encoding="utf-8", opener=private) as file:
        file.write(json.dumps(asdict(ownership)) + "\n")


def disclaim(folder: Path) -> None:
    """Remove the record of which process worked in a folder."""
    (folder / _OWNERSHIP).unlink(missing_ok=True)


def served_at(folder: Path) -> str | None:
    """Return the URL of the server of the crawl that is running in a folder; None if none is."""
    ownership = _living(folder)
    return None if ownership is None or ownership.lent else f"unix://{quote(ownership.socket)}"


def lent_at(folder: Path) -> str | None:
    """Return the URL of the server started in a folder to look at a crawl at rest; None if there is none."""
    ownership = _living(folder)
    return f"unix://{quote(ownership.socket)}" if ownership is not None and ownership.lent else None


def lender_of(folder: Path) -> int | None:
    """Return the id of the process that started the server of ``lent_at``; None if there is none."""
    ownership = _living(folder)
    return ownership.crawler if ownership is not None and ownership.lent else None


def _living(folder: Path) -> Ownership | None:
    ownership = _read(folder)
    return ownership if ownership is not None and _parent(ownership) == ownership.crawler else None


def end_orphan(folder: Path) -> None:
    """End the server that a killed crawler left behind in a folder, if any, and remove its socket.

    Raises ``FrontierUnavailableError`` while the crawler that started it still runs.
    """
    ownership = _read(folder)
    if ownership is None:
        return
    parent = _parent(ownership)
    if parent == ownership.crawler:
        raise FrontierUnavailableError(
            f"{folder} is in use by another crawl, process {parent}; stop that one first, or choose another folder"
        )
    if parent is not None:
        _logger.warning("ending server %d, left behind in %s by a crawl that was killed", ownership.server, folder)
        _end(ownership)
    _remove_socket(Path(ownership.socket))
    disclaim(folder)


def _read(folder: Path) -> Ownership | None:
    try:
        return Ownership(**json.loads((folder / _OWNERSHIP).read_text(encoding="utf-8")))
    except FileNotFoundError:
        return None
    except (ValueError, TypeError):
        _logger.warning("%s is damaged; it is ignored", folder / _OWNERSHIP)
        return None


def _parent(ownership: Ownership) -> int | None:
    """Return the parent of the server's process; None if the process is gone, even if its number was reused."""
    look = _look_in_proc if Path("/proc/self/stat").exists() else _ask_ps
    found = look(ownership.server)
    if found is None or ownership.socket not in found[1]:
        return None
    return found[0]


def _look_in_proc(process: int) -> tuple[int, str] | None:
    try:
        command = Path(f"/proc/{process}/cmdline").read_bytes()
        stat = Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    return int(stat.rpartition(")")[2].split()[1]), os.fsdecode(command)


def _ask_ps(process: int) -> tuple[int, str] | None:
    asked = subprocess.run(
        ["ps", "-ww", "-o", "ppid=,command=", "-p", str(process)], capture_output=True, text=True, check=False
    )
    parent, _, command = asked.stdout.strip().partition(" ")
    return (int(parent), command) if parent.isdigit() else None


def _end(ownership: Ownership) -> None:
    for number in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError):
            os.kill(ownership.server, number)
        deadline = time.monotonic() + _GRACE_SECONDS
        while time.monotonic() < deadline:
            if _parent(ownership) is None:
                return
            time.sleep(0.005)
    raise FrontierUnavailableError(f"server {ownership.server}, left behind by a killed crawl, does not end; end it")


def _remove_socket(socket: Path) -> None:
    with suppress(OSError):
        socket.unlink(missing_ok=True)
        socket.parent.rmdir()
