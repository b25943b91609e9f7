"""Archives behind HTTP: pywb, an aggregator of several, and archives that fail.

pywb is third-party software under the GPL that pins an old Redis client. It is installed in an environment of its own
and run as a program, never imported. The aggregator behaves like MemGator (RFC 7089): dead archives are skipped,
relations are ``first last``, ``first``, ``last`` and ``memento``, never ``next``, and 404 says that no archive has it.
"""

import re
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import format_datetime, parsedate_to_datetime
from http.client import HTTPException
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from time import monotonic, sleep
from typing import ClassVar, Final
from urllib.request import urlopen

from benchmarks.recorded import PROJECT

PYWB: Final = "pywb==2.10.0"
ENVIRONMENT: Final = PROJECT / ".cache" / "pywb"
START_SECONDS, ASK_SECONDS = 60.0, 5.0
MAX_BYTES: Final = 10_000_000
"""Bytes of a TimeMap that the aggregator reads of an archive."""
_ENTRY = re.compile(r"<([^>]*)>\s*;([^<]*)")
_REL, _DATETIME = re.compile(r'rel="([^"]*)"'), re.compile(r'datetime="([^"]*)"')


class NotHadError(Exception):
    """pywb cannot be installed; the message says what to do."""


def environment(folder: Path = ENVIRONMENT) -> Path:
    """Return the folder of pywb's programs, installed on first use. Raises ``NotHadError``."""
    programs = folder / "bin"
    if not (programs / "wayback").exists():
        try:
            subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True, capture_output=True)
            subprocess.run([str(programs / "pip"), "install", "--quiet", PYWB], check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError) as error:
            raise NotHadError(
                f"{PYWB} could not be installed into {folder} ({error}): install it there, or leave out what needs it"
            ) from error
    return programs


@contextmanager
def pywb(files: Mapping[str, Path], folder: Path, programs: Path) -> Iterator[Mapping[str, str]]:
    """Serve WARC files, each as a collection of its own; yield the address of each. Ends the server afterwards."""
    for name, file in files.items():
        for arguments in (("init", name), ("add", name, str(file.resolve()))):
            subprocess.run([str(programs / "wb-manager"), *arguments], cwd=folder, check=True, capture_output=True)
    port = free_port()
    command = [str(programs / "wayback"), "--bind", "127.0.0.1", "--port", str(port), "--threads", "4"]
    with (
        (folder / "pywb.log").open("wb") as log,
        subprocess.Popen(command, cwd=folder, stdout=log, stderr=log) as server,
    ):
        try:
            _await(port, server)
            yield {name: f"http://127.0.0.1:{port}/{name}/" for name in files}
        finally:
            server.terminate()


