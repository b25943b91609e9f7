"""Start a browser from a process of its own, which isolates it from the network, watches it, and ends it.

The process lives as long as its control socket is open at the other end, so the browser ends whatever happens to the
crawler. ``browser_process.py`` starts it and exchanges JSON with it, one message per packet: it sends an order, and
receives ``failed``, or ``started`` with the listening sockets; ``page`` if a page's process was ended; and at last
``ended``.
"""

import ctypes
import errno
import fcntl
import json
import os
import resource
import select
import signal
import socket
import struct
import sys
import time
from typing import Any, NoReturn

from aahcrawler.browser.process import process_tree
from aahcrawler.browser.process.private_folder import (
    PrivateFolder,
    fits_sockets,
    fitting_parent,
    remove_left_behind,
    short_folder,
    spare_account,
)

PACKET = 65_536
"""The most bytes of a message."""
_LOOPBACK = "127.0.0.1"
_BACKLOG = 512
_FILES = 8_192
_FILE_SIZE = 1 << 30
_LOOK_EVERY = 1.0
_PATIENCE = 5.0
_KEPT_OF_ERRORS = 4_000
_FIRST_FREE = 10
"""File numbers from here on cannot clash with those that the browser expects: 0 to 2, and 3 and 4 for DevTools."""


class _FailedError(Exception):
    """Raised when the browser cannot be started; the text gives the reason."""


def main() -> None:
    """Run the launcher.

    The first argument is the number of its control socket; files 2 and 3 are the browser's pipes.
    """
    control = socket.socket(fileno=int(sys.argv[1]))
    control.set_inheritable(False)
    try:
        _Launch(control, json.loads(control.recv(PACKET)), (int(sys.argv[2]), int(sys.argv[3]))).run()
    except (_FailedError, OSError) as error:
        _tell(control, {"failed": str(error)})


def _tell(control: socket.socket, message: dict[str, Any], sockets: tuple[socket.socket, ...] = ()) -> None:
    try:
        socket.send_fds(control, [json.dumps(message).encode()], [one.fileno() for one in sockets])
    except OSError:
        return  # Nobody is there to be told.


