"""Start a browser that can connect only to the given sockets, and watch it until it ends."""

import asyncio
import contextlib
import json
import logging
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fcntl import F_SETPIPE_SZ, fcntl
from pathlib import Path
from typing import Any

from aahcrawler.browser.process.chromium_executable import (
    BrowserSettings,
    BrowserUnavailableError,
    Isolation,
    find_chromium,
    require_extra,
)
from aahcrawler.browser.process.launcher import PACKET
from aahcrawler.browser.process.process_tree import descendants, tree_memory

_logger = logging.getLogger(__name__)

_STARTING = 30.0
"""How many seconds a browser may take to respond."""
_ENDING = 1.0
_AGAIN = (0.5, 1.0, 2.0, 4.0)
"""Seconds before each further attempt to start a browser that somebody else ended while it started."""
_FROM_OTHERS = frozenset({signal.SIGKILL, signal.SIGTERM})
_PIPE_BYTES = 1 << 20
_SHARED_MEMORY = 1 << 30
_QUESTION = b'{"id":1,"method":"Browser.getVersion"}\0'
_PACKAGES = str(Path(__file__).parents[3])
_LAUNCHER = "import sys; sys.path.append(sys.argv.pop(1)); from aahcrawler.browser.process.launcher import main; main()"


@dataclass(frozen=True, slots=True)
class Listener:
    """A listening socket to which only the browser can connect; ``address`` is where the browser connects."""

    socket: socket.socket
    address: str


class EndCause(StrEnum):
    """Why a browser ended."""

    STOPPED = "stopped"
    MEMORY = "memory"
    EXIT = "exit"


@dataclass(frozen=True, slots=True)
class Ending:
    """How a browser ended: a cause, and a sentence for people."""

    cause: EndCause
    text: str


class _EndedByOthersError(BrowserUnavailableError):
    """Raised when a signal from outside ended a starting browser, so that the start may be repeated."""


@dataclass(frozen=True, slots=True)
class _Launched:
    """The result of a start: the process that watches the browser, and the browser's own."""

    launcher: subprocess.Popen[bytes]
    control: socket.socket
    pipe: tuple[int, int]
    message: dict[str, Any]
    listeners: tuple[Listener, ...]
    version: str


class BrowserProcess:
    """A running browser. Its owner must call ``kill`` in the end, and close the pipe."""

    def __init__(self, launched: _Launched) -> None:
        """Take over a started browser. Must be called while an event loop is running."""
        self._launched = launched
        self._loop = asyncio.get_running_loop()
        self._ending: asyncio.Future[Ending] = self._loop.create_future()
        self._said: dict[str, Any] = {}
        launched.control.setblocking(False)
        self._loop.add_reader(launched.control, self._listen)
        self.pipe = launched.pipe
        """Where DevTools messages are written, and where they are read."""
        self.listeners = launched.listeners
        self.isolation = Isolation.NAMESPACE if launched.message["namespace"] else Isolation.RULES
        self.pid: int = launched.message["started"]
        self.account: int = launched.message["account"]
        """The number of the user that it runs under."""
        self.version = launched.version
        """The product and its version: ``Chrome/140.0.7339.80``."""

    def may_connect(self, peer: tuple[str, int]) -> bool:
        """Return whether the peer of a connection that a listener accepted may be this browser.

        In a network namespace of its own nobody else can connect. Otherwise the account of the peer's process is
        checked.
        """
        if self.isolation is Isolation.NAMESPACE:
            return True
        ports = {int(listener.address.rpartition(":")[2]) for listener in self.listeners}
        return _owner(peer, ports) == self.account

    def memory_bytes(self) -> int:
        """Return the memory of all its processes; shared memory counts once as far as the system shows it."""
        return tree_memory(descendants(self._launched.launcher.pid))

    def kill(self) -> None:
        """Start ending the browser and all its processes; ``ended`` returns when that is done. May be called twice."""
        with contextlib.suppress(OSError):
            self._launched.control.shutdown(socket.SHUT_WR)

    async def ended(self) -> Ending:
        """Wait until the browser and all of its processes have ended and its folder is removed."""
        return await asyncio.shield(self._ending)

    def _listen(self) -> None:
        try:
            message = self._launched.control.recv(PACKET)
        except BlockingIOError:
            return
        except OSError:
            message = b""
        if message:
            self._take(json.loads(message))
            return
        self._loop.remove_reader(self._launched.control)
        self._launched.control.close()
        for listener in self.listeners:
            listener.socket.close()
        self._launched.launcher.wait()
        for left in self._said.get("left", ()):
            _logger.warning("A browser has ended, but this could not be removed: %s", left)
        if not self._ending.done():
            self._ending.set_result(_ending(self._said))

    def _take(self, message: dict[str, Any]) -> None:
        if "page" in message:
            text = "A page's process had %d MiB of memory, with which the browser had more than it may, and was ended."
            _logger.warning(text, message["page"] >> 20)
        else:
            self._said = message


