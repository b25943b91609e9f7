"""Start a program that is told to end when its parent does: ``launch.py PARENT_PID PROGRAM ARGUMENT...``.

Run by itself, in a process that has one thread only: what Linux calls for between fork and exec is not safe in a
process with several. Where there is no ``prctl`` the program is started all the same.
"""

import ctypes
import os
import sys

_PR_SET_PDEATHSIG = 1
_SIGTERM = 15


def launch(parent: int, command: list[str]) -> None:
    """Become ``command``; return only if the parent is gone already."""
    prctl = getattr(ctypes.CDLL(None), "prctl", None)
    if prctl is not None:
        prctl(_PR_SET_PDEATHSIG, _SIGTERM, 0, 0, 0)
    if os.getppid() == parent:
        os.execv(command[0], command)  # noqa: S606 (no shell is wanted)


if __name__ == "__main__":
    launch(int(sys.argv[1]), sys.argv[2:])