class _Launch:
    """One browser, from its start to its end."""

    def __init__(self, control: socket.socket, order: dict[str, Any], pipe: tuple[int, int]) -> None:
        self._control, self._order, self._pipe = control, order, pipe
        self._account: int | None = None
        self._errors = b""

    def run(self) -> None:
        """Start the browser; return when it has ended and everything of it is removed."""
        woken = _wake_on_signals()
        adopt_orphans()
        if os.geteuid() == 0:
            self._account, self._mark = spare_account()
        note = self._isolate()
        parent = fitting_parent(self._order["folder"], self._account)
        remove_left_behind(parent)
        folder = PrivateFolder(parent, self._account)
        folders = [folder] if fits_sockets(folder.path) else [folder, short_folder(self._account)]
        try:
            message = self._start(folder.path, folders[-1].path, note, woken)
        finally:
            whole = process_tree.end_descendants(_PATIENCE)
            left = [each.path for each in folders if not each.remove()]
        message["left"] = ([] if whole else ["processes"]) + left
        _tell(self._control, message)

    def _isolate(self) -> str:
        """Isolate the process from the network if the settings require it; return a note for people."""
        wanted = self._order["isolation"]
        self._namespace = wanted != "rules"
        if self._namespace:
            try:
                online = enter_network_namespace()
            except OSError as error:
                if wanted == "namespace":
                    raise _FailedError(f"no network namespace can be made: {error.strerror}") from error
                self._namespace = False
                return f"no network namespace can be made ({error.strerror}): proxy and resolver rules hold it"
            return "" if online else "its network namespace has no second interface: pages are told they are offline"
        return ""

    def _start(self, folder: str, sockets: str, note: str, woken: int) -> dict[str, Any]:
        listeners = tuple(_listener() for _ in range(self._order["slots"]))
        # A port that is taken, and where nobody listens.
        nobody = socket.socket()
        nobody.bind((_LOOPBACK, 0))
        command = [
            *self._order["command"],
            f"--user-data-dir={folder}/profile",
            f"--proxy-server=http://{_LOOPBACK}:{nobody.getsockname()[1]}",
        ]
        process, errors = self._begin(command, (folder, sockets))
        started = {
            "started": process,
            "namespace": self._namespace,
            "note": note,
            "account": os.geteuid() if self._account is None else self._account,
        }
        _tell(self._control, started, listeners)
        for listener in listeners:
            listener.close()
        return self._watch(process, errors, woken)

    def _begin(self, command: list[str], folders: tuple[str, str]) -> tuple[int, int]:
        """Start the browser; return its process, and the file from which to read its error output."""
        errors, written = os.pipe()
        failure, failed = os.pipe()
        parent = os.getpid()
        process = os.fork()
        if process == 0:
            _become(command, folders, self._account, (*self._pipe, written, failed), parent)
        for ours in (*self._pipe, written, failed):
            os.close(ours)
        number = os.read(failure, 16)
        os.close(failure)
        if number:
            raise _FailedError(_why_not(command[0], int(number), self._account))
        return process, errors

    def _watch(self, process: int, errors: int, woken: int) -> dict[str, Any]:
        """Wait for the browser to end, or end it; return the message that says how it ended."""
        poll = select.poll()
        for watched in (self._control.fileno(), errors, woken):
            poll.register(watched, select.POLLIN)
        look = time.monotonic() + _LOOK_EVERY
        asked = False
        while True:
            for ready, _ in poll.poll(max(0.0, look - time.monotonic()) * 1000):
                if ready == errors and not self._hear(errors):
                    poll.unregister(errors)
                elif ready == self._control.fileno() or (ready == woken and _asked_to_end(woken)):
                    asked = True
            status = process_tree.reap().get(process)
            if status is not None:
                self._hear(errors)
                complaint = self._errors.decode(errors="replace")
                return {"ended": "exit", "code": os.waitstatus_to_exitcode(status), "complaint": complaint}
            if asked:
                return {"ended": "stopped"}
            if time.monotonic() >= look:
                look = time.monotonic() + _LOOK_EVERY
                if (size := self._too_large()) is not None and not self._end_largest_page():
                    return {"ended": "memory", "bytes": size}

    def _hear(self, errors: int) -> bool:
        """Keep the last part of the browser's error output; return whether there can be more."""
        read = os.read(errors, PACKET) if select.select([errors], [], [], 0)[0] else b""
        self._errors = (self._errors + read)[-_KEPT_OF_ERRORS:]
        return bool(read)

    def _end_largest_page(self) -> bool:
        """Kill the page process with the most memory, and report it; return False if there is none."""
        pages = process_tree.of_kind(process_tree.descendants(os.getpid()), "renderer")
        sizes = {process: process_tree.tree_memory([process]) for process in pages}
        largest = max(sizes, key=sizes.__getitem__, default=None)
        if largest is None:
            return False
        process_tree.end(largest)
        _tell(self._control, {"page": sizes[largest]})
        return True

    def _too_large(self) -> int | None:
        """Return the memory of all processes if it exceeds the limit, else None."""
        bound = self._order["memory_bytes"]
        processes = process_tree.descendants(os.getpid())
        size = process_tree.tree_memory(processes)
        if size > bound:
            size = process_tree.proportional_memory(processes) or size
        return size if size > bound else None


def _wake_on_signals() -> int:
    """Make signals of ended children, and those that end this process, wake it; return the file to read them from."""
    woken, waking = os.pipe()
    os.set_blocking(woken, False)
    os.set_blocking(waking, False)
    signal.set_wakeup_fd(waking, warn_on_full_buffer=False)
    for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: None)
    return woken


def _asked_to_end(woken: int) -> bool:
    try:
        return any(number != signal.SIGCHLD for number in os.read(woken, PACKET))
    except BlockingIOError:
        return False


def _listener() -> socket.socket:
    listener = socket.socket()
    listener.bind((_LOOPBACK, 0))
    listener.listen(_BACKLOG)
    return listener


def _become(
    command: list[str], folders: tuple[str, str], account: int | None, files: tuple[int, int, int, int], parent: int
) -> NoReturn:
    """Replace this just forked process by a browser; if that fails, write the error number."""
    failed = files[3]
    try:
        os.setsid()
        orders, answers, errors, failed = (fcntl.fcntl(file, fcntl.F_DUPFD_CLOEXEC, _FIRST_FREE) for file in files)
        nothing = os.open(os.devnull, os.O_RDWR)
        for file, number in ((nothing, 0), (errors, 1), (errors, 2), (orders, 3), (answers, 4)):
            os.dup2(file, number)
        _bound()
        if account is not None:
            os.setgroups([])
            os.setresgid(account, account, account)
            os.setresuid(account, account, account)
        os.umask(0o077)
        os.chdir(folders[0])
        die_with_parent(signal.SIGKILL)
        if os.getppid() == parent:
            signal.signal(signal.SIGPIPE, signal.SIG_DFL)
            os.execve(command[0], command, _environment(*folders))  # noqa: S606
    except OSError as error:
        os.write(failed, str(error.errno or errno.EIO).encode())
    finally:
        os._exit(127)