async def start_browser(settings: BrowserSettings, trusted_key: str) -> BrowserProcess:
    """Start a browser, and return it once it responds. If it is killed meanwhile, the start is repeated a few times.

    ``trusted_key`` is the SHA-256 of the public key that it trusts, in Base64. Raises ``BrowserUnavailableError``, with
    the remedy, if there is no browser, or none that can be isolated as the settings require.
    """
    require_extra()
    for pause in _AGAIN:
        try:
            return await _start_once(settings, trusted_key)
        except _EndedByOthersError as error:
            _logger.warning("%s It is started again.", error)
        await asyncio.sleep(pause)
    return await _start_once(settings, trusted_key)


async def _start_once(settings: BrowserSettings, trusted_key: str) -> BrowserProcess:
    starting = asyncio.ensure_future(asyncio.to_thread(_launch, settings, trusted_key))
    try:
        launched = await asyncio.shield(starting)
    except asyncio.CancelledError:
        starting.add_done_callback(_give_up)
        raise
    process = BrowserProcess(launched)
    note = launched.message["note"]
    if note:
        _logger.warning("Of the browser: %s.", note)
    return process


def _give_up(starting: asyncio.Future[_Launched]) -> None:
    if not starting.cancelled() and starting.exception() is None:
        launched = starting.result()
        _close(launched.control, launched.pipe, launched.listeners)
        launched.launcher.wait()


def _launch(settings: BrowserSettings, trusted_key: str) -> _Launched:
    """Start the launcher, and through it the browser; return when the browser has responded."""
    executable = find_chromium(settings.executable)
    order = {
        "command": [str(executable), *chromium_flags(trusted_key, shared_memory=_has_shared_memory())],
        "folder": str(settings.profile_folder.absolute()),
        "slots": settings.slots,
        "memory_bytes": settings.memory_bytes,
        "isolation": settings.isolation,
    }
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    ours.settimeout(_STARTING)
    read_orders, orders = os.pipe()
    answers, write_answers = os.pipe()
    for pipe in (orders, answers):
        with contextlib.suppress(OSError):
            fcntl(pipe, F_SETPIPE_SZ, _PIPE_BYTES)
    files = (theirs.fileno(), read_orders, write_answers)
    try:
        launcher = _start_launcher(files)
    except OSError as error:
        _close(ours, (orders, answers), ())
        raise BrowserUnavailableError(f"The browser's launcher cannot be started: {error}.") from error
    finally:
        theirs.close()
        os.close(read_orders)
        os.close(write_answers)
    listeners: tuple[Listener, ...] = ()
    try:
        ours.send(json.dumps(order).encode())
        message, listeners = _started(ours, settings.slots)
        version = _version(ours, (orders, answers), executable)
    except BaseException:
        _close(ours, (orders, answers), listeners)
        launcher.wait()
        raise
    return _Launched(launcher, ours, (orders, answers), message, listeners, version)


def _start_launcher(files: Sequence[int]) -> subprocess.Popen[bytes]:
    # Isolated, and without site packages: it starts in a few hundredths of a second, and imports nothing by surprise.
    command = [sys.executable, "-I", "-S", "-c", _LAUNCHER, _PACKAGES, *map(str, files)]
    # A session of its own: what is typed at the crawler's terminal is not for it. None of the crawl's secrets, either.
    return subprocess.Popen(
        command, pass_fds=files, env={}, start_new_session=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL
    )


