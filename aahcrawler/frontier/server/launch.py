"""Start a program that ends when its parent does: ``launch.py PARENT_PID PROGRAM ARGUMENT...``.

It runs as a script in a process with one thread, because the Linux calls made between fork and exec are unsafe in a
process with several. Without ``prctl`` the program is started without this guarantee.
"""

import ctypes
import os
import sys

_PR_SET_PDEATHSIG = 1
_SIGTERM = 15


def launch(parent: int, command: list[str]) -> None:
    """Replace this process by ``command``; return only if the parent is already gone."""
    prctl = getattr(ctypes.CDLL(None), "prctl", None)
    if prctl is not None:
        prctl(_PR_SET_PDEATHSIG, _SIGTERM, 0, 0, 0)
    if os.getppid() == parent:
        os.execv(command[0], command)  # noqa: S606 (no shell is wanted)


if __name__ == "__main__":
    launch(int(sys.argv[1]), sys.argv[2:])
