"""Give a browser a folder and an account of its own.

The folder is removed when the browser ends, or at the next start if its owner was killed.
"""

import fcntl
import os
import shutil
import socket
import tempfile
from collections.abc import Iterator

_PREFIX = "aahcrawler-browser-"
_SOCKETS_AT = 60
"""The most bytes of a folder's path: a socket's has at most 107 (unix(7)), 103 elsewhere; Chromium appends 43."""


class PrivateFolder:
    """A folder that belongs to its owner while the owner runs, as shown by a lock that ends with the process."""

    def __init__(self, parent: str, account: int | None) -> None:
        """Create a folder owned by ``account``, or by this process's own. Raises ``OSError``."""
        while True:
            self.path = tempfile.mkdtemp(prefix=_PREFIX, dir=parent)
            lock = _locked(self.path)
            # Another start may have removed it as left behind.
            if lock is not None and os.path.isdir(self.path):  # noqa: PTH112    # pathlib is slow to import.
                self._lock = lock
                break
        if account is not None:
            os.chown(self.path, account, account)

    def remove(self) -> bool:
        """Remove the folder with all its content; return whether it is gone."""
        shutil.rmtree(self.path, ignore_errors=True)
        os.close(self._lock)
        return not os.path.exists(self.path)  # noqa: PTH110


def fitting_parent(wanted: str, account: int | None) -> str:
    """Return the parent for new folders: ``wanted`` if the account may enter it, else the system's temporary folder."""
    os.makedirs(wanted, exist_ok=True)  # noqa: PTH103
    return wanted if account is None or _open_to_all(os.path.realpath(wanted)) else tempfile.gettempdir()


def fits_sockets(folder: str) -> bool:
    """Return whether paths in a folder are short enough for a browser's sockets."""
    return len(os.fsencode(folder)) <= _SOCKETS_AT


def short_folder(account: int | None) -> PrivateFolder:
    """Create a folder whose path is short enough for sockets. Raises ``OSError``."""
    parent = tempfile.gettempdir()
    remove_left_behind(parent)
    return PrivateFolder(parent, account)


def remove_left_behind(parent: str) -> None:
    """Remove folders of browsers whose owner was killed."""
    for path in _ours(parent):
        lock = _locked(path)
        if lock is not None:
            shutil.rmtree(path, ignore_errors=True)
            os.close(lock)


def _ours(parent: str) -> Iterator[str]:
    for entry in os.scandir(parent):
        if entry.name.startswith(_PREFIX) and entry.is_dir(follow_symlinks=False):
            owner = entry.stat(follow_symlinks=False).st_uid
            if owner == os.geteuid() or FIRST <= owner <= LAST:
                yield entry.path


def _locked(path: str) -> int | None:
    """Open and lock a folder; None if it is gone or somebody else holds the lock."""
    try:
        opened = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(opened)
        return None
    return opened


def _open_to_all(path: str) -> bool:
    """Return whether every account may enter a folder and all its parents."""
    while True:
        if not os.stat(path).st_mode & 0o001:  # noqa: PTH116
            return False
        parent = os.path.dirname(path)  # noqa: PTH120
        if parent == path:
            return True
        path = parent


FIRST, LAST = 61184, 65519
"""The range that systemd reserves for the temporary accounts of services (systemd.exec(5), DynamicUser)."""


def spare_account() -> tuple[int, socket.socket]:
    """Return an unused number for a user and group, reserved as long as the returned socket is open.

    The account has no name and no process. Raises ``OSError`` if all numbers are taken.
    """
    used = _accounts()
    for number in range(FIRST, LAST + 1):
        if number in used:
            continue
        mark = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        try:
            # An abstract name without a file: it is free again when the last process with the socket has ended.
            mark.bind(f"\0aahcrawler-browser-{number}")
        except OSError:
            mark.close()
        else:
            return number, mark
    raise OSError(f"all accounts from {FIRST} to {LAST} are taken")


def _accounts() -> set[int]:
    """Return the numbers of all accounts that have a name or a running process."""
    numbers: set[int] = set()
    for path in ("/etc/passwd", "/etc/group"):
        try:
            with open(path, "rb") as opened:  # noqa: PTH123    # pathlib is slow to import.
                numbers.update(
                    int(parts[2]) for line in opened if len(parts := line.split(b":")) > 2 and parts[2].isdigit()
                )
        except OSError:
            continue
    for name in os.listdir("/proc"):  # noqa: PTH208
        if name.isdigit():
            try:
                numbers.add(os.stat(f"/proc/{name}").st_uid)  # noqa: PTH116
            except OSError:
                continue
    return numbers