def _close(control: socket.socket, pipe: tuple[int, int], listeners: tuple[Listener, ...]) -> None:
    control.close()
    for end in pipe:
        os.close(end)
    for listener in listeners:
        listener.socket.close()


def _started(control: socket.socket, slots: int) -> tuple[dict[str, Any], tuple[Listener, ...]]:
    try:
        packet, files, _, _ = socket.recv_fds(control, PACKET, slots)
    except TimeoutError:
        packet, files = b"", []
    message = json.loads(packet) if packet else {"failed": "its launcher did not say why"}
    if "failed" in message:
        raise BrowserUnavailableError(f"The browser cannot be started: {message['failed']}.")
    sockets = [socket.socket(fileno=file) for file in files]
    return message, tuple(Listener(one, "{}:{}".format(*one.getsockname())) for one in sockets)


def _version(control: socket.socket, pipe: tuple[int, int], executable: Path) -> str:
    """Ask the browser for its version; a response shows that it works."""
    orders, answers = pipe
    limit = time.monotonic() + _STARTING
    answer = b""
    with contextlib.suppress(BrokenPipeError):
        os.write(orders, _QUESTION)
        while not answer.endswith(b"\0"):
            ready = select.select([answers], [], [], max(0.0, limit - time.monotonic()))[0]
            read = os.read(answers, PACKET) if ready else b""
            if not read:
                break
            answer += read
    with contextlib.suppress(ValueError, LookupError, TypeError):
        return str(json.loads(answer.rstrip(b"\0"))["result"]["product"])
    raise _what_is_wrong(control, executable)


def _what_is_wrong(control: socket.socket, executable: Path) -> BrowserUnavailableError:
    # A browser that has closed its pipe is about to end, and the launcher will report how.
    select.select([control], [], [], _ENDING)
    control.shutdown(socket.SHUT_WR)
    with contextlib.suppress(OSError):
        said = json.loads(control.recv(PACKET) or b"{}")
        complaint = _printable(said.get("complaint", ""))
        if "No usable sandbox" in complaint:
            return BrowserUnavailableError(
                f"{executable} has no sandbox here, and is not started without: allow user namespaces (sysctl "
                "user.max_user_namespaces, kernel.apparmor_restrict_unprivileged_userns; a container's seccomp "
                "profile), or install the package chromium-sandbox."
            )
        if said.get("ended") == "exit":
            text = f"{executable} is no browser, or does not work here: it {_how(said['code'])}. {complaint}".rstrip()
            return (_EndedByOthersError if -said["code"] in _FROM_OTHERS else BrowserUnavailableError)(text)
    text = f"{executable} is no browser, or does not work here: it did not answer within {_STARTING:.0f} s."
    return BrowserUnavailableError(text)


def _ending(said: dict[str, Any]) -> Ending:
    match said.get("ended"):
        case "stopped":
            return Ending(EndCause.STOPPED, "The browser was stopped.")
        case "memory":
            text = f"The browser took {said['bytes'] >> 20} MiB of memory, more than it may, and was ended."
            return Ending(EndCause.MEMORY, text)
        case "exit":
            return Ending(EndCause.EXIT, f"The browser {_how(said['code'])}.")
    return Ending(EndCause.EXIT, "The process that watched the browser was killed, and the browser with it.")


def _how(code: int) -> str:
    return f"was ended by signal {-code}" if code < 0 else f"ended by itself (status {code})"


def _printable(text: str) -> str:
    return "".join(character if character.isprintable() else " " for character in text).strip()[-1_000:]


def _has_shared_memory() -> bool:
    try:
        room = os.statvfs("/dev/shm")  # noqa: S108    # Chromium's, not ours.
    except OSError:
        return False
    return room.f_bavail * room.f_frsize >= _SHARED_MEMORY