def free_port() -> int:
    """Return a port of the loopback interface at which nobody listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _await(port: int, server: "subprocess.Popen[bytes]") -> None:
    until = monotonic() + START_SECONDS
    while server.poll() is None and monotonic() < until:
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        sleep(0.1)
    raise NotHadError("pywb did not start: its log is beside its collections")


@dataclass(frozen=True, slots=True, order=True)
class Memento:
    """A capture that an archive lists: its moment and its address."""

    moment: datetime
    address: str


def mementos(link_format: str) -> Iterator[Memento]:
    """Yield the mementos of a TimeMap in link format; entries without a date are skipped."""
    for address, attributes in _ENTRY.findall(link_format):
        relation, moment = _REL.search(attributes), _DATETIME.search(attributes)
        if relation is not None and moment is not None and "memento" in relation[1].split():
            with suppress(ValueError, TypeError):
                yield Memento(parsedate_to_datetime(moment[1]).astimezone(UTC), address)


class _Handler(BaseHTTPRequestHandler):
    """A request handler that logs nothing and sends no ``Server`` or ``Date`` field of its own."""

    def log_message(self, *_: object) -> None:
        """Log nothing."""

    def respond(self, status: int, body: bytes = b"", fields: Mapping[str, str] | None = None) -> None:
        """Send a response."""
        self.send_response_only(status)
        for name, value in {**(fields or {}), "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        with suppress(ConnectionError):
            self.wfile.write(body)


@contextmanager
def served(handler: type[BaseHTTPRequestHandler]) -> Iterator[str]:
    """Serve on a port of the loopback interface; yield the address, with a slash at its end."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def aggregator(archives: Sequence[str], seconds: float = ASK_SECONDS) -> AbstractContextManager[str]:
    """Serve ``timemap/link/URL`` and ``timegate/URL`` over several archives, whose TimeMaps are at ``timemap/link/``.

    An archive that does not respond within some seconds counts as one that holds nothing.
    """

    class Aggregator(_Handler):
        members: ClassVar = tuple(archives)

        def do_GET(self) -> None:
            kind, _, original = self.path.lstrip("/").partition("/")
            original = original.removeprefix("link/") if kind == "timemap" else original
            if kind not in ("timemap", "timegate") or "://" not in original:
                self.respond(404, b"unknown\n")
                return
            found = held(self.members, original, seconds)
            if not found:
                self.respond(404, b"not found\n")
            elif kind == "timemap":
                self.respond(200, self._timemap(original, found).encode(), {"Content-Type": "application/link-format"})
            else:
                self._negotiate(original, found)

        do_HEAD = do_GET  # noqa: N815 - as above

        def _timemap(self, original: str, found: Sequence[Memento]) -> str:
            lines = [f'<{original}>; rel="original"', f'<{self._own("timemap/link", original)}>; rel="self"']
            lines += [_line(each, relation) for each, relation in zip(found, _relations(len(found)), strict=True)]
            return ",\n".join((*lines, f'<{self._own("timegate", original)}>; rel="timegate"')) + "\n"

        def _negotiate(self, original: str, found: Sequence[Memento]) -> None:
            try:
                asked = self.headers.get("Accept-Datetime")
                wanted = parsedate_to_datetime(asked).astimezone(UTC) if asked else found[-1].moment
            except (ValueError, TypeError):
                self.respond(400, b"Accept-Datetime is no date\n")
                return
            nearest = min(found, key=lambda each: abs(each.moment - wanted))
            links = (
                f'<{original}>; rel="original"',
                f'<{self._own("timemap/link", original)}>; rel="timemap"; type="application/link-format"',
                *(_line(each, relation) for each, relation in _ends(found)),
            )
            self.respond(302, b"", {"Location": nearest.address, "Vary": "accept-datetime", "Link": ", ".join(links)})

        def _own(self, kind: str, original: str) -> str:
            return f"http://{self.headers.get('Host')}/{kind}/{original}"

    return served(Aggregator)


def held(archives: Sequence[str], original: str, seconds: float) -> Sequence[Memento]:
    """Return the mementos of a URL in several archives, in order of time; failing archives count as empty."""
    with ThreadPoolExecutor(max(1, len(archives))) as pool:
        lists = pool.map(lambda archive: _listed(f"{archive}timemap/link/{original}", seconds), archives)
        return sorted(each for found in lists for each in found)


def _listed(address: str, seconds: float) -> Sequence[Memento]:
    try:
        with urlopen(address, timeout=seconds) as response:
            return tuple(mementos(response.read(MAX_BYTES).decode("utf-8", "replace")))
    except (OSError, ValueError, HTTPException):
        return ()


def _relations(count: int) -> Sequence[str]:
    if count == 1:
        return ("first last memento",)
    return ("first memento", *("memento",) * (count - 2), "last memento")


def _ends(found: Sequence[Memento]) -> Iterator[tuple[Memento, str]]:
    names = _relations(len(found))
    yield found[0], names[0]
    if len(found) > 1:
        yield found[-1], names[-1]


def _line(each: Memento, relation: str) -> str:
    return f'<{each.address}>; rel="{relation}"; datetime="{format_datetime(each.moment, usegmt=True)}"'


def dead_archive() -> str:
    """Return the address of an archive on a port without a listener."""
    return f"http://127.0.0.1:{free_port()}/"


def silent_archive() -> AbstractContextManager[str]:
    """Serve an archive that accepts connections and never responds."""
    return slow_archive(None)


@contextmanager
def slow_archive(seconds: float | None) -> Iterator[str]:
    """Serve an archive that says that it has nothing after a delay; with None, it never responds."""
    ended = threading.Event()

    class Slow(_Handler):
        def do_GET(self) -> None:
            if not ended.wait(seconds):
                self.respond(404, b"nothing\n")

    with served(Slow) as address:
        try:
            yield address
        finally:
            ended.set()


def lying_archive() -> AbstractContextManager[str]:
    """Serve an archive that sends HTML as a TimeMap, and redirects each capture endlessly to other times."""

    class Lying(_Handler):
        def do_GET(self) -> None:
            if "timemap" in self.path:
                self.respond(200, b"<html><title>Welcome</title>", {"Content-Type": "application/link-format"})
            else:
                place = f"http://{self.headers.get('Host')}{self.path}x"
                self.respond(302, b"", {"Location": place, "Memento-Datetime": "Thu, 01 Jan 2099 00:00:00 GMT"})

    return served(Lying)
