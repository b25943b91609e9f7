"""Ask the kernel for what Python has no function for: namespaces, and what becomes of processes without a parent.

What the launcher imports is imported each time a browser starts: the modules that it needs import little.
"""

import ctypes
import errno
import fcntl
import os
import socket
import struct

_CLONE_NEWNET = 0x40000000
_CLONE_NEWUSER = 0x10000000
_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_SIOCGIFFLAGS = 0x8913
_SIOCSIFFLAGS = 0x8914
_IFF_UP = 0x1
_INTERFACE = "16sH22x"
"""``struct ifreq`` (netdevice(7)), as far as flags are concerned."""

_libc = ctypes.CDLL(None, use_errno=True)


def enter_network_namespace() -> None:
    """Give this process a network of its own, which consists of the loopback interface; raise ``OSError``.

    Whoever is not root gets a user namespace as well, in which the account is what it was.
    """
    uid, gid = os.geteuid(), os.getegid()
    if uid == 0:
        _call("unshare", _CLONE_NEWNET)
    else:
        _call("unshare", _CLONE_NEWUSER | _CLONE_NEWNET)
        # In this order: user_namespaces(7) lets nobody map groups who could still give some up.
        _write("/proc/self/setgroups", "deny")
        _write("/proc/self/uid_map", f"{uid} {uid} 1")
        _write("/proc/self/gid_map", f"{gid} {gid} 1")
    _raise_loopback()


def adopt_orphans() -> None:
    """Make this process the parent of all descendants whose own parent ends (prctl(2), subreaper)."""
    _call("prctl", _PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def die_with_parent(signal_number: int) -> None:
    """Have a signal sent to this process when the thread ends that started it. A change of account undoes it."""
    _call("prctl", _PR_SET_PDEATHSIG, signal_number, 0, 0, 0)


def _call(name: str, *arguments: int) -> None:
    if getattr(_libc, name)(*(ctypes.c_ulong(argument) for argument in arguments)) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}", errno.errorcode.get(number))


def _write(path: str, text: str) -> None:
    opened = os.open(path, os.O_WRONLY)
    try:
        os.write(opened, text.encode())
    finally:
        os.close(opened)


def _raise_loopback() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
        answer = fcntl.ioctl(asked, _SIOCGIFFLAGS, struct.pack(_INTERFACE, b"lo", 0))
        name, flags = struct.unpack(_INTERFACE, answer)
        fcntl.ioctl(asked, _SIOCSIFFLAGS, struct.pack(_INTERFACE, name, flags | _IFF_UP))
