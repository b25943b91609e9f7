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
_SIOCSIFADDR = 0x8916
_IFF_UP = 0x1
_NEW_LINK = 16
_REQUEST_OF_NEW = 0x1 | 0x4 | 0x200 | 0x400
"""A request, to be acknowledged, for what is not there yet (netlink(7))."""
_LINK_INFO, _LINK_KIND = 18, 1
_HEADER = "=IHHII"
_LINK = "=BxHiII"
_INTERFACE = "16sH22x"
"""``struct ifreq`` (netdevice(7)), as far as flags are concerned."""
_INTERFACE_ADDRESS = "16sHH4s16x"
_NOWHERE = "192.0.2.1"
"""An address for documentation (RFC 5737): nobody has it."""

_libc = ctypes.CDLL(None, use_errno=True)


def enter_network_namespace() -> bool:
    """Give this process a network of its own, which leads nowhere; raise ``OSError``.

    Whoever is not root gets a user namespace as well, in which the account is what it was. Besides the loopback
    interface there is one more, where the kernel has one to give: with loopback alone a browser tells its pages that
    they are offline. Return whether there is.
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
    _raise("lo")
    return _add_interface("dummy") or _add_interface("veth")


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


def _raise(interface: str) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
        answer = fcntl.ioctl(asked, _SIOCGIFFLAGS, struct.pack(_INTERFACE, interface.encode(), 0))
        name, flags = struct.unpack(_INTERFACE, answer)
        fcntl.ioctl(asked, _SIOCSIFFLAGS, struct.pack(_INTERFACE, name, flags | _IFF_UP))


def _address(interface: str) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
        address = socket.inet_aton(_NOWHERE)
        wanted = struct.pack(_INTERFACE_ADDRESS, interface.encode(), socket.AF_INET, 0, address)
        fcntl.ioctl(asked, _SIOCSIFADDR, wanted)


def _add_interface(kind: str) -> bool:
    """Add an interface that has no other end, or its other end here (rtnetlink(7)); say whether that was done."""
    before = {name for _, name in socket.if_nameindex()}
    attribute = _attribute(_LINK_INFO, _attribute(_LINK_KIND, kind.encode() + b"\0"))
    link = struct.pack(_LINK, socket.AF_UNSPEC, 0, 0, 0, 0) + attribute
    header = struct.pack(_HEADER, struct.calcsize(_HEADER) + len(link), _NEW_LINK, _REQUEST_OF_NEW, 1, 0)
    try:
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE) as asked:
            asked.send(header + link)
            asked.recv(4096)
        added = {name for _, name in socket.if_nameindex()} - before
        for name in added:
            _raise(name)
        if added:
            _address(min(added))
    except OSError:
        return False
    return bool(added)


def _attribute(kind: int, value: bytes) -> bytes:
    length = 4 + len(value)
    return struct.pack("=HH", length, kind) + value + b"\0" * (-length % 4)