def _owner(peer: tuple[str, int], ports: set[int]) -> int | None:
    """Return the account of the other end of a connection to one of ``ports`` of this machine (proc(5), net/tcp)."""
    host = socket.inet_aton(peer[0])
    wanted = f"{int.from_bytes(host, sys.byteorder):08X}:{peer[1]:04X}"
    targets = {f"{port:04X}" for port in ports}
    with open("/proc/net/tcp", encoding="ascii") as table:  # noqa: PTH123
        for line in table:
            _, local, remote, _, _, _, _, account, *_ = line.split()
            if local == wanted and remote.rpartition(":")[2] in targets:
                return int(account)
    return None


_ALONE = (
    "headless=new",
    "remote-debugging-pipe",
    "no-startup-window",
    "no-first-run",
    "no-default-browser-check",
    "no-pings",
    "no-experiments",
    "noerrdialogs",
    "enable-automation",
    "mute-audio",
    "hide-scrollbars",
    "lang=en-US",
    "log-level=2",
    "password-store=basic",
    # Requests that it would make on its own.
    "disable-background-networking",
    "disable-breakpad",
    "disable-client-side-phishing-detection",
    "disable-component-extensions-with-background-pages",
    "disable-component-update",
    "disable-crash-reporter",
    "disable-default-apps",
    "disable-domain-reliability",
    "disable-extensions",
    "disable-field-trial-config",
    "disable-sync",
    "metrics-recording-only",
    "safebrowsing-disable-auto-update",
    # Features that would wait for a person, or search for devices.
    "deny-permission-prompts",
    "disable-hang-monitor",
    "disable-notifications",
    "disable-print-preview",
    "disable-prompt-on-repost",
    "disable-remote-playback-api",
    "disable-search-engine-choice-screen",
    "disable-speech-api",
    # Several pages are open at once, and none of them is in the foreground.
    "disable-back-forward-cache",
    "disable-background-timer-throttling",
    "disable-backgrounding-occluded-windows",
    "disable-ipc-flooding-protection",
    "disable-renderer-backgrounding",
    "autoplay-policy=no-user-gesture-required",
    # No graphics processor, and none in software: SwiftShader, which draws WebGL, runs outside the sandbox.
    "disable-gpu",
    "disable-software-rasterizer",
    "force-color-profile=srgb",
    # Bounds of what it keeps.
    "disk-cache-size=33554432",
    "renderer-process-limit=8",
)
_FEATURES_OFF = (
    "AutofillServerCommunication",
    "CertificateTransparencyComponentUpdater",
    "DestroyProfileOnBrowserClose",
    "DialMediaRouteProvider",
    "GlobalMediaControls",
    "HttpsUpgrades",
    "LensOverlay",
    "MediaRouter",
    "OptimizationHints",
    "PaintHolding",
    "Prerender2",
    "Translate",
    "WebRtcHideLocalIpsWithMdns",
    # Pages of the address bar, which nobody sees: they cost more than the page that is visited.
    "WebUIOmniboxAimPopup",
    "WebUIOmniboxPopup",
)
_OFF_THE_NETWORK = (
    "disable-quic",
    "dns-prefetch-disable",
    # The only names and addresses are those of the listening sockets.
    "host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
    "proxy-bypass-list=<-loopback>",
    # WebRTC may send packets through a proxy only, and has none. Older versions call the flag force-...
    "webrtc-ip-handling-policy=disable_non_proxied_udp",
    "force-webrtc-ip-handling-policy=disable_non_proxied_udp",
)


def chromium_flags(trusted_key: str, *, shared_memory: bool) -> tuple[str, ...]:
    """Return the flags of every start, which do not include the profile's folder and the unused proxy address.

    ``trusted_key`` is the SHA-256 of a public key, in Base64: certificates of that key are trusted, whoever signed
    them. Without ``shared_memory``, files are used instead of ``/dev/shm``.
    """
    return tuple(_flags(trusted_key, shared_memory))


def _flags(trusted_key: str, shared_memory: bool) -> Iterator[str]:
    for flag in (*_ALONE, *_OFF_THE_NETWORK):
        yield f"--{flag}"
    yield f"--disable-features={','.join(_FEATURES_OFF)}"
    if trusted_key:
        yield f"--ignore-certificate-errors-spki-list={trusted_key}"
    if not shared_memory:
        yield "--disable-dev-shm-usage"