def _bound() -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for kind, wanted in ((resource.RLIMIT_NOFILE, _FILES), (resource.RLIMIT_FSIZE, _FILE_SIZE)):
        most = resource.getrlimit(kind)[1]
        bound = wanted if most == resource.RLIM_INFINITY else min(wanted, most)
        resource.setrlimit(kind, (bound, bound))


def _environment(folder: str, sockets: str) -> dict[str, str]:
    """Return the browser's whole environment, which contains nothing of the crawl's. Its time zone is always UTC."""
    return {
        "DBUS_SESSION_BUS_ADDRESS": "disabled:",
        "DBUS_SYSTEM_BUS_ADDRESS": "disabled:",
        "GOOGLE_API_KEY": "no",
        "GOOGLE_DEFAULT_CLIENT_ID": "no",
        "GOOGLE_DEFAULT_CLIENT_SECRET": "no",
        "HOME": folder,
        "LANG": "C.UTF-8",
        "PATH": "/usr/bin:/bin",
        "TMPDIR": sockets,
        "TZ": "UTC",
        "XDG_CACHE_HOME": f"{folder}/cache",
        "XDG_CONFIG_HOME": f"{folder}/config",
        "XDG_DATA_HOME": f"{folder}/data",
        "XDG_RUNTIME_DIR": sockets,
    }


def _why_not(executable: str, number: int, account: int | None) -> str:
    said = f"{executable} cannot be run: {os.strerror(number)}"
    if number in (errno.EACCES, errno.ENOENT) and account is not None:
        return f"{said}. The crawl is root's, and the browser is not: have it where every account may run it"
    if number == errno.EINVAL and account is not None:
        return f"{said}. Root cannot take another account here: start the crawl as an ordinary user"
    return said


_CLONE_NEWNET = 0x40000000
_CLONE_NEWUSER = 0x10000000
_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_SIOCGIFFLAGS = 0x8913
_SIOCSIFFLAGS = 0x8914
_SIOCSIFADDR = 0x8916
_IFF_UP = 0x1
_NEW_LINK = 16
_REQUEST = 0x1 | 0x4
"""A request to be acknowledged (netlink(7))."""
_REQUEST_OF_NEW = _REQUEST | 0x200 | 0x400
"""The same, for something that does not exist yet."""
_LINK_INFO, _LINK_KIND = 18, 1
_OF_FAMILY, _INET6_ADDRESS_MODE, _NO_ADDRESS = 26, 8, b"\1"
_HEADER = "=IHHII"
_LINK = "=BxHiII"
_INTERFACE = "16sH22x"
"""The part of ``struct ifreq`` with the flags (netdevice(7))."""
_INTERFACE_ADDRESS = "16sHH4s16x"
_NOWHERE = "192.0.2.1"
"""An address for documentation (RFC 5737) that no machine has."""

_libc = ctypes.CDLL(None, use_errno=True)


def enter_network_namespace() -> bool:
    """Move this process into a network of its own that leads nowhere. Raises ``OSError``.

    A process of a user other than root gets a user namespace as well, in which its account stays the same. Return
    whether a second interface besides loopback could be added: with loopback alone a browser tells its pages that they
    are offline.
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
    """Have a signal sent to this process when the thread that started it ends. A change of account cancels this."""
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
    """Add an interface with no other end, or with its other end here (rtnetlink(7)); return whether that worked."""
    before = {name for _, name in socket.if_nameindex()}
    attribute = _attribute(_LINK_INFO, _attribute(_LINK_KIND, kind.encode() + b"\0"))
    # Without this the kernel gives an IPv6 address seconds later, and a browser ends all that it loads when one comes.
    addressless = _attribute(socket.AF_INET6, _attribute(_INET6_ADDRESS_MODE, _NO_ADDRESS))
    try:
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE) as asked:
            _change_link(asked, 0, _REQUEST_OF_NEW, attribute)
            added = {name for _, name in socket.if_nameindex()} - before
            for name in added:
                _change_link(asked, socket.if_nametoindex(name), _REQUEST, _attribute(_OF_FAMILY, addressless))
        for name in added:
            _raise(name)
        if added:
            _address(min(added))
    except OSError:
        return False
    return bool(added)


def _change_link(asked: socket.socket, index: int, flags: int, attribute: bytes) -> None:
    link = struct.pack(_LINK, socket.AF_UNSPEC, 0, index, 0, 0) + attribute
    asked.send(struct.pack(_HEADER, struct.calcsize(_HEADER) + len(link), _NEW_LINK, flags, 1, 0) + link)
    asked.recv(4096)


def _attribute(kind: int, value: bytes) -> bytes:
    length = 4 + len(value)
    return struct.pack("=HH", length, kind) + value + b"\0" * (-length % 4)
