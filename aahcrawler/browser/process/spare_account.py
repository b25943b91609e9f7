"""Choose the account that a browser runs under, where the crawler is root: one that nobody else uses."""

import os
import socket

FIRST, LAST = 61184, 65519
"""The range that systemd leaves to accounts made for a service while it runs (systemd.exec(5), DynamicUser)."""


def spare_account() -> tuple[int, socket.socket]:
    """Return the number of a user and group without name or process; it is taken as long as the socket is open.

    Raise ``OSError`` where all are taken.
    """
    used = _accounts()
    for number in range(FIRST, LAST + 1):
        if number in used:
            continue
        mark = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        try:
            # A name that no file stands for: it is free again when the last process that has the socket is gone.
            mark.bind(f"\0aahcrawler-browser-{number}")
        except OSError:
            mark.close()
        else:
            return number, mark
    raise OSError(f"all accounts from {FIRST} to {LAST} are taken")


def _accounts() -> set[int]:
    """Return the numbers of all who have a name, or a process that runs."""
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
